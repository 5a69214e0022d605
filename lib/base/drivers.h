/* SPDX-License-Identifier: MIT */
/* drivers.h - where drivers' code is: it may touch shared memory while it has locks that calls of it need. */
#ifndef ADSM_DRIVERS_H
#define ADSM_DRIVERS_H

#include <stdbool.h>

/* The library of this function is a driver. To be called before there is shared memory that the driver may touch. */
void adsm_drivers_add(const void *function);
/* Is this in a driver's code? Any thread, fault handlers included. */
bool adsm_drivers_have(const void *address);
/* Or in libc's? Once there is a driver. */
bool adsm_drivers_libc(const void *address);

#endif
