/* SPDX-License-Identifier: MIT */
/* sums.c - kernels where a debugger stops: one that is right, and one that writes outside of its object. */
#include <adsm_kernel.h>

ADSM_KERNEL(add, ADSM_IN(int, a), ADSM_INOUT(int, b), ADSM_VAL(int, n))
{
	ADSM_THREADS {
		int i = ADSM_GLOBAL_X;

		if (i < n)
			b[i] += a[i];
	}
}

ADSM_KERNEL(stray, ADSM_INOUT(int, b))
{
	ADSM_THREADS {
		b[0x40000000] = 1;
	}
}
