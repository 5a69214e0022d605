/* SPDX-License-Identifier: MIT */
/* kernels.c - laplace: a sweep over a square, a row for each block of threads, and how much it has changed. */
#include <adsm_kernel.h>

#define THREADS 16

/* The mean of the four neighbours, of every 16th point of the row. */
ADSM_PARTITION(1) ADSM_FUNCTION void relax(const ADSM_SPACE_GLOBAL float *u, ADSM_SPACE_GLOBAL float *next,
					    int first, int n)
{
	for (int x = first; x < n; x += THREADS) {
		if (!x || x == n - 1)
			next[x] = u[x];
		else
			next[x] = 0.25f * (u[x - 1] + u[x + 1] + u[x - n] + u[x + n]);
	}
}

/* The most that one of these has changed. */
ADSM_PARTITION(2) ADSM_FUNCTION float change(const ADSM_SPACE_GLOBAL float *u, const ADSM_SPACE_GLOBAL float *next,
					      int first, int n)
{
	float most = 0;

	for (int x = first; x < n; x += THREADS)
		most = adsm_fmaxf(most, adsm_fabsf(next[x] - u[x]));
	return most;
}

/* The rows of the border stay as they are, in both squares. */
ADSM_KERNEL_MAX(laplace, THREADS, ADSM_IN(float, u), ADSM_INOUT(float, next), ADSM_OUT(float, changes),
		ADSM_VAL(int, n))
{
	ADSM_SHARED(float, most, THREADS);

	ADSM_THREADS {
		const long row = (long)(ADSM_BLOCK_X + 1) * n;

		relax(u + row, next + row, ADSM_THREAD_X, n);
	}
	ADSM_BARRIER;
	ADSM_THREADS {
		const long row = (long)(ADSM_BLOCK_X + 1) * n;

		most[ADSM_THREAD_X] = change(u + row, next + row, ADSM_THREAD_X, n);
	}
	ADSM_BARRIER;
	ADSM_THREADS {
		if (ADSM_THREAD_X)
			continue;
		for (int i = 1; i < THREADS; i++)
			most[0] = adsm_fmaxf(most[0], most[i]);
		changes[ADSM_BLOCK_X] = most[0];
	}
}
