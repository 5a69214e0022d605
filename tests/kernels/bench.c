/* SPDX-License-Identifier: MIT */
/* bench.c - a kernel that does nothing, without declared access; one that only stores a byte to each page of two
 * arrays; and one that takes a given time. */
#include <adsm_kernel.h>

ADSM_KERNEL(nothing, ADSM_PTR(char, p))
{
}

ADSM_KERNEL_MAX(store_pages, 1, ADSM_INOUT(char, a), ADSM_INOUT(char, b), ADSM_VAL(int, size))
{
	ADSM_THREADS {
		int pages = (size + 4095) / 4096, share = (pages + ADSM_GRID_DIM_X - 1) / ADSM_GRID_DIM_X;
		int end = (ADSM_BLOCK_X + 1) * share < pages ? (ADSM_BLOCK_X + 1) * share : pages;

		for (int page = ADSM_BLOCK_X * share; page < end; page++) {
			a[page * 4096] += 1;
			b[page * 4096] += 1;
		}
	}
}

ADSM_KERNEL(steps, ADSM_IN(unsigned, from), ADSM_OUT(unsigned, to), ADSM_VAL(int, n), ADSM_VAL(int, n_steps))
{
	ADSM_THREADS {
		int i = ADSM_GLOBAL_X;
		unsigned x;

		if (i >= n)
			continue;
		x = from[i];
		for (int step = 0; step < n_steps; step++)
			x = x * 1664525 + 1013904223;
		to[i] = x;
	}
}
