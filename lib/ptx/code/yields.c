/* SPDX-License-Identifier: MIT */
/* yields.c - see yields.h. */
#include "yields.h"

#include "ptx/control/blocks.h"
#include "list.h"

/* The text of a form is what the yield does: a word of runtime_block.h. */
const struct adsm_ptx_form adsm_ptx_yield_forms[] = {
	{ "shfl", "?sync up", "b32", 0, "PTX_SHFL_UP", NULL },
	{ "shfl", "?sync down", "b32", 0, "PTX_SHFL_DOWN", NULL },
	{ "shfl", "?sync bfly", "b32", 0, "PTX_SHFL_BFLY", NULL },
	{ "shfl", "?sync idx", "b32", 0, "PTX_SHFL_IDX", NULL },
	{ "vote", "?sync any", "pred", 0, "PTX_VOTE_ANY", NULL },
	{ "vote", "?sync all", "pred", 0, "PTX_VOTE_ALL", NULL },
	{ "vote", "?sync uni", "pred", 0, "PTX_VOTE_UNI", NULL },
	{ "vote", "?sync ballot", "b32", 0, "PTX_VOTE_BALLOT", NULL },
	{ "match", "any sync", "b32 b64", 0, "PTX_MATCH_ANY", NULL },
	{ "match", "all sync", "b32 b64", 0, "PTX_MATCH_ALL", NULL },
	{ "redux", "sync add", "u32 s32", 0, "PTX_REDUX_ADD", NULL },
	{ "redux", "sync and", "b32", 0, "PTX_REDUX_AND", NULL },
	{ "redux", "sync or", "b32", 0, "PTX_REDUX_OR", NULL },
	{ "redux", "sync xor", "b32", 0, "PTX_REDUX_XOR", NULL },
	{ "redux", "sync min", "s32", 0, "PTX_REDUX_MIN_S", NULL },
	{ "redux", "sync max", "s32", 0, "PTX_REDUX_MAX_S", NULL },
	{ "redux", "sync min", "u32", 0, "PTX_REDUX_MIN_U", NULL },
	{ "redux", "sync max", "u32", 0, "PTX_REDUX_MAX_U", NULL },
	{ "activemask", "", "b32", 0, "PTX_MEET", NULL },
	{ "bar", "warp sync", "", 0, "PTX_MEET", NULL },
	{ "bar", "?cta sync", "", 0, "PTX_MEET", NULL },
	{ "bar", "?cta red popc", "u32", 0, "PTX_RED_POPC", NULL },
	{ "bar", "?cta red and", "pred", 0, "PTX_RED_AND", NULL },
	{ "bar", "?cta red or", "pred", 0, "PTX_RED_OR", NULL },
	{ "barrier", "?cta sync ?aligned", "", 0, "PTX_MEET", NULL },
	{ "barrier", "?cta red popc ?aligned", "u32", 0, "PTX_RED_POPC", NULL },
	{ "barrier", "?cta red and ?aligned", "pred", 0, "PTX_RED_AND", NULL },
	{ "barrier", "?cta red or ?aligned", "pred", 0, "PTX_RED_OR", NULL },
	{ "mma", "sync aligned m16n8k8 row col", "f32.f16.f16.f32", 0, "PTX_MMA_F16_8", NULL },
	{ "mma", "sync aligned m16n8k16 row col", "f32.f16.f16.f32", 0, "PTX_MMA_F16_16", NULL },
	{ "mma", "sync aligned m16n8k8 row col", "f16.f16.f16.f16", 0, "PTX_MMA_HALF_8", NULL },
	{ "mma", "sync aligned m16n8k16 row col", "f16.f16.f16.f16", 0, "PTX_MMA_HALF_16", NULL },
	{ "mma", "sync aligned m16n8k8 row col", "f32.bf16.bf16.f32", 0, "PTX_MMA_BF16_8", NULL },
	{ "mma", "sync aligned m16n8k16 row col", "f32.bf16.bf16.f32", 0, "PTX_MMA_BF16_16", NULL },
	{ "mma", "sync aligned m16n8k4 row col", "f32.tf32.tf32.f32", 0, "PTX_MMA_TF32_4", NULL },
	{ "mma", "sync aligned m16n8k8 row col", "f32.tf32.tf32.f32", 0, "PTX_MMA_TF32_8", NULL },
	{ "ldmatrix", "sync aligned m8n8 x1 ?shared", "b16", 0, "PTX_LDMATRIX_1", NULL },
	{ "ldmatrix", "sync aligned m8n8 x2 ?shared", "b16", 0, "PTX_LDMATRIX_2", NULL },
	{ "ldmatrix", "sync aligned m8n8 x4 ?shared", "b16", 0, "PTX_LDMATRIX_4", NULL },
	{ "ldmatrix", "sync aligned m8n8 x1 trans ?shared", "b16", 0, "PTX_LDMATRIX_TRANS_1", NULL },
	{ "ldmatrix", "sync aligned m8n8 x2 trans ?shared", "b16", 0, "PTX_LDMATRIX_TRANS_2", NULL },
	{ "ldmatrix", "sync aligned m8n8 x4 trans ?shared", "b16", 0, "PTX_LDMATRIX_TRANS_4", NULL },
	{ NULL, NULL, NULL, 0, NULL, NULL },
};

static bool is_barrier(const struct adsm_ptx_instruction *yield)
{
	return !adsm_ptx_is_warp_yield(yield) && !adsm_ptx_suspends(yield);
}

bool adsm_ptx_is_matrix_yield(const struct adsm_ptx_instruction *yield)
{
	return adsm_ptx_is(yield, "mma") || adsm_ptx_is(yield, "ldmatrix");
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

/* Does a thread get no value? */
static bool gives_nothing(const struct adsm_ptx_instruction *yield)
{
	if (adsm_ptx_suspends(yield) || adsm_ptx_is_step(yield))
		return true;
	return is_barrier(yield) ? !is_reduction(yield) : adsm_ptx_has(yield, "warp");
}

bool adsm_ptx_yield_defines(const struct adsm_ptx_instruction *yield, uint32_t reg)
{
	const struct adsm_ptx_operand *to = yield->operands;

	if (gives_nothing(yield))
		return false;
	if (to->kind == ADSM_PTX_OP_REGISTER)
		return to->reg == reg;
	for (uint32_t i = 0; (to->kind == ADSM_PTX_OP_PAIR || to->kind == ADSM_PTX_OP_VECTOR) && i < to->n; i++) {
		if (to->elements[i].kind == ADSM_PTX_OP_REGISTER && to->elements[i].reg == reg)
			return true;
	}
	return false;
}

static void write_entry(struct adsm_ptx_writer *writer, const struct adsm_ptx_instruction *yield, const char *kind,
			const char *operation)
{
	adsm_ptx_print(writer, "\t{ %s, %s, ", kind, operation);
	adsm_ptx_print_place(writer, yield);
	adsm_ptx_print(writer, " },\n");
}

void adsm_ptx_write_yield(struct adsm_ptx_writer *writer, const struct adsm_ptx_instruction *yield)
{
	writer->instruction = yield;
	if (adsm_ptx_suspends(yield)) {
		write_entry(writer, yield, adsm_ptx_is_spin(yield) ? "PTX_SPIN" : "PTX_GRID", "PTX_MEET");
		return;
	}
	if (adsm_ptx_is_step(yield)) {
		write_entry(writer, yield, "PTX_STEP", "PTX_MEET");
		return;
	}
	write_entry(writer, yield, is_barrier(yield) ? "PTX_BARRIER" :
		    adsm_ptx_is(yield, "activemask") ? "PTX_ACTIVE" : "PTX_WARP",
		    adsm_ptx_find_form(writer, yield)->text);
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

/* A register of a part of a matrix. A part that is one register need not be in braces. */
static const struct adsm_ptx_operand *part(const struct adsm_ptx_operand *operand, uint32_t i)
{
	return operand->kind == ADSM_PTX_OP_VECTOR ? &operand->elements[i] : operand;
}

static uint32_t n_parts(const struct adsm_ptx_operand *operand)
{
	return operand->kind == ADSM_PTX_OP_VECTOR ? operand->n : 1;
}

/* Stores of the registers of a matrix's part to the thread's words. */
static void give_part(struct adsm_ptx_writer *writer, const struct adsm_ptx_operand *operand, uint32_t n, uint32_t at)
{
	if (n_parts(operand) != n)
		adsm_ptx_refuse(writer, "a part of a matrix has %u registers here, and %u are needed",
				n_parts(operand), n);
	for (uint32_t i = 0; i < n; i++) {
		adsm_ptx_print(writer, "s->matrix[PTX_MATRIX_WORDS * t + %u] = ", at + i);
		adsm_ptx_read(writer, part(operand, i), ADSM_PTX_b32);
		adsm_ptx_print(writer, "; ");
	}
}

static void give_matrices(struct adsm_ptx_writer *writer, const struct adsm_ptx_instruction *yield)
{
	const struct adsm_ptx_operand *operands = yield->operands;
	/* The columns of A. A register has 1 of tf32, or 2. */
	const uint32_t k = adsm_ptx_has(yield, "m16n8k16") ? 16 : adsm_ptx_has(yield, "m16n8k8") ? 8 : 4;
	const uint32_t each = yield->types[1] == ADSM_PTX_tf32 ? 1 : 2;
	const uint32_t results = yield->types[0] == ADSM_PTX_f16 ? 2 : 4;

	if (adsm_ptx_is(yield, "mma")) {
		if (yield->n != 4 || n_parts(&operands[0]) != results)
			adsm_ptx_refuse(writer, "mma has four operands, and the first one has %u registers", results);
		give_part(writer, &operands[1], k / each / 2, 0);
		give_part(writer, &operands[2], k / each / 4, 4);
		give_part(writer, &operands[3], results, 6);
	} else {
		const uint32_t n = adsm_ptx_has(yield, "x4") ? 4 : adsm_ptx_has(yield, "x2") ? 2 : 1;

		if (yield->n != 2 || n_parts(&operands[0]) != n)
			adsm_ptx_refuse(writer, "ldmatrix has %u registers in braces, and an address", n);
		adsm_ptx_print(writer, "if (t %% 32 < %u) memcpy(s->matrix + PTX_MATRIX_WORDS * t, ", 8 * n);
		adsm_ptx_address(writer, &operands[1], yield->space);
		adsm_ptx_print(writer, ", 16); ");
	}
	adsm_ptx_print(writer, "s->mask[t] = ~0u; ");
}

void adsm_ptx_write_give(struct adsm_ptx_writer *writer, const struct adsm_ptx_instruction *yield)
{
	const struct adsm_ptx_operand *operands = yield->operands;
	const enum adsm_ptx_type type = adsm_ptx_type_of(yield);

	/* The plain form has no arrays for values. */
	if (adsm_ptx_suspends(yield) || adsm_ptx_is_step(yield)) {
		return;
	} else if (adsm_ptx_is_matrix_yield(yield)) {
		give_matrices(writer, yield);
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
	const struct adsm_ptx_operand *to = yield->operands;
	enum adsm_ptx_type type = ADSM_PTX_u32;

	writer->instruction = yield;
	if (gives_nothing(yield))
		return;
	if (adsm_ptx_is_matrix_yield(yield)) {
		for (uint32_t i = 0; i < n_parts(to); i++) {
			if (part(to, i)->kind == ADSM_PTX_OP_SINK)
				continue;
			adsm_ptx_begin(writer, part(to, i), ADSM_PTX_b32);
			adsm_ptx_print(writer, "s->matrix[PTX_MATRIX_WORDS * t + %u]", i);
			adsm_ptx_end(writer, part(to, i), ADSM_PTX_b32);
			adsm_ptx_print(writer, " ");
		}
		return;
	}
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
