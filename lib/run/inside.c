/* SPDX-License-Identifier: MIT */
/* inside.c - see inside.h. */
#include "run/inside.h"

_Thread_local struct adsm_inside adsm_inside;

void adsm_inside_leave(uintptr_t stack)
{
	if (adsm_inside.frame < stack)
		adsm_inside.frame = 0;
}
