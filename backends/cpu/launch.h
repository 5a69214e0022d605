/* SPDX-License-Identifier: MIT */
/* launch.h - launches of a cpu device, and its events: slots of the backend. */
#ifndef ADSM_CPU_LAUNCH_H
#define ADSM_CPU_LAUNCH_H

#include "backend.h"

int adsm_cpu_launch(struct adsm_entry *entry, const struct adsm_launch *launch, struct adsm_device_event *ret_event);
int adsm_cpu_event_query(struct adsm_device *device, struct adsm_device_event event, int *ret_status);
int adsm_cpu_event_wait(struct adsm_device *device, struct adsm_device_event event, int *ret_status);
int adsm_cpu_event_elapsed(struct adsm_device *device, struct adsm_device_event event, uint64_t *ret_ns);

#endif
