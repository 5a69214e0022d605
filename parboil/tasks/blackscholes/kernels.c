/* SPDX-License-Identifier: MIT */
/*
 * blackscholes - European options are priced again and again: each worker has some, whose prices it keeps to itself.
 * What it writes is the sum of them.
 */
#include <adsm_kernel.h>

ADSM_FUNCTION float normal(float x)
{
	const float k = 1 / (1 + 0.2316419f * adsm_fabsf(x));
	const float tail = 0.39894228f * adsm_expf(-0.5f * x * x) * k * (0.31938153f + k * (-0.356563782f +
			   k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));

	return x < 0 ? tail : 1 - tail;
}

ADSM_TASK(blackscholes, ADSM_IN(float, spot), ADSM_IN(float, strike), ADSM_IN(float, years), ADSM_IN(char, is_put),
	  ADSM_INOUT(double, sums), ADSM_VAL(long, n), ADSM_VAL(int, n_iterations))
{
	const float rate = 0.02f, volatility = 0.30f;
	const long first = n * ADSM_WORKER / ADSM_N_WORKERS, end = n * (ADSM_WORKER + 1) / ADSM_N_WORKERS;
	double sum = 0;

	for (int iteration = 0; iteration < n_iterations; iteration++) {
		for (long i = first; i < end; i++) {
			const float s = ADSM_READ(&spot[i]), x = ADSM_READ(&strike[i]), t = ADSM_READ(&years[i]);
			const float root = volatility * adsm_sqrtf(t), later = x * adsm_expf(-rate * t);
			const float d = (adsm_logf(s / x) + (rate + 0.5f * volatility * volatility) * t) / root;
			const float call = s * normal(d) - later * normal(d - root);

			sum += ADSM_READ(&is_put[i]) ? call - s + later : call;
		}
	}
	ADSM_WRITE(&sums[ADSM_WORKER], sum);
	ADSM_ALL_BARRIER;
}
