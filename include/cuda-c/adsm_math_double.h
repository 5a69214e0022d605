/* SPDX-License-Identifier: MIT */
/*
 * adsm_math_double.h - the bodies of mathematical functions in double precision, for GPUs: exponentials, logarithms,
 * powers. Devices of the library use the C library's functions instead. tests/ptx/headers/math.cpp has the largest
 * errors.
 *
 * The polynomials are Taylor's, or interpolations at Chebyshev's points. Only fma, rint, sqrt and bits are needed.
 */
#ifndef ADSM_CUDA_MATH_DOUBLE_H
#define ADSM_CUDA_MATH_DOUBLE_H

#ifdef __CUDA_ARCH__
#include "adsm_intrinsics.h"
#endif

#define ADSM_CUDA_BODY extern "C" __device__ __inline__ __attribute__((noinline, const, nothrow))

namespace adsm_cuda {

typedef unsigned long long word64;
__extension__ typedef unsigned __int128 word128;

constexpr double log2_e = 0x1.71547652b82fep+0, infinite = __builtin_huge_val();
/* The first has zeros at its end, so that its product with an exponent is exact; the second is the rest. */
constexpr double ln2_high = 0x1.62e42fefa3800p-1, ln2_low = 0x1.ef35793c76730p-45;
constexpr double lg2_high = 0x1.34413509f7000p-2, lg2_low = 0x1.3fde623e2566bp-43;
constexpr double pi = 0x1.921fb54442d18p+1, half_pi = 0x1.921fb54442d18p+0, half_pi_low = 0x1.1a62633145c07p-54;

/* A number as the sum of two: the second is below the last bit of the first. */
struct two {
	double high, low;
};

ADSM_CUDA_DEVICE double not_number(void) { return __builtin_nan(""); }
ADSM_CUDA_DEVICE double magnitude(double x) { return __builtin_fabs(x); }
ADSM_CUDA_DEVICE double with_sign(double x, double sign) { return __builtin_copysign(x, sign); }
ADSM_CUDA_DEVICE double madd(double x, double y, double z) { return __builtin_fma(x, y, z); }
ADSM_CUDA_DEVICE word64 bits_of(double x) { return __builtin_bit_cast(word64, x); }

ADSM_CUDA_DEVICE two sum_of(double x, double y)
{
	const double sum = x + y, other = sum - x;

	return two{ sum, (x - (sum - other)) + (y - other) };
}

/* A product that clang does not fuse with a sum. */
ADSM_CUDA_DEVICE double rounded_product(double x, double y)
{
#ifdef __CUDA_ARCH__
	return __dmul_rn(x, y);
#else
	return x * y;
#endif
}

ADSM_CUDA_DEVICE two product_of(double x, double y)
{
	const double product = rounded_product(x, y);

	return two{ product, madd(x, y, -product) };
}

/* The numbers @c, from the constant up. */
template <int N>
ADSM_CUDA_DEVICE double polynomial(double x, const double (&c)[N])
{
	double value = c[N - 1];

	for (int i = N - 2; i >= 0; i--)
		value = madd(value, x, c[i]);
	return value;
}

/* Two to the power of @n, which is from -1022 to 1023. */
ADSM_CUDA_DEVICE double power_of_two(int n) { return __builtin_bit_cast(double, (word64)(n + 1023) << 52); }

/* @x times two to the power of @n, where @x is near 1 and @n from -2044 to 2046. */
ADSM_CUDA_DEVICE double scaled(double x, int n) { return x * power_of_two(n / 2) * power_of_two(n - n / 2); }

/* The exponent of @x, which is finite and not 0, and @x without it: from 1/sqrt(2) to sqrt(2). */
ADSM_CUDA_DEVICE double parts_of(double x, int *ret_n)
{
	const bool small = x < 0x1p-1022;
	const word64 bits = bits_of(small ? x * 0x1p54 : x) + (0x3ff0000000000000ull - 0x3fe6a09e667f3bcdull);

	*ret_n = (int)(bits >> 52) - 1023 - (small ? 54 : 0);
	return __builtin_bit_cast(double, (bits & 0xfffffffffffffull) + 0x3fe6a09e667f3bcdull);
}

/* ---- Exponentials ------------------------------------------------------------------------- */

/* exp(r) - 1 = r + r * r * (...), for r up to 0.35. */
ADSM_CUDA_DEVICE double exp_tail(double r)
{
	const double c[] = {
		1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040, 1.0 / 40320, 1.0 / 362880, 1.0 / 3628800,
		1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800.0, 1.0 / 87178291200.0,
	};

	return r * r * polynomial(r, c);
}

/* The exponential of a sum, for -746 < high < 710. */
ADSM_CUDA_DEVICE double exp_of(double high, double low)
{
	const double n = __builtin_rint(high * log2_e);
	const double r = madd(-n, ln2_high, high), rest = madd(-n, ln2_low, low), both = r + rest;

	return scaled(1 + (both + (exp_tail(both) + ((r - both) + rest))), (int)n);
}

}

ADSM_CUDA_BODY double __nv_exp(double x)
{
	return x != x ? x : x > 709.79 ? adsm_cuda::infinite : x < -745.2 ? 0 : adsm_cuda::exp_of(x, 0);
}

ADSM_CUDA_BODY double __nv_exp2(double x)
{
	const double n = __builtin_rint(x), r = (x - n) * (adsm_cuda::ln2_high + adsm_cuda::ln2_low);

	if (!(x < 1024))
		return x != x ? x : adsm_cuda::infinite;
	return x < -1080 ? 0 : adsm_cuda::scaled(1 + (r + adsm_cuda::exp_tail(r)), (int)n);
}

ADSM_CUDA_BODY double __nv_exp10(double x)
{
	const double n = __builtin_rint(x * 0x1.a934f0979a371p+1);
	const double rest = adsm_cuda::madd(-n, adsm_cuda::lg2_low, adsm_cuda::madd(-n, adsm_cuda::lg2_high, x));
	const double r = rest * 0x1.26bb1bbb55516p+1;

	if (!(x < 308.3))
		return x != x ? x : adsm_cuda::infinite;
	return x < -324 ? 0 : adsm_cuda::scaled(1 + (r + adsm_cuda::exp_tail(r)), (int)n);
}

ADSM_CUDA_BODY double __nv_expm1(double x)
{
	const double n = __builtin_rint(x * adsm_cuda::log2_e);
	const double high = adsm_cuda::madd(-n, adsm_cuda::ln2_high, x);
	const double r = adsm_cuda::madd(-n, adsm_cuda::ln2_low, high);
	const double part = r + (adsm_cuda::exp_tail(r) + adsm_cuda::madd(-n, adsm_cuda::ln2_low, high - r));

	if (x != x || x == 0)
		return x;
	if (x > 709.79)
		return adsm_cuda::infinite;
	if (x < -40)
		return -1;
	return n == 0 ? part : n > 60 ? adsm_cuda::scaled(1 + part, (int)n) :
	       adsm_cuda::scaled(part + (1 - adsm_cuda::power_of_two(-(int)n)), (int)n);
}

/* ---- Logarithms --------------------------------------------------------------------------- */

namespace adsm_cuda {

/* log(1 + f) - f, for 1 + f from 1/sqrt(2) to sqrt(2). By s = f / (2 + f): 2 atanh(s). */
ADSM_CUDA_DEVICE double log_tail(double f)
{
	const double c[] = {
		2.0 / 3, 2.0 / 5, 2.0 / 7, 2.0 / 9, 2.0 / 11, 2.0 / 13, 2.0 / 15, 2.0 / 17, 2.0 / 19, 2.0 / 21,
	};
	const double s = f / (2 + f), z = s * s, half = f * f / 2;

	return s * (half + z * polynomial(z, c)) - half;
}

/* Of a number that is positive and finite: the logarithm with some 65 bits. */
ADSM_CUDA_DEVICE two log_of(double x)
{
	const double c[] = {
		2.0 / 5, 2.0 / 7, 2.0 / 9, 2.0 / 11, 2.0 / 13, 2.0 / 15, 2.0 / 17, 2.0 / 19, 2.0 / 21, 2.0 / 23,
	};
	int n;
	const double f = parts_of(x, &n) - 1;
	const two below = sum_of(2, f);
	const double s = f / below.high, s_low = (madd(-s, below.high, f) - s * below.low) / below.high;
	two z = product_of(s, s), cube, third, sum, result;

	z.low += 2 * s * s_low;
	cube = product_of(z.high, s);
	cube.low += z.low * s + z.high * s_low;
	third = product_of(cube.high, 0x1.5555555555555p-1);
	third.low += cube.low * 0x1.5555555555555p-1 + cube.high * 0x1.5555555555555p-55;
	sum = sum_of(2 * s, third.high);
	sum.low += 2 * s_low + third.low + cube.high * z.high * polynomial(z.high, c);
	result = sum_of(n * ln2_high, sum.high);
	result.low += n * ln2_low + sum.low;
	return sum_of(result.high, result.low);
}

/* The logarithm of 0, of what is negative, infinite or no number. */
ADSM_CUDA_DEVICE bool log_is_special(double x) { return !(x > 0) || x == infinite; }
ADSM_CUDA_DEVICE double log_special(double x) { return x == 0 ? -infinite : x < 0 ? not_number() : x; }

}

ADSM_CUDA_BODY double __nv_log(double x)
{
	int n;
	double f;

	if (adsm_cuda::log_is_special(x))
		return adsm_cuda::log_special(x);
	f = adsm_cuda::parts_of(x, &n) - 1;
	return n * adsm_cuda::ln2_high + (f + (adsm_cuda::log_tail(f) + n * adsm_cuda::ln2_low));
}

ADSM_CUDA_BODY double __nv_log2(double x)
{
	const adsm_cuda::two e = { 0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56 };
	adsm_cuda::two log, product;
	int n;
	double part;

	if (adsm_cuda::log_is_special(x))
		return adsm_cuda::log_special(x);
	part = adsm_cuda::parts_of(x, &n);
	log = adsm_cuda::log_of(part);
	product = adsm_cuda::product_of(log.high, e.high);
	product.low += log.low * e.high + log.high * e.low;
	log = adsm_cuda::sum_of(n, product.high);
	return log.high + (log.low + product.low);
}

ADSM_CUDA_BODY double __nv_log10(double x)
{
	const adsm_cuda::two e = { 0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57 };
	adsm_cuda::two log, product;

	if (adsm_cuda::log_is_special(x))
		return adsm_cuda::log_special(x);
	log = adsm_cuda::log_of(x);
	product = adsm_cuda::product_of(log.high, e.high);
	return product.high + (product.low + (log.low * e.high + log.high * e.low));
}

ADSM_CUDA_BODY double __nv_log1p(double x)
{
	adsm_cuda::two sum;
	int n;
	double f, c;

	if (!(x > -1) || x == adsm_cuda::infinite)
		return x == -1 ? -adsm_cuda::infinite : x < -1 ? adsm_cuda::not_number() : x;
	if (adsm_cuda::magnitude(x) < 0x1p-54)
		return x;
	sum = adsm_cuda::sum_of(1, x);
	c = sum.low / sum.high;
	f = adsm_cuda::parts_of(sum.high, &n) - 1;
	if (n == 0) {
		f = x;
		c = 0;
	}
	return n * adsm_cuda::ln2_high + (f + (adsm_cuda::log_tail(f) + (n * adsm_cuda::ln2_low + c)));
}

/* ---- Powers and roots --------------------------------------------------------------------- */

namespace adsm_cuda {

/* Powers of 0, of what is infinite, and with exponents that are: the rules of the C library. */
ADSM_CUDA_DEVICE double power_special(double x, double y, bool odd)
{
	const double size = magnitude(x);

	if (x != x || y != y)
		return x + y;
	if (magnitude(y) == infinite)
		return size == 1 ? 1 : (size > 1) == (y > 0) ? infinite : 0;
	return with_sign((size > 1) == (y > 0) ? infinite : 0, odd ? x : 1);
}

/* x to the power of y, of a positive number. */
ADSM_CUDA_DEVICE double power_of(double x, double y)
{
	const two log = log_of(x);
	two product = product_of(y, log.high);

	if (product.high > 710)
		return infinite;
	if (product.high < -746)
		return 0;
	product.low += y * log.low;
	return exp_of(product.high, product.low);
}

}

ADSM_CUDA_BODY double __nv_pow(double x, double y)
{
	const bool whole = __builtin_rint(y) == y;
	const bool odd = whole && __builtin_rint(y / 2) * 2 != y && adsm_cuda::magnitude(y) < 0x1p53;
	double power;

	if (y == 0 || x == 1)
		return 1;
	if (x == 0 || x - x != 0 || y - y != 0)
		return adsm_cuda::power_special(x, y, odd);
	if (x < 0 && !whole)
		return adsm_cuda::not_number();
	power = adsm_cuda::power_of(adsm_cuda::magnitude(x), y);
	return x < 0 && odd ? -power : power;
}

ADSM_CUDA_BODY double __nv_powi(double x, int n)
{
	return __nv_pow(x, n);
}

/* A first value, and a step of Newton's, in two words. */
ADSM_CUDA_BODY double __nv_cbrt(double x)
{
	int n;
	double m, y;
	adsm_cuda::two square;

	if (x == 0 || x - x != 0)
		return x;
	m = adsm_cuda::parts_of(adsm_cuda::magnitude(x), &n);
	for (; n % 3; n--)
		m *= 2;
	y = adsm_cuda::exp_of(__nv_log(m) / 3, 0);
	square = adsm_cuda::product_of(y, y);
	y -= (adsm_cuda::madd(square.high, y, -m) + square.low * y) / (3 * square.high);
	return adsm_cuda::with_sign(adsm_cuda::scaled(y, n / 3), x);
}

ADSM_CUDA_BODY double __nv_rcbrt(double x)
{
	return 1 / __nv_cbrt(x);
}

ADSM_CUDA_BODY double __nv_hypot(double x, double y)
{
	const double a = adsm_cuda::magnitude(x), b = adsm_cuda::magnitude(y);
	const double most = a > b ? a : b, least = a > b ? b : a;
	const double scale = most > 0x1p500 ? 0x1p-600 : most < 0x1p-450 ? 0x1p600 : 1;
	const double p = most * scale, q = least * scale;
	adsm_cuda::two square, of_root;
	double root;

	if (a == adsm_cuda::infinite || b == adsm_cuda::infinite)
		return adsm_cuda::infinite;
	if (x != x || y != y || most == 0)
		return a + b;
	square = adsm_cuda::product_of(p, p);
	root = __builtin_sqrt(adsm_cuda::madd(q, q, square.high));
	/* A step of Newton's with the exact remainder. */
	of_root = adsm_cuda::product_of(root, root);
	root += (((square.high - of_root.high) + q * q) + (square.low - of_root.low)) / (2 * root);
	return root / scale;
}

/* The remainder, exactly, by subtracting the divisor times powers of two. */
ADSM_CUDA_BODY double __nv_fmod(double x, double y)
{
	double rest = adsm_cuda::magnitude(x);
	const double by = adsm_cuda::magnitude(y);

	if (x != x || y != y || rest == adsm_cuda::infinite || by == 0)
		return adsm_cuda::not_number();
	while (rest >= by) {
		const int n = (int)(adsm_cuda::bits_of(rest) >> 52) - (int)(adsm_cuda::bits_of(by) >> 52);
		/* Each product is exact: it is not larger than the rest, and not smaller than the divisor. */
		double part = n > 1 ? by * adsm_cuda::power_of_two(n > 1000 ? 1000 : n - 1) : by;

		if (n > 1 && part < 0x1p-1022)
			part = by;
		while (part + part <= rest)
			part += part;
		rest -= part;
	}
	return adsm_cuda::with_sign(rest, x);
}

ADSM_CUDA_BODY double __nv_remainder(double x, double y)
{
	const double by = adsm_cuda::magnitude(y);
	double rest = adsm_cuda::magnitude(x);
	bool odd = false;

	if (x != x || y != y || rest == adsm_cuda::infinite || by == 0)
		return adsm_cuda::not_number();
	if (by < 0x1p1023)
		rest = __nv_fmod(rest, 2 * by);
	if (rest >= by) {
		rest -= by;
		odd = true;
	}
	if (rest > by - rest || (rest == by - rest && odd))
		rest -= by;
	return adsm_cuda::bits_of(x) >> 63 ? -rest : rest;
}

#endif
