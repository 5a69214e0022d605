/* SPDX-License-Identifier: MIT */
/*
 * code_kernels.c - kernels with more code than a core is given room for: what calls between partitions must not touch,
 * and what only kernels have: device memory, tables, libm.
 */
#include <adsm_kernel.h>

#include "overlays.h"

/* ---- arguments in all registers and on the stack, structures, recursion, addresses, tables, libm. All is large. */

#define WORDS(m) m(0) m(1) m(2) m(3) m(4) m(5) m(6) m(7) m(8) m(9) m(10) m(11) m(12) m(13) m(14) m(15) m(16) m(17) \
	m(18) m(19) m(20) m(21) m(22) m(23)
#define WORD(i) , long s##i
#define ADD(i) sum = sum * 31 + (unsigned long)s##i;
#define PASS(i) , n * (i) + 5

ADSM_PARTITION(2) unsigned long deep_sum(long a, long b, long c, long d, long e, long f, double p, double q, double r,
					  double s, double t, double u, double v, double w WORDS(WORD))
{
	unsigned long sum = (unsigned long)(a + 2 * b + 3 * c + 5 * d + 7 * e + 11 * f);

	sum = sum * 31 + (unsigned long)(p + 2 * q + 3 * r + 5 * s + 7 * t + 11 * u + 13 * v + 17 * w);
	WORDS(ADD)
	LARGE(sum)
	return sum;
}

ADSM_PARTITION(2) struct large give_large(long x)
{
	struct large large;

	for (int i = 0; i < 9; i++)
		large.word[i] = x + i;
	return large;
}

ADSM_TABLE(long, primes, 8) = { 2, 3, 5, 7, 11, 13, 17, 19 };

/* The device's memory, a table, and what is libm's. */
ADSM_PARTITION(3) float far_sum(const ADSM_SPACE_GLOBAL float *a, long n)
{
	float sum = 0;

	for (long i = 0; i < 8; i++)
		sum += a[i] * (float)primes[(i + n) & 7];
	return adsm_sinf(sum) + sum;
}

ADSM_PARTITION(4) static long twice(long x)
{
	return 2 * x;
}

ADSM_PARTITION(5) static long thrice(long x)
{
	LARGE(x)
	return 3 * x;
}

typedef long (*long_function)(long);

ADSM_PARTITION(5) long_function choose(long n)
{
	return n & 1 ? twice : thrice;
}

long odd(long n);

ADSM_PARTITION(3) long even(long n)
{
	volatile long own = n * 7;

	LARGE(n)
	return n ? odd(n - 1) + own : 0;
}

ADSM_PARTITION(4) long odd(long n)
{
	volatile long own = n * 5;

	LARGE(n)
	return n ? even(n - 1) + own : 0;
}

ADSM_PARTITION(1) unsigned long calls(const ADSM_SPACE_GLOBAL float *a, long n, float *ret_sum)
{
	const double x = (double)n;
	unsigned long sum = 0;

	LARGE(sum)
	for (int i = 0; i < 3; i++) {
		const struct large large = give_large(n + i);

		sum += deep_sum(n, n + 1, n + 2, n + 3, n + 4, n + 5, x * 0.5, x + 1, x + 2, x + 3, x + 4, x + 5, x + 6,
				x + 7 WORDS(PASS));
		for (int k = 0; k < 9; k++)
			sum += (unsigned long)large.word[k];
		*ret_sum += far_sum(a, n + i);
		sum += (unsigned long)(choose(n + i)(n) + even(20));
	}
	return sum;
}

/* A block each, on as many cores as there are; what they have in common is by atomics. */
ADSM_KERNEL_MAX(mixed, 16, ADSM_IN(float, a), ADSM_OUT(unsigned long, words), ADSM_OUT(float, sums),
		ADSM_INOUT(int, blocks))
{
	ADSM_SHARED(float, some, 16);

	ADSM_THREADS {
		some[ADSM_THREAD_X] = 0;
		words[ADSM_GLOBAL_X] = calls(a + 8 * ADSM_BLOCK_X, ADSM_GLOBAL_X, &some[ADSM_THREAD_X]);
	}
	ADSM_THREADS {
		sums[ADSM_GLOBAL_X] = some[ADSM_THREAD_X] + some[(ADSM_THREAD_X + 1) % 16];
		ADSM_ATOMIC_ADD(blocks, ADSM_THREAD_X == 0);
	}
}

/* Recursion, as deep as is asked for. It begins in the partition where it ends. */
ADSM_KERNEL(depth, ADSM_INOUT(long, value))
{
	ADSM_THREADS {
		const long none = even(0);
		const long nothing = thrice(none);

		*value = even(*value) + nothing;
	}
}
