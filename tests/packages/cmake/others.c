/* SPDX-License-Identifier: MIT */
/* Kernels of a target without a program. */
#include <adsm_kernel.h>

ADSM_KERNEL(scale, ADSM_INOUT(int, a))
{
	ADSM_THREADS {
		a[0] *= 100;
	}
}
