// SPDX-License-Identifier: MIT
// blackscholes.cu - parboil/blackscholes/kernels.c in CUDA C.
__device__ float normal(float d)
{
	float k = 1 / (1 + 0.2316419f * fabsf(d));
	float tail = 0.39894228040143267794f * expf(-0.5f * d * d) * k *
		     (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));

	return d > 0 ? 1 - tail : tail;
}

extern "C" __global__ void __launch_bounds__(128) BlackScholes(const float *price, const float *strike, const float *years,
	float *call, float *put, int n, int share, float rate, float volatility)
{
	int start = blockIdx.x * (share ? share : blockDim.x);
	int end = share && share < n - start ? start + share : n;
	int step = share ? blockDim.x : gridDim.x * blockDim.x;

	for (int i = start + threadIdx.x; i < end; i += step) {
		float root = sqrtf(years[i]);
		float d1 = (logf(price[i] / strike[i]) + (rate + 0.5f * volatility * volatility) * years[i]) /
			   (volatility * root);
		float d2 = d1 - volatility * root;
		float n1 = normal(d1), n2 = normal(d2);
		float discounted = strike[i] * expf(-rate * years[i]);

		call[i] = price[i] * n1 - discounted * n2;
		put[i] = discounted * (1 - n2) - price[i] * (1 - n1);
	}
}
