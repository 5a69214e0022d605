/* SPDX-License-Identifier: MIT */
/*
 * runtime_special.h - mathematical functions of devices, in the C text of modules that are made of PTX, after
 * runtime_float.h: exponentials and logarithms in single precision that loops over threads can vectorise, computed in
 * double precision, and functions that the C library lacks.
 */
#if defined(__FP_FAST_FMA) || defined(__FMA__) || defined(__aarch64__)
#define PTX_MULTIPLY_ADD_D(a, b, c) __builtin_fma(a, b, c)
#else
#define PTX_MULTIPLY_ADD_D(a, b, c) ((a) * (b) + (c))
#endif

/* 2 to the power of x as f32, by the series of the exponential. */
PTX_INLINE float ptx_power_of_2(double x)
{
	const double inside = x < -160.0 ? -160.0 : x > 130.0 ? 130.0 : x;
	/* The last bits of this sum are the nearest integer. */
	const double magic = inside + 0x1.8p52, r = (inside - (magic - 0x1.8p52)) * 0x1.62e42fefa39efp-1;
	double p = 1.0 / 40320.0;

	p = PTX_MULTIPLY_ADD_D(p, r, 1.0 / 5040.0);
	p = PTX_MULTIPLY_ADD_D(p, r, 1.0 / 720.0);
	p = PTX_MULTIPLY_ADD_D(p, r, 1.0 / 120.0);
	p = PTX_MULTIPLY_ADD_D(p, r, 1.0 / 24.0);
	p = PTX_MULTIPLY_ADD_D(p, r, 1.0 / 6.0);
	p = PTX_MULTIPLY_ADD_D(p, r, 0.5);
	p = PTX_MULTIPLY_ADD_D(p, r, 1.0);
	p = PTX_MULTIPLY_ADD_D(p, r, 1.0);
	return (float)(x != x ? x : p * ptx_f64((ptx_b64(magic) + 1023) << 52));
}

PTX_INLINE float ptx_exp2f(float x) { return ptx_power_of_2(x); }
PTX_INLINE float ptx_expf(float x) { return ptx_power_of_2(x * 0x1.71547652b82fep+0); }
PTX_INLINE float ptx_exp10f(float x) { return ptx_power_of_2(x * 0x1.a934f0979a371p+1); }

/* A positive number is 2 to the power of the exponent times a number between the roots of 1/2 and 2. */
struct ptx_log {
	double exponent, rest;		/* the rest: the natural logarithm of that number */
};

PTX_INLINE struct ptx_log ptx_log_parts(float x)
{
	const uint64_t bits = ptx_b64(x), root = 0x3fe6a09e667f3bcdull;
	/* 1100 more, as shifts of unsigned numbers are simpler. */
	const uint64_t exponent = (bits - root + (1100ull << 52)) >> 52;
	const double m = ptx_f64(bits - ((exponent - 1100) << 52)), s = (m - 1.0) / (m + 1.0), z = s * s;
	double p = 2.0 / 13.0;

	p = PTX_MULTIPLY_ADD_D(p, z, 2.0 / 11.0);
	p = PTX_MULTIPLY_ADD_D(p, z, 2.0 / 9.0);
	p = PTX_MULTIPLY_ADD_D(p, z, 2.0 / 7.0);
	p = PTX_MULTIPLY_ADD_D(p, z, 2.0 / 5.0);
	p = PTX_MULTIPLY_ADD_D(p, z, 2.0 / 3.0);
	p = PTX_MULTIPLY_ADD_D(p, z, 2.0);
	return (struct ptx_log){ ptx_f64(0x4338000000000000ull + exponent) - (0x1.8p52 + 1100.0), s * p };
}

/* Of what is not positive and finite. */
PTX_INLINE float ptx_log_of(float x, float result)
{
	const float finite = x < __builtin_inff() ? result : x;

	return x > 0.0f ? finite : x == 0.0f ? -__builtin_inff() : PTX_NAN;
}

PTX_INLINE float ptx_logf(float x)
{
	const struct ptx_log parts = ptx_log_parts(x);

	return ptx_log_of(x, (float)(parts.exponent * 0x1.62e42fefa39efp-1 + parts.rest));
}

PTX_INLINE float ptx_log2f(float x)
{
	const struct ptx_log parts = ptx_log_parts(x);

	return ptx_log_of(x, (float)(parts.exponent + parts.rest * 0x1.71547652b82fep+0));
}

PTX_INLINE float ptx_log10f(float x)
{
	const struct ptx_log parts = ptx_log_parts(x);

	return ptx_log_of(x, (float)(parts.exponent * 0x1.34413509f79ffp-2 + parts.rest * 0x1.bcb7b1526e50ep-2));
}

PTX_INLINE float ptx_powf(float x, float y)
{
	const float size = __builtin_fabsf(x), half = y * 0.5f, inf = __builtin_inff();
	const struct ptx_log parts = ptx_log_parts(size);
	const double log = parts.exponent + parts.rest * 0x1.71547652b82fep+0;
	/* Of 0 and infinity the logarithms are infinite. */
	const double limits = size == 0.0f ? -__builtin_inf() : size == inf ? __builtin_inf() : log;
	const int is_whole = __builtin_floorf(y) == y, is_odd = is_whole && __builtin_floorf(half) != half;
	const float power = ptx_power_of_2(y * (size == size ? limits : size));
	const float number = x < 0.0f && !is_whole && size < inf ? PTX_NAN : power;
	const float sign = ptx_f32(ptx_b32(number) | (is_odd ? ptx_b32(x) & 0x80000000u : 0));

	/* -1 to an infinity is 1. */
	return y == 0.0f || x == 1.0f || (x == -1.0f && __builtin_fabsf(y) == inf) ? 1.0f : sign;
}

/* The sine of pi times the sum of x and halves. What the nearest half leaves of x is exact. */
PTX_INLINE double ptx_sine_of_turn(double x, int halves)
{
	const double whole = x - 2.0 * __builtin_rint(x * 0.5), n = __builtin_rint(2.0 * whole);
	const double angle = 0x1.921fb54442d18p+1 * (whole - n * 0.5);
	const int turn = (n == n ? (int)n : 0) + halves;
	const double sine = turn & 1 ? __builtin_cos(angle) : __builtin_sin(angle);

	return turn & 2 ? -sine : sine;
}

/* Sine and cosine of x times pi. A sine of 0 has the sign of x, and a cosine of 0 is positive. */
PTX_INLINE double ptx_sinpi(double x)
{
	const double sine = ptx_sine_of_turn(x, 0);

	return sine == 0.0 ? __builtin_copysign(0.0, x) : sine;
}

PTX_INLINE double ptx_cospi(double x)
{
	const double cosine = ptx_sine_of_turn(x, 1);

	return cosine == 0.0 ? 0.0 : cosine;
}

/* exp(x * x) * erfc(x): where erfc() vanishes by its series for large x. */
PTX_RARE double ptx_erfcx(double x)
{
	const double square = x * x, rest = __builtin_fma(x, x, -square);
	double sum = 1.0, term = 1.0;

	if (x < -27.0)
		return __builtin_inf();
	if (x < 20.0)
		return exp(square) * (1.0 + rest) * erfc(x);
	for (int k = 1; k < 10; k++) {
		term *= -(2 * k - 1) / (2.0 * square);
		sum += term;
	}
	return sum / (x * 1.7724538509055160273);
}

/* One step toward the root of a function whose derivative is @slope, and whose second one is -2 * x * slope. */
PTX_INLINE double ptx_halley(double x, double value, double slope)
{
	const double step = value / slope;

	return x - step / (1.0 + x * step);
}

/* The inverse of erf() below 1/2. */
PTX_INLINE double ptx_erfinv_near(double y)
{
	double x = 0.88622692545275801365 * y * (1.0 + 0.2618 * y * y);

	for (int i = 0; i < 3 && y != 0.0; i++)
		x = ptx_halley(x, erf(x) - y, 1.1283791670955125739 * exp(-x * x));
	return x;
}

PTX_RARE double ptx_erfcinv(double y)
{
	const double tail = y < 1.0 ? y : 2.0 - y;
	double t, x;

	if (!(y > 0.0 && y < 2.0))
		return y == 0.0 ? __builtin_inf() : y == 2.0 ? -__builtin_inf() : __builtin_nan("");
	if (tail > 0.5)
		return ptx_erfinv_near(1.0 - y);
	/* Half of the least number would be 0. */
	t = sqrt(-2.0 * (log(tail) - 0.69314718055994530942));
	x = 0.70710678118654752440 * (t - (2.30753 + t * 0.27061) / (1.0 + t * (0.99229 + t * 0.04481)));
	/* The derivative is subnormal there: steps of Newton's for the logarithm. */
	for (int i = 0; i < 4 && tail < 0x1p-1000; i++) {
		const double scaled = ptx_erfcx(x);

		x += (log(scaled) - x * x - log(tail)) * scaled * 0.88622692545275801365;
	}
	if (tail < 0x1p-1000)
		return x;
	for (int i = 0; i < 3; i++)
		x = ptx_halley(x, erfc(x) - tail, -1.1283791670955125739 * exp(-x * x));
	return y < 1.0 ? x : -x;
}

PTX_INLINE double ptx_erfinv(double y)
{
	const double size = __builtin_fabs(y);

	return size < 0.5 ? ptx_erfinv_near(y) : __builtin_copysign(ptx_erfcinv(1.0 - size), y);
}

/* erfc(-x / sqrt(2)) / 2. What the rounded argument lacks is added by the derivative. */
PTX_INLINE double ptx_normcdf(double x)
{
	const double at = x * -0x1.6a09e667f3bcdp-1;
	const double rest = __builtin_fma(x, -0x1.6a09e667f3bcdp-1, -at) + x * 0x1.bdd3413b26456p-55;
	const double value = erfc(at) / 2.0;

	return x > -38.6 && x < 9.0 ? value - rest * 0x1.20dd750429b6dp-1 * exp(-at * at) : value;
}

PTX_INLINE double ptx_normcdfinv(double p) { return 0.0 - 1.4142135623730950488 * ptx_erfcinv(2.0 * p); }

/* The modified Bessel functions of order 0 and 1: by their series, and by that for large x. */
PTX_RARE double ptx_bessel_i(int order, double x)
{
	const double size = __builtin_fabs(x), quarter = x * x * 0.25;
	double sum = 1.0, term = 1.0, result;

	if (size > 720.0)
		return __builtin_copysign(__builtin_inf(), order ? x : 1.0);
	if (size < 30.0) {
		for (int k = 1; k < 80; k++) {
			term *= quarter / ((double)k * (k + order));
			sum += term;
		}
		return order ? sum * x * 0.5 : sum;
	}
	for (int k = 1; k < 25; k++) {
		term *= -(4.0 * order - (2 * k - 1) * (2 * k - 1)) / (8.0 * k * size);
		sum += term;
	}
	/* In two steps, as the exponential alone may be too large. */
	result = exp(size * 0.5) / sqrt(6.2831853071795864769 * size) * sum * exp(size * 0.5);
	return x == size || !order ? result : -result;
}
