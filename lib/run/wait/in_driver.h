/* SPDX-License-Identifier: MIT */
/*
 * in_driver.h - threads that are inside a driver. The driver's code may touch shared memory, or call a wrapper of a
 * libc function that does, while it holds locks that the library's own calls of the driver need. So what such a touch
 * waits for may wait for the touch. For this reason its wait has a time limit.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/drivers.h"
#include "core/index.h"
#include "engine/engine.h"

#define ADSM_IN_DRIVER_NS ((uint64_t)2000000000)	/* the limit */

struct adsm_home;

struct adsm_in_driver {
	/* The frame of a wrapper that a driver has called and that lets libc do
	 * the work. Until it is left, faults count as the driver's. 0: none. */
	uintptr_t frame;
	/* The home to whose driver this thread is giving a command. A touch of the home's objects would deadlock. */
	const struct adsm_home *enqueuing;
};

extern _Thread_local struct adsm_in_driver adsm_in_driver;

/* Was the fault caused by code of a driver, directly or through a function of libc? Signals are blocked here. */
static inline bool adsm_in_driver_faults(const struct adsm_fault *fault)
{
	if (adsm_in_driver.frame || adsm_drivers_have((const void *)fault->instruction))
		return true;
	/* memcpy() and similar functions of libc have no frame, so the return address
	 * is at *fault->caller. If there is something else, it is only a number. */
	return adsm_drivers_libc((const void *)fault->instruction) && !adsm_index_find((uintptr_t)fault->caller) &&
		adsm_drivers_have((const void *)*fault->caller);
}

/* This thread leaves all functions whose frames lie below @stack, by a jump. */
void adsm_in_driver_leave(uintptr_t stack);
