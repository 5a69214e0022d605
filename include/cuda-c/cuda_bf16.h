/* SPDX-License-Identifier: MIT */
/* cuda_bf16.h - __nv_bfloat16 and __nv_bfloat162: the upper half of a float. */
#ifndef ADSM_CUDA_BF16_H
#define ADSM_CUDA_BF16_H

#include "adsm_round_odd.h"
#include "cuda_runtime.h"

struct __nv_bfloat16_raw { unsigned short x; };
struct __nv_bfloat162_raw { unsigned short x, y; };

struct __nv_bfloat16 {
	unsigned short adsm_bits;
	__nv_bfloat16() = default;
	ADSM_CUDA_BOTH_MEMBER __nv_bfloat16(const __nv_bfloat16_raw &raw) : adsm_bits(raw.x) { }
	ADSM_CUDA_BOTH_MEMBER __nv_bfloat16(float x);
	ADSM_CUDA_BOTH_MEMBER __nv_bfloat16(double x);
	ADSM_CUDA_BOTH_MEMBER __nv_bfloat16(int n) : __nv_bfloat16((double)n) { }
	ADSM_CUDA_BOTH_MEMBER __nv_bfloat16(unsigned int n) : __nv_bfloat16((double)n) { }
	ADSM_CUDA_BOTH_MEMBER operator float() const
	{
		return __builtin_bit_cast(float, (unsigned int)adsm_bits << 16);
	}
	ADSM_CUDA_BOTH_MEMBER operator __nv_bfloat16_raw() const { return __nv_bfloat16_raw{ adsm_bits }; }
	ADSM_CUDA_BOTH_MEMBER explicit operator bool() const { return (adsm_bits & 0x7fff) != 0; }
	ADSM_CUDA_BOTH_MEMBER explicit operator int() const { return (int)(float)*this; }
};
typedef struct __nv_bfloat16 __nv_bfloat16;
typedef __nv_bfloat16 nv_bfloat16;

struct __attribute__((aligned(4))) __nv_bfloat162 {
	__nv_bfloat16 x, y;
	__nv_bfloat162() = default;
	ADSM_CUDA_BOTH_MEMBER __nv_bfloat162(const __nv_bfloat16 &first, const __nv_bfloat16 &second) :
		x(first), y(second) { }
};
typedef struct __nv_bfloat162 __nv_bfloat162;
typedef __nv_bfloat162 nv_bfloat162;

ADSM_CUDA_BOTH float __bfloat162float(__nv_bfloat16 x) { return (float)x; }

/* The nearest, or to zero. */
ADSM_CUDA_BOTH __nv_bfloat16 __float2bfloat16_rn(float x)
{
	const unsigned int bits = __builtin_bit_cast(unsigned int, x), odd = bits >> 16 & 1;
	const unsigned short result = x != x ? 0x7fff : (unsigned short)((bits + 0x7fff + odd) >> 16);

	return __nv_bfloat16(__nv_bfloat16_raw{ result });
}
ADSM_CUDA_BOTH __nv_bfloat16 __float2bfloat16_rz(float x)
{
	const unsigned int bits = __builtin_bit_cast(unsigned int, x);

	return __nv_bfloat16(__nv_bfloat16_raw{ x != x ? (unsigned short)0x7fff : (unsigned short)(bits >> 16) });
}
ADSM_CUDA_BOTH __nv_bfloat16 __float2bfloat16(float x) { return __float2bfloat16_rn(x); }
ADSM_CUDA_BOTH __nv_bfloat16 __double2bfloat16(double x) { return __float2bfloat16_rn(adsm_cuda::round_to_odd(x)); }
ADSM_CUDA_BOTH_MEMBER __nv_bfloat16::__nv_bfloat16(float value) : adsm_bits(__float2bfloat16_rn(value).adsm_bits) { }
ADSM_CUDA_BOTH_MEMBER __nv_bfloat16::__nv_bfloat16(double value) : adsm_bits(__double2bfloat16(value).adsm_bits) { }

ADSM_CUDA_BOTH __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return __nv_bfloat162(x, y); }
ADSM_CUDA_BOTH __nv_bfloat162 make_bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return __nv_bfloat162(x, y); }
ADSM_CUDA_BOTH __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 x) { return __nv_bfloat162(x, x); }
ADSM_CUDA_BOTH __nv_bfloat162 __float2bfloat162_rn(float x) { return __nv_bfloat162(x, x); }
ADSM_CUDA_BOTH __nv_bfloat162 __floats2bfloat162_rn(float x, float y) { return __nv_bfloat162(x, y); }
ADSM_CUDA_BOTH __nv_bfloat162 __float22bfloat162_rn(float2 v) { return __nv_bfloat162(v.x, v.y); }
ADSM_CUDA_BOTH float2 __bfloat1622float2(__nv_bfloat162 v) { return make_float2(v.x, v.y); }
ADSM_CUDA_BOTH float __low2float(__nv_bfloat162 v) { return (float)v.x; }
ADSM_CUDA_BOTH float __high2float(__nv_bfloat162 v) { return (float)v.y; }
ADSM_CUDA_BOTH __nv_bfloat16 __low2bfloat16(__nv_bfloat162 v) { return v.x; }
ADSM_CUDA_BOTH __nv_bfloat16 __high2bfloat16(__nv_bfloat162 v) { return v.y; }
ADSM_CUDA_BOTH __nv_bfloat162 __low2bfloat162(__nv_bfloat162 v) { return __nv_bfloat162(v.x, v.x); }
ADSM_CUDA_BOTH __nv_bfloat162 __high2bfloat162(__nv_bfloat162 v) { return __nv_bfloat162(v.y, v.y); }
ADSM_CUDA_BOTH unsigned short __bfloat16_as_ushort(__nv_bfloat16 x) { return x.adsm_bits; }
ADSM_CUDA_BOTH short __bfloat16_as_short(__nv_bfloat16 x) { return (short)x.adsm_bits; }
ADSM_CUDA_BOTH __nv_bfloat16 __ushort_as_bfloat16(unsigned short bits)
{
	return __nv_bfloat16(__nv_bfloat16_raw{ bits });
}
ADSM_CUDA_BOTH __nv_bfloat16 __short_as_bfloat16(short bits) { return __ushort_as_bfloat16((unsigned short)bits); }
ADSM_CUDA_DEVICE int __bfloat162int_rn(__nv_bfloat16 x) { return __float2int_rn((float)x); }
ADSM_CUDA_DEVICE int __bfloat162int_rz(__nv_bfloat16 x) { return __float2int_rz((float)x); }
ADSM_CUDA_DEVICE unsigned int __bfloat162uint_rz(__nv_bfloat16 x) { return __float2uint_rz((float)x); }

#define ADSM_T __nv_bfloat16
#define ADSM_T2 __nv_bfloat162
#define ADSM_PTX "bf16"
#define ADSM_OF_FLOAT(x) __float2bfloat16_rn(x)
#define ADSM_TO_FLOAT(x) __bfloat162float(x)
#define ADSM_EXACT(name, x, y, by_float) __float2bfloat16_rn(by_float)
#include "adsm_half_arithmetic.h"
#undef ADSM_T
#undef ADSM_T2
#undef ADSM_PTX
#undef ADSM_OF_FLOAT
#undef ADSM_TO_FLOAT
#undef ADSM_EXACT

#endif
