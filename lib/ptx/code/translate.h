/* SPDX-License-Identifier: MIT */
/* translate.h - the C text of a module of PTX. */
#pragma once

#include "ptx/ptx.h"

/* A kernel of a module: what became of it. */
struct adsm_ptx_kernel {
	const struct adsm_ptx_function *function;
	const char *symbol;		/* adsm_run_<symbol> runs a block of it */
	uint64_t shared_size;		/* bytes of a block, without what the launch adds */
	bool dynamic_shared;		/* the launch adds memory of the block, as the last argument */
	uint64_t local_size;		/* bytes of a thread */
	bool steps;			/* adsm_step_<symbol> runs a block, too, and can be left (adsm_kernel.h) */
	bool syncs_grid;		/* it may call grid.sync() */
	bool services;			/* it may call printf, malloc, free, assert */
	/* The variables in device memory that it may use. Their addresses are the last arguments. */
	uint32_t n_symbols;
	const struct adsm_ptx_variable **symbols;
	bool is_refused;
	struct adsm_ptx_error error;	/* if it is refused: why */
};

struct adsm_ptx_translation {
	const struct adsm_ptx_module *module;
	char *text;			/* C, for gcc and clang; NUL-terminated */
	size_t size;
	char *symbols;			/* the section adsm_symbols (lib/base/symbols.h); NUL-terminated */
	uint32_t n_kernels;
	struct adsm_ptx_kernel *kernels;
};

/* How to translate. All 0: as adsm_ptx_translate() does. */
struct adsm_ptx_options {
	const char *ptx_name;		/* the file of the PTX in debug information; NULL: "kernels.ptx" */
	/* The lines of the C text are those of the source, by .loc. Else they are those of the PTX. */
	bool source_lines;
	bool check;			/* check accesses and barriers while kernels run */
	bool lockstep;			/* the threads of a warp access memory together, see blocks.h */
};

/*
 * Translate a module. A kernel that cannot be translated is refused, and the others still work. Returns 0; -ENOMEM; or
 * -ENOEXEC if the whole module cannot be translated. ret_error then says why. The module must live as long as the
 * translation.
 */
int adsm_ptx_translate(struct adsm_ptx_module *module, struct adsm_ptx_translation *ret_translation,
		       struct adsm_ptx_error *ret_error);
int adsm_ptx_translate_with(struct adsm_ptx_module *module, const struct adsm_ptx_options *options,
			    struct adsm_ptx_translation *ret_translation, struct adsm_ptx_error *ret_error);
void adsm_ptx_translation_destroy(struct adsm_ptx_translation *translation);
