/* SPDX-License-Identifier: MIT */
/* floats.c - f32 and f64, by the rounding modes of the processor, and approximations, by libm in double precision. */
#include "forms.h"

#include <stdlib.h>

/* Constants in the text of instructions. */
static const uint64_t doubles_bits[] = {
	0, 0x8000000000000000, 0x3ff0000000000000, 0x7ff0000000000000, 0xfff0000000000000, 0x7fffffffffffffff, 1,
	0x000fffffffffffff, 0x0010000000000000, 0x7fefffffffffffff, 0xc05edd3c07fb4c99,
};

static const struct { const char *name; int mode; } roundings[] = {
	{ "rn", FE_TONEAREST }, { "rz", FE_TOWARDZERO }, { "rm", FE_DOWNWARD }, { "rp", FE_UPWARD },
};

uint64_t flush(char kind, uint64_t bits)
{
	const uint64_t exponent = kind == 'f' ? 0x7f800000 : kind == 'h' ? 0x7c00 : 0x7ff0000000000000;
	const uint64_t sign = kind == 'f' ? 0x80000000 : kind == 'h' ? 0x8000 : 0x8000000000000000;

	return bits & exponent ? bits : bits & sign;
}

uint64_t saturate(char kind, uint64_t bits)
{
	const double x = kind == 'f' ? (double)bits_f32(bits) : kind == 'd' ? bits_f64(bits) : half_value(kind, bits);
	const uint64_t one = kind == 'f' ? 0x3f800000 : kind == 'h' ? 0x3c00 : 0x3ff0000000000000;

	return isnan(x) || x <= 0 ? 0 : x >= 1 ? one : bits;
}

/* One operation of the processor in the current rounding mode. */
static float operate_f32(int operation, volatile float a, volatile float b, volatile float c)
{
	volatile float result = 0;

	switch (operation) {
	case '+': result = a + b; break;
	case '-': result = a - b; break;
	case '*': result = a * b; break;
	case 'f': result = fmaf(a, b, c); break;
	case '/': result = a / b; break;
	case 'r': result = 1.0f / a; break;
	case 's': result = sqrtf(a); break;
	case 'n': result = bits_f32(f32_bits(a) ^ 0x80000000); break;
	case 'a': result = bits_f32(f32_bits(a) & 0x7fffffff); break;
	}
	return result;
}

static double operate_f64(int operation, volatile double a, volatile double b, volatile double c)
{
	volatile double result = 0;

	switch (operation) {
	case '+': result = a + b; break;
	case '-': result = a - b; break;
	case '*': result = a * b; break;
	case 'f': result = fma(a, b, c); break;
	case '/': result = a / b; break;
	case 'r': result = 1.0 / a; break;
	case 's': result = sqrt(a); break;
	case 'n': result = bits_f64(f64_bits(a) ^ 0x8000000000000000); break;
	case 'a': result = bits_f64(f64_bits(a) & 0x7fffffffffffffff); break;
	}
	return result;
}

static void arithmetic(const struct form *form, uint64_t *v)
{
	uint64_t in[4], result;

	for (int i = 1; i < 4; i++)
		in[i] = form->ftz ? flush(form->type, v[i]) : v[i];
	if (form->type == 'f')
		result = f32_bits(operate_f32(form->operation, bits_f32(in[1]), bits_f32(in[2]), bits_f32(in[3])));
	else
		result = f64_bits(operate_f64(form->operation, bits_f64(in[1]), bits_f64(in[2]), bits_f64(in[3])));
	if (form->ftz)
		result = flush(form->type, result);
	v[0] = form->sat ? saturate(form->type, result) : result;
}

static const char *registers_of(char type)
{
	return type == 'f' ? "d:f32:f a:f32:f b:f32:f c:f32:f" : "d:f64:d a:f64:d b:f64:d c:f64:d";
}

static const char *name_of(char type)
{
	return type == 'f' ? "f32" : "f64";
}

/* All roundings, with .ftz and .sat where they exist. */
static void add_rounded(char type)
{
	static const struct { const char *name; int operation, n; bool sat, without; } list[] = {
		{ "add", '+', 2, true, true }, { "sub", '-', 2, true, true }, { "mul", '*', 2, true, true },
		{ "fma", 'f', 3, true, false }, { "mad", 'f', 3, true, true }, { "div", '/', 2, false, false },
		{ "rcp", 'r', 1, false, false }, { "sqrt", 's', 1, false, false },
	};

	for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++) {
		for (int j = 0; j < 4 * 5; j++) {
			const int rounding = j / 4 - 1;	/* -1: the text names none, so it is rn */
			const bool ftz = j & 1, sat = j & 2;
			struct form *form;

			if ((rounding < 0 && !list[i].without) || (type == 'd' && (ftz || sat)) ||
			    (sat && !list[i].sat))
				continue;
			form = add_form(arithmetic, registers_of(type), "%s%s%s%s%s.%s %%d, %%a%s%s;", list[i].name,
					rounding < 0 ? "" : ".", rounding < 0 ? "" : roundings[rounding].name, ftz ?
						".ftz" : "",
					sat ? ".sat" : "", name_of(type), list[i].n > 1 ? ", %b" : "",
					list[i].n > 2 ? ", %c" : "");
			form->operation = list[i].operation;
			form->type = type;
			form->ftz = ftz;
			form->sat = sat;
			form->mode = rounding < 0 ? FE_TONEAREST : roundings[rounding].mode;
		}
	}
	for (int i = 0; i < 4; i++) {
		struct form *form;

		if (type == 'd' && i & 1)
			continue;
		form = add_form(arithmetic, registers_of(type), "%s%s.%s %%d, %%a;", i & 2 ? "neg" : "abs", i & 1 ?
				".ftz" : "",
				name_of(type));
		form->operation = i & 2 ? 'n' : 'a';
		form->type = type;
		form->ftz = i & 1;
	}
}

/* Bits as a number whose order is that of the values, -0 before +0. */
static int64_t rank(char type, uint64_t bits)
{
	const uint64_t sign = type == 'f' ? 0x80000000 : 0x8000000000000000;

	return bits & sign ? -(int64_t)(bits & ~sign) - 1 : (int64_t)bits;
}

static bool is_nan(char type, uint64_t bits)
{
	return type == 'f' ? (bits & 0x7fffffff) > 0x7f800000 : (bits & 0x7fffffffffffffff) > 0x7ff0000000000000;
}

/* min and max. The operation: '<' or '>'; flag: NaN; extra: xorsign.abs. */
static void limit(const struct form *form, uint64_t *v)
{
	const uint64_t sign = form->type == 'f' ? 0x80000000 : 0x8000000000000000;
	uint64_t a = form->ftz ? flush(form->type, v[1]) : v[1], b = form->ftz ? flush(form->type, v[2]) : v[2];
	const uint64_t xorsign = (a ^ b) & sign;
	bool first;

	if (form->extra) {
		a &= ~sign;
		b &= ~sign;
	}
	if (is_nan(form->type, a) || is_nan(form->type, b))
		first = form->flag ? is_nan(form->type, a) : !is_nan(form->type, a);
	else
		first = form->operation == '<' ? rank(form->type, a) < rank(form->type, b) :
			rank(form->type, a) > rank(form->type, b);
	v[0] = (first ? a : b) | (form->extra ? xorsign : 0);
}

static void add_limits(void)
{
	for (int i = 0; i < 16; i++) {
		struct form *form = add_form(limit, registers_of('f'), "%s%s%s%s.f32 %%d, %%a, %%b;", i & 8 ? "max" :
					     "min",
					     i & 1 ? ".ftz" : "", i & 2 ? ".NaN" : "", i & 4 ? ".xorsign.abs" : "");

		form->operation = i & 8 ? '>' : '<';
		form->ftz = i & 1;
		form->flag = i & 2;
		form->extra = i & 4;
		form->type = 'f';
	}
	for (int i = 0; i < 2; i++) {
		struct form *form = add_form(limit, registers_of('d'), "%s.f64 %%d, %%a, %%b;", i ? "max" : "min");

		form->operation = i ? '>' : '<';
		form->type = 'd';
	}
}

static void sign_of(const struct form *form, uint64_t *v)
{
	const uint64_t sign = form->type == 'f' ? 0x80000000 : 0x8000000000000000;

	v[0] = (v[2] & ~sign) | (v[1] & sign);
}

static void property(const struct form *form, uint64_t *v)
{
	const double x = form->type == 'f' ? (double)bits_f32(v[1]) : bits_f64(v[1]);
	const int class = form->type == 'f' ? fpclassify(bits_f32(v[1])) : fpclassify(x);

	switch (form->operation) {
	case 0: v[0] = class != FP_NAN && class != FP_INFINITE; break;
	case 1: v[0] = class == FP_INFINITE; break;
	case 2: v[0] = class != FP_NAN; break;
	case 3: v[0] = class == FP_NAN; break;
	case 4: v[0] = class == FP_NORMAL || class == FP_ZERO; break;
	default: v[0] = class == FP_SUBNORMAL; break;
	}
}

static void add_others(void)
{
	static const char *const properties[] = { "finite", "infinite", "number", "notanumber", "normal", "subnormal" };

	for (int i = 0; i < 2; i++) {
		const char type = "fd"[i];

		add_form(sign_of, registers_of(type), "copysign.%s %%d, %%a, %%b;", name_of(type))->type = type;
		for (int j = 0; j < 6; j++) {
			struct form *form = add_form(property, i ? "d:pred:p a:f64:d" : "d:pred:p a:f32:f",
						     "testp.%s.%s %%d, %%a;",
						     properties[j], name_of(type));

			form->type = type;
			form->operation = j;
		}
	}
}

#define PI 3.14159265358979323846

/* Approximations: the output is the exact value as f64, rounded. */
enum { SIN, COS, EX2, LG2, TANH, RCP, SQRT, RSQRT, DIV, FULL };

static double exactly(int operation, double a, double b)
{
	switch (operation) {
	/* Beyond, there is no bound, only a range: see the list below. */
	case SIN: return fabs(a) > 101 * PI && !isinf(a) ? 0.5 : sin(a);
	case COS: return fabs(a) > 101 * PI && !isinf(a) ? 0.5 : cos(a);
	case EX2: return exp2(a);
	case LG2: return log2(a);
	case TANH: return tanh(a);
	case RCP: return 1 / a;
	case SQRT: return sqrt(a);
	case RSQRT: return 1 / sqrt(a);
	case DIV:
		/* For such divisors the manual says a zero with the quotient's sign, or NaN for an infinity divided. */
		return fabs(b) > 0x1p126 && fabs(b) < INFINITY ? a * copysign(0, b) : a / b;
	default: return a / b;
	}
}

static void approximate(const struct form *form, uint64_t *v)
{
	const uint64_t a = form->ftz ? flush('f', v[1]) : v[1], b = form->ftz ? flush('f', v[2]) : v[2];
	double x = exactly(form->operation, (double)bits_f32(a), (double)bits_f32(b));

	if (form->ftz && fabs(x) < 0x1p-126)
		x = copysign(0.0, x);
	v[0] = f64_bits(x);
}

/* The upper words of double precision: what is below does not count. */
static void gross(const struct form *form, uint64_t *v)
{
	const uint64_t bits = v[form->n_out];
	const double a = bits_f64(form->ftz ? flush('d', bits) & (isnan(bits_f64(bits)) ? ~0ull : ~0ull << 32) : bits);
	double x = form->ftz ? exactly(form->operation, a, 0) : (double)(1 / sqrtl((long double)a));

	if (form->ftz && fabs(x) < 0x1p-1022)
		x = copysign(0.0, x);
	v[0] = f64_bits(x);
	/* The lower half of the result is 0. */
	v[1] = 0;
}

/* The bounds of the PTX ISA manual, version 9.1, whose sections are named. */
static void add_approximations(void)
{
	static const struct {
		const char *name, *section;
		int operation;
		bool no_ftz;
		struct bound bounds[BOUNDS];
	} list[] = {
		{ "sin.approx", "9.7.3.18, sin", SIN, false, {
			BOUND_IN('a', -20.5, -23.2, 0, 2 * PI), BOUND_IN('a', -14.7, -23.1, 2 * PI, 100 * PI),
			BOUND_IN('l', 0, 0, 100 * PI, INFINITY) } },
		{ "cos.approx", "9.7.3.19, cos", COS, false, {
			BOUND_IN('a', -20.5, -23.1, 0, 2 * PI), BOUND_IN('a', -14.7, -23.1, 2 * PI, 100 * PI),
			BOUND_IN('l', 0, 0, 100 * PI, INFINITY) } },
		{ "ex2.approx", "9.7.3.21, ex2", EX2, false, { BOUND('u', 2, 1.4) } },
		{ "lg2.approx", "9.7.3.20, lg2", LG2, false, {
			BOUND_IN('a', -22, -23.4, 0.5, 2), BOUND_IN('r', -22, -23.5, 2, INFINITY),
			BOUND_IN('r', -22, -23.6, 0, 0.5) } },
		{ "tanh.approx", "9.7.3.22, tanh", TANH, true, { BOUND('r', -11, -17.9) } },
		{ "rcp.approx", "9.7.3.13, rcp", RCP, false, { BOUND('u', 1, 0.5) } },
		{ "sqrt.approx", "9.7.3.15, sqrt", SQRT, false, { BOUND('r', -23, -24) } },
		{ "rsqrt.approx", "9.7.3.16, rsqrt", RSQRT, false, { BOUND('r', -22.9, -23.3) } },
		{ "div.approx", "9.7.3.8, div", DIV, false, {
			BOUND_IN('u', 2, 0.5, 0x1p-126, 0x1p126), BOUND_IN('a', -INFINITY, 0, 0x1.000002p126, 0x1p128),
			BOUND_IN('u', 2, 0.5, 0, 0x1p-126) } },
		{ "div.full", "9.7.3.8, div", FULL, false, { BOUND('u', 2, 0.5) } },
	};

	for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++) {
		for (int ftz = 0; ftz < 2 - list[i].no_ftz; ftz++) {
			const bool two = list[i].operation >= DIV;
			struct form *form = add_form(approximate, two ? "d:f32:A a:f32:f b:f32:f" : "d:f32:A a:f32:f",
						     "%s%s.f32 %%d, %%a%s;", list[i].name, ftz ? ".ftz" : "", two ?
							", %b" : "");

			form->operation = list[i].operation;
			form->ftz = ftz;
			form->section = list[i].section;
			for (int j = 0; j < BOUNDS && list[i].bounds[j].kind; j++) {
				struct bound *bound = add_bound(form, list[i].bounds[j]);

				/* Of a division the divisor. The manual has no bound for the smallest ones. */
				bound->operand = two;
				bound->ours = j == 2 && two;
			}
		}
	}
	for (int i = 0; i < 3; i++) {
		static const char *const names[] = { "rcp.approx.ftz", "rsqrt.approx.ftz", "rsqrt.approx" };
		static const char *const sections[] = { "9.7.3.14, rcp.approx.ftz.f64",
							"9.7.3.17, rsqrt.approx.ftz.f64", "9.7.3.16, rsqrt" };
		struct form *form = add_form(gross, i < 2 ? "d:f64:E q:b32:i a:f64:d" : "d:f64:E a:f64:d",
					     i < 2 ? "{ .reg .b32 %%x; %s.f64 %%d, %%a; mov.b64 {%%q, %%x}, %%d; }" :
					     "%s.f64 %%d, %%a;", names[i]);

		form->operation = i ? RSQRT : RCP;
		form->ftz = i < 2;
		form->section = sections[i];
		add_bound(form, (struct bound){ .kind = 'r', .limit = i < 2 ? -20 : -51, .seen = i < 2 ? -20 : -52,
						.ours = true });
	}
}

/* Constants in the text: the bits of a number, and decimal digits, which may be those of an f64. */
static void decimal(const struct form *form, uint64_t *v)
{
	if (form->type == 'f')
		v[0] = f32_bits(operate_f32('*', bits_f32(v[1]), (float)(form->extra * 0.1), 0));
	else
		v[0] = f64_bits(operate_f64('*', bits_f64(v[1]), form->flag ? bits_f64(doubles_bits[form->extra]) :
					    form->extra * 0.5, 0));
}

static void add_constants(void)
{
	static const struct { const char *text; int tenths; } decimals[] = { { "0.1", 1 }, { "-1.3", -13 },
		{ "25.0e-1", 25 } };
	static const uint32_t singles[] = { 0, 0x80000000, 0x3f800000, 0x7f800000, 0xff800000, 0x7fffffff, 1,
		0x007fffff,
					    0x00800000, 0x7f7fffff, 0xc2f6e979 };

	for (size_t i = 0; i < sizeof(singles) / sizeof(*singles); i++) {
		struct form *form = add_form(arithmetic, "d:f32:f a:f32:f b:f32:=", "add.f32 %%d, %%a, 0f%08X;",
					     singles[i]);

		form->operation = '+';
		form->type = 'f';
		form->extra = (int)singles[i];
	}
	for (size_t i = 0; i < sizeof(decimals) / sizeof(*decimals); i++) {
		struct form *form = add_form(decimal, "d:f32:f a:f32:f", "mul.f32 %%d, %%a, %s;", decimals[i].text);

		form->type = 'f';
		form->extra = decimals[i].tenths;
	}
	for (size_t i = 0; i < sizeof(doubles_bits) / sizeof(*doubles_bits); i++) {
		struct form *form = add_form(decimal, "d:f64:d a:f64:d", "mul.f64 %%d, %%a, 0d%016llX;",
					     (unsigned long long)doubles_bits[i]);

		form->type = 'd';
		form->flag = true;
		form->extra = (int)i;
	}
	{
		struct form *form = add_form(decimal, "d:f64:d a:f64:d", "mul.f64 %%d, %%a, 3.5;");

		form->type = 'd';
		form->extra = 7;
	}
}

void add_floats(void)
{
	add_rounded('f');
	add_rounded('d');
	add_limits();
	add_others();
	add_approximations();
	add_constants();
}
