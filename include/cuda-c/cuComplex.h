/* SPDX-License-Identifier: MIT */
/* cuComplex.h - complex numbers as pairs of floats and of doubles, for kernels and the CPU. */
#ifndef ADSM_CUDA_CUCOMPLEX_H
#define ADSM_CUDA_CUCOMPLEX_H

#include "cuda_runtime.h"

typedef float2 cuFloatComplex;
typedef double2 cuDoubleComplex;
typedef cuFloatComplex cuComplex;

/* The functions of one type. @suffix and @ending: the last letter of cuC...() and of the C library's functions. */
#define ADSM_CUDA_COMPLEX(type, real, suffix, ending, pair) \
	ADSM_CUDA_BOTH real cuCreal##suffix(pair z) { return z.x; } \
	ADSM_CUDA_BOTH real cuCimag##suffix(pair z) { return z.y; } \
	ADSM_CUDA_BOTH pair make_cu##type##Complex(real x, real y) { return make_##real##2(x, y); } \
	ADSM_CUDA_BOTH pair cuConj##suffix(pair z) { return make_##real##2(z.x, -z.y); } \
	ADSM_CUDA_BOTH pair cuCadd##suffix(pair a, pair b) { return make_##real##2(a.x + b.x, a.y + b.y); } \
	ADSM_CUDA_BOTH pair cuCsub##suffix(pair a, pair b) { return make_##real##2(a.x - b.x, a.y - b.y); } \
	ADSM_CUDA_BOTH pair cuCmul##suffix(pair a, pair b) \
	{ \
		return make_##real##2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); \
	} \
	/* By the larger part of the divisor, so that its square does not overflow. */ \
	ADSM_CUDA_BOTH pair cuCdiv##suffix(pair a, pair b) \
	{ \
		const real most = fabs##ending(b.x) + fabs##ending(b.y), scale = 1 / most; \
		const real ax = a.x * scale, ay = a.y * scale, bx = b.x * scale, by = b.y * scale; \
		const real square = 1 / (bx * bx + by * by); \
		\
		return make_##real##2((ax * bx + ay * by) * square, (ay * bx - ax * by) * square); \
	} \
	ADSM_CUDA_BOTH real cuCabs##suffix(pair z) { return hypot##ending(z.x, z.y); } \
	ADSM_CUDA_BOTH pair cuCfma##suffix(pair a, pair b, pair c) \
	{ \
		return cuCadd##suffix(cuCmul##suffix(a, b), c); \
	}

ADSM_CUDA_COMPLEX(Float, float, f, f, cuFloatComplex)
ADSM_CUDA_COMPLEX(Double, double, , , cuDoubleComplex)
#undef ADSM_CUDA_COMPLEX
ADSM_CUDA_BOTH cuComplex make_cuComplex(float x, float y) { return make_cuFloatComplex(x, y); }
ADSM_CUDA_BOTH cuDoubleComplex cuComplexFloatToDouble(cuFloatComplex z) { return make_double2(z.x, z.y); }
ADSM_CUDA_BOTH cuFloatComplex cuComplexDoubleToFloat(cuDoubleComplex z)
{
	return make_float2((float)z.x, (float)z.y);
}

#endif
