/* SPDX-License-Identifier: MIT */
/* start.h - the library starts and stops. */
#ifndef ADSM_START_H
#define ADSM_START_H

#include "core/home.h"

/* Start where needed. Every public call that needs the library goes through here first: one load. */
int adsm_start(void);
int adsm_stop(void);
/* The home of a driver's context, as adsm_home_of() has it; where there is none, it is opened: the library starts with
 * it, or goes on with one device more. */
int adsm_start_with(const char *backend, void *context, void *device, struct adsm_home **ret_home);

#endif
