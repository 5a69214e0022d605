// SPDX-License-Identifier: MIT
// numbers.cu - arithmetic of all widths, conversions, builtins.
#include "device.h"

template<typename T> __device__ T mix(T a, T b, T c) { return a * b + c / (b | 1) - (a % (c | 1)) + (a & ~b) + (a >> 3); }

__global__ void integers(long long *l, unsigned long long *u, int *i, unsigned *w, short *s, unsigned char *c)
{
	l[index] = mix(l[0], l[1], l[2]);
	u[index] = mix(u[0], u[1], u[2]);
	i[index] = mix(i[0], i[1], i[2]) + __builtin_popcount(i[3]) + __builtin_clz(i[4]) + __builtin_ctz(i[5]);
	w[index] = mix(w[0], w[1], w[2]) + __builtin_bitreverse32(w[3]) + __builtin_bswap32(w[4]);
	s[index] = mix<int>(s[0], s[1], s[2]);
	c[index] = c[1] * c[2] + (c[3] > c[4]);
	l[1] = __nvvm_mulhi_ll(l[3], l[4]) + (long long)(((__int128)l[5] * l[6]) >> 64);
}

__global__ void floats(float *f, double *d, int *i)
{
	f[index] = f[0] * f[1] + f[2] / f[3] - __nvvm_sqrt_rn_f(f[4]) + __nvvm_fma_rz_f(f[0], f[1], f[2]);
	d[index] = d[0] * d[1] + d[2] / d[3] - __nvvm_sqrt_rn_d(d[4]) + __builtin_fabs(d[5]);
	f[1] = __nvvm_ex2_approx_f(f[5]) + __nvvm_lg2_approx_ftz_f(f[6]) + __nvvm_sin_approx_f(f[7]);
	f[2] = f[0] < f[1] ? f[2] : f[3];
	i[0] = (int)f[0] + (int)d[0] + (f[1] != f[1]) + (d[1] >= d[2]);
	f[3] = i[1] + (float)d[1] + (float)(unsigned)i[2] + (float)(unsigned long long)i[3];
	d[1] = f[0] + (double)(long long)i[4];
	f[4] = __builtin_copysignf(f[5], f[6]) + __nvvm_fmax_f(f[0], f[1]) + __builtin_nanf("") + 1.0f / 0.0f;
}

__global__ void halves(__fp16 *h, float *f, unsigned *u)
{
	h[index] = (float)h[0] * (float)h[1] + (float)h[2];
	f[index] = (float)h[3];
	asm("{ .reg .f16 a, b; mov.b32 {a, b}, %1; fma.rn.f16 a, a, b, a; mov.b32 %0, {a, b}; }" : "=r"(u[0]) : "r"(u[1]));
	asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(u[0]) : "r"(u[1]), "r"(u[2]), "r"(u[3]));
}
