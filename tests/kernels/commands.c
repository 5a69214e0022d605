/* SPDX-License-Identifier: MIT */
/* commands.c - kernels that ask the program for something again and again, and tell how often that went well. */
#include <adsm_kernel.h>

ADSM_KERNEL_MAX(ask, 1, ADSM_OUT(int, right), ADSM_VAL(int, n))
{
	ADSM_THREADS {
		int x = 0;

		for (int i = 0; i < n; i++)
			if (ADSM_SERVICE("next", &x, sizeof(x), &x, sizeof(x)) != sizeof(x))
				break;
		*right = x;
	}
}

ADSM_KERNEL_MAX(say, 1, ADSM_OUT(int, right), ADSM_VAL(int, n))
{
	ADSM_THREADS {
		int x = 0;

		for (int i = 0; i < n; i++)
			x += ADSM_PRINT("a line of %d\n", 1) > 0;
		*right = x;
	}
}
