/* SPDX-License-Identifier: MIT */
/* once/waiters.h - who waits for units of write-once objects. */
#ifndef ADSM_ONCE_WAITERS_H
#define ADSM_ONCE_WAITERS_H

#include <stddef.h>
#include <stdint.h>

#include "adsm_once.h"

/* Of the object at an address, NULL: of all. How many there are; the first @max, those that wait longest first. */
size_t adsm_once_waiters(const void *address, adsmOnceWaiter *ret_waiters, size_t max);

#endif
