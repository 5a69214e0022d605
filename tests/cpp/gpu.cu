/* SPDX-License-Identifier: MIT */
/* gpu.cu - kernels in CUDA C, for the C++ interface. */

__device__ int table[4];
__constant__ float factor;

__global__ void look_up(int *out, const int *in, unsigned n)
{
	extern __shared__ int part[];
	const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	part[threadIdx.x] = i < n ? table[in[i]] : 0;
	__syncthreads();
	if (i < n)
		out[i] = part[threadIdx.x] * (int)factor;
}

/* Two instances of a template: their names have numbers. */
template <class T> __global__ void fill(T *p, T value, int n)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		p[i] = value;
}

template __global__ void fill<float>(float *p, float value, int n);
template __global__ void fill<long>(long *p, long value, int n);
