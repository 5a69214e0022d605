/* SPDX-License-Identifier: MIT */
/* recipes.c - see recipes.h. */
#include "recipes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LIMIT_MAX 64

/* What is known of a register: it has no recipe, or one is looked for; it has one everywhere, or in the part. */
enum { UNKNOWN, NONE, EVERYWHERE, IN_PART };

/* Opcodes whose result depends on their operands only. */
static const char *const pure[] = {
	"abs", "add", "and", "bfe", "bfi", "brev", "clz", "cnot", "cvt", "cvta", "div", "fma", "lop3", "mad", "mad24",
	"max", "min", "mov", "mul", "mul24", "neg", "not", "or", "popc", "prmt", "rem", "sad", "selp", "setp", "shf",
	"shl", "shr", "slct", "sub", "xor",
};

struct definitions {
	struct adsm_ptx_definition *list;
	const struct adsm_ptx_instruction *current;
};

static void note_definition(void *arg, uint32_t reg, bool writes)
{
	struct definitions *definitions = arg;

	if (!writes)
		return;
	definitions->list[reg].by = definitions->current;
	definitions->list[reg].n++;
}

int adsm_ptx_recipes_init(struct adsm_ptx_recipes *recipes, const struct adsm_ptx_function *function, uint32_t limit,
			  const struct adsm_ptx_part *part)
{
	const size_t n = (size_t)function->n_registers + 1;
	struct definitions definitions;

	*recipes = (struct adsm_ptx_recipes){
		.function = function,
		.part = part,
		.limit = limit < LIMIT_MAX ? limit : LIMIT_MAX,
		.definitions = calloc(n, sizeof(*recipes->definitions)),
		.recipes = calloc(n, sizeof(*recipes->recipes)),
		.states = calloc(n, 1),
	};
	if (!recipes->definitions || !recipes->recipes || !recipes->states) {
		adsm_ptx_recipes_destroy(recipes);
		return -ENOMEM;
	}
	definitions.list = recipes->definitions;
	for (uint32_t i = 0; i < function->n; i++) {
		definitions.current = &function->instructions[i];
		adsm_ptx_each_register(definitions.current, note_definition, &definitions);
	}
	return 0;
}

void adsm_ptx_recipes_destroy(struct adsm_ptx_recipes *recipes)
{
	for (uint32_t i = 0; recipes->recipes && i < recipes->function->n_registers; i++)
		free(recipes->recipes[i].instructions);
	free(recipes->definitions);
	free(recipes->recipes);
	free(recipes->states);
	*recipes = (struct adsm_ptx_recipes){ 0 };
}

/* Does it load from a parameter of the kernel? Parameters of the calls in it have the same space. */
static bool loads_param(const struct adsm_ptx_function *function, const struct adsm_ptx_instruction *instruction)
{
	const struct adsm_ptx_operand *base = &instruction->operands[1].elements[0];

	return instruction->space == ADSM_PTX_PARAM && instruction->vector == 1 && base->kind == ADSM_PTX_OP_VARIABLE &&
	       base->variable >= function->params && base->variable < function->params + function->n_params;
}

bool adsm_ptx_is_pure(const struct adsm_ptx_function *function, const struct adsm_ptx_instruction *instruction)
{
	if (adsm_ptx_is(instruction, "ld"))
		return loads_param(function, instruction);
	if (instruction->operands[0].kind != ADSM_PTX_OP_REGISTER || adsm_ptx_has(instruction, "cc"))
		return false;
	for (uint32_t i = 1; i < instruction->n; i++) {
		const struct adsm_ptx_operand *operand = &instruction->operands[i];

		if (operand->kind == ADSM_PTX_OP_SPECIAL && operand->special >= ADSM_PTX_SPECIAL_clock &&
		    operand->special <= ADSM_PTX_SPECIAL_globaltimer_hi)
			return false;
	}
	for (size_t i = 0; i < sizeof(pure) / sizeof(*pure); i++) {
		if (adsm_ptx_is(instruction, pure[i]))
			return true;
	}
	return false;
}

/* ---- the part: an instruction that every thread runs once, before it uses the result */

struct once {
	const struct adsm_ptx_instruction *by;	/* the instruction, in a block */
	uint32_t block, reg;
	bool is_used;			/* another instruction, of those visited, reads the register */
	uint32_t n;			/* instructions of the part that write it */
};

static void note_use(void *arg, uint32_t reg, bool writes)
{
	struct once *once = arg;

	once->is_used |= reg == once->reg && !writes;
}

static void note_write(void *arg, uint32_t reg, bool writes)
{
	struct once *once = arg;

	once->n += reg == once->reg && writes;
}

/* Visit the blocks that control comes to in the part from those of a stack, without passing the instruction. */
static void visit(const struct adsm_ptx_part *part, struct once *once, uint32_t *stack, uint32_t n, uint64_t *seen)
{
	const struct adsm_ptx_instruction *instructions = part->blocks->function->instructions;

	while (n) {
		const uint32_t at = stack[--n];
		const struct adsm_ptx_block *block = &part->blocks->blocks[at];
		uint32_t i = 0;

		for (; i < block->n && &instructions[block->first + i] != once->by; i++)
			adsm_ptx_each_register(&instructions[block->first + i], note_use, once);
		if (i < block->n)
			continue;
		if (block->by)
			adsm_ptx_each_register(block->by, note_use, once);
		if (block->by && block->end == ADSM_PTX_YIELD && block->by->guard.kind == ADSM_PTX_OP_NONE)
			continue;
		for (i = 0; i < block->n_next; i++) {
			if (adsm_ptx_bit(seen, block->next[i]) || !adsm_ptx_bit(part->set, block->next[i]))
				continue;
			adsm_ptx_set_bit(seen, block->next[i]);
			stack[n++] = block->next[i];
		}
	}
}

/* Is the instruction in a loop of the part? */
static bool repeats(const struct adsm_ptx_part *part, struct once *once, uint32_t *stack, uint64_t *seen)
{
	const struct adsm_ptx_block *block = &part->blocks->blocks[once->block];
	uint32_t n = 0;

	if (block->end == ADSM_PTX_YIELD && block->by->guard.kind == ADSM_PTX_OP_NONE)
		return false;
	for (uint32_t i = 0; i < block->n_next; i++) {
		if (adsm_ptx_bit(seen, block->next[i]) || !adsm_ptx_bit(part->set, block->next[i]))
			continue;
		adsm_ptx_set_bit(seen, block->next[i]);
		stack[n++] = block->next[i];
	}
	visit(part, once, stack, n, seen);
	return adsm_ptx_bit(seen, once->block);
}

/* Find the only instruction of the part that writes a register. Returns how many write it. */
static uint32_t find_writer(const struct adsm_ptx_part *part, struct once *once)
{
	for (uint32_t at = 0; at < part->blocks->n; at++) {
		const struct adsm_ptx_block *block = &part->blocks->blocks[at];

		for (uint32_t i = 0; adsm_ptx_bit(part->set, at) && i <= block->n; i++) {
			const struct adsm_ptx_instruction *instruction = i < block->n ?
				&part->blocks->function->instructions[block->first + i] : block->by;
			const uint32_t before = once->n;

			if (!instruction)
				continue;
			adsm_ptx_each_register(instruction, note_write, once);
			if (once->n == before)
				continue;
			once->by = i < block->n ? instruction : NULL;
			once->block = at;
		}
	}
	return once->n;
}

/* Does every thread run the instruction once in the part, before any instruction reads its result? */
static bool runs_once_before_uses(struct adsm_ptx_recipes *recipes, struct once *once)
{
	const uint32_t n = recipes->part->blocks->n, words = n / 64 + 1;
	uint32_t *stack = calloc((size_t)n + 1, sizeof(*stack));
	uint64_t *seen = calloc(words, 2 * sizeof(*seen));
	bool result = false;

	if (!stack || !seen) {
		recipes->failed = true;
	} else {
		stack[0] = recipes->part->start;
		adsm_ptx_set_bit(seen, stack[0]);
		visit(recipes->part, once, stack, 1, seen);
		result = !once->is_used && !repeats(recipes->part, once, stack, seen + words);
	}
	free(stack);
	free(seen);
	return result;
}

/* ---- recipes */

static bool find(struct adsm_ptx_recipes *recipes, uint32_t reg, uint32_t depth);

struct inputs {
	struct adsm_ptx_recipes *recipes;
	uint32_t depth, n, reg;
	const struct adsm_ptx_instruction *list[LIMIT_MAX];
	bool failed, in_part;
	bool changes;			/* the register is common: the instruction may change it */
};

/* Add what computes an input to the recipe, each instruction once. */
static void add_input(void *arg, uint32_t reg, bool writes)
{
	struct inputs *inputs = arg;
	const struct adsm_ptx_recipe *recipe = &inputs->recipes->recipes[reg];

	if (writes || inputs->failed)
		return;
	/* An instruction that changes a register begins with the value when the part begins. */
	if (reg == inputs->reg && inputs->changes)
		return;
	if (!find(inputs->recipes, reg, inputs->depth + 1)) {
		inputs->failed = true;
		return;
	}
	inputs->in_part |= inputs->recipes->states[reg] == IN_PART;
	for (uint32_t i = 0; i < recipe->n; i++) {
		uint32_t j = 0;

		while (j < inputs->n && inputs->list[j] != recipe->instructions[i])
			j++;
		if (j < inputs->n)
			continue;
		if (inputs->n == inputs->recipes->limit) {
			inputs->failed = true;
			return;
		}
		inputs->list[inputs->n++] = recipe->instructions[i];
	}
}

static bool keep(struct adsm_ptx_recipes *recipes, struct inputs *inputs, const struct adsm_ptx_instruction *by)
{
	struct adsm_ptx_recipe *recipe = &recipes->recipes[inputs->reg];

	if (inputs->failed || inputs->n == recipes->limit)
		return false;
	inputs->list[inputs->n++] = by;
	recipe->instructions = calloc(inputs->n, sizeof(*inputs->list));
	if (!recipe->instructions) {
		recipes->failed = true;
		return false;
	}
	memcpy(recipe->instructions, inputs->list, inputs->n * sizeof(*inputs->list));
	recipe->n = inputs->n;
	recipes->states[inputs->reg] = inputs->in_part ? IN_PART : EVERYWHERE;
	return true;
}

static bool is_usable(const struct adsm_ptx_recipes *recipes, const struct adsm_ptx_instruction *by)
{
	return by && by->guard.kind == ADSM_PTX_OP_NONE && adsm_ptx_is_pure(recipes->function, by);
}

/* A register that several instructions write, and which has the same value in all threads. */
static bool find_common(struct adsm_ptx_recipes *recipes, struct inputs *inputs)
{
	struct once once = { .reg = inputs->reg };

	if (!recipes->part || !adsm_ptx_bit(recipes->part->common, inputs->reg))
		return false;
	if (!find_writer(recipes->part, &once)) {
		recipes->states[inputs->reg] = IN_PART;
		return true;
	}
	if (once.n != 1 || !is_usable(recipes, once.by) || !runs_once_before_uses(recipes, &once))
		return false;
	inputs->in_part = inputs->changes = true;
	adsm_ptx_each_register(once.by, add_input, inputs);
	return keep(recipes, inputs, once.by);
}

static bool find(struct adsm_ptx_recipes *recipes, uint32_t reg, uint32_t depth)
{
	const struct adsm_ptx_definition *definition = &recipes->definitions[reg];
	struct inputs inputs = { .recipes = recipes, .depth = depth, .reg = reg };
	struct once once = { .reg = reg };

	if (recipes->states[reg] != UNKNOWN)
		return recipes->states[reg] != NONE;
	if (depth > recipes->limit)
		return false;
	recipes->states[reg] = NONE;
	if (definition->n != 1)
		return find_common(recipes, &inputs);
	if (!is_usable(recipes, definition->by))
		return false;
	adsm_ptx_each_register(definition->by, add_input, &inputs);
	/* What depends on the part must be computed in it. */
	if (inputs.in_part && !inputs.failed &&
	    (find_writer(recipes->part, &once) != 1 || once.by != definition->by ||
	     !runs_once_before_uses(recipes, &once)))
		return false;
	return keep(recipes, &inputs, definition->by);
}

const struct adsm_ptx_recipe *adsm_ptx_recipe_find(struct adsm_ptx_recipes *recipes, uint32_t reg)
{
	return find(recipes, reg, 0) ? &recipes->recipes[reg] : NULL;
}
