/* SPDX-License-Identifier: MIT */
/*
 * kernels.c - mgrid: what a cycle through grids of a periodic cube is made of, a row of the grid for each thread. A
 * grid has @n points a side, a power of two; point X of the next coarser one is point 2X of it.
 */
#include <adsm_kernel.h>

/* How much a point counts that is in the middle, and by how many coordinates another one differs from it. */
struct weights {
	float by[4];
};

ADSM_FUNCTION int at(int x, int y, int z, int n)
{
	const int within = n - 1;

	return ((z & within) * n + (y & within)) * n + (x & within);
}

/* 27 points, weighed. */
ADSM_PARTITION(1) ADSM_FUNCTION float stencil(const ADSM_SPACE_GLOBAL float *u, int x, int y, int z, int n,
					       struct weights weights)
{
	float sum = 0;

	for (int dz = -1; dz <= 1; dz++)
		for (int dy = -1; dy <= 1; dy++)
			for (int dx = -1; dx <= 1; dx++)
				sum += weights.by[dx * dx + dy * dy + dz * dz] * u[at(x + dx, y + dy, z + dz, n)];
	return sum;
}

/* r = v - A u */
ADSM_PARTITION(1) ADSM_FUNCTION void resid_row(const ADSM_SPACE_GLOBAL float *u, const ADSM_SPACE_GLOBAL float *v,
						ADSM_SPACE_GLOBAL float *r, int y, int z, int n)
{
	const struct weights a = { { -8.0f / 3, 0, 1.0f / 6, 1.0f / 12 } };

	for (int x = 0; x < n; x++)
		r[at(x, y, z, n)] = v[at(x, y, z, n)] - stencil(u, x, y, z, n, a);
}

/* u += S r */
ADSM_PARTITION(1) ADSM_FUNCTION void psinv_row(const ADSM_SPACE_GLOBAL float *r, ADSM_SPACE_GLOBAL float *u, int y,
						int z, int n)
{
	const struct weights s = { { -3.0f / 8, 1.0f / 32, -1.0f / 64, 0 } };

	for (int x = 0; x < n; x++)
		u[at(x, y, z, n)] += stencil(r, x, y, z, n, s);
}

/* A row of the coarser grid, of @n points a side. */
ADSM_PARTITION(2) ADSM_FUNCTION void rprj3_row(const ADSM_SPACE_GLOBAL float *fine, ADSM_SPACE_GLOBAL float *coarse,
						int y, int z, int n)
{
	for (int x = 0; x < n; x++) {
		float sum = 0;

		for (int dz = -1; dz <= 1; dz++)
			for (int dy = -1; dy <= 1; dy++)
				for (int dx = -1; dx <= 1; dx++)
					sum += fine[at(2 * x + dx, 2 * y + dy, 2 * z + dz, 2 * n)] /
						(float)(2 << (dx * dx + dy * dy + dz * dz));
		coarse[at(x, y, z, n)] = sum;
	}
}

/* A row of the finer grid, of @n points a side: where it has a point of its own, the mean of those around it. */
ADSM_PARTITION(2) ADSM_FUNCTION void interp_row(const ADSM_SPACE_GLOBAL float *coarse, ADSM_SPACE_GLOBAL float *fine,
						 int y, int z, int n)
{
	for (int x = 0; x < n; x++) {
		float sum = 0;

		for (int dz = 0; dz <= (z & 1); dz++)
			for (int dy = 0; dy <= (y & 1); dy++)
				for (int dx = 0; dx <= (x & 1); dx++)
					sum += coarse[at(x / 2 + dx, y / 2 + dy, z / 2 + dz, n / 2)];
		fine[at(x, y, z, n)] += sum / (float)(1 << ((x & 1) + (y & 1) + (z & 1)));
	}
}

/* The squares of a row, added up. */
ADSM_PARTITION(3) ADSM_FUNCTION float norm_row(const ADSM_SPACE_GLOBAL float *r, int n)
{
	float sum = 0;

	for (int x = 0; x < n; x++)
		sum += r[x] * r[x];
	return sum;
}

ADSM_KERNEL(resid, ADSM_IN(float, u), ADSM_IN(float, v), ADSM_INOUT(float, r), ADSM_VAL(int, n))
{
	ADSM_THREADS {
		if (ADSM_GLOBAL_X < n * n)
			resid_row(u, v, r, ADSM_GLOBAL_X % n, ADSM_GLOBAL_X / n, n);
	}
}

ADSM_KERNEL(psinv, ADSM_IN(float, r), ADSM_INOUT(float, u), ADSM_VAL(int, n))
{
	ADSM_THREADS {
		if (ADSM_GLOBAL_X < n * n)
			psinv_row(r, u, ADSM_GLOBAL_X % n, ADSM_GLOBAL_X / n, n);
	}
}

ADSM_KERNEL(rprj3, ADSM_IN(float, fine), ADSM_OUT(float, coarse), ADSM_VAL(int, n))
{
	ADSM_THREADS {
		if (ADSM_GLOBAL_X < n * n)
			rprj3_row(fine, coarse, ADSM_GLOBAL_X % n, ADSM_GLOBAL_X / n, n);
	}
}

ADSM_KERNEL(interp, ADSM_IN(float, coarse), ADSM_INOUT(float, fine), ADSM_VAL(int, n))
{
	ADSM_THREADS {
		if (ADSM_GLOBAL_X < n * n)
			interp_row(coarse, fine, ADSM_GLOBAL_X % n, ADSM_GLOBAL_X / n, n);
	}
}

ADSM_KERNEL(norm, ADSM_IN(float, r), ADSM_OUT(float, sums), ADSM_VAL(int, n))
{
	ADSM_THREADS {
		if (ADSM_GLOBAL_X < n * n)
			sums[ADSM_GLOBAL_X] = norm_row(r + (long)ADSM_GLOBAL_X * n, n);
	}
}
