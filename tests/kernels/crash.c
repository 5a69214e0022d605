/* SPDX-License-Identifier: MIT */
/* crash.c - a kernel that stores to any address; with debug information. */
#include <adsm_kernel.h>

ADSM_KERNEL(crash, ADSM_PTR(int, p), ADSM_VAL(unsigned, index))
{
	ADSM_THREADS {
		p[index] = 1;
	}
}
