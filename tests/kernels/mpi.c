/* SPDX-License-Identifier: MIT */
/* mpi.c - bytes by their places, for what ranks of MPI send each other. */
#include <adsm_kernel.h>

/* As pattern() of tests/mpi/matrix.c has it. */
ADSM_KERNEL(fill, ADSM_OUT(unsigned char, a), ADSM_VAL(unsigned long, n), ADSM_VAL(int, seed))
{
	ADSM_THREADS {
		unsigned long at = 64 * (unsigned long)ADSM_GLOBAL_X;

		for (unsigned long i = at; i < at + 64 && i < n; i++)
			a[i] = (unsigned char)(i * 7 + i / 251 + (unsigned long)seed * 31);
	}
}

ADSM_KERNEL(add_one, ADSM_INOUT(unsigned char, a), ADSM_VAL(unsigned long, n))
{
	ADSM_THREADS {
		unsigned long at = 64 * (unsigned long)ADSM_GLOBAL_X;

		for (unsigned long i = at; i < at + 64 && i < n; i++)
			a[i]++;
	}
}
