// SPDX-License-Identifier: MIT
// explain.cu - kernels whose accesses adsmcc explains: the expected text has the lines.
struct list { list *next; int value; };
struct pair { const float *from; float *to; };
__device__ int sum;

__global__ void scale(float *out, const float *in, float factor, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = factor * in[i];
}

__global__ void walk(const list *first, int *count)
{
	int n = 0;

	for (const list *l = first; l; l = l->next)
		n += l->value;
	*count = n;
	atomicAdd(&sum, n);
}

__global__ void copy(pair p, volatile int *flag)
{
	p.to[threadIdx.x] = p.from[threadIdx.x];
	__threadfence();
	*flag = 1;
}

__global__ void keep(float **place, float *what)
{
	place[threadIdx.x] = what;
}

__global__ void wave(double *out, const double *in)
{
	out[threadIdx.x] = sin(in[threadIdx.x]);
}
