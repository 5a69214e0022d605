/* SPDX-License-Identifier: MIT */
/* kernels.c - tpacf: the histograms of a two-point angular correlation, one of each block of the grid. */
#include <adsm_kernel.h>

#define N_BINS 20
#define THREADS 256		/* of a block, no more and no less; and points of a tile */
#define N_ROWS (N_BINS + 2)	/* pairs too near for the first bin, the bins, pairs too far for the last */

/*
 * Block 0 counts the pairs inside the observed set, block 1 to n_random those inside a random set, and
 * the rest the pairs between the observed set and each random set. The sets lie @room points apart.
 *
 * Each thread counts on its own, so there is nothing to lose and nothing to wait for: row by row, the
 * counters of the threads side by side. The bin of a pair is how many boundaries lie below the square of its
 * chord; that takes more comparisons than a search, but no branch. The original has dot products; those of
 * near points are so near to 1 that single precision has two numbers for the first bin.
 */
ADSM_KERNEL_MAX(Histograms, THREADS, ADSM_IN(float, points), ADSM_OUT(unsigned long, histograms),
		ADSM_CONST(float, boundaries), ADSM_VAL(int, n_points), ADSM_VAL(int, room),
		ADSM_VAL(int, n_random))
{
	ADSM_SHARED(float, tile_x, THREADS);
	ADSM_SHARED(float, tile_y, THREADS);
	ADSM_SHARED(float, tile_z, THREADS);
	ADSM_SHARED(unsigned, counts, N_ROWS * THREADS);
	ADSM_PRIVATE(float, my_x);
	ADSM_PRIVATE(float, my_y);
	ADSM_PRIVATE(float, my_z);
	ADSM_PRIVATE(int, row);
	int inside = ADSM_BLOCK_X <= n_random;
	int set = inside ? ADSM_BLOCK_X : ADSM_BLOCK_X - n_random;
	long stride = (long)room * (n_random + 1);
	const ADSM_SPACE_GLOBAL float *theirs = points + (long)room * set;
	const ADSM_SPACE_GLOBAL float *mine = inside ? theirs : points;

	ADSM_THREADS {
		for (int i = 0; i < N_ROWS; i++)
			counts[i * THREADS + ADSM_THREAD_X] = 0;
	}
	for (int i0 = 0; i0 < n_points; i0 += THREADS) {
		ADSM_THREADS {
			int i = i0 + ADSM_THREAD_X;

			if (i >= n_points)
				continue;
			ADSM_MY(my_x) = mine[i];
			ADSM_MY(my_y) = mine[i + stride];
			ADSM_MY(my_z) = mine[i + 2 * stride];
		}
		for (int j0 = inside ? i0 : 0; j0 < n_points; j0 += THREADS) {
			int n = n_points - j0 < THREADS ? n_points - j0 : THREADS;

			ADSM_BARRIER;
			ADSM_THREADS {
				int j = ADSM_THREAD_X;

				if (j >= n)
					continue;
				tile_x[j] = theirs[j0 + j];
				tile_y[j] = theirs[j0 + j + stride];
				tile_z[j] = theirs[j0 + j + 2 * stride];
			}
			ADSM_BARRIER;
			for (int j = 0; j < n; j++) {
				/* Inside a set each pair counts once. */
				int end = inside ? j0 + j : n_points;

				ADSM_THREADS {
					float x = ADSM_MY(my_x) - tile_x[j], y = ADSM_MY(my_y) - tile_y[j];
					float z = ADSM_MY(my_z) - tile_z[j], chord2 = x * x + y * y + z * z;
					int below = 0;

					for (int k = 0; k <= N_BINS; k++)
						below += boundaries[k] < chord2;
					ADSM_MY(row) = i0 + ADSM_THREAD_X < end ? below : 0;
				}
				/* Apart: the phase before is vectorised as long as it scatters nothing. */
				ADSM_THREADS {
					counts[ADSM_MY(row) * THREADS + ADSM_THREAD_X]++;
				}
			}
		}
	}
	for (int width = THREADS / 2; width; width /= 2) {
		ADSM_BARRIER;
		ADSM_THREADS {
			if (ADSM_THREAD_X >= width)
				continue;
			for (int i = THREADS; i <= N_BINS * THREADS; i += THREADS)
				counts[i + ADSM_THREAD_X] += counts[i + ADSM_THREAD_X + width];
		}
	}
	ADSM_BARRIER;
	ADSM_THREADS {
		if (ADSM_THREAD_X >= N_BINS)
			continue;
		histograms[ADSM_BLOCK_X * N_BINS + ADSM_THREAD_X] = counts[(ADSM_THREAD_X + 1) * THREADS];
	}
}
