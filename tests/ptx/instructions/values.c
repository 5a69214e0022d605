/* SPDX-License-Identifier: MIT */
/* values.c - see values.h. */
#include "values.h"

#include <float.h>
#include <stdlib.h>

static const uint64_t integers[] = {
	0, 1, 2, 3, 7, 31, 32, 63, 64, 127, 128, 255, 256, 0x7fff, 0x8000, 0x8001, 0xffff, 0x10000, 0x7fffff,
	0x800000, 0xffffff, 0x7ffffffe, 0x7fffffff, 0x80000000, 0x80000001, 0xfffffffe, 0xffffffff, 0x100000000,
	0x7fffffffffffffff, 0x8000000000000000, 0x8000000000000001, 0xfffffffffffffffe, 0xffffffffffffffff,
	0xffffffff80000000, 0xffffffffffff8000, 0x0123456789abcdef, 0x00000000deadbeef, 0x5555555555555555,
	0xaaaaaaaaaaaaaaaa, 0xffffff7f,
};
static const uint64_t small[] = {
	0, 1, 2, 3, 4, 7, 8, 15, 16, 17, 31, 32, 33, 47, 48, 63, 64, 65, 127, 128, 255, 256, 257, 0x7fffffff,
	0x80000000, 0xffffffff, 0xffffffe0, 0xfffffffe, 5, 12,
};
static const uint32_t singles[] = {
	0, 0x80000000, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000, 0x7fc00000, 0xffffffff, 1, 0x80000001, 2,
	0x007fffff, 0x807fffff, 0x00800000, 0x80800000, 0x00800001, 0x7f7fffff, 0xff7fffff, 0x7f7ffffe,
	0x3f000000, 0xbf000000, 0x3fc00000, 0x40200000, 0x3effffff, 0x3f7fffff, 0x3f800001, 0x4b000000,
	0x4b800000, 0x4b000001, 0x4effffff, 0x4f000000, 0xcf000000, 0xcf000001, 0x4f7fffff, 0x4f800000,
	0x5f000000, 0xdf000000, 0x5f800000, 0x477fe000, 0x477ff000, 0x477fefff, 0x38800000, 0x387fe000,
	0x33800000, 0x33000000, 0x33000001, 0x7e800000, 0x7e800001, 0x42fe0000, 0x42ff0000, 0xc2fc0000,
	0xc3150000, 0x3fc90fdb, 0x40490fdb, 0x1f800000, 0x1fffffff, 0x437f0000, 0x43000000, 0x7f7f8000,
	0x33ffffff, 0x0d000000,
};
static const uint64_t doubles[] = {
	0, 0x8000000000000000, 0x3ff0000000000000, 0xbff0000000000000, 0x7ff0000000000000, 0xfff0000000000000,
	0x7ff8000000000000, 1, 0x8000000000000001, 2, 0x000fffffffffffff, 0x800fffffffffffff,
	0x0010000000000000, 0x8010000000000000, 0x0010000000000001, 0x7fefffffffffffff, 0xffefffffffffffff,
	0x7feffffffffffffe, 0x3fe0000000000000, 0x3ff8000000000000, 0x4004000000000000, 0x3fdfffffffffffff,
	0x3ff0000000000001, 0x41dfffffffc00000, 0x41e0000000000000, 0xc1e0000000000000, 0xc1e0000000200000,
	0x41efffffffe00000, 0x41f0000000000000, 0x43e0000000000000, 0xc3e0000000000000, 0x43f0000000000000,
	0x4330000000000000, 0x4340000000000001, 0x47efffffe0000000, 0x47efffffefffffff, 0x47effffff0000000,
	0x36a0000000000000, 0x3690000000000000, 0x3690000000000001, 0x3810000000000000, 0x380fffffffffffff,
	0x40effe0000000000, 0x40efffffffffffff, 0x3f10000000000000, 0x3e70000000000000, 0x1ff0000000000000,
	0x1fffffffffffffff, 0x6000000000000000, 0x0360000000000001, 0x07b0000000000001, 0x3c90000000000000,
	0xc024000000000000, 0xc042800000000000, 0x4007ffffffffffff, 0x4003fffffffffffe,
};
static const uint16_t halves[] = {
	0, 0x8000, 1, 0x8001, 0x3ff, 0x400, 0x401, 0x3bff, 0x3c00, 0x3c01, 0xbc00, 0x7bff, 0xfbff, 0x7c00,
	0xfc00, 0x7e00, 0xffff, 0x3800, 0x3e00, 0x4000, 0x1400, 0x83ff, 0x7800, 0x5bff, 0x0200,
};
static const uint16_t brains[] = {
	0, 0x8000, 1, 0x8001, 0x7f, 0x80, 0x81, 0x3f7f, 0x3f80, 0x3f81, 0xbf80, 0x7f7f, 0xff7f, 0x7f80, 0xff80,
	0x7fc0, 0xffff, 0x3f00, 0x3fc0, 0x4000, 0x1f80, 0x807f, 0x7f00, 0x6000, 0x0d00,
};

#define COUNT(list) (sizeof(list) / sizeof(*(list)))

static uint64_t next_random(void)
{
	static uint64_t state = 0x9e3779b97f4a7c15;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state * 0x2545f4914f6cdd1d;
}

static size_t n_edges(char kind)
{
	switch (kind) {
	case 'i': return COUNT(integers);
	case 'n': return COUNT(small);
	case 'f': return COUNT(singles);
	case 'd': return COUNT(doubles);
	case 'h': case 'H': return COUNT(halves);
	case 'b': case 'B': return COUNT(brains);
	case 'p': return 2;
	case 'T': case 'U': return 64;
	case 'x': case 'j': return 32;
	default: return 1;
	}
}

static uint64_t edge(char kind, uint64_t i)
{
	/* Without a division. */
	if (i >= n_edges(kind))
		i = ((i & 0xffffffff) * n_edges(kind)) >> 32;
	switch (kind) {
	case 'i': return integers[i];
	case 'n': return small[i];
	case 'f': return singles[i];
	case 'd': return doubles[i];
	case 'h': return halves[i];
	case 'b': return brains[i];
	case 'H': return halves[i] | (uint64_t)halves[next_random() % COUNT(halves)] << 16;
	case 'B': return brains[i] | (uint64_t)brains[next_random() % COUNT(brains)] << 16;
	case 'T': case 'U': return texture_value(kind, i);
	case 'x': return f32_bits((float)((int)i - 8) * 0.25f);
	case 'j': return i - 4;
	default: return i;
	}
}

/* Random values: edges; any bits; near 1; near another operand, or its negation. */
static uint64_t random_value(char kind, uint64_t other)
{
	const uint64_t bits = next_random();
	const int way = (int)(next_random() & 3);

	if (way == 0)
		return edge(kind, bits);
	switch (kind) {
	case 'i': return way == 1 ? bits : way == 2 ? (uint64_t)((int64_t)(bits << 8) >> (bits & 63)) :
		other + (bits & 7) - 3;
	case 'n': return bits & 127;
	case 'T': case 'U': return texture_value(kind, bits);
	case 'j': return bits % 13 - 3;
	case 'x':
		return f32_bits(way == 1 ? (float)(int64_t)bits * 0x1p-62f : way == 2 ?
				(float)(int64_t)bits * 0x1p-59f :
				(float)((int)(bits & 255) - 64) * 0.125f);
	case 'f':
		return way == 1 ? bits & 0xffffffff : way == 2 ?
			(bits & 0x807fffff) | (0x33800000 + ((bits >> 32) % 48 << 23)) :
		       ((other ^ (bits & 0x80000000)) + (bits & 7) - 3) & 0xffffffff;
	case 'd':
		return way == 1 ? bits : way == 2 ? (bits & 0x800fffffffffffff) |
		       (0x3c30000000000000 + ((bits >> 32) % 120 << 52)) :
			(other ^ (bits & 0x8000000000000000)) + (bits & 7) - 3;
	case 'h': case 'b': return way == 3 ? ((other ^ (bits & 0x8000)) + (bits & 3) - 1) & 0xffff : bits & 0xffff;
	default: return bits;
	}
}

/* Are all operands of 16 bits, and at least two? */
static bool are_pairs(const struct form *form, const struct value_register *registers, int n)
{
	int inputs = 0;

	for (int r = form->n_out; r < n; r++) {
		if (registers[r].bits != 16 && registers[r].bits != 1)
			return false;
		inputs += registers[r].bits == 16;
	}
	return inputs >= 2 && !form->uses_memory;
}

/* Pairs: each operand of 16 bits has all its values, each with all edge values of the next one. */
static uint64_t n_pairs(const struct form *form, const struct value_register *registers, int n)
{
	const int first = form->n_out;

	return are_pairs(form, registers, n) ? (uint64_t)(n - first) * 65536 * n_edges(registers[first].kind) : 0;
}

static void fill_pair(const struct form *form, const struct value_register *registers, int n, uint64_t index,
		      uint64_t *ret_values)
{
	const int first = form->n_out;
	const uint64_t each = 65536 * n_edges(registers[first].kind);
	const int whole = first + (int)(index / each);

	for (int r = first; r < n; r++) {
		const int after = r > whole ? r - whole : r - whole + n - first;

		ret_values[r] = r == whole ? index & 0xffff : edge(registers[r].kind, after == 1 ?
			index % each >> 16 : next_random());
		ret_values[r] &= ((uint64_t)1 << registers[r].bits) - 1;
	}
}

bool values_are_few(const struct form *form, const struct value_register *registers, int n)
{
	return n - form->n_out == 1 && registers[n - 1].bits == 16 && !form->uses_memory;
}

bool values_are_many(const struct form *form, const struct value_register *registers, int n)
{
	const bool is_number = registers[n - 1].kind == 'f' || registers[n - 1].kind == 'i';

	/* One operand of 32 bits, of a conversion or an approximation. */
	return n - form->n_out == 1 && registers[n - 1].bits == 32 && is_number && !form->uses_memory &&
	       (!strncmp(form->text, "cvt.", 4) || strstr(form->text, ".approx"));
}

uint64_t values_count(const struct form *form, const struct value_register *registers, int n, uint64_t wanted)
{
	const uint64_t pairs = n_pairs(form, registers, n);

	if (values_are_few(form, registers, n))
		return 65536;
	return wanted >= VALUES_FULL && pairs > wanted ? pairs : wanted;
}

void values_fill(const struct form *form, const struct value_register *registers, int n, uint64_t index,
		 bool with_pairs, uint64_t *ret_values)
{
	const int first = form->n_out;
	const uint64_t edges = first < n ? n_edges(registers[first].kind) : 1;
	const uint64_t more = first + 1 < n ? n_edges(registers[first + 1].kind) : 1;
	const bool few = values_are_few(form, registers, n);

	for (int r = 0; r < first; r++)
		ret_values[r] = next_random() & (UINT64_MAX >> (64 - registers[r].bits));
	if (with_pairs && index < n_pairs(form, registers, n)) {
		fill_pair(form, registers, n, index, ret_values);
		return;
	}
	for (int r = first; r < n; r++) {
		const char kind = registers[r].kind;

		if (few)
			ret_values[r] = index;
		else if (kind == '=')
			ret_values[r] = (uint64_t)form->extra;
		else if (index < edges * more && r <= first + 1)
			ret_values[r] = edge(kind, r == first ? index / more : index % more);
		else
			ret_values[r] = random_value(kind, r > first ? ret_values[r - 1] : next_random());
		ret_values[r] &= UINT64_MAX >> (64 - registers[r].bits);
	}
}

void values_fill_memory(const struct form *form, uint8_t *bytes, size_t size)
{
	const char kind = form->type && strchr("fdhbHB", form->type) ? form->type : 'i';
	const size_t step = kind == 'f' || kind == 'H' || kind == 'B' ? 4 : kind == 'h' || kind == 'b' ? 2 : 8;

	for (size_t i = 0; i < size; i += step) {
		const uint64_t value = random_value(kind, next_random());

		memcpy(bytes + i, &value, step);
	}
}

double values_number(char kind, uint64_t bits)
{
	switch (kind) {
	case 'A': case 'f': return (double)bits_f32(bits);
	case 'E': case 'd': return bits_f64(bits);
	case 'C': case 'P': case 'h': case 'H': return half_value('h', bits & 0xffff);
	default: return half_value('b', bits & 0xffff);
	}
}

/* The exponents of formats: binary digits, the least normal exponent, the greatest number. */
static const struct format { const char *kinds; int digits, least; double most; } formats[] = {
	{ "A", 24, -125, FLT_MAX }, { "E", 53, -1021, DBL_MAX }, { "CP", 11, -13, 65504 },
	{ "DQ", 8, -125, 0x1.fep127 },
};

static double ulp_of(const struct format *format, double exact)
{
	int exponent;

	frexp(exact, &exponent);
	return ldexp(1, (exponent < format->least || exact == 0 ? format->least : exponent) - format->digits);
}

static bool keeps(struct bound *bound, const struct format *format, double x, double exact)
{
	const double absolute = fabs(x - exact);
	double error = absolute;

	if (bound->kind == 'l')
		return fabs(x) <= exp2(bound->limit);
	if (bound->kind == 'u')
		error /= ulp_of(format, exact);
	else if (bound->kind == 'r' && exact != 0)
		error /= fabs(exact);
	if (absolute <= bound->floor)
		return true;
	if (error > bound->worst)
		bound->worst = error;
	return error <= (bound->kind == 'u' ? bound->limit : exp2(bound->limit));
}

static bool is_close(struct form *form, char kind, double x, double exact, const double *operands)
{
	const struct format *format = formats;
	bool is = true;

	while (!strchr(format->kinds, kind))
		format++;
	if (isnan(exact))
		return isnan(x);
	if (isinf(x) && fabs(exact) >= format->most * (1 - 0x1p-20))
		return signbit(x) == signbit(exact);
	if (isnan(x) || isinf(x) || isinf(exact))
		return false;
	if (x == 0 && exact == 0)
		return signbit(x) == signbit(exact);
	/* A result that .ftz flushes, or that another rounding would have flushed. */
	if (form->ftz) {
		if (x != 0 && fabs(x) < ldexp(1, format->least - 1))
			return false;
		if (fabs(x - exact) <= ldexp(1.001, format->least - 1) && (x == 0 || exact == 0))
			return true;
	}
	for (int i = 0; i < form->n_bounds; i++) {
		struct bound *bound = &form->bounds[i];
		const double size = fabs(operands[bound->operand]);

		if (!bound->most || (size >= bound->least && size <= bound->most))
			is &= keeps(bound, format, x, exact);
	}
	return is;
}

bool values_are_usual(const struct form *form, float x, double exact, double operand)
{
	const uint64_t exponent = f64_bits(exact) >> 52 & 0x7ff;
	const double error = fabs((double)x - exact), size = fabs(operand);

	/* Small results, and infinities, are looked at one by one. */
	if (exponent < 1023 - 120 || exponent > 1023 + 120)
		return isnan(exact) && isnan(x);
	for (int i = 0; i < form->n_bounds; i++) {
		const struct bound *bound = &form->bounds[i];
		/* The exponent's ulp, as the error's unit. */
		const double unit = bound->kind == 'u' ? bits_f64((exponent - 23) << 52) :
				    bound->kind == 'r' ? fabs(exact) : 1;

		if (bound->kind == 'l' ? fabsf(x) > 1 : error > bound->worst * unit &&
		    (!bound->most || (size >= bound->least && size <= bound->most)))
			return false;
	}
	return true;
}

static bool are_same(char kind, uint64_t a, uint64_t b)
{
	switch (kind) {
	case 'f': return a == b || (isnan(bits_f32(a)) && isnan(bits_f32(b)));
	case 'd': return a == b || (isnan(bits_f64(a)) && isnan(bits_f64(b)));
	case 'h': return a == b || ((a & 0x7fff) > 0x7c00 && (b & 0x7fff) > 0x7c00);
	case 'b': return a == b || ((a & 0x7fff) > 0x7f80 && (b & 0x7fff) > 0x7f80);
	case 'H': return are_same('h', a & 0xffff, b & 0xffff) && are_same('h', a >> 16, b >> 16);
	case 'B': return are_same('b', a & 0xffff, b & 0xffff) && are_same('b', a >> 16, b >> 16);
	default: return a == b;
	}
}

bool values_agree(struct form *form, const struct value_register *registers, int r, uint64_t result, const uint64_t *v,
		  const uint64_t *inputs)
{
	const struct value_register *reg = &registers[r];
	const uint64_t mask = UINT64_MAX >> (64 - reg->bits);
	double operands[2] = { 0 };

	if (!strchr("AECDPQ", reg->kind))
		return are_same(reg->kind, result & mask, v[r] & mask);
	for (int i = 0; i < 2; i++)
		operands[i] = values_number(registers[form->n_out + i].kind, inputs[form->n_out + i]);
	return is_close(form, reg->kind, values_number(reg->kind, result), bits_f64(v[r]), operands) &&
	       (!strchr("PQ", reg->kind) ||
		is_close(form, reg->kind, values_number(reg->kind, result >> 16), bits_f64(v[HIGH]), operands));
}

bool values_memory_agrees(const struct form *form, const uint8_t *a, const uint8_t *b, size_t size)
{
	const char kind = form->type && strchr("fdhbHB", form->type) ? form->type : 'i';
	const size_t step = kind == 'f' || kind == 'H' || kind == 'B' ? 4 : kind == 'h' || kind == 'b' ? 2 : 8;

	for (size_t i = 0; i < size; i += step) {
		uint64_t x = 0, y = 0;

		memcpy(&x, a + i, step);
		memcpy(&y, b + i, step);
		if (!are_same(kind, x, y))
			return false;
	}
	return true;
}
