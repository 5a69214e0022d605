/* SPDX-License-Identifier: MIT */
/*
 * inside.h - threads that are inside a driver. Its code may touch shared memory, or call a wrapper of libc's for that,
 * while it has locks which the library's own calls of it need. So what such a touch waits for may wait for it in turn,
 * and it does not wait for ever.
 */
#ifndef ADSM_INSIDE_H
#define ADSM_INSIDE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/drivers.h"
#include "core/index.h"
#include "engine/engine.h"

#define ADSM_INSIDE_NS ((uint64_t)2000000000)	/* so long it waits at most */

struct adsm_home;

struct adsm_inside {
	/* Of a wrapper that a driver has called and lets libc do: until then faults count as the driver's; 0: none. */
	uintptr_t frame;
	/* Its driver is being given a command in this thread; a touch of the home's objects would wait for itself. */
	const struct adsm_home *enqueuing;
};

extern _Thread_local struct adsm_inside adsm_inside;

/* Does a driver's code touch this, itself or by a function of libc's? No signal comes in between. */
static inline bool adsm_inside_faults(const struct adsm_fault *fault)
{
	if (adsm_inside.frame || adsm_drivers_have((const void *)fault->instruction))
		return true;
	/* Libc's memcpy() and its kind have no frame; what else may be there is a number like any other. */
	return adsm_drivers_libc((const void *)fault->instruction) && !adsm_index_find((uintptr_t)fault->caller) &&
		adsm_drivers_have((const void *)*fault->caller);
}

/* This thread leaves all functions whose frames lie below @stack. */
void adsm_inside_leave(uintptr_t stack);

#endif
