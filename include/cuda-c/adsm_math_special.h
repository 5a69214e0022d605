/* SPDX-License-Identifier: MIT */
/*
 * adsm_math_special.h - the bodies of the error function and its relatives, the gamma function and modified Bessel
 * functions, as in adsm_math_double.h.
 */
#ifndef ADSM_CUDA_MATH_SPECIAL_H
#define ADSM_CUDA_MATH_SPECIAL_H

#include "adsm_math_angles.h"

namespace adsm_cuda {

/* erf(x) of x up to 1: x times a polynomial of its square. */
ADSM_CUDA_DEVICE double erf_of_small(double x)
{
	const double c[] = {
		0x1.20dd750429b6dp+0, -0x1.812746b0379e7p-2, 0x1.ce2f21a042bdep-4, -0x1.b82ce312889bap-6,
		0x1.565bcd0e6502dp-8, -0x1.c02db3feeb579p-11, 0x1.f9a326c233146p-14, -0x1.f4d2561aeafd4p-17,
		0x1.b9e6509b9867dp-20, -0x1.5f6d925a0bc7ap-23, 0x1.fc4356498c2d9p-27, -0x1.4e607b41a6416p-30,
		0x1.7f072188e194dp-34, -0x1.29b9f1b3df556p-38,
	};

	return x * polynomial(x * x, c);
}

/* exp(x * x) * erfc(x) of x from 0: (1 + 2x) times it is smooth in (x - 4) / (x + 4). */
ADSM_CUDA_DEVICE double erfcx_of(double x)
{
	const double c[] = {
		0x1.3ba5916e9fd7fp+0, -0x1.1df1ad154a286p-3, 0x1.f7f5df66fd797p-7, 0x1.16ecefcfa4d10p-4,
		-0x1.9ddb23c3e8f13p-4, 0x1.7fee004e1eefep-4, -0x1.0fb06dfe4c6c0p-4, 0x1.3079edf5181dfp-5,
		-0x1.09623884747dbp-6, 0x1.49c672e19945dp-8, -0x1.8d4a9a64653ccp-11, -0x1.a1df5e81f513ep-13,
		0x1.3be0432bfaed8p-13, -0x1.995375154ff40p-16, -0x1.7884d2489058dp-17, 0x1.7ef644c7c9bb7p-18,
		0x1.393f4d3a22d70p-22, -0x1.b8ce4935606aep-21, 0x1.4dcd6b570d670p-24, 0x1.c8a21229f8c69p-24,
		-0x1.64110ad19dc13p-26, -0x1.a7f4a1508f75ep-27, 0x1.bc41ddff1ff37p-29, 0x1.ff24721095771p-31,
		-0x1.2feb0fe9744b6p-32,
	};

	return polynomial(x > 1e15 ? 1 : (x - 4) / (x + 4), c) / (1 + 2 * x);
}

/* exp(-x * x), by the square in two words. */
ADSM_CUDA_DEVICE double exp_of_square(double x, double sign)
{
	const two square = product_of(x, x);

	return square.high > 746 ? sign < 0 ? 0 : infinite : exp_of(sign * square.high, sign * square.low);
}

ADSM_CUDA_DEVICE double erfc_of(double x)
{
	if (x < 0.5)
		return 1 - (x < -1 ? exp_of_square(x, -1) * erfcx_of(-x) - 1 : erf_of_small(x));
	return x > 27.3 ? 0 : exp_of_square(x, -1) * erfcx_of(x);
}

/* The number whose erfc is @y, from 0 to 0.5: a first value (Winitzki), and steps of Halley's. */
ADSM_CUDA_DEVICE double erfc_inverse(double y)
{
	double t = __nv_log(y * (2 - y));
	const double a = 0.147, b = 2 / (pi * a) + t / 2;
	double x = __builtin_sqrt(__builtin_sqrt(b * b - t / a) - b);

	for (int i = 0; i < 4; i++) {
		/* The error, divided by the derivative. */
		t = (erfcx_of(x) - y * exp_of_square(x, 1)) * -0x1.c5bf891b4ef6bp-1;	/* -sqrt(pi) / 2 */
		/* The exponential is infinite for the least numbers: there the steps are Newton's for the logarithm. */
		if (y < 0x1p-1000)
			x += (__nv_log(erfcx_of(x)) - x * x - __nv_log(y)) * 0x1.c5bf891b4ef6bp-1 * erfcx_of(x);
		else
			x -= t / (1 + x * t);
	}
	return x;
}

}

ADSM_CUDA_BODY double __nv_erf(double x)
{
	const double size = adsm_cuda::magnitude(x);

	if (x != x)
		return x;
	if (size <= 1)
		return adsm_cuda::erf_of_small(x);
	return adsm_cuda::with_sign(size > 6 ? 1 : 1 - adsm_cuda::erfc_of(size), x);
}

ADSM_CUDA_BODY double __nv_erfc(double x)
{
	return x != x ? x : x < -6 ? 2 : x < -1 ? 2 - adsm_cuda::erfc_of(-x) : adsm_cuda::erfc_of(x);
}

ADSM_CUDA_BODY double __nv_erfcx(double x)
{
	if (x >= 0 || x != x)
		return x != x ? x : x == adsm_cuda::infinite ? 0 : adsm_cuda::erfcx_of(x);
	return x < -27 ? adsm_cuda::infinite : 2 * adsm_cuda::exp_of_square(x, 1) - adsm_cuda::erfcx_of(-x);
}

ADSM_CUDA_BODY double __nv_erfinv(double y)
{
	const double size = adsm_cuda::magnitude(y);
	double x = size * 0x1.c5bf891b4ef6bp-1;

	if (!(size < 1))
		return size == 1 ? adsm_cuda::with_sign(adsm_cuda::infinite, y) : adsm_cuda::not_number();
	if (size > 0.5)
		return adsm_cuda::with_sign(adsm_cuda::erfc_inverse(1 - size), y);
	for (int i = 0; i < 4 && size > 1e-9; i++) {
		const double wrong = adsm_cuda::erf_of_small(x) - size;
		const double t = wrong * 0x1.c5bf891b4ef6bp-1 * adsm_cuda::exp_of_square(x, 1);

		x -= t / (1 + x * t);
	}
	return adsm_cuda::with_sign(x, y);
}

ADSM_CUDA_BODY double __nv_erfcinv(double y)
{
	if (!(y > 0 && y < 2))
		return y == 0 ? adsm_cuda::infinite : y == 2 ? -adsm_cuda::infinite : adsm_cuda::not_number();
	return y < 0.5 ? adsm_cuda::erfc_inverse(y) : y > 1.5 ? -adsm_cuda::erfc_inverse(2 - y) : __nv_erfinv(1 - y);
}

ADSM_CUDA_BODY double __nv_normcdf(double x)
{
	const adsm_cuda::two by = adsm_cuda::product_of(x, -0x1.6a09e667f3bcdp-1);
	const double low = by.low + x * 0x1.bdd3413b26456p-55, value = __nv_erfc(by.high) / 2;

	/* The second word of the argument, by the derivative. */
	return x < -38.6 || x > 9 || x != x ? value : value - low * 0x1.20dd750429b6dp-1 *
		adsm_cuda::exp_of_square(by.high, -1);
}

ADSM_CUDA_BODY double __nv_normcdfinv(double y)
{
	return -0x1.6a09e667f3bcdp+0 * __nv_erfcinv(2 * y);
}

/* ---- The gamma function ------------------------------------------------------------------- */

namespace adsm_cuda {

/* What Stirling's formula leaves, for x from 10. */
ADSM_CUDA_DEVICE double stirling_rest(double x)
{
	const double c[] = {
		1.0 / 12, -1.0 / 360, 1.0 / 1260, -1.0 / 1680, 1.0 / 1188, -691.0 / 360360, 1.0 / 156, -3617.0 / 122400,
	};

	return polynomial(1 / (x * x), c) / x;
}

/* x * (x + 1) * ..., until x is 10 or more. */
ADSM_CUDA_DEVICE two raised(two *x)
{
	two product = { 1, 0 };

	while (x->high < 10) {
		const two before = product, sum = sum_of(x->high, 1);

		product = product_of(before.high, x->high);
		product.low += before.low * x->high + before.high * x->low;
		*x = sum_of(sum.high, sum.low + x->low);
	}
	return product;
}

/* Of x from 0: sqrt(2 pi) * x^(x - 1/2) * exp(rest - x) from 10 on, with the power and the exponential in one. */
ADSM_CUDA_DEVICE double gamma_of(double value)
{
	two x = { value, 0 }, power, sum;
	const two below = raised(&x), log = log_of(x.high);

	if (value > 171.7)
		return infinite;
	power = product_of(x.high - 0.5, log.high);
	sum = sum_of(power.high, -x.high);
	/* The logarithm is almost the derivative, for what x has in its second word. */
	sum.low += power.low + (x.high - 0.5) * log.low + x.low * (log.high - 0.5 / x.high) + stirling_rest(x.high);
	return exp_of(sum.high, sum.low - below.low / below.high) * 0x1.40d931ff62706p+1 / below.high;
}

/* log(gamma(2 + z)), for z up to a half: a series with Riemann's function. */
ADSM_CUDA_DEVICE double log_gamma_near_two(double z)
{
	const double c[] = {
		0x1.b0ee6072093cep-2, 0x1.4a34cc4a60fa6p-2, -0x1.13e001a557607p-4, 0x1.51322ac7d8483p-6,
		-0x1.e404fc218f5f2p-8, 0x1.7add6eadb6c30p-9, -0x1.38ac5c2bf8e08p-10, 0x1.0b36af86396e9p-11,
		-0x1.d3fd4c76d2fc8p-13, 0x1.a127b0f17d65ap-14, -0x1.78de5bd7c81efp-15, 0x1.580dcee66eb02p-16,
		-0x1.3cbc963ce2243p-17, 0x1.2597a39f34aacp-18, -0x1.11b2eb7679541p-19, 0x1.0064cdeb22f0fp-20,
		-0x1.e2600d93cfd2fp-22, 0x1.c76bbb3f07a4dp-23, -0x1.af5a6cbbf8a97p-24, 0x1.99b93c2070b0fp-25,
		-0x1.862c734df3eacp-26, 0x1.7469daccfadcdp-27, -0x1.6434a8447aeadp-28, 0x1.555a877ffd2c3p-29,
		-0x1.47b1679258d0ep-30, 0x1.3b15d2b2fc10cp-31, -0x1.2f69a9fabe3e0p-32, 0x1.24932a337434cp-33,
	};

	return z * polynomial(z, c);
}

ADSM_CUDA_DEVICE double log_gamma_of(double x)
{
	if (x >= 1.5 && x <= 2.5)
		return log_gamma_near_two(x - 2);
	if (x >= 0.5 && x < 1.5)
		return log_gamma_near_two(x - 1) - __nv_log1p(x - 1);
	if (x < 1e-17)
		return -__nv_log(x);
	if (x < 10)
		return __nv_log(gamma_of(x));
	return x > 1e300 ? x * (__nv_log(x) - 1) :
	       (x - 0.5) * __nv_log(x) - x + 0x1.d67f1c864beb5p-1 + stirling_rest(x);
}

}

ADSM_CUDA_BODY double __nv_tgamma(double x)
{
	const bool whole = __builtin_rint(x) == x;

	if (x == 0)
		return adsm_cuda::with_sign(adsm_cuda::infinite, x);
	if (x != x || (x < 0 && whole))
		return adsm_cuda::not_number();
	if (x > 0)
		return adsm_cuda::gamma_of(x);
	return x < -184 ? 0 : adsm_cuda::pi / __nv_sinpi(x) / adsm_cuda::gamma_of(1 - x);
}

ADSM_CUDA_BODY double __nv_lgamma(double x)
{
	if (x != x || x - x != 0)
		return x * x;
	if (x > 0)
		return adsm_cuda::log_gamma_of(x);
	if (__builtin_rint(x) == x)
		return adsm_cuda::infinite;
	if (x > -1e-17)
		return -__nv_log(-x);
	return __nv_log(adsm_cuda::pi / adsm_cuda::magnitude(__nv_sinpi(x))) - adsm_cuda::log_gamma_of(1 - x);
}

/* ---- Modified Bessel functions ------------------------------------------------------------ */

namespace adsm_cuda {

/* Of order 0 or 1: the series, whose terms are positive; for large numbers exp(x) / sqrt(2 pi x) and a rest. */
ADSM_CUDA_DEVICE double bessel_i(int order, double size)
{
	const double square = size * size / 4, four = 4 * order * order;
	double term = order ? size / 2 : 1, sum = term, half;

	if (size > 720)
		return infinite;
	if (size < 30) {
		for (int k = 1; term > sum * 1e-17; k++)
			sum += term *= square / ((double)k * (k + order));
		return sum;
	}
	term = sum = 1;
	for (int k = 1; k < 40 && magnitude(term) > 1e-17; k++)
		sum += term *= -(four - (2.0 * k - 1) * (2.0 * k - 1)) / (k * 8 * size);
	half = __nv_exp(size / 2);
	return half * (sum / __builtin_sqrt(2 * pi * size)) * half;
}

}

ADSM_CUDA_BODY double __nv_cyl_bessel_i0(double x)
{
	return x != x ? x : adsm_cuda::bessel_i(0, adsm_cuda::magnitude(x));
}

ADSM_CUDA_BODY double __nv_cyl_bessel_i1(double x)
{
	return x != x ? x : adsm_cuda::with_sign(adsm_cuda::bessel_i(1, adsm_cuda::magnitude(x)), x);
}

#endif
