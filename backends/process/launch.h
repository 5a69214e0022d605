/* SPDX-License-Identifier: MIT */
/* launch.h - launches of a device process, and its events: functions of struct adsm_backend. */
#pragma once

#include "backend.h"

int adsm_process_launch(struct adsm_entry *entry, const struct adsm_launch *launch,
			struct adsm_device_event *ret_event);
int adsm_process_event_query(struct adsm_device *device, struct adsm_device_event event, int *ret_status);
int adsm_process_event_wait(struct adsm_device *device, struct adsm_device_event event, int *ret_status);
int adsm_process_event_times(struct adsm_device *device, struct adsm_device_event event, struct adsm_span *ret_span);
const char *adsm_process_event_failure(struct adsm_device *device, struct adsm_device_event event);
