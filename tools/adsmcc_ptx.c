/* SPDX-License-Identifier: MIT */
/* adsmcc_ptx.c - see adsmcc_ptx.h. */
#include "adsmcc_ptx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adsm_kernel.h"
#include "adsmcc_source.h"
#include "ptx/access.h"
#include "ptx/ptx.h"
#include "ptx/translate.h"

#define FULL_NAME_MAX 1024
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

/*
 * The name of a kernel in the module: the short one if no other kernel has it and it fits, else the start of it and a
 * number. The section adsm_names has the full one.
 */
static const char *module_name(const struct adsm_ptx_translation *translation, uint32_t kernel)
{
	const char *brief = short_name(translation->kernels[kernel].function->name);
	uint32_t number = 0;
	bool alone = true;

	for (uint32_t i = 0; i < translation->n_kernels; i++) {
		const bool same = !strcmp(short_name(translation->kernels[i].function->name), brief);

		alone = alone && (i == kernel || !same);
		number += same && i <= kernel;
	}
	if (alone && strlen(brief) < NAME_MAX_SIZE)
		return brief;
	return format_string("%.*s_%u", (int)NAME_MAX_SIZE - 8, brief, alone ? kernel : number);
}

static void add_param(struct text *source, const char *name, const char *type, unsigned kind, unsigned access,
		      unsigned long long size)
{
	text_print(source, "\t\t{ .name = \"%s\", .type = \"%s\", .kind = %u, .access = %u, .size = %llu },\n", name,
		   type, kind, access, size);
}

/* The descriptor of a kernel, as ADSM_DESC_ of adsm_kernel.h makes them. */
static void add_descriptor(struct text *source, const struct adsm_ptx_module *module,
			   const struct adsm_ptx_kernel *kernel, const char *name)
{
	const struct adsm_ptx_function *function = kernel->function;
	const uint32_t *max = function->max_threads;
	struct adsm_ptx_access access;
	bool parted;

	if (adsm_ptx_access_find(module, function, &access))
		die("there is no memory");
	/* Blocks that run on several nodes of a cluster at the same time must not count on an order of accesses. */
	parted = !access.has_global_atomics && !access.has_volatile_or_ordered && !access.has_fence &&
		 !access.has_grid_sync && !kernel->steps;
	text_print(source, "static const struct adsm_kernel_desc adsm_desc_%u\n"
		   "\t__attribute__((used, section(\"adsm_kernels\"), aligned(64))) = {\n"
		   "\t.magic = ADSM_KERNEL_MAGIC, .version = ADSM_KERNEL_VERSION,\n"
		   "\t.size = sizeof(struct adsm_kernel_desc), .max_threads = %u, .n_params = %u,\n"
		   "\t.name = \"%s\", .flags = 0%s%s%s,\n\t.params = {\n", function->index,
		   max[0] ? max[0] * (max[1] ? max[1] : 1) * (max[2] ? max[2] : 1) : 1024,
		   function->n_params + kernel->dynamic_shared + kernel->n_symbols, name,
		   parted ? " | ADSM_KERNEL_NO_GLOBAL_ATOMICS" : "",
		   kernel->services ? " | ADSM_KERNEL_SERVICES" : "",
		   access.is_unnamed ? " | ADSM_KERNEL_ANY_OBJECT" : "");
	for (uint32_t i = 0; i < function->n_params; i++) {
		const struct adsm_ptx_variable *param = &function->params[i];
		const char *label = format_string("p%u", i);

		if (access.params[i].is_pointer)
			add_param(source, label, "void", ADSM_KIND_POINTER_, access.params[i].access, 1);
		else
			add_param(source, label, param->is_array ? "struct" : adsm_ptx_type_name(param->type),
				  ADSM_KIND_VALUE_, 0, param->size);
	}
	if (kernel->dynamic_shared)
		add_param(source, "shared", "char", 5, 0, 1);
	for (uint32_t i = 0; i < kernel->n_symbols; i++)
		add_param(source, format_string("%u", kernel->symbols[i]->symbol), "variable", 7,
			  kernel->symbols[i]->space == ADSM_PTX_CONST ? 1 : 3, kernel->symbols[i]->size);
	text_print(source, "\t},\n};\n");
	adsm_ptx_access_destroy(&access);
}

/* Why can the kernel not be in a module, or NULL. */
static const char *refusal(const struct adsm_ptx_kernel *kernel)
{
	if (kernel->is_refused)
		return kernel->error.text;
	if (strlen(kernel->function->name) > FULL_NAME_MAX)
		return format_string("its name has %zu characters, and the limit is %d", strlen(kernel->function->name),
				     FULL_NAME_MAX);
	if (kernel->function->n_params + kernel->dynamic_shared + kernel->n_symbols > ADSM_KERNEL_PARAMS_MAX)
		return format_string("it has %u parameters and uses %u variables of the module, and the limit is %d "
				     "together",
				     kernel->function->n_params + kernel->dynamic_shared, kernel->n_symbols,
				     ADSM_KERNEL_PARAMS_MAX);
	return NULL;
}

/* The C function is adsm_run_<name in the PTX>. The device looks for adsm_run_<name in the module>. So with steps. */
static void add_alias(struct text *source, const struct adsm_ptx_kernel *kernel, const char *name)
{
	static const char *const functions[] = { "run", "step" };

	for (int i = 0; i <= kernel->steps && strcmp(kernel->symbol, name); i++)
		text_print(source, "__attribute__((visibility(\"default\"), alias(\"adsm_%s_%s\")))\n"
			   "adsm_kernel_%s adsm_%s_%s;\n", functions[i], kernel->symbol, functions[i], functions[i],
			   name);
}

/* Returns an exit status. The module lives until adsmcc ends. */
static int translate_ptx(const char *name, const struct text *ptx, struct adsm_ptx_translation *ret_translation)
{
	struct adsm_ptx_module *module;
	struct adsm_ptx_error error;

	if (adsm_ptx_parse(ptx->bytes, ptx->size, &module, &error)) {
		error_at(name, (int)strlen(name), error.line, "%s", error.text);
		return 1;
	}
	if (adsm_ptx_translate(module, ret_translation, &error))
		die("%s: %s", name, error.text);
	return 0;
}

int list_ptx(const char *name, const struct text *ptx)
{
	struct adsm_ptx_translation translation;
	int status = translate_ptx(name, ptx, &translation);

	for (uint32_t i = 0; !status && i < translation.n_kernels; i++) {
		const struct adsm_ptx_kernel *kernel = &translation.kernels[i];
		const char *why = refusal(kernel);

		if (why)
			printf("%s: refused: line %d: %s\n", kernel->function->name, kernel->error.line, why);
		else
			printf("%s: translated\n", kernel->function->name);
	}
	return status;
}

int emit_ptx_text(const char *name, const struct text *ptx, const char *output)
{
	struct adsm_ptx_translation translation;
	struct text source = { 0 };
	int status = translate_ptx(name, ptx, &translation);

	if (status)
		return status;
	text_print(&source, "#include <adsm_kernel.h>\n");
	text_add(&source, translation.text, translation.size);
	write_text(&source, output);
	return 0;
}

int compile_ptx(const struct tools *tools, const char *name, const struct text *ptx, const char *output)
{
	struct adsm_ptx_translation translation;
	struct text source = { 0 }, names = { 0 };
	struct list options = *tools->options;
	uint32_t n = 0;

	if (translate_ptx(name, ptx, &translation))
		return 1;
	text_print(&source, "#include <adsm_kernel.h>\n");
	list_add(&options, format_string("-I%.*s", (int)(strrchr(kernel_header, '/') - kernel_header), kernel_header));
	text_add(&source, translation.text, translation.size);
	for (uint32_t i = 0; i < translation.n_kernels; i++) {
		const struct adsm_ptx_kernel *kernel = &translation.kernels[i];
		const char *brief = module_name(&translation, i), *why = refusal(kernel);

		if (why) {
			warning_at(name, (int)strlen(name), kernel->error.line, "kernel %s is left out: %s",
				   kernel->function->name, why);
			continue;
		}
		add_descriptor(&source, translation.module, kernel, brief);
		add_alias(&source, kernel, brief);
		if (strcmp(brief, kernel->function->name))
			text_print(&names, "%s %s\n", brief, kernel->function->name);
		n++;
	}
	if (!n)
		die("%s: it has no kernel (__global__) that can be translated", name);
	add_section(&source, "adsm_ptx", ptx);
	if (*translation.symbols)
		add_section(&source, "adsm_symbols",
			    &(struct text){ translation.symbols, strlen(translation.symbols), 0 });
	if (names.size)
		add_section(&source, "adsm_names", &names);
	list_add(&options, "-w");
	list_add(&options, "-fwrapv");
	list_add(&options, "-fno-strict-aliasing");
	return compile_source(tools->compiler, &options, &source, output);
}
