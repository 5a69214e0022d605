/* SPDX-License-Identifier: MIT */
/* tree.c - small questions to the tree of PTX. */
#include "arena.h"
#include "ptx.h"

#include <stdlib.h>
#include <string.h>

void adsm_ptx_destroy(struct adsm_ptx_module *module)
{
	if (!module)
		return;
	adsm_ptx_arena_finish(module->arena);
	free(module->arena);
	free(module);
}

void *adsm_ptx_alloc(struct adsm_ptx_module *module, size_t n, size_t size)
{
	return adsm_ptx_arena_alloc(module->arena, n, size);
}

bool adsm_ptx_has(const struct adsm_ptx_instruction *instruction, const char *modifier)
{
	for (uint32_t i = 0; i < instruction->n_modifiers; i++) {
		if (!strcmp(instruction->modifiers[i], modifier))
			return true;
	}
	return false;
}

bool adsm_ptx_is(const struct adsm_ptx_instruction *instruction, const char *opcode)
{
	return !strcmp(instruction->opcode, opcode);
}

enum adsm_ptx_type adsm_ptx_type_of(const struct adsm_ptx_instruction *instruction)
{
	return instruction->n_types ? instruction->types[instruction->n_types - 1] : ADSM_PTX_NO_TYPE;
}

uint32_t adsm_ptx_size(enum adsm_ptx_type type)
{
	static const uint32_t sizes[ADSM_PTX_N_TYPES] = {
#define SIZE(name, bytes) [ADSM_PTX_##name] = bytes,
		ADSM_PTX_TYPES(SIZE)
#undef SIZE
	};

	return sizes[type];
}

const char *adsm_ptx_type_name(enum adsm_ptx_type type)
{
	static const char *const names[ADSM_PTX_N_TYPES] = {
		[ADSM_PTX_NO_TYPE] = "(no type)",
#define NAME(name, bytes) [ADSM_PTX_##name] = #name,
		ADSM_PTX_TYPES(NAME)
#undef NAME
	};

	return names[type];
}
