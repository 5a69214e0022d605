/* SPDX-License-Identifier: MIT */
/* adsm_math_angles.h - the bodies of functions of angles, and of hyperbolic functions, as in adsm_math_double.h. */
#ifndef ADSM_CUDA_MATH_ANGLES_H
#define ADSM_CUDA_MATH_ANGLES_H

#include "adsm_math_double.h"

namespace adsm_cuda {

/* An angle from -pi/4 to pi/4, and the number of right angles that were taken away, modulo four. */
struct angle {
	double high, low;
	int quadrant;
};

/* 1280 bits of 2 / pi. Number @i. */
ADSM_CUDA_DEVICE word64 bits_of_two_over_pi(int i)
{
	const word64 words[] = {
		0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561, 0xb7246e3a424dd2e0,
		0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4,
		0x9c845f8bbdf9283b, 0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d,
		0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab, 0xf0cfbc209af4361d,
	};

	return words[i];
}

/*
 * A large angle (Payne and Hanek): its 53 bits times those 256 bits of 2 / pi that the quadrant and the fraction need.
 * The bits above are a multiple of four right angles.
 */
ADSM_CUDA_DEVICE angle large_angle(double x)
{
	const int exponent = (int)(bits_of(x) >> 52 & 0x7ff) - 1075;	/* of the last bit */
	const int first = exponent > 2 ? (exponent - 2) / 64 : 0, point = 64 * (first + 4) - exponent;
	const word64 mantissa = (bits_of(x) & 0xfffffffffffffull) | 0x10000000000000ull;
	word64 product[6] = { };
	word128 carry = 0, fraction;
	angle result;
	bool negative = x < 0;
	int word = point / 64, bit = point % 64;
	double value;
	two turned, turn;

	for (int i = 0; i < 4; i++) {
		carry += (word128)mantissa * bits_of_two_over_pi(first + 3 - i);
		product[i] = (word64)carry;
		carry >>= 64;
	}
	product[4] = (word64)carry;
	result.quadrant = (int)((product[word] >> bit | (bit ? product[word + 1] << (64 - bit) : 0)) & 3);
	word -= 2;
	fraction = (word128)product[word + 1] << 64 | product[word];
	if (bit)
		fraction = fraction >> bit | (word128)product[word + 2] << (128 - bit);
	if (fraction >> 127) {
		result.quadrant++;
		fraction = -fraction;
		negative = !negative;
	}
	result.quadrant = (x < 0 ? -result.quadrant : result.quadrant) & 3;
	value = (double)(word64)(fraction >> 64) * 0x1p-64;
	turned = sum_of(value, (double)(long long)((word64)(fraction >> 64) - (word64)(value * 0x1p64)) * 0x1p-64 +
			(double)(word64)fraction * 0x1p-128);
	turn = product_of(turned.high, half_pi);
	turn.low += turned.high * half_pi_low + turned.low * half_pi;
	result.high = negative ? -turn.high : turn.high;
	result.low = negative ? -turn.low : turn.low;
	return result;
}

ADSM_CUDA_DEVICE angle reduced(double x)
{
	const double n = __builtin_rint(x * 0x1.45f306dc9c883p-1), third = -0x1.f1976b7ed8fbcp-110;
	const double near = madd(-n, half_pi, x), part = rounded_product(n, half_pi_low);
	const double high = near - part;

	if (magnitude(x) >= 0x1p20)
		return large_angle(x);
	return angle{ high, ((near - high) - part) - madd(n, half_pi_low, -part) - n * third, (int)n & 3 };
}

ADSM_CUDA_DEVICE double sine_of(double high, double low)
{
	const double c[] = {
		-1.0 / 6, 1.0 / 120, -1.0 / 5040, 1.0 / 362880, -1.0 / 39916800, 1.0 / 6227020800.0,
		-1.0 / 1307674368000.0, 1.0 / 355687428096000.0,
	};
	const double z = high * high;

	return high + (low * (1 - z / 2) + high * z * polynomial(z, c));
}

ADSM_CUDA_DEVICE double cosine_of(double high, double low)
{
	const double c[] = {
		1.0 / 24, -1.0 / 720, 1.0 / 40320, -1.0 / 3628800, 1.0 / 479001600, -1.0 / 87178291200.0,
		1.0 / 20922789888000.0,
	};
	const double z = high * high, first = 1 - z / 2;

	return first + (((1 - first) - z / 2) + (z * z * polynomial(z, c) - high * low));
}

/* The sine of an angle and @more right angles. */
ADSM_CUDA_DEVICE double turned_sine(angle a, int more)
{
	const int quadrant = (a.quadrant + more) & 3;
	const double value = quadrant & 1 ? cosine_of(a.high, a.low) : sine_of(a.high, a.low);

	return quadrant & 2 ? -value : value;
}

/* Of half turns. The angle is exact until it is multiplied by pi. */
ADSM_CUDA_DEVICE angle reduced_turns(double x)
{
	const double whole = x - 2 * __builtin_rint(x / 2), n = __builtin_rint(2 * whole), rest = whole - n / 2;
	const two turn = product_of(rest, pi);

	return angle{ turn.high, turn.low + rest * 2 * half_pi_low, (int)n & 3 };
}

}

ADSM_CUDA_BODY double __nv_sin(double x)
{
	return x - x != 0 ? adsm_cuda::not_number() : x == 0 ? x : adsm_cuda::turned_sine(adsm_cuda::reduced(x), 0);
}

ADSM_CUDA_BODY double __nv_cos(double x)
{
	return x - x != 0 ? adsm_cuda::not_number() : adsm_cuda::turned_sine(adsm_cuda::reduced(x), 1);
}

ADSM_CUDA_BODY double __nv_tan(double x)
{
	const adsm_cuda::angle a = adsm_cuda::reduced(x - x != 0 ? 0 : x);

	if (x - x != 0)
		return adsm_cuda::not_number();
	return x == 0 ? x : adsm_cuda::turned_sine(a, 0) / adsm_cuda::turned_sine(a, 1);
}

ADSM_CUDA_BODY double __nv_sinpi(double x)
{
	if (x - x != 0)
		return adsm_cuda::not_number();
	if (__builtin_rint(x) == x)
		return adsm_cuda::with_sign(0, x);
	return adsm_cuda::turned_sine(adsm_cuda::reduced_turns(x), 0);
}

ADSM_CUDA_BODY double __nv_cospi(double x)
{
	if (x - x != 0)
		return adsm_cuda::not_number();
	if (__builtin_rint(x - 0.5) == x - 0.5 && adsm_cuda::magnitude(x) < 0x1p52)
		return 0;
	return adsm_cuda::turned_sine(adsm_cuda::reduced_turns(x), 1);
}

/* ---- Inverse functions -------------------------------------------------------------------- */

namespace adsm_cuda {

/* asin(x) - x, for x up to a half. */
ADSM_CUDA_DEVICE double asin_tail(double x)
{
	const double c[] = {
		0x1.5555555555556p-3, 0x1.3333333332ecap-4, 0x1.6db6db6e31f13p-5, 0x1.f1c71c1db0623p-6,
		0x1.6e8bb1c8209a2p-6, 0x1.1c4d35cf95421p-6, 0x1.c9cf07674736ap-7, 0x1.782651caa6547p-7,
		0x1.52420b04b37bep-7, 0x1.65a9c4dfcf8b2p-8, 0x1.1d189408314eep-6, -0x1.e6aaa8a0a04ccp-7,
		0x1.d72b2bc8155f8p-6,
	};
	const double z = x * x;

	return x * z * polynomial(z, c);
}

/* acos(x) of x from a half to 1, by the square root of (1 - x) / 2. */
ADSM_CUDA_DEVICE double acos_of_large(double x)
{
	const double z = (1 - x) / 2, root = __builtin_sqrt(z);
	const double rest = root > 0 ? madd(-root, root, z) / (2 * root) : 0;

	return 2 * (root + (asin_tail(root) + rest));
}

/* atan(x) of x from 0 to 1. */
ADSM_CUDA_DEVICE double atan_of(double x)
{
	const double c[] = {
		-1.0 / 3, 1.0 / 5, -1.0 / 7, 1.0 / 9, -1.0 / 11, 1.0 / 13, -1.0 / 15, 1.0 / 17, -1.0 / 19, 1.0 / 21,
		-1.0 / 23, 1.0 / 25,
	};
	const double eighth = 0x1.a827999fcef32p-2;	/* tan(pi/8), whose error is a part of base_low */
	const bool small = x < 0.1989, middle = x < 0.668;
	const double t = small ? x : middle ? (x - eighth) / madd(x, eighth, 1) : (x - 1) / (x + 1), z = t * t;
	const double base = small ? 0 : middle ? half_pi / 4 : half_pi / 2;
	const double base_low = small ? 0 : middle ? half_pi_low / 4 - 0x1.c3dea4dbad538p-57 : half_pi_low / 2;

	return base + (t + (t * z * polynomial(z, c) + base_low));
}

}

ADSM_CUDA_BODY double __nv_asin(double x)
{
	const double size = adsm_cuda::magnitude(x);

	if (!(size <= 1))
		return adsm_cuda::not_number();
	if (size <= 0.5)
		return x + adsm_cuda::asin_tail(x);
	return adsm_cuda::with_sign(adsm_cuda::half_pi - (adsm_cuda::acos_of_large(size) - adsm_cuda::half_pi_low), x);
}

ADSM_CUDA_BODY double __nv_acos(double x)
{
	const double size = adsm_cuda::magnitude(x);

	if (!(size <= 1))
		return adsm_cuda::not_number();
	if (size <= 0.5)
		return adsm_cuda::half_pi - (x + (adsm_cuda::asin_tail(x) - adsm_cuda::half_pi_low));
	if (x > 0)
		return adsm_cuda::acos_of_large(x);
	return adsm_cuda::pi - (adsm_cuda::acos_of_large(size) - 2 * adsm_cuda::half_pi_low);
}

ADSM_CUDA_BODY double __nv_atan(double x)
{
	const double size = adsm_cuda::magnitude(x);

	if (x != x || size < 0x1p-30)
		return x;
	if (size <= 1)
		return adsm_cuda::with_sign(adsm_cuda::atan_of(size), x);
	return adsm_cuda::with_sign(adsm_cuda::half_pi - (adsm_cuda::atan_of(1 / size) - adsm_cuda::half_pi_low), x);
}

ADSM_CUDA_BODY double __nv_atan2(double y, double x)
{
	const double a = adsm_cuda::magnitude(y), b = adsm_cuda::magnitude(x);
	const bool steep = a > b, left = x < 0 || (x == 0 && adsm_cuda::bits_of(x) >> 63);
	double quotient = steep ? b / a : a / b, value;

	if (x != x || y != y)
		return x + y;
	if (a == b)
		quotient = a == 0 ? 0 : 1;
	value = quotient < 0x1p-30 ? quotient : adsm_cuda::atan_of(quotient);
	if (steep)
		value = adsm_cuda::half_pi - (value - adsm_cuda::half_pi_low);
	if (left)
		value = adsm_cuda::pi - (value - 2 * adsm_cuda::half_pi_low);
	return adsm_cuda::with_sign(value, y);
}

/* ---- Hyperbolic functions ----------------------------------------------------------------- */

ADSM_CUDA_BODY double __nv_sinh(double x)
{
	const double size = adsm_cuda::magnitude(x), e = __nv_expm1(size > 700 ? 0 : size);

	if (size > 700)
		return adsm_cuda::with_sign(__nv_exp(size / 2) / 2 * __nv_exp(size / 2), x);
	return x != x || x == 0 ? x : adsm_cuda::with_sign((e + e / (e + 1)) / 2, x);
}

ADSM_CUDA_BODY double __nv_cosh(double x)
{
	const double size = adsm_cuda::magnitude(x), e = __nv_exp(size > 700 ? 0 : size);

	if (size > 700)
		return __nv_exp(size / 2) / 2 * __nv_exp(size / 2);
	return x != x ? x : (e + 1 / e) / 2;
}

ADSM_CUDA_BODY double __nv_tanh(double x)
{
	const double size = adsm_cuda::magnitude(x), e = __nv_expm1(2 * (size > 22 ? 22 : size));

	return x != x || x == 0 ? x : adsm_cuda::with_sign(size > 22 ? 1 : e / (e + 2), x);
}

ADSM_CUDA_BODY double __nv_asinh(double x)
{
	const double size = adsm_cuda::magnitude(x);

	if (x - x != 0 || x == 0)
		return x;
	if (size > 0x1p28)
		return adsm_cuda::with_sign(__nv_log(size) + (adsm_cuda::ln2_high + adsm_cuda::ln2_low), x);
	return adsm_cuda::with_sign(__nv_log1p(size + size * size / (1 + __builtin_sqrt(size * size + 1))), x);
}

ADSM_CUDA_BODY double __nv_acosh(double x)
{
	const double t = x - 1;

	if (!(x >= 1))
		return adsm_cuda::not_number();
	if (x > 0x1p28)
		return __nv_log(x) + (adsm_cuda::ln2_high + adsm_cuda::ln2_low);
	return __nv_log1p(t + __builtin_sqrt(2 * t + t * t));
}

ADSM_CUDA_BODY double __nv_atanh(double x)
{
	const double size = adsm_cuda::magnitude(x);

	return x == 0 ? x : adsm_cuda::with_sign(__nv_log1p(2 * size / (1 - size)) / 2, x);
}

#endif
