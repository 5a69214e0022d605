/* SPDX-License-Identifier: MIT */
/*
 * adsm_math_bessel.h - the bodies of Bessel functions of both kinds, as in adsm_math_double.h. Their errors are small
 * against the largest values nearby, not against the values at their zeros.
 */
#ifndef ADSM_CUDA_MATH_BESSEL_H
#define ADSM_CUDA_MATH_BESSEL_H

#include "adsm_math_special.h"

namespace adsm_cuda {

/* The functions of orders 0 and 1 of both kinds, and the first kind's of order @n. */
struct bessel {
	double j0, j1, y0, y1, jn;
};

/*
 * By Miller: the recurrence downwards from zeros, and what is known of a sum gives the factor. The second kind is made
 * of the first one's sums (Neumann).
 */
ADSM_CUDA_DEVICE bessel bessel_down(double x, int n)
{
	const double most = x > n ? x : n, log = __nv_log(x / 2) + 0x1.2788cfc6fb619p-1;
	double above = 0, here = 1e-280, sum = 0, y0 = 0, y1 = 0, jn = 0;
	bessel b;

	for (int k = 2 * (int)((most + 30 + 7 * __builtin_sqrt(most)) / 2); k > 0; k--) {
		/* Here is of order k. */
		const double below = 2 * k / x * here - above, sign = k / 2 % 2 ? -1 : 1;

		if (k % 2 == 0) {
			sum += 2 * here;
			y0 += sign * here / (k / 2);
		} else if (k > 1) {
			y1 += sign * here * k / (k / 2 * (double)(k / 2 + 1));
		}
		jn = k == n ? here : jn;
		above = here;
		here = below;
		if (magnitude(here) > 1e250) {
			const double less = 1e-250;

			above *= less;
			here *= less;
			sum *= less;
			y0 *= less;
			y1 *= less;
			jn *= less;
		}
	}
	sum += here;
	b.j0 = here / sum;
	b.j1 = above / sum;
	b.jn = jn / sum;
	b.y0 = 2 / pi * log * b.j0 - 4 / pi * y0 / sum;
	b.y1 = 2 / pi * ((log - 1) * b.j1 - b.j0 / x - y1 / sum);
	return b;
}

/* By Hankel's series, for x from 25: amplitudes of a sine and a cosine. */
ADSM_CUDA_DEVICE two bessel_large(double x, int order)
{
	const double s = __nv_sin(x), c = __nv_cos(x);
	const double cosine = order ? s - c : c + s, sine = order ? -s - c : s - c, scale = 1 / __builtin_sqrt(pi * x);
	double term = 1, p = 1, q = 0;

	for (int k = 1; k < 40 && magnitude(term) > 1e-18; k++) {
		term *= (4 * order * order - (2.0 * k - 1) * (2.0 * k - 1)) / (k * 8 * x);
		if (k % 2)
			q += k / 2 % 2 ? -term : term;
		else
			p += k / 2 % 2 ? -term : term;
	}
	return two{ scale * (p * cosine - q * sine), scale * (p * sine + q * cosine) };
}

ADSM_CUDA_DEVICE double first_kind(double x, int order)
{
	const double size = magnitude(x);
	double value;

	if (x - x != 0 || size < 1e-300)
		return x != x ? x : size < 1 && order == 0 ? 1 : x == 0 ? x : size < 1 ? x / 2 : 0;
	if (size < 25)
		value = order ? bessel_down(size, 0).j1 : bessel_down(size, 0).j0;
	else
		value = bessel_large(size, order).high;
	return order && x < 0 ? -value : value;
}

ADSM_CUDA_DEVICE double second_kind(double x, int order)
{
	if (!(x > 0) || x == infinite)
		return x == 0 ? -infinite : x > 0 ? 0 : not_number();
	if (x < 1e-290)
		return order ? -2 / (pi * x) : 2 / pi * (__nv_log(x / 2) + 0x1.2788cfc6fb619p-1);
	if (x < 25)
		return order ? bessel_down(x, 0).y1 : bessel_down(x, 0).y0;
	return bessel_large(x, order).low;
}

}

ADSM_CUDA_BODY double __nv_j0(double x)
{
	return adsm_cuda::first_kind(x, 0);
}

ADSM_CUDA_BODY double __nv_j1(double x)
{
	return adsm_cuda::first_kind(x, 1);
}

ADSM_CUDA_BODY double __nv_y0(double x)
{
	return adsm_cuda::second_kind(x, 0);
}

ADSM_CUDA_BODY double __nv_y1(double x)
{
	return adsm_cuda::second_kind(x, 1);
}

/* Upwards while the argument is larger than the order, else downwards. CUDA has no negative orders. */
ADSM_CUDA_BODY double __nv_jn(int n, double x)
{
	const double size = adsm_cuda::magnitude(x);
	double before, value;

	if (n < 0)
		return adsm_cuda::not_number();
	if (n < 2)
		return n ? __nv_j1(x) : __nv_j0(x);
	if (x - x != 0 || size < 1e-300)
		return x != x ? x : 0;
	if (size > n && size >= 25) {
		before = __nv_j0(size);
		value = __nv_j1(size);
		for (int k = 1; k < n; k++) {
			const double next = 2 * k / size * value - before;

			before = value;
			value = next;
		}
	} else {
		value = adsm_cuda::bessel_down(size, n).jn;
	}
	return x < 0 && n % 2 ? -value : value;
}

ADSM_CUDA_BODY double __nv_yn(int n, double x)
{
	double before = __nv_y0(x), value = __nv_y1(x);

	if (n < 0)
		return adsm_cuda::not_number();
	if (n == 0 || x != x || before == -adsm_cuda::infinite)
		return before;
	for (int k = 1; k < n && value - value == 0; k++) {
		const double next = 2 * k / x * value - before;

		before = value;
		value = next;
	}
	return value;
}

#endif
