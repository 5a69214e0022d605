/* SPDX-License-Identifier: MIT */
/* ranges.c - kernels that know nothing of write-once objects, for calls that do. */
#include <adsm_kernel.h>

ADSM_KERNEL(add, ADSM_IN(int, a), ADSM_IN(int, b), ADSM_OUT(int, c), ADSM_VAL(int, n), ADSM_VAL(int, more))
{
	ADSM_THREADS {
		int i = ADSM_GLOBAL_X;

		if (i >= n)
			continue;
		c[i] = a[i] + b[i] + more;
	}
}

/* Sums of @size values each. */
ADSM_KERNEL(sums, ADSM_IN(int, a), ADSM_OUT(int, sum), ADSM_VAL(int, n), ADSM_VAL(int, size))
{
	ADSM_THREADS {
		int i = ADSM_GLOBAL_X, s = 0;

		if (i >= n)
			continue;
		for (int j = 0; j < size; j++)
			s += a[i * size + j];
		sum[i] = s;
	}
}

/* Of native devices only. */
ADSM_KERNEL(crash, ADSM_IN(int, a), ADSM_OUT(int, b))
{
	ADSM_THREADS {
		b[*(volatile ADSM_SPACE_GLOBAL int *)(unsigned long)(a[0] + 8)] = 0;
	}
}
