/* SPDX-License-Identifier: MIT */
/* drivers.h - the address ranges of drivers' code. Drivers may touch shared memory while they hold locks that further
 * calls of them need. */
#pragma once

#include <stdbool.h>

/* The library that contains @function is a driver. Call this before the driver can touch shared memory. */
void adsm_drivers_add(const void *function);
/* Is @address in a driver's code? Any thread, also in the fault handler. */
bool adsm_drivers_have(const void *address);
/* Is it in the C library's code? Works once a driver was added. */
bool adsm_drivers_libc(const void *address);
