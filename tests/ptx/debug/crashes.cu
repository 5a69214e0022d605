// SPDX-License-Identifier: MIT
// crashes.cu - kernels that end badly. The tests know the lines.
__global__ void stray(int *p, int at)
{
	if (threadIdx.x == 3)
		p[at] = 5;
}

__device__ __noinline__ int fetch(const int *p, int at)
{
	return p[at] + 1;
}

__global__ void far(int *p, int at, int block)
{
	p[threadIdx.x] = blockIdx.x == block ? fetch(p, at) : 1;
}

__global__ void asserts(int n)
{
	assert((int)threadIdx.x < n);
}

__global__ void traps(void)
{
	if (threadIdx.x == 1)
		__trap();
}

__global__ void stuck(int *p)
{
	if (threadIdx.x < 32)
		asm volatile("bar.sync 1, 64;");
	p[threadIdx.x] = 1;
}

__global__ void add(int *p, int n)
{
	__shared__ int all[64];

	all[threadIdx.x] = p[threadIdx.x];
	__syncthreads();
	p[threadIdx.x] = all[63 - threadIdx.x] + n;
}
