/* SPDX-License-Identifier: MIT */
/* regions.c - see regions.h. */
#include "regions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define RECIPE_MAX 14			/* instructions: more cost more than a load */

/* Opcodes whose result depends on their operands only. */
static const char *const pure[] = {
	"abs", "add", "and", "bfe", "bfi", "brev", "clz", "cnot", "cvt", "cvta", "div", "fma", "lop3", "mad", "mad24",
	"max", "min", "mov", "mul", "mul24", "neg", "not", "or", "popc", "prmt", "rem", "sad", "selp", "setp", "shf",
	"shl", "shr", "slct", "sub", "xor",
};

/* What defines a register: nothing, one instruction, or several. */
struct definition {
	const struct adsm_ptx_instruction *by;
	uint32_t n;
};

struct search {
	const struct adsm_ptx_function *function;
	struct definition *definitions;
	struct adsm_ptx_recipe *recipes;
	uint8_t *tried;			/* by register: 1: a recipe is being looked for, or there is none */
	const struct adsm_ptx_instruction **memory;
	const struct adsm_ptx_instruction *current;
	bool failed;
};

static void *get(struct adsm_ptx_regions *regions, size_t n, size_t size)
{
	size_t i = 0;

	while (regions->memory[i])
		i++;
	return regions->memory[i] = calloc(n ? n : 1, size);
}

static void note_definition(void *arg, uint32_t reg, bool writes)
{
	struct search *search = arg;

	if (!writes)
		return;
	search->definitions[reg].by = search->current;
	search->definitions[reg].n++;
}

/* Does it load from a parameter of the kernel? Parameters of the calls in it have the same space. */
static bool loads_param(const struct adsm_ptx_function *function, const struct adsm_ptx_instruction *instruction)
{
	const struct adsm_ptx_operand *base = &instruction->operands[1].elements[0];

	return instruction->space == ADSM_PTX_PARAM && instruction->vector == 1 && base->kind == ADSM_PTX_OP_VARIABLE &&
	       base->variable >= function->params && base->variable < function->params + function->n_params;
}

static bool is_pure(const struct adsm_ptx_function *function, const struct adsm_ptx_instruction *instruction)
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

static bool find_recipe(struct search *search, uint32_t reg, uint32_t depth);

struct inputs {
	struct search *search;
	uint32_t depth, n;
	const struct adsm_ptx_instruction *list[RECIPE_MAX];
	bool failed;
};

/* Add what computes an input to the recipe, each instruction once. */
static void add_input(void *arg, uint32_t reg, bool writes)
{
	struct inputs *inputs = arg;
	const struct adsm_ptx_recipe *recipe = &inputs->search->recipes[reg];

	if (writes || inputs->failed)
		return;
	if (!find_recipe(inputs->search, reg, inputs->depth + 1)) {
		inputs->failed = true;
		return;
	}
	for (uint32_t i = 0; i < recipe->n; i++) {
		uint32_t j = 0;

		while (j < inputs->n && inputs->list[j] != recipe->instructions[i])
			j++;
		if (j < inputs->n)
			continue;
		if (inputs->n == RECIPE_MAX) {
			inputs->failed = true;
			return;
		}
		inputs->list[inputs->n++] = recipe->instructions[i];
	}
}

/* Find out how to compute a register again. */
static bool find_recipe(struct search *search, uint32_t reg, uint32_t depth)
{
	const struct definition *definition = &search->definitions[reg];
	struct adsm_ptx_recipe *recipe = &search->recipes[reg];
	struct inputs inputs = { .search = search, .depth = depth };

	if (recipe->n)
		return true;
	if (search->tried[reg] || depth > RECIPE_MAX)
		return false;
	search->tried[reg] = 1;
	if (definition->n != 1 || definition->by->guard.kind != ADSM_PTX_OP_NONE ||
	    !is_pure(search->function, definition->by))
		return false;
	adsm_ptx_each_register(definition->by, add_input, &inputs);
	if (inputs.failed || inputs.n == RECIPE_MAX)
		return false;
	inputs.list[inputs.n++] = definition->by;
	recipe->instructions = search->memory + (size_t)reg * RECIPE_MAX;
	memcpy(recipe->instructions, inputs.list, inputs.n * sizeof(*inputs.list));
	recipe->n = inputs.n;
	return true;
}

/* The registers that are live at yields: each is kept or has a recipe. */
static int find_kept(struct adsm_ptx_regions *regions)
{
	const struct adsm_ptx_blocks *blocks = regions->blocks;
	const struct adsm_ptx_function *function = blocks->function;
	struct search search = {
		.function = function,
		.definitions = calloc((size_t)function->n_registers + 1, sizeof(*search.definitions)),
		.tried = calloc((size_t)function->n_registers + 1, 1),
		.recipes = regions->recipes,
		.memory = get(regions, (size_t)function->n_registers * RECIPE_MAX, sizeof(*search.memory)),
	};
	int error = search.definitions && search.tried && search.memory ? 0 : -ENOMEM;

	for (uint32_t i = 0; !error && i < function->n; i++) {
		search.current = &function->instructions[i];
		adsm_ptx_each_register(search.current, note_definition, &search);
	}
	for (uint32_t i = 1; !error && i < regions->n; i++) {
		const uint64_t *live = blocks->blocks[regions->regions[i].yield_block].live_out;

		for (uint32_t reg = 0; reg < function->n_registers; reg++) {
			if (adsm_ptx_bit(live, reg) && !find_recipe(&search, reg, 0))
				adsm_ptx_set_bit(regions->kept, reg);
		}
	}
	free(search.definitions);
	free(search.tried);
	return error;
}

/* The blocks of a region, and what may follow it. @stack: room for all blocks. */
static void walk(struct adsm_ptx_regions *regions, struct adsm_ptx_region *region, uint32_t *stack)
{
	const struct adsm_ptx_blocks *blocks = regions->blocks;
	uint32_t n = 0;

	adsm_ptx_set_bit(region->blocks, region->start);
	stack[n++] = region->start;
	while (n) {
		const uint32_t index = stack[--n];
		const struct adsm_ptx_block *block = &blocks->blocks[index];
		/* A yield whose guard does not hold lets the thread continue. */
		const bool stops = block->end == ADSM_PTX_YIELD && block->by->guard.kind == ADSM_PTX_OP_NONE;

		region->size += block->n + 1;
		if (block->end == ADSM_PTX_YIELD)
			adsm_ptx_set_bit(region->outcomes, regions->region_of[index]);
		region->leaves |= block->end == ADSM_PTX_LEAVE;
		for (uint32_t i = 0; !stops && i < block->n_next; i++) {
			if (adsm_ptx_bit(region->blocks, block->next[i]))
				continue;
			adsm_ptx_set_bit(region->blocks, block->next[i]);
			stack[n++] = block->next[i];
		}
	}
	for (uint32_t i = 0; i < regions->n; i++)
		region->n_outcomes += adsm_ptx_bit(region->outcomes, i);
	region->n_outcomes += region->leaves;
	regions->size += region->size;
}

int adsm_ptx_regions_find(const struct adsm_ptx_blocks *blocks, struct adsm_ptx_regions *ret_regions)
{
	const uint32_t n = blocks->n_yields + 1, block_words = blocks->n / 64 + 1, region_words = n / 64 + 1;
	struct adsm_ptx_regions regions = { .blocks = blocks, .n = n };
	uint32_t *stack = calloc(blocks->n, sizeof(*stack));
	uint64_t *block_bits = get(&regions, (size_t)n * block_words, sizeof(*block_bits));
	uint64_t *outcome_bits = get(&regions, (size_t)n * region_words, sizeof(*outcome_bits));
	int error = -ENOMEM;

	regions.regions = get(&regions, n, sizeof(*regions.regions));
	regions.region_of = get(&regions, blocks->n, sizeof(*regions.region_of));
	regions.kept = get(&regions, blocks->words, sizeof(*regions.kept));
	regions.recipes = get(&regions, blocks->function->n_registers, sizeof(*regions.recipes));
	if (stack && block_bits && outcome_bits && regions.regions && regions.region_of && regions.kept &&
	    regions.recipes) {
		for (uint32_t b = 0, i = 1; b < blocks->n; b++) {
			const struct adsm_ptx_block *block = &blocks->blocks[b];

			if (!block->reached || block->end != ADSM_PTX_YIELD)
				continue;
			regions.region_of[b] = i;
			regions.regions[i++] = (struct adsm_ptx_region){
				.start = block->next[0], .yield = block->by, .yield_block = b,
			};
		}
		for (uint32_t i = 0; i < n; i++) {
			regions.regions[i].blocks = block_bits + (size_t)i * block_words;
			regions.regions[i].outcomes = outcome_bits + (size_t)i * region_words;
			walk(&regions, &regions.regions[i], stack);
		}
		error = find_kept(&regions);
	}
	free(stack);
	if (error)
		adsm_ptx_regions_destroy(&regions);
	else
		*ret_regions = regions;
	return error;
}

void adsm_ptx_regions_destroy(struct adsm_ptx_regions *regions)
{
	for (size_t i = 0; i < sizeof(regions->memory) / sizeof(*regions->memory); i++)
		free(regions->memory[i]);
	*regions = (struct adsm_ptx_regions){ 0 };
}
