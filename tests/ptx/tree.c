/* SPDX-License-Identifier: MIT */
/* tree.c - see tree.h. */
#include "tree.h"

#include <inttypes.h>
#include <string.h>

static const char *const spaces[] = {
	[ADSM_PTX_GENERIC] = "generic", [ADSM_PTX_REG] = "reg", [ADSM_PTX_GLOBAL] = "global",
	[ADSM_PTX_SHARED] = "shared", [ADSM_PTX_LOCAL] = "local", [ADSM_PTX_CONST] = "const",
	[ADSM_PTX_PARAM] = "param",
};

static const char *const specials[] = {
#define NAME(name) #name,
	ADSM_PTX_SPECIALS(NAME)
#undef NAME
};

static void print_init(FILE *out, const struct adsm_ptx_init *init)
{
	if (!init->symbol) {
		fprintf(out, " %#" PRIx64, init->bits);
		return;
	}
	fprintf(out, init->generic ? " generic(%s)" : " %s", init->symbol);
	if (init->bits)
		fprintf(out, "%+" PRId64, (int64_t)init->bits);
	if (init->mask)
		fprintf(out, "&%#" PRIx64, init->mask);
}

static void print_variable(FILE *out, const char *indent, const struct adsm_ptx_variable *variable)
{
	fprintf(out, "%s.%s .%s", indent, spaces[variable->space], adsm_ptx_type_name(variable->type));
	if (variable->vector > 1)
		fprintf(out, ".v%u", variable->vector);
	fprintf(out, " %s size %" PRIu64 " align %u", variable->name, variable->size, variable->align);
	fprintf(out, "%s%s%s%s%s%s", variable->is_array ? " array" : "", variable->is_extern ? " extern" : "",
		variable->is_visible ? " visible" : "", variable->is_weak ? " weak" : "",
		variable->is_common ? " common" : "", variable->is_managed ? " managed" : "");
	if (variable->is_pointer)
		fprintf(out, " to .%s align %u", spaces[variable->target], variable->target_align);
	if (variable->space == ADSM_PTX_REG)
		fprintf(out, " register %u", variable->reg);
	if (variable->n_init)
		fprintf(out, " =");
	for (size_t i = 0; i < variable->n_init; i++)
		print_init(out, &variable->init[i]);
	fprintf(out, " (line %d)\n", variable->line);
}

static void print_operand(FILE *out, const struct adsm_ptx_function *function, const struct adsm_ptx_operand *operand);

static void print_elements(FILE *out, const struct adsm_ptx_function *function, const struct adsm_ptx_operand *operand,
			   const char *separator)
{
	for (uint32_t i = 0; i < operand->n; i++) {
		fprintf(out, "%s", i ? separator : "");
		print_operand(out, function, &operand->elements[i]);
	}
}

static void print_operand(FILE *out, const struct adsm_ptx_function *function, const struct adsm_ptx_operand *operand)
{
	switch (operand->kind) {
	case ADSM_PTX_OP_NONE: fprintf(out, "none"); return;
	case ADSM_PTX_OP_REGISTER:
		fprintf(out, "%s%s/%u", operand->negated ? "!" : "", function->registers[operand->reg].name,
			operand->reg);
		return;
	case ADSM_PTX_OP_SINK: fprintf(out, "_"); return;
	case ADSM_PTX_OP_INTEGER: fprintf(out, "%" PRId64, (int64_t)operand->bits); return;
	case ADSM_PTX_OP_F32: fprintf(out, "f32:%08" PRIx64, operand->bits); return;
	case ADSM_PTX_OP_F64: fprintf(out, "f64:%016" PRIx64, operand->bits); return;
	case ADSM_PTX_OP_SPECIAL:
		fprintf(out, "special %s.%u", operand->special < ADSM_PTX_N_SPECIALS ? specials[operand->special] : "?",
			operand->component);
		return;
	case ADSM_PTX_OP_VARIABLE:
		fprintf(out, "variable %s", operand->variable->name);
		if (operand->offset)
			fprintf(out, "%+" PRId64, operand->offset);
		return;
	case ADSM_PTX_OP_FUNCTION: fprintf(out, "function %s", operand->function->name); return;
	case ADSM_PTX_OP_LABEL: fprintf(out, "to %u", operand->label); return;
	case ADSM_PTX_OP_MEMORY:
		fprintf(out, "[");
		print_elements(out, function, operand, ", ");
		fprintf(out, operand->offset ? " %+" PRId64 "]" : "]", operand->offset);
		return;
	case ADSM_PTX_OP_VECTOR:
		fprintf(out, "{");
		print_elements(out, function, operand, ", ");
		fprintf(out, "}");
		return;
	case ADSM_PTX_OP_LIST:
		fprintf(out, "(");
		print_elements(out, function, operand, ", ");
		fprintf(out, ")");
		return;
	case ADSM_PTX_OP_PAIR: print_elements(out, function, operand, "|"); return;
	}
}

struct visits {
	FILE *out;
	const struct adsm_ptx_function *function;
	bool writes, any;
	uint64_t n;
	uint32_t most;
};

static void print_register(void *arg, uint32_t reg, bool writes)
{
	struct visits *visits = arg;

	if (writes != visits->writes)
		return;
	fprintf(visits->out, "%s%s", visits->any ? " " : writes ? "; writes " : "; reads ",
		visits->function->registers[reg].name);
	visits->any = true;
}

static void print_instruction(FILE *out, const struct adsm_ptx_function *function, uint32_t i)
{
	const struct adsm_ptx_instruction *instruction = &function->instructions[i];
	struct visits visits = { .out = out, .function = function };

	fprintf(out, "\t%u: ", i);
	if (instruction->guard.kind) {
		fprintf(out, "@");
		print_operand(out, function, &instruction->guard);
		fprintf(out, " ");
	}
	fprintf(out, "%s", instruction->opcode);
	for (uint32_t j = 0; j < instruction->n_modifiers; j++)
		fprintf(out, ".%s", instruction->modifiers[j]);
	for (uint32_t j = 0; j < instruction->n; j++) {
		fprintf(out, j ? ", " : " ");
		print_operand(out, function, &instruction->operands[j]);
	}
	if (instruction->prototype)
		fprintf(out, ", prototype %s of %u", instruction->prototype->name, instruction->prototype->n_params);
	for (uint32_t j = 0; j < instruction->n_targets; j++) {
		fprintf(out, j ? " " : ", targets ");
		print_operand(out, function, &instruction->targets[j]);
	}
	fprintf(out, " #");
	for (uint32_t j = 0; j < instruction->n_types; j++)
		fprintf(out, " %s", adsm_ptx_type_name(instruction->types[j]));
	if (instruction->space)
		fprintf(out, " in %s", spaces[instruction->space]);
	if (instruction->vector > 1)
		fprintf(out, " by %u", instruction->vector);
	adsm_ptx_each_register(instruction, print_register, &visits);
	visits.any = false;
	visits.writes = true;
	adsm_ptx_each_register(instruction, print_register, &visits);
	fprintf(out, "; line %d", instruction->line);
	if (instruction->source_line)
		fprintf(out, ", %d:%d", instruction->file, instruction->source_line);
	fprintf(out, "\n");
}

static void print_function(FILE *out, const struct adsm_ptx_function *function)
{
	fprintf(out, "%s %s%s%s%s%s", function->is_entry ? "entry" : "function", function->name,
		function->is_extern ? " extern" : "", function->is_visible ? " visible" : "",
		function->is_weak ? " weak" : "", function->no_return ? " noreturn" : "");
	if (function->max_threads[0])
		fprintf(out, " %s %u %u %u", function->fixed_threads ? "exactly" : "at most", function->max_threads[0],
			function->max_threads[1], function->max_threads[2]);
	fprintf(out, " (line %d)\n", function->line);
	for (uint32_t i = 0; i < function->n_results; i++)
		print_variable(out, "\tresult ", &function->results[i]);
	for (uint32_t i = 0; i < function->n_params; i++)
		print_variable(out, "\tparameter ", &function->params[i]);
	for (uint32_t i = 0; i < function->n_registers; i++)
		fprintf(out, "\tregister %u %s .%s\n", i, function->registers[i].name,
			adsm_ptx_type_name(function->registers[i].type));
	for (uint32_t i = 0; i < function->n_variables; i++)
		print_variable(out, "\t", function->variables[i]);
	for (uint32_t i = 0; i < function->n; i++)
		print_instruction(out, function, i);
}

void tree_print(FILE *out, const struct adsm_ptx_module *module)
{
	fprintf(out, "version %u %s\n", module->version, module->target);
	for (uint32_t i = 0; i < module->n_files; i++) {
		if (module->files[i])
			fprintf(out, "file %u %s\n", i, module->files[i]);
	}
	for (uint32_t i = 0; i < module->n_variables; i++)
		print_variable(out, "", module->variables[i]);
	for (uint32_t i = 0; i < module->n_functions; i++)
		print_function(out, module->functions[i]);
}

static void count(void *arg, uint32_t reg, bool writes)
{
	struct visits *visits = arg;

	visits->n++;
	if (reg > visits->most)
		visits->most = reg;
}

static bool is_base(enum adsm_ptx_kind kind)
{
	return kind == ADSM_PTX_OP_REGISTER || kind == ADSM_PTX_OP_INTEGER || kind == ADSM_PTX_OP_VARIABLE ||
	       kind == ADSM_PTX_OP_FUNCTION;
}

static const char *check_operand(const struct adsm_ptx_function *function, const struct adsm_ptx_operand *operand,
				 int depth)
{
	switch (operand->kind) {
	case ADSM_PTX_OP_REGISTER:
		if (operand->reg >= function->n_registers)
			return "an operand is a register that the function does not have";
		break;
	case ADSM_PTX_OP_SPECIAL:
		if (operand->special > ADSM_PTX_N_SPECIALS || operand->component > 3)
			return "an operand is no special register";
		break;
	case ADSM_PTX_OP_VARIABLE:
		if (!operand->variable || !operand->variable->name || operand->variable->type == ADSM_PTX_NO_TYPE)
			return "an operand is no variable";
		break;
	case ADSM_PTX_OP_FUNCTION:
		if (!operand->function || !operand->function->name)
			return "an operand is no function";
		break;
	case ADSM_PTX_OP_LABEL:
		if (operand->label > function->n)
			return "a label is outside of the function";
		break;
	case ADSM_PTX_OP_MEMORY:
		if (operand->n < 1 || operand->n > 3 || !is_base(operand->elements[0].kind))
			return "an address has no base";
		break;
	case ADSM_PTX_OP_PAIR:
		if (operand->n != 2)
			return "a pair has not two elements";
		break;
	case ADSM_PTX_OP_NONE:
		return "an operand is nothing";
	default:
		break;
	}
	if (operand->n && (operand->kind < ADSM_PTX_OP_MEMORY || depth > 2))
		return "an operand has elements";
	for (uint32_t i = 0; i < operand->n; i++) {
		const char *wrong = check_operand(function, &operand->elements[i], depth + 1);

		if (wrong)
			return wrong;
	}
	return NULL;
}

static const char *check_instruction(const struct adsm_ptx_function *function,
				     const struct adsm_ptx_instruction *instruction)
{
	const bool is_branch = !strcmp(instruction->opcode, "bra");
	struct visits visits = { .function = function };
	const char *wrong = NULL;

	if (instruction->n > ADSM_PTX_OPERANDS || instruction->n_types > 4 ||
	    instruction->n_modifiers > ADSM_PTX_MODIFIERS)
		return "an instruction has too much";
	if (instruction->guard.kind && (instruction->guard.kind != ADSM_PTX_OP_REGISTER ||
					function->registers[instruction->guard.reg].type != ADSM_PTX_pred))
		return "a guard is no predicate";
	if (is_branch && (instruction->n != 1 || instruction->operands[0].kind != ADSM_PTX_OP_LABEL))
		return "a branch has no label";
	if (!strcmp(instruction->opcode, "call") &&
	    (instruction->n != 3 || instruction->operands[0].kind != ADSM_PTX_OP_LIST ||
	     instruction->operands[2].kind != ADSM_PTX_OP_LIST))
		return "a call has other operands";
	for (uint32_t i = 0; i < instruction->n && !wrong; i++)
		wrong = check_operand(function, &instruction->operands[i], 0);
	for (uint32_t i = instruction->n; i < ADSM_PTX_OPERANDS && !wrong; i++)
		wrong = instruction->operands[i].kind ? "an operand after the last one is something" : NULL;
	for (uint32_t i = 0; i < instruction->n_targets && !wrong; i++)
		wrong = check_operand(function, &instruction->targets[i], 0);
	for (uint32_t i = 0; i < instruction->n_modifiers; i++)
		(void)!adsm_ptx_has(instruction, instruction->modifiers[i]);
	adsm_ptx_each_register(instruction, count, &visits);
	if (visits.n && visits.most >= function->n_registers)
		return "a register is visited that the function does not have";
	return wrong;
}

static const char *check_variable(const struct adsm_ptx_variable *variable)
{
	const uint64_t bytes = (uint64_t)adsm_ptx_size(variable->type) * variable->vector;

	if (!variable->align || (variable->align & (variable->align - 1)))
		return "an alignment is no power of two";
	if (variable->n_init && variable->n_init * adsm_ptx_size(variable->type) > variable->size)
		return "an initialiser is larger than its variable";
	if (variable->space != ADSM_PTX_REG && bytes && variable->size % bytes)
		return "a variable ends inside of an element";
	for (size_t i = 0; i < variable->n_init; i++) {
		if (variable->init[i].symbol && !*variable->init[i].symbol)
			return "an initialiser names nothing";
	}
	return NULL;
}

static const char *check_function(const struct adsm_ptx_function *function)
{
	const char *wrong = NULL;

	for (uint32_t i = 0; i < function->n_params && !wrong; i++)
		wrong = check_variable(&function->params[i]);
	for (uint32_t i = 0; i < function->n_results && !wrong; i++)
		wrong = check_variable(&function->results[i]);
	for (uint32_t i = 0; i < function->n_variables && !wrong; i++)
		wrong = check_variable(function->variables[i]);
	for (uint32_t i = 0; i < function->n_registers && !wrong; i++)
		wrong = function->registers[i].name && function->registers[i].type ? NULL : "a register has no type";
	for (uint32_t i = 0; i < function->n && !wrong; i++)
		wrong = check_instruction(function, &function->instructions[i]);
	return wrong;
}

const char *tree_check(const struct adsm_ptx_module *module)
{
	const char *wrong = NULL;

	for (uint32_t i = 0; i < module->n_variables && !wrong; i++)
		wrong = check_variable(module->variables[i]);
	for (uint32_t i = 0; i < module->n_functions && !wrong; i++)
		wrong = check_function(module->functions[i]);
	return wrong;
}
