/* SPDX-License-Identifier: MIT */
/* streams.c - one thread that goes through arrays in their order, or through a few bytes again and again. */
#include <adsm_kernel.h>

ADSM_KERNEL_MAX(sum, 1, ADSM_IN(float, a), ADSM_OUT(float, result), ADSM_VAL(int, n), ADSM_VAL(int, rounds))
{
	ADSM_THREADS {
		float sum = 0;

		for (int round = 0; round < rounds; round++)
			for (int i = 0; i < n; i++)
				sum += a[i];
		result[0] = sum;
	}
}

ADSM_KERNEL_MAX(scale, 1, ADSM_IN(float, a), ADSM_OUT(float, b), ADSM_VAL(int, n), ADSM_VAL(int, rounds))
{
	ADSM_THREADS {
		for (int round = 0; round < rounds; round++)
			for (int i = 0; i < n; i++)
				b[i] = a[i] * 3;
	}
}
