/* SPDX-License-Identifier: MIT */
/* histograms.cu - atomics on shared and on global memory. */

extern "C" __global__ void histogram_shared(const unsigned char *in, unsigned int *counts, int n)
{
	__shared__ unsigned int shared[256];

	for (int i = threadIdx.x; i < 256; i += blockDim.x)
		shared[i] = 0;
	__syncthreads();
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		atomicAdd(&shared[in[i]], 1u);
	__syncthreads();
	for (int i = threadIdx.x; i < 256; i += blockDim.x)
		if (shared[i])
			atomicAdd(&counts[i], shared[i]);
}

extern "C" __global__ void histogram_global(const int *in, unsigned int *counts, int n)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		atomicAdd(&counts[(unsigned int)in[i] % 37], 1u);
}

/* The lanes of a warp with the same value add once, together. */
extern "C" __global__ void histogram_match(const int *in, unsigned int *counts)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x, value = in[i] & 7;
	const unsigned int same = __match_any_sync(0xffffffff, value);

	if (threadIdx.x % 32 == __ffs((int)same) - 1)
		atomicAdd(&counts[value], (unsigned int)__popc(same));
}

/* Sums of numbers in float, double and 64 bits. All are small integers, so that the order makes no difference. */
extern "C" __global__ void histogram_sums(const int *in, float *floats, double *doubles, unsigned long long *words)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x, slot = in[i] & 3;

	atomicAdd(&floats[slot], (float)(in[i] >> 8 & 63));
	atomicAdd(&doubles[slot], (double)(in[i] >> 9 & 1023) / 4);
	atomicAdd(&words[slot], (unsigned long long)(unsigned int)in[i]);
	atomicMax(&words[4 + slot], (unsigned long long)(unsigned int)in[i] << 20);
}
