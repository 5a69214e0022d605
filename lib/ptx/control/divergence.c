/* SPDX-License-Identifier: MIT */
/* divergence.c - see divergence.h. */
#include "divergence.h"

#include "recipes.h"

#include <errno.h>
#include <stdlib.h>

#define NONE UINT32_MAX

struct search {
	const struct adsm_ptx_blocks *blocks;
	uint64_t *registers;		/* bits: divergent */
	/* The exit is a block with the index n, where all threads end. */
	uint32_t *before, *first;	/* the blocks before each block; by block: where they begin in this list */
	uint32_t *order, n_order;	/* blocks that lead to the exit */
	uint32_t *rank;			/* by block: its place in the order; NONE: it does not lead to the exit */
	uint32_t *meet;			/* by block: where all ways from it meet first; NONE: nowhere */
	uint64_t *split;		/* bits: blocks whose branch threads take differently */
	uint64_t *apart;		/* bits: blocks that not all threads come to together */
	uint32_t *seen;			/* by block: 1 + the split whose walk came to it last */
	uint32_t *stack;
	bool changed, reads_divergent;
};

/* ---- where ways meet: immediate post-dominators, by the algorithm of Cooper, Harvey and Kennedy */

/* Lists of the blocks before each block, and of those that may end a thread, as what is before the exit. */
static void list_before(struct search *search)
{
	const struct adsm_ptx_blocks *blocks = search->blocks;
	uint32_t *const first = search->first, n = 0;

	for (int fill = 0; fill < 2; fill++) {
		for (uint32_t i = 0; i < blocks->n; i++) {
			const struct adsm_ptx_block *block = &blocks->blocks[i];

			if (!block->reached)
				continue;
			for (uint32_t j = 0; j < block->n_next; j++) {
				if (fill)
					search->before[--first[block->next[j]]] = i;
				else
					first[block->next[j]]++;
			}
			if (block->end == ADSM_PTX_LEAVE && fill)
				search->before[--first[blocks->n]] = i;
			else if (block->end == ADSM_PTX_LEAVE)
				first[blocks->n]++;
		}
		/* From numbers to the ends of the lists, which the second turn moves to their starts. */
		for (uint32_t i = 0; !fill && i <= blocks->n; i++)
			first[i] = n += first[i];
	}
	first[blocks->n + 1] = n;
}

/* Order the blocks as a walk from the exit backwards leaves them. */
static void order_blocks(struct search *search)
{
	const uint32_t exit = search->blocks->n;
	uint32_t depth = 0, *next = search->stack + exit + 1;

	for (uint32_t i = 0; i <= exit; i++) {
		search->rank[i] = search->meet[i] = NONE;
		next[i] = search->first[i];
	}
	search->stack[depth++] = exit;
	search->rank[exit] = 0;
	while (depth) {
		const uint32_t at = search->stack[depth - 1];

		if (next[at] == search->first[at + 1]) {
			search->rank[at] = search->n_order;
			search->order[search->n_order++] = at;
			depth--;
			continue;
		}
		if (search->rank[search->before[next[at]]] == NONE) {
			search->rank[search->before[next[at]]] = 0;
			search->stack[depth++] = search->before[next[at]];
		}
		next[at]++;
	}
	search->meet[exit] = exit;
}

static uint32_t common(const struct search *search, uint32_t a, uint32_t b)
{
	while (a != b) {
		while (search->rank[a] < search->rank[b])
			a = search->meet[a];
		while (search->rank[b] < search->rank[a])
			b = search->meet[b];
	}
	return a;
}

static void find_meets(struct search *search)
{
	bool changed = true;

	while (changed) {
		changed = false;
		/* The last one is the exit. */
		for (uint32_t i = search->n_order - 1; i-- > 0;) {
			const uint32_t at = search->order[i];
			const struct adsm_ptx_block *block = &search->blocks->blocks[at];
			uint32_t meet = block->end == ADSM_PTX_LEAVE ? search->blocks->n : NONE;

			for (uint32_t j = 0; j < block->n_next; j++) {
				if (search->meet[block->next[j]] == NONE)
					continue;
				meet = meet == NONE ? block->next[j] : common(search, meet, block->next[j]);
			}
			changed |= meet != search->meet[at];
			search->meet[at] = meet;
		}
	}
}

/* ---- divergence */

static bool is_divergent(const struct search *search, const struct adsm_ptx_operand *operand)
{
	if (operand->kind == ADSM_PTX_OP_REGISTER)
		return adsm_ptx_bit(search->registers, operand->reg);
	return operand->kind != ADSM_PTX_OP_NONE;
}

static void note_read(void *arg, uint32_t reg, bool writes)
{
	struct search *search = arg;

	search->reads_divergent |= !writes && adsm_ptx_bit(search->registers, reg);
}

static void note_write(void *arg, uint32_t reg, bool writes)
{
	struct search *search = arg;

	if (!writes || adsm_ptx_bit(search->registers, reg))
		return;
	adsm_ptx_set_bit(search->registers, reg);
	search->changed = true;
}

static bool names_thread(const struct adsm_ptx_operand *operand)
{
	if (operand->kind == ADSM_PTX_OP_VARIABLE)
		return operand->variable->space == ADSM_PTX_LOCAL;
	if (operand->kind != ADSM_PTX_OP_SPECIAL)
		return false;
	switch (operand->special) {
	case ADSM_PTX_SPECIAL_ntid:
	case ADSM_PTX_SPECIAL_ctaid:
	case ADSM_PTX_SPECIAL_nctaid:
	case ADSM_PTX_SPECIAL_nwarpid:
	case ADSM_PTX_SPECIAL_smid:
	case ADSM_PTX_SPECIAL_nsmid:
	case ADSM_PTX_SPECIAL_gridid:
	case ADSM_PTX_SPECIAL_dynamic_smem_size:
	case ADSM_PTX_SPECIAL_total_smem_size:
	case ADSM_PTX_SPECIAL_warp_size:
		return false;
	default:
		return true;
	}
}

/* May the instruction give threads different results? @apart: not all threads run it together. */
static bool diverges(struct search *search, const struct adsm_ptx_instruction *instruction, bool apart)
{
	/* Memory that does not change while the kernel runs. */
	const bool is_constant = adsm_ptx_is(instruction, "ld") &&
				 (instruction->space == ADSM_PTX_CONST || adsm_ptx_has(instruction, "nc"));

	if (apart || (!is_constant && !adsm_ptx_is_pure(search->blocks->function, instruction)))
		return true;
	for (uint32_t i = 1; i < instruction->n; i++) {
		if (names_thread(&instruction->operands[i]))
			return true;
	}
	search->reads_divergent = false;
	adsm_ptx_each_register(instruction, note_read, search);
	return search->reads_divergent;
}

static void visit_instruction(struct search *search, const struct adsm_ptx_instruction *instruction, bool apart)
{
	/* Yields of loops that wait have no operands. */
	if (instruction->n && diverges(search, instruction, apart))
		adsm_ptx_each_register(instruction, note_write, search);
}

/*
 * The blocks between a branch that threads take differently and the place where they meet. Blocks of another branch are
 * walked through, too, because its threads may meet earlier.
 */
static void mark_apart(struct search *search, uint32_t at)
{
	const struct adsm_ptx_blocks *blocks = search->blocks;
	uint32_t depth = 0;

	adsm_ptx_set_bit(search->split, at);
	search->changed = true;
	for (uint32_t next = at;; next = search->stack[--depth]) {
		const struct adsm_ptx_block *block = &blocks->blocks[next];

		for (uint32_t i = 0; i < block->n_next; i++) {
			if (block->next[i] == search->meet[at] || search->seen[block->next[i]] == at + 1)
				continue;
			search->seen[block->next[i]] = at + 1;
			adsm_ptx_set_bit(search->apart, block->next[i]);
			search->stack[depth++] = block->next[i];
		}
		if (!depth)
			return;
	}
}

static void visit_block(struct search *search, uint32_t at)
{
	const struct adsm_ptx_block *block = &search->blocks->blocks[at];
	const bool apart = adsm_ptx_bit(search->apart, at);
	bool splits = false;

	for (uint32_t i = 0; i < block->n; i++)
		visit_instruction(search, &search->blocks->function->instructions[block->first + i], apart);
	if (block->by) {
		visit_instruction(search, block->by, apart);
		splits = is_divergent(search, &block->by->guard) ||
			 (block->end == ADSM_PTX_SWITCH && is_divergent(search, &block->by->operands[0]));
	}
	if (splits && !adsm_ptx_bit(search->split, at))
		mark_apart(search, at);
}

static uint32_t count_ways(const struct adsm_ptx_blocks *blocks)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < blocks->n; i++)
		n += blocks->blocks[i].n_next + 1;
	return n;
}

static bool find(struct search *search)
{
	const struct adsm_ptx_blocks *blocks = search->blocks;
	bool is_even = true;

	list_before(search);
	order_blocks(search);
	find_meets(search);
	while (search->changed) {
		search->changed = false;
		for (uint32_t i = 0; i < blocks->n; i++) {
			if (blocks->blocks[i].reached)
				visit_block(search, i);
		}
	}
	for (uint32_t i = 0; i < blocks->n; i++) {
		if (blocks->blocks[i].reached && blocks->blocks[i].end == ADSM_PTX_YIELD)
			is_even &= !adsm_ptx_bit(search->apart, i) && !adsm_ptx_bit(search->split, i);
	}
	return is_even;
}

int adsm_ptx_divergence_find(const struct adsm_ptx_blocks *blocks, struct adsm_ptx_divergence *ret_divergence)
{
	const size_t n = (size_t)blocks->n + 2, words = n / 64 + 1;
	uint32_t *memory = calloc(7 * n + count_ways(blocks), sizeof(*memory));
	uint64_t *bits = calloc(words, 2 * sizeof(*bits)), *registers = calloc(blocks->words, sizeof(*registers));
	struct search search = {
		.blocks = blocks, .registers = registers, .changed = true,
		.first = memory, .order = memory + n, .rank = memory + 2 * n, .meet = memory + 3 * n,
		.stack = memory + 4 * n, .seen = memory + 6 * n, .before = memory + 7 * n,
		.split = bits, .apart = bits + words,
	};

	if (memory && bits && registers)
		*ret_divergence = (struct adsm_ptx_divergence){ registers, find(&search) };
	else
		free(registers);
	free(memory);
	free(bits);
	return memory && bits && registers ? 0 : -ENOMEM;
}

void adsm_ptx_divergence_destroy(struct adsm_ptx_divergence *divergence)
{
	free(divergence->registers);
	*divergence = (struct adsm_ptx_divergence){ .registers = NULL };
}
