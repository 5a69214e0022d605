// SPDX-License-Identifier: MIT
// calls.cu - functions of the device, their addresses, virtual functions, recursion, variable arguments.
#include "device.h"

extern "C" __device__ int vprintf(const char *, void *);
extern "C" __device__ float unknown(float, int);

struct shape {
	__device__ virtual float area(int n) const = 0;
	__device__ virtual ~shape() {}
};
struct square : shape {
	float side;
	__device__ float area(int n) const override { return side * side * n; }
};
struct big { double d[4]; int n; };

typedef float (*function)(float);
__device__ __noinline__ float twice(float x) { return 2 * x; }
__device__ __noinline__ float half(float x) { return x / 2; }
__device__ function table[3] = { twice, half, twice };
__device__ __noinline__ int depth(int n) { return n > 1 ? depth(n - 1) + depth(n - 2) : n; }
__device__ __noinline__ big make(big b, int n) { b.d[n & 3] = n; b.n += n; return b; }
template<typename T, typename F> __device__ __noinline__ T apply(T x, F f) { return f(x); }

__global__ void calls(float *out, shape *s, int n)
{
	big b = { { 1, 2, 3, 4 }, 5 };
	struct { int a; double x; } args = { n, 1.5 };
	int y = n;

	out[index] = table[n % 3](out[index]) + depth(n) + s->area(n);
	b = make(b, n);
	out[0] = (float)b.d[2] + b.n + apply(2.0f, [=](float x) { return x + y; });
	if (n > 3)
		out[1] = unknown(out[2], n);
	vprintf("%d %f\n", &args);
	if (n < 0)
		__builtin_trap();
}

__global__ void make_square(char *where)
{
	struct place { static __device__ void *at(void *p) { return p; } };
	square *s = (square *)place::at(where);
	s->side = 3;
}
