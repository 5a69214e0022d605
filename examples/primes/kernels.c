/* SPDX-License-Identifier: MIT */
/* kernels.c - counts the primes in each unit of a write-once object, as soon as the unit is set. */
#include <adsm_kernel.h>

enum { UNIT = 4096, THREADS = 64 };	/* numbers in a unit; as in primes.c */

ADSM_FUNCTION int is_prime(unsigned x)
{
	if (x < 2)
		return 0;
	for (unsigned i = 2; i * i <= x; i++)
		if (x % i == 0)
			return 0;
	return 1;
}

/* Block b reads unit b of the numbers, and sets unit b of the counts. */
ADSM_KERNEL_MAX(count_primes, THREADS, ADSM_ONCE_IN(unsigned, numbers), ADSM_ONCE(unsigned, counts))
{
	ADSM_SHARED(unsigned, part, THREADS);
	const ADSM_SPACE_GLOBAL unsigned *in = ADSM_GET(numbers, ADSM_BLOCK_X);		/* waits */
	ADSM_SPACE_GLOBAL unsigned *out = ADSM_FRESH(counts, ADSM_BLOCK_X);

	ADSM_THREADS {
		part[ADSM_THREAD] = 0;
		for (int i = ADSM_THREAD; i < UNIT; i += THREADS)
			part[ADSM_THREAD] += (unsigned)is_prime(in[i]);
	}
	ADSM_BARRIER;
	ADSM_THREADS {
		if (ADSM_THREAD == 0) {
			unsigned sum = 0;

			for (int i = 0; i < THREADS; i++)
				sum += part[i];
			*out = sum;
		}
	}
	ADSM_BARRIER;
	ADSM_SET(counts, ADSM_BLOCK_X);
}
