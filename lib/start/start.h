/* SPDX-License-Identifier: MIT */
/* start.h - the library starts and stops. */
#pragma once

#include "core/home.h"

/* Start the library if necessary. Every public function that needs it calls this first. If it runs, this costs one
 * load. */
int adsm_start(void);
int adsm_stop(void);
/* Get the home of a driver's context, as adsm_home_of() does. If there is none, open it: the library starts with it, or
 * gets one more device. */
int adsm_start_with(const char *backend, void *context, void *device, struct adsm_home **ret_home);
