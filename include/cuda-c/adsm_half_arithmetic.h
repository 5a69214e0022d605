/* SPDX-License-Identifier: MIT */
/*
 * adsm_half_arithmetic.h - what __half and __nv_bfloat16 have in common. cuda_fp16.h and cuda_bf16.h include it, and
 * define ADSM_T, the type, and ADSM_T2, the type of pairs. ADSM_PTX is the type's name in PTX. ADSM_OF_FLOAT() converts
 * to the nearest number of the type, and ADSM_TO_FLOAT() back. ADSM_EXACT() is a sum, a difference or a product.
 *
 * A float has at least twice the bits of such a number, and two more. Therefore a sum, a product, a quotient or a root
 * may be rounded to a float first: the result is the same as with one rounding.
 */

#define ADSM_PAIR(first, second) adsm_make_pair(first, second)

ADSM_CUDA_BOTH ADSM_T2 adsm_make_pair(ADSM_T x, ADSM_T y)
{
	ADSM_T2 pair;

	pair.x = x;
	pair.y = y;
	return pair;
}

/* ---- Arithmetic --------------------------------------------------------------------------- */

ADSM_CUDA_BOTH ADSM_T __hadd(ADSM_T x, ADSM_T y)
{
	return ADSM_EXACT("add", x, y, ADSM_TO_FLOAT(x) + ADSM_TO_FLOAT(y));
}
ADSM_CUDA_BOTH ADSM_T __hsub(ADSM_T x, ADSM_T y)
{
	return ADSM_EXACT("sub", x, y, ADSM_TO_FLOAT(x) - ADSM_TO_FLOAT(y));
}
ADSM_CUDA_BOTH ADSM_T __hmul(ADSM_T x, ADSM_T y)
{
	return ADSM_EXACT("mul", x, y, ADSM_TO_FLOAT(x) * ADSM_TO_FLOAT(y));
}
ADSM_CUDA_BOTH ADSM_T __hdiv(ADSM_T x, ADSM_T y) { return ADSM_OF_FLOAT(ADSM_TO_FLOAT(x) / ADSM_TO_FLOAT(y)); }
ADSM_CUDA_BOTH ADSM_T __hadd_rn(ADSM_T x, ADSM_T y) { return __hadd(x, y); }
ADSM_CUDA_BOTH ADSM_T __hsub_rn(ADSM_T x, ADSM_T y) { return __hsub(x, y); }
ADSM_CUDA_BOTH ADSM_T __hmul_rn(ADSM_T x, ADSM_T y) { return __hmul(x, y); }

ADSM_CUDA_BOTH ADSM_T __hfma(ADSM_T x, ADSM_T y, ADSM_T z)
{
#ifdef __CUDA_ARCH__
	ADSM_T result;

	__asm__("fma.rn." ADSM_PTX " %0, %1, %2, %3;" : "=h"(result.adsm_bits)
		: "h"(x.adsm_bits), "h"(y.adsm_bits), "h"(z.adsm_bits));
	return result;
#else
	/* The product is exact. The sum may need more bits than a double has. */
	const double product = (double)ADSM_TO_FLOAT(x) * ADSM_TO_FLOAT(y), addend = ADSM_TO_FLOAT(z);

	return ADSM_OF_FLOAT(adsm_cuda::round_to_odd(product + addend, adsm_cuda::rest_of_sum(product, addend)));
#endif
}

ADSM_CUDA_BOTH ADSM_T adsm_with_bits(ADSM_T x, unsigned short bits)
{
	x.adsm_bits = bits;
	return x;
}

ADSM_CUDA_BOTH ADSM_T __hneg(ADSM_T x) { return adsm_with_bits(x, x.adsm_bits ^ 0x8000); }
ADSM_CUDA_BOTH ADSM_T __habs(ADSM_T x) { return adsm_with_bits(x, x.adsm_bits & 0x7fff); }

/* The nearest value from 0 to 1; of a NaN, 0. */
ADSM_CUDA_BOTH ADSM_T adsm_saturated(ADSM_T x)
{
	const float value = ADSM_TO_FLOAT(x);

	return value > 0 ? value < 1 ? x : ADSM_OF_FLOAT(1.0f) : ADSM_OF_FLOAT(0.0f);
}

ADSM_CUDA_BOTH ADSM_T __hadd_sat(ADSM_T x, ADSM_T y) { return adsm_saturated(__hadd(x, y)); }
ADSM_CUDA_BOTH ADSM_T __hsub_sat(ADSM_T x, ADSM_T y) { return adsm_saturated(__hsub(x, y)); }
ADSM_CUDA_BOTH ADSM_T __hmul_sat(ADSM_T x, ADSM_T y) { return adsm_saturated(__hmul(x, y)); }
ADSM_CUDA_BOTH ADSM_T __hfma_sat(ADSM_T x, ADSM_T y, ADSM_T z) { return adsm_saturated(__hfma(x, y, z)); }

/* ---- Comparisons -------------------------------------------------------------------------- */

/* Those with u are also true if one is a NaN. */
#define ADSM_COMPARE(name, op, reverse) \
	ADSM_CUDA_BOTH bool __h##name(ADSM_T x, ADSM_T y) { return ADSM_TO_FLOAT(x) op ADSM_TO_FLOAT(y); } \
	ADSM_CUDA_BOTH bool __h##name##u(ADSM_T x, ADSM_T y) { return !(ADSM_TO_FLOAT(x) reverse ADSM_TO_FLOAT(y)); } \
	ADSM_CUDA_BOTH ADSM_T2 __h##name##2(ADSM_T2 x, ADSM_T2 y) \
	{ \
		return ADSM_PAIR(ADSM_OF_FLOAT(__h##name(x.x, y.x)), ADSM_OF_FLOAT(__h##name(x.y, y.y))); \
	} \
	ADSM_CUDA_BOTH ADSM_T2 __h##name##u2(ADSM_T2 x, ADSM_T2 y) \
	{ \
		return ADSM_PAIR(ADSM_OF_FLOAT(__h##name##u(x.x, y.x)), ADSM_OF_FLOAT(__h##name##u(x.y, y.y))); \
	} \
	ADSM_CUDA_BOTH bool __hb##name##2(ADSM_T2 x, ADSM_T2 y) { return __h##name(x.x, y.x) && __h##name(x.y, y.y); } \
	ADSM_CUDA_BOTH bool __hb##name##u2(ADSM_T2 x, ADSM_T2 y) \
	{ \
		return __h##name##u(x.x, y.x) && __h##name##u(x.y, y.y); \
	}

ADSM_COMPARE(lt, <, >=)
ADSM_COMPARE(le, <=, >)
ADSM_COMPARE(gt, >, <=)
ADSM_COMPARE(ge, >=, <)
#undef ADSM_COMPARE
ADSM_CUDA_BOTH bool __hisnan(ADSM_T x) { return ADSM_TO_FLOAT(x) != ADSM_TO_FLOAT(x); }
ADSM_CUDA_BOTH bool __heq(ADSM_T x, ADSM_T y) { return ADSM_TO_FLOAT(x) == ADSM_TO_FLOAT(y); }
ADSM_CUDA_BOTH bool __hequ(ADSM_T x, ADSM_T y) { return __heq(x, y) || __hisnan(x) || __hisnan(y); }
ADSM_CUDA_BOTH bool __hne(ADSM_T x, ADSM_T y) { return !__hequ(x, y); }
ADSM_CUDA_BOTH bool __hneu(ADSM_T x, ADSM_T y) { return !__heq(x, y); }
ADSM_CUDA_BOTH ADSM_T2 __heq2(ADSM_T2 x, ADSM_T2 y)
{
	return ADSM_PAIR(ADSM_OF_FLOAT(__heq(x.x, y.x)), ADSM_OF_FLOAT(__heq(x.y, y.y)));
}
ADSM_CUDA_BOTH ADSM_T2 __hne2(ADSM_T2 x, ADSM_T2 y)
{
	return ADSM_PAIR(ADSM_OF_FLOAT(__hne(x.x, y.x)), ADSM_OF_FLOAT(__hne(x.y, y.y)));
}
ADSM_CUDA_BOTH ADSM_T2 __hequ2(ADSM_T2 x, ADSM_T2 y)
{
	return ADSM_PAIR(ADSM_OF_FLOAT(__hequ(x.x, y.x)), ADSM_OF_FLOAT(__hequ(x.y, y.y)));
}
ADSM_CUDA_BOTH ADSM_T2 __hneu2(ADSM_T2 x, ADSM_T2 y)
{
	return ADSM_PAIR(ADSM_OF_FLOAT(__hneu(x.x, y.x)), ADSM_OF_FLOAT(__hneu(x.y, y.y)));
}
ADSM_CUDA_BOTH bool __hbeq2(ADSM_T2 x, ADSM_T2 y) { return __heq(x.x, y.x) && __heq(x.y, y.y); }
ADSM_CUDA_BOTH bool __hbne2(ADSM_T2 x, ADSM_T2 y) { return __hne(x.x, y.x) && __hne(x.y, y.y); }
ADSM_CUDA_BOTH bool __hbequ2(ADSM_T2 x, ADSM_T2 y) { return __hequ(x.x, y.x) && __hequ(x.y, y.y); }
ADSM_CUDA_BOTH bool __hbneu2(ADSM_T2 x, ADSM_T2 y) { return __hneu(x.x, y.x) && __hneu(x.y, y.y); }
/* 1 or -1 of what is infinite, else 0. */
ADSM_CUDA_BOTH int __hisinf(ADSM_T x)
{
	const float value = ADSM_TO_FLOAT(x);

	return value != value || value - value == 0 ? 0 : value > 0 ? 1 : -1;
}

/* If one is a NaN, the other one; with _nan, the NaN. -0 is less than 0. */
ADSM_CUDA_BOTH ADSM_T __hmin(ADSM_T x, ADSM_T y)
{
	if (__hisnan(x) || __hisnan(y))
		return __hisnan(x) ? y : x;
	return __hlt(x, y) || (__heq(x, y) && x.adsm_bits >> 15) ? x : y;
}
ADSM_CUDA_BOTH ADSM_T __hmax(ADSM_T x, ADSM_T y)
{
	if (__hisnan(x) || __hisnan(y))
		return __hisnan(x) ? y : x;
	return __hlt(y, x) || (__heq(x, y) && y.adsm_bits >> 15) ? x : y;
}
ADSM_CUDA_BOTH ADSM_T __hmin_nan(ADSM_T x, ADSM_T y) { return __hisnan(x) ? x : __hisnan(y) ? y : __hmin(x, y); }
ADSM_CUDA_BOTH ADSM_T __hmax_nan(ADSM_T x, ADSM_T y) { return __hisnan(x) ? x : __hisnan(y) ? y : __hmax(x, y); }

/* ---- Pairs -------------------------------------------------------------------------------- */

#define ADSM_PAIRS_1(name2, name) \
	ADSM_CUDA_BOTH ADSM_T2 name2(ADSM_T2 x) { return ADSM_PAIR(name(x.x), name(x.y)); }
#define ADSM_PAIRS_2(name2, name) \
	ADSM_CUDA_BOTH ADSM_T2 name2(ADSM_T2 x, ADSM_T2 y) { return ADSM_PAIR(name(x.x, y.x), name(x.y, y.y)); }

ADSM_PAIRS_1(__hneg2, __hneg)
ADSM_PAIRS_1(__habs2, __habs)
ADSM_PAIRS_2(__hadd2, __hadd)
ADSM_PAIRS_2(__hsub2, __hsub)
ADSM_PAIRS_2(__hmul2, __hmul)
ADSM_PAIRS_2(__h2div, __hdiv)
ADSM_PAIRS_2(__hadd2_sat, __hadd_sat)
ADSM_PAIRS_2(__hsub2_sat, __hsub_sat)
ADSM_PAIRS_2(__hmul2_sat, __hmul_sat)
ADSM_PAIRS_2(__hmin2, __hmin)
ADSM_PAIRS_2(__hmax2, __hmax)
ADSM_PAIRS_2(__hmin2_nan, __hmin_nan)
ADSM_PAIRS_2(__hmax2_nan, __hmax_nan)
ADSM_CUDA_BOTH ADSM_T2 __hfma2(ADSM_T2 x, ADSM_T2 y, ADSM_T2 z)
{
	return ADSM_PAIR(__hfma(x.x, y.x, z.x), __hfma(x.y, y.y, z.y));
}
ADSM_CUDA_BOTH ADSM_T2 __hisnan2(ADSM_T2 x)
{
	return ADSM_PAIR(ADSM_OF_FLOAT(__hisnan(x.x)), ADSM_OF_FLOAT(__hisnan(x.y)));
}

/* ---- Mathematical functions --------------------------------------------------------------- */

/* A float's result, rounded to the type. */
#define ADSM_MATH(name, function) \
	ADSM_CUDA_DEVICE ADSM_T h##name(ADSM_T x) { return ADSM_OF_FLOAT(function(ADSM_TO_FLOAT(x))); } \
	ADSM_CUDA_DEVICE ADSM_T2 h2##name(ADSM_T2 x) { return ADSM_PAIR(h##name(x.x), h##name(x.y)); }

ADSM_MATH(ceil, ceilf)
ADSM_MATH(cos, cosf)
ADSM_MATH(exp, expf)
ADSM_MATH(exp10, exp10f)
ADSM_MATH(exp2, exp2f)
ADSM_MATH(floor, floorf)
ADSM_MATH(log, logf)
ADSM_MATH(log10, log10f)
ADSM_MATH(log2, log2f)
ADSM_MATH(rcp, 1 / (float))
ADSM_MATH(rint, rintf)
ADSM_MATH(rsqrt, rsqrtf)
ADSM_MATH(sin, sinf)
ADSM_MATH(sqrt, sqrtf)
ADSM_MATH(trunc, truncf)
#undef ADSM_MATH

/* ---- Operators ---------------------------------------------------------------------------- */

#define ADSM_OPERATOR(op, name, name2) \
	ADSM_CUDA_BOTH ADSM_T operator op(const ADSM_T &x, const ADSM_T &y) { return name(x, y); } \
	ADSM_CUDA_BOTH ADSM_T &operator op##=(ADSM_T &x, const ADSM_T &y) { return x = name(x, y); } \
	ADSM_CUDA_BOTH ADSM_T2 operator op(const ADSM_T2 &x, const ADSM_T2 &y) { return name2(x, y); } \
	ADSM_CUDA_BOTH ADSM_T2 &operator op##=(ADSM_T2 &x, const ADSM_T2 &y) { return x = name2(x, y); }
/* Of pairs, != is true only if both numbers differ, as the manual's __hbneu2() says. */
#define ADSM_RELATION(op, name, name2) \
	ADSM_CUDA_BOTH bool operator op(const ADSM_T &x, const ADSM_T &y) { return name(x, y); } \
	ADSM_CUDA_BOTH bool operator op(const ADSM_T2 &x, const ADSM_T2 &y) { return name2(x, y); }

ADSM_OPERATOR(+, __hadd, __hadd2)
ADSM_OPERATOR(-, __hsub, __hsub2)
ADSM_OPERATOR(*, __hmul, __hmul2)
ADSM_OPERATOR(/, __hdiv, __h2div)
ADSM_RELATION(==, __heq, __hbeq2)
ADSM_RELATION(!=, __hneu, __hbneu2)
ADSM_RELATION(<, __hlt, __hblt2)
ADSM_RELATION(<=, __hle, __hble2)
ADSM_RELATION(>, __hgt, __hbgt2)
ADSM_RELATION(>=, __hge, __hbge2)
#undef ADSM_OPERATOR
#undef ADSM_RELATION
ADSM_CUDA_BOTH ADSM_T operator+(const ADSM_T &x) { return x; }
ADSM_CUDA_BOTH ADSM_T operator-(const ADSM_T &x) { return __hneg(x); }
ADSM_CUDA_BOTH ADSM_T2 operator-(const ADSM_T2 &x) { return __hneg2(x); }
ADSM_CUDA_BOTH ADSM_T &operator++(ADSM_T &x) { return x = __hadd(x, ADSM_OF_FLOAT(1.0f)); }
ADSM_CUDA_BOTH ADSM_T &operator--(ADSM_T &x) { return x = __hsub(x, ADSM_OF_FLOAT(1.0f)); }

/* ---- Loads, shuffles and atomics ---------------------------------------------------------- */

ADSM_CUDA_LOAD(ADSM_T)
ADSM_CUDA_LOAD(ADSM_T2)

#define ADSM_SHUFFLE(name, type) \
	ADSM_CUDA_DEVICE ADSM_T name(unsigned int mask, ADSM_T value, type lane, int width = warpSize) \
	{ \
		return adsm_with_bits(value, (unsigned short)name(mask, (unsigned int)value.adsm_bits, lane, width)); \
	} \
	ADSM_CUDA_DEVICE ADSM_T2 name(unsigned int mask, ADSM_T2 value, type lane, int width = warpSize) \
	{ \
		return __builtin_bit_cast(ADSM_T2, name(mask, __builtin_bit_cast(unsigned int, value), lane, width)); \
	}

ADSM_SHUFFLE(__shfl_sync, int)
ADSM_SHUFFLE(__shfl_up_sync, unsigned int)
ADSM_SHUFFLE(__shfl_down_sync, unsigned int)
ADSM_SHUFFLE(__shfl_xor_sync, int)
#undef ADSM_SHUFFLE

ADSM_CUDA_DEVICE ADSM_T atomicAdd(ADSM_T *p, ADSM_T value)
{
	ADSM_T seen = *p;

	for (;;) {
		const unsigned short sum = __hadd(seen, value).adsm_bits;
		const unsigned short old = atomicCAS((unsigned short *)p, seen.adsm_bits, sum);

		if (old == seen.adsm_bits)
			return seen;
		seen.adsm_bits = old;
	}
}

/* Both halves change at the same time, which is more than the manual promises. */
ADSM_CUDA_DEVICE ADSM_T2 atomicAdd(ADSM_T2 *p, ADSM_T2 value)
{
	unsigned int seen = *(unsigned int *)p;

	for (;;) {
		const ADSM_T2 now = __builtin_bit_cast(ADSM_T2, seen);
		const unsigned int sum = __builtin_bit_cast(unsigned int, __hadd2(now, value));
		const unsigned int old = atomicCAS((unsigned int *)p, seen, sum);

		if (old == seen)
			return now;
		seen = old;
	}
}

#undef ADSM_PAIRS_1
#undef ADSM_PAIRS_2
#undef ADSM_PAIR
