/* SPDX-License-Identifier: MIT */
/* crash.c - a kernel that stores wherever it is told; with debug information. */
#include <adsm_kernel.h>

ADSM_KERNEL(crash, ADSM_PTR(int, p), ADSM_VAL(unsigned, index))
{
	ADSM_THREADS {
		p[index] = 1;
	}
}
