/* SPDX-License-Identifier: MIT */
/*
 * adsm_intrinsics.h - the functions of CUDA's Math API whose names begin with two underscores: arithmetic with a
 * rounding, fast approximations, conversions, and operations on bits and bytes.
 */
#ifndef ADSM_CUDA_INTRINSICS_H
#define ADSM_CUDA_INTRINSICS_H

#include "vector_types.h"

/* ---- Arithmetic with a rounding: nearest even, to zero, up, down -------------------------- */

#define ADSM_CUDA_ROUNDINGS(X) X(rn, rn) X(rz, rz) X(ru, rp) X(rd, rm)

#define ADSM_CUDA_FLOAT(cuda, ptx) \
	ADSM_CUDA_DEVICE float __fdiv_##cuda(float x, float y) { return __nvvm_div_##ptx##_f(x, y); } \
	ADSM_CUDA_DEVICE float __frcp_##cuda(float x) { return __nvvm_rcp_##ptx##_f(x); } \
	ADSM_CUDA_DEVICE float __fsqrt_##cuda(float x) { return __nvvm_sqrt_##ptx##_f(x); } \
	ADSM_CUDA_DEVICE float __fmaf_##cuda(float x, float y, float z) { return __nvvm_fma_##ptx##_f(x, y, z); } \
	ADSM_CUDA_DEVICE float __fmaf_ieee_##cuda(float x, float y, float z) { return __nvvm_fma_##ptx##_f(x, y, z); } \
	ADSM_CUDA_DEVICE double __ddiv_##cuda(double x, double y) { return __nvvm_div_##ptx##_d(x, y); } \
	ADSM_CUDA_DEVICE double __drcp_##cuda(double x) { return __nvvm_rcp_##ptx##_d(x); } \
	ADSM_CUDA_DEVICE double __dsqrt_##cuda(double x) { return __nvvm_sqrt_##ptx##_d(x); } \
	ADSM_CUDA_DEVICE double __fma_##cuda(double x, double y, double z) { return __nvvm_fma_##ptx##_d(x, y, z); }

ADSM_CUDA_ROUNDINGS(ADSM_CUDA_FLOAT)
#undef ADSM_CUDA_FLOAT

/* By PTX itself: the builtin functions of clang up to 15 become sums and products that clang fuses with others. */
#define ADSM_CUDA_UNFUSED(name, op, ptx, cuda, type, letter) \
	ADSM_CUDA_DEVICE type name##_##cuda(type x, type y) \
	{ \
		type result; \
		\
		__asm__(op "." #ptx " %0, %1, %2;" : "=" letter(result) : letter(x), letter(y)); \
		return result; \
	}
#define ADSM_CUDA_SUMS(cuda, ptx) \
	ADSM_CUDA_UNFUSED(__fadd, "add", ptx.f32, cuda, float, "f") \
	ADSM_CUDA_UNFUSED(__fsub, "sub", ptx.f32, cuda, float, "f") \
	ADSM_CUDA_UNFUSED(__fmul, "mul", ptx.f32, cuda, float, "f") \
	ADSM_CUDA_UNFUSED(__dadd, "add", ptx.f64, cuda, double, "d") \
	ADSM_CUDA_UNFUSED(__dsub, "sub", ptx.f64, cuda, double, "d") \
	ADSM_CUDA_UNFUSED(__dmul, "mul", ptx.f64, cuda, double, "d")

ADSM_CUDA_ROUNDINGS(ADSM_CUDA_SUMS)
#undef ADSM_CUDA_SUMS
#undef ADSM_CUDA_UNFUSED

/* 1 / sqrt(x), rounded once: the error in double is too small to matter. */
ADSM_CUDA_DEVICE float __frsqrt_rn(float x)
{
	return (float)(1 / __nvvm_sqrt_rn_d((double)x));
}

/* ---- Fast approximations ------------------------------------------------------------------ */

ADSM_CUDA_DEVICE float __fdividef(float x, float y) { return __nvvm_div_approx_f(x, y); }
ADSM_CUDA_DEVICE float __saturatef(float x) { return __nvvm_saturate_f(x); }
ADSM_CUDA_DEVICE float __expf(float x) { return __nvvm_ex2_approx_f(x * 1.44269504f); }
ADSM_CUDA_DEVICE float __exp10f(float x) { return __nvvm_ex2_approx_f(x * 3.32192809f); }
ADSM_CUDA_DEVICE float __log2f(float x) { return __nvvm_lg2_approx_f(x); }
ADSM_CUDA_DEVICE float __logf(float x) { return __nvvm_lg2_approx_f(x) * 0.693147181f; }
ADSM_CUDA_DEVICE float __log10f(float x) { return __nvvm_lg2_approx_f(x) * 0.301029996f; }
ADSM_CUDA_DEVICE float __powf(float x, float y) { return __nvvm_ex2_approx_f(y * __nvvm_lg2_approx_f(x)); }
ADSM_CUDA_DEVICE float __sinf(float x) { return __nvvm_sin_approx_f(x); }
ADSM_CUDA_DEVICE float __cosf(float x) { return __nvvm_cos_approx_f(x); }
ADSM_CUDA_DEVICE float __tanf(float x) { return __fdividef(__sinf(x), __cosf(x)); }
ADSM_CUDA_DEVICE void __sincosf(float x, float *ret_sin, float *ret_cos)
{
	*ret_sin = __sinf(x);
	*ret_cos = __cosf(x);
}

/* ---- Conversions -------------------------------------------------------------------------- */

#define ADSM_CUDA_CONVERT(cuda, ptx) \
	ADSM_CUDA_DEVICE int __float2int_##cuda(float x) { return __nvvm_f2i_##ptx(x); } \
	ADSM_CUDA_DEVICE unsigned int __float2uint_##cuda(float x) { return __nvvm_f2ui_##ptx(x); } \
	ADSM_CUDA_DEVICE long long __float2ll_##cuda(float x) { return __nvvm_f2ll_##ptx(x); } \
	ADSM_CUDA_DEVICE unsigned long long __float2ull_##cuda(float x) { return __nvvm_f2ull_##ptx(x); } \
	ADSM_CUDA_DEVICE int __double2int_##cuda(double x) { return __nvvm_d2i_##ptx(x); } \
	ADSM_CUDA_DEVICE unsigned int __double2uint_##cuda(double x) { return __nvvm_d2ui_##ptx(x); } \
	ADSM_CUDA_DEVICE long long __double2ll_##cuda(double x) { return __nvvm_d2ll_##ptx(x); } \
	ADSM_CUDA_DEVICE unsigned long long __double2ull_##cuda(double x) { return __nvvm_d2ull_##ptx(x); } \
	ADSM_CUDA_DEVICE float __double2float_##cuda(double x) { return __nvvm_d2f_##ptx(x); } \
	ADSM_CUDA_DEVICE float __int2float_##cuda(int n) { return __nvvm_i2f_##ptx(n); } \
	ADSM_CUDA_DEVICE float __uint2float_##cuda(unsigned int n) { return __nvvm_ui2f_##ptx(n); } \
	ADSM_CUDA_DEVICE float __ll2float_##cuda(long long n) { return __nvvm_ll2f_##ptx(n); } \
	ADSM_CUDA_DEVICE float __ull2float_##cuda(unsigned long long n) { return __nvvm_ull2f_##ptx(n); } \
	ADSM_CUDA_DEVICE double __ll2double_##cuda(long long n) { return __nvvm_ll2d_##ptx(n); } \
	ADSM_CUDA_DEVICE double __ull2double_##cuda(unsigned long long n) { return __nvvm_ull2d_##ptx(n); }

ADSM_CUDA_ROUNDINGS(ADSM_CUDA_CONVERT)
#undef ADSM_CUDA_CONVERT
#undef ADSM_CUDA_ROUNDINGS

ADSM_CUDA_DEVICE double __int2double_rn(int n) { return (double)n; }
ADSM_CUDA_DEVICE double __uint2double_rn(unsigned int n) { return (double)n; }

/* The same bits as another type. */
ADSM_CUDA_DEVICE int __float_as_int(float x) { return __builtin_bit_cast(int, x); }
ADSM_CUDA_DEVICE unsigned int __float_as_uint(float x) { return __builtin_bit_cast(unsigned int, x); }
ADSM_CUDA_DEVICE float __int_as_float(int n) { return __builtin_bit_cast(float, n); }
ADSM_CUDA_DEVICE float __uint_as_float(unsigned int n) { return __builtin_bit_cast(float, n); }
ADSM_CUDA_DEVICE long long __double_as_longlong(double x) { return __builtin_bit_cast(long long, x); }
ADSM_CUDA_DEVICE double __longlong_as_double(long long n) { return __builtin_bit_cast(double, n); }
ADSM_CUDA_DEVICE int __double2hiint(double x) { return (int)(__double_as_longlong(x) >> 32); }
ADSM_CUDA_DEVICE int __double2loint(double x) { return (int)__double_as_longlong(x); }
ADSM_CUDA_DEVICE double __hiloint2double(int high, int low)
{
	return __longlong_as_double((long long)((unsigned long long)(unsigned int)high << 32 | (unsigned int)low));
}

/* Names of the first versions of CUDA. */
ADSM_CUDA_DEVICE int float2int(float x) { return __float2int_rz(x); }
ADSM_CUDA_DEVICE float int2float(int n) { return __int2float_rn(n); }
ADSM_CUDA_DEVICE int float_as_int(float x) { return __float_as_int(x); }
ADSM_CUDA_DEVICE float int_as_float(int n) { return __int_as_float(n); }

/* ---- Integers, bits and bytes ------------------------------------------------------------- */

ADSM_CUDA_DEVICE int __mul24(int x, int y) { return __nvvm_mul24_i(x, y); }
ADSM_CUDA_DEVICE unsigned int __umul24(unsigned int x, unsigned int y) { return __nvvm_mul24_ui(x, y); }
ADSM_CUDA_DEVICE int mul24(int x, int y) { return __mul24(x, y); }
ADSM_CUDA_DEVICE unsigned int umul24(unsigned int x, unsigned int y) { return __umul24(x, y); }
ADSM_CUDA_DEVICE int __mulhi(int x, int y) { return __nvvm_mulhi_i(x, y); }
ADSM_CUDA_DEVICE unsigned int __umulhi(unsigned int x, unsigned int y) { return __nvvm_mulhi_ui(x, y); }
ADSM_CUDA_DEVICE int mulhi(int x, int y) { return __mulhi(x, y); }
ADSM_CUDA_DEVICE unsigned int umulhi(unsigned int x, unsigned int y) { return __umulhi(x, y); }
ADSM_CUDA_DEVICE long long __mul64hi(long long x, long long y) { return __nvvm_mulhi_ll(x, y); }
ADSM_CUDA_DEVICE unsigned long long __umul64hi(unsigned long long x, unsigned long long y)
{
	return __nvvm_mulhi_ull(x, y);
}

ADSM_CUDA_DEVICE unsigned int __sad(int x, int y, unsigned int z) { return (unsigned int)__nvvm_sad_i(x, y, (int)z); }
ADSM_CUDA_DEVICE unsigned int __usad(unsigned int x, unsigned int y, unsigned int z) { return __nvvm_sad_ui(x, y, z); }

/* The mean of two: rounded down, and up. */
ADSM_CUDA_DEVICE int __hadd(int x, int y) { return (x & y) + ((x ^ y) >> 1); }
ADSM_CUDA_DEVICE int __rhadd(int x, int y) { return (x | y) - ((x ^ y) >> 1); }
ADSM_CUDA_DEVICE unsigned int __uhadd(unsigned int x, unsigned int y) { return (x & y) + ((x ^ y) >> 1); }
ADSM_CUDA_DEVICE unsigned int __urhadd(unsigned int x, unsigned int y) { return (x | y) - ((x ^ y) >> 1); }

ADSM_CUDA_DEVICE int __popc(unsigned int x) { return __builtin_popcount(x); }
ADSM_CUDA_DEVICE int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
ADSM_CUDA_DEVICE int __clz(int x) { return x ? __builtin_clz((unsigned int)x) : 32; }
ADSM_CUDA_DEVICE int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
ADSM_CUDA_DEVICE int __ffs(int x) { return x ? __builtin_ctz((unsigned int)x) + 1 : 0; }
ADSM_CUDA_DEVICE int __ffsll(long long x) { return x ? __builtin_ctzll((unsigned long long)x) + 1 : 0; }
ADSM_CUDA_DEVICE unsigned int __brev(unsigned int x) { return __builtin_bitreverse32(x); }
ADSM_CUDA_DEVICE unsigned long long __brevll(unsigned long long x) { return __builtin_bitreverse64(x); }

/* The place of bit number @offset of @mask from @base on: upwards, or downwards if it is negative. */
ADSM_CUDA_DEVICE unsigned int __fns(unsigned int mask, unsigned int base, int offset)
{
	const int step = offset < 0 ? -1 : 1;
	int left = offset < 0 ? -offset : offset;

	if (!offset)
		return base < 32 && mask >> base & 1 ? base : 0xffffffff;
	for (int i = (int)base; i >= 0 && i < 32; i += step)
		if (mask >> i & 1 && !--left)
			return (unsigned int)i;
	return 0xffffffff;
}

/* Four of the eight bytes of @x and @y. The lower three bits of each half byte of @selector name one. */
ADSM_CUDA_DEVICE unsigned int __byte_perm(unsigned int x, unsigned int y, unsigned int selector)
{
	return __nvvm_prmt(x, y, selector & 0x7777);
}

#define ADSM_CUDA_FUNNEL(name, ptx) \
	ADSM_CUDA_DEVICE unsigned int __funnelshift_##name(unsigned int low, unsigned int high, unsigned int shift) \
	{ \
		unsigned int result; \
		\
		__asm__("shf." ptx ".b32 %0, %1, %2, %3;" : "=r"(result) : "r"(low), "r"(high), "r"(shift)); \
		return result; \
	}

ADSM_CUDA_FUNNEL(l, "l.wrap")
ADSM_CUDA_FUNNEL(lc, "l.clamp")
ADSM_CUDA_FUNNEL(r, "r.wrap")
ADSM_CUDA_FUNNEL(rc, "r.clamp")
#undef ADSM_CUDA_FUNNEL

/* Sums of products of bytes, and of two halves with two bytes. */
#define ADSM_CUDA_DOT(name, type, first, second, ptx) \
	ADSM_CUDA_DEVICE type name(first x, second y, type sum) \
	{ \
		type result; \
		\
		__asm__(ptx " %0, %1, %2, %3;" : "=r"(result) \
			: "r"(__builtin_bit_cast(type, x)), "r"(__builtin_bit_cast(type, y)), "r"(sum)); \
		return result; \
	}

ADSM_CUDA_DOT(__dp4a, int, int, int, "dp4a.s32.s32")
ADSM_CUDA_DOT(__dp4a, unsigned int, unsigned int, unsigned int, "dp4a.u32.u32")
ADSM_CUDA_DOT(__dp4a, int, char4, char4, "dp4a.s32.s32")
ADSM_CUDA_DOT(__dp4a, unsigned int, uchar4, uchar4, "dp4a.u32.u32")
ADSM_CUDA_DOT(__dp2a_lo, int, int, int, "dp2a.lo.s32.s32")
ADSM_CUDA_DOT(__dp2a_lo, unsigned int, unsigned int, unsigned int, "dp2a.lo.u32.u32")
ADSM_CUDA_DOT(__dp2a_lo, int, short2, char4, "dp2a.lo.s32.s32")
ADSM_CUDA_DOT(__dp2a_lo, unsigned int, ushort2, uchar4, "dp2a.lo.u32.u32")
ADSM_CUDA_DOT(__dp2a_hi, int, int, int, "dp2a.hi.s32.s32")
ADSM_CUDA_DOT(__dp2a_hi, unsigned int, unsigned int, unsigned int, "dp2a.hi.u32.u32")
ADSM_CUDA_DOT(__dp2a_hi, int, short2, char4, "dp2a.hi.s32.s32")
ADSM_CUDA_DOT(__dp2a_hi, unsigned int, ushort2, uchar4, "dp2a.hi.u32.u32")
#undef ADSM_CUDA_DOT

#endif
