# SPDX-License-Identifier: MIT
"""Sources of kernels that several tests use."""

VECADD = r"""
#include <adsm_kernel.h>

ADSM_KERNEL(vecadd, ADSM_IN(float, a), ADSM_IN(float, b), ADSM_OUT(float, c), ADSM_VAL(int, n))
{
	ADSM_THREADS {
		if (ADSM_GLOBAL_X < n)
			c[ADSM_GLOBAL_X] = a[ADSM_GLOBAL_X] + b[ADSM_GLOBAL_X];
	}
}
"""

# Adds a number to each element.
SHIFT = r"""
#include <adsm_kernel.h>

ADSM_KERNEL(shift, ADSM_INOUT(double, a), ADSM_VAL(double, by), ADSM_VAL(int, n))
{
	ADSM_THREADS {
		if (ADSM_GLOBAL_X < n)
			a[ADSM_GLOBAL_X] += by;
	}
}
"""

# Writes bytes: what a kernel can do to an array of any dtype.
FLIP = r"""
#include <adsm_kernel.h>

ADSM_KERNEL(flip, ADSM_INOUT(unsigned char, a), ADSM_VAL(int, n))
{
	ADSM_THREADS {
		if (ADSM_GLOBAL_X < n)
			a[ADSM_GLOBAL_X] ^= 0xff;
	}
}
"""

CUDA = r"""
__constant__ float bias[2];

__global__ void scale(float *out, const float *in, float factor, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = in[i] * factor + bias[0];
}

template<typename T> __global__ void fill(T *p, T value)
{
	p[threadIdx.x] = value;
}

template __global__ void fill<short>(short *, short);

__global__ void total(int *sums, const int *in)
{
	extern __shared__ int part[];

	part[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];
	__syncthreads();
	if (threadIdx.x == 0) {
		int sum = 0;

		for (int i = 0; i < blockDim.x; i++)
			sum += part[i];
		sums[blockIdx.x] = sum;
	}
}
"""

# A pointer that is not used.
UNUSED = r"""
__global__ void unused(float *o, const int *mask)
{
	o[threadIdx.x] = 1;
}
"""

# Values that have the size of a pointer.
WIDE = r"""
__global__ void wide(float *o, double by, long n, unsigned long long add, float2 more)
{
	if (threadIdx.x < n)
		o[threadIdx.x] = by + add + more.x + more.y;
}
"""

FOLLOW = r"""
extern "C" __global__ void follow(float **table, int n, const float *maybe, const float *other, short more)
{
	int i = threadIdx.x;

	if (i < n)
		table[i][0] = (maybe ? maybe[0] : 0) + (other ? other[0] : 0) + more;
}
"""

TASK = r"""
#include <adsm_kernel.h>

ADSM_TASK(center, ADSM_INOUT(double, a), ADSM_VAL(int, n), ADSM_INOUT(double, sum))
{
	double mine = 0, mean;

	for (int i = ADSM_WORKER; i < n; i += ADSM_N_WORKERS)
		mine += ADSM_READ(&a[i]);
	ADSM_LOCK(0);
	ADSM_WRITE(sum, ADSM_READ(sum) + mine);
	ADSM_UNLOCK(0);
	ADSM_ALL_BARRIER;
	mean = ADSM_READ(sum) / n;
	for (int i = ADSM_WORKER; i < n; i += ADSM_N_WORKERS)
		ADSM_WRITE(&a[i], ADSM_READ(&a[i]) - mean);
}
"""

# Constants, structures, values of several types.
TYPES = r"""
#include <adsm_kernel.h>

struct pair { int a; float b; };

ADSM_KERNEL(types, ADSM_OUT(double, out), ADSM_CONST(float, table), ADSM_VAL(struct pair, p),
	    ADSM_VAL(unsigned char, c), ADSM_VAL(unsigned long, u), ADSM_IN(struct pair, pairs))
{
	ADSM_THREADS {
		out[0] = table[0] + table[1];
		out[1] = p.a;
		out[2] = p.b;
		out[3] = c;
		out[4] = (double)u;
		out[5] = pairs[1].a + pairs[1].b;
	}
}
"""

ONCE = r"""
#include <adsm_kernel.h>

ADSM_KERNEL(twice, ADSM_ONCE_IN(int, from), ADSM_ONCE(int, to))
{
	const ADSM_SPACE_GLOBAL int *in = ADSM_GET(from, ADSM_BLOCK_X);
	ADSM_SPACE_GLOBAL int *out = ADSM_FRESH(to, ADSM_BLOCK_X);

	ADSM_THREADS { out[ADSM_THREAD] = 2 * in[ADSM_THREAD]; }
	ADSM_BARRIER;
	ADSM_SET(to, ADSM_BLOCK_X);
}

ADSM_KERNEL(plain, ADSM_IN(int, in), ADSM_OUT(int, out), ADSM_VAL(int, n))
{
	ADSM_THREADS {
		if (ADSM_GLOBAL_X < n)
			out[ADSM_GLOBAL_X] = 3 * in[ADSM_GLOBAL_X];
	}
}
"""

# Writes to an object and to an array.
BOTH = r"""
#include <adsm_kernel.h>

ADSM_KERNEL(both, ADSM_IN(int, in), ADSM_OUT(int, out), ADSM_INOUT(int, array), ADSM_VAL(int, n))
{
	ADSM_THREADS {
		if (ADSM_GLOBAL_X < n)
			array[ADSM_GLOBAL_X] = out[ADSM_GLOBAL_X] = in[ADSM_GLOBAL_X];
	}
}
"""

OPENCL = r"""
/* __kernel void no_kernel(int a) */
__kernel void axpy(__global const float *x, __global float *y, float a, uint n, __local float *room)
{
	size_t i = get_global_id(0);

	if (i < n)
		y[i] += a * x[i];
}
"""
