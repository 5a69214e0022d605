/* SPDX-License-Identifier: MIT */
/* launch.c - kernels that tell how they were launched. */
#include <adsm_kernel.h>

/* Adds 1 + the block's indexes, as digits, to the block's place in a 3-D grid. */
ADSM_KERNEL(mark, ADSM_INOUT(unsigned, places))
{
	ADSM_THREADS {
		unsigned row = ADSM_BLOCK_Z * ADSM_GRID_DIM_Y + ADSM_BLOCK_Y;
		unsigned block = row * ADSM_GRID_DIM_X + ADSM_BLOCK_X;

		if (ADSM_THREAD == ADSM_BLOCK_DIM_X * ADSM_BLOCK_DIM_Y * ADSM_BLOCK_DIM_Z - 1)
			places[block] += 1000 * ADSM_BLOCK_Z + 100 * ADSM_BLOCK_Y + 10 * ADSM_BLOCK_X + 1;
	}
}

/* The sum of a constant's words, of a value's bytes, and what a pointer inside data points to. */
ADSM_KERNEL(sum, ADSM_OUT(unsigned, out), ADSM_CONST(unsigned, words), ADSM_VAL(unsigned, n),
	    ADSM_VAL(unsigned char, byte), ADSM_IN(unsigned *, pointers))
{
	ADSM_THREADS {
		unsigned total = byte;

		for (unsigned i = 0; i < n; i++)
			total += words[i];
		out[0] = total;
		out[1] = *pointers[0];
		out[2] = (unsigned)((unsigned long)words % 64);
	}
}

/* x = 2 * x + 1, by one thread: shows the order of launches. */
ADSM_KERNEL(twice, ADSM_INOUT(unsigned, x))
{
	ADSM_THREADS {
		*x = 2 * *x + 1;
	}
}

ADSM_KERNEL(triple, ADSM_INOUT(unsigned, x))
{
	ADSM_THREADS {
		*x = 3 * *x;
	}
}

/* Counts the block's runs at its place, later the higher its number. */
ADSM_KERNEL(late, ADSM_INOUT(unsigned, places), ADSM_VAL(unsigned, spins))
{
	ADSM_THREADS {
		for (volatile unsigned i = 0; i < spins * (1 + ADSM_BLOCK_X); i++)
			;
		places[ADSM_BLOCK_X]++;
	}
}
