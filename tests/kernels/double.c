/* SPDX-License-Identifier: MIT */
/* double.c - a kernel with double precision, which not every device has. */
#include <adsm_kernel.h>

ADSM_KERNEL(scale, ADSM_INOUT(double, a), ADSM_VAL(double, factor))
{
	ADSM_THREADS {
		a[ADSM_GLOBAL_X] *= factor;
	}
}
