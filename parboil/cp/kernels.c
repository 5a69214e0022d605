/* SPDX-License-Identifier: MIT */
/* kernels.c - cp: adds the Coulombic potential of one chunk of atoms to the points of a plane. */
#include <adsm_kernel.h>

#define POINTS 8			/* of a thread: one row, ADSM_BLOCK_DIM_X apart */

struct atom {
	float x, y, dz2, q;
};

/* The grid covers the plane exactly: there is no bounds test. */
ADSM_KERNEL_MAX(cenergy, 128, ADSM_CONST(struct atom, atoms), ADSM_VAL(int, n), ADSM_VAL(float, spacing),
		ADSM_INOUT(float, energy))
{
	ADSM_THREADS {
		int i = ADSM_BLOCK_X * ADSM_BLOCK_DIM_X * POINTS + ADSM_THREAD_X;
		int j = ADSM_GLOBAL_Y;
		ADSM_SPACE_GLOBAL float *out = energy + j * ADSM_GRID_DIM_X * ADSM_BLOCK_DIM_X * POINTS + i;
		float x = spacing * i, y = spacing * j, step = spacing * ADSM_BLOCK_DIM_X;
		float sums[POINTS] = { 0 };

		for (int a = 0; a < n; a++) {
			float dx0 = x - atoms[a].x, dy = y - atoms[a].y;
			float dyz2 = dy * dy + atoms[a].dz2;

			for (int p = 0; p < POINTS; p++) {
				float dx = dx0 + p * step;

				sums[p] += atoms[a].q * (1.0f / adsm_sqrtf(dx * dx + dyz2));
			}
		}
		for (int p = 0; p < POINTS; p++)
			out[p * ADSM_BLOCK_DIM_X] += sums[p];
	}
}
