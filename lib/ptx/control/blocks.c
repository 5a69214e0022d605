/* SPDX-License-Identifier: MIT */
/* blocks.c - see blocks.h. */
#include "blocks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool adsm_ptx_is_grid_sync(const struct adsm_ptx_instruction *instruction)
{
	return adsm_ptx_is(instruction, "call") && instruction->n > 1 &&
	       instruction->operands[1].kind == ADSM_PTX_OP_FUNCTION &&
	       !strcmp(instruction->operands[1].function->name, ADSM_PTX_GRID_SYNC);
}

bool adsm_ptx_is_spin(const struct adsm_ptx_instruction *instruction)
{
	return adsm_ptx_is(instruction, "spin");
}

static bool is_any_barrier(const struct adsm_ptx_instruction *instruction)
{
	return adsm_ptx_is(instruction, "bar") || adsm_ptx_is(instruction, "barrier");
}

bool adsm_ptx_arrives(const struct adsm_ptx_instruction *instruction)
{
	return is_any_barrier(instruction) && adsm_ptx_has(instruction, "arrive");
}

bool adsm_ptx_is_step(const struct adsm_ptx_instruction *instruction)
{
	return adsm_ptx_is(instruction, "step");
}

static bool is_barrier(const struct adsm_ptx_instruction *instruction)
{
	return is_any_barrier(instruction) && !adsm_ptx_has(instruction, "arrive");
}

bool adsm_ptx_is_warp_yield(const struct adsm_ptx_instruction *instruction)
{
	static const char *const opcodes[] = {
		"shfl", "vote", "match", "redux", "activemask", "elect", "mma", "ldmatrix", "step",
	};

	if (is_barrier(instruction))
		return adsm_ptx_has(instruction, "warp");
	for (size_t i = 0; i < sizeof(opcodes) / sizeof(*opcodes); i++) {
		if (adsm_ptx_is(instruction, opcodes[i]))
			return true;
	}
	return false;
}

bool adsm_ptx_is_yield(const struct adsm_ptx_instruction *instruction)
{
	return is_barrier(instruction) || adsm_ptx_is_warp_yield(instruction) || adsm_ptx_is_grid_sync(instruction) ||
	       adsm_ptx_is_spin(instruction);
}

static bool leaves(const struct adsm_ptx_instruction *instruction)
{
	return adsm_ptx_is(instruction, "ret") || adsm_ptx_is(instruction, "exit");
}

/* Does an instruction end its block? */
static bool ends(const struct adsm_ptx_instruction *instruction)
{
	return adsm_ptx_is(instruction, "bra") || adsm_ptx_is(instruction, "brx") || leaves(instruction) ||
	       adsm_ptx_is_yield(instruction);
}

/* Mark the instructions at which blocks start, as bits. Returns the number of edges between blocks at most. */
static size_t mark_starts(const struct adsm_ptx_function *function, uint64_t *starts)
{
	size_t edges = 2;

	adsm_ptx_set_bit(starts, 0);
	adsm_ptx_set_bit(starts, function->n);
	for (uint32_t i = 0; i < function->n; i++) {
		const struct adsm_ptx_instruction *instruction = &function->instructions[i];

		if (!ends(instruction))
			continue;
		adsm_ptx_set_bit(starts, i + 1);
		if (adsm_ptx_is(instruction, "bra"))
			adsm_ptx_set_bit(starts, instruction->operands[0].label);
		for (uint32_t j = 0; adsm_ptx_is(instruction, "brx") && j < instruction->n_targets; j++)
			adsm_ptx_set_bit(starts, instruction->targets[j].label);
		edges += 2 + instruction->n_targets;
	}
	return edges;
}

/* ---- lockstep */

/* Is it an access at which the lanes of a warp are in lockstep? */
static bool is_access(const struct adsm_ptx_instruction *instruction, bool lockstep, bool *ret_writes)
{
	const bool loads = adsm_ptx_is(instruction, "ld") && !adsm_ptx_has(instruction, "nc");
	const enum adsm_ptx_space space = instruction->space;

	*ret_writes = adsm_ptx_is(instruction, "st") || adsm_ptx_is(instruction, "atom") ||
		adsm_ptx_is(instruction, "red");
	if (!loads && !*ret_writes)
		return false;
	if (!lockstep)
		return space == ADSM_PTX_SHARED && adsm_ptx_has(instruction, "volatile");
	return space == ADSM_PTX_SHARED || space == ADSM_PTX_GLOBAL || space == ADSM_PTX_GENERIC;
}

/*
 * Mark the accesses that a step precedes: those that write, and those that read what a lane may have written since the
 * last step. Returns their number.
 */
static uint32_t mark_steps(const struct adsm_ptx_function *function, bool lockstep, const uint64_t *starts,
			   uint64_t *steps)
{
	bool changed = true, writes;
	uint32_t n = 0;

	for (uint32_t i = 0; i < function->n; i++) {
		if (adsm_ptx_bit(starts, i))
			changed = true;
		if (!is_access(&function->instructions[i], lockstep, &writes))
			continue;
		if (writes || changed) {
			adsm_ptx_set_bit(steps, i);
			n++;
		}
		changed = writes;
	}
	return n;
}

/* Blocks begin at all starts, and a block with a step comes before those at @steps. All get their first instruction. */
static void start_blocks(struct adsm_ptx_blocks *blocks, const uint64_t *starts, const uint64_t *steps)
{
	const struct adsm_ptx_function *function = blocks->function;
	uint32_t b = 0, n = 0;

	for (uint32_t i = 0; i <= function->n; i++) {
		if (adsm_ptx_bit(steps, i)) {
			const struct adsm_ptx_instruction *access = &function->instructions[i];

			blocks->steps[n] = (struct adsm_ptx_instruction){
				.opcode = "step", .line = access->line, .file = access->file,
				.source_line = access->source_line,
			};
			blocks->blocks[b++] = (struct adsm_ptx_block){
				.first = i, .end = ADSM_PTX_YIELD, .by = &blocks->steps[n++],
			};
		}
		if (adsm_ptx_bit(steps, i) || adsm_ptx_bit(starts, i))
			blocks->blocks[b++].first = i;
	}
}

/*
 * Complete a block that has n instructions, by its last one. @block_at: the index of the block that starts at an
 * instruction. @next: where the block's edges go. Returns where the next block's go.
 */
static uint32_t *end_block(struct adsm_ptx_block *block, const struct adsm_ptx_function *function,
			   const uint32_t *block_at, uint32_t *next)
{
	const uint32_t after = block->first + block->n;
	const struct adsm_ptx_instruction *last = block->n ? &function->instructions[after - 1] : NULL;

	block->next = next;
	if (block->by) {
		/* A step, before the block of the access. */
		*next++ = block_at[block->first] + 1;
		block->n_next = 1;
		return next;
	}
	block->end = ADSM_PTX_GOTO;
	if (!block->n) {
		block->end = ADSM_PTX_LEAVE;
		return next;
	}
	if (ends(last)) {
		block->by = last;
		block->n--;
		if (adsm_ptx_is(last, "bra")) {
			*next++ = block_at[last->operands[0].label];
		} else if (adsm_ptx_is(last, "brx")) {
			block->end = ADSM_PTX_SWITCH;
			for (uint32_t i = 0; i < last->n_targets; i++)
				*next++ = block_at[last->targets[i].label];
		} else {
			block->end = leaves(last) ? ADSM_PTX_LEAVE : ADSM_PTX_YIELD;
		}
	}
	if (!block->by || block->by->guard.kind != ADSM_PTX_OP_NONE || block->end == ADSM_PTX_YIELD)
		*next++ = block_at[after];
	block->n_next = (uint32_t)(next - block->next);
	return next;
}

/* Find out which blocks control can reach. @stack: room for all blocks. */
static void reach(struct adsm_ptx_blocks *blocks, uint32_t *stack)
{
	uint32_t n = 0;

	blocks->blocks[0].reached = true;
	stack[n++] = 0;
	while (n) {
		const struct adsm_ptx_block *block = &blocks->blocks[stack[--n]];

		blocks->n_yields += block->end == ADSM_PTX_YIELD;
		for (uint32_t i = 0; i < block->n_next; i++) {
			if (blocks->blocks[block->next[i]].reached)
				continue;
			blocks->blocks[block->next[i]].reached = true;
			stack[n++] = block->next[i];
		}
	}
}

static void use_or_define(void *arg, uint32_t reg, bool writes)
{
	struct adsm_ptx_block *block = arg;

	/* A register that an instruction both reads and writes is visited as read first. */
	if (writes)
		adsm_ptx_set_bit(block->defines, reg);
	else if (!adsm_ptx_bit(block->defines, reg))
		adsm_ptx_set_bit(block->uses, reg);
}

/* What blocks read, write, and keep for each other. */
static void find_live(struct adsm_ptx_blocks *blocks)
{
	bool changed = true;

	for (uint32_t i = 0; i < blocks->n; i++) {
		struct adsm_ptx_block *block = &blocks->blocks[i];

		for (uint32_t j = 0; j < block->n; j++)
			adsm_ptx_each_register(&blocks->function->instructions[block->first + j], use_or_define, block);
		if (block->by)
			adsm_ptx_each_register(block->by, use_or_define, block);
	}
	while (changed) {
		changed = false;
		for (uint32_t i = blocks->n; i-- > 0;) {
			struct adsm_ptx_block *block = &blocks->blocks[i];

			for (uint32_t w = 0; w < blocks->words; w++) {
				uint64_t out = 0, in;

				for (uint32_t j = 0; j < block->n_next; j++)
					out |= blocks->blocks[block->next[j]].live_in[w];
				in = block->uses[w] | (out & ~block->defines[w]);
				changed |= in != block->live_in[w];
				block->live_in[w] = in;
				block->live_out[w] = out;
			}
		}
	}
}

/* ---- loops that wait */

bool adsm_ptx_reads_changes(const struct adsm_ptx_instruction *instruction)
{
	if (adsm_ptx_is(instruction, "atom"))
		return true;
	if (adsm_ptx_is(instruction, "call"))
		return instruction->n > 1 && instruction->operands[1].kind == ADSM_PTX_OP_FUNCTION ?
		       instruction->operands[1].function->reads_changes : instruction->reads_changes;
	return adsm_ptx_is(instruction, "ld") && (adsm_ptx_has(instruction, "volatile") ||
		adsm_ptx_has(instruction, "relaxed") || adsm_ptx_has(instruction, "acquire") ||
		adsm_ptx_has(instruction, "cv"));
}

struct chase {
	uint64_t *wanted;		/* bits: registers that the loop's exits depend on */
	bool writes_wanted, changed;
};

/*
 * Does it load a value that the thread has stored itself: a local variable, or the result of a call? @locals: bits,
 * registers with addresses of local memory. Code without optimization has a local variable for each value.
 */
static bool loads_own(const struct adsm_ptx_function *function, const struct adsm_ptx_instruction *instruction,
		      const uint64_t *locals)
{
	const struct adsm_ptx_operand *base;

	if (!adsm_ptx_is(instruction, "ld"))
		return false;
	base = &instruction->operands[1].elements[0];
	if (base->kind == ADSM_PTX_OP_REGISTER)
		return instruction->space == ADSM_PTX_GENERIC && adsm_ptx_bit(locals, base->reg);
	if (base->kind != ADSM_PTX_OP_VARIABLE)
		return false;
	return instruction->space == ADSM_PTX_LOCAL ||
	       (instruction->space == ADSM_PTX_PARAM &&
		(base->variable < function->params || base->variable >= function->params + function->n_params));
}

static void find_locals(const struct adsm_ptx_function *function, uint64_t *locals)
{
	for (uint32_t i = 0; i < function->n; i++) {
		const struct adsm_ptx_instruction *instruction = &function->instructions[i];

		if (adsm_ptx_is(instruction, "cvta") && !adsm_ptx_has(instruction, "to") &&
		    adsm_ptx_has(instruction, "local") && instruction->operands[0].kind == ADSM_PTX_OP_REGISTER)
			adsm_ptx_set_bit(locals, instruction->operands[0].reg);
	}
}

static void note_wanted_write(void *arg, uint32_t reg, bool writes)
{
	struct chase *chase = arg;

	chase->writes_wanted |= writes && adsm_ptx_bit(chase->wanted, reg);
}

static void want(void *arg, uint32_t reg, bool writes)
{
	struct chase *chase = arg;

	if (writes || adsm_ptx_bit(chase->wanted, reg))
		return;
	adsm_ptx_set_bit(chase->wanted, reg);
	chase->changed = true;
}

/*
 * Do the exits of a loop, the blocks @first to @last, depend on memory that other threads may write? What the thread
 * has stored itself counts as such memory if the loop reads any.
 */
static bool waits(const struct adsm_ptx_blocks *blocks, uint32_t first, uint32_t last, uint64_t *wanted,
		  const uint64_t *locals)
{
	struct chase chase = { .wanted = wanted, .changed = true };
	bool found = false, loads = false, reads = false;

	memset(wanted, 0, blocks->words * sizeof(*wanted));
	for (uint32_t b = first; b <= last; b++) {
		const struct adsm_ptx_instruction *by = blocks->blocks[b].by;

		if (by && by->guard.kind == ADSM_PTX_OP_REGISTER)
			adsm_ptx_set_bit(wanted, by->guard.reg);
	}
	while (chase.changed && !found) {
		chase.changed = false;
		for (uint32_t b = first; b <= last; b++) {
			const struct adsm_ptx_block *block = &blocks->blocks[b];

			for (uint32_t i = 0; i < block->n; i++) {
				const struct adsm_ptx_instruction *instruction =
					&blocks->function->instructions[block->first + i];

				chase.writes_wanted = false;
				adsm_ptx_each_register(instruction, note_wanted_write, &chase);
				reads |= adsm_ptx_reads_changes(instruction);
				if (!chase.writes_wanted)
					continue;
				found |= adsm_ptx_reads_changes(instruction);
				loads |= loads_own(blocks->function, instruction, locals);
				adsm_ptx_each_register(instruction, want, &chase);
			}
		}
	}
	return found || (loads && reads);
}

/* Give the edges that go back to the start of a loop that waits a block with a yield. There is room for it. */
static void add_spins(struct adsm_ptx_blocks *blocks, uint32_t *next, uint64_t *wanted, uint64_t *locals)
{
	const uint32_t n = blocks->n;

	find_locals(blocks->function, locals);
	for (uint32_t b = 0; b < n; b++) {
		struct adsm_ptx_block *block = &blocks->blocks[b];

		for (uint32_t i = 0; i < block->n_next; i++) {
			const uint32_t to = block->next[i];
			struct adsm_ptx_block *spin = &blocks->blocks[blocks->n];
			struct adsm_ptx_instruction *yield = &blocks->spins[blocks->n - n];

			if (to > b || !waits(blocks, to, b, wanted, locals))
				continue;
			*yield = (struct adsm_ptx_instruction){
				.opcode = "spin", .line = block->by ? block->by->line : 0,
			};
			*next = to;
			*spin = (struct adsm_ptx_block){
				.first = block->first, .end = ADSM_PTX_YIELD, .by = yield, .n_next = 1, .next = next++,
			};
			block->next[i] = blocks->n++;
		}
	}
}

/* The number of edges that go back in the text. */
static uint32_t count_back(const struct adsm_ptx_function *function)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < function->n; i++) {
		const struct adsm_ptx_instruction *instruction = &function->instructions[i];

		n += adsm_ptx_is(instruction, "bra") && instruction->operands[0].label <= i;
		for (uint32_t j = 0; adsm_ptx_is(instruction, "brx") && j < instruction->n_targets; j++)
			n += instruction->targets[j].label <= i;
	}
	return n;
}

int adsm_ptx_blocks_find(const struct adsm_ptx_function *function, bool lockstep, struct adsm_ptx_blocks *ret_blocks)
{
	const uint32_t n_words = function->n / 64 + 1, n_back = count_back(function);
	uint64_t *starts = calloc(n_words, 2 * sizeof(*starts)), *steps = starts + n_words;
	uint32_t *block_at = calloc((size_t)function->n + 1, sizeof(*block_at)), *next, *stack;
	struct adsm_ptx_blocks blocks = { .function = function, .words = function->n_registers / 64 + 1 };
	uint32_t n_steps;
	size_t edges;

	if (!starts || !block_at)
		goto fail;
	edges = mark_starts(function, starts);
	n_steps = mark_steps(function, lockstep, starts, steps);
	for (uint32_t i = 0; i <= function->n; i++) {
		block_at[i] = blocks.n;
		blocks.n += adsm_ptx_bit(steps, i) ? 2 : adsm_ptx_bit(starts, i);
	}
	blocks.blocks = calloc((size_t)blocks.n + n_back, sizeof(*blocks.blocks));
	blocks.spins = calloc((size_t)n_back + 1, sizeof(*blocks.spins));
	blocks.steps = calloc((size_t)n_steps + 1, sizeof(*blocks.steps));
	/* Every block may continue at the one after it. */
	blocks.next = calloc(edges + blocks.n + n_back, sizeof(*blocks.next));
	blocks.bits = calloc((size_t)(blocks.n + n_back + 1) * blocks.words, 4 * sizeof(*blocks.bits));
	if (!blocks.blocks || !blocks.spins || !blocks.steps || !blocks.next || !blocks.bits)
		goto fail;
	start_blocks(&blocks, starts, steps);
	next = blocks.next;
	for (uint32_t b = 0; b < blocks.n; b++) {
		struct adsm_ptx_block *block = &blocks.blocks[b];

		block->n = (b + 1 < blocks.n ? block[1].first : function->n) - block->first;
		next = end_block(block, function, block_at, next);
	}
	add_spins(&blocks, next, blocks.bits, blocks.bits + blocks.words);
	memset(blocks.bits, 0, (size_t)2 * blocks.words * sizeof(*blocks.bits));
	for (uint32_t b = 0; b < blocks.n; b++) {
		struct adsm_ptx_block *block = &blocks.blocks[b];
		uint64_t *bits = blocks.bits + (size_t)b * blocks.words * 4;

		block->uses = bits;
		block->defines = bits + blocks.words;
		block->live_in = bits + 2 * (size_t)blocks.words;
		block->live_out = bits + 3 * (size_t)blocks.words;
	}
	stack = calloc((size_t)blocks.n + 1, sizeof(*stack));
	if (!stack)
		goto fail;
	reach(&blocks, stack);
	free(stack);
	find_live(&blocks);
	free(starts);
	free(block_at);
	*ret_blocks = blocks;
	return 0;
fail:
	free(starts);
	free(block_at);
	adsm_ptx_blocks_destroy(&blocks);
	return -ENOMEM;
}

void adsm_ptx_blocks_destroy(struct adsm_ptx_blocks *blocks)
{
	free(blocks->blocks);
	free(blocks->spins);
	free(blocks->steps);
	free(blocks->next);
	free(blocks->bits);
	*blocks = (struct adsm_ptx_blocks){ 0 };
}
