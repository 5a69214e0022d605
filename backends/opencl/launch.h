/* SPDX-License-Identifier: MIT */
/* launch.h - launches. */
#pragma once

#include "backend.h"

int adsm_cl_launch(struct adsm_entry *entry, const struct adsm_launch *launch, struct adsm_device_event *ret_event);
