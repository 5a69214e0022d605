/* SPDX-License-Identifier: MIT */
/* kernels.c - vecadd: the sum of two vectors. */
#include <adsm_kernel.h>

ADSM_KERNEL_MAX(vecadd, 512, ADSM_IN(float, a), ADSM_IN(float, b), ADSM_OUT(float, c), ADSM_VAL(int, n))
{
	ADSM_THREADS {
		int i = ADSM_GLOBAL_X;

		if (i >= n)
			continue;
		c[i] = a[i] + b[i];
	}
}
