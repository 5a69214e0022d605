/* SPDX-License-Identifier: MIT */
/*
 * kernels.c - the stages of the pipelines that devices do, each twice: …_units is of write-once objects, and a block
 * waits for what it needs and sets what it has made; …_blocks is of arrays that are there. Threads do the same in both.
 */
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

/* ---- a scan of each block, up a tree of sums and down it */

/* Two numbers for each thread. */
ADSM_FUNCTION void load(ADSM_SPACE_SHARED int *tree, const ADSM_SPACE_GLOBAL int *in, int thread)
{
	tree[thread] = in[thread];
	tree[thread + THREADS] = in[thread + THREADS];
}

ADSM_FUNCTION void store(ADSM_SPACE_GLOBAL int *out, const ADSM_SPACE_SHARED int *tree, int thread)
{
	out[thread] = tree[thread];
	out[thread + THREADS] = tree[thread + THREADS];
}

ADSM_FUNCTION void up(ADSM_SPACE_SHARED int *tree, int width, int thread)
{
	int last = 2 * width * (thread + 1) - 1;

	if (last < UNIT)
		tree[last] += tree[last - width];
}

/* Between the two. */
ADSM_FUNCTION void take_sum(ADSM_SPACE_SHARED int *tree, ADSM_SPACE_GLOBAL int *sum, unsigned n_work, int thread)
{
	if (thread > 0)
		return;
	*sum = tree[UNIT - 1];
	tree[UNIT - 1] = 0;
	work(n_work);
}

ADSM_FUNCTION void down(ADSM_SPACE_SHARED int *tree, int width, int thread)
{
	int last = 2 * width * (thread + 1) - 1;

	if (last < UNIT) {
		int left = tree[last - width];

		tree[last - width] = tree[last];
		tree[last] += left;
	}
}

/* All phases, in whatever kernel has these. */
#define SCAN(tree, in, out, sum, n_work) \
	ADSM_THREADS { load(tree, in, ADSM_THREAD_X); } \
	for (int width = 1; width < UNIT; width *= 2) { \
		ADSM_BARRIER; \
		ADSM_THREADS { up(tree, width, ADSM_THREAD_X); } \
	} \
	ADSM_BARRIER; \
	ADSM_THREADS { take_sum(tree, sum, n_work, ADSM_THREAD_X); } \
	for (int width = UNIT / 2; width > 0; width /= 2) { \
		ADSM_BARRIER; \
		ADSM_THREADS { down(tree, width, ADSM_THREAD_X); } \
	} \
	ADSM_BARRIER; \
	ADSM_THREADS { store(out, tree, ADSM_THREAD_X); }

ADSM_KERNEL_MAX(scan_units, THREADS, ADSM_ONCE_IN(int, input), ADSM_ONCE(int, partial), ADSM_ONCE(int, sums),
		ADSM_VAL(unsigned, n_work))
{
	ADSM_SHARED(int, tree, UNIT);
	const ADSM_SPACE_GLOBAL int *in = ADSM_GET(input, ADSM_BLOCK_X);
	ADSM_SPACE_GLOBAL int *out = ADSM_FRESH(partial, ADSM_BLOCK_X);
	ADSM_SPACE_GLOBAL int *sum = ADSM_FRESH(sums, ADSM_BLOCK_X);

	SCAN(tree, in, out, sum, n_work)
	ADSM_BARRIER;
	ADSM_SET(sums, ADSM_BLOCK_X);
	ADSM_SET(partial, ADSM_BLOCK_X);
}

ADSM_KERNEL_MAX(scan_blocks, THREADS, ADSM_IN(int, input), ADSM_OUT(int, partial), ADSM_OUT(int, sums),
		ADSM_VAL(unsigned, n_work))
{
	ADSM_SHARED(int, tree, UNIT);
	const ADSM_SPACE_GLOBAL int *in = input + ADSM_BLOCK_X * UNIT;
	ADSM_SPACE_GLOBAL int *out = partial + ADSM_BLOCK_X * UNIT, *sum = sums + ADSM_BLOCK_X;

	SCAN(tree, in, out, sum, n_work)
}

/* ---- what comes before a block is added to its scan */

ADSM_FUNCTION void add(const ADSM_SPACE_GLOBAL int *in, int sum, ADSM_SPACE_GLOBAL int *out, unsigned n_work,
		       int thread)
{
	out[thread] = in[thread] + sum;
	out[thread + THREADS] = in[thread + THREADS] + sum;
	if (thread == 0)
		work(n_work);
}

ADSM_KERNEL_MAX(add_units, THREADS, ADSM_ONCE_IN(int, partial), ADSM_ONCE_IN(int, scanned), ADSM_ONCE(int, result),
		ADSM_VAL(unsigned, n_work))
{
	const ADSM_SPACE_GLOBAL int *in = ADSM_GET(partial, ADSM_BLOCK_X);
	const ADSM_SPACE_GLOBAL int *sum = ADSM_GET(scanned, ADSM_BLOCK_X);
	ADSM_SPACE_GLOBAL int *out = ADSM_FRESH(result, ADSM_BLOCK_X);

	ADSM_THREADS { add(in, *sum, out, n_work, ADSM_THREAD_X); }
	ADSM_BARRIER;
	ADSM_SET(result, ADSM_BLOCK_X);
}

ADSM_KERNEL_MAX(add_blocks, THREADS, ADSM_IN(int, partial), ADSM_IN(int, scanned), ADSM_OUT(int, result),
		ADSM_VAL(unsigned, n_work))
{
	const int first = ADSM_BLOCK_X * UNIT;

	ADSM_THREADS { add(partial + first, scanned[ADSM_BLOCK_X], result + first, n_work, ADSM_THREAD_X); }
}

/* ---- tiles of c = a b, @n tiles in a row, each of @side by @side numbers; threads share a tile's rows */

ADSM_FUNCTION void clear(ADSM_SPACE_GLOBAL int *out, int side, int thread, int n_threads)
{
	for (int i = thread; i < side * side; i += n_threads)
		out[i] = 0;
}

ADSM_FUNCTION void multiply(ADSM_SPACE_GLOBAL int *out, const ADSM_SPACE_GLOBAL int *x, const ADSM_SPACE_GLOBAL int *y,
			    int side, int thread, int n_threads)
{
	for (int r = thread; r < side; r += n_threads)
		for (int i = 0; i < side; i++)
			for (int q = 0; q < side; q++)
				out[r * side + q] += x[r * side + i] * y[i * side + q];
}

/* Block (x, y) computes tile (2y + parity, x). */
ADSM_KERNEL(multiply_units, ADSM_ONCE_IN(int, a), ADSM_ONCE_IN(int, b), ADSM_ONCE(int, c), ADSM_VAL(int, n),
	    ADSM_VAL(int, side), ADSM_VAL(int, parity))
{
	const int row = 2 * ADSM_BLOCK_Y + parity, column = ADSM_BLOCK_X;
	ADSM_SPACE_GLOBAL int *out = ADSM_FRESH(c, row * n + column);

	ADSM_THREADS { clear(out, side, ADSM_THREAD, ADSM_BLOCK_DIM_X); }
	for (int k = 0; k < n; k++) {
		const ADSM_SPACE_GLOBAL int *x = ADSM_GET(a, row * n + k);
		const ADSM_SPACE_GLOBAL int *y = ADSM_GET(b, k * n + column);

		ADSM_BARRIER;
		ADSM_THREADS { multiply(out, x, y, side, ADSM_THREAD, ADSM_BLOCK_DIM_X); }
	}
	ADSM_BARRIER;
	ADSM_SET(c, row * n + column);
}

/* Tile (y, x), of the rows of a and c that there are. */
ADSM_KERNEL(multiply_blocks, ADSM_IN(int, a), ADSM_IN(int, b), ADSM_OUT(int, c), ADSM_VAL(int, n), ADSM_VAL(int, side))
{
	const int first = ADSM_BLOCK_Y * n, tile = side * side;
	ADSM_SPACE_GLOBAL int *out = c + (first + ADSM_BLOCK_X) * tile;

	ADSM_THREADS { clear(out, side, ADSM_THREAD, ADSM_BLOCK_DIM_X); }
	for (int k = 0; k < n; k++) {
		const ADSM_SPACE_GLOBAL int *x = a + (first + k) * tile, *y = b + (k * n + ADSM_BLOCK_X) * tile;

		ADSM_BARRIER;
		ADSM_THREADS { multiply(out, x, y, side, ADSM_THREAD, ADSM_BLOCK_DIM_X); }
	}
}

/* ---- a unit of a file, @size bytes, in upper case, and the number of its lines */

/* Of the bytes that a thread has. */
ADSM_FUNCTION unsigned capitals(const ADSM_SPACE_GLOBAL unsigned char *from, ADSM_SPACE_GLOBAL unsigned char *to,
				int size, int thread, int n_threads)
{
	unsigned lines = 0;

	for (int i = thread; i < size; i += n_threads) {
		to[i] = from[i] >= 'a' && from[i] <= 'z' ? from[i] - ('a' - 'A') : from[i];
		lines += from[i] == '\n';
	}
	return lines;
}

ADSM_KERNEL(capital_units, ADSM_ONCE_IN(unsigned char, text), ADSM_ONCE(unsigned char, out), ADSM_ONCE(unsigned, lines),
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
	ADSM_THREADS { ADSM_ATOMIC_ADD(n, capitals(from, to, size, ADSM_THREAD, ADSM_BLOCK_DIM_X)); }
	ADSM_BARRIER;
	ADSM_SET(lines, ADSM_BLOCK_X);
	ADSM_SET(out, ADSM_BLOCK_X);
}

ADSM_KERNEL(capital_blocks, ADSM_IN(unsigned char, text), ADSM_OUT(unsigned char, out), ADSM_OUT(unsigned, lines),
	    ADSM_VAL(int, size))
{
	const ADSM_SPACE_GLOBAL unsigned char *from = text + (long)ADSM_BLOCK_X * size;
	ADSM_SPACE_GLOBAL unsigned char *to = out + (long)ADSM_BLOCK_X * size;
	ADSM_SPACE_GLOBAL unsigned *n = lines + ADSM_BLOCK_X;

	ADSM_THREADS {
		if (ADSM_THREAD == 0)
			*n = 0;
	}
	ADSM_BARRIER;
	ADSM_THREADS { ADSM_ATOMIC_ADD(n, capitals(from, to, size, ADSM_THREAD, ADSM_BLOCK_DIM_X)); }
}
