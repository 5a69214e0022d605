/* SPDX-License-Identifier: MIT */
/* memory.c - loads, stores, copies and atomic operations, byte by byte. */
#include "forms.h"

static const struct type { const char *name; unsigned size; bool is_signed; const char *reg; char kind; } types[] = {
	{ "b8", 1, false, "b16", 'i' }, { "u8", 1, false, "b32", 'i' }, { "s8", 1, true, "b64", 'i' },
	{ "b16", 2, false, "b16", 'i' }, { "u16", 2, false, "b32", 'i' }, { "s16", 2, true, "b32", 'i' },
	{ "b32", 4, false, "b32", 'i' }, { "u32", 4, false, "b32", 'i' }, { "s32", 4, true, "b64", 'i' },
	{ "b64", 8, false, "b64", 'i' }, { "u64", 8, false, "b64", 'i' }, { "s64", 8, true, "b64", 'i' },
	{ "f32", 4, false, "f32", 'i' }, { "f64", 8, false, "f64", 'i' },
};

static uint64_t get(uint64_t address, unsigned size)
{
	uint64_t bits = 0;

	for (unsigned i = 0; i < size; i++)
		bits |= (uint64_t)((const uint8_t *)address)[i] << 8 * i;
	return bits;
}

static void put(uint64_t address, unsigned size, uint64_t bits)
{
	for (unsigned i = 0; i < size; i++)
		((uint8_t *)address)[i] = (uint8_t)(bits >> 8 * i);
}

static uint64_t extend(uint64_t bits, unsigned size, bool is_signed)
{
	const unsigned shift = 64 - 8 * size;

	return is_signed ? (uint64_t)((int64_t)(bits << shift) >> shift) : bits << shift >> shift;
}

/* bits: of an element; operation: their number; extra: the offset of the address. */
static void load(const struct form *form, uint64_t *v)
{
	const uint64_t address = v[form->operation] + (uint64_t)form->extra;

	for (int i = 0; i < form->operation; i++)
		v[i] = extend(get(address + form->bits / 8 * (unsigned)i, form->bits / 8), form->bits / 8,
			      form->is_signed);
}

static void store(const struct form *form, uint64_t *v)
{
	for (int i = 0; i < form->operation; i++)
		put(v[0] + (uint64_t)form->extra + form->bits / 8 * (unsigned)i, form->bits / 8, v[1 + i]);
}

static void set(struct form *form, const struct type *type, int n, int offset)
{
	form->bits = 8 * type->size;
	form->is_signed = type->is_signed;
	form->operation = n;
	form->extra = offset;
	form->uses_memory = true;
}

static const char names[] = "dqrw";

/* What is between the brackets, and the register in it. Variables: at the start of the memory. */
static const struct place { const char *space, *address, *reg; int offset; } places[] = {
	{ ".global", "%m", "m:b64:m", 0 }, { ".global", "%m+8", "m:b64:m", 8 }, { "", "%m+16", "m:b64:m", 16 },
	{ ".local", "%m", "m:b64:m", 0 }, { ".shared", "%m+8", "m:b64:s", 8 }, { ".shared", "%m", "m:b32:s", 0 },
	{ ".shared", "%m+16", "m:b32:s", 16 }, { ".global", "gv+16", "m:b64:0", 16 }, { ".shared", "sv", "m:b64:0", 0 },
	{ ".shared", "sv+32", "m:b64:0", 32 }, { ".local", "lv+8", "m:b64:0", 8 }, { ".global", "%m+-0", "m:b64:m", 0 },
};

static void add_access(const struct type *type, const struct place *place, int n, const char *modifiers, bool is_store)
{
	char registers[128] = "", list[64] = "";
	size_t used = 0;
	struct form *form;

	if (is_store)
		used += (size_t)snprintf(registers, sizeof(registers), "%s ", place->reg);
	for (int i = 0; i < n; i++) {
		used += (size_t)snprintf(registers + used, sizeof(registers) - used, "%c:%s:i ", names[i], type->reg);
		snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%%%c", i ? ", " : "", names[i]);
	}
	if (!is_store)
		snprintf(registers + used, sizeof(registers) - used, "%s", place->reg);
	if (is_store)
		form = add_form(store, registers, "st%s%s%s.%s [%s], %s%s%s;", modifiers, place->space,
				n == 2 ? ".v2" : n == 4 ? ".v4" : "", type->name, place->address, n > 1 ? "{" : "",
					list,
				n > 1 ? "}" : "");
	else
		form = add_form(load, registers, "ld%s%s%s.%s %s%s%s, [%s];", modifiers, place->space,
				n == 2 ? ".v2" : n == 4 ? ".v4" : "", type->name, n > 1 ? "{" : "", list, n > 1 ? "}" :
					"",
				place->address);
	set(form, type, n, place->offset);
	if (is_store)
		form->n_out = 0;
}

/* Accesses with an order: to global and shared memory. */
static void add_ordered(const struct type *type, int n)
{
	static const char *const orders[] = { "relaxed", "acquire", "release" },
		*const scopes[] = { "cta", "gpu", "sys" };
	char modifiers[32];

	for (int i = 0; i < 9 * 2; i++) {
		const struct place *place = &places[i & 1 ? 0 : 4];

		snprintf(modifiers, sizeof(modifiers), ".%s.%s", orders[i / 2 / 3], scopes[i / 2 % 3]);
		if (i / 2 / 3 != 2)
			add_access(type, place, n, modifiers, false);
		if (i / 2 / 3 != 1)
			add_access(type, place, n, modifiers, true);
	}
	for (int i = 0; i < 2 * 2 * 2; i++)
		add_access(type, &places[i & 1 ? 0 : 4], n, i & 2 ? ".volatile" : ".weak", i & 4);
}

static void add_accesses(void)
{
	static const struct place constant = { ".const", "cv+8", "m:b64:0", 8 },
		param = { ".param", "pv+16", "m:b64:0", 16 };
	static const struct place hint = { ".global.nc.L1::no_allocate", "%m", "m:b64:m", 0 };

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
		for (int n = 1; n <= 4; n *= 2) {
			if (n * types[i].size > 16)
				continue;
			for (size_t j = 0; j < sizeof(places) / sizeof(*places); j++) {
				add_access(&types[i], &places[j], n, "", false);
				add_access(&types[i], &places[j], n, "", true);
			}
			add_access(&types[i], &constant, n, "", false);
			add_access(&types[i], &param, n, "", false);
			add_access(&types[i], &hint, n, "", false);
			add_ordered(&types[i], n);
		}
	}
}

/* Registers: d m b c. */
static void atomic(const struct form *form, uint64_t *v)
{
	const int first = form->n_out;
	const unsigned size = form->bits / 8;
	const uint64_t old = get(v[first], size), b = extend(v[first + 1], size, false),
		c = extend(v[first + 2], size, false);
	const int64_t old_s = (int64_t)extend(old, size, true), b_s = (int64_t)extend(b, size, true);
	uint64_t result = 0;

	switch (form->operation) {
	case 'a':
		result = form->type == 'f' ? f32_bits(bits_f32(old) + bits_f32(b)) :
			 form->type == 'd' ? f64_bits(bits_f64(old) + bits_f64(b)) :
			 form->type == 'h' || form->type == 'b' ?
			 half_round(form->type, half_value(form->type, old) + half_value(form->type, b), 0,
				    FE_TONEAREST) : old + b;
		if (form->type == 'H' || form->type == 'B') {
			const char kind = form->type == 'H' ? 'h' : 'b';

			result = 0;
			for (unsigned i = 0; i < 32; i += 16)
				result |= half_round(kind, half_value(kind, old >> i & 0xffff) + half_value(kind,
					b >> i & 0xffff), 0,
						     FE_TONEAREST) << i;
		}
		break;
	case '<': result = form->is_signed ? old_s < b_s ? old : b : old < b ? old : b; break;
	case '>': result = form->is_signed ? old_s > b_s ? old : b : old > b ? old : b; break;
	case '&': result = old & b; break;
	case '|': result = old | b; break;
	case '^': result = old ^ b; break;
	case 'x': result = b; break;
	case 'c': result = old == b ? c : old; break;
	case 'i': result = old >= b ? 0 : old + 1; break;
	case 'd': result = old == 0 || old > b ? b : old - 1; break;
	}
	put(v[first], size, result);
	if (first)
		v[0] = old;
}

/* One with an order and a scope, or without, on memory of a space, or generic. */
static void add_atomic_form(const char *where, const char *operation, int code, const char *type, unsigned bits,
			    bool is_signed, char kind, bool red)
{
	const char *reg = kind == 'f' ? "f32" : kind == 'd' ? "f64" : bits == 16 ? "b16" : bits == 32 ? "b32" : "b64";
	char registers[96], to[16] = "";
	struct form *form;

	if (red && (code == 'x' || code == 'c'))
		return;
	if (!red)
		snprintf(to, sizeof(to), "d:%s:%c ", reg, kind);
	snprintf(registers, sizeof(registers), "%sm:b64:%c b:%s:%c c:%s:%c", to, strstr(where, "shared") ? 's' : 'm',
		 reg, kind,
		 reg, kind);
	form = add_form(atomic, registers, "%s%s.%s.%s %s[%%m], %%b%s;", red ? "red" : "atom", where, operation, type,
			red ? "" : "%d, ", code == 'c' ? ", %c" : "");
	form->operation = code;
	form->bits = bits;
	form->is_signed = is_signed;
	form->type = kind;
	form->n_out = red ? 0 : 1;
	form->uses_memory = true;
}

static void add_atomic(const char *operation, int code, const char *type, unsigned bits, bool is_signed, char kind)
{
	static const char *const orders[] = { "", ".relaxed", ".acquire", ".release", ".acq_rel" };
	static const char *const scopes[] = { "", ".cta", ".gpu", ".sys" },
		*const spaces[] = { "", ".global", ".shared" };

	for (int i = 0; i < 5 * 4 * 3 * 2; i++) {
		char where[40];

		snprintf(where, sizeof(where), "%s%s%s", orders[i / 24], scopes[i / 6 % 4], spaces[i / 2 % 3]);
		add_atomic_form(where, operation, code, type, bits, is_signed, kind, i & 1);
	}
}

static void add_atomics(void)
{
	static const struct { const char *name; int code; } bit_list[] = {
		{ "and", '&' }, { "or", '|' }, { "xor", '^' }, { "exch", 'x' }, { "cas", 'c' },
	};

	add_atomic("add", 'a', "u32", 32, false, 'i');
	add_atomic("add", 'a', "s32", 32, false, 'i');
	add_atomic("add", 'a', "u64", 64, false, 'i');
	add_atomic("add", 'a', "f32", 32, false, 'f');
	add_atomic("add", 'a', "f64", 64, false, 'd');
	add_atomic("add.noftz", 'a', "f16", 16, false, 'h');
	add_atomic("add.noftz", 'a', "bf16", 16, false, 'b');
	add_atomic("add.noftz", 'a', "f16x2", 32, false, 'H');
	add_atomic("add.noftz", 'a', "bf16x2", 32, false, 'B');
	for (unsigned bits = 32; bits <= 64; bits += 32) {
		for (int i = 0; i < 2; i++) {
			char type[8];

			snprintf(type, sizeof(type), "%c%u", "us"[i], bits);
			add_atomic("min", '<', type, bits, i, 'i');
			add_atomic("max", '>', type, bits, i, 'i');
		}
		for (size_t i = 0; i < sizeof(bit_list) / sizeof(*bit_list); i++)
			add_atomic(bit_list[i].name, bit_list[i].code, bits == 32 ? "b32" : "b64", bits, false, 'i');
	}
	add_atomic("cas", 'c', "b16", 16, false, 'i');
	add_atomic("inc", 'i', "u32", 32, false, 'i');
	add_atomic("dec", 'd', "u32", 32, false, 'i');
}

/* cp.async to shared memory, at the start of the row, from its last quarter. */
static void copy(const struct form *form, uint64_t *v)
{
	const unsigned given = form->flag ? (unsigned)(v[1] & 0xffffffff) : form->bits;

	for (unsigned i = 0; i < form->bits; i++)
		put(v[0] + i, 1, i < given ? get(v[2] + 48 + i, 1) : 0);
}

static void add_copies(void)
{
	for (unsigned i = 0; i < 8; i++) {
		const unsigned size = i & 4 ? 16 : 4u << (i & 2);
		struct form *form = add_form(copy, "m:b64:0 n:b32:n g:b64:0",
					     "cp.async.%s.shared.global [sv], [gv+48], %u%s; cp.async.commit_group; "
					     "cp.async.wait_group 0; cp.async.wait_all;", size == 16 ? "cg" : "ca",
						size,
					     i & 1 ? ", %n" : "");

		form->bits = size;
		form->flag = i & 1;
		form->n_out = 0;
		form->uses_memory = true;
	}
}

static void nothing(const struct form *form, uint64_t *v)
{
	(void)form;
	(void)v;
}

static void add_nothings(void)
{
	static const char *const list[] = {
		"membar.cta;", "membar.gl;", "membar.sys;", "fence.sc.gpu;", "fence.acq_rel.cta;", "fence.acq_rel.sys;",
		"prefetch.global.L1 [%m];", "prefetch.global.L2 [%m];", "prefetchu.L1 [%m];", "nanosleep.u32 100;",
			"brkpt;",
		"discard.global.L2 [%m], 128;", "applypriority.global.L2::evict_normal [%m], 128;", "pmevent 3;",
	};

	for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++) {
		struct form *form = add_form(nothing, "m:b64:m", "%s", list[i]);

		form->n_out = 0;
		form->uses_memory = true;
	}
}

void add_memory(void)
{
	add_accesses();
	add_atomics();
	add_copies();
	add_nothings();
}
