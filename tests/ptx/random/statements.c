/* SPDX-License-Identifier: MIT */
/* statements.c - random statements that access memory, exchange values, and choose what runs next. */
#include "generator.h"

#include <string.h>

/* ---- memory */

/* Types of accesses, and the kind of the register. */
static const struct {
	const char *type;
	char kind;
	uint32_t size;
} types[] = {
	{ "u8", 's', 1 },  { "s8", 'i', 1 },  { "b8", 's', 1 },	 { "u16", 's', 2 }, { "s16", 'i', 2 },
	{ "b16", 's', 2 }, { "u32", 'i', 4 }, { "s32", 'i', 4 }, { "b32", 'i', 4 }, { "b32", 'i', 4 },
	{ "f32", 'f', 4 }, { "u64", 'l', 8 }, { "b64", 'l', 8 }, { "s64", 'l', 8 }, { "f64", 'd', 8 },
	{ "s32", 'l', 4 }, { "u16", 'l', 2 },
};

/* A register whose value is stored. Of a float: a number, because NaNs have many forms. */
static const char *stored(struct generator *g, char kind)
{
	const char *value = target(g, kind, LANE), *q, *safe;

	if (kind != 'f' && kind != 'd')
		return value;
	q = temporary(g, 'q');
	safe = temporary(g, kind == 'f' ? 'e' : 'g');
	emit(g, "\tsetp.nan.f%d %s, %s, %s;\n\tselp.f%d %s, %s, %s, %s;\n", kind == 'f' ? 32 : 64, q, value, value,
	     kind == 'f' ? 32 : 64, safe, kind == 'f' ? "0f40000000" : "0d4000000000000000", value, q);
	return safe;
}

void add_access(struct generator *g, bool loads, const char *space, const char *address, uint32_t room)
{
	const uint32_t type = any(g, sizeof(types) / sizeof(*types)), size = types[type].size;
	uint32_t n = 1u << any(g, 3), offset;
	char list[96] = "", name[24];
	const char *registers[4];
	/* Local and constant memory is never volatile. */
	const char *order =
		strcmp(space, ".local") && strcmp(space, ".const") && strcmp(space, ".global.nc") && chance(g, 8)
			? ".volatile"
			: "";

	while (n * size > room || n * size > 16)
		n /= 2;
	offset = any(g, room / (n * size)) * n * size;
	for (uint32_t i = 0; i < n; i++) {
		const char *pool;

		/* A vector has different registers. */
		if (loads && n > 1) {
			pool = types[type].kind == 'i' ? "a" : NULL;
			if (pool)
				snprintf(name, sizeof(name), "%%a%u", i);
			else
				snprintf(name, sizeof(name), "%s",
					 temporary(g, types[type].kind == 's'	? 'y'
						      : types[type].kind == 'l' ? 'x'
						      : types[type].kind == 'f' ? 'e'
										: 'g'));
			registers[i] = NULL;
		} else {
			registers[i] = loads ? target(g, types[type].kind, LANE) : stored(g, types[type].kind);
			snprintf(name, sizeof(name), "%s", registers[i]);
		}
		strcat(list, i ? ", " : "");
		strcat(list, name);
	}
	if (loads)
		emit(g, "\tld%s%s%s.%s %s%s%s, [%s+%u];\n", order, space,
		     n == 4   ? ".v4"
		     : n == 2 ? ".v2"
			      : "",
		     types[type].type, n > 1 ? "{" : "", list, n > 1 ? "}" : "", address, offset);
	else
		emit(g, "\tst%s%s%s.%s [%s+%u], %s%s%s;\n", order, space,
		     n == 4   ? ".v4"
		     : n == 2 ? ".v2"
			      : "",
		     types[type].type, address, offset, n > 1 ? "{" : "", list, n > 1 ? "}" : "");
	/* What was loaded to new registers is used. */
	if (loads && n > 1 && types[type].kind != 'i') {
		const char kind = types[type].kind, *to = target(g, kind, LANE);
		const char letter = kind == 's' ? 'y' : kind == 'l' ? 'x' : kind == 'f' ? 'e' : 'g';
		const uint32_t last = g->numbers[(unsigned char)letter];

		emit(g, "\t%s %s, %%%c%u, %%%c%u;\n",
		     kind == 's'   ? "add.s16"
		     : kind == 'l' ? "xor.b64"
		     : kind == 'f' ? "add.f32"
				   : "mul.f64",
		     to, letter, last - n, letter, last - 1);
	}
}

static void add_in(struct generator *g)
{
	const char *t = temporary(g, 't'), *x = temporary(g, 'x');

	emit(g, "\tand.b32 %s, %s, %u;\n\tmul.wide.u32 %s, %s, 4;\n\tadd.s64 %s, %s, %%in;\n", t, source(g, 'i', LANE),
	     (GENERATOR_IN - 1) & ~3u, x, t, x, x);
	add_access(g, true, chance(g, 30) ? ".global.nc" : chance(g, 30) ? "" : ".global", x, 16);
}

static void add_table(struct generator *g)
{
	const bool is_const = chance(g, 50);
	const char *t = temporary(g, 't'), *x = temporary(g, 'x'), *y = temporary(g, 'x');

	emit(g, "\tand.b32 %s, %s, %u;\n\tcvt.u64.u32 %s, %s;\n\tmov.u64 %s, table_%s;\n\tadd.s64 %s, %s, %s;\n", t,
	     source(g, 'i', LANE), GENERATOR_TABLE - 16, x, t, y, is_const ? "const" : "global", x, x, y);
	add_access(g, true, is_const ? ".const" : ".global", x, 16);
}

/* The thread's own part of its row, and its local memory. */
static void add_own(struct generator *g)
{
	const bool loads = chance(g, 50);
	const char *x, *t;

	if (chance(g, 30)) {
		add_access(g, loads, chance(g, 50) ? ".global" : "", "%row+128", 64);
		return;
	}
	if (chance(g, 25)) {
		/* Local memory of the caller. */
		add_access(g, loads, "", "%own", 64);
		return;
	}
	x = temporary(g, 'x');
	t = temporary(g, 't');
	emit(g, "\tmov.u64 %s, own;\n", x);
	if (chance(g, 50)) {
		const char *y = temporary(g, 'x');

		emit(g, "\tand.b32 %s, %s, 48;\n\tcvt.u64.u32 %s, %s;\n\tadd.u64 %s, %s, %s;\n", t,
		     source(g, 'i', LANE), y, t, x, x, y);
		add_access(g, loads, ".local", x, 16);
		return;
	}
	if (chance(g, 30)) {
		emit(g, "\tcvta.local.u64 %s, %s;\n", x, x);
		add_access(g, loads, "", x, 64);
		return;
	}
	add_access(g, loads, ".local", x, 64);
}

void add_memory(struct generator *g, const struct context *context)
{
	(void)context;
	switch (any(g, 4)) {
	case 0: add_in(g); break;
	case 1: add_table(g); break;
	default: add_own(g); break;
	}
}

/* An access to the element of a shared array at @t. */
static void access_element(struct generator *g, const char *t, bool loads)
{
	const char *x;

	if (chance(g, 75)) {
		add_access(g, loads, ".shared", t, 16);
		return;
	}
	x = temporary(g, 'x');
	emit(g, "\tcvt.u64.u32 %s, %s;\n\tcvta.shared.u64 %s, %s;\n", x, t, x, x);
	add_access(g, loads, "", x, 16);
}

/* A register with the address of the element of this thread. */
static const char *own_element(struct generator *g, uint32_t array)
{
	const char *t = temporary(g, 't');

	emit(g, "\tmad.lo.u32 %s, %%lin, 16, %%k%u;\n", t, array);
	return t;
}

/* The same of any thread's element. */
static const char *any_element(struct generator *g, uint32_t array)
{
	const char *t = temporary(g, 't');

	emit(g, "\trem.u32 %s, %s, %u;\n\tmad.lo.u32 %s, %s, 16, %%k%u;\n", t, source(g, 'i', LANE), g->threads, t, t,
	     array);
	return t;
}

void add_shared(struct generator *g, const struct context *context)
{
	uint32_t array;

	if (!g->n_arrays) {
		add_memory(g, context);
		return;
	}
	array = g->first_array + any(g, g->n_arrays);
	if (context->readable >> array & 1)
		access_element(g, any_element(g, array), true);
	else if (g->busy >> array & 1)
		add_memory(g, context);
	else
		access_element(g, own_element(g, array), chance(g, 50));
}

/* ---- atomic operations: each place has one, whose order does not matter */

static const struct {
	const char *text;
	char kind;
} atomics[] = {
	{ "add.u32", 'i' }, { "min.u32", 'i' }, { "max.s32", 'i' }, { "and.b32", 'i' },
	{ "or.b32", 'i' },  { "xor.b32", 'i' }, { "inc.u32", 'n' }, { "add.f32", 'f' },
	{ "add.u64", 'l' }, { "max.u64", 'l' }, { "min.s64", 'l' }, { "xor.b64", 'l' },
};

#define FIRST_FLOAT 7
#define N_ATOMICS (sizeof(atomics) / sizeof(*atomics))

static void atomic(struct generator *g, const char *space, const char *address, uint32_t kind)
{
	const char *value = atomics[kind].kind == 'l' ? "%l1" : atomics[kind].kind == 'n' ? "1000" : "%a1", *e;

	if (atomics[kind].kind == 'f') {
		/* Small whole numbers, whose sums are exact. */
		const char *t = temporary(g, 't');

		e = temporary(g, 'e');
		emit(g, "\tand.b32 %s, %s, 31;\n\tcvt.rn.f32.u32 %s, %s;\n", t, source(g, 'i', LANE), e, t);
		value = e;
	}
	if (chance(g, 50)) {
		emit(g, "\tred%s.%s [%s], %s;\n", space, atomics[kind].text, address, value);
		return;
	}
	/* The old value depends on the order: it is not used. */
	emit(g, "\tatom%s%s.%s %s, [%s], %s;\n", chance(g, 20) ? ".relaxed.gpu" : "", space, atomics[kind].text,
	     temporary(g, atomics[kind].kind == 'l'   ? 'x'
			  : atomics[kind].kind == 'f' ? 'e'
						      : 't'),
	     address, value);
}

/* On the thread's own memory the old value is known. */
static void add_own_atomic(struct generator *g)
{
	static const char *const texts[] = { "exch.b32", "add.s32", "min.s32", "max.u32",
					     "dec.u32",	 "inc.u32", "xor.b32" };

	if (chance(g, 25))
		emit(g, "\tatom.global.cas.b32 %s, [%%row+128], %s, %s;\n", target(g, 'i', LANE), target(g, 'i', LANE),
		     source(g, 'i', LANE));
	else
		emit(g, "\tatom.global.%s %s, [%%row+132], %s;\n", texts[any(g, 7)], target(g, 'i', LANE),
		     source(g, 'i', LANE));
}

void add_atomic(struct generator *g, const struct context *context)
{
	const uint32_t kind = any(g, N_ATOMICS);
	const char *t, *x;

	(void)context;
	if (chance(g, 25)) {
		add_own_atomic(g);
		return;
	}
	if (chance(g, 20)) {
		/* Tickets: which thread gets which number depends on the order, but not the sum of all. */
		t = temporary(g, 't');
		emit(g, "\tatom.global.add.u32 %s, [%%sums+480], 1;\n\tred.global.add.u32 [%%sums+484], %s;\n", t, t);
		return;
	}
	t = temporary(g, 't');
	x = temporary(g, 'x');
	if (chance(g, 20)) {
		emit(g,
		     "\tand.b32 %s, %s, 60;\n\tcvt.u64.u32 %s, %s;\n\tmov.u64 %%x, own_sums;\n\tadd.u64 %s, %s, %%x;\n"
		     "\tred.global.add.u32 [%s], %s;\n",
		     t, source(g, 'i', LANE), x, t, x, x, x, source(g, 'i', LANE));
		return;
	}
	emit(g, "\tand.b32 %s, %s, %u;\n\tcvt.u64.u32 %s, %s;\n\tadd.u64 %s, %s, %%sums;\n", t, source(g, 'i', LANE),
	     atomics[kind].kind == 'l' ? 24 : 28, x, t, x, x);
	{
		char address[48];

		snprintf(address, sizeof(address), "%s+%u", x, 32 * (kind + 1));
		atomic(g, chance(g, 70) ? ".global" : "", address, kind);
	}
}

/* ---- exchanges between barriers */

/* Sometimes a guard that holds for all threads of the context, or for none. */
static const char *guard(struct generator *g, const struct context *context)
{
	static char text[24];

	*text = '\0';
	if (context->is_base && context->level < LANE && chance(g, 20))
		snprintf(text, sizeof(text), "@%s%s ", chance(g, 50) ? "!" : "", condition(g, context->level));
	return text;
}

static void barrier(struct generator *g)
{
	static const char *const texts[] = { "bar.sync 0", "bar.sync 0", "barrier.sync 0",
					     "bar.sync 5", "bar.sync 0", "barrier.sync.aligned 3" };

	/* A kernel without exchanges of warps keeps to the one barrier that the simple form needs. */
	if (g->has_warps && chance(g, 15)) {
		const char *t = temporary(g, 't');

		emit(g, "\tand.b32 %s, %s, 7;\n\tbar.sync %s;\n", t, source(g, 'i', UNIFORM), t);
		return;
	}
	emit(g, "\t%s;\n", g->has_warps ? texts[any(g, 6)] : "bar.sync 0");
}

/* The threads come to a barrier in different branches. */
static void split_barrier(struct generator *g, const struct context *context)
{
	const uint32_t label = g->labels++, id = g->has_warps ? any(g, 4) : 0;
	struct context inner = { .level = LANE, .readable = context->readable, .depth = context->depth + 1 };
	char q[24];

	snprintf(q, sizeof(q), "%s", condition(g, LANE));
	emit(g, "\t@%s bra $P%u;\n", q, label);
	add_statements(g, &inner, any(g, 3));
	emit(g, "\tbarrier.sync %u;\n", id);
	add_statements(g, &inner, any(g, 3));
	emit(g, "\tbra $Q%u;\n$P%u:\n", label, label);
	add_statements(g, &inner, any(g, 3));
	emit(g, "\tbarrier.sync %u;\n", id);
	add_statements(g, &inner, any(g, 3));
	emit(g, "$Q%u:\n", label);
}

/* A barrier that reduces a predicate: its result is the same for all. */
static void add_reduction(struct generator *g, const struct context *context)
{
	const char *q = temporary(g, 'q'), *source_q = condition(g, LANE);

	if (chance(g, 40)) {
		const char *own = guard(g, context);

		emit(g, "\t%sbar.red.popc.u32 %s, %u, %s%s;\n", own, target(g, 'i', UNIFORM), any(g, 4),
		     chance(g, 30) ? "!" : "", source_q);
		return;
	}
	emit(g, "\tbar.red.%s.pred %s, %u, %s;\n\tselp.b32 %s, %u, %u, %s;\n", chance(g, 50) ? "and" : "or", q,
	     any(g, 4), source_q, target(g, 'i', UNIFORM), any(g, 100), any(g, 100), q);
}

/* All threads write their elements, and read others' after a barrier. */
static void exchange_array(struct generator *g, const struct context *context, uint32_t array)
{
	struct context inner = *context;
	const bool sums = chance(g, 30);
	/* The elements of threads that have ended may be no small numbers, whose sums as floats are exact. */
	const uint32_t kind = any(g, g->has_exits ? FIRST_FLOAT : FIRST_FLOAT + 1);
	const char *start = kind == FIRST_FLOAT ? "0" : "%u1";

	/* The loop must not be left in between: all threads have to come to the last barrier. */
	inner.loop = NULL;
	g->busy |= 1u << array;
	if (sums) {
		emit(g, "\tst.shared.v4.u32 [%s], {%s, %s, %s, %s};\n", own_element(g, array), start, start, start,
		     start);
		barrier(g);
		for (uint32_t i = 0; i < 2; i++)
			atomic(g, ".shared", any_element(g, array), kind);
		inner.depth++;
		add_statements(g, &inner, any(g, 2));
	} else {
		access_element(g, own_element(g, array), false);
	}
	barrier(g);
	inner.readable |= 1u << array;
	inner.depth++;
	access_element(g, any_element(g, array), true);
	add_statements(g, &inner, any(g, 4));
	if (chance(g, 30)) {
		/* A value that is the same for all. */
		emit(g, "\tld.shared.u32 %s, [%%k%u+%u];\n", target(g, 'i', UNIFORM), array, 4 * any(g, 4));
	}
	barrier(g);
	g->busy &= ~(1u << array);
}

/*
 * Some of the warps use a barrier of their own. Other warps must not come to a barrier of the same number before these
 * have left it.
 */
#define FIRST_BARRIER 8
#define MOST_BARRIERS 8

static void exchange_warps(struct generator *g, uint32_t array)
{
	const uint32_t n = 1 + any(g, (g->threads + 31) / 32), label = g->labels++;
	const char *q = temporary(g, 'q'), *t = temporary(g, 't');
	const uint32_t id = FIRST_BARRIER + g->n_barriers++;

	emit(g, "\tsetp.ge.u32 %s, %%warp, %u;\n\t@%s bra $S%u;\n", q, n, q, label);
	access_element(g, own_element(g, array), false);
	if (chance(g, 40)) {
		const char *id_text = temporary(g, 't'), *n_text = temporary(g, 't');

		emit(g, "\tmov.u32 %s, %u;\n\tmov.u32 %s, %u;\n\tbar.sync %s, %s;\n", id_text, id, n_text, 32 * n,
		     id_text, n_text);
	} else {
		emit(g, "\tbar.sync %u, %u;\n", id, 32 * n);
	}
	emit(g, "\trem.u32 %s, %s, %u;\n\tmad.lo.u32 %s, %s, 16, %%k%u;\n", t, source(g, 'i', LANE),
	     32 * n < g->threads ? 32 * n : g->threads, t, t, array);
	access_element(g, t, true);
	emit(g, "\tbar.sync %u, %u;\n$S%u:\n", id, 32 * n, label);
}

void add_exchange(struct generator *g, const struct context *context)
{
	const uint32_t array = g->first_array + (g->n_arrays ? any(g, g->n_arrays) : 0);

	if (context->depth < 3 && chance(g, 10)) {
		split_barrier(g, context);
		return;
	}
	if (!g->n_arrays || g->busy >> array & 1 || chance(g, 10)) {
		if (g->has_warps)
			add_reduction(g, context);
		else
			barrier(g);
		return;
	}
	if (g->has_warps && !g->has_exits && g->n_barriers < MOST_BARRIERS && chance(g, 20)) {
		exchange_warps(g, array);
		return;
	}
	exchange_array(g, context, array);
}

/* ---- exchanges in a warp */

static bool is_full(const struct generator *g, const struct context *context)
{
	return context->is_base && !g->has_exits && g->threads % 32 == 0;
}

/* A shuffle; a lane that would read from one that is not there gets 0. */
static void add_shuffle(struct generator *g, const struct context *context)
{
	static const char *const modes[] = { "up", "down", "bfly", "idx" };
	static const char *const sources[] = { "sub.u32", "add.u32", "xor.b32" };
	const uint32_t mode = any(g, 4);
	const char *b = temporary(g, 't'), *d = target(g, 'i', LANE), *q, *t, *bit;

	emit(g, "\tand.b32 %s, %s, 31;\n", b, source(g, 'i', chance(g, 50) ? WARP : LANE));
	if (is_full(g, context)) {
		const uint32_t width = 1u << any(g, 6), clamp = chance(g, 70) ? mode ? 31 : 0 : any(g, 32);

		q = temporary(g, 'q');
		emit(g, "\tshfl.sync.%s.b32 %s|%s, %s, %s, %u, %s;\n\tselp.b32 %s, %s, %s, %s;\n", modes[mode], d, q,
		     target(g, 'i', LANE), b, (32 - width) << 8 | clamp, context->mask, target(g, 'i', LANE), d,
		     source(g, 'i', LANE), q);
		return;
	}
	t = temporary(g, 't');
	bit = temporary(g, 't');
	q = temporary(g, 'q');
	if (mode == 3)
		emit(g, "\tmov.u32 %s, %s;\n", t, b);
	else
		emit(g, "\tmov.u32 %s, %%laneid;\n\t%s %s, %s, %s;\n", t, sources[mode], t, t, b);
	/* Outside of the warp the own value is the result, and else the lane has to be there. */
	emit(g, "\tshfl.sync.%s.b32 %s|%s, %s, %s, %u, %s;\n\tshr.u32 %s, %s, %s;\n\tand.b32 %s, %s, 1;\n", modes[mode],
	     d, q, target(g, 'i', LANE), b, mode ? 31 : 0, context->mask, bit, context->mask, t, bit, bit);
	t = temporary(g, 'q');
	emit(g, "\tsetp.ne.or.s32 %s, %s, 0, !%s;\n", t, bit, q);
	emit(g, "\tselp.b32 %s, %s, 0, %s;\n", d, d, t);
}

static void add_vote(struct generator *g, const struct context *context)
{
	static const char *const modes[] = { "any", "all", "uni" };
	const char *q = condition(g, LANE), *p = temporary(g, 'q');
	const enum level level = context->is_base && context->level <= WARP && chance(g, 50) ? WARP : LANE;
	const char *no = chance(g, 30) ? "!" : "";

	if (chance(g, 50)) {
		const char *own = guard(g, context);

		emit(g, "\t%svote.sync.ballot.b32 %s, %s%s, %s;\n", own, target(g, 'i', level), no, q, context->mask);
	} else {
		emit(g, "\tvote.sync.%s.pred %s, %s%s, %s;\n\tselp.b32 %s, %u, %s, %s;\n", modes[any(g, 3)], p, no, q,
		     context->mask, target(g, 'i', level), any(g, 50), source(g, 'i', level), p);
	}
}

static void add_match(struct generator *g, const struct context *context)
{
	const char *t = temporary(g, 't'), *x = temporary(g, 'x');

	emit(g, "\tand.b32 %s, %s, %u;\n", t, source(g, 'i', LANE), chance(g, 50) ? 3 : 0);
	if (chance(g, 30))
		emit(g, "\tcvt.u64.u32 %s, %s;\n\tmatch.any.sync.b64 %s, %s, %s;\n", x, t, target(g, 'i', LANE), x,
		     context->mask);
	else if (chance(g, 50))
		emit(g, "\tmatch.any.sync.b32 %s, %s, %s;\n", target(g, 'i', LANE), t, context->mask);
	else
		emit(g, "\tmatch.all.sync.b32 %s|%%p%u, %s, %s;\n", target(g, 'i', LANE), any(g, 3), t, context->mask);
}

/* The lanes come to a barrier, or to an exchange, in different branches. */
static void split_warp(struct generator *g, const struct context *context)
{
	const uint32_t label = g->labels++, roll = any(g, 4), operation = any(g, 3);
	struct context inner = { .level = LANE, .readable = context->readable, .depth = context->depth + 1 };
	static const char *const operations[] = { "add.u32", "and.b32", "max.s32" };
	char q[24];

	snprintf(q, sizeof(q), "%s", condition(g, LANE));
	emit(g, "\t@%s bra $P%u;\n", q, label);
	for (int i = 0; i < 2; i++) {
		add_statements(g, &inner, any(g, 3));
		if (roll)
			emit(g, "\tbar.warp.sync %s;\n", context->mask);
		else
			emit(g, "\tredux.sync.%s %s, %s, %s;\n", operations[operation], target(g, 'i', LANE),
			     target(g, 'i', LANE), context->mask);
		add_statements(g, &inner, any(g, 3));
		if (i == 0)
			emit(g, "\tbra $Q%u;\n$P%u:\n", label, label);
	}
	emit(g, "$Q%u:\n", label);
}

/* Lanes exchange values by shared memory. */
static void add_warp_exchange(struct generator *g, const struct context *context)
{
	const uint32_t array = g->first_array + (g->n_arrays ? any(g, g->n_arrays) : 0);
	const char *t;

	if (!g->n_arrays || g->busy >> array & 1 || !context->is_base) {
		emit(g, "\tbar.warp.sync %s;\n", context->mask);
		return;
	}
	access_element(g, own_element(g, array), false);
	emit(g, "\tbar.warp.sync %s;\n", context->mask);
	t = temporary(g, 't');
	emit(g, "\tlop3.b32 %s, %%lin, %s, 31, 0xd8;\n\tmin.u32 %s, %s, %u;\n\tmad.lo.u32 %s, %s, 16, %%k%u;\n", t,
	     source(g, 'i', LANE), t, t, g->threads - 1, t, t, array);
	access_element(g, t, true);
	emit(g, "\tbar.warp.sync %s;\n", context->mask);
}

void add_warp(struct generator *g, const struct context *context)
{
	static const char *const reductions[] = { "add.s32", "add.u32", "min.s32", "min.u32", "max.s32",
						  "max.u32", "and.b32", "or.b32",  "xor.b32" };
	const char *own;

	if (context->depth < 3 && chance(g, 15)) {
		split_warp(g, context);
		return;
	}
	switch (any(g, 7)) {
	case 0:
	case 1:
	case 6: add_shuffle(g, context); break;
	case 2: add_vote(g, context); break;
	case 3: add_match(g, context); break;
	case 4:
		own = guard(g, context);
		emit(g, "\t%sredux.sync.%s %s, %s, %s;\n", own, reductions[any(g, 9)], target(g, 'i', LANE),
		     target(g, 'i', LANE), context->mask);
		break;
	default: add_warp_exchange(g, context); break;
	}
}

/* ---- control flow */

static enum level choose_level(struct generator *g, const struct context *context)
{
	return chance(g, 60) ? LANE : context->level + any(g, LANE + 1 - context->level);
}

/* The lanes of the context whose condition holds, or does not. */
static void narrow(struct generator *g, const struct context *context, const char *q, bool holds, struct context *inner)
{
	const char *t;

	*inner->mask = '\0';
	inner->is_base = false;
	if (!*context->mask || !g->has_warps)
		return;
	t = temporary(g, 't');
	emit(g, "\tvote.sync.ballot.b32 %s, %s%s, %s;\n", t, holds ? "" : "!", q, context->mask);
	snprintf(inner->mask, sizeof(inner->mask), "%s", t);
}

static void add_if(struct generator *g, const struct context *context)
{
	const enum level level = choose_level(g, context);
	const uint32_t label = g->labels;
	const bool has_else = chance(g, 50);
	const char *masked = chance(g, 60) ? "yes" : NULL;
	struct context then = *context, other = *context;
	char q[24];

	g->labels += 2;
	snprintf(q, sizeof(q), "%s", condition(g, level));
	then.level = other.level = level > context->level ? level : context->level;
	then.depth = other.depth = context->depth + 1;
	if (level == LANE && masked) {
		narrow(g, context, q, true, &then);
		narrow(g, context, q, false, &other);
	} else if (level == LANE) {
		*then.mask = *other.mask = '\0';
		then.is_base = other.is_base = false;
	}
	emit(g, "\t@!%s bra%s $E%u;\n", q, level == UNIFORM && chance(g, 50) ? ".uni" : "", label);
	add_statements(g, &then, 1 + any(g, 4));
	if (has_else)
		emit(g, "\tbra $E%u;\n", label + 1);
	emit(g, "$E%u:\n", label);
	if (has_else) {
		add_statements(g, &other, 1 + any(g, 4));
		emit(g, "$E%u:\n", label + 1);
	}
}

static void add_loop(struct generator *g, const struct context *context)
{
	const enum level level = choose_level(g, context);
	struct loop loop = { .level = level, .label = g->labels++ };
	struct context inner = *context;
	const bool masked = chance(g, 60) && *context->mask && g->has_warps, first = chance(g, 50);
	char count[24], trips[24], q[24], mask[16];
	bool waits;

	snprintf(count, sizeof(count), "%s", temporary(g, 't'));
	snprintf(trips, sizeof(trips), "%s", temporary(g, 't'));
	snprintf(mask, sizeof(mask), "%s", temporary(g, 't'));
	snprintf(q, sizeof(q), "%s", temporary(g, 'q'));
	inner.loop = &loop;
	inner.level = level > context->level ? level : context->level;
	inner.depth++;
	emit(g, "\tmov.u32 %s, 0;\n\tand.b32 %s, %s, 3;\n", count, trips, source(g, 'i', level));
	if (level < LANE) {
		loop.may_leave = true;
	} else if (masked) {
		/* In each round, the lanes that are still there. */
		inner.is_base = false;
		snprintf(inner.mask, sizeof(inner.mask), "%s", mask);
		emit(g, "\tmov.b32 %s, %s;\n", mask, context->mask);
	} else {
		loop.may_leave = true;
		inner.is_base = false;
		*inner.mask = '\0';
	}
	emit(g, "$A%u:\n", loop.label);
	if (level == LANE && masked) {
		emit(g, "\tsetp.le.u32 %s, %s, %s;\n\tvote.sync.ballot.b32 %s, %s, %s;\n\t@!%s bra $B%u;\n", q, count,
		     trips, mask, q, mask, q, loop.label);
		add_statements(g, &inner, 1 + any(g, 4));
		emit(g, "\tadd.u32 %s, %s, 1;\n\tbra $A%u;\n$B%u:\n", count, count, loop.label, loop.label);
		return;
	}
	/* For all that lib/ptx knows, the loop may wait until another thread changes memory. */
	waits = level == LANE && chance(g, 30);
	if (first)
		emit(g, "\tsetp.ge.u32 %s, %s, %s;\n\t@%s bra $B%u;\n", q, count, trips, q, loop.label);
	add_statements(g, &inner, 1 + any(g, 4));
	emit(g, "$C%u:\n\tadd.u32 %s, %s, 1;\n", loop.label, count, count);
	if (waits)
		emit(g, "\tld.volatile.global.u32 %s, [%%row+144];\n\tand.b32 %s, %s, 3;\n", trips, trips, trips);
	if (first)
		emit(g, "\tbra $A%u;\n$B%u:\n", loop.label, loop.label);
	else
		emit(g, "\tsetp.lt.u32 %s, %s, %s;\n\t@%s bra $A%u;\n$B%u:\n", q, count, trips, q, loop.label,
		     loop.label);
}

/* A switch: a table of labels; a case may continue with the next one. */
static void add_switch(struct generator *g, const struct context *context)
{
	const enum level level = choose_level(g, context);
	const uint32_t n = 2 + any(g, 3), label = g->labels++;
	const bool masked = level == LANE && *context->mask && g->has_warps && chance(g, 50);
	const bool falls = !masked && chance(g, 30), twice = !masked && chance(g, 30);
	struct context inner = *context;
	const char *t = temporary(g, 't');

	inner.level = level > context->level ? level : context->level;
	inner.depth++;
	emit(g, "\trem.u32 %s, %s, %u;\n", t, source(g, 'i', level), n);
	if (level == LANE) {
		inner.is_base = false;
		*inner.mask = '\0';
	}
	if (masked) {
		snprintf(inner.mask, sizeof(inner.mask), "%s", temporary(g, 't'));
		emit(g, "\tmatch.any.sync.b32 %s, %s, %s;\n", inner.mask, t, context->mask);
	}
	emit(g, "\t$T%u: .branchtargets $D%u_0", label, label);
	for (uint32_t i = 1; i < n; i++)
		emit(g, ", $D%u_%u", label, twice && i == n - 1 ? 0 : i);
	emit(g, ";\n\tbrx.idx %s, $T%u;\n", t, label);
	for (uint32_t i = 0; i < n; i++) {
		emit(g, "$D%u_%u:\n", label, i);
		add_statements(g, &inner, any(g, 3));
		if (!falls || chance(g, 50))
			emit(g, "\tbra $F%u;\n", label);
	}
	emit(g, "$F%u:\n", label);
}

/* Some threads end. */
static void add_exit(struct generator *g, const struct context *context)
{
	char q[24];
	const char *t;

	snprintf(q, sizeof(q), "%s", condition(g, LANE));
	if (g->has_warps) {
		t = temporary(g, 't');
		emit(g, "\tvote.sync.ballot.b32 %s, !%s, %%base;\n\t@!%s mov.b32 %%base, %s;\n", t, q, q, t);
	}
	if (chance(g, 50))
		emit(g, "\t@%s st.global.u32 [%%row+136], %s;\n", q, target(g, 'i', context->level));
	/* In a function, ret would not end the thread. */
	if (g->is_kernel && chance(g, 50))
		emit(g, "\t@%s ret;\n", q);
	else
		emit(g, "\t@%s exit;\n", q);
}

void add_control(struct generator *g, const struct context *context)
{
	const uint32_t roll = any(g, 100);

	if (roll < 12 && context->loop && context->loop->may_leave && context->loop->level == context->level) {
		emit(g, "\t@%s bra $%c%u;\n", condition(g, context->level), chance(g, 50) ? 'B' : 'C',
		     context->loop->label);
		return;
	}
	/* Without exchanges of warps no mask has to be kept: threads may end anywhere. */
	if (roll < 22 && g->has_exits &&
	    (!g->has_warps || (g->is_kernel && context->level <= WARP && context->is_base))) {
		add_exit(g, context);
		return;
	}
	if (roll < 28 && !g->is_kernel && g->self.is_pure) {
		emit(g, "\t@%s bra $end;\n", condition(g, LANE));
		return;
	}
	if (roll < 60)
		add_if(g, context);
	else if (roll < 85)
		add_loop(g, context);
	else
		add_switch(g, context);
}

/* ---- calls */

static void call(struct generator *g, const struct context *context, uint32_t index, const char *depth)
{
	const struct callee *callee = &g->functions[index];
	const uint32_t n = g->labels++;
	char name[64], result[8], *safe;
	static char kept[24];

	snprintf(name, sizeof(name), "function_%llu_%u", (unsigned long long)g->seed, index);
	snprintf(result, sizeof(result), "%s",
		 callee->result == 'v'	 ? "b8"
		 : callee->result == 'l' ? "b64"
		 : callee->result == 'f' ? "f32"
					 : "b32");
	safe = kept;
	snprintf(kept, sizeof(kept), "%s", stored(g, 'f'));
	emit(g,
	     "\t{\n\t.param .b32 x%u;\n\t.param .b64 y%u;\n\t.param .f32 z%u;\n\t.param .b32 n%u;\n"
	     "\t.param .b32 m%u;\n\t.param .align 16 .b8 s%u[32];\n\t.param .b32 d%u;\n",
	     n, n, n, n, n, n, n);
	emit(g, "\t.param .align 16 .%s o%u%s;\n", result, n, callee->result == 'v' ? "[16]" : "");
	emit(g, "\tst.param.b32 [x%u], %s;\n\tst.param.b64 [y%u], %s;\n\tst.param.f32 [z%u], %s;\n", n,
	     target(g, 'i', LANE), n, target(g, 'l', LANE), n, safe);
	emit(g,
	     "\tst.param.b32 [n%u], %%u%u;\n\tst.param.b32 [m%u], %s;\n\tst.param.v2.b64 [s%u], {%%in, %%row};\n"
	     "\tmov.u64 %%x, own;\n\tcvta.local.u64 %%x, %%x;\n\tst.param.v2.b64 [s%u+16], {%%sums, %%x};\n"
	     "\tst.param.b32 [d%u], %s;\n",
	     n, any(g, 2), n, callee->has_mask ? context->mask : "%base", n, n, n, depth);
	if (callee->is_pure && chance(g, 20)) {
		emit(g,
		     "\tmov.u64 %%x, %s;\n\tproto%u: .callprototype (.param .align 16 .%s _%s) _ (.param .b32 _, "
		     ".param .b64 _, .param .f32 _, .param .b32 _, .param .b32 _, .param .align 16 .b8 _[32], "
		     ".param .b32 _);\n",
		     name, n, result, callee->result == 'v' ? "[16]" : "");
		snprintf(name, sizeof(name), "%%x");
	}
	emit(g, "\tcall (o%u), %s, (x%u, y%u, z%u, n%u, m%u, s%u, d%u)", n, name, n, n, n, n, n, n, n);
	if (!strcmp(name, "%x"))
		emit(g, ", proto%u", n);
	emit(g, ";\n");
	if (callee->result == 'v')
		emit(g, "\tld.param.v2.b32 {%%a0, %%a2}, [o%u];\n\tld.param.b64 %%l1, [o%u+8];\n", n, n);
	else
		emit(g, "\tld.param.%s %s, [o%u];\n", result, target(g, callee->result, LANE), n);
	emit(g, "\t}\n");
}

static bool may_call(const struct generator *g, const struct context *context, const struct callee *callee)
{
	if (callee->is_pure)
		return true;
	if (callee->has_mask)
		return *context->mask;
	return context->level == UNIFORM && context->is_base && (g->is_kernel || !g->self.is_pure);
}

void add_call(struct generator *g, const struct context *context)
{
	uint32_t index;

	if (!g->is_kernel && g->self.is_recursive && chance(g, 40)) {
		const uint32_t label = g->labels++;
		const char *t = temporary(g, 't'), *q = temporary(g, 'q');
		char depth[24];

		/* One call of itself in each function, as it may be in a loop. */
		g->self.is_recursive = false;
		g->functions[g->n_functions] = g->self;
		snprintf(depth, sizeof(depth), "%s", t);
		emit(g,
		     "\tld.param.b32 %s, [pdepth];\n\tsetp.eq.u32 %s, %s, 0;\n\t@%s bra $R%u;\n\tsub.u32 %s, %s, 1;\n",
		     t, q, t, q, label, t, t);
		call(g, context, g->n_functions, depth);
		emit(g, "$R%u:\n", label);
		return;
	}
	if (!g->n_functions) {
		add_arithmetic(g, context);
		return;
	}
	index = any(g, g->n_functions);
	if (!may_call(g, context, &g->functions[index])) {
		add_memory(g, context);
		return;
	}
	call(g, context, index, chance(g, 50) ? "2" : "0");
}
