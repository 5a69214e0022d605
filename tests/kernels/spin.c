/* SPDX-License-Identifier: MIT */
/* spin.c - a kernel that says it runs in flags[0] and ends when flags[1] is set. */
#include <adsm_kernel.h>

ADSM_KERNEL(spin, ADSM_INOUT(int, flags))
{
	volatile ADSM_SPACE_GLOBAL int *f = flags;

	ADSM_THREADS {
		f[0] = 1;
		while (!f[1])
			;
	}
}
