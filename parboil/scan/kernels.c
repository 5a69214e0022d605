/* SPDX-License-Identifier: MIT */
/* kernels.c - scan: prefix sums, each of the values before it. */
#include <adsm_kernel.h>

#define THREADS 256			/* of each block */
#define SEGMENT (2 * THREADS)

/*
 * A block scans one segment: up a tree of sums, then down it. @sums, where it is not NULL, gets each segment's
 * total. The array may be scanned in place. Values are multiplied by @factor before.
 */
ADSM_KERNEL_MAX(Scan, THREADS, ADSM_IN(unsigned, in), ADSM_OUT(unsigned, out), ADSM_OUT(unsigned, sums),
		ADSM_VAL(int, n), ADSM_VAL(unsigned, factor))
{
	ADSM_SHARED(unsigned, tree, SEGMENT);
	const int first = ADSM_BLOCK_X * SEGMENT;

	ADSM_THREADS {
		int i = first + ADSM_THREAD_X, j = i + THREADS;

		tree[ADSM_THREAD_X] = i < n ? factor * in[i] : 0;
		tree[ADSM_THREAD_X + THREADS] = j < n ? factor * in[j] : 0;
	}
	for (int width = 1; width < SEGMENT; width *= 2) {
		ADSM_BARRIER;
		ADSM_THREADS {
			int last = 2 * width * (ADSM_THREAD_X + 1) - 1;

			if (last >= SEGMENT)
				continue;
			tree[last] += tree[last - width];
		}
	}
	ADSM_BARRIER;
	ADSM_THREADS {
		if (ADSM_THREAD_X > 0)
			continue;
		if (sums)
			sums[ADSM_BLOCK_X] = tree[SEGMENT - 1];
		tree[SEGMENT - 1] = 0;
	}
	for (int width = SEGMENT / 2; width > 0; width /= 2) {
		ADSM_BARRIER;
		ADSM_THREADS {
			int last = 2 * width * (ADSM_THREAD_X + 1) - 1;
			unsigned left;

			if (last >= SEGMENT)
				continue;
			left = tree[last - width];
			tree[last - width] = tree[last];
			tree[last] += left;
		}
	}
	ADSM_BARRIER;
	ADSM_THREADS {
		int i = first + ADSM_THREAD_X, j = i + THREADS;

		if (i < n)
			out[i] = tree[ADSM_THREAD_X];
		if (j < n)
			out[j] = tree[ADSM_THREAD_X + THREADS];
	}
}

/* To each segment what all segments before it came to. */
ADSM_KERNEL_MAX(AddSums, THREADS, ADSM_INOUT(unsigned, out), ADSM_IN(unsigned, sums), ADSM_VAL(int, n))
{
	const int first = ADSM_BLOCK_X * SEGMENT;

	ADSM_THREADS {
		int i = first + ADSM_THREAD_X, j = i + THREADS;

		if (i < n)
			out[i] += sums[ADSM_BLOCK_X];
		if (j < n)
			out[j] += sums[ADSM_BLOCK_X];
	}
}
