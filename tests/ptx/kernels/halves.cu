/* SPDX-License-Identifier: MIT */
/* halves.cu - numbers of 16 bits: arithmetic, pairs, conversions, comparisons, atomics. Inputs are bits. */
#include <cuda_bf16.h>
#include <cuda_fp16.h>

template <typename T>
__device__ unsigned short arithmetic(T x, T y, T z, int operation)
{
	T r = x;

	switch (operation) {
	case 0:
		r = x + y;
		break;
	case 1:
		r = x - y;
		break;
	case 2:
		r = x * y;
		break;
	case 3:
		r = x / y;
		break;
	case 4:
		r = __hfma(x, y, z);
		break;
	case 5:
		r = __hmin(x, y);
		break;
	case 6:
		r = __hmax(y, z);
		break;
	default:
		r = x < y ? -x : __habs(z);
	}
	return r.adsm_bits;
}

extern "C" __global__ void half_arithmetic(const unsigned short *in, unsigned short *out)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;

	out[i] = arithmetic(__ushort_as_half(in[i]), __ushort_as_half(in[i + 1]), __ushort_as_half(in[i + 2]), i & 7);
}

extern "C" __global__ void half_bfloat(const unsigned short *in, unsigned short *out)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;

	out[i] = arithmetic(__ushort_as_bfloat16(in[i]), __ushort_as_bfloat16(in[i + 1]),
			    __ushort_as_bfloat16(in[i + 2]), i & 7);
}

/* From float and to float, with the four roundings. */
extern "C" __global__ void half_conversions(const float *in, unsigned short *out, float *back)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	const float x = i & 1 ? in[i] * 1e-6f : in[i] * 7e4f;

	out[4 * i] = __half_as_ushort(__float2half_rn(x));
	out[4 * i + 1] = __half_as_ushort(__float2half_rz(x));
	out[4 * i + 2] = __half_as_ushort(__float2half_ru(x));
	out[4 * i + 3] = __half_as_ushort(__float2half_rd(x));
	back[2 * i] = __half2float(__ushort_as_half(out[4 * i]));
	back[2 * i + 1] = __bfloat162float(__float2bfloat16_rn(x));
}

/* To integers of 16 bits, with the four roundings. */
extern "C" __global__ void half_integers(const unsigned short *in, short *out)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	const half x = __ushort_as_half(in[i]);

	out[8 * i] = __half2short_rn(x);
	out[8 * i + 1] = __half2short_rz(x);
	out[8 * i + 2] = __half2short_ru(x);
	out[8 * i + 3] = __half2short_rd(x);
	out[8 * i + 4] = (short)__half2ushort_rn(x);
	out[8 * i + 5] = (short)__half2ushort_rz(x);
	out[8 * i + 6] = (short)__half2ushort_ru(x);
	out[8 * i + 7] = (short)__half2ushort_rd(x);
}

/* Dot products of pairs, whose sums are exact. */
extern "C" __global__ void half_pairs(const unsigned char *in, float *out)
{
	__shared__ half2 shared[64];
	const int t = threadIdx.x, i = blockIdx.x * 64 + t;
	half2 sum = __floats2half2_rn(0, 0);

	shared[t] = __halves2half2(__int2half_rn(in[2 * i] & 7), __ushort2half_rn(in[2 * i + 1] & 7));
	__syncthreads();
	for (int k = 0; k < 8; k++)
		sum = __hfma2(shared[(t + k) & 63], shared[(t * 3 + k) & 63], sum);
	sum = __hadd2(sum, __shfl_xor_sync(0xffffffff, sum, 1));
	out[i] = __low2float(sum) + __high2float(__lowhigh2highlow(sum)) * 2;
}

/* Whole numbers up to 2048 are exact. */
extern "C" __global__ void half_atomics(const unsigned char *in, unsigned short *sums)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;

	atomicAdd((half *)sums + (in[i] & 1), __int2half_rn(in[i] >> 5));
	atomicAdd((half2 *)sums + 1, __floats2half2_rn((float)(in[i] & 3), 1));
}

struct numbers { double x[20]; };

template <typename T> __device__ unsigned short bits_of(T x) { return x.adsm_bits; }

/* Each of the numbers and its negative, and integers, which are rounded once. */
extern "C" __global__ void half_doubles(numbers in, unsigned short *out)
{
	const int i = threadIdx.x;
	const double x = i & 1 ? -in.x[i / 2] : in.x[i / 2];
	const int n = fabs(x) < 2e9 ? (int)x : 7;

	out[8 * i] = bits_of(__double2half(x));
	out[8 * i + 1] = bits_of(__half(x));
	out[8 * i + 2] = bits_of(__double2bfloat16(x));
	out[8 * i + 3] = bits_of(__nv_bfloat16(x));
	out[8 * i + 4] = bits_of(__half(n));
	out[8 * i + 5] = bits_of(__int2half_rn(n));
	out[8 * i + 6] = bits_of(__nv_bfloat16(n));
	out[8 * i + 7] = bits_of(__nv_bfloat16((unsigned)n));
}

template <typename T, typename T2> __device__ int relations(T a, T b, T c, T d)
{
	T2 x, y, one;

	x.x = a;
	x.y = b;
	y.x = c;
	y.y = d;
	one = __hequ2(x, y);
	return (x == y) | (x != y) << 1 | __hbequ2(x, y) << 2 | __hbne2(x, y) << 3 | __hbneu2(x, y) << 4 |
	       (one.x.adsm_bits != 0) << 5 | (one.y.adsm_bits != 0) << 6 | (__hneu2(x, y).x.adsm_bits != 0) << 7 |
	       (__hneu2(x, y).y.adsm_bits != 0) << 8;
}

/* Zeros of both signs, a number and a NaN, in pairs of each with each. */
extern "C" __global__ void half_relations(int *out)
{
	const unsigned short some[] = { 0, 0x8000, 0x3c00, 0x7fff };
	const int i = threadIdx.x;
	const unsigned short a = some[i & 3], b = some[i >> 2 & 3], c = some[i >> 4 & 3], d = some[i >> 6];

	out[2 * i] = relations<__half, __half2>(__ushort_as_half(a), __ushort_as_half(b), __ushort_as_half(c),
						__ushort_as_half(d));
	out[2 * i + 1] = relations<__nv_bfloat16, __nv_bfloat162>(__ushort_as_bfloat16(a), __ushort_as_bfloat16(b),
								  __ushort_as_bfloat16(c), __ushort_as_bfloat16(d));
}

struct three { unsigned short x[3]; };

/* A product between two numbers, and a number that is too small for a double beside it; with all signs. */
extern "C" __global__ void half_fused(three in, unsigned short *out)
{
	const int i = threadIdx.x;
	const __nv_bfloat16 x = __ushort_as_bfloat16(in.x[0] ^ (i & 1 ? 0x8000 : 0));
	const __nv_bfloat16 z = __ushort_as_bfloat16(in.x[2] ^ (i & 2 ? 0x8000 : 0));

	out[i] = __hfma(x, __ushort_as_bfloat16(in.x[1]), z).adsm_bits;
}

/* 1 + 2^-11 + 2^-35, of two products: f32 would round it to the middle between two f16. */
extern "C" __global__ void half_product(unsigned *out)
{
	const unsigned a = threadIdx.x ? 0 : 0x10001000, b = threadIdx.x ? 0 : 0x00013c00, c = threadIdx.x ? 0 : 0x3c00;
	unsigned d, rest;

	asm volatile("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %5}, {%3}, {%4, %5};"
		     : "=r"(d), "=r"(rest) : "r"(a), "r"(b), "r"(c), "r"(0));
	out[threadIdx.x] = d + rest;
}
