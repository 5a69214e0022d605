/* SPDX-License-Identifier: MIT */
/* kernels.c - the heat equation on a part of a rod: cells 1 to n. Cells 0 and n + 1 belong to the neighbours. */
#include <adsm_kernel.h>

ADSM_KERNEL_MAX(step, 256, ADSM_IN(float, now), ADSM_INOUT(float, next), ADSM_VAL(int, n))
{
	ADSM_THREADS {
		int i = ADSM_GLOBAL_X + 1;

		if (i <= n)
			next[i] = 0.25f * now[i - 1] + 0.5f * now[i] + 0.25f * now[i + 1];
	}
}
