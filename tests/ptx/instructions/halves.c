/* SPDX-License-Identifier: MIT */
/* halves.c - f16 and bf16, by a table of all their values. */
#include "forms.h"

/* Finite values from 0 up, in the order of their bits, and the first number beyond. */
static double values_h[0x7c00 + 1], values_b[0x7f80 + 1];

static double decode(unsigned bits, unsigned mantissa_bits, int bias)
{
	const unsigned exponent = bits >> mantissa_bits, mantissa = bits & ((1u << mantissa_bits) - 1);

	return exponent ? ldexp(1 + ldexp(mantissa, -(int)mantissa_bits), (int)exponent - bias) :
	       ldexp(mantissa, 1 - bias - (int)mantissa_bits);
}

void half_prepare(void)
{
	for (unsigned i = 0; i <= 0x7c00; i++)
		values_h[i] = decode(i, 10, 15);
	for (unsigned i = 0; i <= 0x7f80; i++)
		values_b[i] = decode(i, 7, 127);
}

double half_value(char kind, uint64_t bits)
{
	const unsigned infinity = kind == 'h' ? 0x7c00 : 0x7f80, size = bits & 0x7fff;
	const double x = size > infinity ? NAN : size == infinity ? INFINITY : kind == 'h' ? values_h[size] :
		values_b[size];

	return bits & 0x8000 ? -x : x;
}

uint64_t half_round(char kind, double high, double low, int mode)
{
	const double *values = kind == 'h' ? values_h : values_b;
	const unsigned infinity = kind == 'h' ? 0x7c00 : 0x7f80;
	const unsigned sign = signbit(high) ? 0x8000 : 0;
	const double x = fabs(high), rest = signbit(high) ? -low : low;
	unsigned below = 0, above = infinity;
	double middle;
	bool up;

	if (isnan(high))
		return 0x7fff;
	if (isinf(high))
		return sign | infinity;
	/* values[below] <= x + rest < values[above] */
	if (x > values[infinity] || (x == values[infinity] && rest >= 0)) {
		below = infinity - 1;
	} else {
		while (above - below > 1) {
			const unsigned i = (below + above) / 2;

			if (x > values[i] || (x == values[i] && rest >= 0))
				below = i;
			else
				above = i;
		}
		if (x == values[below] && rest == 0)
			return sign | below;
	}
	middle = values[below] + (values[below + 1] - values[below]) / 2;
	if (mode == FE_TONEAREST)
		up = x > middle || (x == middle && (rest > 0 || (rest == 0 && below & 1)));
	else
		up = mode == FE_UPWARD ? !sign : mode == FE_DOWNWARD ? sign : false;
	return sign | (below + up);
}

static void sum(double a, double b, double *high, double *low)
{
	const double s = a + b, t = s - a;

	*high = s;
	*low = (a - (s - t)) + (b - t);
}

static uint64_t one(const struct form *form, uint64_t a_bits, uint64_t b_bits, uint64_t c_bits)
{
	const char kind = form->type;
	const bool ftz = form->ftz;
	const uint64_t in[3] = { ftz ? flush('h', a_bits) : a_bits, ftz ? flush('h', b_bits) : b_bits,
				 ftz ? flush('h', c_bits) : c_bits };
	double a = half_value(kind, in[0]), b = half_value(kind, in[1]);
	const double c = half_value(kind, in[2]);
	double high = 0, low = 0;
	uint64_t result;
	bool first;

	switch (form->operation) {
	case '+': sum(a, b, &high, &low); break;
	case '-': sum(a, -b, &high, &low); break;
	case '*': high = a * b; break;
	case 'f': sum(a * b, c, &high, &low); break;
	case 'n': return in[0] ^ 0x8000;
	case 'a': return in[0] & 0x7fff;
	case '<': case '>':
		if (form->extra) {
			a = fabs(a);
			b = fabs(b);
		}
		if (isnan(a) || isnan(b))
			first = form->flag ? isnan(a) : !isnan(a);
		else if (a == b)
			first = form->operation == '<' ? signbit(a) : !signbit(a);
		else
			first = form->operation == '<' ? a < b : a > b;
		result = in[first ? 0 : 1];
		return isnan(first ? a : b) ? 0x7fff : form->extra ? (result & 0x7fff) | ((in[0] ^ in[1]) & 0x8000) :
			result;
	}
	if (isnan(low))
		low = 0;
	result = half_round(kind, high, low, FE_TONEAREST);
	if (ftz)
		result = flush('h', result);
	if (form->flag)			/* .relu */
		result = isnan(half_value(kind, result)) ? 0x7fff : result & 0x8000 ? 0 : result;
	return form->sat ? saturate(kind, result) : result;
}

static void single(const struct form *form, uint64_t *v)
{
	v[0] = one(form, v[1] & 0xffff, v[2] & 0xffff, v[3] & 0xffff);
}

static void twice(const struct form *form, uint64_t *v)
{
	v[0] = one(form, v[1] & 0xffff, v[2] & 0xffff, v[3] & 0xffff) |
	       one(form, v[1] >> 16 & 0xffff, v[2] >> 16 & 0xffff, v[3] >> 16 & 0xffff) << 16;
}

/* Both forms, of one number and of two. */
static void add_both(char kind, const char *name, int operation, int n, bool ftz, bool sat, bool flag, int extra)
{
	for (int i = 0; i < 2; i++) {
		const char letter = i ? kind == 'h' ? 'H' : 'B' : kind;
		char registers[96];
		struct form *form;

		snprintf(registers, sizeof(registers), "d:b%d:%c a:b%d:%c b:b%d:%c c:b%d:%c", 16 << i, letter, 16 << i,
			 letter,
			 16 << i, letter, 16 << i, letter);
		form = add_form(i ? twice : single, registers, "%s.%s%s %%d, %%a%s%s;", name, kind == 'h' ? "f16" :
				"bf16",
				i ? "x2" : "", n > 1 ? ", %b" : "", n > 2 ? ", %c" : "");
		form->type = kind;
		form->operation = operation;
		form->ftz = ftz;
		form->sat = sat;
		form->flag = flag;
		form->extra = extra;
	}
}

static void add_arithmetic(char kind)
{
	static const struct { const char *name; int operation, n; } list[] = {
		{ "add", '+', 2 }, { "sub", '-', 2 }, { "mul", '*', 2 }, { "fma.rn", 'f', 3 },
		{ "add.rn", '+', 2 }, { "sub.rn", '-', 2 }, { "mul.rn", '*', 2 },
	};
	char name[64];

	for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++) {
		for (int j = 0; j < 4; j++) {
			if (kind == 'b' && j)
				continue;
			snprintf(name, sizeof(name), "%s%s%s", list[i].name, j & 1 ? ".ftz" : "", j & 2 ? ".sat" : "");
			add_both(kind, name, list[i].operation, list[i].n, j & 1, j & 2, false, 0);
		}
	}
	add_both(kind, "fma.rn.relu", 'f', 3, false, false, true, 0);
	add_both(kind, "neg", 'n', 1, false, false, false, 0);
	add_both(kind, "abs", 'a', 1, false, false, false, 0);
	if (kind == 'h') {
		add_both(kind, "fma.rn.ftz.relu", 'f', 3, true, false, true, 0);
		add_both(kind, "neg.ftz", 'n', 1, true, false, false, 0);
		add_both(kind, "abs.ftz", 'a', 1, true, false, false, 0);
	}
	for (int i = 0; i < 16; i++) {
		if (kind == 'b' && i & 1)
			continue;
		snprintf(name, sizeof(name), "%s%s%s%s", i & 8 ? "max" : "min", i & 1 ? ".ftz" : "", i & 2 ? ".NaN" :
			 "",
			 i & 4 ? ".xorsign.abs" : "");
		add_both(kind, name, i & 8 ? '>' : '<', 2, i & 1, false, i & 2, i & 4);
	}
}

static double approximation(const struct form *form, uint64_t bits)
{
	/* .ftz is a modifier of bf16 only, whose exponents are those of f32. */
	const double a = half_value(form->type, form->ftz && !(bits & 0x7f80) ? bits & 0x8000 : bits);
	const double x = form->operation == 't' ? tanh(a) : exp2(a);

	return form->ftz && fabs(x) < 0x1p-126 ? copysign(0, x) : x;
}

static void approximate(const struct form *form, uint64_t *v)
{
	const uint64_t bits = v[1];

	v[0] = f64_bits(approximation(form, bits & 0xffff));
	v[HIGH] = f64_bits(approximation(form, bits >> 16 & 0xffff));
}

/* Bounds: as in floats.c. */
static void add_approximations(void)
{
	static const struct { const char *name, *section; char kind; int operation; struct bound bound; } list[] = {
		{ "ex2.approx.f16", "9.7.4.10, ex2", 'h', 'e', BOUND('r', -9.9, -11) },
		{ "ex2.approx.ftz.bf16", "9.7.4.10, ex2", 'b', 'e', BOUND('r', -7, -8) },
		{ "tanh.approx.f16", "9.7.4.9, tanh", 'h', 't', BOUND('a', -10.987, -12) },
		{ "tanh.approx.bf16", "9.7.4.9, tanh", 'b', 't', BOUND('a', -8, -9) },
	};

	for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++) {
		for (int two = 0; two < 2; two++) {
			static const char *const registers[] = { "d:b16:C a:b16:h", "d:b16:D a:b16:b",
								 "d:b32:P a:b32:H", "d:b32:Q a:b32:B" };
			struct form *form = add_form(approximate, registers[2 * two + (list[i].kind == 'b')],
						     "%s%s %%d, %%a;", list[i].name, two ? "x2" : "");

			form->type = list[i].kind;
			form->operation = list[i].operation;
			form->ftz = strstr(list[i].name, ".ftz") != NULL;
			form->section = list[i].section;
			/* Of subnormal results no f16 is closer. */
			add_bound(form, list[i].bound)->floor = list[i].kind == 'h' ? 0x1p-25 : 0;
		}
	}
}

void add_halves(void)
{
	add_arithmetic('h');
	add_arithmetic('b');
	add_approximations();
}
