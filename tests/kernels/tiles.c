/* SPDX-License-Identifier: MIT */
/* Kernels on tiles: square parts of a matrix, of n rows and columns. One thread computes one element. */
#include <adsm_kernel.h>

/* One step of a stencil on a column of tiles: each element becomes the sum of itself and its four neighbours. */
ADSM_KERNEL(relax, ADSM_IN(unsigned, above), ADSM_IN(unsigned, here), ADSM_IN(unsigned, below), ADSM_OUT(unsigned, to),
	    ADSM_VAL(unsigned, n))
{
	ADSM_THREADS {
		unsigned i = ADSM_GLOBAL_X, row = i / n, column = i % n;

		if (row < n)
			to[i] = here[i] + (row ? here[i - n] : above[(n - 1) * n + column]) +
				(row < n - 1 ? here[i + n] : below[column]) + (column ? here[i - 1] : 0) +
				(column < n - 1 ? here[i + 1] : 0);
	}
}

/* c += a * b */
ADSM_KERNEL(multiply, ADSM_IN(unsigned, a), ADSM_IN(unsigned, b), ADSM_INOUT(unsigned, c), ADSM_VAL(unsigned, n))
{
	ADSM_THREADS {
		unsigned i = ADSM_GLOBAL_X, row = i / n, column = i % n, sum = 0;

		if (row < n) {
			for (unsigned k = 0; k < n; k++)
				sum += a[row * n + k] * b[k * n + column];
			c[i] += sum;
		}
	}
}
