/* SPDX-License-Identifier: MIT */
/* keep.c - see keep.h. */
#include "keep.h"

#include "ptx/functions.h"

#include <stdlib.h>
#include <string.h>

struct search {
	struct adsm_ptx_module *module;
	struct adsm_ptx_function **waiting;	/* reached, and not looked at yet */
	uint32_t n_waiting;
};

static void reach(struct search *search, uint32_t index)
{
	struct adsm_ptx_function *function = search->module->functions[index];
	bool single;

	if (!function->left_out)
		return;
	function->left_out = false;
	/* The C library's function takes the place of its body. */
	if (!adsm_ptx_math_find(function->name, &single))
		search->waiting[search->n_waiting++] = function;
}

static void reach_operands(struct search *search, const struct adsm_ptx_operand *operands, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (operands[i].kind == ADSM_PTX_OP_FUNCTION)
			reach(search, operands[i].function->index);
		reach_operands(search, operands[i].elements, operands[i].n);
	}
}

/* A call through a register may be one of any function whose address the module takes. */
static void reach_all(struct search *search)
{
	for (uint32_t i = 0; i < search->module->n_functions; i++) {
		if (!search->module->functions[i]->is_entry)
			reach(search, i);
	}
}

static void reach_from(struct search *search, const struct adsm_ptx_function *function)
{
	for (uint32_t i = 0; i < function->n; i++) {
		const struct adsm_ptx_instruction *instruction = &function->instructions[i];

		reach_operands(search, instruction->operands, instruction->n);
		reach_operands(search, instruction->targets, instruction->n_targets);
		if (adsm_ptx_is(instruction, "call") && instruction->n == 3 &&
		    instruction->operands[1].kind != ADSM_PTX_OP_FUNCTION && !instruction->n_targets)
			reach_all(search);
	}
}

struct adsm_ptx_function *adsm_ptx_keep(struct adsm_ptx_module *module, const char *name, size_t size)
{
	struct search search = { .module = module };
	struct adsm_ptx_function *kernel = NULL;

	search.waiting = calloc(module->n_functions + 1, sizeof(struct adsm_ptx_function *));
	for (uint32_t i = 0; i < module->n_functions; i++) {
		struct adsm_ptx_function *function = module->functions[i];

		function->index = i;
		if (function->is_entry && function->has_body && strlen(function->name) == size &&
		    !memcmp(function->name, name, size))
			kernel = function;
	}
	if (!kernel || !search.waiting) {
		free(search.waiting);
		return NULL;
	}
	for (uint32_t i = 0; i < module->n_functions; i++)
		module->functions[i]->left_out = true;
	reach(&search, kernel->index);
	while (search.n_waiting)
		reach_from(&search, search.waiting[--search.n_waiting]);
	free(search.waiting);
	return kernel;
}
