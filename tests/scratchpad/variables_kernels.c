/* SPDX-License-Identifier: MIT */
/* variables_kernels.c - variables that kernels change, and that functions in several partitions use. Each is one,
 * of the device, whichever partition or core uses it. */
#include <adsm_kernel.h>

#include "overlays.h"

ADSM_PER_NODE static long total = 3;
ADSM_PER_NODE static int counted;

ADSM_PARTITION(1) long add_to_total(long x)
{
	LARGE(x)
	total += x;
	return total;
}

ADSM_PARTITION(2) long multiply_total(long x)
{
	static ADSM_PER_NODE long last = 1;

	LARGE(x)
	total = total * x + last;
	last = x;
	return total;
}

ADSM_PARTITION(3) void count(void)
{
	ADSM_ATOMIC_ADD(&counted, 1);
}

ADSM_PARTITION(3) static long twice(long x)
{
	return 2 * x;
}

ADSM_PARTITION(4) static long thrice(long x)
{
	LARGE(x)
	return 3 * x;
}

/* By one block: each call of a function evicts the other's partition, if there is one sub-buffer. */
ADSM_KERNEL(keep, ADSM_OUT(long, out), ADSM_VAL(long, n))
{
	ADSM_THREADS {
		for (long i = 0; i < n; i++) {
			out[2 * i] = add_to_total(i);
			out[2 * i + 1] = multiply_total(i % 5);
		}
	}
}

ADSM_KERNEL(tally, ADSM_OUT(long, out))
{
	ADSM_THREADS {
		count();
		out[ADSM_BLOCK_X] = twice(ADSM_BLOCK_X) + thrice(ADSM_BLOCK_X);
		count();
	}
}

ADSM_KERNEL(recall, ADSM_OUT(long, out))
{
	ADSM_THREADS {
		out[0] = total;
		out[1] = counted;
	}
}
