/* SPDX-License-Identifier: MIT */
/* randoms.cu - random numbers in kernels. */
#include <curand_kernel.h>

/* Eight numbers of each sequence, from an offset on: one by one, and four together. */
extern "C" __global__ void random_philox(unsigned *out, unsigned long long seed, unsigned long long offset)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	curandStatePhilox4_32_10_t state;

	curand_init(seed, i, offset, &state);
	for (int k = 0; k < 4; k++)
		out[8 * i + k] = curand(&state);
	const uint4 four = curand4(&state);

	out[8 * i + 4] = four.x;
	out[8 * i + 5] = four.y;
	out[8 * i + 6] = four.z;
	out[8 * i + 7] = four.w;
}

/* Points of a sequence whose direction vectors are the powers of 2: the numbers' bits in reverse. */
extern "C" __global__ void random_sobol(unsigned *out)
{
	const int i = threadIdx.x;
	curandDirectionVectors32_t vectors;
	curandStateSobol32_t state;

	for (int k = 0; k < 32; k++)
		vectors[k] = 1u << (31 - k);
	curand_init(vectors, 4 * i, &state);
	for (int k = 0; k < 4; k++)
		out[4 * i + k] = curand(&state);
}

/* The means of 4096 numbers, in hundredths: uniform ones, normal ones, their squares, and those with logarithms. */
template <typename State> __device__ void means(State *state, int *out)
{
	double sum[6] = { 0 };

	for (int k = 0; k < 4096; k++)
		sum[0] += curand_uniform_double(state);
	for (int k = 0; k < 4096; k++) {
		const double x = curand_normal(state);

		sum[1] += x;
		sum[2] += x * x;
	}
	for (int k = 0; k < 4096; k++) {
		const double x = curand_normal_double(state);

		sum[3] += x;
		sum[4] += x * x;
	}
	for (int k = 0; k < 4096; k++)
		sum[5] += logf(curand_log_normal(state, 1, 2)) + log(curand_log_normal_double(state, 1.0, 2.0));
	for (int i = 0; i < 6; i++)
		out[i] = __double2int_rn(sum[i] / 40.96);
}

extern "C" __global__ void random_points(int *out)
{
	curandDirectionVectors32_t vectors;
	curandDirectionVectors64_t longer;
	curandStateSobol32_t a;
	curandStateSobol64_t b;
	curandStateScrambledSobol32_t c;
	curandStateScrambledSobol64_t d;

	for (int k = 0; k < 32; k++)
		vectors[k] = 1u << (31 - k);
	for (int k = 0; k < 64; k++)
		longer[k] = 1ull << (63 - k);
	curand_init(vectors, 4096, &a);
	curand_init(longer, 4096, &b);
	curand_init(vectors, 0x12345678, 4096, &c);
	curand_init(longer, 0x123456789abcdef, 4096, &d);
	means(&a, out);
	means(&b, out + 6);
	means(&c, out + 12);
	means(&d, out + 18);
}

/*
 * Many uniform and normal numbers: how many are in each tenth, and within one deviation. A count is divided, so that only
 * one that is far from what it should be has another result.
 */
extern "C" __global__ void random_spread(int *out)
{
	const int i = threadIdx.x, n = 20000;
	curandState state;

	curand_init(42, i, 0, &state);
	for (int k = 0; k < n; k++) {
		const float x = curand_uniform(&state);

		atomicAdd(&out[x > 0 && x <= 1 ? (int)ceilf(10 * x) - 1 : 11], 1);
		atomicAdd(&out[10], fabsf(curand_normal(&state)) < 1 ? 1 : 0);
	}
	__syncthreads();
	if (i < 10)
		out[i] = out[i] / (160 * (int)blockDim.x);
	if (i == 10)
		out[i] = out[i] / (1200 * (int)blockDim.x);
}

/* From the numbers that the paper starts with, and after jumps, which steps one by one reach, too. */
extern "C" __global__ void random_mrg(unsigned *out)
{
	const int i = threadIdx.x;
	curandStateMRG32k3a_t state, other;

	for (int k = 0; k < 3; k++)
		state.first[k] = state.second[k] = 12345;
	skipahead(i * 5, &state);
	for (int k = 0; k < 4; k++)
		out[8 * i + k] = curand(&state);
	curand_init(7, 0, 0, &state);
	skipahead_sequence(3, &state);
	skipahead(i, &state);
	curand_init(7, 3, 0, &other);
	for (int k = 0; k < i; k++)
		curand(&other);
	for (int k = 4; k < 8; k++)
		out[8 * i + k] = curand(&state) - curand(&other);
}
