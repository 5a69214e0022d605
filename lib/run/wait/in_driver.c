/* SPDX-License-Identifier: MIT */
/* in_driver.c - see in_driver.h. */
#include "run/wait/in_driver.h"

_Thread_local struct adsm_in_driver adsm_in_driver;

void adsm_in_driver_leave(uintptr_t stack)
{
	if (adsm_in_driver.frame < stack)
		adsm_in_driver.frame = 0;
}
