/* SPDX-License-Identifier: MIT */
/* kernels.cu - blackscholes in CUDA C: the kernel of kernels.c. */

/* The standard normal distribution up to @d: polynomial 26.2.17 of Abramowitz and Stegun, and its reflection. */
__device__ float normal(float d)
{
	const float k = 1 / (1 + 0.2316419f * fabsf(d));
	const float tail = 0.39894228040143267794f * expf(-0.5f * d * d) * k *
		(0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));

	return d > 0 ? 1 - tail : tail;
}

extern "C" __global__ void __launch_bounds__(128) BlackScholes(const float *price, const float *strike,
							       const float *years, float *call, float *put, int n,
							       int share, float rate, float volatility)
{
	const int start = blockIdx.x * (share ? share : (int)blockDim.x);
	const int end = share && share < n - start ? start + share : n;
	const int step = share ? blockDim.x : gridDim.x * blockDim.x;

	for (int i = start + (int)threadIdx.x; i < end; i += step) {
		const float root = sqrtf(years[i]);
		const float d1 = (logf(price[i] / strike[i]) + (rate + 0.5f * volatility * volatility) * years[i]) /
			(volatility * root);
		const float n1 = normal(d1), n2 = normal(d1 - volatility * root);
		const float discounted = strike[i] * expf(-rate * years[i]);

		call[i] = price[i] * n1 - discounted * n2;
		put[i] = discounted * (1 - n2) - price[i] * (1 - n1);
	}
}
