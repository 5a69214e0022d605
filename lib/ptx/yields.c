/* SPDX-License-Identifier: MIT */
/* yields.c - see yields.h. */
#include "yields.h"

#include "blocks.h"

/* What a yield does, by its opcode and its operation. */
static const struct {
	const char *opcode, *operation, *type, *name;	/* type NULL: any */
} kinds[] = {
	{ "shfl", "up", NULL, "PTX_SHFL_UP" },
	{ "shfl", "down", NULL, "PTX_SHFL_DOWN" },
	{ "shfl", "bfly", NULL, "PTX_SHFL_BFLY" },
	{ "shfl", "idx", NULL, "PTX_SHFL_IDX" },
	{ "vote", "any", NULL, "PTX_VOTE_ANY" },
	{ "vote", "all", NULL, "PTX_VOTE_ALL" },
	{ "vote", "uni", NULL, "PTX_VOTE_UNI" },
	{ "vote", "ballot", NULL, "PTX_VOTE_BALLOT" },
	{ "match", "any", NULL, "PTX_MATCH_ANY" },
	{ "match", "all", NULL, "PTX_MATCH_ALL" },
	{ "redux", "add", NULL, "PTX_REDUX_ADD" },
	{ "redux", "and", NULL, "PTX_REDUX_AND" },
	{ "redux", "or", NULL, "PTX_REDUX_OR" },
	{ "redux", "xor", NULL, "PTX_REDUX_XOR" },
	{ "redux", "min", "s32", "PTX_REDUX_MIN_S" },
	{ "redux", "max", "s32", "PTX_REDUX_MAX_S" },
	{ "redux", "min", "u32", "PTX_REDUX_MIN_U" },
	{ "redux", "max", "u32", "PTX_REDUX_MAX_U" },
	{ "activemask", "activemask", NULL, "PTX_MEET" },
	{ "bar", "popc", NULL, "PTX_RED_POPC" },
	{ "bar", "and", NULL, "PTX_RED_AND" },
	{ "bar", "or", NULL, "PTX_RED_OR" },
	{ "bar", "sync", NULL, "PTX_MEET" },
	{ "barrier", "popc", NULL, "PTX_RED_POPC" },
	{ "barrier", "and", NULL, "PTX_RED_AND" },
	{ "barrier", "or", NULL, "PTX_RED_OR" },
	{ "barrier", "sync", NULL, "PTX_MEET" },
};

static bool is_barrier(const struct adsm_ptx_instruction *yield)
{
	return !adsm_ptx_is_warp_yield(yield) && !adsm_ptx_suspends(yield);
}

bool adsm_ptx_suspends(const struct adsm_ptx_instruction *yield)
{
	return adsm_ptx_is_grid_sync(yield) || adsm_ptx_is_spin(yield);
}

static bool is_reduction(const struct adsm_ptx_instruction *yield)
{
	return is_barrier(yield) && adsm_ptx_has(yield, "red");
}

bool adsm_ptx_is_plain_barrier(const struct adsm_ptx_instruction *yield)
{
	return is_barrier(yield) && !is_reduction(yield) && yield->n == 1 &&
	       yield->operands[0].kind == ADSM_PTX_OP_INTEGER && yield->operands[0].bits == 0;
}

bool adsm_ptx_yield_defines(const struct adsm_ptx_instruction *yield, uint32_t reg)
{
	const struct adsm_ptx_operand *to = &yield->operands[0];

	if (adsm_ptx_suspends(yield) || (is_barrier(yield) ? !is_reduction(yield) : adsm_ptx_has(yield, "warp")))
		return false;
	if (to->kind == ADSM_PTX_OP_REGISTER)
		return to->reg == reg;
	for (uint32_t i = 0; to->kind == ADSM_PTX_OP_PAIR && i < to->n; i++) {
		if (to->elements[i].kind == ADSM_PTX_OP_REGISTER && to->elements[i].reg == reg)
			return true;
	}
	return false;
}

void adsm_ptx_write_yield(struct adsm_ptx_writer *writer, const struct adsm_ptx_instruction *yield)
{
	writer->instruction = yield;
	if (adsm_ptx_suspends(yield)) {
		adsm_ptx_print(writer, "\t{ %s, PTX_MEET, %d },\n", adsm_ptx_is_spin(yield) ? "PTX_SPIN" : "PTX_GRID",
			       yield->line);
		return;
	}
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (!adsm_ptx_is(yield, kinds[i].opcode) ||
		    (!adsm_ptx_has(yield, kinds[i].operation) && !adsm_ptx_is(yield, kinds[i].operation)))
			continue;
		if (kinds[i].type && !adsm_ptx_has(yield, kinds[i].type))
			continue;
		adsm_ptx_print(writer, "\t{ %s, %s, %d },\n", is_barrier(yield) ? "PTX_BARRIER" :
			       adsm_ptx_is(yield, "activemask") ? "PTX_ACTIVE" : "PTX_WARP", kinds[i].name,
			       yield->line);
		return;
	}
	adsm_ptx_refuse(writer, "this way for threads to exchange values is not supported");
}

/* A store of an operand to the thread's entry of an array. */
static void give(struct adsm_ptx_writer *writer, const char *array, const struct adsm_ptx_operand *operand,
		 enum adsm_ptx_type type)
{
	adsm_ptx_print(writer, "s->%s[t] = ", array);
	adsm_ptx_read(writer, operand, type);
	adsm_ptx_print(writer, "; ");
}

/* The lanes that take part: the operand, or all if the instruction is the old form without .sync. */
static void give_mask(struct adsm_ptx_writer *writer, const struct adsm_ptx_instruction *yield, uint32_t operand)
{
	if (operand < yield->n)
		give(writer, "mask", &yield->operands[operand], ADSM_PTX_u32);
	else
		adsm_ptx_print(writer, "s->mask[t] = ~0u; ");
}

static void give_to_barrier(struct adsm_ptx_writer *writer, const struct adsm_ptx_instruction *yield)
{
	const bool reduces = is_reduction(yield);
	/* Its index, and the end of index and count. */
	const uint32_t first = reduces, last = yield->n - reduces;

	if (yield->n < 1 + 2 * (uint32_t)reduces)
		adsm_ptx_refuse(writer, "it needs the index of a barrier");
	give(writer, "b", &yield->operands[first], ADSM_PTX_u32);
	if (first + 1 < last)
		give(writer, "c", &yield->operands[first + 1], ADSM_PTX_u32);
	else
		adsm_ptx_print(writer, "s->c[t] = 0; ");
	if (reduces)
		give(writer, "a", &yield->operands[yield->n - 1], ADSM_PTX_pred);
	else
		adsm_ptx_print(writer, "s->a[t] = 0; ");
}

void adsm_ptx_write_give(struct adsm_ptx_writer *writer, const struct adsm_ptx_instruction *yield)
{
	const struct adsm_ptx_operand *operands = yield->operands;
	const enum adsm_ptx_type type = adsm_ptx_type_of(yield);

	/* The plain form has no arrays for values. */
	if (adsm_ptx_suspends(yield)) {
		return;
	} else if (adsm_ptx_is_plain_barrier(yield)) {
		adsm_ptx_print(writer, "PTX_GIVE_PLAIN ");
	} else if (is_barrier(yield)) {
		give_to_barrier(writer, yield);
	} else if (adsm_ptx_is(yield, "shfl")) {
		give(writer, "a", &operands[1], ADSM_PTX_u32);
		give(writer, "b", &operands[2], ADSM_PTX_u32);
		give(writer, "c", &operands[3], ADSM_PTX_u32);
		give_mask(writer, yield, 4);
	} else if (adsm_ptx_is(yield, "vote")) {
		give(writer, "a", &operands[1], ADSM_PTX_pred);
		give_mask(writer, yield, 2);
	} else if (adsm_ptx_is(yield, "match") && adsm_ptx_size(type) == 8) {
		adsm_ptx_print(writer, "{ const uint64_t m = ");
		adsm_ptx_read(writer, &operands[1], ADSM_PTX_u64);
		adsm_ptx_print(writer, "; s->a[t] = (uint32_t)m; s->b[t] = (uint32_t)(m >> 32); } ");
		give_mask(writer, yield, 2);
	} else if (adsm_ptx_is(yield, "match") || adsm_ptx_is(yield, "redux")) {
		give(writer, "a", &operands[1], ADSM_PTX_u32);
		adsm_ptx_print(writer, "s->b[t] = 0; ");
		give_mask(writer, yield, 2);
	} else if (adsm_ptx_has(yield, "warp")) {
		give_mask(writer, yield, 0);
	}
}

static void take(struct adsm_ptx_writer *writer, const struct adsm_ptx_operand *operand, enum adsm_ptx_type type,
		 const char *array)
{
	if (operand->kind == ADSM_PTX_OP_SINK)
		return;
	adsm_ptx_begin(writer, operand, type);
	adsm_ptx_print(writer, "s->%s[t]", array);
	adsm_ptx_end(writer, operand, type);
}

void adsm_ptx_write_take(struct adsm_ptx_writer *writer, const struct adsm_ptx_instruction *yield)
{
	const struct adsm_ptx_operand *to = &yield->operands[0];
	enum adsm_ptx_type type = ADSM_PTX_u32;

	writer->instruction = yield;
	if (adsm_ptx_suspends(yield) || (is_barrier(yield) ? !is_reduction(yield) : adsm_ptx_has(yield, "warp")))
		return;
	if (is_barrier(yield) ? !adsm_ptx_has(yield, "popc") :
	    adsm_ptx_is(yield, "vote") && !adsm_ptx_has(yield, "ballot"))
		type = ADSM_PTX_pred;
	if (to->kind == ADSM_PTX_OP_PAIR) {
		take(writer, &to->elements[0], ADSM_PTX_b32, "result");
		take(writer, &to->elements[1], ADSM_PTX_pred, "flag");
	} else {
		take(writer, to, type == ADSM_PTX_u32 ? ADSM_PTX_b32 : type, "result");
	}
}
