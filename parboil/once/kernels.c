/* SPDX-License-Identifier: MIT */
/* kernels.c - the stages of the pipelines that devices do; those of the scan also for memory that is no write-once. */
#include <adsm_kernel.h>

#define UNIT 256
#define THREADS 128			/* of a block that scans a unit */

ADSM_FUNCTION void work(unsigned n)
{
	volatile int x = 0;

	for (unsigned k = 0; k < n; k++)
		x += (int)k;
	(void)x;
}

/* Block b scans unit b, up a tree of sums and down it. */
ADSM_KERNEL_MAX(scan_units, THREADS, ADSM_ONCE_IN(int, input), ADSM_ONCE(int, local), ADSM_ONCE(int, sums),
		ADSM_VAL(unsigned, n_work))
{
	ADSM_SHARED(int, tree, UNIT);
	const ADSM_SPACE_GLOBAL int *in = ADSM_GET(input, ADSM_BLOCK_X);
	ADSM_SPACE_GLOBAL int *out = ADSM_FRESH(local, ADSM_BLOCK_X);
	ADSM_SPACE_GLOBAL int *sum = ADSM_FRESH(sums, ADSM_BLOCK_X);

	ADSM_THREADS {
		tree[ADSM_THREAD_X] = in[ADSM_THREAD_X];
		tree[ADSM_THREAD_X + THREADS] = in[ADSM_THREAD_X + THREADS];
	}
	for (int width = 1; width < UNIT; width *= 2) {
		ADSM_BARRIER;
		ADSM_THREADS {
			int last = 2 * width * (ADSM_THREAD_X + 1) - 1;

			if (last < UNIT)
				tree[last] += tree[last - width];
		}
	}
	ADSM_BARRIER;
	ADSM_THREADS {
		if (ADSM_THREAD_X > 0)
			continue;
		*sum = tree[UNIT - 1];
		tree[UNIT - 1] = 0;
		work(n_work);
	}
	for (int width = UNIT / 2; width > 0; width /= 2) {
		ADSM_BARRIER;
		ADSM_THREADS {
			int last = 2 * width * (ADSM_THREAD_X + 1) - 1;

			if (last < UNIT) {
				int left = tree[last - width];

				tree[last - width] = tree[last];
				tree[last] += left;
			}
		}
	}
	ADSM_BARRIER;
	ADSM_THREADS {
		out[ADSM_THREAD_X] = tree[ADSM_THREAD_X];
		out[ADSM_THREAD_X + THREADS] = tree[ADSM_THREAD_X + THREADS];
	}
	ADSM_BARRIER;
	ADSM_SET(sums, ADSM_BLOCK_X);
	ADSM_SET(local, ADSM_BLOCK_X);
}

ADSM_KERNEL_MAX(add_units, THREADS, ADSM_ONCE_IN(int, local), ADSM_ONCE_IN(int, scanned), ADSM_ONCE(int, result),
		ADSM_VAL(unsigned, n_work))
{
	const ADSM_SPACE_GLOBAL int *in = ADSM_GET(local, ADSM_BLOCK_X);
	const ADSM_SPACE_GLOBAL int *sum = ADSM_GET(scanned, ADSM_BLOCK_X);
	ADSM_SPACE_GLOBAL int *out = ADSM_FRESH(result, ADSM_BLOCK_X);

	ADSM_THREADS {
		out[ADSM_THREAD_X] = in[ADSM_THREAD_X] + *sum;
		out[ADSM_THREAD_X + THREADS] = in[ADSM_THREAD_X + THREADS] + *sum;
		if (ADSM_THREAD_X == 0)
			work(n_work);
	}
	ADSM_BARRIER;
	ADSM_SET(result, ADSM_BLOCK_X);
}

/* The same two, of whole arrays. */
ADSM_KERNEL_MAX(scan_blocks, THREADS, ADSM_IN(int, input), ADSM_OUT(int, local), ADSM_OUT(int, sums),
		ADSM_VAL(unsigned, n_work))
{
	ADSM_SHARED(int, tree, UNIT);
	const int first = ADSM_BLOCK_X * UNIT;

	ADSM_THREADS {
		tree[ADSM_THREAD_X] = input[first + ADSM_THREAD_X];
		tree[ADSM_THREAD_X + THREADS] = input[first + ADSM_THREAD_X + THREADS];
	}
	for (int width = 1; width < UNIT; width *= 2) {
		ADSM_BARRIER;
		ADSM_THREADS {
			int last = 2 * width * (ADSM_THREAD_X + 1) - 1;

			if (last < UNIT)
				tree[last] += tree[last - width];
		}
	}
	ADSM_BARRIER;
	ADSM_THREADS {
		if (ADSM_THREAD_X > 0)
			continue;
		sums[ADSM_BLOCK_X] = tree[UNIT - 1];
		tree[UNIT - 1] = 0;
		work(n_work);
	}
	for (int width = UNIT / 2; width > 0; width /= 2) {
		ADSM_BARRIER;
		ADSM_THREADS {
			int last = 2 * width * (ADSM_THREAD_X + 1) - 1;

			if (last < UNIT) {
				int left = tree[last - width];

				tree[last - width] = tree[last];
				tree[last] += left;
			}
		}
	}
	ADSM_BARRIER;
	ADSM_THREADS {
		local[first + ADSM_THREAD_X] = tree[ADSM_THREAD_X];
		local[first + ADSM_THREAD_X + THREADS] = tree[ADSM_THREAD_X + THREADS];
	}
}

ADSM_KERNEL_MAX(add_blocks, THREADS, ADSM_IN(int, local), ADSM_IN(int, scanned), ADSM_OUT(int, result),
		ADSM_VAL(unsigned, n_work))
{
	const int first = ADSM_BLOCK_X * UNIT;

	ADSM_THREADS {
		int i = first + ADSM_THREAD_X, j = i + THREADS;

		result[i] = local[i] + scanned[ADSM_BLOCK_X];
		result[j] = local[j] + scanned[ADSM_BLOCK_X];
		if (ADSM_THREAD_X == 0)
			work(n_work);
	}
}

/* Block (x, y) computes tile 2y + parity of column x of c = a b, @n tiles each way, each of @side by @side numbers. */
ADSM_KERNEL(multiply_tiles, ADSM_ONCE_IN(int, a), ADSM_ONCE_IN(int, b), ADSM_ONCE(int, c), ADSM_VAL(int, n),
	    ADSM_VAL(int, side), ADSM_VAL(int, parity))
{
	const int row = 2 * ADSM_BLOCK_Y + parity, column = ADSM_BLOCK_X;
	ADSM_SPACE_GLOBAL int *out = ADSM_FRESH(c, row * n + column);

	ADSM_THREADS {
		for (int i = ADSM_THREAD; i < side * side; i += ADSM_BLOCK_DIM_X)
			out[i] = 0;
	}
	for (int k = 0; k < n; k++) {
		const ADSM_SPACE_GLOBAL int *x = ADSM_GET(a, row * n + k);
		const ADSM_SPACE_GLOBAL int *y = ADSM_GET(b, k * n + column);

		ADSM_BARRIER;
		ADSM_THREADS {
			for (int r = ADSM_THREAD; r < side; r += ADSM_BLOCK_DIM_X)
				for (int i = 0; i < side; i++)
					for (int q = 0; q < side; q++)
						out[r * side + q] += x[r * side + i] * y[i * side + q];
		}
	}
	ADSM_BARRIER;
	ADSM_SET(c, row * n + column);
}

/* Block b turns unit b of a file, @size bytes, into upper case, and counts its lines. */
ADSM_KERNEL(capitals, ADSM_ONCE_IN(unsigned char, text), ADSM_ONCE(unsigned char, out), ADSM_ONCE(unsigned, lines),
	    ADSM_VAL(int, size))
{
	const ADSM_SPACE_GLOBAL unsigned char *from = ADSM_GET(text, ADSM_BLOCK_X);
	ADSM_SPACE_GLOBAL unsigned char *to = ADSM_FRESH(out, ADSM_BLOCK_X);
	ADSM_SPACE_GLOBAL unsigned *n = ADSM_FRESH(lines, ADSM_BLOCK_X);

	ADSM_THREADS {
		if (ADSM_THREAD == 0)
			*n = 0;
	}
	ADSM_BARRIER;
	ADSM_THREADS {
		unsigned mine = 0;

		for (int i = ADSM_THREAD; i < size; i += ADSM_BLOCK_DIM_X) {
			to[i] = from[i] >= 'a' && from[i] <= 'z' ? from[i] - ('a' - 'A') : from[i];
			mine += from[i] == '\n';
		}
		ADSM_ATOMIC_ADD(n, mine);
	}
	ADSM_BARRIER;
	ADSM_SET(lines, ADSM_BLOCK_X);
	ADSM_SET(out, ADSM_BLOCK_X);
}
