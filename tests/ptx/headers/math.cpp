/* SPDX-License-Identifier: MIT */
/*
 * math.cpp - the bodies of mathematical functions for GPUs, compiled for the CPU, against the C library in long double:
 * random numbers, and special ones. Prints the largest error of each function in units in the last place.
 */
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#define __device__
#define ADSM_CUDA_DEVICE static inline __attribute__((unused))
#include "../../../include/cuda-c/adsm_math_float.h"

typedef long double wide;

static const wide wide_pi = 3.14159265358979323846264338327950288L;
static uint64_t state = 1;
static int n_failed;

static uint64_t next()
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return state ^ state >> 29;
}

/* From @a to @b; one in four has any exponent that is between those. */
static double number(double a, double b)
{
	const double unit = (double)(next() >> 11) * 0x1p-53, x = a + unit * (b - a);

	return next() & 3 ? x : ldexp(x, -(int)(next() % 60));
}

template <typename T> static T step(T x);
template <> double step(double x) { return nextafter(fabs(x), INFINITY) - fabs(x); }
template <> float step(float x) { return nextafterf(fabsf(x), INFINITY) - fabsf(x); }

/* The error of @got in units in the last place. A number that should not be one, or should be infinite: 1e9. */
template <typename T> static double error_of(T got, wide want)
{
	const T near = (T)want;

	if (std::isnan(near) || std::isinf(near) || std::isnan(got) || std::isinf(got)) {
		const bool overflow = std::isinf(got) != std::isinf(near) && !std::isnan(got) && !std::isnan(near) &&
				      step(std::isinf(got) ? near : got) > 1e200 && sizeof(T) == 8;

		return (std::isnan(near) && std::isnan(got)) || got == near || overflow ? 0 : 1e9;
	}
	return (double)(fabsl((wide)got - want) / step(near));
}

static wide exp10_of(wide x) { return powl(10, x); }
static wide rcbrt_of(wide x) { return 1 / cbrtl(x); }
static wide sinpi_of(wide x)
{
	const wide whole = rintl(x);

	return whole == x ? copysignl(0, x) : (fmodl(whole, 2) == 0 ? 1 : -1) * sinl(wide_pi * (x - whole));
}
static wide cospi_of(wide x) { return rintl(x - 0.5L) == x - 0.5L ? 0 : sinpi_of(x + 0.5L); }
static wide erfcx_of(wide x) { return expl(x * x) * erfcl(x); }
static wide normcdf_of(wide x) { return erfcl(-x / sqrtl(2)) / 2; }

static wide bessel(int order, wide x)
{
	wide term = order ? x / 2 : 1, sum = term;

	for (int k = 1; fabsl(term) > fabsl(sum) * 1e-22L; k++)
		sum += term *= x * x / 4 / ((wide)k * (k + order));
	return sum;
}
static wide bessel0_of(wide x) { return bessel(0, x); }
static wide bessel1_of(wide x) { return bessel(1, x); }

/* Inverse functions: a step of Newton's from what the function gives, in long double. */
static wide erfinv_of(wide y)
{
	wide x = __nv_erfinv((double)y);

	for (int i = 0; i < 3 && x - x == 0; i++) {
		const wide wrong = y > 0 ? (1 - y) - erfcl(x) : erfcl(-x) - (1 + y);

		x -= (fabsl(x) < 0.5L ? erfl(x) - y : wrong) * sqrtl(wide_pi) / 2 * expl(x * x);
	}
	return x;
}

static wide erfcinv_of(wide y)
{
	wide x = __nv_erfcinv((double)y);

	for (int i = 0; i < 3 && x - x == 0; i++)
		x += (erfcl(x) - y) * sqrtl(wide_pi) / 2 * expl(x * x);
	return x;
}

static wide normcdfinv_of(wide y) { return -sqrtl(2) * erfcinv_of(2 * y); }

struct function {
	const char *name;
	double (*of_double)(double);
	float (*of_float)(float);
	wide (*reference)(wide);
	double from, to;
	double bound, bound_float;	/* the largest error that is allowed */
};

#define FUNCTION(name, reference, from, to, bound, bound_float) \
	{ #name, __nv_##name, __nv_##name##f, reference, from, to, bound, bound_float }

static const function functions[] = {
	FUNCTION(exp, expl, -750, 715, 1, 2),
	FUNCTION(exp2, exp2l, -1080, 1030, 2, 1),
	FUNCTION(exp10, exp10_of, -325, 310, 2, 1),
	FUNCTION(expm1, expm1l, -50, 715, 2, 1),
	FUNCTION(log, logl, 0, 1e9, 1, 1),
	FUNCTION(log2, log2l, 0, 1e9, 1, 1),
	FUNCTION(log10, log10l, 0, 1e9, 1, 1),
	FUNCTION(log1p, log1pl, -1, 30, 1, 1),
	FUNCTION(sin, sinl, -2e6, 2e6, 1, 2),
	FUNCTION(cos, cosl, -2e6, 2e6, 1, 2),
	FUNCTION(tan, tanl, -2e6, 2e6, 3, 1),
	FUNCTION(sinpi, sinpi_of, -1000, 1000, 1, 1),
	FUNCTION(cospi, cospi_of, -1000, 1000, 1, 1),
	FUNCTION(asin, asinl, -1, 1, 2, 1),
	FUNCTION(acos, acosl, -1, 1, 2, 1),
	FUNCTION(atan, atanl, -20, 20, 2, 1),
	FUNCTION(sinh, sinhl, -712, 712, 3, 1),
	FUNCTION(cosh, coshl, -712, 712, 3, 1),
	FUNCTION(tanh, tanhl, -25, 25, 3, 1),
	FUNCTION(asinh, asinhl, -1e9, 1e9, 2, 1),
	FUNCTION(acosh, acoshl, 1, 1e9, 2, 1),
	FUNCTION(atanh, atanhl, -1, 1, 2, 1),
	FUNCTION(cbrt, cbrtl, -1e9, 1e9, 1, 1),
	FUNCTION(rcbrt, rcbrt_of, -1e9, 1e9, 2, 1),
	FUNCTION(erf, erfl, -7, 7, 2, 1),
	FUNCTION(erfc, erfcl, -7, 27.5, 5, 1),
	FUNCTION(erfcx, erfcx_of, -26, 100, 8, 1),
	FUNCTION(erfinv, erfinv_of, -1, 1, 8, 1),
	FUNCTION(erfcinv, erfcinv_of, 0, 2, 8, 1),
	FUNCTION(normcdf, normcdf_of, -38, 9, 6, 1),
	FUNCTION(normcdfinv, normcdfinv_of, 0, 1, 10, 1),
	FUNCTION(tgamma, tgammal, 0, 172, 10, 1),
	FUNCTION(lgamma, lgammal, 0, 1e6, 20, 1),
	FUNCTION(cyl_bessel_i0, bessel0_of, 0, 90, 30, 1),
	FUNCTION(cyl_bessel_i1, bessel1_of, 0, 90, 30, 1),
};

static const double special[] = {
	0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.0, -2.0, 3.0, 10.0, 1e-300, -1e-300, 5e-324, 1e300, -1e300, 1.7e308,
	0x1p1023, INFINITY, -INFINITY, NAN, 0.75, 0.25, 1000000.0, 1e22, 6381956970095103.0 * 0x1p797, 0x1p-1022,
	88.0, 700.0, -745.0,
};

static void fail(const char *name, double x, double y, double got, wide want, double error)
{
	if (n_failed++ < 60)
		printf("%s(%.17g, %.17g) = %.17g, not %.17Lg: %.3g ulp\n", name, x, y, got, want, error);
}

static void check(const function *f, long n)
{
	double most = 0, most_float = 0;

	for (long i = 0; i < n; i++) {
		const double x = number(f->from, f->to);
		const float y = (float)x;
		const double error = error_of(f->of_double(x), f->reference(x));
		const double error_float = error_of(f->of_float(y), f->reference(y));

		if (error > f->bound)
			fail(f->name, x, 0, f->of_double(x), f->reference(x), error);
		if (error_float > f->bound_float && !(std::isinf(f->of_float(y)) && fabsl(f->reference(y)) > 3e38L))
			fail(f->name, y, 0, f->of_float(y), f->reference(y), error_float);
		most = error > most ? error : most;
		most_float = error_float > most_float && error_float < 1e8 ? error_float : most_float;
	}
	printf("%-14s %6.2f  float %6.2f\n", f->name, most, most_float);
}

/* Special numbers, of the functions that the C library has. */
struct named {
	const char *name;
	double (*of_double)(double);
	wide (*libc)(wide);
};

static const named library[] = {
#define NAMED(name) { #name, __nv_##name, name##l }
	NAMED(exp), NAMED(exp2), NAMED(expm1), NAMED(log), NAMED(log2), NAMED(log10), NAMED(log1p), NAMED(sin),
	NAMED(cos), NAMED(tan), NAMED(asin), NAMED(acos), NAMED(atan), NAMED(sinh), NAMED(cosh), NAMED(tanh),
	NAMED(asinh), NAMED(acosh), NAMED(atanh), NAMED(cbrt), NAMED(erf), NAMED(erfc), NAMED(tgamma), NAMED(lgamma),
};

/* Of functions that it does not have. */
static const struct { const char *name; double (*of_double)(double); double x, want; } limits[] = {
	{ "erfcx", __nv_erfcx, INFINITY, 0 }, { "erfcx", __nv_erfcx, -INFINITY, INFINITY },
	{ "erfcx", __nv_erfcx, -1e200, INFINITY }, { "erfcx", __nv_erfcx, -28, INFINITY },
	{ "cyl_bessel_i0", __nv_cyl_bessel_i0, INFINITY, INFINITY },
	{ "cyl_bessel_i0", __nv_cyl_bessel_i0, -1e300, INFINITY },
	{ "cyl_bessel_i1", __nv_cyl_bessel_i1, INFINITY, INFINITY },
	{ "cyl_bessel_i1", __nv_cyl_bessel_i1, -INFINITY, -INFINITY },
	{ "cyl_bessel_i1", __nv_cyl_bessel_i1, -721, -INFINITY },
	{ "erfcinv", __nv_erfcinv, 5e-324, 0x1.b369a6244e684p+4 },
	{ "erfcinv", __nv_erfcinv, 1e-310, 0x1.aa5120aecb7cbp+4 },
};

struct pair_of {
	const char *name;
	double (*of_double)(double, double);
	wide (*reference)(wide, wide);
	double bound;
};

static const pair_of pairs[] = {
	{ "pow", __nv_pow, powl, 1 }, { "atan2", __nv_atan2, atan2l, 3 }, { "fmod", __nv_fmod, fmodl, 0 },
	{ "remainder", __nv_remainder, remainderl, 0 }, { "hypot", __nv_hypot, hypotl, 1 },
};

/* @want is rounded, except for its sign and its error. */
static void check_special(const char *name, double x, double y, double got, wide want, double bound)
{
	const double error = error_of(got, want);

	if (error > bound + 1 || (got == 0 && (double)want == 0 && std::signbit(got) != std::signbit(want)))
		fail(name, x, y, got, want, error);
}

/* Bessel functions, against the size of their waves. */
static void check_bessel(const char *name, double (*of_double)(int, double), wide (*reference)(int, wide), int n,
			 double from, double to)
{
	double most = 0;

	for (int i = 0; i < 5000; i++) {
		const double x = from + (double)(next() >> 11) * 0x1p-53 * (to - from);
		const wide want = reference(n, x);
		const wide size = fmaxl(fabsl(want), 1 / sqrtl(x));
		const double error = (double)(fabsl(of_double(n, x) - want) / (0x1p-52L * size));

		if (error > 40)
			fail(name, n, x, of_double(n, x), want, error);
		most = error > most ? error : most;
	}
	printf("%s of order %-2d %6.2f\n", name, n, most);
}

int main()
{
	const long n = getenv("TEST_FULL") ? 2000000 : 20000;

	for (const function &f : functions)
		check(&f, n);
	for (const named &f : library)
		for (double x : special)
			check_special(f.name, x, 0, f.of_double(x), f.libc(x), strstr(f.name, "gamma") ? 20 : 4);
	for (const auto &f : limits)
		check_special(f.name, f.x, 0, f.of_double(f.x), f.want, 0);
	for (const pair_of &f : pairs) {
		double most = 0;

		for (double x : special)
			for (double y : special)
				check_special(f.name, x, y, f.of_double(x, y), f.reference(x, y), f.bound);
		for (long i = 0; i < n; i++) {
			const double x = number(0, 100), y = number(-100, 100);
			const double error = error_of(f.of_double(x, y), f.reference(x, y));

			if (error > f.bound)
				fail(f.name, x, y, f.of_double(x, y), f.reference(x, y), error);
			most = error > most ? error : most;
		}
		printf("%-14s %6.2f\n", f.name, most);
	}
	for (int order : { 0, 1, 2, 7, 30 }) {
		check_bessel("jn", __nv_jn, jnl, order, 1e-3, 24);
		check_bessel("jn", __nv_jn, jnl, order, 25, 300);
		check_bessel("yn", __nv_yn, ynl, order, 0.5, 24);
		check_bessel("yn", __nv_yn, ynl, order, 25, 300);
	}
	return n_failed ? 1 : 0;
}
