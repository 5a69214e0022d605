/* SPDX-License-Identifier: MIT */
/* vecadd.c - one phase, a bounds test: c = a + b. */
#include <adsm_kernel.h>

ADSM_KERNEL(vecadd, ADSM_IN(float, a), ADSM_IN(float, b), ADSM_OUT(float, c), ADSM_VAL(unsigned, n))
{
	ADSM_THREADS {
		unsigned i = ADSM_GLOBAL_X;

		if (i >= n)
			continue;
		c[i] = a[i] + b[i];
	}
}
