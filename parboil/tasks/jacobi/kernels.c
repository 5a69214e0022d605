/* SPDX-License-Identifier: MIT */
/* jacobi - Helmholtz's equation on a square by Jacobi's iteration: a band of rows for each worker. */
#include <adsm_kernel.h>

ADSM_FUNCTION void copy_band(const ADSM_SPACE_GLOBAL double *u, ADSM_SPACE_GLOBAL double *old, int n, int first,
			     int end)
{
	for (int y = first; y < end; y++)
		for (int x = 0; x < n; x++)
			ADSM_WRITE(&old[(long)y * n + x], ADSM_READ(&u[(long)y * n + x]));
}

/* The inner points of a band; returns the sum of the squares of their residuals. */
ADSM_FUNCTION double sweep(ADSM_SPACE_GLOBAL double *u, const ADSM_SPACE_GLOBAL double *old,
			   const ADSM_SPACE_GLOBAL double *f, int n, int first, int end, double alpha)
{
	const double h = 2.0 / (n - 1), a = 1 / (h * h), b = -4 / (h * h) - alpha;
	double sum = 0;

	for (int y = first > 1 ? first : 1; y < end && y < n - 1; y++) {
		for (int x = 1; x < n - 1; x++) {
			const long i = (long)y * n + x;
			const double c = ADSM_READ(&old[i]);
			const double residual = (a * (ADSM_READ(&old[i - 1]) + ADSM_READ(&old[i + 1]) +
						      ADSM_READ(&old[i - n]) + ADSM_READ(&old[i + n])) +
						 b * c - ADSM_READ(&f[i])) / b;

			ADSM_WRITE(&u[i], c - residual);
			sum += residual * residual;
		}
	}
	return sum;
}

ADSM_TASK(jacobi, ADSM_INOUT(double, u), ADSM_INOUT(double, old), ADSM_IN(double, f), ADSM_INOUT(double, errors),
	  ADSM_VAL(int, n), ADSM_VAL(int, n_iterations), ADSM_VAL(double, alpha))
{
	const int first = (int)((long)n * ADSM_WORKER / ADSM_N_WORKERS);
	const int end = (int)((long)n * (ADSM_WORKER + 1) / ADSM_N_WORKERS);

	for (int i = 0; i < n_iterations; i++) {
		double sum;

		copy_band(u, old, n, first, end);
		ADSM_ALL_BARRIER;
		sum = sweep(u, old, f, n, first, end, alpha);
		if (i == n_iterations - 1)
			ADSM_WRITE(&errors[ADSM_WORKER], sum);
		ADSM_ALL_BARRIER;
	}
	ADSM_ALL_BARRIER;
}
