/* SPDX-License-Identifier: MIT */
/* places.c - see places.h. */
#include "places.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define VARIABLE_CELLS 512		/* of one variable: what follows is in the last one */
#define MOST_CELLS 16384		/* with more, each variable has one */
#define CHAIN 32			/* instructions that compute an address */

_Static_assert((ADSM_PTX_SLOTS + ADSM_PTX_FROM_SLOT) % 64 == 0, "no word is half used");

bool adsm_ptx_syncs_grid(const struct adsm_ptx_function *function)
{
	return !strcmp(function->name, "__adsm_grid_sync");
}

/* ---- Functions ---------------------------------------------------------------------------- */

static int compare_addresses(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;

	return *x < *y ? -1 : *x > *y;
}

static uint32_t index_of(const struct adsm_ptx_places *places, const struct adsm_ptx_function *function)
{
	const struct adsm_ptx_function **found = bsearch(&function, places->functions, places->module->n_functions,
							 sizeof(*places->functions), compare_addresses);

	return found ? (uint32_t)(found - places->functions) : UINT32_MAX;
}

static void find_functions(struct adsm_ptx_places *places)
{
	const uint32_t n = places->module->n_functions;

	for (uint32_t i = 0; i < n; i++)
		places->functions[i] = places->module->functions[i];
	qsort(places->functions, n, sizeof(*places->functions), compare_addresses);
	for (uint32_t i = 0; i < n; i++) {
		if (places->functions[i]->has_address)
			places->taken[places->n_taken++] = places->functions[i];
	}
}

void adsm_ptx_each_callee(const struct adsm_ptx_places *places, const struct adsm_ptx_instruction *call,
			  void (*visit)(void *arg, const struct adsm_ptx_function *callee), void *arg)
{
	const struct adsm_ptx_function *prototype = call->prototype;

	if (call->operands[1].kind == ADSM_PTX_OP_FUNCTION) {
		visit(arg, call->operands[1].function);
		return;
	}
	for (uint32_t i = 0; i < call->n_targets; i++)
		visit(arg, call->targets[i].function);
	for (uint32_t i = 0; i < places->n_taken && !call->n_targets; i++) {
		if (!prototype || (places->taken[i]->n_params == prototype->n_params &&
				   places->taken[i]->n_results == prototype->n_results))
			visit(arg, places->taken[i]);
	}
}

const struct adsm_ptx_reached *adsm_ptx_reached_of(const struct adsm_ptx_places *places,
						   const struct adsm_ptx_function *function)
{
	const uint32_t index = index_of(places, function), at = index == UINT32_MAX ? 0 : places->reached_at[index];

	return at ? &places->reached[at - 1] : NULL;
}

/* Add a function to those that the kernel reaches. */
static void reach(void *arg, const struct adsm_ptx_function *function)
{
	struct adsm_ptx_places *places = arg;
	const uint32_t index = index_of(places, function);

	if (index == UINT32_MAX || places->reached_at[index] || !function->has_body || adsm_ptx_syncs_grid(function))
		return;
	places->reached[places->n_reached].function = function;
	places->reached_at[index] = ++places->n_reached;
}

/* The kernel, what it calls, what that calls. A call through a register may enter all of the taken ones: once. */
static void find_reached(struct adsm_ptx_places *places)
{
	bool all_taken = false;

	reach(places, places->kernel);
	for (uint32_t i = 0; i < places->n_reached; i++) {
		const struct adsm_ptx_function *function = places->reached[i].function;

		assert(function);
		for (uint32_t j = 0; j < function->n; j++) {
			const struct adsm_ptx_instruction *instruction = &function->instructions[j];

			if (!adsm_ptx_is(instruction, "call"))
				continue;
			if (instruction->operands[1].kind == ADSM_PTX_OP_FUNCTION || instruction->n_targets) {
				adsm_ptx_each_callee(places, instruction, reach, places);
				continue;
			}
			for (uint32_t k = 0; k < places->n_taken && !all_taken; k++)
				reach(places, places->taken[k]);
			all_taken = true;
		}
	}
}

/* ---- Places ------------------------------------------------------------------------------- */

uint32_t adsm_ptx_register_place(const struct adsm_ptx_reached *in, uint32_t reg)
{
	return in->first + reg;
}

const struct adsm_ptx_cells *adsm_ptx_cells_of(const struct adsm_ptx_places *places,
					       const struct adsm_ptx_variable *variable)
{
	return places->n_cells ? bsearch(&variable, places->cells, places->n_cells, sizeof(*places->cells),
					 compare_addresses) : NULL;
}

int64_t adsm_ptx_param_of(const struct adsm_ptx_places *places, const struct adsm_ptx_variable *variable)
{
	const struct adsm_ptx_function *kernel = places->kernel;

	if (variable < kernel->params || variable >= kernel->params + kernel->n_params)
		return -1;
	return variable - kernel->params;
}

static bool has_cells(const struct adsm_ptx_variable *variable)
{
	return variable->space == ADSM_PTX_LOCAL || variable->space == ADSM_PTX_PARAM;
}

static void add_cells(struct adsm_ptx_places *places, const struct adsm_ptx_variable *variable)
{
	if (!has_cells(variable) || adsm_ptx_param_of(places, variable) >= 0)
		return;
	if (places->cells)
		places->cells[places->n_cells] = (struct adsm_ptx_cells){ .variable = variable };
	places->n_cells++;
}

static void add_all_cells(struct adsm_ptx_places *places)
{
	places->n_cells = 0;
	for (uint32_t i = 0; i < places->n_reached; i++) {
		const struct adsm_ptx_function *function = places->reached[i].function;

		for (uint32_t j = 0; j < function->n_variables; j++)
			add_cells(places, function->variables[j]);
		for (uint32_t j = 0; j < function->n_params; j++)
			add_cells(places, &function->params[j]);
		for (uint32_t j = 0; j < function->n_results; j++)
			add_cells(places, &function->results[j]);
	}
}

static uint32_t cells_in(const struct adsm_ptx_variable *variable)
{
	const uint64_t n = (variable->size + 7) / 8;

	return n > VARIABLE_CELLS ? VARIABLE_CELLS : n ? (uint32_t)n : 1;
}

/* An alias has the variables of its function: they are in the list once. */
static int find_cells(struct adsm_ptx_places *places)
{
	uint64_t sum = 0;
	uint32_t n = 0;

	add_all_cells(places);
	places->cells = calloc((size_t)places->n_cells + 1, sizeof(*places->cells));
	if (!places->cells)
		return -ENOMEM;
	add_all_cells(places);
	qsort(places->cells, places->n_cells, sizeof(*places->cells), compare_addresses);
	for (uint32_t i = 0; i < places->n_cells; i++) {
		if (!n || places->cells[n - 1].variable != places->cells[i].variable)
			places->cells[n++] = places->cells[i];
	}
	places->n_cells = n;
	for (uint32_t i = 0; i < n; i++)
		sum += cells_in(places->cells[i].variable);
	for (uint32_t i = 0; i < n; i++) {
		places->cells[i].first = places->n;
		places->cells[i].n = sum > MOST_CELLS ? 1 : cells_in(places->cells[i].variable);
		places->n += places->cells[i].n;
	}
	return 0;
}

struct definer {
	struct adsm_ptx_reached *reached;
	const struct adsm_ptx_instruction *instruction;
};

static void define(void *arg, uint32_t reg, bool writes)
{
	struct definer *definer = arg;

	if (!writes)
		return;
	definer->reached->definitions[reg].by = definer->instruction;
	definer->reached->definitions[reg].n++;
}

/* Registers are places; which instructions set them. */
static int find_registers(struct adsm_ptx_places *places, struct adsm_ptx_reached *reached)
{
	const struct adsm_ptx_function *function = reached->function;
	struct definer definer = { .reached = reached };

	assert(function);
	reached->first = places->n;
	places->n += function->n_registers;
	reached->definitions = calloc((size_t)function->n_registers + 1, sizeof(*reached->definitions));
	if (!reached->definitions)
		return -ENOMEM;
	for (uint32_t i = 0; i < function->n; i++) {
		definer.instruction = &function->instructions[i];
		adsm_ptx_each_register(definer.instruction, define, &definer);
	}
	/* A parameter has a value that no instruction gives it. */
	for (uint32_t i = 0; i < function->n_params; i++) {
		if (function->params[i].space == ADSM_PTX_REG)
			reached->definitions[function->params[i].reg].n++;
	}
	return 0;
}

static void find_slots(struct adsm_ptx_places *places)
{
	for (uint32_t i = 0; i < places->kernel->n_params; i++) {
		const uint64_t left = ADSM_PTX_SLOTS - places->n_slots, n = (places->kernel->params[i].size + 7) / 8;

		places->first_slot[i] = places->n_slots;
		places->n_slots += (uint32_t)(n < left ? n : left);
	}
	places->first_slot[places->kernel->n_params] = places->n_slots;
	places->words = (ADSM_PTX_FROM_SLOT + places->n_slots) / 64 + 1;
	if (places->words > ADSM_PTX_ORIGIN_WORDS)
		places->words = ADSM_PTX_ORIGIN_WORDS;
}

int adsm_ptx_places_init(struct adsm_ptx_places *places, const struct adsm_ptx_module *module,
			 const struct adsm_ptx_function *kernel)
{
	const size_t n = (size_t)module->n_functions + 1;
	int error = 0;

	*places = (struct adsm_ptx_places){ .module = module, .kernel = kernel, .n = ADSM_PTX_POOLS };
	places->functions = calloc(n, sizeof(*places->functions));
	places->reached_at = calloc(n, sizeof(*places->reached_at));
	places->taken = calloc(n, sizeof(*places->taken));
	places->reached = calloc(n, sizeof(*places->reached));
	places->first_slot = calloc((size_t)kernel->n_params + 1, sizeof(*places->first_slot));
	if (!places->functions || !places->reached_at || !places->taken || !places->reached || !places->first_slot)
		return -ENOMEM;
	find_slots(places);
	find_functions(places);
	find_reached(places);
	for (uint32_t i = 0; !error && i < places->n_reached; i++)
		error = find_registers(places, &places->reached[i]);
	if (!error)
		error = find_cells(places);
	if (error)
		return error;
	places->values = calloc((size_t)places->n * places->words, 2 * sizeof(*places->values));
	return places->values ? 0 : -ENOMEM;
}

void adsm_ptx_places_finish(struct adsm_ptx_places *places)
{
	for (uint32_t i = 0; i < places->n_reached; i++)
		free(places->reached[i].definitions);
	free(places->functions);
	free(places->reached_at);
	free(places->taken);
	free(places->reached);
	free(places->first_slot);
	free(places->cells);
	free(places->values);
	*places = (struct adsm_ptx_places){ 0 };
}

/* ---- Values ------------------------------------------------------------------------------- */

void adsm_ptx_make_part(const struct adsm_ptx_places *places, struct adsm_ptx_value *value)
{
	for (uint32_t i = 0; i < places->words; i++) {
		value->part[i] |= value->whole[i];
		value->whole[i] = 0;
	}
}

void adsm_ptx_make_whole(const struct adsm_ptx_places *places, struct adsm_ptx_value *value)
{
	for (uint32_t i = 0; i < places->words; i++)
		value->whole[i] |= value->part[i];
}

void adsm_ptx_add_place(const struct adsm_ptx_places *places, uint32_t place, struct adsm_ptx_value *value)
{
	const uint64_t *from = places->values + (size_t)place * places->words * 2;

	for (uint32_t i = 0; i < places->words; i++) {
		value->whole[i] |= from[i];
		value->part[i] |= from[places->words + i];
	}
}

/* The address of a variable. */
static void add_address(const struct adsm_ptx_variable *variable, struct adsm_ptx_value *value)
{
	static const enum adsm_ptx_origin origins[] = {
		[ADSM_PTX_GLOBAL] = ADSM_PTX_FROM_SYMBOL, [ADSM_PTX_CONST] = ADSM_PTX_FROM_SYMBOL,
		[ADSM_PTX_LOCAL] = ADSM_PTX_FROM_LOCAL, [ADSM_PTX_SHARED] = ADSM_PTX_FROM_SHARED,
		[ADSM_PTX_PARAM] = ADSM_PTX_FROM_PARAM,
	};

	adsm_ptx_add_origin(value->whole, origins[variable->space]);
}

void adsm_ptx_add_operand(const struct adsm_ptx_places *places, const struct adsm_ptx_reached *in,
			  const struct adsm_ptx_operand *operand, struct adsm_ptx_value *value)
{
	if (operand->kind == ADSM_PTX_OP_REGISTER)
		adsm_ptx_add_place(places, adsm_ptx_register_place(in, operand->reg), value);
	else if (operand->kind == ADSM_PTX_OP_VARIABLE)
		add_address(operand->variable, value);
	for (uint32_t i = 0; i < operand->n; i++)
		adsm_ptx_add_operand(places, in, &operand->elements[i], value);
}

/* Add slots of a parameter of the kernel. */
static void add_slots(const struct adsm_ptx_places *places, int64_t param, int64_t offset, uint64_t size,
		      struct adsm_ptx_value *value)
{
	const struct adsm_ptx_variable *variable = &places->kernel->params[param];
	const bool full = places->n_slots == ADSM_PTX_SLOTS;
	const uint32_t first = places->first_slot[param], end = places->first_slot[param + 1];
	const bool outside = offset < 0 || size > variable->size || (uint64_t)offset > variable->size - size;

	/* What is too short for an address, or a number with a fraction, is none. */
	if (variable->size < 8 || (adsm_ptx_is_float(variable->type) && !variable->is_array))
		return;
	/* Those of a parameter without a slot of its own are in the last one. */
	if (first == end && full)
		adsm_ptx_add_origin(value->whole, ADSM_PTX_FROM_SLOT + places->n_slots - 1);
	for (uint32_t i = first; i < end; i++) {
		const int64_t at = (int64_t)(i - first) * 8;

		if (outside || (full && i + 1 == end) || (at < offset + (int64_t)size && at + 8 > offset))
			adsm_ptx_add_origin(value->whole, ADSM_PTX_FROM_SLOT + i);
	}
}

static void add_cells_at(const struct adsm_ptx_places *places, const struct adsm_ptx_target *target, uint64_t size,
			 struct adsm_ptx_value *value)
{
	const struct adsm_ptx_cells *cells = adsm_ptx_cells_of(places, target->variable);

	if (!cells)
		return;
	for (uint32_t i = 0; i < cells->n; i++) {
		if (adsm_ptx_in_cell(cells, i, target->offset, size))
			adsm_ptx_add_place(places, cells->first + i, value);
	}
}

/* What is at an address in the space, or in the spaces that a generic address may be of. */
static void add_unknown(const struct adsm_ptx_places *places, const struct adsm_ptx_target *target,
			struct adsm_ptx_value *value)
{
	const enum adsm_ptx_space space = target->space;
	const bool generic = space == ADSM_PTX_GENERIC;

	if (space == ADSM_PTX_GLOBAL || space == ADSM_PTX_CONST || generic)
		adsm_ptx_add_origin(value->whole, ADSM_PTX_FROM_MEMORY);
	if (space == ADSM_PTX_SHARED || (generic && adsm_ptx_may_be(target, ADSM_PTX_FROM_SHARED)))
		adsm_ptx_add_place(places, ADSM_PTX_SHARED_POOL, value);
	if (space == ADSM_PTX_LOCAL || (generic && adsm_ptx_may_be(target, ADSM_PTX_FROM_LOCAL)))
		adsm_ptx_add_place(places, ADSM_PTX_ALL_LOCAL, value);
	if (space == ADSM_PTX_PARAM || (generic && adsm_ptx_may_be(target, ADSM_PTX_FROM_PARAM))) {
		adsm_ptx_add_place(places, ADSM_PTX_ALL_PARAM, value);
		for (uint32_t i = 0; i < places->kernel->n_params; i++)
			add_slots(places, i, 0, places->kernel->params[i].size, value);
	}
}

void adsm_ptx_add_contents(const struct adsm_ptx_places *places, const struct adsm_ptx_target *target, uint64_t size,
			   struct adsm_ptx_value *value)
{
	const struct adsm_ptx_variable *variable = target->variable;
	const int64_t param = variable ? adsm_ptx_param_of(places, variable) : -1;

	if (!variable) {
		add_unknown(places, target, value);
	} else if (param >= 0) {
		add_slots(places, param, target->offset, size, value);
	} else if (variable->space == ADSM_PTX_LOCAL || variable->space == ADSM_PTX_PARAM) {
		add_cells_at(places, target, size, value);
		adsm_ptx_add_place(places, variable->space == ADSM_PTX_LOCAL ? ADSM_PTX_ANY_LOCAL : ADSM_PTX_ANY_PARAM,
				   value);
	} else if (variable->space == ADSM_PTX_SHARED) {
		adsm_ptx_add_place(places, ADSM_PTX_SHARED_POOL, value);
	} else {
		adsm_ptx_add_origin(value->whole, ADSM_PTX_FROM_MEMORY);
	}
}

/* ---- Addresses ---------------------------------------------------------------------------- */

/* Apply an instruction with a constant to a place in a variable. Returns false: another place. */
static bool apply(const struct adsm_ptx_instruction *by, const struct adsm_ptx_variable *variable, uint64_t *offset)
{
	const uint64_t constant = by->operands[2].bits;

	if (adsm_ptx_is(by, "add"))
		*offset += constant;
	else if (adsm_ptx_is(by, "sub"))
		*offset -= constant;
	else if (adsm_ptx_is(by, "or") && constant < variable->align && !(*offset & constant))
		*offset |= constant;
	else
		return false;
	return true;
}

/* Follow the instructions that compute an address, if each is the only one that sets its register. */
static bool follow(const struct adsm_ptx_reached *in, const struct adsm_ptx_operand *operand,
		   const struct adsm_ptx_variable **ret_variable, int64_t *ret_offset)
{
	const struct adsm_ptx_instruction *chain[CHAIN];
	uint64_t offset;
	int n = 0;

	while (operand->kind == ADSM_PTX_OP_REGISTER) {
		const struct adsm_ptx_definition *definition = &in->definitions[operand->reg];
		const struct adsm_ptx_instruction *by = definition->by;

		if (n == CHAIN || definition->n != 1 || !by || by->guard.kind ||
		    by->operands[0].kind != ADSM_PTX_OP_REGISTER)
			return false;
		operand = &by->operands[1];
		if (adsm_ptx_is(by, "mov") || adsm_ptx_is(by, "cvta")) {
			chain[n++] = NULL;
			continue;
		}
		if (by->n != 3 || by->operands[2].kind != ADSM_PTX_OP_INTEGER || adsm_ptx_has(by, "cc"))
			return false;
		chain[n++] = by;
	}
	if (operand->kind != ADSM_PTX_OP_VARIABLE)
		return false;
	offset = (uint64_t)operand->offset;
	while (n--) {
		if (chain[n] && !apply(chain[n], operand->variable, &offset))
			return false;
	}
	*ret_variable = operand->variable;
	*ret_offset = (int64_t)offset;
	return true;
}

void adsm_ptx_target(const struct adsm_ptx_places *places, const struct adsm_ptx_reached *in,
		     const struct adsm_ptx_operand *memory, enum adsm_ptx_space space,
		     struct adsm_ptx_target *ret_target)
{
	struct adsm_ptx_target *target = ret_target;

	*target = (struct adsm_ptx_target){ .space = space };
	if (follow(in, &memory->elements[0], &target->variable, &target->offset)) {
		target->offset = (int64_t)((uint64_t)target->offset + (uint64_t)memory->offset);
		target->space = target->variable->space;
	} else {
		adsm_ptx_add_operand(places, in, &memory->elements[0], &target->value);
	}
}
