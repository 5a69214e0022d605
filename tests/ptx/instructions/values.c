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

static int first_input(const struct form *form)
{
	return form->n_out;
}

/* All f32 of a conversion or an approximation take minutes each. */
static bool is_exhaustive(void)
{
	static int is = -1;

	if (is < 0)
		is = getenv("TEST_EXHAUSTIVE") != NULL;
	return is;
}

uint64_t values_all(const struct form *form, const struct value_register *registers, int n)
{
	const int first = first_input(form);

	if (first >= n || form->uses_memory)
		return 0;
	/* One operand of 16 bits; with TEST_EXHAUSTIVE, one of 32 bits of a conversion or an approximation, too. */
	if (n - first == 1 && registers[first].bits == 16)
		return 65536;
	if (is_exhaustive() && registers[first].bits == 32 && n - first == 1 &&
	    (!strncmp(form->text, "cvt", 3) || strstr(form->text, ".approx")))
		return (uint64_t)1 << 32;
	return 0;
}

void values_fill(const struct form *form, const struct value_register *registers, int n, uint64_t index,
		 uint64_t *ret_values)
{
	const int first = first_input(form);
	const uint64_t edges = first < n ? n_edges(registers[first].kind) : 1;
	const uint64_t more = first + 1 < n ? n_edges(registers[first + 1].kind) : 1;
	const bool all = values_all(form, registers, n) != 0;

	for (int r = 0; r < n; r++) {
		const char kind = registers[r].kind;

		if (r < first)
			ret_values[r] = next_random();
		else if (all)
			ret_values[r] = index;
		else if (kind == '=')
			ret_values[r] = (uint64_t)form->extra;
		else if (index < edges * more && r <= first + 1)
			ret_values[r] = edge(kind, r == first ? index / more : index % more);
		else
			ret_values[r] = random_value(kind, r > first ? ret_values[r - 1] : next_random());
		if (registers[r].bits < 64)
			ret_values[r] &= ((uint64_t)1 << registers[r].bits) - 1;
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
	return kind == 'A' ? (double)bits_f32(bits) : kind == 'E' ? bits_f64(bits) :
	       half_value(kind == 'C' ? 'h' : 'b', bits & 0xffff);
}

bool values_are_in_bound(const struct form *form, uint64_t first)
{
	const double size = form->type == 0 ? fabs((double)bits_f32(first)) : 0;

	return !form->bound.most || (size >= form->bound.least && size <= form->bound.most);
}

static bool is_close(struct form *form, char kind, double x, double exact)
{
	static const struct { char kind; int digits, least; double most; } formats[] = {
		{ 'A', 24, -125, FLT_MAX }, { 'E', 53, -1021, DBL_MAX }, { 'C', 11, -13, 65504 },
			{ 'D', 8, -125, 0x1.fep127 },
	};
	const size_t i = (size_t)(strchr("AECD", kind) - "AECD");
	const struct bound *bound = &form->bound;
	int exponent;
	double ulp, error;

	if (isnan(exact))
		return isnan(x);
	if (isinf(x) && fabs(exact) >= formats[i].most * (1 - 0x1p-20))
		return signbit(x) == signbit(exact);
	if (isnan(x) || isinf(x) || isinf(exact))
		return false;
	frexp(exact, &exponent);
	ulp = ldexp(1, (exponent < formats[i].least || exact == 0 ? formats[i].least : exponent) - formats[i].digits);
	error = fabs(x - exact);
	/* A result that .ftz flushes, or that another rounding would have flushed. */
	if (form->ftz) {
		if (x != 0 && fabs(x) < ldexp(1, formats[i].least - 1))
			return false;
		if (error <= ldexp(1.001, formats[i].least - 1) && (x == 0 || exact == 0))
			return true;
	}
	if (error / ulp > form->worst)
		form->worst = error / ulp;
	return error == 0 || error <= bound->absolute || error <= bound->relative * fabs(exact) ||
		error <= bound->ulp * ulp ||
	       (fabs(exact) < ldexp(1, formats[i].least) && error <= ulp);
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

bool values_agree(struct form *form, const struct value_register *reg, uint64_t result, uint64_t expected)
{
	const uint64_t mask = reg->bits == 64 ? ~0ull : ((uint64_t)1 << reg->bits) - 1;

	if (strchr("AECD", reg->kind))
		return is_close(form, reg->kind, values_number(reg->kind, result), bits_f64(expected));
	return are_same(reg->kind, result & mask, expected & mask);
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
