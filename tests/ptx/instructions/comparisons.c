/* SPDX-License-Identifier: MIT */
/* comparisons.c - setp, set, selp, slct: by one of four outcomes, less, equal, greater or unordered. */
#include "forms.h"

enum { LESS = 1, EQUAL = 2, GREATER = 4, UNORDERED = 8 };

/* The outcomes for which each comparison is true. */
static const struct { const char *name; int outcomes; bool integers, numbers, is_unsigned; } list[] = {
	{ "eq", EQUAL, true, true, false }, { "ne", LESS | GREATER, true, true, false },
		{ "lt", LESS, true, true, false },
	{ "le", LESS | EQUAL, true, true, false }, { "gt", GREATER, true, true, false },
	{ "ge", GREATER | EQUAL, true, true, false }, { "lo", LESS, true, false, true },
	{ "ls", LESS | EQUAL, true, false, true }, { "hi", GREATER, true, false, true },
	{ "hs", GREATER | EQUAL, true, false, true }, { "equ", EQUAL | UNORDERED, false, true, false },
	{ "neu", LESS | GREATER | UNORDERED, false, true, false }, { "ltu", LESS | UNORDERED, false, true, false },
	{ "leu", LESS | EQUAL | UNORDERED, false, true, false }, { "gtu", GREATER | UNORDERED, false, true, false },
	{ "geu", GREATER | EQUAL | UNORDERED, false, true, false },
	{ "num", LESS | EQUAL | GREATER, false, true, false }, { "nan", UNORDERED, false, true, false },
};

static const struct type { const char *name; char kind; unsigned bits; bool is_signed, is_bits; } types[] = {
	{ "b16", 'i', 16, false, true }, { "u16", 'i', 16, false, false }, { "s16", 'i', 16, true, false },
	{ "b32", 'i', 32, false, true }, { "u32", 'i', 32, false, false }, { "s32", 'i', 32, true, false },
	{ "b64", 'i', 64, false, true }, { "u64", 'i', 64, false, false }, { "s64", 'i', 64, true, false },
	{ "f32", 'f', 32, false, false }, { "f64", 'd', 64, false, false }, { "f16", 'h', 16, false, false },
	{ "bf16", 'b', 16, false, false },
};

static int outcome(const struct form *form, uint64_t a, uint64_t b)
{
	const unsigned shift = 64 - form->bits;
	double x, y;

	if (form->type == 'i') {
		a <<= shift;
		b <<= shift;
		if (a == b)
			return EQUAL;
		return (form->is_signed ? (int64_t)a < (int64_t)b : a < b) ? LESS : GREATER;
	}
	if (form->ftz) {
		a = flush(form->type, a);
		b = flush(form->type, b);
	}
	x = form->type == 'f' ? (double)bits_f32(a) : form->type == 'd' ? bits_f64(a) : half_value(form->type, a);
	y = form->type == 'f' ? (double)bits_f32(b) : form->type == 'd' ? bits_f64(b) : half_value(form->type, b);
	return isnan(x) || isnan(y) ? UNORDERED : x < y ? LESS : x > y ? GREATER : EQUAL;
}

static bool combine(int how, bool x, bool with)
{
	return how == 0 ? x : how == 1 ? x && with : how == 2 ? x || with : x != with;
}

/* Registers: d q a b c. extra: the combination, and 8 if c is negated. */
static void setp(const struct form *form, uint64_t *v)
{
	const int first = form->n_out;
	const bool with = (int)(v[first + 2] & 1) != form->extra >> 3;
	const uint64_t low = form->flag ? 0xffff : ~0ull;
	const bool is = outcome(form, v[first] & low, v[first + 1] & low) & form->operation;
	const bool other = form->flag ? outcome(form, v[first] >> 16 & low,
						v[first + 1] >> 16 & low) & form->operation : !is;

	v[0] = combine(form->extra & 7, is, with);
	if (first == 2)
		v[1] = combine(form->extra & 7, other, with);
}

static void set(const struct form *form, uint64_t *v)
{
	const bool with = (int)(v[3] & 1) != form->extra >> 3;
	const uint64_t truth = form->to_type == 'f' ? 0x3f800000 : form->to_type == 'h' ? 0x3c00 :
			       form->to_type == 'b' ? 0x3f80 : ~0ull;
	const uint64_t low = form->flag ? 0xffff : ~0ull;
	uint64_t result = combine(form->extra & 7, outcome(form, v[1] & low, v[2] & low) & form->operation, with) ?
			  truth : 0;

	if (form->flag && combine(form->extra & 7, outcome(form, v[1] >> 16 & low, v[2] >> 16 & low) & form->operation,
				  with))
		result |= truth << 16;
	v[0] = result;
}

static bool exists(size_t comparison, const struct type *type)
{
	if (type->kind != 'i')
		return list[comparison].numbers;
	return list[comparison].integers && !(list[comparison].is_unsigned && type->is_signed) &&
	       (!type->is_bits || comparison < 2);
}

static void fill(struct form *form, size_t comparison, const struct type *type, int extra, bool ftz)
{
	form->operation = list[comparison].outcomes;
	form->type = type->kind;
	form->bits = type->bits;
	form->is_signed = type->is_signed;
	form->extra = extra;
	form->ftz = ftz;
}

static const char *register_of(const struct type *type)
{
	return type->kind == 'h' || type->kind == 'b' ? "b16" : type->name;
}

static const char *const combinations[] = { "", ".and", ".or", ".xor" };

static void add_setp(size_t comparison, const struct type *type)
{
	const int n = type->kind == 'f' || type->kind == 'h' ? 32 : 16;
	char registers[96];

	for (int i = 0; i < n; i++) {
		const int how = i & 3;
		const bool two = i & 4, negated = i & 8, ftz = i & 16;
		struct form *form;

		if (negated && !how)
			continue;
		snprintf(registers, sizeof(registers), "d:pred:p %sa:%s:%c b:%s:%c c:pred:p", two ? "q:pred:p " : "",
			 register_of(type), type->kind, register_of(type), type->kind);
		form = add_form(setp, registers, "setp.%s%s%s.%s %%d%s, %%a, %%b%s%s;", list[comparison].name,
				combinations[how], ftz ? ".ftz" : "", type->name, two ? "|%q" : "", how ? negated ?
					", !" : ", " : "",
				how ? "%c" : "");
		fill(form, comparison, type, how | (negated ? 8 : 0), ftz);
	}
}

static void add_set(size_t comparison, const struct type *type, const char *to, char to_type)
{
	const int n = type->kind == 'f' || type->kind == 'h' ? 16 : 8;
	char registers[96];

	for (int i = 0; i < n; i++) {
		const int how = i & 3;
		const bool negated = i & 4, ftz = i & 8;
		struct form *form;

		if (negated && !how)
			continue;
		snprintf(registers, sizeof(registers), "d:b%d:i a:%s:%c b:%s:%c c:pred:p", strstr(to, "16") ? 16 : 32,
			 register_of(type), type->kind, register_of(type), type->kind);
		form = add_form(set, registers, "set.%s%s%s.%s.%s %%d, %%a, %%b%s%s;", list[comparison].name,
				combinations[how], ftz ? ".ftz" : "", to, type->name, how ? negated ? ", !" : ", " : "",
				how ? "%c" : "");
		fill(form, comparison, type, how | (negated ? 8 : 0), ftz);
		form->to_type = to_type;
	}
}

/* Two numbers in a register. */
static void add_pairs(size_t comparison, char kind)
{
	const struct type *type = &types[kind == 'h' ? 11 : 12];
	const char letter = kind == 'h' ? 'H' : 'B';
	char registers[96];

	for (int i = 0; i < (kind == 'h' ? 16 : 8); i++) {
		const int how = i & 3;
		const bool ftz = i & 8;
		struct form *form;

		snprintf(registers, sizeof(registers), "d:pred:p q:pred:p a:b32:%c b:b32:%c c:pred:p", letter, letter);
		form = add_form(setp, registers, "setp.%s%s%s.%sx2 %%d|%%q, %%a, %%b%s;", list[comparison].name,
				combinations[how], ftz ? ".ftz" : "", type->name, !how ? "" : i & 4 ? ", !%c" : ", %c");
		fill(form, comparison, type, how | (i & 4 && how ? 8 : 0), ftz);
		form->flag = true;
		if (i & 4)
			continue;
		snprintf(registers, sizeof(registers), "d:b32:%c a:b32:%c b:b32:%c c:pred:p", letter, letter, letter);
		form = add_form(set, registers, "set.%s%s%s.%sx2.%sx2 %%d, %%a, %%b%s;", list[comparison].name,
				combinations[how], ftz ? ".ftz" : "", type->name, type->name, how ? ", %c" : "");
		fill(form, comparison, type, how, ftz);
		form->flag = true;
		form->to_type = kind;
	}
}

static void select_by(const struct form *form, uint64_t *v)
{
	const bool first = form->operation == 'p' ? v[3] & 1 : form->operation == 's' ? (int32_t)v[3] >= 0 :
			   bits_f32(form->ftz ? flush('f', v[3]) : v[3]) >= 0;

	v[0] = v[first ? 1 : 2];
}

static void add_selections(void)
{
	char registers[96];

	for (int i = 0; i < 11; i++) {
		const struct type *type = &types[i];

		snprintf(registers, sizeof(registers), "d:%s:%c a:%s:%c b:%s:%c c:pred:p", type->name, type->kind,
			 type->name,
			 type->kind, type->name, type->kind);
		add_form(select_by, registers, "selp.%s %%d, %%a, %%b, %%c;", type->name)->operation = 'p';
		snprintf(registers, sizeof(registers), "d:%s:i a:%s:i b:%s:i c:b32:i", type->name, type->name,
			 type->name);
		add_form(select_by, registers, "slct.%s.s32 %%d, %%a, %%b, %%c;", type->name)->operation = 's';
		snprintf(registers, sizeof(registers), "d:%s:i a:%s:i b:%s:i c:f32:f", type->name, type->name,
			 type->name);
		add_form(select_by, registers, "slct.%s.f32 %%d, %%a, %%b, %%c;", type->name)->operation = 'f';
		add_form(select_by, registers, "slct.ftz.%s.f32 %%d, %%a, %%b, %%c;", type->name)->ftz = true;
	}
}

void add_comparisons(void)
{
	for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++) {
		for (size_t j = 0; j < sizeof(types) / sizeof(*types); j++) {
			const struct type *type = &types[j];

			if (!exists(i, type))
				continue;
			add_setp(i, type);
			add_set(i, type, "u32", 'i');
			add_set(i, type, "s32", 'i');
			if (type->kind == 'h' || type->kind == 'b') {
				add_set(i, type, "u16", 'i');
				add_set(i, type, "s16", 'i');
				add_set(i, type, type->name, type->kind);
			} else {
				add_set(i, type, "f32", 'f');
			}
		}
		if (list[i].numbers) {
			add_pairs(i, 'h');
			add_pairs(i, 'b');
		}
	}
	add_selections();
}
