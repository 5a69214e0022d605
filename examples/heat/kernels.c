/* SPDX-License-Identifier: MIT */
/* kernels.c - the heat equation on a square plate: a step of time. The cells at the edges keep their temperature. */
#include <adsm_kernel.h>

ADSM_KERNEL_MAX(step, 256, ADSM_IN(float, now), ADSM_OUT(float, next), ADSM_VAL(int, n))
{
	ADSM_THREADS {
		int x = ADSM_GLOBAL_X, y = ADSM_GLOBAL_Y, i = y * n + x;

		if (x >= n || y >= n)
			continue;
		if (x == 0 || y == 0 || x == n - 1 || y == n - 1)
			next[i] = now[i];
		else
			next[i] = 0.25f * (now[i - 1] + now[i + 1] + now[i - n] + now[i + n]);
	}
}
