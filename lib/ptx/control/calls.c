/* SPDX-License-Identifier: MIT */
/* calls.c - see calls.h. */
#include "calls.h"

#include "blocks.h"

#include <string.h>

static bool fits(const struct adsm_ptx_function *function, const struct adsm_ptx_function *prototype)
{
	/* Nor has grid.sync() a body here: see blocks.h. */
	if (function->is_entry || !function->has_body || function->left_out ||
	    !strcmp(function->name, ADSM_PTX_GRID_SYNC) ||
	    function->n_results != prototype->n_results || function->n_params != prototype->n_params)
		return false;
	for (uint32_t i = 0; i < function->n_results; i++)
		if (function->results[i].size != prototype->results[i].size)
			return false;
	for (uint32_t i = 0; i < function->n_params; i++)
		if (function->params[i].size != prototype->params[i].size)
			return false;
	return true;
}

static bool is_target(const struct adsm_ptx_instruction *instruction, const struct adsm_ptx_function *function)
{
	for (uint32_t i = 0; i < instruction->n_targets; i++)
		if (instruction->targets[i].function == function)
			return true;
	return false;
}

const struct adsm_ptx_function *adsm_ptx_prototype_of(const struct adsm_ptx_instruction *instruction)
{
	return instruction->prototype ? instruction->prototype :
	       instruction->n_targets ? instruction->targets[0].function : NULL;
}

bool adsm_ptx_may_enter(const struct adsm_ptx_instruction *instruction, const struct adsm_ptx_function *function)
{
	const struct adsm_ptx_function *prototype = adsm_ptx_prototype_of(instruction);

	return prototype && fits(function, prototype) &&
	       (instruction->n_targets ? is_target(instruction, function) : function->has_address);
}
