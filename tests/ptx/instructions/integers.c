/* SPDX-License-Identifier: MIT */
/* integers.c - integer arithmetic, by integers of 128 bits. */
#include "forms.h"

typedef __int128 wide;
typedef unsigned __int128 uwide;

enum { ADD, SUB, MUL_LO, MUL_HI, MUL_WIDE, MAD_LO, MAD_HI, MAD_WIDE, SAD, DIV, REM, MIN, MAX, ABS, NEG, MUL24_LO,
	MUL24_HI,
       MAD24_LO, MAD24_HI };

static wide value(uint64_t bits, unsigned n, bool is_signed)
{
	const wide x = (wide)(n == 64 ? bits : bits & (((uint64_t)1 << n) - 1));

	return is_signed && x >> (n - 1) ? x - ((wide)1 << n) : x;
}

static wide clamp(wide x, wide least, wide most)
{
	return x < least ? least : x > most ? most : x;
}

static wide low24(wide x, bool is_signed)
{
	return value((uint64_t)x & 0xffffff, 24, is_signed);
}

static void arithmetic(const struct form *form, uint64_t *v)
{
	const unsigned n = form->bits;
	const wide a = value(v[1], n, form->is_signed), b = value(v[2], n, form->is_signed);
	const wide c = value(v[3], form->operation == MAD_WIDE ? 2 * n : n, form->is_signed);
	const wide x24 = low24(a, form->is_signed), y24 = low24(b, form->is_signed);
	const uwide product = (uwide)a * (uwide)b;
	wide result = 0;

	switch (form->operation) {
	case ADD: result = a + b; break;
	case SUB: result = a - b; break;
	case MUL_LO: case MUL_WIDE: result = (wide)product; break;
	case MUL_HI: result = (wide)(product >> n); break;
	case MAD_LO: case MAD_WIDE: result = (wide)(product + (uwide)c); break;
	case MAD_HI:
		result = value((uint64_t)(product >> n), n, form->is_signed) + c;
		break;
	case SAD: result = c + (a < b ? b - a : a - b); break;
	case DIV: case REM:
		if (!b) {
			any_result = true;
			break;
		}
		result = form->operation == DIV ? a / b : a % b;
		break;
	case MIN: result = a < b ? a : b; break;
	case MAX: result = a > b ? a : b; break;
	case ABS: result = a < 0 ? -a : a; break;
	case NEG: result = -a; break;
	case MUL24_LO: result = x24 * y24; break;
	case MUL24_HI: result = (x24 * y24) >> 16; break;
	case MAD24_LO: result = x24 * y24 + c; break;
	case MAD24_HI: result = value((uint64_t)((x24 * y24) >> 16), 32, form->is_signed) + c; break;
	}
	if (form->sat)
		result = clamp(result, -((wide)1 << (n - 1)), ((wide)1 << (n - 1)) - 1);
	v[0] = (uint64_t)result;
}

static void set(struct form *form, int operation, unsigned bits, bool is_signed)
{
	form->operation = operation;
	form->bits = bits;
	form->is_signed = is_signed;
}

static void add_typed(unsigned bits, char sign)
{
	static const struct { const char *name; int operation, n; bool only_signed; } list[] = {
		{ "add", ADD, 2, false }, { "sub", SUB, 2, false }, { "mul.lo", MUL_LO, 2, false },
		{ "mul.hi", MUL_HI, 2, false }, { "mad.lo", MAD_LO, 3, false }, { "mad.hi", MAD_HI, 3, false },
		{ "sad", SAD, 3, false }, { "div", DIV, 2, false }, { "rem", REM, 2, false }, { "min", MIN, 2, false },
		{ "max", MAX, 2, false }, { "abs", ABS, 1, true }, { "neg", NEG, 1, true },
	};
	char registers[96];

	snprintf(registers, sizeof(registers), "d:b%u:i a:%c%u:i b:b%u:i c:b%u:i", bits, sign, bits, bits, bits);
	for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++) {
		if (list[i].only_signed && sign != 's')
			continue;
		set(add_form(arithmetic, registers, "%s.%c%u %%d, %%a%s%s;", list[i].name, sign, bits,
			     list[i].n > 1 ? ", %b" : "", list[i].n > 2 ? ", %c" : ""),
		    list[i].operation, bits, sign == 's');
	}
	if (bits == 64)
		return;
	snprintf(registers, sizeof(registers), "d:b%u:i a:b%u:i b:b%u:i c:b%u:i", 2 * bits, bits, bits, 2 * bits);
	set(add_form(arithmetic, registers, "mul.wide.%c%u %%d, %%a, %%b;", sign, bits), MUL_WIDE, bits, sign == 's');
	set(add_form(arithmetic, registers, "mad.wide.%c%u %%d, %%a, %%b, %%c;", sign, bits), MAD_WIDE, bits,
	    sign == 's');
}

/* Constants of all kinds in place of registers. */
static void constants(const struct form *form, uint64_t *v)
{
	uint64_t w[4] = { 0, v[1], (uint64_t)(int64_t)form->extra, 0 };

	arithmetic(form, w);
	v[0] = w[0];
}

static void add_constants(void)
{
	static const int list[] = { 0, 1, -1, 127, -128, 32767, -32768, 65535, 4097, INT32_MAX, INT32_MIN };

	for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++) {
		struct form *form = add_form(constants, "d:b32:i a:b32:i", "sub.s32 %%d, %%a, %d;", list[i]);

		set(form, SUB, 32, true);
		form->extra = list[i];
		form = add_form(constants, "d:b32:i a:b32:i", "min.s32 %%d, %%a, %d;", list[i]);
		set(form, MIN, 32, true);
		form->extra = list[i];
		form = add_form(constants, "d:b64:i a:b64:i", "max.s64 %%d, %%a, %d;", list[i]);
		set(form, MAX, 64, true);
		form->extra = list[i];
		form = add_form(constants, "d:b16:i a:b16:i", "max.s16 %%d, %%a, %d;", list[i]);
		set(form, MAX, 16, true);
		form->extra = list[i];
		form = add_form(constants, "d:b64:i a:b64:i", "mul.lo.s64 %%d, %%a, %d;", list[i]);
		set(form, MUL_LO, 64, true);
		form->extra = list[i];
		form = add_form(constants, "d:b32:i a:b32:i", "max.u32 %%d, %%a, %u;", (unsigned)list[i]);
		set(form, MAX, 32, false);
		form->extra = list[i];
	}
}

/* Three instructions. The last two take the carry of the one before. The operation: '+', '-', or l and h for mad. */
static void carry(const struct form *form, uint64_t *v)
{
	const unsigned n = form->bits;
	const uwide a = (uwide)value(v[3], n, false), b = (uwide)value(v[4], n, false),
		c = (uwide)value(v[5], n, false);
	const uwide e = (uwide)value(v[6], n, false);
	uwide product, results[3];

	switch (form->operation) {
	case '+':			/* add.cc d, a, b; addc.cc q, c, e; addc r, a, c */
		results[0] = a + b;
		results[1] = c + e + (results[0] >> n & 1);
		results[2] = a + c + (results[1] >> n & 1);
		break;
	case '-':
		results[0] = a - b;
		results[1] = c - e - (a < b);
		results[2] = a - c - (c < e + (a < b));
		break;
	default:			/* mad.x.cc d, a, b, c; madc.x.cc q, a, b, e; madc.x r, a, b,
		c: x is lo or hi */
		product = form->operation == 'l' ? (uwide)(uint64_t)(a * b) :
			  form->is_signed ? (uwide)((value(v[3], n, true) * value(v[4], n, true)) >> n) : (a * b) >> n;
		product &= n == 64 ? (uwide)UINT64_MAX : ((uwide)1 << n) - 1;
		results[0] = product + c;
		results[1] = product + e + (results[0] >> n & 1);
		results[2] = product + c + (results[1] >> n & 1);
		break;
	}
	for (int i = 0; i < 3; i++)
		v[i] = (uint64_t)results[i];
}

static void add_carries(void)
{
	for (int i = 0; i < 4; i++) {
		const char sign = "us"[i & 1];
		const unsigned bits = i & 2 ? 64 : 32;
		char registers[96];

		snprintf(registers, sizeof(registers), "d:b%u:i q:b%u:i r:b%u:i a:b%u:i b:b%u:i c:b%u:i e:b%u:i", bits,
			 bits,
			 bits, bits, bits, bits, bits);
		set(add_form(carry, registers,
			     "add.cc.%c%u %%d, %%a, %%b; addc.cc.%c%u %%q, %%c, %%e; addc.%c%u %%r, %%a, %%c;",
			     sign, bits, sign, bits, sign, bits), '+', bits, i & 1);
		set(add_form(carry, registers,
			     "sub.cc.%c%u %%d, %%a, %%b; subc.cc.%c%u %%q, %%c, %%e; subc.%c%u %%r, %%a, %%c;",
			     sign, bits, sign, bits, sign, bits), '-', bits, i & 1);
		for (int j = 0; j < 2; j++) {
			const char *half = j ? "hi" : "lo";

			set(add_form(carry, registers,
				     "mad.%s.cc.%c%u %%d, %%a, %%b, %%c; madc.%s.cc.%c%u %%q, %%a, %%b, %%e; "
				     "madc.%s.%c%u %%r, %%a, %%b, %%c;", half, sign, bits, half, sign, bits, half,
					sign, bits),
			    j ? 'h' : 'l', bits, i & 1);
		}
	}
}

static void add_24(void)
{
	static const struct { const char *name; int operation, n; bool sat; } list[] = {
		{ "mul24.lo.u32", MUL24_LO, 2, false }, { "mul24.hi.u32", MUL24_HI, 2, false },
		{ "mul24.lo.s32", MUL24_LO, 2, false }, { "mul24.hi.s32", MUL24_HI, 2, false },
		{ "mad24.lo.u32", MAD24_LO, 3, false }, { "mad24.hi.u32", MAD24_HI, 3, false },
		{ "mad24.lo.s32", MAD24_LO, 3, false }, { "mad24.hi.s32", MAD24_HI, 3, false },
		{ "mad24.hi.sat.s32", MAD24_HI, 3, true }, { "mad.hi.sat.s32", MAD_HI, 3, true },
		{ "add.sat.s32", ADD, 2, true }, { "sub.sat.s32", SUB, 2, true },
	};

	for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++) {
		struct form *form = add_form(arithmetic, "d:b32:i a:b32:i b:b32:i c:b32:i", "%s %%d, %%a, %%b%s;",
					     list[i].name, list[i].n > 2 ? ", %c" : "");

		set(form, list[i].operation, 32, strchr(list[i].name, 's') && strstr(list[i].name, "s32"));
		form->sat = list[i].sat;
	}
}

static void dot(const struct form *form, uint64_t *v)
{
	wide sum = (wide)v[3];

	for (unsigned i = 0; i < (form->operation == 4 ? 4 : 2); i++) {
		const wide a = form->operation == 4 ? value(v[1] >> 8 * i & 255, 8, form->is_signed) :
			       value(v[1] >> 16 * i & 65535, 16, form->is_signed);
		const unsigned j = form->operation == 4 ? i : i + (form->flag ? 2 : 0);

		sum += a * value(v[2] >> 8 * j & 255, 8, form->to_signed);
	}
	v[0] = (uint64_t)sum;
}

static void add_dots(void)
{
	for (int i = 0; i < 12; i++) {
		const int kind = i / 4;
		const char *name = kind == 0 ? "dp4a" : kind == 1 ? "dp2a.lo" : "dp2a.hi";
		struct form *form = add_form(dot, "d:b32:i a:b32:i b:b32:i c:b32:i",
					     "%s.%c32.%c32 %%d, %%a, %%b, %%c;", name,
					     "us"[i & 1], "us"[i >> 1 & 1]);

		form->operation = kind ? 2 : 4;
		form->flag = kind == 2;
		form->is_signed = i & 1;
		form->to_signed = i >> 1 & 1;
	}
}

void add_integers(void)
{
	static const unsigned sizes[] = { 16, 32, 64 };

	for (int i = 0; i < 3; i++) {
		add_typed(sizes[i], 'u');
		add_typed(sizes[i], 's');
	}
	add_constants();
	add_carries();
	add_24();
	add_dots();
}
