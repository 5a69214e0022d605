/* SPDX-License-Identifier: MIT */
/* inline.c - see inline.h. */
#include "inline.h"

#include "blocks.h"
#include "calls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Instructions that a module gets at most. */
#define MOST_INSTRUCTIONS 1000000

/* Calls inside of each other. */
#define MOST_DEPTH 500

enum { RESULTS, CALLEE, ARGUMENTS };

enum state { UNKNOWN, ENTERED, WAITS, WAITS_NOT };

/* The function that is changed. */
struct target {
	struct adsm_ptx_module *module;
	struct adsm_ptx_function *function;
	struct adsm_ptx_instruction *instructions;	/* its new ones */
	uint32_t n;
	uint32_t *moved;		/* where an old instruction is now, and the end */
};

/* A function as a part of another one. */
struct part {
	const struct adsm_ptx_function *callee;
	const struct adsm_ptx_instruction *call;
	uint32_t first_register, first_variable, first;	/* in the target: registers, variables, instructions */
};

/* Do threads wait in a function for others, by a yield or in a loop? */
static int find_state(const struct adsm_ptx_function *function, enum state *ret_state)
{
	struct adsm_ptx_blocks blocks;
	int error;

	*ret_state = WAITS_NOT;
	for (uint32_t i = 0; i < function->n; i++)
		if (adsm_ptx_is_yield(&function->instructions[i]))
			*ret_state = WAITS;
	if (*ret_state == WAITS || !function->reads_changes || function->is_entry)
		return 0;
	error = adsm_ptx_blocks_find(function, false, &blocks);
	if (error)
		return error;
	for (uint32_t i = 0; i < blocks.n; i++)
		if (blocks.blocks[i].by && adsm_ptx_is_spin(blocks.blocks[i].by))
			*ret_state = WAITS;
	adsm_ptx_blocks_destroy(&blocks);
	return 0;
}

static const struct adsm_ptx_function *callee_of(const struct adsm_ptx_instruction *instruction)
{
	/* grid.sync() is a call, and no function. */
	if (!adsm_ptx_is(instruction, "call") || instruction->n != 3 || adsm_ptx_is_yield(instruction) ||
	    instruction->operands[CALLEE].kind != ADSM_PTX_OP_FUNCTION)
		return NULL;
	return instruction->operands[CALLEE].function;
}

static bool lists(const struct adsm_ptx_operand *list, const struct adsm_ptx_variable *variable)
{
	for (uint32_t i = 0; i < list->n; i++)
		if (list->elements[i].kind == ADSM_PTX_OP_VARIABLE && list->elements[i].variable == variable)
			return true;
	return false;
}

/*
 * Can the memory of the arguments, or of the results, be that of the callee's parameters? It becomes local memory,
 * because a thread may wait between a store and a load. So no other call may name it.
 */
static bool is_memory_of_one(const struct adsm_ptx_function *caller, const struct adsm_ptx_instruction *call,
			     const struct adsm_ptx_operand *list, const struct adsm_ptx_variable *parameters,
			     uint32_t n)
{
	if (list->n != n)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		const struct adsm_ptx_operand *element = &list->elements[i];

		if (element->kind != ADSM_PTX_OP_VARIABLE || element->offset || parameters[i].space == ADSM_PTX_REG ||
		    (element->variable->space != ADSM_PTX_PARAM && element->variable->space != ADSM_PTX_LOCAL) ||
		    element->variable->size < parameters[i].size)
			return false;
		for (uint32_t j = 0; j < caller->n; j++) {
			const struct adsm_ptx_instruction *other = &caller->instructions[j];

			if (other != call && adsm_ptx_is(other, "call") &&
			    (lists(&other->operands[RESULTS], element->variable) ||
			     lists(&other->operands[ARGUMENTS], element->variable)))
				return false;
		}
	}
	return true;
}

static bool can_inline(const struct adsm_ptx_function *caller, const struct adsm_ptx_instruction *call,
		       const enum state *states)
{
	const struct adsm_ptx_function *callee = callee_of(call);

	return callee && callee->has_body && !callee->is_entry && states[callee->index] == WAITS &&
	       is_memory_of_one(caller, call, &call->operands[RESULTS], callee->results, callee->n_results) &&
	       is_memory_of_one(caller, call, &call->operands[ARGUMENTS], callee->params, callee->n_params);
}

/* What a variable of the callee is in the target. */
static const struct adsm_ptx_variable *map_variable(const struct target *target, const struct part *part,
						    const struct adsm_ptx_variable *variable)
{
	const struct adsm_ptx_function *callee = part->callee;

	for (uint32_t i = 0; i < callee->n_results; i++)
		if (variable == &callee->results[i])
			return part->call->operands[RESULTS].elements[i].variable;
	for (uint32_t i = 0; i < callee->n_params; i++)
		if (variable == &callee->params[i])
			return part->call->operands[ARGUMENTS].elements[i].variable;
	for (uint32_t i = 0; i < callee->n_variables && variable->space != ADSM_PTX_SHARED; i++)
		if (variable == callee->variables[i])
			return target->function->variables[part->first_variable + i];
	return variable;
}

/* Change operands of the callee, which are a copy already, into those of the target. Returns 0 or -ENOMEM. */
static int map_operands(const struct target *target, const struct part *part, struct adsm_ptx_operand *operands,
			uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct adsm_ptx_operand *operand = &operands[i], *elements;
		int error;

		if (operand->kind == ADSM_PTX_OP_REGISTER)
			operand->reg += part->first_register;
		else if (operand->kind == ADSM_PTX_OP_LABEL)
			operand->label += part->first;
		else if (operand->kind == ADSM_PTX_OP_VARIABLE)
			operand->variable = map_variable(target, part, operand->variable);
		if (!operand->n)
			continue;
		elements = adsm_ptx_alloc(target->module, operand->n, sizeof(*elements));
		if (!elements)
			return -ENOMEM;
		memcpy(elements, operand->elements, operand->n * sizeof(*elements));
		operand->elements = elements;
		error = map_operands(target, part, elements, operand->n);
		if (error)
			return error;
	}
	return 0;
}

static struct adsm_ptx_operand *copy_operands(const struct target *target, const struct adsm_ptx_operand *operands,
					      uint32_t n)
{
	struct adsm_ptx_operand *copy = adsm_ptx_alloc(target->module, n, sizeof(*copy));

	if (copy && n)
		memcpy(copy, operands, n * sizeof(*copy));
	return copy;
}

/* A return is a branch to the end of the part. Returns 0 or -ENOMEM. */
static int make_branch(const struct target *target, struct adsm_ptx_instruction *instruction, uint32_t to)
{
	instruction->opcode = "bra";
	instruction->n_modifiers = 0;
	instruction->n = 1;
	instruction->operands = adsm_ptx_alloc(target->module, ADSM_PTX_OPERANDS, sizeof(*instruction->operands));
	if (!instruction->operands)
		return -ENOMEM;
	instruction->operands[0] = (struct adsm_ptx_operand){ .kind = ADSM_PTX_OP_LABEL, .label = to };
	return 0;
}

static int add_body(struct target *target, const struct part *part)
{
	const struct adsm_ptx_function *callee = part->callee;

	for (uint32_t i = 0; i < callee->n; i++) {
		struct adsm_ptx_instruction *instruction = &target->instructions[target->n++];
		int error;

		*instruction = callee->instructions[i];
		if (instruction->n) {
			instruction->operands = copy_operands(target, instruction->operands, ADSM_PTX_OPERANDS);
			if (!instruction->operands)
				return -ENOMEM;
		}
		instruction->targets = copy_operands(target, instruction->targets, instruction->n_targets);
		if (!instruction->targets)
			return -ENOMEM;
		error = map_operands(target, part, instruction->operands, instruction->n);
		if (!error)
			error = map_operands(target, part, instruction->targets, instruction->n_targets);
		if (!error)
			error = map_operands(target, part, &instruction->guard, 1);
		if (!error && adsm_ptx_is(instruction, "ret"))
			error = make_branch(target, instruction, part->first + callee->n);
		if (error)
			return error;
	}
	return 0;
}

/* The registers and local variables of the callee, after those of the target. Returns 0 or -ENOMEM. */
static int add_names(struct target *target, struct part *part)
{
	struct adsm_ptx_function *function = target->function;
	const struct adsm_ptx_function *callee = part->callee;
	const uint32_t n_registers = function->n_registers + callee->n_registers;
	const uint32_t n_variables = function->n_variables + callee->n_variables;
	struct adsm_ptx_register *registers = adsm_ptx_alloc(target->module, n_registers, sizeof(*registers));
	struct adsm_ptx_variable **variables = adsm_ptx_alloc(target->module, n_variables, sizeof(*variables)), *copy;

	copy = adsm_ptx_alloc(target->module, callee->n_variables, sizeof(*copy));
	if (!registers || !variables || !copy)
		return -ENOMEM;
	part->first_register = function->n_registers;
	part->first_variable = function->n_variables;
	if (function->n_registers)
		memcpy(registers, function->registers, function->n_registers * sizeof(*registers));
	if (callee->n_registers)
		memcpy(registers + function->n_registers, callee->registers, callee->n_registers * sizeof(*registers));
	if (function->n_variables)
		memcpy(variables, function->variables, function->n_variables * sizeof(*variables));
	for (uint32_t i = 0; i < callee->n_variables; i++) {
		copy[i] = *callee->variables[i];
		/* Shared variables are those of the callee. */
		variables[function->n_variables + i] = copy[i].space == ADSM_PTX_SHARED ? callee->variables[i] :
						       &copy[i];
	}
	function->registers = registers;
	function->n_registers = n_registers;
	function->variables = variables;
	function->n_variables = n_variables;
	return 0;
}

static void make_local(struct target *target, const struct adsm_ptx_operand *list)
{
	for (uint32_t i = 0; i < list->n; i++)
		for (uint32_t j = 0; j < target->function->n_variables; j++)
			if (target->function->variables[j] == list->elements[i].variable)
				target->function->variables[j]->space = ADSM_PTX_LOCAL;
}

/* Put the callee's body in the place of a call. Returns 0 or -ENOMEM. */
static int add_part(struct target *target, const struct adsm_ptx_instruction *call)
{
	struct part part = { .callee = callee_of(call), .call = call };
	int error = 0;

	make_local(target, &call->operands[RESULTS]);
	make_local(target, &call->operands[ARGUMENTS]);
	part.first = target->n + (call->guard.kind != ADSM_PTX_OP_NONE);
	if (call->guard.kind != ADSM_PTX_OP_NONE) {
		struct adsm_ptx_instruction *around = &target->instructions[target->n++];

		*around = *call;
		around->guard.negated = !around->guard.negated;
		error = make_branch(target, around, part.first + part.callee->n);
	}
	if (!error)
		error = add_names(target, &part);
	return error ? error : add_body(target, &part);
}

/* Labels of the target's own instructions. */
static void move_labels(const struct target *target, struct adsm_ptx_operand *operands, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (operands[i].kind == ADSM_PTX_OP_LABEL)
			operands[i].label = target->moved[operands[i].label];
}

/* An instruction of the target itself. An alias has the same instructions, so all that changes is a copy. */
static int add_own(struct target *target, const struct adsm_ptx_instruction *own)
{
	struct adsm_ptx_instruction *copy = &target->instructions[target->n++];

	*copy = *own;
	if (own->n)
		copy->operands = copy_operands(target, own->operands, ADSM_PTX_OPERANDS);
	copy->targets = copy_operands(target, own->targets, own->n_targets);
	if ((own->n && !copy->operands) || !copy->targets)
		return -ENOMEM;
	move_labels(target, copy->operands, copy->n);
	move_labels(target, copy->targets, copy->n_targets);
	return 0;
}

/* A load or store of what has become local memory. */
static void correct_space(struct adsm_ptx_instruction *instruction)
{
	for (uint32_t i = 0; i < instruction->n && instruction->space == ADSM_PTX_PARAM; i++) {
		const struct adsm_ptx_operand *operand = &instruction->operands[i];

		if (operand->kind == ADSM_PTX_OP_MEMORY && operand->elements[0].kind == ADSM_PTX_OP_VARIABLE &&
		    operand->elements[0].variable->space == ADSM_PTX_LOCAL)
			instruction->space = ADSM_PTX_LOCAL;
	}
}

/* @size: of the new instructions. Returns 0 or -ENOMEM. */
static int replace_calls(struct target *target, const bool *parts, uint32_t size)
{
	struct adsm_ptx_function *function = target->function;
	int error = 0;

	target->instructions = adsm_ptx_alloc(target->module, size, sizeof(*target->instructions));
	if (!target->instructions)
		return -ENOMEM;
	for (uint32_t i = 0, at = 0; i <= function->n; i++) {
		target->moved[i] = at;
		if (i < function->n)
			at += parts[i] ? callee_of(&function->instructions[i])->n +
			      (function->instructions[i].guard.kind != ADSM_PTX_OP_NONE) : 1;
	}
	for (uint32_t i = 0; !error && i < function->n; i++)
		error = parts[i] ? add_part(target, &function->instructions[i]) :
				   add_own(target, &function->instructions[i]);
	function->instructions = target->instructions;
	function->n = target->n;
	for (uint32_t i = 0; i < function->n; i++)
		correct_space(&function->instructions[i]);
	return error;
}

/* @left: how many instructions the module may still get. Returns 0 or -ENOMEM. */
static int change(struct adsm_ptx_module *module, struct adsm_ptx_function *function, const enum state *states,
		  uint64_t *left)
{
	struct target target = { .module = module, .function = function };
	bool *parts = calloc(function->n + 1, sizeof(*parts)), any = false;
	uint64_t size = function->n, more;
	int error = 0;

	target.moved = calloc(function->n + 1, sizeof(*target.moved));
	for (uint32_t i = 0; parts && i < function->n; i++) {
		parts[i] = can_inline(function, &function->instructions[i], states);
		if (parts[i])
			size += callee_of(&function->instructions[i])->n;
		any = any || parts[i];
	}
	more = size - function->n;
	if (!parts || !target.moved)
		error = -ENOMEM;
	else if (any && more <= *left)
		error = replace_calls(&target, parts, (uint32_t)size);
	if (any && more <= *left)
		*left -= more;
	free(parts);
	free(target.moved);
	return error;
}

static int visit(struct adsm_ptx_module *module, uint32_t index, enum state *states, uint64_t *left, uint32_t depth);

/* First the functions that a call through a register may enter. It reads what they read. */
static int visit_entered(struct adsm_ptx_module *module, struct adsm_ptx_instruction *instruction, enum state *states,
			 uint64_t *left, uint32_t depth)
{
	int error = 0;

	if (!adsm_ptx_is(instruction, "call") || instruction->operands[CALLEE].kind == ADSM_PTX_OP_FUNCTION)
		return 0;
	for (uint32_t i = 0; !error && i < module->n_functions; i++) {
		if (!adsm_ptx_may_enter(instruction, module->functions[i]))
			continue;
		if (states[i] == UNKNOWN && depth < MOST_DEPTH)
			error = visit(module, i, states, left, depth + 1);
		instruction->reads_changes |= module->functions[i]->reads_changes;
	}
	return error;
}

/* First what a function calls, then the function. What is called deeper than the limit comes later: it stays a call. */
static int visit(struct adsm_ptx_module *module, uint32_t index, enum state *states, uint64_t *left, uint32_t depth)
{
	struct adsm_ptx_function *function = module->functions[index];
	int error = 0;

	states[index] = ENTERED;
	for (uint32_t i = 0; !error && i < function->n; i++) {
		const struct adsm_ptx_function *callee = callee_of(&function->instructions[i]);

		if (callee && callee->has_body && states[callee->index] == UNKNOWN && depth < MOST_DEPTH)
			error = visit(module, callee->index, states, left, depth + 1);
		if (!error)
			error = visit_entered(module, &function->instructions[i], states, left, depth);
	}
	if (!error)
		error = change(module, function, states, left);
	for (uint32_t i = 0; i < function->n; i++)
		function->reads_changes |= adsm_ptx_reads_changes(&function->instructions[i]);
	return error ? error : find_state(function, &states[index]);
}

int adsm_ptx_inline(struct adsm_ptx_module *module)
{
	enum state *states = calloc(module->n_functions + 1, sizeof(*states));
	uint64_t left = MOST_INSTRUCTIONS;
	int error = states ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < module->n_functions; i++)
		module->functions[i]->index = i;
	for (uint32_t i = 0; !error && i < module->n_functions; i++)
		if (states[i] == UNKNOWN && !module->functions[i]->left_out)
			error = visit(module, i, states, &left, 0);
	free(states);
	return error;
}
