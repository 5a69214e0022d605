/* SPDX-License-Identifier: MIT */
/* drivers.h - where drivers' code is: it may touch shared memory while it has locks that calls of it need. */
#ifndef ADSM_DRIVERS_H
#define ADSM_DRIVERS_H

#include <stdbool.h>

/* What has this function is a driver: before there is shared memory that it may touch. */
void adsm_drivers_add(const void *function);
/* Is this in a driver's code? Any thread, fault handlers included. */
bool adsm_drivers_have(const void *address);
/* Or in libc's? Once there is a driver. */
bool adsm_drivers_libc(const void *address);

#endif
