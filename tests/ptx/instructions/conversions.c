/* SPDX-License-Identifier: MIT */
/* conversions.c - cvt, by integers of 128 bits and the rounding modes of the processor; mov, cvta, isspacep. */
#include "forms.h"

typedef __int128 wide;

static const struct type { const char *name; char kind; unsigned bits; bool is_signed; const char *reg; } types[] = {
	{ "u8", 'i', 8, false, "b16" }, { "s8", 'i', 8, true, "b16" }, { "u16", 'i', 16, false, "b16" },
	{ "s16", 'i', 16, true, "b16" }, { "u32", 'i', 32, false, "b32" }, { "s32", 'i', 32, true, "b32" },
	{ "u64", 'i', 64, false, "b64" }, { "s64", 'i', 64, true, "b64" }, { "f16", 'h', 16, false, "b16" },
	{ "bf16", 'b', 16, false, "b16" }, { "f32", 'f', 32, false, "f32" }, { "f64", 'd', 64, false, "f64" },
};

static const struct { const char *name; int mode; } roundings[] = {
	{ "rn", FE_TONEAREST }, { "rz", FE_TOWARDZERO }, { "rm", FE_DOWNWARD }, { "rp", FE_UPWARD },
};

static wide integer(uint64_t bits, unsigned n, bool is_signed)
{
	const wide x = (wide)(n == 64 ? bits : bits & (((uint64_t)1 << n) - 1));

	return is_signed && x >> (n - 1) ? x - ((wide)1 << n) : x;
}

static wide clamp(wide x, unsigned n, bool is_signed)
{
	const wide most = ((wide)1 << (is_signed ? n - 1 : n)) - 1, least = is_signed ? -most - 1 : 0;

	return x < least ? least : x > most ? most : x;
}

/* A register that is wider than the integer gets its sign. */
static void to_integer(const struct form *form, uint64_t *v)
{
	wide x = integer(v[1], form->bits, form->is_signed);

	if (form->sat)
		x = clamp(x, form->to_bits, form->to_signed);
	v[0] = (uint64_t)integer((uint64_t)x, form->to_bits, form->to_signed);
}

static double number(const struct form *form, uint64_t bits)
{
	if (form->ftz && form->type == 'f')
		bits = flush('f', bits);
	return form->type == 'f' ? (double)bits_f32(bits) : form->type == 'd' ? bits_f64(bits) :
		half_value(form->type, bits);
}

/* What is exact: an integer of 32 bits and less, or an f32, as f64. */
static void widen(const struct form *form, uint64_t *v)
{
	const uint32_t bits = (uint32_t)v[1] << (32 - form->bits) >> (32 - form->bits);
	double x = form->is_signed ? (double)((int32_t)(bits << (32 - form->bits)) >> (32 - form->bits)) : (double)bits;

	if (form->type == 'f')
		x = (double)bits_f32(form->ftz && !(bits & 0x7f800000) ? bits & 0x80000000 : bits);
	v[0] = form->sat ? f64_bits(x > 0 ? x < 1 ? x : 1 : 0) : f64_bits(x);
}

/* A number rounded to an integer, limited. The operation: FE_TONEAREST and so on. */
static void number_to_integer(const struct form *form, uint64_t *v)
{
	const double x = number(form, v[1] & (form->bits == 16 ? 0xffff : ~0ull)), size = fabs(x);
	wide result, twice;

	if (isnan(x)) {
		/* Section 9.7.9.21 of the manual. */
		v[0] = form->type == 'd' || form->to_bits == 64 ? (uint64_t)integer((uint64_t)1 << (form->to_bits - 1),
										    form->to_bits, form->to_signed) : 0;
		return;
	}
	if (size >= 0x1p100) {
		result = (wide)1 << 100;
	} else {
		/* Twice the number without its fraction, and whether there was one. */
		twice = (wide)(size * 2);
		result = twice / 2;
		if (form->operation == FE_TONEAREST)
			result += twice & 1 && ((double)twice < size * 2 || result & 1);
		else if (form->operation == (x < 0 ? FE_DOWNWARD : FE_UPWARD))
			result += (double)result < size;
	}
	if (x < 0)
		result = -result;
	v[0] = (uint64_t)integer((uint64_t)clamp(result, form->to_bits, form->to_signed), form->to_bits,
				 form->to_signed);
}

/* To a number, from a number or an integer, rounded by the current mode. */
static void to_number(const struct form *form, uint64_t *v)
{
	const uint64_t bits = v[1] & (form->bits == 64 ? ~0ull : ((uint64_t)1 << form->bits) - 1);
	const wide whole = integer(bits, form->bits, form->is_signed);
	const volatile int64_t s = (int64_t)whole;
	const volatile uint64_t u = (uint64_t)whole;
	volatile double x = form->type == 'i' ? form->is_signed ? (double)s : (double)u : number(form, bits);
	volatile float single;

	switch (form->to_type) {
	case 'd':
		v[0] = f64_bits(x);
		break;
	case 'f':
		if (form->type == 'i')
			single = form->is_signed ? (float)s : (float)u;
		else
			single = (float)x;
		v[0] = f32_bits(single);
		if (form->ftz)
			v[0] = flush('f', v[0]);
		break;
	default:
		/* Integers that a double does not hold are far above all f16. */
		v[0] = half_round(form->to_type, x, 0, form->mode);
	}
	if (form->flag)
		v[0] = (v[0] & 0x7fff) > (form->to_type == 'h' ? 0x7c00 : 0x7f80) ? 0x7fff : v[0] & 0x8000 ? 0 : v[0];
	if (form->sat)
		v[0] = saturate(form->to_type, v[0]);
}

/* The number as an integer that is a number. */
static void to_whole(const struct form *form, uint64_t *v)
{
	const double x = number(form, v[1] & (form->bits == 16 ? 0xffff : ~0ull));
	const double down = floor(x), up = ceil(x), nearest = x - down < up - x ? down : x - down > up - x ? up :
			    fmod(down, 2) == 0 ? down : up;
	double result = form->operation == FE_TONEAREST ? nearest : form->operation == FE_DOWNWARD ? down :
			form->operation == FE_UPWARD ? up : signbit(x) ? up : down;

	if (isnan(x) || isinf(x))
		result = x;
	if (result == 0)
		result = copysign(0, x);
	v[0] = form->to_type == 'f' ? f32_bits((float)result) : form->to_type == 'd' ? f64_bits(result) :
	       half_round(form->to_type, result, 0, FE_TONEAREST);
	if (form->sat)
		v[0] = saturate(form->to_type, v[0]);
}

static struct form *add(model model, const struct type *to, const struct type *from, const char *modifiers)
{
	char registers[96];
	struct form *form;
	/* Integers may be in registers that are wider. */
	static int turn;
	const bool wider = turn++ % 3 == 0 && to->kind == 'i' && to->bits < 64;

	snprintf(registers, sizeof(registers), "d:%s:%c a:%s:%c", wider ? "b64" : to->reg, to->kind, from->reg,
		 from->kind);
	form = add_form(model, registers, "cvt%s.%s.%s %%d, %%a;", modifiers, to->name, from->name);
	form->type = from->kind;
	form->bits = from->bits;
	form->is_signed = from->is_signed;
	form->to_type = to->kind;
	form->to_bits = to->bits;
	form->to_signed = to->is_signed;
	form->ftz = strstr(modifiers, ".ftz") != NULL;
	form->sat = strstr(modifiers, ".sat") != NULL;
	form->flag = strstr(modifiers, ".relu") != NULL;
	/* From a number to an integer, .sat changes nothing. */
	if (model == number_to_integer)
		form->sat = false;
	if (model == to_number && to->kind == 'd' && from->bits <= 32 && (from->kind == 'i' || from->kind == 'f'))
		form->model = widen;
	form->monotone = model != to_integer || form->sat;
	return form;
}

static void add_pair(const struct type *to, const struct type *from)
{
	const bool has_sat = to->kind == 'i' || to->kind != 'b', has_ftz = to->kind == 'f' || from->kind == 'f';
	char modifiers[48];

	for (int i = 0; i < 4 * 4; i++) {
		const char *name = roundings[i / 4].name, *sat = i & 1 ? ".sat" : "", *ftz = i & 2 ? ".ftz" : "";
		const int mode = roundings[i / 4].mode;
		const bool narrows = from->kind == 'i' || from->bits > to->bits ||
			(to->bits == 16 && to->kind != from->kind);

		if ((i & 1 && !has_sat) || (i & 2 && !has_ftz))
			continue;
		if (from->kind == 'i' && to->kind == 'i') {
			if (i < 2)
				add(to_integer, to, from, sat);
		} else if (to->kind == 'i') {
			snprintf(modifiers, sizeof(modifiers), ".%si%s%s", name, ftz, sat);
			add(number_to_integer, to, from, modifiers)->operation = mode;
		} else if (from->kind == to->kind) {
			snprintf(modifiers, sizeof(modifiers), ".%si%s%s", name, ftz, sat);
			add(to_whole, to, from, modifiers)->operation = mode;
			if (i >= 4)
				continue;
			snprintf(modifiers, sizeof(modifiers), "%s%s", ftz, sat);
			add(to_number, to, from, modifiers);
		} else if (narrows && !(to->kind == 'b' && from->kind == 'i')) {
			snprintf(modifiers, sizeof(modifiers), ".%s%s%s", name, ftz, sat);
			add(to_number, to, from, modifiers)->mode = mode;
			if (to->bits == 16 && from->kind == 'f' && !(i & 3) && i < 8) {
				snprintf(modifiers, sizeof(modifiers), ".%s.relu", name);
				add(to_number, to, from, modifiers)->mode = mode;
			}
		} else if (!narrows && i < 4) {
			snprintf(modifiers, sizeof(modifiers), "%s%s", ftz, sat);
			add(to_number, to, from, modifiers);
		}
	}
}

/* Two numbers of f32 into one register, the first one above. */
static void two(const struct form *form, uint64_t *v)
{
	struct form part = *form;
	uint64_t a[2] = { 0, v[1] }, b[2] = { 0, v[2] };

	to_number(&part, a);
	to_number(&part, b);
	v[0] = a[0] << 16 | b[0];
}

static void tf32(const struct form *form, uint64_t *v)
{
	const double x = (double)bits_f32(v[1]);
	int exponent;
	double fraction;

	(void)form;
	if (isnan(x) || isinf(x) || x == 0) {
		v[0] = isnan(x) ? 0x7fffffff : v[1];
		return;
	}
	fraction = frexp(fabs(x), &exponent);
	if (exponent < -125)
		exponent = -125;
	fraction = ldexp(fabs(x), 11 - exponent);
	v[0] = f32_bits((float)copysign(ldexp(floor(fraction + 0.5), exponent - 11), x));
}

static void pack(const struct form *form, uint64_t *v)
{
	const uint64_t low = ((uint64_t)1 << form->to_bits) - 1;
	const uint64_t a = (uint64_t)clamp(integer(v[1], 32, true), form->to_bits, form->to_signed) & low;
	const uint64_t b = (uint64_t)clamp(integer(v[2], 32, true), form->to_bits, form->to_signed) & low;

	v[0] = (form->to_bits == 8 ? v[3] << 16 : 0) | a << form->to_bits | b;
}

static void add_packs(void)
{
	for (int i = 0; i < 8; i++) {
		const char kind = i & 1 ? 'b' : 'h';
		struct form *form = add_form(two, i & 1 ? "d:b32:B a:f32:f b:f32:f" : "d:b32:H a:f32:f b:f32:f",
					     "cvt.%s%s.%sx2.f32 %%d, %%a, %%b;", i & 2 ? "rz" : "rn", i & 4 ? ".relu" :
						"",
					     i & 1 ? "bf16" : "f16");

		form->type = 'f';
		form->bits = 32;
		form->to_type = kind;
		form->to_bits = 16;
		form->flag = i & 4;
		form->mode = i & 2 ? FE_TOWARDZERO : FE_TONEAREST;
	}
	add_form(tf32, "d:b32:f a:f32:f", "cvt.rna.tf32.f32 %%d, %%a;")->monotone = true;
	for (int i = 0; i < 4; i++) {
		struct form *form = i < 2 ? add_form(pack, "d:b32:i a:b32:i b:b32:i",
						     "cvt.pack.sat.%c16.s32 %%d, %%a, %%b;",
						     "us"[i]) :
				    add_form(pack, "d:b32:i a:b32:i b:b32:i c:b32:i",
					     "cvt.pack.sat.%c8.s32.b32 %%d, %%a, %%b, %%c;", "us"[i & 1]);

		form->to_bits = i < 2 ? 16 : 8;
		form->to_signed = i & 1;
	}
}

static void move(const struct form *form, uint64_t *v)
{
	(void)form;
	v[0] = v[1];
}

/* Elements to one register, and back. bits: those of an element; extra: the number of them. */
static void join(const struct form *form, uint64_t *v)
{
	v[0] = 0;
	for (int i = 0; i < form->extra; i++)
		v[0] |= (form->bits == 64 ? v[1 + i] :
			 v[1 + i] & (((uint64_t)1 << form->bits) - 1)) << form->bits * (unsigned)i;
}

static void split(const struct form *form, uint64_t *v)
{
	const uint64_t x = v[form->extra];

	for (int i = 0; i < form->extra; i++)
		v[i] = x >> form->bits * (unsigned)i;
}

/* Generic addresses of shared memory. The operation: '+' to them, '-' from them, '=' the others. */
static void space(const struct form *form, uint64_t *v)
{
	v[0] = form->operation == '+' ? v[1] + shared_base : form->operation == '-' ? v[1] - shared_base : v[1];
}

static void is_space(const struct form *form, uint64_t *v)
{
	v[0] = (v[1] >= shared_base && v[1] < shared_base + ROW) == (form->operation == 's');
}

static void add_moves(void)
{
	static const struct { const char *type, *reg; char kind; } list[] = {
		{ "pred", "pred", 'p' }, { "b16", "b16", 'i' }, { "u16", "b16", 'i' }, { "s16", "b16", 'i' },
		{ "b32", "b32", 'i' }, { "u32", "b32", 'i' }, { "s32", "b32", 'i' }, { "b64", "b64", 'i' },
		{ "u64", "b64", 'i' }, { "s64", "b64", 'i' }, { "f32", "f32", 'f' }, { "f64", "f64", 'd' },
		{ "f16", "b16", 'i' }, { "bf16", "b16", 'i' }, { "f16x2", "b32", 'i' }, { "bf16x2", "b32", 'i' },
	};
	static const struct { const char *text, *registers; unsigned bits; int n; } vectors[] = {
		{ "mov.b32 %d, {%a, %b};", "d:b32:i a:b16:i b:b16:i", 16, 2 },
		{ "mov.b64 %d, {%a, %b};", "d:b64:i a:b32:i b:b32:i", 32, 2 },
		{ "mov.b64 %d, {%a, %b};", "d:f64:i a:f32:i b:f32:i", 32, 2 },
		{ "mov.b64 %d, {%a, %b, %c, %e};", "d:b64:i a:b16:i b:b16:i c:b16:i e:b16:i", 16, 4 },
		{ "mov.b32 {%d, %q}, %a;", "d:b16:i q:b16:i a:b32:i", 16, 2 },
		{ "mov.b64 {%d, %q}, %a;", "d:b32:i q:b32:i a:b64:i", 32, 2 },
		{ "mov.b64 {%d, %q}, %a;", "d:f32:i q:b32:i a:f64:i", 32, 2 },
		{ "mov.b64 {%d, %q, %r, %w}, %a;", "d:b16:i q:b16:i r:b16:i w:b16:i a:b64:i", 16, 4 },
	};
	static const char *const spaces[] = { "global", "local", "const", "param", "shared" };

	for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++) {
		char registers[64];

		snprintf(registers, sizeof(registers), "d:%s:%c a:%s:%c", list[i].reg, list[i].kind, list[i].reg,
			 list[i].kind);
		add_form(move, registers, "mov.%s %%d, %%a;", list[i].type);
	}
	add_form(move, "d:b32:i a:f32:i", "mov.b32 %%d, %%a;");
	add_form(move, "d:f32:i a:b32:i", "mov.b32 %%d, %%a;");
	add_form(move, "d:b64:i a:f64:i", "mov.b64 %%d, %%a;");
	add_form(move, "d:f64:i a:b64:i", "mov.b64 %%d, %%a;");
	for (size_t i = 0; i < sizeof(vectors) / sizeof(*vectors); i++) {
		struct form *form = add_form(i < 4 ? join : split, vectors[i].registers, "%s", vectors[i].text);

		form->bits = vectors[i].bits;
		form->extra = vectors[i].n;
	}
	for (int i = 0; i < 5; i++) {
		add_form(space, "d:b64:i a:b64:i", "cvta.%s.u64 %%d, %%a;", spaces[i])->operation = i == 4 ? '+' : '=';
		add_form(space, "d:b64:i a:b64:i", "cvta.to.%s.u64 %%d, %%a;", spaces[i])->operation = i == 4 ? '-' :
			'=';
	}
	add_form(is_space, "d:pred:p m:b64:m", "isspacep.shared %%d, %%m;")->operation = 's';
	add_form(is_space, "d:pred:p m:b64:m", "isspacep.global %%d, %%m;")->operation = 'g';
	add_form(is_space, "d:pred:p a:b64:i", "isspacep.shared %%d, %%a;")->operation = 's';
}

/* Special registers. The operation: an index of the list below. */
static void special(const struct form *form, uint64_t *v)
{
	const uint32_t t = current_thread, lane = t % 32;
	uint32_t equal = 0, less = 0, more = 0;

	for (uint32_t i = 0; i < 32; i++) {
		equal |= (uint32_t)(i == lane) << i;
		less |= (uint32_t)(i < lane) << i;
		more |= (uint32_t)(i > lane) << i;
	}
	switch (form->operation) {
	case 0: v[0] = t % 8; break;
	case 1: v[0] = t / 8 % 4; break;
	case 2: v[0] = t / 32; break;
	case 12: v[0] = lane; break;
	case 13: v[0] = t / 32; break;
	case 18: v[0] = equal; break;
	case 19: v[0] = equal | less; break;
	case 20: v[0] = less; break;
	case 21: v[0] = equal | more; break;
	case 22: v[0] = more; break;
	default: v[0] = (uint64_t)form->extra;
	}
}

static void add_specials(void)
{
	static const struct { const char *name; int value; } list[] = {
		{ "tid.x", 0 }, { "tid.y", 0 }, { "tid.z", 0 }, { "ntid.x", 8 }, { "ntid.y", 4 }, { "ntid.z", 5 },
		{ "ctaid.x", 3 }, { "ctaid.y", 2 }, { "ctaid.z", 1 }, { "nctaid.x", 9 }, { "nctaid.y", 8 },
			{ "nctaid.z", 7 },
		{ "laneid", 0 }, { "warpid", 0 }, { "nwarpid", 5 }, { "smid", 0 }, { "nsmid", 1 },
			{ "total_smem_size", ROW },
		{ "lanemask_eq", 0 }, { "lanemask_le", 0 }, { "lanemask_lt", 0 }, { "lanemask_ge", 0 },
			{ "lanemask_gt", 0 },
		{ "dynamic_smem_size", 16 },
	};
	struct form *form;

	for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++) {
		form = add_form(special, "d:b32:i", "mov.u32 %%d, %%%s;", list[i].name);
		form->operation = (int)i;
		form->extra = list[i].value;
	}
	form = add_form(special, "d:b32:i", "mov.u32 %%d, WARP_SZ;");
	form->operation = 99;
	form->extra = 32;
}

void add_conversions(void)
{
	add_specials();
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		for (size_t j = 0; j < sizeof(types) / sizeof(*types); j++)
			add_pair(&types[i], &types[j]);
	add_packs();
	add_moves();
}
