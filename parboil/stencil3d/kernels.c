/* SPDX-License-Identifier: MIT */
/* kernels.c - stencil3d: one time step of the wave equation on a volume, eighth order in space. */
#include <adsm_kernel.h>

#define HALO 4			/* cells around the volume, always 0 */

/* Second difference on one axis: the weight of the cell itself, of its neighbours at 1, 2, 3 and 4. */
#define C0 (-205.0f / 72.0f)
#define C1 (8.0f / 5.0f)
#define C2 (-1.0f / 5.0f)
#define C3 (8.0f / 315.0f)
#define C4 (-1.0f / 560.0f)

/* The six neighbours at one distance: steps to the next of them on each axis. */
ADSM_FUNCTION float around(const ADSM_SPACE_GLOBAL float *u, int x, int y, int z)
{
	return u[-x] + u[x] + u[-y] + u[y] + u[-z] + u[z];
}

/*
 * @next holds the time step before @u, and becomes the one after it. @v: (velocity * dt / h)^2 of the n^3 cells,
 * without halo. The grid covers them exactly: there is no bounds test.
 */
ADSM_KERNEL(Stencil, ADSM_IN(float, u), ADSM_IN(float, v), ADSM_INOUT(float, next), ADSM_VAL(int, n))
{
	const int row = n + 2 * HALO, slice = row * row;

	ADSM_THREADS {
		int x = ADSM_GLOBAL_X, y = ADSM_GLOBAL_Y, z = ADSM_GLOBAL_Z;
		int at = (z + HALO) * slice + (y + HALO) * row + x + HALO;
		const ADSM_SPACE_GLOBAL float *cell = u + at;
		float laplacian = 3 * C0 * cell[0] +
			C1 * around(cell, 1, row, slice) + C2 * around(cell, 2, 2 * row, 2 * slice) +
			C3 * around(cell, 3, 3 * row, 3 * slice) + C4 * around(cell, 4, 4 * row, 4 * slice);

		next[at] = 2 * cell[0] - next[at] + v[(z * n + y) * n + x] * laplacian;
	}
}
