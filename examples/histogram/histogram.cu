/* SPDX-License-Identifier: MIT */
/* histogram.cu - a kernel in CUDA C: counts how often each byte occurs. A block has 256 threads. */

__constant__ unsigned char fold[256];	/* what each byte counts as */

__global__ void histogram(const unsigned char *text, unsigned n, unsigned *bins)
{
	__shared__ unsigned own[256];

	own[threadIdx.x] = 0;
	__syncthreads();
	for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		atomicAdd(&own[fold[text[i]]], 1u);
	__syncthreads();
	atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}
