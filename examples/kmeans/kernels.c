/* SPDX-License-Identifier: MIT */
/* kernels.c - k-means: finds the nearest centre of each point. Points and centres are pairs of x and y. */
#include <adsm_kernel.h>

ADSM_KERNEL_MAX(assign, 256, ADSM_IN(float, points), ADSM_CONST(float, centres), ADSM_OUT(int, nearest),
		ADSM_VAL(int, n), ADSM_VAL(int, k))
{
	ADSM_THREADS {
		int i = ADSM_GLOBAL_X, best = 0;
		float smallest = 0;

		if (i >= n)
			continue;
		for (int c = 0; c < k; c++) {
			float dx = points[2 * i] - centres[2 * c], dy = points[2 * i + 1] - centres[2 * c + 1];
			float distance = dx * dx + dy * dy;

			if (c == 0 || distance < smallest)
				smallest = distance, best = c;
		}
		nearest[i] = best;
	}
}
