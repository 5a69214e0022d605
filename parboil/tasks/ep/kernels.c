/* SPDX-License-Identifier: MIT */
/*
 * ep - pairs of random numbers that are distributed as Gauss has it, counted by the square ring they fall into. Batches
 * of 2^16 pairs, of which each begins where the generator would be then.
 */
#include <adsm_kernel.h>

#define MODULUS ((1ul << 46) - 1)
#define MULTIPLIER 1220703125ul		/* 5^13 */
#define BATCH 65536
#define RINGS 10

/* The generator's state after @n steps. */
ADSM_FUNCTION unsigned long skip(unsigned long seed, unsigned long n)
{
	unsigned long power = MULTIPLIER;

	for (; n; n >>= 1) {
		if (n & 1)
			seed = seed * power & MODULUS;
		power = power * power & MODULUS;
	}
	return seed;
}

ADSM_TASK(ep, ADSM_INOUT(double, sums), ADSM_INOUT(long, rings), ADSM_VAL(long, n_batches),
	  ADSM_VAL(unsigned long, seed))
{
	double sum_x = 0, sum_y = 0;
	long counts[RINGS] = { 0 };

	if (!ADSM_WORKER) {
		for (int i = 0; i < 2; i++)
			ADSM_WRITE(&sums[i], 0);
		for (int i = 0; i < RINGS; i++)
			ADSM_WRITE(&rings[i], 0);
	}
	ADSM_ALL_BARRIER;
	for (long batch = ADSM_WORKER; batch < n_batches; batch += ADSM_N_WORKERS) {
		unsigned long state = skip(seed, 2ul * BATCH * (unsigned long)batch);

		for (int i = 0; i < BATCH; i++) {
			double x, y, t;

			state = state * MULTIPLIER & MODULUS;
			x = 2 * ((double)state * 0x1p-46) - 1;
			state = state * MULTIPLIER & MODULUS;
			y = 2 * ((double)state * 0x1p-46) - 1;
			t = x * x + y * y;
			if (t > 1)
				continue;
			t = adsm_sqrt(-2 * adsm_log(t) / t);
			x *= t;
			y *= t;
			counts[(int)adsm_fmax(adsm_fabs(x), adsm_fabs(y))]++;
			sum_x += x;
			sum_y += y;
		}
	}
	ADSM_ALL_BARRIER;
	ADSM_LOCK(0);
	ADSM_WRITE(&sums[0], ADSM_READ(&sums[0]) + sum_x);
	ADSM_WRITE(&sums[1], ADSM_READ(&sums[1]) + sum_y);
	for (int i = 0; i < RINGS; i++)
		ADSM_WRITE(&rings[i], ADSM_READ(&rings[i]) + counts[i]);
	ADSM_UNLOCK(0);
	ADSM_ALL_BARRIER;
}
