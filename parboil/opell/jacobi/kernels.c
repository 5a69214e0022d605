/* SPDX-License-Identifier: MIT */
/* kernels.c - jacobi: one step of Jacobi's iteration for a system of equations, a row for each thread. */
#include <adsm_kernel.h>

/* What the other unknowns have in the equation. */
ADSM_PARTITION(1) ADSM_FUNCTION float others(const ADSM_SPACE_GLOBAL float *row, const ADSM_SPACE_GLOBAL float *x,
					      int i, int n)
{
	float sum = 0;

	for (int k = 0; k < i; k++)
		sum += row[k] * x[k];
	for (int k = i + 1; k < n; k++)
		sum += row[k] * x[k];
	return sum;
}

ADSM_PARTITION(2) ADSM_FUNCTION float solve(float right, float sum, float diagonal)
{
	return (right - sum) / diagonal;
}

/* @changes: how far each unknown has come. */
ADSM_KERNEL(jacobi, ADSM_IN(float, a), ADSM_IN(float, b), ADSM_IN(float, x), ADSM_OUT(float, next),
	    ADSM_OUT(float, changes), ADSM_VAL(int, n))
{
	ADSM_THREADS {
		const int i = ADSM_GLOBAL_X;
		const ADSM_SPACE_GLOBAL float *row = a + (long)i * n;
		float value;

		if (i >= n)
			continue;
		value = solve(b[i], others(row, x, i, n), row[i]);
		next[i] = value;
		changes[i] = adsm_fabsf(value - x[i]);
	}
}
