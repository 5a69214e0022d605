/* SPDX-License-Identifier: MIT */
/* regions.c - see regions.h. */
#include "regions.h"

#include <errno.h>
#include <stdlib.h>

#define RECIPE_MAX 14			/* instructions: more cost more than a load */

static void *get(struct adsm_ptx_regions *regions, size_t n, size_t size)
{
	size_t i = 0;

	while (regions->memory[i])
		i++;
	return regions->memory[i] = calloc(n ? n : 1, size);
}

/* The registers that are live at yields: each is kept or has a recipe. */
static int find_kept(struct adsm_ptx_regions *regions)
{
	const struct adsm_ptx_blocks *blocks = regions->blocks;
	const struct adsm_ptx_function *function = blocks->function;

	if (adsm_ptx_recipes_init(&regions->recipes, function, RECIPE_MAX, NULL))
		return -ENOMEM;
	for (uint32_t i = 1; i < regions->n; i++) {
		const uint64_t *live = blocks->blocks[regions->regions[i].yield_block].live_out;

		for (uint32_t reg = 0; reg < function->n_registers; reg++) {
			if (adsm_ptx_bit(live, reg) && !adsm_ptx_recipe_find(&regions->recipes, reg))
				adsm_ptx_set_bit(regions->kept, reg);
		}
	}
	return regions->recipes.failed ? -ENOMEM : 0;
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
	if (stack && block_bits && outcome_bits && regions.regions && regions.region_of && regions.kept) {
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
	adsm_ptx_recipes_destroy(&regions->recipes);
	*regions = (struct adsm_ptx_regions){ 0 };
}
