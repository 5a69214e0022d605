/* SPDX-License-Identifier: MIT */
/*
 * adsm_math_names.h - the mathematical functions, as lists. X(name): name(double), namef(float) and name(float).
 * The first lists are of functions of the C library, which are in namespace std, too; the others are CUDA's.
 */
#ifndef ADSM_CUDA_MATH_NAMES_H
#define ADSM_CUDA_MATH_NAMES_H

/* Functions that are called: __nv_name() and __nv_namef(), of one and of two values. */
#define ADSM_CUDA_CALLED_1(X) \
	X(acos) X(acosh) X(asin) X(asinh) X(atan) X(atanh) X(cbrt) X(cos) X(cosh) X(erf) X(erfc) X(exp) X(exp2) \
	X(expm1) X(lgamma) X(log) X(log10) X(log1p) X(log2) X(sin) X(sinh) X(tan) X(tanh) X(tgamma)
#define ADSM_CUDA_CALLED_2(X) \
	X(atan2) X(fmod) X(hypot) X(pow) X(remainder)
/* Functions that are a few instructions. */
#define ADSM_CUDA_INLINE_1(X) \
	X(ceil) X(fabs) X(floor) X(logb) X(nearbyint) X(rint) X(round) X(sqrt) X(trunc)
#define ADSM_CUDA_INLINE_2(X) \
	X(copysign) X(fdim) X(fmax) X(fmin) X(nextafter)

/* Only of CUDA. */
#define ADSM_CUDA_OWN_CALLED_1(X) \
	X(cospi) X(cyl_bessel_i0) X(cyl_bessel_i1) X(erfcinv) X(erfcx) X(erfinv) X(exp10) X(j0) X(j1) X(normcdf) \
	X(normcdfinv) X(rcbrt) X(sinpi) X(y0) X(y1)

#endif
