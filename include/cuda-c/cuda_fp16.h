/* SPDX-License-Identifier: MIT */
/* cuda_fp16.h - __half and __half2: numbers of 16 bits with eleven bits of precision. */
#ifndef ADSM_CUDA_FP16_H
#define ADSM_CUDA_FP16_H

#include "adsm_round_odd.h"
#include "cuda_runtime.h"

struct __half_raw { unsigned short x; };
struct __half2_raw { unsigned short x, y; };

namespace adsm_cuda {

/* The float of a half, on the CPU. */
ADSM_CUDA_BOTH float half_to_float(unsigned int bits)
{
	const unsigned int sign = (bits & 0x8000) << 16, rest = bits & 0x7fff;

	if (rest < 0x0400) {	/* a multiple of the smallest number */
		const float value = (float)(int)rest * 5.9604644775390625e-8f;

		return sign ? -value : value;
	}
	return __builtin_bit_cast(float, sign | (rest < 0x7c00 ? (rest + 0x1c000) << 13 : rest << 13 | 0x7f800000));
}

/* What happens to a part below the last bit: to the nearest, to zero, up, down. */
enum rounding { nearest, to_zero, up, down };

ADSM_CUDA_BOTH unsigned short float_to_half(float x, enum rounding rounding)
{
	const unsigned int word = __builtin_bit_cast(unsigned int, x), sign = word >> 16 & 0x8000;
	const unsigned int rest = word & 0x7fffffff;
	const bool away = rounding == (sign ? down : up);
	/* The bits below a half's last one: 13, and more if the half is not normal. */
	const unsigned int lost = rest >= 0x38800000 ? 13 : rest < 0x33000000 ? 25 : 126 - (rest >> 23);
	const unsigned int whole = rest >= 0x38800000 ? rest - 0x38000000 : (rest & 0x7fffff) | 0x800000;
	const unsigned int below = whole & ((1u << lost) - 1), middle = 1u << (lost - 1);
	unsigned int half = whole >> lost;

	if (rest > 0x7f800000)
		return 0x7fff;
	if (rest == 0x7f800000)
		return (unsigned short)(sign | 0x7c00);
	if (rest == 0)
		return (unsigned short)sign;
	if (rest < 0x33000000)	/* below half of the smallest number */
		return (unsigned short)(sign | (away ? 1 : 0));
	if (rounding == nearest ? below > middle || (below == middle && half & 1) : away && below)
		half++;
	if (half >= 0x7c00)
		half = rounding == nearest || away ? 0x7c00 : 0x7bff;
	return (unsigned short)(sign | half);
}

}

struct __half {
	unsigned short adsm_bits;
	__half() = default;
	ADSM_CUDA_BOTH_MEMBER __half(const __half_raw &raw) : adsm_bits(raw.x) { }
	ADSM_CUDA_BOTH_MEMBER __half(float x);
	ADSM_CUDA_BOTH_MEMBER __half(double x);
	ADSM_CUDA_BOTH_MEMBER __half(int n) : __half((float)n) { }
	ADSM_CUDA_BOTH_MEMBER __half(unsigned int n) : __half((float)n) { }
	ADSM_CUDA_BOTH_MEMBER __half(long n) : __half((float)n) { }
	ADSM_CUDA_BOTH_MEMBER __half(unsigned long n) : __half((float)n) { }
	ADSM_CUDA_BOTH_MEMBER __half(long long n) : __half((float)n) { }
	ADSM_CUDA_BOTH_MEMBER __half(unsigned long long n) : __half((float)n) { }
	ADSM_CUDA_BOTH_MEMBER __half(short n) : __half((float)n) { }
	ADSM_CUDA_BOTH_MEMBER __half(unsigned short n) : __half((float)n) { }
	ADSM_CUDA_BOTH_MEMBER operator float() const;
	ADSM_CUDA_BOTH_MEMBER operator __half_raw() const { return __half_raw{ adsm_bits }; }
	ADSM_CUDA_BOTH_MEMBER explicit operator bool() const { return (adsm_bits & 0x7fff) != 0; }
	ADSM_CUDA_BOTH_MEMBER explicit operator int() const { return (int)(float)*this; }
	ADSM_CUDA_BOTH_MEMBER explicit operator unsigned int() const { return (unsigned int)(float)*this; }
};
typedef struct __half __half;
typedef __half half;

struct __attribute__((aligned(4))) __half2 {
	__half x, y;
	__half2() = default;
	ADSM_CUDA_BOTH_MEMBER __half2(const __half &first, const __half &second) : x(first), y(second) { }
	ADSM_CUDA_BOTH_MEMBER __half2(const __half2_raw &raw) : x(__half_raw{ raw.x }), y(__half_raw{ raw.y }) { }
};
typedef struct __half2 __half2;
typedef __half2 half2;

/* ---- Conversions -------------------------------------------------------------------------- */

#define ADSM_HALF_OF(name, ptx, rounding) \
	ADSM_CUDA_BOTH __half name(float x) \
	{ \
		__half result; \
		\
		ADSM_CUDA_EITHER(__asm__("cvt." ptx ".f16.f32 %0, %1;" : "=h"(result.adsm_bits) : "f"(x)), \
				 result.adsm_bits = adsm_cuda::float_to_half(x, adsm_cuda::rounding)); \
		return result; \
	}

ADSM_HALF_OF(__float2half_rn, "rn", nearest)
ADSM_HALF_OF(__float2half_rz, "rz", to_zero)
ADSM_HALF_OF(__float2half_ru, "rp", up)
ADSM_HALF_OF(__float2half_rd, "rm", down)
#undef ADSM_HALF_OF
ADSM_CUDA_BOTH __half __float2half(float x) { return __float2half_rn(x); }
ADSM_CUDA_BOTH float __half2float(__half x)
{
	float result;

	ADSM_CUDA_EITHER(__asm__("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(x.adsm_bits)),
			 result = adsm_cuda::half_to_float(x.adsm_bits));
	return result;
}
ADSM_CUDA_BOTH_MEMBER __half::__half(float value) : adsm_bits(__float2half_rn(value).adsm_bits) { }
ADSM_CUDA_BOTH_MEMBER __half::operator float() const { return __half2float(*this); }

ADSM_CUDA_BOTH __half __double2half(double x) { return __float2half_rn(adsm_cuda::round_to_odd(x)); }
ADSM_CUDA_BOTH_MEMBER __half::__half(double value) : adsm_bits(__double2half(value).adsm_bits) { }

ADSM_CUDA_BOTH __half2 __halves2half2(__half x, __half y) { return __half2(x, y); }
ADSM_CUDA_BOTH __half2 make_half2(__half x, __half y) { return __half2(x, y); }
ADSM_CUDA_BOTH __half2 __half2half2(__half x) { return __half2(x, x); }
ADSM_CUDA_BOTH __half2 __float2half2_rn(float x) { return __half2half2(__float2half_rn(x)); }
ADSM_CUDA_BOTH __half2 __floats2half2_rn(float x, float y) { return __half2(__float2half_rn(x), __float2half_rn(y)); }
ADSM_CUDA_BOTH __half2 __float22half2_rn(float2 v) { return __floats2half2_rn(v.x, v.y); }
ADSM_CUDA_BOTH float2 __half22float2(__half2 v) { return make_float2(__half2float(v.x), __half2float(v.y)); }
ADSM_CUDA_BOTH float __low2float(__half2 v) { return __half2float(v.x); }
ADSM_CUDA_BOTH float __high2float(__half2 v) { return __half2float(v.y); }
ADSM_CUDA_BOTH __half __low2half(__half2 v) { return v.x; }
ADSM_CUDA_BOTH __half __high2half(__half2 v) { return v.y; }
ADSM_CUDA_BOTH __half2 __low2half2(__half2 v) { return __half2(v.x, v.x); }
ADSM_CUDA_BOTH __half2 __high2half2(__half2 v) { return __half2(v.y, v.y); }
ADSM_CUDA_BOTH __half2 __lows2half2(__half2 v, __half2 w) { return __half2(v.x, w.x); }
ADSM_CUDA_BOTH __half2 __highs2half2(__half2 v, __half2 w) { return __half2(v.y, w.y); }
ADSM_CUDA_BOTH __half2 __lowhigh2highlow(__half2 v) { return __half2(v.y, v.x); }
ADSM_CUDA_BOTH unsigned short __half_as_ushort(__half x) { return x.adsm_bits; }
ADSM_CUDA_BOTH short __half_as_short(__half x) { return (short)x.adsm_bits; }
ADSM_CUDA_BOTH __half __ushort_as_half(unsigned short bits) { return __half(__half_raw{ bits }); }
ADSM_CUDA_BOTH __half __short_as_half(short bits) { return __ushort_as_half((unsigned short)bits); }

/* Too large numbers become the nearest short, as they become the nearest int. */
ADSM_CUDA_DEVICE short adsm_cuda_to_short(int n) { return (short)(n < -32768 ? -32768 : n > 32767 ? 32767 : n); }
ADSM_CUDA_DEVICE unsigned short adsm_cuda_to_ushort(unsigned int n) { return (unsigned short)(n > 65535 ? 65535 : n); }

/* Integers: a half is exact in float. */
#define ADSM_HALF_TO(name, type, of, as) \
	ADSM_CUDA_DEVICE type __half2##name##_rn(__half x) { return as(__float2##of##_rn(__half2float(x))); } \
	ADSM_CUDA_DEVICE type __half2##name##_rz(__half x) { return as(__float2##of##_rz(__half2float(x))); } \
	ADSM_CUDA_DEVICE type __half2##name##_ru(__half x) { return as(__float2##of##_ru(__half2float(x))); } \
	ADSM_CUDA_DEVICE type __half2##name##_rd(__half x) { return as(__float2##of##_rd(__half2float(x))); }
#define ADSM_HALF_FROM(name, type) \
	ADSM_CUDA_DEVICE __half __##name##2half_rn(type n) { return __double2half((double)n); } \
	ADSM_CUDA_DEVICE __half __##name##2half_rz(type n) { return __float2half_rz(__double2float_rz((double)n)); } \
	ADSM_CUDA_DEVICE __half __##name##2half_ru(type n) { return __float2half_ru(__double2float_ru((double)n)); } \
	ADSM_CUDA_DEVICE __half __##name##2half_rd(type n) { return __float2half_rd(__double2float_rd((double)n)); }

ADSM_HALF_TO(int, int, int, )
ADSM_HALF_TO(uint, unsigned int, uint, )
ADSM_HALF_TO(short, short, int, adsm_cuda_to_short)
ADSM_HALF_TO(ushort, unsigned short, uint, adsm_cuda_to_ushort)
ADSM_HALF_TO(ll, long long, ll, )
ADSM_HALF_TO(ull, unsigned long long, ull, )
ADSM_HALF_FROM(int, int)
ADSM_HALF_FROM(uint, unsigned int)
ADSM_HALF_FROM(short, short)
ADSM_HALF_FROM(ushort, unsigned short)
ADSM_HALF_FROM(ll, long long)
ADSM_HALF_FROM(ull, unsigned long long)
#undef ADSM_HALF_TO
#undef ADSM_HALF_FROM

/* ---- Arithmetic --------------------------------------------------------------------------- */

#define ADSM_T __half
#define ADSM_T2 __half2
#define ADSM_PTX "f16"
#define ADSM_OF_FLOAT(x) __float2half_rn(x)
#define ADSM_TO_FLOAT(x) __half2float(x)
#ifdef __CUDA_ARCH__
#define ADSM_EXACT(name, x, y, by_float) adsm_exact(name, x, y)
#define adsm_exact(name, x, y) ({ \
		__half adsm_result; \
		\
		__asm__(name ".rn.f16 %0, %1, %2;" : "=h"(adsm_result.adsm_bits) \
			: "h"(x.adsm_bits), "h"(y.adsm_bits)); \
		adsm_result; \
	})
#else
#define ADSM_EXACT(name, x, y, by_float) __float2half_rn(by_float)
#endif
#include "adsm_half_arithmetic.h"
#undef ADSM_T
#undef ADSM_T2
#undef ADSM_PTX
#undef ADSM_OF_FLOAT
#undef ADSM_TO_FLOAT
#undef ADSM_EXACT
#undef adsm_exact

#endif
