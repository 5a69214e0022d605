/* SPDX-License-Identifier: MIT */
/* adsmcc_explain.c - see adsmcc_explain.h. */
#include "adsmcc_explain.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "describe.h"
#include "ptx/access/writes.h"
#include "ptx/control/inline.h"
#include "ptx/functions.h"

/* Print where an instruction is: in the source if the PTX says so. */
static void print_place(const struct adsm_ptx_module *module, const struct adsm_ptx_instruction *instruction)
{
	const uint32_t file = (uint32_t)instruction->file;

	if (instruction->source_line && file < module->n_files && module->files[file])
		printf("line %d of %s", instruction->source_line, module->files[file]);
	else
		printf("line %d of the PTX", instruction->line);
}

/* Print ", written first in line 5", if there is a reason. Returns whether there was one. */
static bool print_reason(const struct adsm_ptx_module *module, const char *what,
			 const struct adsm_ptx_instruction *reason, bool more)
{
	if (!reason)
		return more;
	printf("%s%s first in ", more ? ", " : " ", what);
	print_place(module, reason);
	return true;
}

static void print_slot(const struct adsm_ptx_module *module, const struct adsm_ptx_slot *slot)
{
	bool more = false;

	if (!slot->reads && !slot->writes && !slot->escapes)
		return;
	printf("\tparameter %u", slot->param);
	if (slot->offset)
		printf(", byte %llu", (unsigned long long)slot->offset);
	printf(":");
	more = print_reason(module, "read", slot->reads, more);
	more = print_reason(module, "written", slot->writes, more);
	more = print_reason(module, "atomic operation", slot->atomics, more);
	print_reason(module, "its value is stored or passed on", slot->escapes, more);
	printf("\n");
}

static void print_fact(const struct adsm_ptx_module *module, const char *what,
		       const struct adsm_ptx_instruction *reason)
{
	if (!reason)
		return;
	printf("\t%s: first in ", what);
	print_place(module, reason);
	printf("\n");
}

/* What is certainly written through a parameter, or why nothing is. */
static void print_writes(const struct adsm_ptx_module *module, const struct adsm_ptx_function *kernel,
			 const struct adsm_ptx_writes *writes)
{
	for (uint32_t i = 0; i < writes->n; i++) {
		char *text = adsm_ptx_write_text(&writes->list[i], kernel->name);

		if (!text)
			die("not enough memory");
		printf("\tparameter %u: certainly writes ", writes->list[i].param);
		describe_write(text);
		printf(": ");
		print_place(module, writes->list[i].by);
		printf("\n");
		free(text);
	}
	for (uint32_t i = 0; i < kernel->n_params; i++) {
		if (!writes->why[i])
			continue;
		printf("\tparameter %u: perhaps not written whole, as %s: ", i, writes->why[i]);
		print_place(module, writes->where[i]);
		printf("\n");
	}
}

static bool has_write(const struct adsm_ptx_writes *writes, uint32_t param)
{
	for (uint32_t i = 0; i < writes->n; i++) {
		if (writes->list[i].param == param)
			return true;
	}
	return false;
}

static void print_verdicts(const struct adsm_ptx_function *kernel, const struct adsm_ptx_access *access,
			   const struct adsm_ptx_writes *writes)
{
	printf("\tverdict:");
	for (uint32_t i = 0; i < kernel->n_params; i++) {
		if (access->params[i].is_pointer)
			printf(" parameter %u %s,", i, access->params[i].access == 1 ? "IN" : has_write(writes, i) ?
			       "OUT where that is all of the object, else INOUT" : "INOUT");
	}
	printf(" the call is %s\n", access->is_unnamed ? "unnamed" : "named");
}

static void explain(const struct adsm_ptx_module *module, const struct adsm_ptx_function *kernel)
{
	struct adsm_ptx_access access;
	struct adsm_ptx_writes writes;

	if (adsm_ptx_access_find(module, kernel, &access) || adsm_ptx_writes_find(module, kernel, &access, &writes))
		die("not enough memory");
	printf("%s\n", kernel->name);
	if (access.gave_up)
		printf("\tthe kernel is too large for the analysis\n");
	for (uint32_t i = 0; i < access.n_slots; i++)
		print_slot(module, &access.slots[i]);
	print_fact(module, "reads memory that no parameter names", access.reads_others);
	print_fact(module, "writes memory that no parameter names", access.writes_others);
	print_fact(module, "calls a function that is not known", access.calls_unknown);
	print_fact(module, "uses variables of the module", access.uses_symbols);
	print_fact(module, "uses textures or surfaces", access.uses_textures);
	print_fact(module, "atomic operations on global memory", access.has_global_atomics);
	print_fact(module, "volatile or ordered accesses to global memory", access.has_volatile_or_ordered);
	print_fact(module, "fences", access.has_fence);
	print_fact(module, "barriers of the grid", access.has_grid_sync);
	print_writes(module, kernel, &writes);
	print_verdicts(kernel, &access, &writes);
	adsm_ptx_writes_destroy(&writes);
	adsm_ptx_access_destroy(&access);
}

int explain_ptx(const char *name, const struct text *ptx)
{
	struct adsm_ptx_module *module;
	struct adsm_ptx_error error;

	if (adsm_ptx_parse(ptx->bytes, ptx->size, &module, &error)) {
		error_at(name, (int)strlen(name), error.line, "%s", error.text);
		return 1;
	}
	/* As the module's descriptors have it. */
	if (adsm_ptx_inline(module))
		die("not enough memory");
	adsm_ptx_math_leave_out(module);
	for (uint32_t i = 0; i < module->n_functions; i++) {
		if (module->functions[i]->is_entry && module->functions[i]->has_body)
			explain(module, module->functions[i]);
	}
	adsm_ptx_destroy(module);
	return 0;
}
