/* SPDX-License-Identifier: MIT */
/* once/waiters.h - lists the threads and kernels that wait for units of write-once objects. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "adsm_once.h"

/* List the waits for the object at @address, or, if it is NULL, for all objects. Fills in the first @max, the longest
 * waits first. Returns the number of all. */
size_t adsm_once_waiters(const void *address, adsmOnceWaiter *ret_waiters, size_t max);
