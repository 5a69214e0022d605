/* SPDX-License-Identifier: MIT */
/*
 * translate.c - see translate.h.
 *
 * The text begins with the files runtime*.h. Module variables follow, then device functions, then kernels. A
 * device function that cannot be translated has no code, and each kernel that calls it is left out.
 */
#include "translate.h"

#include "ptx/control/blocks.h"
#include "ptx/control/calls.h"
#include "check.h"
#include "frame.h"
#include "ptx/functions.h"
#include "globals.h"
#include "ptx/control/inline.h"
#include "ptx/runtime/runtime_text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOWHERE UINT64_MAX

struct translation {
	struct adsm_ptx_writer writer;	/* the first member: callbacks find the rest by it */
	struct adsm_ptx_module *module;
	/* By variable that is in shared memory: its offset in the block's memory; NOWHERE: not yet known. */
	uint64_t *shared;
	uint32_t n_shared;
	uint64_t shared_size;		/* of those that device functions name */
	uint64_t here;			/* and of those of the current kernel */
	uint32_t align;			/* of a block's memory: the largest of the module's, at least 64 */
	bool dynamic;			/* the current kernel names memory that the launch adds */
	/* By function: why it cannot be translated (error.text is empty: it can); does the current kernel call it? */
	struct adsm_ptx_error *errors;
	bool *called;
	const struct adsm_ptx_function **waiting;	/* those whose own calls have not been looked at */
	uint32_t n_waiting;
	bool *named;			/* by module variable: does the current function name it? */
	/* The variables in device memory that the current kernel, and what it calls, name. */
	const struct adsm_ptx_variable **symbols;
	uint32_t n_symbols;
	struct adsm_ptx_error error;
};

static uint64_t round_up(uint64_t at, uint32_t to)
{
	return to > 1 ? (at + to - 1) / to * to : at;
}

static uint64_t shared_offset(const struct adsm_ptx_writer *writer, const struct adsm_ptx_variable *variable)
{
	return ((const struct translation *)writer)->shared[variable->index];
}

static uint32_t local_align(const struct adsm_ptx_function *function)
{
	uint32_t align = 16;

	for (uint32_t i = 0; i < function->n_variables; i++) {
		const struct adsm_ptx_variable *variable = function->variables[i];

		if (variable->space == ADSM_PTX_LOCAL && variable->align > align)
			align = variable->align;
	}
	return align;
}

/* Local variables lie one after the other, in their order. The memory of the next thread may follow. */
static uint64_t local_end(const struct adsm_ptx_function *function, const struct adsm_ptx_variable *until)
{
	uint64_t at = 0;

	for (uint32_t i = 0; i < function->n_variables; i++) {
		const struct adsm_ptx_variable *variable = function->variables[i];

		if (variable->space != ADSM_PTX_LOCAL)
			continue;
		at = round_up(at, variable->align);
		if (variable == until)
			return at;
		at += variable->size;
	}
	return round_up(at, local_align(function));
}

static uint64_t local_offset(const struct adsm_ptx_writer *writer, const struct adsm_ptx_variable *variable)
{
	return local_end(writer->function, variable);
}

static void each_operand(const struct adsm_ptx_operand *operands, uint32_t n,
			 void (*visit)(struct translation *translation, const struct adsm_ptx_operand *operand),
			 struct translation *translation)
{
	for (uint32_t i = 0; i < n; i++) {
		visit(translation, &operands[i]);
		each_operand(operands[i].elements, operands[i].n, visit, translation);
	}
}

static void each_operand_of(const struct adsm_ptx_function *function,
			    void (*visit)(struct translation *translation, const struct adsm_ptx_operand *operand),
			    struct translation *translation)
{
	for (uint32_t i = 0; i < function->n; i++) {
		const struct adsm_ptx_instruction *instruction = &function->instructions[i];

		each_operand(instruction->operands, instruction->n, visit, translation);
		each_operand(instruction->targets, instruction->n_targets, visit, translation);
	}
}

/*
 * Give a shared variable its place: after those that have one. One without a size is what the launch adds, at the end.
 */
static void place(struct translation *translation, const struct adsm_ptx_operand *operand)
{
	const struct adsm_ptx_variable *variable = operand->variable;
	uint64_t at;

	if (operand->kind != ADSM_PTX_OP_VARIABLE || variable->space != ADSM_PTX_SHARED)
		return;
	if (!variable->size) {
		translation->dynamic = true;
		return;
	}
	if (translation->shared[variable->index] != NOWHERE)
		return;
	at = round_up(translation->here, variable->align);
	translation->shared[variable->index] = at;
	translation->here = at + variable->size;
}

static void mark_function(struct translation *translation, const struct adsm_ptx_function *function)
{
	/* grid.sync() is no function: see blocks.h. */
	if (translation->called[function->index] || !strcmp(function->name, ADSM_PTX_GRID_SYNC))
		return;
	translation->called[function->index] = true;
	translation->waiting[translation->n_waiting++] = function;
}

static void mark(struct translation *translation, const struct adsm_ptx_operand *operand)
{
	if (operand->kind == ADSM_PTX_OP_FUNCTION)
		mark_function(translation, operand->function);
}

/* What a function calls, or may call through a register, or whose address it takes, is called. */
static void mark_from(struct translation *translation, const struct adsm_ptx_function *function)
{
	const struct adsm_ptx_module *module = translation->module;

	each_operand_of(function, mark, translation);
	for (uint32_t i = 0; i < function->n; i++) {
		const struct adsm_ptx_instruction *instruction = &function->instructions[i];

		if (!adsm_ptx_is(instruction, "call") || instruction->operands[1].kind == ADSM_PTX_OP_FUNCTION)
			continue;
		for (uint32_t j = 0; j < module->n_functions; j++) {
			if (adsm_ptx_may_enter(instruction, module->functions[j]))
				mark_function(translation, module->functions[j]);
		}
	}
}

static void mark_all(struct translation *translation, const struct adsm_ptx_function *kernel)
{
	mark_from(translation, kernel);
	while (translation->n_waiting)
		mark_from(translation, translation->waiting[--translation->n_waiting]);
}

/* Memory that the launch adds begins after the kernel's, as ptx_begin() has it. */
static void place_dynamic(struct translation *translation)
{
	for (uint32_t i = 0; i < translation->module->n_variables; i++) {
		const struct adsm_ptx_variable *variable = translation->module->variables[i];

		if (variable->space == ADSM_PTX_SHARED && !variable->size)
			translation->shared[i] = round_up(translation->here, translation->align);
	}
}

/*
 * Also the variables of grid.sync(): on a GPU all launches of a module count in them. So calls that use them must not
 * run at the same time.
 */
static void name(struct translation *translation, const struct adsm_ptx_operand *operand)
{
	const struct adsm_ptx_variable *variable = operand->variable;

	if (operand->kind == ADSM_PTX_OP_FUNCTION && !strcmp(operand->function->name, ADSM_PTX_GRID_SYNC))
		each_operand_of(operand->function, name, translation);
	if (operand->kind == ADSM_PTX_OP_VARIABLE && variable->index < translation->module->n_variables &&
	    translation->module->variables[variable->index] == variable)
		translation->named[variable->index] = true;
}

/* Find the variables of the module that a function names. */
static void find_named(struct translation *translation, const struct adsm_ptx_function *function)
{
	memset(translation->named, 0, translation->module->n_variables * sizeof(*translation->named));
	each_operand_of(function, name, translation);
}

/* Find the variables in device memory that a kernel, and what it calls, name. */
static void find_symbols(struct translation *translation, const struct adsm_ptx_function *kernel)
{
	const struct adsm_ptx_module *module = translation->module;

	find_named(translation, kernel);
	for (uint32_t i = 0; i < module->n_functions; i++) {
		if (translation->called[i])
			each_operand_of(module->functions[i], name, translation);
	}
	translation->n_symbols = 0;
	for (uint32_t i = 0; i < module->n_variables; i++) {
		if (translation->named[i] && module->variables[i]->symbol != ADSM_PTX_NO_SYMBOL)
			translation->symbols[translation->n_symbols++] = module->variables[i];
	}
}

static void name_frame(const struct translation *translation, const struct adsm_ptx_function *function,
		       struct adsm_ptx_frame *ret_frame)
{
	*ret_frame = (struct adsm_ptx_frame){
		.symbol = function->symbol ? function->symbol : function->name,
		.index = function->index,
		.shared_size = translation->here,
		.align = translation->align,
		.dynamic = translation->dynamic,
		.local_size = local_end(function, NULL),
		.local_align = local_align(function),
		.n_symbols = translation->n_symbols,
		.symbols = translation->symbols,
	};
}

/*
 * Append a function. If it is refused, the text has nothing of it, and the error stands in errors. The caller's writer
 * has no place to jump to meanwhile.
 */
static void write_one(struct translation *translation, const struct adsm_ptx_function *function)
{
	struct adsm_ptx_writer *writer = &translation->writer;
	const size_t size = writer->text.size;
	struct adsm_ptx_frame frame;
	jmp_buf outer;

	memcpy(outer, writer->refused, sizeof(outer));
	find_named(translation, function);
	name_frame(translation, function, &frame);
	writer->function = function;
	writer->instruction = NULL;
	writer->line_file = NULL;
	writer->error = &translation->errors[function->index];
	if (!setjmp(writer->refused)) {
		adsm_ptx_check_start(writer);
		if (function->is_entry)
			adsm_ptx_write_kernel(writer, &frame);
		else
			adsm_ptx_write_function(writer, &frame);
	} else {
		writer->text.size = size;
		writer->text.bytes[size] = '\0';
	}
	adsm_ptx_check_end(writer);
	memcpy(writer->refused, outer, sizeof(outer));
	writer->error = &translation->error;
	writer->function = NULL;
	writer->instruction = NULL;
}

/* Is the function a part of the text? @is_entry: kernels, or functions that kernels call. */
static bool is_written(const struct adsm_ptx_function *function, bool is_entry)
{
	return function->has_body && !function->left_out && function->is_entry == is_entry;
}

static bool is_refused(const struct translation *translation, uint32_t function)
{
	return translation->errors[function].text[0] != '\0';
}

/* Refuse a kernel that calls a function which has been refused, or which has no body. */
static bool refuse_callers(struct translation *translation, uint32_t kernel)
{
	const struct adsm_ptx_module *module = translation->module;
	struct adsm_ptx_error *error = &translation->errors[kernel];

	memset(translation->called, 0, module->n_functions * sizeof(*translation->called));
	mark_all(translation, module->functions[kernel]);
	for (uint32_t i = 0; i < module->n_functions; i++) {
		if (!translation->called[i] || !is_refused(translation, i))
			continue;
		error->line = translation->errors[i].line;
		snprintf(error->text, sizeof(error->text), "it calls %.80s: %.400s", module->functions[i]->name,
			 translation->errors[i].text);
		return true;
	}
	return false;
}

/* Device functions come first: their shared variables have the same places for all kernels. */
static void write_functions(struct translation *translation)
{
	const struct adsm_ptx_module *module = translation->module;

	for (uint32_t i = 0; i < module->n_functions; i++) {
		if (is_written(module->functions[i], false))
			each_operand_of(module->functions[i], place, translation);
	}
	/* If they name memory that the launch adds, it begins at the same place for all kernels, too. */
	for (uint32_t i = 0; translation->dynamic && i < module->n_functions; i++) {
		if (is_written(module->functions[i], true))
			each_operand_of(module->functions[i], place, translation);
	}
	place_dynamic(translation);
	translation->shared_size = translation->here;
	for (uint32_t i = 0; i < module->n_functions; i++) {
		if (is_written(module->functions[i], false))
			adsm_ptx_write_prototype(&translation->writer, module->functions[i]);
	}
	for (uint32_t i = 0; i < module->n_functions; i++) {
		if (!is_written(module->functions[i], false) || !strcmp(module->functions[i]->name, ADSM_PTX_GRID_SYNC))
			continue;
		write_one(translation, module->functions[i]);
		/* Other functions may call it, and compilers that do not optimize keep those that no kernel calls. */
		if (is_refused(translation, i))
			adsm_ptx_write_refused(&translation->writer, module->functions[i]);
	}
}

static void keep_symbols(struct translation *translation, struct adsm_ptx_kernel *kernel)
{
	const size_t size = (translation->n_symbols + 1) * sizeof(*kernel->symbols);

	kernel->symbols = adsm_ptx_alloc(translation->module, 1, size);
	if (!kernel->symbols)
		adsm_ptx_refuse(&translation->writer, "there is no memory");
	memcpy(kernel->symbols, translation->symbols, translation->n_symbols * sizeof(*kernel->symbols));
	kernel->n_symbols = translation->n_symbols;
}

/* Does the kernel, or what it calls, call what the device provides? */
static bool uses_services(const struct translation *translation)
{
	static const char *const names[] = { "vprintf", "malloc", "free", "__assertfail" };

	if (translation->writer.checks)
		return true;
	for (uint32_t i = 0; i < translation->module->n_functions; i++) {
		for (size_t j = 0; translation->called[i] && j < sizeof(names) / sizeof(*names); j++) {
			if (!strcmp(translation->module->functions[i]->name, names[j]))
				return true;
		}
	}
	return false;
}

static void write_kernels(struct translation *translation, struct adsm_ptx_translation *ret)
{
	const struct adsm_ptx_module *module = translation->module;
	uint64_t *shared = calloc(translation->n_shared + 1, sizeof(*shared));

	if (!shared)
		adsm_ptx_refuse(&translation->writer, "there is no memory");
	memcpy(shared, translation->shared, translation->n_shared * sizeof(*shared));
	for (uint32_t i = 0; i < module->n_functions; i++) {
		const struct adsm_ptx_function *function = module->functions[i];
		struct adsm_ptx_kernel *kernel;

		if (!is_written(function, true))
			continue;
		memcpy(translation->shared, shared, translation->n_shared * sizeof(*shared));
		translation->here = translation->shared_size;
		translation->dynamic = false;
		if (!refuse_callers(translation, i)) {
			each_operand_of(function, place, translation);
			for (uint32_t j = 0; j < module->n_functions; j++) {
				if (translation->called[j])
					each_operand_of(module->functions[j], place, translation);
			}
			place_dynamic(translation);
			find_symbols(translation, function);
			write_one(translation, function);
		}
		kernel = &ret->kernels[ret->n_kernels++];
		*kernel = (struct adsm_ptx_kernel){
			.function = function, .symbol = function->symbol ? function->symbol : function->name,
			.shared_size = translation->here,
			.dynamic_shared = translation->dynamic, .services = uses_services(translation),
			.steps = translation->writer.suspends, .syncs_grid = translation->writer.syncs_grid,
			.local_size = local_end(function, NULL),
			.is_refused = is_refused(translation, i), .error = translation->errors[i],
		};
		if (!kernel->is_refused)
			keep_symbols(translation, kernel);
	}
	free(shared);
}

/* The indices by which the text names things. Returns the number of variables that may be in shared memory. */
static uint32_t number(struct adsm_ptx_module *module)
{
	uint32_t n = module->n_variables;

	for (uint32_t i = 0; i < module->n_variables; i++)
		module->variables[i]->index = i;
	for (uint32_t i = 0; i < module->n_functions; i++) {
		struct adsm_ptx_function *function = module->functions[i];

		function->index = i;
		for (uint32_t j = 0; j < function->n_variables; j++)
			function->variables[j]->index = function->variables[j]->space == ADSM_PTX_SHARED ? n++ : j;
		for (uint32_t j = 0; j < function->n_params; j++)
			function->params[j].index = j;
		for (uint32_t j = 0; j < function->n_results; j++)
			function->results[j].index = j;
	}
	return n;
}

static void raise_align(const struct adsm_ptx_variable *variable, uint32_t *align)
{
	if ((variable->space == ADSM_PTX_SHARED || variable->space == ADSM_PTX_LOCAL) && variable->align > *align)
		*align = variable->align;
}

static uint32_t find_align(const struct adsm_ptx_module *module)
{
	uint32_t align = 64;

	for (uint32_t i = 0; i < module->n_variables; i++)
		raise_align(module->variables[i], &align);
	for (uint32_t i = 0; i < module->n_functions; i++) {
		for (uint32_t j = 0; j < module->functions[i]->n_variables; j++)
			raise_align(module->functions[i]->variables[j], &align);
	}
	return align;
}

static void write_module(struct translation *translation, struct adsm_ptx_translation *ret)
{
	struct adsm_ptx_writer *writer = &translation->writer;

	adsm_ptx_print(writer, "%s%s", writer->checks ? "#define PTX_CHECK 1\n" : "", adsm_ptx_runtime_text);
	adsm_ptx_write_constants(writer);
	write_functions(translation);
	write_kernels(translation, ret);
	ret->text = writer->text.bytes;
	ret->size = writer->text.size;
	writer->text = (struct adsm_ptx_text){ 0 };
	adsm_ptx_print(writer, "%s", "");
	adsm_ptx_write_symbols(writer);
	ret->symbols = writer->text.bytes;
	writer->text = (struct adsm_ptx_text){ 0 };
}

/* Write the text. Returns 0, or -ENOEXEC with translation->error. */
static int try_module(struct translation *translation, struct adsm_ptx_translation *ret)
{
	if (setjmp(translation->writer.refused))
		return -ENOEXEC;
	write_module(translation, ret);
	return 0;
}

/* Has a function that is not a kernel, and not a part of one, exit? */
static bool functions_exit(const struct adsm_ptx_module *module)
{
	for (uint32_t i = 0; i < module->n_functions; i++) {
		const struct adsm_ptx_function *function = module->functions[i];

		for (uint32_t j = 0; !function->is_entry && j < function->n; j++)
			if (adsm_ptx_is(&function->instructions[j], "exit"))
				return true;
	}
	return false;
}

int adsm_ptx_translate(struct adsm_ptx_module *module, struct adsm_ptx_translation *ret_translation,
		       struct adsm_ptx_error *ret_error)
{
	return adsm_ptx_translate_with(module, &(struct adsm_ptx_options){ 0 }, ret_translation, ret_error);
}

int adsm_ptx_translate_with(struct adsm_ptx_module *module, const struct adsm_ptx_options *options,
			    struct adsm_ptx_translation *ret_translation, struct adsm_ptx_error *ret_error)
{
	int error = adsm_ptx_inline(module);
	struct translation translation = {
		.writer = {
			.module = module, .shared_offset = shared_offset, .local_offset = local_offset,
			.ptx_name = options->ptx_name ? options->ptx_name : "kernels.ptx",
			.source_lines = options->source_lines, .checks = options->check,
			.lockstep = options->lockstep,
		},
		.module = module,
		.n_shared = number(module),
		.align = find_align(module),
		.errors = calloc(module->n_functions + 1, sizeof(*translation.errors)),
		.called = calloc(module->n_functions + 1, sizeof(*translation.called)),
		.waiting = calloc(module->n_functions + 1, sizeof(*translation.waiting)),
		.named = calloc(module->n_variables + 1, sizeof(*translation.named)),
		.symbols = calloc(module->n_variables + 1, sizeof(*translation.symbols)),
	};
	struct adsm_ptx_translation ret = {
		.module = module,
		.kernels = calloc(module->n_functions + 1, sizeof(*ret.kernels)),
	};

	translation.shared = calloc(translation.n_shared + 1, sizeof(*translation.shared));
	if (!translation.shared || !translation.errors || !translation.called || !translation.waiting ||
	    !translation.named || !translation.symbols || !ret.kernels) {
		error = -ENOMEM;
		translation.error = (struct adsm_ptx_error){ .text = "there is no memory" };
	}

	adsm_ptx_math_leave_out(module);
	adsm_ptx_find_symbols(module);
	translation.writer.names_variable = translation.named;
	translation.writer.functions_exit = functions_exit(module);
	translation.writer.error = &translation.error;
	for (uint32_t i = 0; !error && i < translation.n_shared; i++)
		translation.shared[i] = NOWHERE;
	if (!error)
		error = try_module(&translation, &ret);
	free(translation.shared);
	free(translation.errors);
	free(translation.called);
	free(translation.waiting);
	free(translation.named);
	free(translation.symbols);
	if (error) {
		*ret_error = translation.error;
		free(translation.writer.text.bytes);
		adsm_ptx_translation_destroy(&ret);
		return error;
	}
	*ret_translation = ret;
	return 0;
}

void adsm_ptx_translation_destroy(struct adsm_ptx_translation *translation)
{
	free(translation->text);
	free(translation->symbols);
	free(translation->kernels);
	*translation = (struct adsm_ptx_translation){ 0 };
}
