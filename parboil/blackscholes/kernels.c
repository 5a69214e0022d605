/* SPDX-License-Identifier: MIT */
/* kernels.c - blackscholes: prices of European call and put options. */
#include <adsm_kernel.h>

/* The standard normal distribution up to @d: polynomial 26.2.17 of Abramowitz and Stegun, and its reflection. */
ADSM_FUNCTION float normal(float d)
{
	float k = 1 / (1 + 0.2316419f * adsm_fabsf(d));
	float tail = 0.39894228040143267794f * adsm_expf(-0.5f * d * d) * k *
		     (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));

	return d > 0 ? 1 - tail : tail;
}

/*
 * A grid of any size. Each block has @share options side by side, as many as are left; where that is 0, each thread
 * takes every so many-th option.
 */
ADSM_KERNEL_MAX(BlackScholes, 128, ADSM_IN(float, price), ADSM_IN(float, strike), ADSM_IN(float, years),
		ADSM_OUT(float, call), ADSM_OUT(float, put), ADSM_VAL(int, n), ADSM_VAL(int, share),
		ADSM_VAL(float, rate), ADSM_VAL(float, volatility))
{
	int start = ADSM_BLOCK_X * (share ? share : ADSM_BLOCK_DIM_X);
	int end = share && share < n - start ? start + share : n;
	int step = share ? ADSM_BLOCK_DIM_X : ADSM_GRID_DIM_X * ADSM_BLOCK_DIM_X;

	for (int first = start; first < end; first += step) {
		ADSM_THREADS {
			int i = first + ADSM_THREAD_X;
			float root, d1, d2, n1, n2, discounted;

			if (i >= end)
				continue;
			root = adsm_sqrtf(years[i]);
			d1 = (adsm_logf(price[i] / strike[i]) + (rate + 0.5f * volatility * volatility) * years[i]) /
			     (volatility * root);
			d2 = d1 - volatility * root;
			n1 = normal(d1);
			n2 = normal(d2);
			discounted = strike[i] * adsm_expf(-rate * years[i]);
			call[i] = price[i] * n1 - discounted * n2;
			put[i] = discounted * (1 - n2) - price[i] * (1 - n1);
		}
	}
}
