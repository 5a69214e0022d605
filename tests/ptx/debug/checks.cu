// SPDX-License-Identifier: MIT
// checks.cu - kernels that adsmcc --check finds something wrong with. The tests know the lines.
__global__ void outside(int *p, int *q, int at)
{
	q[threadIdx.x] = 1;
	if (threadIdx.x == 5)
		p[at] = 2;
}

__device__ __noinline__ int fetch(const int *p, int at)
{
	return p[at];
}

__global__ void called(int *p, int at)
{
	p[threadIdx.x] = threadIdx.x == 7 ? fetch(p, at) : 0;
}

__global__ void unwritten(int *p)
{
	__shared__ int all[64];

	if (threadIdx.x != 9)
		all[threadIdx.x] = p[threadIdx.x];
	__syncthreads();
	p[threadIdx.x] = all[63 - threadIdx.x];
}

__global__ void counts(int *p)
{
	__shared__ int n;

	atomicAdd(&n, 1);
	__syncthreads();
	p[threadIdx.x] = n;
}

__global__ void beyond(int *p)
{
	extern __shared__ int all[];

	all[threadIdx.x] = threadIdx.x;
	__syncthreads();
	p[threadIdx.x] = all[threadIdx.x + 1];
}

__global__ void split(int *p)
{
	if (threadIdx.x < 20)
		__syncthreads();
	else
		__syncthreads();
	p[threadIdx.x] = 1;
}

__global__ void leaves(int *p, int n)
{
	if (threadIdx.x >= n)
		return;
	__syncthreads();
	p[threadIdx.x] = 1;
}

/* Nothing is wrong with these. */
struct padded { char a; int b; };

__global__ void copies(padded *p)
{
	__shared__ padded all[64];
	__shared__ unsigned char bytes[64];

	all[threadIdx.x].a = p[threadIdx.x].a;
	all[threadIdx.x].b = p[threadIdx.x].b;
	bytes[threadIdx.x] = threadIdx.x;
	__syncthreads();
	padded one = all[63 - threadIdx.x];
	one.b += bytes[63 - threadIdx.x];
	p[threadIdx.x] = one;
}

__device__ int total;

__global__ void adds(int *p, int n)
{
	int sum = 0, own[4] = { 1, 2, 3, 4 };
	int *heap = (int *)malloc(64);

	for (int i = 0; i < n; i++)
		sum += own[i & 3];
	heap[3] = sum;
	atomicAdd(&total, heap[3]);
	free(heap);
	p[threadIdx.x] = sum;
}
