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

/* Registers that are as wide as an element or wider: n outputs, n inputs. */
static void pass(const struct form *form, uint64_t *v)
{
	for (int i = 0; i < form->n_out; i++)
		v[i] = extend(v[form->n_out + i], form->bits / 8, form->is_signed);
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

/*
 * @before: what is before the space's name, as .relaxed.gpu; @after: what is between it and the number of elements, as
 * .cg. @policy: what is after the other operands.
 */
static void add_access(const struct type *type, const struct place *place, int n, const char *before,
		       const char *after, const char *policy, bool is_store)
{
	const char *vector = n == 2 ? ".v2" : n == 4 ? ".v4" : "";
	char registers[128] = "", list[64] = "";
	size_t used = 0;
	struct form *form;

	if (is_store)
		used += (size_t)snprintf(registers, sizeof(registers), "%s ", place->reg);
	for (int i = 0; i < n; i++) {
		used += (size_t)snprintf(registers + used, sizeof(registers) - used, "%c:%s:i ", names[i], type->reg);
		snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%%%c", i ? ", " : n > 1 ? "{" : "",
			 names[i]);
	}
	if (n > 1)
		strcat(list, "}");
	if (!is_store)
		used += (size_t)snprintf(registers + used, sizeof(registers) - used, "%s", place->reg);
	if (*policy)
		snprintf(registers + used, sizeof(registers) - used, " p:b64:i");
	if (is_store)
		form = add_form(store, registers, "st%s%s%s%s.%s [%s], %s%s;", before, place->space, after, vector,
				type->name, place->address, list, policy);
	else
		form = add_form(load, registers, "ld%s%s%s%s.%s %s, [%s]%s;", before, place->space, after, vector,
				type->name, list, place->address, policy);
	set(form, type, n, place->offset);
	if (is_store)
		form->n_out = 0;
}

/* A value that goes to a variable of the function's space .param, and comes back. */
static void add_param_store(const struct type *type, int n, const char *before, const char *after)
{
	static const char *const from[] = { "%a", "{%a, %b}", "{%a, %b, %c, %e}" };
	static const char *const to[] = { "%d", "{%d, %q}", "{%d, %q, %r, %w}" };
	static const char inputs[] = "abce";
	const char *vector = n == 2 ? ".v2" : n == 4 ? ".v4" : "";
	char registers[128] = "";
	struct form *form;

	for (int i = 0; i < 2 * n; i++)
		snprintf(registers + strlen(registers), sizeof(registers) - strlen(registers), "%c:%s:i ",
			 i < n ? names[i] : inputs[i - n], type->reg);
	form = add_form(pass, registers, "{ .param .align 16 .b8 p[16]; st%s.param%s%s.%s [p], %s; "
			"ld.param%s.%s %s, [p]; }", before, after, vector, type->name, from[n / 2], vector, type->name,
			to[n / 2]);
	form->bits = 8 * type->size;
	form->is_signed = type->is_signed;
}

/* Accesses with an order, and volatile ones. */
static void add_ordered(const struct type *type, int n)
{
	static const char *const orders[] = { "relaxed", "acquire", "release" },
		*const scopes[] = { "cta", "gpu", "sys" };
	static const int at[] = { 0, 4, 2, 3 };		/* places: .global, .shared, generic, .local */
	char before[32];

	for (int i = 0; i < 9 * 3; i++) {
		const struct place *place = &places[at[i % 3]];

		snprintf(before, sizeof(before), ".%s.%s", orders[i / 9], scopes[i / 3 % 3]);
		if (i / 9 != 2)
			add_access(type, place, n, before, "", "", false);
		if (i / 9 != 1)
			add_access(type, place, n, before, "", "", true);
	}
	for (int i = 0; i < 4 * 2; i++)
		add_access(type, &places[at[i / 2]], n, ".volatile", "", "", i & 1);
}

static const struct place constant = { ".const", "cv+8", "m:b64:0", 8 }, param = { ".param", "pv+16", "m:b64:0", 16 };

/* Accesses without an order: all spaces, with all operators on caches. */
static void add_plain(const struct type *type, int n)
{
	static const char *const load_caches[] = { "", ".ca", ".cg", ".cs", ".lu", ".cv" };
	static const char *const store_caches[] = { "", ".wb", ".cg", ".cs", ".wt" };
	const struct place *const spaces[] = { &places[2], &places[0], &places[4], &places[3], &constant, &param };

	for (int i = 0; i < 2 * 6 * 6; i++)
		add_access(type, spaces[i / 2 % 6], n, i & 1 ? ".weak" : "", load_caches[i / 12], "", false);
	for (int i = 0; i < 2 * 4 * 5; i++)
		add_access(type, spaces[i / 2 % 4], n, i & 1 ? ".weak" : "", store_caches[i / 8], "", true);
	for (int i = 0; i < 2 * 5; i++)
		add_param_store(type, n, i & 1 ? ".weak" : "", store_caches[i / 2]);
	for (int i = 0; i < 4; i++) {
		static const char *const caches[] = { ".nc", ".ca.nc", ".cg.nc", ".cs.nc" };

		add_access(type, &places[0], n, "", caches[i], "", false);
	}
	add_access(type, &places[0], n, "u", "", "", false);
	add_access(type, &places[2], n, "u", "", "", false);
	add_access(type, &places[0], n, "", ".nc.L1::no_allocate.L2::128B", "", false);
	add_access(type, &places[0], n, "", ".L2::cache_hint", ", %p", false);
	add_access(type, &places[0], n, "", ".L1::evict_last.L2::cache_hint", ", %p", true);
	add_access(type, &places[0], n, ".relaxed.gpu", ".L2::cache_hint", ", %p", false);
	add_access(type, &places[0], n, ".relaxed.gpu", ".L2::cache_hint", ", %p", true);
	add_access(type, &places[0], n, ".volatile", ".L2::64B", "", false);
	add_access(type, &places[0], n, ".volatile", ".L1::evict_first", "", true);
}

static void add_accesses(void)
{
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
		for (int n = 1; n <= 4; n *= 2) {
			if (n * types[i].size > 16)
				continue;
			for (size_t j = 0; j < sizeof(places) / sizeof(*places); j++) {
				add_access(&types[i], &places[j], n, "", "", "", false);
				add_access(&types[i], &places[j], n, "", "", "", true);
			}
			add_plain(&types[i], n);
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
	snprintf(registers, sizeof(registers), "%sm:b64:%c b:%s:%c c:%s:%c p:b64:i", to,
		 strstr(where, "shared") ? 's' : 'm', reg, kind, reg, kind);
	form = add_form(atomic, registers, "%s%s.%s.%s %s[%%m], %%b%s%s;", red ? "red" : "atom", where, operation, type,
			red ? "" : "%d, ", code == 'c' ? ", %c" : "", strstr(where, "hint") ? ", %p" : "");
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

	for (int i = 0; i < 2 * 5 * 4 * 3 * 2; i++) {
		char where[64];

		snprintf(where, sizeof(where), "%s%s%s%s", orders[i / 24 % 5], scopes[i / 6 % 4], spaces[i / 2 % 3],
			 i >= 120 ? ".L2::cache_hint" : "");
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

static void add_copy_hints(void)
{
	static const char *const list[] = {
		"cp.async.ca.shared.global.L2::128B [sv], [gv+48], 4;",
		"{ .reg .b64 %p; mov.b64 %p, 0; cp.async.ca.shared.global.L2::cache_hint [sv], [gv+48], 4, %p; }",
		"{ .reg .b64 %p; mov.b64 %p, 0; cp.async.ca.shared.global.L2::cache_hint [sv], [gv+48], 4, %n, %p; }",
	};

	for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++) {
		struct form *form = add_form(copy, "m:b64:0 n:b32:n g:b64:0", "%s", list[i]);

		form->bits = 4;
		form->flag = i == 2;
		form->n_out = 0;
		form->uses_memory = true;
	}
}

static void nothing(const struct form *form, uint64_t *v)
{
	(void)form;
	(void)v;
}

/* What changes neither registers nor memory. */
static void add_nothing(const char *text)
{
	struct form *form = add_form(nothing, "m:b64:m", "%s", text);

	form->n_out = 0;
	form->uses_memory = true;
}

static void any(const struct form *form, uint64_t *v)
{
	(void)form;
	(void)v;
	any_result = true;
}

/* The harness notes a trap at the start of the row. */
static void trap(const struct form *form, uint64_t *v)
{
	(void)form;
	put(v[0], 1, 77);
}

static void add_nothings(void)
{
	static const char *const list[] = {
		"membar.cta;", "membar.gl;", "membar.sys;", "prefetch.L1 [%m];", "prefetch.L2 [%m];",
		"prefetch.global.L1 [%m];", "prefetch.global.L2 [%m];", "prefetch.local.L1 [%m];",
		"prefetch.local.L2 [%m];", "prefetch.global.L2::evict_last [%m];",
		"prefetch.global.L2::evict_normal [%m];", "prefetchu.L1 [%m];", "nanosleep.u32 100;", "brkpt;",
		"discard.L2 [%m], 128;", "discard.global.L2 [%m], 128;", "applypriority.L2::evict_normal [%m], 128;",
		"applypriority.global.L2::evict_normal [%m], 128;", "pmevent 3;", "pmevent.mask 0xff;",
	};
	static const char *const policies[] = {
		"createpolicy.fractional.L2::evict_last.b64 %d, 1.0;",
		"createpolicy.fractional.L2::evict_first.L2::evict_unchanged.b64 %d;",
		"createpolicy.range.L2::evict_last.b64 %d, [%m], 4096, 8192;",
		"createpolicy.range.global.L2::evict_last.L2::evict_first.b64 %d, [%m], 4096, 8192;",
		"createpolicy.cvt.L2.b64 %d, 5;",
	};
	static const char *const orders[] = { "", ".sc", ".acq_rel", ".acquire", ".release" };
	static const char *const scopes[] = { "cta", "gpu", "sys" };
	struct form *form;

	for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++)
		add_nothing(list[i]);
	for (int i = 0; i < 5 * 3; i++) {
		char text[64];

		snprintf(text, sizeof(text), "fence%s.%s;", orders[i / 3], scopes[i % 3]);
		add_nothing(text);
	}
	for (size_t i = 0; i < sizeof(policies) / sizeof(*policies); i++)
		add_form(any, "d:b64:i m:b64:i", "%s", policies[i]);
	form = add_form(trap, "m:b64:0", "trap;");
	form->n_out = 0;
	form->uses_memory = true;
}

void add_memory(void)
{
	add_accesses();
	add_atomics();
	add_copies();
	add_copy_hints();
	add_nothings();
}
