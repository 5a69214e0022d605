/* SPDX-License-Identifier: MIT */
/*
 * call.c - calls: of functions of the module, through registers, of the mathematical functions of devices, and of what
 * CUDA's device code may call besides: vprintf, __assertfail, malloc, free.
 *
 * A call gives each function the addresses of its results and parameters. A pointer to a function is a number, so a
 * call through a register is a switch over the functions whose address the module takes.
 */
#include "list.h"
#include "ptx/control/calls.h"
#include "ptx/functions.h"

#include <string.h>

/* What every call has: call (results), callee, (arguments). */
enum { RESULTS, CALLEE, ARGUMENTS };

static bool is_memory(const struct adsm_ptx_operand *operand)
{
	return operand->kind == ADSM_PTX_OP_VARIABLE && operand->variable->space == ADSM_PTX_PARAM;
}

/* Append the value of an argument. */
static void print_argument(struct adsm_ptx_writer *writer, const struct adsm_ptx_operand *operand,
			   enum adsm_ptx_type type)
{
	if (!is_memory(operand)) {
		adsm_ptx_read(writer, operand, type);
		return;
	}
	adsm_ptx_print(writer, "(*(const %s *)", adsm_ptx_c_type(type));
	adsm_ptx_read(writer, operand, ADSM_PTX_u64);
	adsm_ptx_print(writer, ")");
}

/* Append the assignment to a result up to the value, and after it. */
static void begin_result(struct adsm_ptx_writer *writer, const struct adsm_ptx_operand *operand,
			 enum adsm_ptx_type type)
{
	if (!is_memory(operand)) {
		adsm_ptx_begin(writer, operand, type);
		return;
	}
	adsm_ptx_print(writer, "*(%s *)", adsm_ptx_c_type(type));
	adsm_ptx_read(writer, operand, ADSM_PTX_u64);
	adsm_ptx_print(writer, " = (");
}

/* Values in registers have addresses in the call only. */
static void begin_call(struct adsm_ptx_writer *writer, const struct adsm_ptx_instruction *instruction,
		       const struct adsm_ptx_function *callee)
{
	const struct adsm_ptx_operand *results = &instruction->operands[RESULTS];
	const struct adsm_ptx_operand *arguments = &instruction->operands[ARGUMENTS];

	if (results->n != callee->n_results || arguments->n != callee->n_params)
		adsm_ptx_refuse(writer, "a call of %.80s has %u results and %u arguments, and needs %u and %u",
				callee->name, results->n, arguments->n, callee->n_results, callee->n_params);
	adsm_ptx_print(writer, "{ ");
	for (uint32_t i = 0; i < results->n; i++)
		if (!is_memory(&results->elements[i]))
			adsm_ptx_print(writer, "%s d%u; ", adsm_ptx_c_type(callee->results[i].type), i);
	for (uint32_t i = 0; i < arguments->n; i++) {
		if (is_memory(&arguments->elements[i]))
			continue;
		adsm_ptx_print(writer, "%s c%u = ", adsm_ptx_c_type(callee->params[i].type), i);
		adsm_ptx_read(writer, &arguments->elements[i], callee->params[i].type);
		adsm_ptx_print(writer, "; ");
	}
}

static void print_call(struct adsm_ptx_writer *writer, const struct adsm_ptx_instruction *instruction, uint32_t index)
{
	const struct adsm_ptx_operand *results = &instruction->operands[RESULTS];
	const struct adsm_ptx_operand *arguments = &instruction->operands[ARGUMENTS];

	adsm_ptx_print(writer, "%sf_%u(k, t, tx, ty, tz", writer->functions_exit ? "if (" : "", index);
	for (uint32_t i = 0; i < results->n + arguments->n; i++) {
		const bool is_result = i < results->n;
		const uint32_t j = is_result ? i : i - results->n;
		const struct adsm_ptx_operand *operand = is_result ? &results->elements[j] : &arguments->elements[j];

		adsm_ptx_print(writer, ", (char *)");
		if (is_memory(operand))
			adsm_ptx_read(writer, operand, ADSM_PTX_u64);
		else
			adsm_ptx_print(writer, "&%c%u", is_result ? 'd' : 'c', j);
	}
	adsm_ptx_print(writer, writer->functions_exit ? ")) PTX_AT(PTX_LEFT);" : ");");
}

static void end_call(struct adsm_ptx_writer *writer, const struct adsm_ptx_instruction *instruction,
		     const struct adsm_ptx_function *callee)
{
	const struct adsm_ptx_operand *results = &instruction->operands[RESULTS];

	for (uint32_t i = 0; i < results->n; i++) {
		if (is_memory(&results->elements[i]))
			continue;
		adsm_ptx_print(writer, " ");
		adsm_ptx_begin(writer, &results->elements[i], callee->results[i].type);
		adsm_ptx_print(writer, "d%u", i);
		adsm_ptx_end(writer, &results->elements[i], callee->results[i].type);
	}
	adsm_ptx_print(writer, " }");
}

/* The text of a function of devices with the arguments in it. */
static void print_text(struct adsm_ptx_writer *writer, const struct adsm_ptx_instruction *instruction,
		       const char *text, const char *types, bool single)
{
	const struct adsm_ptx_operand *arguments = &instruction->operands[ARGUMENTS];

	for (; *text; text++) {
		if (*text == '@') {
			adsm_ptx_print(writer, "%s", single ? "f" : "");
		} else if (*text == '#') {
			adsm_ptx_print(writer, "%s ", single ? "float" : "double");
		} else if (*text == '$') {
			const uint32_t i = (uint32_t)(*++text - '1');

			print_argument(writer, &arguments->elements[i], adsm_ptx_math_type(types[i], single));
		} else {
			adsm_ptx_print(writer, "%c", *text);
		}
	}
}

static void check_lists(struct adsm_ptx_writer *writer, const struct adsm_ptx_instruction *instruction,
			const char *name, size_t n_results, size_t n_arguments)
{
	if (instruction->operands[RESULTS].n != n_results || instruction->operands[ARGUMENTS].n != n_arguments)
		adsm_ptx_refuse(writer, "a call of %.80s needs %zu results and %zu arguments", name, n_results,
				n_arguments);
}

static void write_math(struct adsm_ptx_writer *writer, const struct adsm_ptx_instruction *instruction,
		       const char *name, const struct adsm_ptx_math *math, bool single)
{
	static const char *const calls[] = { "@()", "@($1)", "@($1, $2)", "@($1, $2, $3)" };
	const size_t n = strlen(math->arguments);
	const enum adsm_ptx_type type = adsm_ptx_math_type(math->result, single);

	check_lists(writer, instruction, name, math->result != 'v', n);
	if (type)
		begin_result(writer, instruction->operands[RESULTS].elements, type);
	if (!math->text)
		adsm_ptx_print(writer, "%s", math->name);
	print_text(writer, instruction, math->text ? math->text : calls[n], math->arguments, single);
	adsm_ptx_print(writer, type ? ");" : ";");
}

/* What CUDA's device code may call besides, in the words of functions.h. */
static const struct adsm_ptx_math services[] = {
	{ "vprintf", 'i', "pp", "k->print(k, t, (const char *)$1, (const char *)$2)" },
	{ "malloc", 'p', "p", "(uint64_t)(uintptr_t)k->allocate(k, $1)" },
	{ "free", 'v', "p", "k->release(k, (void *)$1)" },
	{ "__assertfail", 'v', "ppupp", "k->fail(k, t, (const char *)$1, (const char *)$2, $3, (const char *)$4)" },
};

static void write_extern(struct adsm_ptx_writer *writer, const struct adsm_ptx_instruction *instruction,
			 const struct adsm_ptx_function *callee)
{
	bool single;
	const struct adsm_ptx_math *math = adsm_ptx_math_find(callee->name, &single);

	for (size_t i = 0; !math && i < sizeof(services) / sizeof(*services); i++) {
		if (strcmp(services[i].name, callee->name) != 0)
			continue;
		math = &services[i];
		single = false;
	}
	if (!math)
		adsm_ptx_refuse(writer, "it calls %.200s, which the module does not define", callee->name);
	write_math(writer, instruction, callee->name, math, single);
}

/* A call through a register: of any function that has the prototype's parameters, or of one of the targets. */
static void write_indirect(struct adsm_ptx_writer *writer, const struct adsm_ptx_instruction *instruction)
{
	const struct adsm_ptx_function *prototype = adsm_ptx_prototype_of(instruction);

	if (!prototype)
		adsm_ptx_refuse(writer, "a call through a register needs a prototype, or a list of targets");
	begin_call(writer, instruction, prototype);
	adsm_ptx_print(writer, "switch (");
	adsm_ptx_read(writer, &instruction->operands[CALLEE], ADSM_PTX_u64);
	adsm_ptx_print(writer, ") {");
	for (uint32_t i = 0; i < writer->module->n_functions; i++) {
		if (!adsm_ptx_may_enter(instruction, writer->module->functions[i]))
			continue;
		adsm_ptx_print(writer, " case PTX_FUNCTION(%u): ", i);
		print_call(writer, instruction, i);
		adsm_ptx_print(writer, " break;");
	}
	adsm_ptx_print(writer, " default: k->trap(k, t, ");
	adsm_ptx_print_place(writer, instruction);
	adsm_ptx_print(writer, "); }");
	end_call(writer, instruction, prototype);
}

static void write_call(struct adsm_ptx_writer *writer, const struct adsm_ptx_instruction *instruction)
{
	const struct adsm_ptx_function *callee;

	if (instruction->n != 3)
		adsm_ptx_refuse(writer, "call has results, a function and arguments");
	callee = instruction->operands[CALLEE].function;
	if (instruction->operands[CALLEE].kind != ADSM_PTX_OP_FUNCTION) {
		write_indirect(writer, instruction);
	} else if (!callee->has_body) {
		write_extern(writer, instruction, callee);
	} else {
		begin_call(writer, instruction, callee);
		for (uint32_t i = 0; i < writer->module->n_functions; i++)
			if (writer->module->functions[i] == callee)
				print_call(writer, instruction, i);
		end_call(writer, instruction, callee);
	}
}

const struct adsm_ptx_form adsm_ptx_call_forms[] = {
	{ "call", "?uni", "", 0, NULL, write_call },
	{ NULL, NULL, NULL, 0, NULL, NULL },
};
