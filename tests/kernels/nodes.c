/* SPDX-License-Identifier: MIT */
/* Kernels with known writes on a cluster's nodes. */
#include <adsm_kernel.h>

#define PAGE 1024			/* words */

/* Each block writes a page of its own, and no block writes b. */
ADSM_KERNEL(own, ADSM_INOUT(unsigned, a), ADSM_INOUT(unsigned, b), ADSM_VAL(unsigned, never))
{
	ADSM_THREADS {
		a[ADSM_BLOCK_X * PAGE]++;
		if (never)
			b[ADSM_BLOCK_X * PAGE] = never;
	}
}

/* Each block writes to all pages. */
ADSM_KERNEL(striped, ADSM_INOUT(unsigned, a), ADSM_VAL(unsigned, n_pages))
{
	ADSM_THREADS {
		for (unsigned i = 0; i < n_pages; i++)
			a[i * PAGE + 1 + ADSM_BLOCK_X]++;
	}
}

ADSM_KERNEL(counted, ADSM_INOUT(unsigned, a))
{
	ADSM_THREADS {
		ADSM_ATOMIC_ADD(a + 512, 1);
	}
}

/* The same, by another name. */
ADSM_KERNEL(counted_too, ADSM_INOUT(unsigned, a))
{
	ADSM_THREADS {
		ADSM_ATOMIC_ADD(a + 512, 1);
	}
}

/* Takes a time that no compiler can guess away, and writes nothing. */
ADSM_KERNEL(worked, ADSM_INOUT(unsigned, a), ADSM_VAL(unsigned long, spins))
{
	ADSM_THREADS {
		unsigned long x = spins;

		for (unsigned long i = 0; i < spins; i++)
			x = x * 6364136223846793005ul + 1442695040888963407ul;
		if (x == 42)
			a[0] = 42;
	}
}
