/* SPDX-License-Identifier: MIT */
/* calls.c - calls of functions of the module, by their names and through registers, and of functions of libm. */
#include "forms.h"

static void add_one(const struct form *form, uint64_t *v)
{
	(void)form;
	v[0] = v[1] + 1;
}

static void weigh(const struct form *form, uint64_t *v)
{
	(void)form;
	v[0] = (uint32_t)v[1] * 3 + (v[2] >> 32);
}

static void either(const struct form *form, uint64_t *v)
{
	(void)form;
	v[0] = v[2] & 1 ? v[1] + 1 : v[1] - 1;
}

static void libm(const struct form *form, uint64_t *v)
{
	const float a = bits_f32(v[1]), b = bits_f32(v[2]);

	v[0] = f32_bits(form->operation == 'h' ? hypotf(a, b) : floorf(a));
}

static void sine_cosine(const struct form *form, uint64_t *v)
{
	(void)form;
	v[0] = f64_bits(sin(bits_f64(v[2])));
	v[1] = f64_bits(cos(bits_f64(v[2])));
}

/* The x where a function that falls has a value, between two others. */
static long double root(long double (*function)(long double), long double value, long double low, long double high)
{
	for (int i = 0; i < 90; i++) {
		const long double middle = (low + high) / 2;

		if (function(middle) > value)
			low = middle;
		else
			high = middle;
	}
	return (low + high) / 2;
}

static long double minus_erf(long double x)
{
	return -erfl(x);
}

/* By long double: roots by halves, and the integral of a Bessel function. */
static void special(const struct form *form, uint64_t *v)
{
	const double x = bits_f64(v[1]), pi = 3.14159265358979323846;
	long double sum = 0;

	if ((form->operation == 'x' && x < -27) || (strchr("01", form->operation) && fabs(x) > 720)) {
		v[0] = f64_bits(form->operation == '1' ? copysign(INFINITY, x) : INFINITY);
		return;
	}
	if (isnan(x) || fabs(x) > (form->operation == 'x' ? 100 : 700) ||
	    (fabs(x) < 1e-200 && x != 0 && !strchr("cn", form->operation))) {
		any_result = true;
		return;
	}
	switch (form->operation) {
	case 'i': v[0] = f64_bits(fabs(x) > 1 ? NAN : fabs(x) == 1 ? x * INFINITY : x == 0 ? x :
				  (double)root(minus_erf, -x, -7, 7)); break;
	case 'c': v[0] = f64_bits(x < 0 || x > 2 ? NAN : x == 0 ? INFINITY : x == 2 ? -INFINITY :
				  x == 1 ? 0 : (double)root(erfcl, x, -7, 30)); break;
	case 'n': v[0] = f64_bits(x < 0 || x > 1 ? NAN : x == 0 ? -INFINITY : x == 1 ? INFINITY :
				  x == 0.5 ? 0 : (double)(-sqrtl(2) * root(erfcl, 2 * (long double)x, -7, 30))); break;
	case 'x': v[0] = f64_bits((double)(expl((long double)x * x) * erfcl(x))); break;
	default:
		/* The mean over half a circle; the error of this sum vanishes faster than any power. */
		for (int k = 0; k < 800; k++)
			sum += expl((long double)x * cosl((k + 0.5L) * (long double)pi / 800)) *
			       (form->operation == '1' ? cosl((k + 0.5L) * (long double)pi / 800) : 1);
		v[0] = f64_bits((double)(sum / 800));
	}
}

static void add_special(void)
{
	static const struct { const char *name; int operation; } list[] = {
		{ "erfinv", 'i' }, { "erfcinv", 'c' }, { "normcdfinv", 'n' }, { "erfcx", 'x' },
			{ "cyl_bessel_i0", '0' },
		{ "cyl_bessel_i1", '1' },
	};

	for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++) {
		struct form *form = add_form(special, "d:f64:E a:f64:d", "call (%%d), __nv_%s, (%%a);", list[i].name);

		form->operation = list[i].operation;
		/* 10 to the -13th. Near a root the model has no more digits. */
		add_bound(form, (struct bound)BOUND('r', -43.185, 0))->floor =
			list[i].operation == '1' ? 1e-15 : list[i].operation == '0' ? 0 : 3e-17;
	}
}

/* Sine and cosine of turns, and the normal distribution. The rest after the nearest half is exact. */
static void exact(const struct form *form, uint64_t *v)
{
	const double x = bits_f64(v[1]), whole = x - 2 * rint(x / 2), rest = whole - rint(2 * whole) / 2;
	const long double angle = 3.14159265358979323846264338327950288L * rest;
	int turn = isfinite(x) ? (int)rint(2 * whole) & 3 : 0;
	long double sine;

	if (form->operation == 'n') {
		v[0] = f64_bits((double)(erfcl(-x / sqrtl(2)) / 2));
		return;
	}
	if (form->operation == 'c')
		turn = (turn + 1) & 3;
	sine = turn & 1 ? cosl(angle) : sinl(angle);
	/* The sign of a zero: that of the number, or positive. */
	if (sine == 0)
		v[0] = f64_bits(form->operation == 'c' ? 0 : copysign(0, x));
	else
		v[0] = f64_bits((double)(turn & 2 ? -sine : sine));
}

static void add_exact(void)
{
	static const struct { const char *name; int operation; double bound; } list[] = {
		{ "sinpi", 's', 2 }, { "cospi", 'c', 2 }, { "normcdf", 'n', 6 },
	};

	for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++) {
		struct form *form = add_form(exact, "d:f64:E a:f64:d", "call (%%d), __nv_%s, (%%a);", list[i].name);

		form->operation = list[i].operation;
		add_bound(form, (struct bound)BOUND('u', list[i].bound, 0));
	}
}

/* Functions in single precision, by those in double precision. */
static void single(const struct form *form, uint64_t *v)
{
	const double a = (double)bits_f32(v[1]), b = (double)bits_f32(v[2]);

	switch (form->operation) {
	case 0: v[0] = f64_bits(exp(a)); break;
	case 1: v[0] = f64_bits(exp2(a)); break;
	case 2: v[0] = f64_bits(pow(10, a)); break;
	case 3: v[0] = f64_bits(log(a)); break;
	case 4: v[0] = f64_bits(log2(a)); break;
	case 5: v[0] = f64_bits(log10(a)); break;
	case 6: v[0] = f64_bits(sin(a)); break;
	case 7: v[0] = f64_bits(cos(a)); break;
	default: v[0] = f64_bits(pow(a, b));
	}
}

static void power(const struct form *form, uint64_t *v)
{
	(void)form;
	v[0] = f64_bits((double)powl((long double)bits_f32(v[1]), (int32_t)v[2]));
}

static void add_single(void)
{
	static const char *const list[] = { "expf", "exp2f", "exp10f", "logf", "log2f", "log10f", "sinf", "cosf",
		"powf" };

	for (int i = 0; i < 9; i++) {
		struct form *form = add_form(single, "d:f32:A a:f32:f b:f32:f", "call (%%d), __nv_%s, (%%a%s);",
					     list[i],
					     i == 8 ? ", %b" : "");

		form->operation = i;
		add_bound(form, (struct bound)BOUND('u', 0.53, 0));
	}
	add_bound(add_form(power, "d:f32:A a:f32:f b:b32:i", "call (%%d), __nv_powif, (%%a, %%b);"),
		  (struct bound)BOUND('u', 0.53, 0));
}

void add_calls(void)
{
	add_single();
	add_special();
	add_exact();
	add_form(add_one, "d:b32:i a:b32:i", "{ .param .b32 p; .param .b32 r; st.param.b32 [p+0], %%a; "
		 "call.uni (r), up, (p); ld.param.b32 %%d, [r+0]; }");
	add_form(weigh, "d:b32:i a:b32:i b:b64:i", "call (%%d), weigh, (%%a, %%b);");
	add_form(either, "d:b32:i a:b32:i p:pred:p",
		 "{ .reg .b64 %%f<3>; .param .b32 p; .param .b32 r; mov.u64 %%f0, up; "
		 "mov.u64 %%f1, down; selp.b64 %%f2, %%f0, %%f1, %%p; st.param.b32 [p+0], %%a; "
		 "proto: .callprototype (.param .b32 _) _ (.param .b32 _); call (r), %%f2, (p), proto; "
		 "ld.param.b32 %%d, [r+0]; }");
	add_form(libm, "d:f32:f a:f32:f", "{ .param .b32 p; .param .b32 r; st.param.f32 [p+0], %%a; "
		 "call.uni (r), __nv_floorf, (p); ld.param.f32 %%d, [r+0]; }");
	add_form(libm, "d:f32:f a:f32:f b:f32:f", "call (%%d), __nv_hypotf, (%%a, %%b);")->operation = 'h';
	add_form(sine_cosine, "d:f64:d q:f64:d a:f64:d", "{ .reg .b64 %%s, %%t; mov.u64 %%s, lv; add.u64 %%t, %%s, 8; "
		 "call __nv_sincos, (%%a, %%s, %%t); ld.local.f64 %%d, [lv]; ld.local.f64 %%q, [lv+8]; }");
}
