/* SPDX-License-Identifier: MIT */
/* adsmcc_ptx.c - see adsmcc_ptx.h. */
#include "adsmcc_ptx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adsm_kernel.h"
#include "adsmcc_source.h"
#include "base/entries.h"
#include "base/writes_text.h"
#include "ptx/access/access.h"
#include "ptx/ptx.h"
#include "ptx/code/translate.h"
#include "ptx/access/writes.h"
#include "ptx/functions.h"

#define NAME_MAX_SIZE sizeof(((struct adsm_kernel_desc *)0)->name)

/* The name of a function in CUDA C: "scale" for _Z5scalePfi, and for _Z5scaleIfEvPT_i. Else its name in the PTX. */
static const char *short_name(const char *name)
{
	char *end;
	const unsigned long size = starts(name, "_Z") ? strtoul(name + 2, &end, 10) : 0;

	if (!size || size > strlen(end))
		return name;
	return format_string("%.*s", (int)size, end);
}

static bool is_kernel(const struct adsm_ptx_function *function)
{
	return function->is_entry && function->has_body;
}

/*
 * The name of a kernel in the module: the short one if no other kernel has it and it fits, else the start of it and a
 * number. The section adsm_entries also has the full one.
 */
static const char *module_name(const struct adsm_ptx_module *module, uint32_t kernel)
{
	const char *brief = short_name(module->functions[kernel]->name);
	uint32_t number = 0;
	bool alone = true;

	for (uint32_t i = 0; i < module->n_functions; i++) {
		const bool same = is_kernel(module->functions[i]) &&
				  !strcmp(short_name(module->functions[i]->name), brief);

		alone = alone && (i == kernel || !same);
		number += same && i <= kernel;
	}
	if (alone && strlen(brief) < NAME_MAX_SIZE)
		return brief;
	return format_string("%.*s_%u", (int)NAME_MAX_SIZE - 8, brief, alone ? kernel : number);
}

static void add_param(struct text *entries, const char *name, const char *type, unsigned kind, unsigned access,
		      unsigned long long size)
{
	text_print(entries, "param %s %s %u %u %llu\n", name, type, kind, access, size);
}

/* Add what a kernel certainly writes to the section adsm_writes. */
static void add_writes(struct text *lines, const struct adsm_ptx_module *module,
		       const struct adsm_ptx_function *function, const struct adsm_ptx_access *access, const char *name)
{
	struct adsm_ptx_writes writes;

	if (adsm_ptx_writes_find(module, function, access, &writes))
		die("not enough memory");
	for (uint32_t i = 0; i < writes.n; i++) {
		const char *line = format_string("%s\n", adsm_ptx_write_text(&writes.list[i], name));

		/* The library would refuse the module. */
		if (adsm_writes_are_valid(line))
			text_print(lines, "%s", line);
	}
	adsm_ptx_writes_destroy(&writes);
}

/* The kernel of that name in another module; the same one if there is none. */
static const struct adsm_ptx_function *find_kernel(const struct adsm_ptx_module *module,
						   const struct adsm_ptx_function *kernel)
{
	for (uint32_t i = 0; i < module->n_functions; i++)
		if (module->functions[i]->has_body && !strcmp(module->functions[i]->name, kernel->name))
			return module->functions[i];
	return kernel;
}

static unsigned flags_of(const struct adsm_ptx_kernel *kernel, const struct adsm_ptx_access *access)
{
	/* Blocks that run on several nodes of a cluster at the same time must not count on an order of accesses. */
	const bool parted = !access->has_global_atomics && !access->has_volatile_or_ordered && !access->has_fence &&
			    !access->has_grid_sync && !kernel->steps;

	return ADSM_KERNEL_RAW | (parted ? ADSM_KERNEL_NO_GLOBAL_ATOMICS : 0) |
	       (kernel->services ? ADSM_KERNEL_SERVICES : 0) |
	       (access->is_unnamed ? ADSM_KERNEL_ANY_OBJECT : 0);
}

/* The lines of a kernel in the section adsm_entries: see lib/base/entries.h. */
static void add_entry(struct text *entries, struct text *writes, const struct adsm_ptx_module *module,
		      const struct adsm_ptx_kernel *kernel)
{
	const struct adsm_ptx_function *function = find_kernel(module, kernel->function);
	const uint32_t *max = function->max_threads;
	struct adsm_ptx_access access;

	if (adsm_ptx_access_find(module, function, &access))
		die("not enough memory");
	text_print(entries, "kernel %s %s %u %u %llu %u %u\n", kernel->symbol, function->name,
		   flags_of(kernel, &access), max[0] ? max[0] * (max[1] ? max[1] : 1) * (max[2] ? max[2] : 1) : 1024,
		   (unsigned long long)kernel->shared_size, function->n_params + kernel->dynamic_shared,
		   kernel->n_symbols);
	for (uint32_t i = 0; i < function->n_params; i++) {
		const struct adsm_ptx_variable *param = &function->params[i];
		const char *label = format_string("p%u", i);

		if (access.params[i].is_pointer)
			add_param(entries, label, "void", ADSM_KIND_POINTER_, access.params[i].access, 1);
		else
			add_param(entries, label, param->is_array ? "struct" : adsm_ptx_type_name(param->type),
				  ADSM_KIND_VALUE_, 0, param->size);
	}
	if (kernel->dynamic_shared)
		add_param(entries, "shared", "char", 5, 0, 1);
	for (uint32_t i = 0; i < kernel->n_symbols; i++)
		add_param(entries, format_string("%u", kernel->symbols[i]->symbol), "variable", ADSM_PARAM_VARIABLE,
			  kernel->symbols[i]->space == ADSM_PTX_CONST ? 1 : 3, kernel->symbols[i]->size);
	add_writes(writes, module, function, &access, kernel->symbol);
	adsm_ptx_access_destroy(&access);
}

/* Why can the kernel not be in a module, or NULL. */
static const char *refusal(const struct adsm_ptx_kernel *kernel)
{
	if (kernel->is_refused)
		return kernel->error.text;
	if (strlen(kernel->function->name) > ADSM_ENTRY_NAME_MAX)
		return format_string("its name has %zu characters, and the limit is %d", strlen(kernel->function->name),
				     ADSM_ENTRY_NAME_MAX);
	if (kernel->function->n_params + kernel->dynamic_shared > ADSM_PARAMS_MAX)
		return format_string("it has %u parameters%s, and the limit is %d",
				     kernel->function->n_params + kernel->dynamic_shared,
				     kernel->dynamic_shared ? " with its extern __shared__ memory" : "",
				     ADSM_PARAMS_MAX);
	if (kernel->n_symbols > ADSM_VARIABLES_MAX)
		return format_string("it uses %u variables of the module, and the limit is %d", kernel->n_symbols,
				     ADSM_VARIABLES_MAX);
	return NULL;
}

static int line_of(const struct adsm_ptx_kernel *kernel)
{
	return kernel->is_refused ? kernel->error.line : kernel->function->line;
}

/* Returns an exit status. The module lives until adsmcc ends. In C, its kernels have their names in the module. */
static int translate_ptx(const struct adsm_ptx_options *how, const char *name, const struct text *ptx,
			 struct adsm_ptx_translation *ret_translation)
{
	struct adsm_ptx_module *module;
	struct adsm_ptx_error error;

	if (adsm_ptx_parse(ptx->bytes, ptx->size, &module, &error)) {
		error_at(name, (int)strlen(name), error.line, "%s", error.text);
		return 1;
	}
	for (uint32_t i = 0; i < module->n_functions; i++) {
		if (is_kernel(module->functions[i]))
			module->functions[i]->symbol = module_name(module, i);
	}
	if (adsm_ptx_translate_with(module, how, ret_translation, &error))
		die("%s: %s", name, error.text);
	return 0;
}

int list_ptx(const char *name, const struct text *ptx)
{
	struct adsm_ptx_translation translation;
	int status = translate_ptx(&(struct adsm_ptx_options){ 0 }, name, ptx, &translation);

	for (uint32_t i = 0; !status && i < translation.n_kernels; i++) {
		const struct adsm_ptx_kernel *kernel = &translation.kernels[i];
		const char *why = refusal(kernel);

		if (why)
			printf("%s: refused: line %d: %s\n", kernel->function->name, line_of(kernel), why);
		else
			printf("%s: translated\n", kernel->function->name);
	}
	return status;
}

int emit_ptx_text(const struct adsm_ptx_options *how, const char *name, const struct text *ptx, const char *output)
{
	struct adsm_ptx_translation translation;
	struct text source = { 0 };
	int status = translate_ptx(how, name, ptx, &translation);

	if (status)
		return status;
	text_print(&source, "#include <adsm_kernel.h>\n");
	text_add(&source, translation.text, translation.size);
	write_text(&source, output);
	return 0;
}

/* The module that describes the kernels. It lives until adsmcc ends. */
static const struct adsm_ptx_module *find_description(const struct adsm_ptx_module *module,
						      const struct text *described)
{
	struct adsm_ptx_module *own;
	struct adsm_ptx_error error;

	if (!described || adsm_ptx_parse(described->bytes, described->size, &own, &error))
		return module;
	adsm_ptx_math_leave_out(own);
	return own;
}

/* Describe the kernels that can be translated, and warn of the others. */
static void add_entries(struct text *entries, struct text *writes, const char *name,
			const struct adsm_ptx_translation *translation, const struct adsm_ptx_module *description,
			bool only_ptx, unsigned level)
{
	uint32_t n = 0;

	text_print(entries, "entries 1 %s %u\n", only_ptx ? "ptx" : "code", level);
	for (uint32_t i = 0; i < translation->n_kernels; i++) {
		const struct adsm_ptx_kernel *kernel = &translation->kernels[i];
		const char *why = refusal(kernel);

		if (why) {
			warning_at(name, (int)strlen(name), line_of(kernel), "kernel %s is left out: %s",
				   kernel->function->name, why);
			continue;
		}
		add_entry(entries, writes, description, kernel);
		n++;
	}
	if (!n)
		die("%s: it has no kernel (__global__) that can be translated", name);
}

int compile_ptx(const struct tools *tools, const struct adsm_ptx_options *how, const char *name,
		const struct text *ptx, const struct text *described, bool only_ptx, const char *output)
{
	struct adsm_ptx_translation translation;
	struct text source = { 0 }, entries = { 0 }, writes = { 0 };
	struct list options = *tools->options;
	unsigned level = 0;

	if (translate_ptx(how, name, ptx, &translation))
		return 1;
	if (!only_ptx) {
		level = choose_processor(tools->compiler, &options);
		text_print(&source, "#include <adsm_kernel.h>\n");
		list_add(&options, format_string("-I%.*s", (int)(strrchr(kernel_header, '/') - kernel_header),
						 kernel_header));
		text_add(&source, translation.text, translation.size);
	}
	add_entries(&entries, &writes, name, &translation, find_description(translation.module, described), only_ptx,
		    level);
	add_section(&source, "adsm_entries", &entries);
	add_section(&source, "adsm_ptx", ptx);
	if (*translation.symbols)
		add_section(&source, "adsm_symbols",
			    &(struct text){ translation.symbols, strlen(translation.symbols), 0 });
	if (writes.size)
		add_section(&source, "adsm_writes", &writes);
	list_add(&options, "-w");
	list_add(&options, "-fwrapv");
	list_add(&options, "-fno-strict-aliasing");
	return compile_source(tools->compiler, &options, &source, output);
}
