/* SPDX-License-Identifier: MIT */
/*
 * adsm_simd.h - operations on the two halves or the four bytes of a word: __vadd2() to __vsubus4(). A number at the end
 * of a name is that of the parts, and s and u say whether they are signed.
 */
#ifndef ADSM_CUDA_SIMD_H
#define ADSM_CUDA_SIMD_H

#include "host_defines.h"

namespace adsm_cuda {

/* Part number @i of @n, with its sign or without. */
template <int N> ADSM_CUDA_DEVICE int signed_part(unsigned int x, int i)
{
	return (int)(x << (32 - 32 / N * (i + 1))) >> (32 - 32 / N);
}
template <int N> ADSM_CUDA_DEVICE int unsigned_part(unsigned int x, int i)
{
	return (int)(x << (32 - 32 / N * (i + 1)) >> (32 - 32 / N));
}
template <int N> ADSM_CUDA_DEVICE unsigned int placed(int value, int i)
{
	return ((unsigned int)value & 0xffffffffu >> (32 - 32 / N)) << 32 / N * i;
}

/* The nearest value of a part. */
template <int N> ADSM_CUDA_DEVICE int signed_limit(int x)
{
	const int most = (1 << (32 / N - 1)) - 1;

	return x > most ? most : x < -most - 1 ? -most - 1 : x;
}
template <int N> ADSM_CUDA_DEVICE int unsigned_limit(int x)
{
	const int most = (1 << 32 / N) - 1;

	return x > most ? most : x < 0 ? 0 : x;
}

}

/* @expression: of x and y, for each part. */
#define ADSM_CUDA_PARTS_OF(name, n, kind, expression) \
	ADSM_CUDA_DEVICE unsigned int name##n(unsigned int a, unsigned int b) \
	{ \
		unsigned int result = 0; \
		\
		for (int i = 0; i < n; i++) { \
			const int x = adsm_cuda::kind##_part<n>(a, i), y = adsm_cuda::kind##_part<n>(b, i); \
			\
			(void)y; \
			result |= adsm_cuda::placed<n>(expression, i); \
		} \
		return result; \
	}
#define ADSM_CUDA_PARTS_2(name, kind, expression2, expression4) \
	ADSM_CUDA_PARTS_OF(name, 2, kind, expression2) \
	ADSM_CUDA_PARTS_OF(name, 4, kind, expression4)
#define ADSM_CUDA_SIMD(name, kind, expression) ADSM_CUDA_PARTS_2(name, kind, expression, expression)
#define ADSM_CUDA_SIMD_LIMIT(name, kind, expression) \
	ADSM_CUDA_PARTS_2(name, kind, adsm_cuda::kind##_limit<2>(expression), adsm_cuda::kind##_limit<4>(expression))
/* With one operand. */
#define ADSM_CUDA_SIMD_1(name, expression2, expression4) \
	ADSM_CUDA_PARTS_2(adsm##name, signed, expression2, expression4) \
	ADSM_CUDA_DEVICE unsigned int name##2(unsigned int a) { return adsm##name##2(a, 0); } \
	ADSM_CUDA_DEVICE unsigned int name##4(unsigned int a) { return adsm##name##4(a, 0); }
/* A comparison: all bits of the part, or the lowest. */
#define ADSM_CUDA_SIMD_COMPARE(name, kind, op) \
	ADSM_CUDA_SIMD(__vcmp##name, kind, x op y ? -1 : 0) \
	ADSM_CUDA_SIMD(__vset##name, kind, x op y ? 1 : 0)

ADSM_CUDA_SIMD(__vadd, signed, x + y)
ADSM_CUDA_SIMD(__vsub, signed, x - y)
ADSM_CUDA_SIMD_LIMIT(__vaddss, signed, x + y)
ADSM_CUDA_SIMD_LIMIT(__vaddus, unsigned, x + y)
ADSM_CUDA_SIMD_LIMIT(__vsubss, signed, x - y)
ADSM_CUDA_SIMD_LIMIT(__vsubus, unsigned, x - y)
ADSM_CUDA_SIMD(__vavgu, unsigned, (x + y + 1) >> 1)
ADSM_CUDA_SIMD(__vhaddu, unsigned, (x + y) >> 1)
ADSM_CUDA_SIMD(__vmaxs, signed, x > y ? x : y)
ADSM_CUDA_SIMD(__vmaxu, unsigned, x > y ? x : y)
ADSM_CUDA_SIMD(__vmins, signed, x < y ? x : y)
ADSM_CUDA_SIMD(__vminu, unsigned, x < y ? x : y)
ADSM_CUDA_SIMD(__vabsdiffs, signed, x > y ? x - y : y - x)
ADSM_CUDA_SIMD(__vabsdiffu, unsigned, x > y ? x - y : y - x)
ADSM_CUDA_SIMD_COMPARE(eq, unsigned, ==)
ADSM_CUDA_SIMD_COMPARE(ne, unsigned, !=)
ADSM_CUDA_SIMD_COMPARE(ges, signed, >=)
ADSM_CUDA_SIMD_COMPARE(geu, unsigned, >=)
ADSM_CUDA_SIMD_COMPARE(gts, signed, >)
ADSM_CUDA_SIMD_COMPARE(gtu, unsigned, >)
ADSM_CUDA_SIMD_COMPARE(les, signed, <=)
ADSM_CUDA_SIMD_COMPARE(leu, unsigned, <=)
ADSM_CUDA_SIMD_COMPARE(lts, signed, <)
ADSM_CUDA_SIMD_COMPARE(ltu, unsigned, <)
ADSM_CUDA_SIMD_1(__vabs, x < 0 ? -x : x, x < 0 ? -x : x)
ADSM_CUDA_SIMD_1(__vneg, -x, -x)
ADSM_CUDA_SIMD_1(__vabsss, adsm_cuda::signed_limit<2>(x < 0 ? -x : x), adsm_cuda::signed_limit<4>(x < 0 ? -x : x))
ADSM_CUDA_SIMD_1(__vnegss, adsm_cuda::signed_limit<2>(-x), adsm_cuda::signed_limit<4>(-x))

/* The sum of the differences' sizes. */
#define ADSM_CUDA_SIMD_SAD(name, n, kind) \
	ADSM_CUDA_DEVICE unsigned int name##n(unsigned int a, unsigned int b) \
	{ \
		unsigned int sum = 0; \
		\
		for (int i = 0; i < n; i++) { \
			const int x = adsm_cuda::kind##_part<n>(a, i), y = adsm_cuda::kind##_part<n>(b, i); \
			\
			sum += (unsigned int)(x > y ? x - y : y - x); \
		} \
		return sum; \
	}

ADSM_CUDA_SIMD_SAD(__vsads, 2, signed)
ADSM_CUDA_SIMD_SAD(__vsads, 4, signed)
ADSM_CUDA_SIMD_SAD(__vsadu, 2, unsigned)
ADSM_CUDA_SIMD_SAD(__vsadu, 4, unsigned)

#undef ADSM_CUDA_PARTS_OF
#undef ADSM_CUDA_PARTS_2
#undef ADSM_CUDA_SIMD
#undef ADSM_CUDA_SIMD_1
#undef ADSM_CUDA_SIMD_LIMIT
#undef ADSM_CUDA_SIMD_COMPARE
#undef ADSM_CUDA_SIMD_SAD

#endif
