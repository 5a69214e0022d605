/* SPDX-License-Identifier: MIT */
/* inside.c - whether a touch is a driver's. */
#include "run/inside.h"

#include "engine/engine.h"
#include "core/index.h"

_Thread_local struct adsm_inside adsm_inside;

bool adsm_inside_faults(const struct adsm_fault *fault)
{
	if (adsm_inside.frame || adsm_drivers_have((const void *)fault->instruction))
		return true;
	/* Libc's memcpy() and its kind have no frame; what else may be there is a number like any other. */
	return adsm_drivers_libc((const void *)fault->instruction) && !adsm_index_find((uintptr_t)fault->caller) &&
		adsm_drivers_have((const void *)*fault->caller);
}

void adsm_inside_leave(uintptr_t stack)
{
	if (adsm_inside.frame < stack)
		adsm_inside.frame = 0;
}
