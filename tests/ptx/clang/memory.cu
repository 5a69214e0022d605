// SPDX-License-Identifier: MIT
// memory.cu - spaces, vectors, structures, symbols, address tables.
#include "device.h"

struct __attribute__((aligned(16))) quad { float x, y, z, w; };
struct pack { float *in; int n; double scale[3]; char tail; };
struct __attribute__((packed)) crooked { char c; int *p; short s; };

__device__ int counter;
__device__ int list[5] = { 1, -2, 3 };
__device__ struct crooked crooked = { 7, 0, -1 };
__constant__ float weights[4] = { 0.5f, 1.5f };
__constant__ double pi = 3.14159;
extern __shared__ float dynamic[];

__global__ void copy(quad *out, const quad *__restrict__ in, pack p, long n)
{
	__shared__ float tile[16][17];
	__shared__ double one;
	float local[32];

	if (index >= n)
		return;
	quad q = in[index];
	tile[tidx & 15][tidx >> 4 & 15] = q.x;
	dynamic[tidx] = q.y;
	if (!tidx)
		one = pi;
	for (int i = 0; i < 32; i++)
		local[i] = p.in[i] * weights[i & 3];
	__syncthreads();
	q.z = tile[tidx >> 4 & 15][tidx & 15] + dynamic[ntidx - tidx] + (float)one;
	q.w = local[p.n & 31] + (float)p.scale[1] + p.tail;
	out[index] = q;
	counter = list[p.n] + *crooked.p;
}

__global__ void __launch_bounds__(128, 2) bytes(unsigned char *b, short *s, volatile long long *l, bool *flags)
{
	b[index] = b[index + 1] + 1;
	s[index] -= s[index * 2];
	l[index] = l[index] << 3;
	flags[index] = flags[index + 1] && b[index] > 3;
}
