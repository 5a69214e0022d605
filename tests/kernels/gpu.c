/* SPDX-License-Identifier: MIT */
/* gpu.c - what tests/gpu launches where the driver takes no PTX: the same kernels as ../gpu/gpu.c has in it. */
#include <adsm_kernel.h>

ADSM_KERNEL(increment, ADSM_INOUT(unsigned, words), ADSM_VAL(unsigned, n))
{
	ADSM_THREADS {
		unsigned i = ADSM_GLOBAL_X;

		if (i < n)
			words[i]++;
	}
}

/* Adds 1 after about that number of nanoseconds. */
ADSM_KERNEL(late, ADSM_INOUT(unsigned, words), ADSM_VAL(unsigned long, ns))
{
	ADSM_THREADS {
		volatile unsigned long i = 0;

		if (ADSM_GLOBAL_X != 0)
			continue;
		while (i < ns)
			i++;
		words[0]++;
	}
}

ADSM_KERNEL(crash, ADSM_PTR(unsigned, words))
{
	ADSM_THREADS {
		volatile ADSM_SPACE_GLOBAL unsigned *nowhere = (volatile ADSM_SPACE_GLOBAL unsigned *)8;

		*nowhere = 1;
	}
}

#define FOUR(name) ADSM_VAL(unsigned, name##0), ADSM_VAL(unsigned, name##1), ADSM_VAL(unsigned, name##2), \
	ADSM_VAL(unsigned, name##3)

/* One pointer and 29 values. */
ADSM_KERNEL(thirty, ADSM_INOUT(unsigned, words), ADSM_VAL(unsigned, n), FOUR(a), FOUR(b), FOUR(c), FOUR(d), FOUR(e),
	    FOUR(f), FOUR(g))
{
	ADSM_THREADS {
		unsigned i = ADSM_GLOBAL_X;

		if (i < n)
			words[i] += g3;
	}
}
