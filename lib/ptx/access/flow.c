/* SPDX-License-Identifier: MIT */
/* flow.c - see flow.h. */
#include "flow.h"
#include "ptx/functions.h"

#include <stdlib.h>
#include <string.h>

#define MOST_WORK (UINT64_C(1) << 28)	/* words written; only texts made to need much need more */

struct flow {
	struct adsm_ptx_places *places;
	const struct adsm_ptx_reached *in;
	const struct adsm_ptx_instruction *instruction;
	bool changed;
	uint64_t work;
};

static bool is_one_of(const struct adsm_ptx_instruction *instruction, const char *const *opcodes)
{
	for (; *opcodes; opcodes++) {
		if (adsm_ptx_is(instruction, *opcodes))
			return true;
	}
	return false;
}

enum adsm_ptx_action adsm_ptx_action(const struct adsm_ptx_instruction *instruction)
{
	static const char *const none[] = {
		"activemask", "applypriority", "bar", "barrier", "bfind", "bra", "brkpt", "brx", "clz", "elect", "exit",
		"fence", "isspacep", "match", "membar", "nanosleep", "pmevent", "popc", "prefetch", "prefetchu", "ret",
		"set", "setp", "spin", "testp", "trap", "vote", NULL,
	};
	static const char *const samples[] = { "tex", "tld4", "txq", "suld", "sust", "sured", "suq", NULL };
	static const char *const computes[] = {
		"abs", "add", "addc", "and", "bfe", "bfi", "bmsk", "brev", "cnot", "copysign", "cos", "cvt", "cvta",
		"div", "dp2a", "dp4a", "ex2", "fma", "fns", "lg2", "lop3", "mad", "mad24", "madc", "max", "min", "mma",
		"mov", "movmatrix", "mul", "mul24", "neg", "not", "or", "prmt", "rcp", "redux", "rem", "rsqrt", "sad",
		"selp", "shf", "shfl", "shl", "shr", "sin", "slct", "sqrt", "sub", "subc", "szext", "tanh", "xor", NULL,
	};

	if (is_one_of(instruction, none))
		return ADSM_PTX_NO_ACTION;
	if (is_one_of(instruction, computes))
		return ADSM_PTX_COMPUTE;
	if (adsm_ptx_is(instruction, "ld") || adsm_ptx_is(instruction, "ldu") || adsm_ptx_is(instruction, "ldmatrix"))
		return ADSM_PTX_LOAD;
	if (adsm_ptx_is(instruction, "st") || adsm_ptx_is(instruction, "stmatrix"))
		return ADSM_PTX_STORE;
	if (adsm_ptx_is(instruction, "wmma"))
		return adsm_ptx_has(instruction, "load") ? ADSM_PTX_LOAD :
		       adsm_ptx_has(instruction, "store") ? ADSM_PTX_STORE : ADSM_PTX_COMPUTE;
	if (adsm_ptx_is(instruction, "atom") || adsm_ptx_is(instruction, "red"))
		return ADSM_PTX_ATOMIC;
	if (adsm_ptx_is(instruction, "call"))
		return ADSM_PTX_CALL;
	if (adsm_ptx_is(instruction, "cp") && !adsm_ptx_has(instruction, "bulk"))
		return ADSM_PTX_COPY;
	return is_one_of(instruction, samples) ? ADSM_PTX_SAMPLE : ADSM_PTX_UNKNOWN;
}

const struct adsm_ptx_operand *adsm_ptx_address_of(const struct adsm_ptx_instruction *instruction)
{
	for (uint32_t i = 0; i < instruction->n; i++) {
		if (instruction->operands[i].kind == ADSM_PTX_OP_MEMORY)
			return &instruction->operands[i];
	}
	return NULL;
}

/* ---- Where values go ---------------------------------------------------------------------- */

static void put(struct flow *flow, uint32_t place, const struct adsm_ptx_value *value)
{
	const uint32_t words = flow->places->words;
	uint64_t *to = flow->places->values + (size_t)place * words * 2;

	flow->work += words;
	for (uint32_t i = 0; i < words; i++) {
		flow->changed |= (value->whole[i] & ~to[i]) || (value->part[i] & ~to[words + i]);
		to[i] |= value->whole[i];
		to[words + i] |= value->part[i];
	}
}

/* A register of less than 64 bits has a part of an address at most, a predicate none. */
static void put_register(struct flow *flow, const struct adsm_ptx_reached *in, uint32_t reg,
			 const struct adsm_ptx_value *value)
{
	const enum adsm_ptx_type type = in->function->registers[reg].type;
	struct adsm_ptx_value part = *value;

	if (type == ADSM_PTX_pred)
		return;
	if (adsm_ptx_size(type) < 8)
		adsm_ptx_make_part(flow->places, &part);
	put(flow, adsm_ptx_register_place(in, reg), &part);
}

static void put_operand(struct flow *flow, const struct adsm_ptx_operand *operand, const struct adsm_ptx_value *value)
{
	if (operand->kind == ADSM_PTX_OP_REGISTER)
		put_register(flow, flow->in, operand->reg, value);
	for (uint32_t i = 0; i < operand->n; i++)
		put_operand(flow, &operand->elements[i], value);
}

/* Store @size bytes at an address. What gets into global memory is not followed: see access.c. */
static void put_memory(struct flow *flow, const struct adsm_ptx_target *target, uint64_t size,
		       const struct adsm_ptx_value *value)
{
	const struct adsm_ptx_cells *cells = NULL;
	const enum adsm_ptx_space space = target->space;
	const bool generic = space == ADSM_PTX_GENERIC;

	if (target->variable)
		cells = adsm_ptx_cells_of(flow->places, target->variable);
	for (uint32_t i = 0; cells && i < cells->n; i++) {
		if (adsm_ptx_in_cell(cells, i, target->offset, size))
			put(flow, cells->first + i, value);
	}
	if (space == ADSM_PTX_LOCAL || (generic && adsm_ptx_may_be(target, ADSM_PTX_FROM_LOCAL))) {
		put(flow, ADSM_PTX_ALL_LOCAL, value);
		if (!cells)
			put(flow, ADSM_PTX_ANY_LOCAL, value);
	}
	if (space == ADSM_PTX_PARAM || (generic && adsm_ptx_may_be(target, ADSM_PTX_FROM_PARAM))) {
		put(flow, ADSM_PTX_ALL_PARAM, value);
		if (!cells)
			put(flow, ADSM_PTX_ANY_PARAM, value);
	}
	if (space == ADSM_PTX_SHARED || (generic && adsm_ptx_may_be(target, ADSM_PTX_FROM_SHARED)))
		put(flow, ADSM_PTX_SHARED_POOL, value);
}

/* ---- Instructions ------------------------------------------------------------------------- */

static uint64_t element_size(const struct adsm_ptx_instruction *instruction)
{
	return adsm_ptx_size(adsm_ptx_type_of(instruction));
}

/* The i-th element of what is loaded or stored. */
static const struct adsm_ptx_operand *element(const struct adsm_ptx_operand *operand, uint32_t i)
{
	return operand->kind == ADSM_PTX_OP_VECTOR ? &operand->elements[i] : operand;
}

static uint32_t n_elements(const struct adsm_ptx_operand *operand)
{
	return operand->kind == ADSM_PTX_OP_VECTOR ? operand->n : 1;
}

static void load(struct flow *flow)
{
	const struct adsm_ptx_instruction *instruction = flow->instruction;
	const struct adsm_ptx_operand *memory = adsm_ptx_address_of(instruction), *to = &instruction->operands[0];
	const uint64_t size = element_size(instruction);
	struct adsm_ptx_target target;

	if (!memory || memory == to)
		return;
	adsm_ptx_target(flow->places, flow->in, memory, instruction->space, &target);
	for (uint32_t i = 0; i < n_elements(to); i++) {
		struct adsm_ptx_value value = { 0 };

		adsm_ptx_add_contents(flow->places, &target, size, &value);
		if (size < 8)
			adsm_ptx_make_part(flow->places, &value);
		else
			adsm_ptx_make_whole(flow->places, &value);
		put_operand(flow, element(to, i), &value);
		target.offset = (int64_t)((uint64_t)target.offset + size);
	}
}

static void store(struct flow *flow)
{
	const struct adsm_ptx_instruction *instruction = flow->instruction;
	const struct adsm_ptx_operand *from = &instruction->operands[1];
	const uint64_t size = element_size(instruction);
	struct adsm_ptx_target target;

	if (instruction->operands[0].kind != ADSM_PTX_OP_MEMORY)
		return;
	adsm_ptx_target(flow->places, flow->in, &instruction->operands[0], instruction->space, &target);
	for (uint32_t i = 0; i < n_elements(from); i++) {
		struct adsm_ptx_value value = { 0 };

		adsm_ptx_add_operand(flow->places, flow->in, element(from, i), &value);
		if (size < 8)
			adsm_ptx_make_part(flow->places, &value);
		put_memory(flow, &target, size, &value);
		target.offset = (int64_t)((uint64_t)target.offset + size);
	}
}

/* The result is what was there; what is there then is made of that, and of the other operands. */
static void atomic(struct flow *flow)
{
	const struct adsm_ptx_instruction *instruction = flow->instruction;
	const struct adsm_ptx_operand *memory = adsm_ptx_address_of(instruction);
	struct adsm_ptx_value value = { 0 };
	struct adsm_ptx_target target;

	if (!memory)
		return;
	adsm_ptx_target(flow->places, flow->in, memory, instruction->space, &target);
	for (uint32_t i = (uint32_t)(memory - instruction->operands) + 1; i < instruction->n; i++)
		adsm_ptx_add_operand(flow->places, flow->in, &instruction->operands[i], &value);
	put_memory(flow, &target, element_size(instruction), &value);
	value = (struct adsm_ptx_value){ 0 };
	adsm_ptx_add_contents(flow->places, &target, element_size(instruction), &value);
	if (element_size(instruction) >= 8)
		adsm_ptx_make_whole(flow->places, &value);
	if (memory != instruction->operands)
		put_operand(flow, &instruction->operands[0], &value);
}

static bool is_constant(const struct adsm_ptx_operand *operand)
{
	return operand->kind == ADSM_PTX_OP_INTEGER || operand->kind == ADSM_PTX_OP_SPECIAL;
}

/* x times y. An index times a size is no address. A large factor moves bits to where they may be the half of one. */
static void multiply(struct flow *flow, struct adsm_ptx_value *value)
{
	const struct adsm_ptx_operand *operands = flow->instruction->operands;
	uint64_t factor = 0;

	for (uint32_t i = 1; i < 3; i++) {
		adsm_ptx_add_operand(flow->places, flow->in, &operands[i], value);
		if (operands[i].kind == ADSM_PTX_OP_INTEGER)
			factor = (int64_t)operands[i].bits < 0 ? -operands[i].bits : operands[i].bits;
	}
	if (factor >> 31)
		adsm_ptx_make_whole(flow->places, value);
	else if (factor != 1)
		adsm_ptx_make_part(flow->places, value);
	for (uint32_t i = 3; i < flow->instruction->n; i++)
		adsm_ptx_add_operand(flow->places, flow->in, &operands[i], value);
}

static bool is_of_floats(const struct adsm_ptx_instruction *instruction)
{
	static const char *const moves[] = { "mov", "selp", "slct", "shfl", NULL };
	bool floats = false;

	for (uint32_t i = 0; i < instruction->n_types; i++) {
		const enum adsm_ptx_type type = instruction->types[i];

		floats |= adsm_ptx_is_float(type) || type == ADSM_PTX_f16 || type == ADSM_PTX_bf16 ||
			  type == ADSM_PTX_f16x2 || type == ADSM_PTX_bf16x2 || type == ADSM_PTX_tf32;
	}
	return floats && !is_one_of(instruction, moves);
}

/* Is the result of at most 32 bits, or an index of 32 bits times a size? */
static bool is_short(const struct flow *flow)
{
	const struct adsm_ptx_instruction *instruction = flow->instruction;
	const struct adsm_ptx_operand *operands = instruction->operands;
	const struct adsm_ptx_definition *definition;

	if (adsm_ptx_is(instruction, "cvt"))
		return adsm_ptx_size(adsm_ptx_type_of(instruction)) < 8;
	if (operands[2].kind != ADSM_PTX_OP_INTEGER)
		return false;
	if (adsm_ptx_is(instruction, "and") || adsm_ptx_is(instruction, "rem"))
		return operands[2].bits <= UINT32_MAX;
	if (!adsm_ptx_is(instruction, "shr"))
		return false;
	if (operands[2].bits >= 32)
		return true;
	/* The low 32 bits are moved up, and down again: their sign fills the others. */
	if (operands[1].kind != ADSM_PTX_OP_REGISTER)
		return false;
	definition = &flow->in->definitions[operands[1].reg];
	if (definition->n != 1 || !definition->by || definition->by->guard.kind)
		return false;
	return adsm_ptx_is(definition->by, "shl") && definition->by->operands[2].kind == ADSM_PTX_OP_INTEGER &&
	       definition->by->operands[2].bits >= 32;
}

/* Does the instruction put pieces together, or move bits down, so that they may be an address? */
static bool assembles(const struct adsm_ptx_instruction *instruction)
{
	static const char *const joins[] = { "or", "xor", "bfi", "prmt", "lop3", "shf", NULL };
	static const char *const lowers[] = { "shr", "bfe", "div", NULL };
	const struct adsm_ptx_operand *operands = instruction->operands;

	if (adsm_ptx_is(instruction, "mov"))
		return operands[1].kind == ADSM_PTX_OP_VECTOR;
	if (adsm_ptx_is(instruction, "shl"))
		return operands[2].kind != ADSM_PTX_OP_INTEGER || operands[2].bits > 31;
	if (is_one_of(instruction, joins))
		return !is_constant(&operands[1]) && !is_constant(&operands[2]);
	return is_one_of(instruction, lowers);
}

static void compute(struct flow *flow)
{
	static const char *const products[] = { "mul", "mad", "mul24", "mad24", "madc", NULL };
	const struct adsm_ptx_instruction *instruction = flow->instruction;
	struct adsm_ptx_value value = { 0 };

	if (is_one_of(instruction, products)) {
		multiply(flow, &value);
	} else {
		for (uint32_t i = 1; i < instruction->n; i++)
			adsm_ptx_add_operand(flow->places, flow->in, &instruction->operands[i], &value);
		if (is_short(flow))
			adsm_ptx_make_part(flow->places, &value);
		else if (assembles(instruction))
			adsm_ptx_make_whole(flow->places, &value);
		else if (adsm_ptx_is(instruction, "shl") && instruction->operands[2].bits)
			adsm_ptx_make_part(flow->places, &value);
	}
	if (is_of_floats(instruction))
		return;
	put_operand(flow, &instruction->operands[0], &value);
}

/* ---- Calls -------------------------------------------------------------------------------- */

/* What an argument or a result has; NULL: none of its cells is known. */
static void add_passed(const struct flow *flow, const struct adsm_ptx_operand *operand, struct adsm_ptx_value *value)
{
	struct adsm_ptx_target target = { 0 };

	if (operand->kind != ADSM_PTX_OP_VARIABLE) {
		adsm_ptx_add_operand(flow->places, flow->in, operand, value);
		return;
	}
	target.variable = operand->variable;
	target.space = operand->variable->space;
	adsm_ptx_add_contents(flow->places, &target, operand->variable->size, value);
}

/* Copy cell by cell, if both have the same; else all of it. */
static void copy_cells(struct flow *flow, const struct adsm_ptx_cells *to, const struct adsm_ptx_cells *from)
{
	for (uint32_t i = 0; i < to->n; i++) {
		for (uint32_t j = 0; j < from->n; j++) {
			struct adsm_ptx_value value = { 0 };

			if (to->n == from->n && i != j)
				continue;
			adsm_ptx_add_place(flow->places, from->first + j, &value);
			put(flow, to->first + i, &value);
			put(flow, ADSM_PTX_ALL_PARAM, &value);
		}
	}
}

/* From an operand of the call to a parameter of the callee. */
static void pass(struct flow *flow, const struct adsm_ptx_operand *operand, const struct adsm_ptx_reached *callee,
		 const struct adsm_ptx_variable *parameter)
{
	const struct adsm_ptx_cells *from = NULL, *to = NULL;
	struct adsm_ptx_value value = { 0 };

	if (parameter && parameter->space == ADSM_PTX_PARAM && parameter->size)
		to = adsm_ptx_cells_of(flow->places, parameter);
	if (operand->kind == ADSM_PTX_OP_VARIABLE)
		from = adsm_ptx_cells_of(flow->places, operand->variable);
	if (from && to) {
		copy_cells(flow, to, from);
		return;
	}
	add_passed(flow, operand, &value);
	if (parameter && parameter->space == ADSM_PTX_REG) {
		put_register(flow, callee, parameter->reg, &value);
		return;
	}
	for (uint32_t i = 0; to && i < to->n; i++)
		put(flow, to->first + i, &value);
	put(flow, ADSM_PTX_ALL_PARAM, &value);
	if (!to)
		put(flow, ADSM_PTX_ANY_PARAM, &value);
}

/* From a result of the callee to an operand of the call. */
static void give_back(struct flow *flow, const struct adsm_ptx_operand *operand, const struct adsm_ptx_reached *callee,
		      const struct adsm_ptx_variable *result)
{
	const struct adsm_ptx_cells *from = NULL, *to = NULL;
	struct adsm_ptx_value value = { 0 };

	if (result->space == ADSM_PTX_PARAM)
		from = adsm_ptx_cells_of(flow->places, result);
	else
		adsm_ptx_add_place(flow->places, adsm_ptx_register_place(callee, result->reg), &value);
	if (operand->kind == ADSM_PTX_OP_VARIABLE)
		to = adsm_ptx_cells_of(flow->places, operand->variable);
	if (from && to) {
		copy_cells(flow, to, from);
		return;
	}
	for (uint32_t i = 0; from && i < from->n; i++)
		adsm_ptx_add_place(flow->places, from->first + i, &value);
	for (uint32_t i = 0; to && i < to->n; i++)
		put(flow, to->first + i, &value);
	put(flow, ADSM_PTX_ALL_PARAM, &value);
	if (!to)
		put_operand(flow, operand, &value);
}

/* What a mathematical function returns is no address, unless an integer of 64 bits is one. */
static void add_result(const struct flow *flow, const struct adsm_ptx_math *math, struct adsm_ptx_value *value)
{
	const struct adsm_ptx_operand *arguments = &flow->instruction->operands[2];

	for (uint32_t i = 0; i < arguments->n && math->arguments[i]; i++) {
		if (math->arguments[i] == 'l')
			add_passed(flow, &arguments->elements[i], value);
	}
}

/* What a function without a body returns. */
static void return_unknown(struct flow *flow, const struct adsm_ptx_function *callee)
{
	const struct adsm_ptx_operand *results = &flow->instruction->operands[0];
	const bool heap = !strcmp(callee->name, "malloc");
	struct adsm_ptx_value value = { 0 };
	bool single;
	const struct adsm_ptx_math *math = adsm_ptx_math_find(callee->name, &single);

	if (math)
		add_result(flow, math, &value);
	else
		adsm_ptx_add_origin(value.whole, heap ? ADSM_PTX_FROM_HEAP : ADSM_PTX_FROM_MEMORY);
	for (uint32_t i = 0; i < results->n; i++) {
		const struct adsm_ptx_operand *result = &results->elements[i];
		struct adsm_ptx_target target = { .space = ADSM_PTX_PARAM };

		if (result->kind == ADSM_PTX_OP_VARIABLE)
			target.variable = result->variable;
		if (target.variable)
			put_memory(flow, &target, target.variable->size, &value);
		else
			put_operand(flow, result, &value);
	}
}

static void enter(void *arg, const struct adsm_ptx_function *function)
{
	struct flow *flow = arg;
	const struct adsm_ptx_operand *results = &flow->instruction->operands[0];
	const struct adsm_ptx_operand *arguments = &flow->instruction->operands[2];
	const struct adsm_ptx_reached *callee = adsm_ptx_reached_of(flow->places, function);

	if (!callee) {
		return_unknown(flow, function);
		return;
	}
	for (uint32_t i = 0; i < arguments->n; i++)
		pass(flow, &arguments->elements[i], callee, i < function->n_params ? &function->params[i] : NULL);
	for (uint32_t i = 0; i < results->n && i < function->n_results; i++)
		give_back(flow, &results->elements[i], callee, &function->results[i]);
}

/* ---- All of it ---------------------------------------------------------------------------- */

/* An instruction that the analysis does not know: each result may be any of the operands, or a value from memory. */
static void unknown(struct flow *flow)
{
	struct adsm_ptx_value value = { 0 };

	adsm_ptx_add_origin(value.whole, ADSM_PTX_FROM_MEMORY);
	for (uint32_t i = 0; i < flow->instruction->n; i++)
		adsm_ptx_add_operand(flow->places, flow->in, &flow->instruction->operands[i], &value);
	for (uint32_t i = 0; i < flow->instruction->n; i++) {
		if (flow->instruction->operands[i].kind != ADSM_PTX_OP_MEMORY)
			put_operand(flow, &flow->instruction->operands[i], &value);
	}
	put(flow, ADSM_PTX_SHARED_POOL, &value);
}

static void step(struct flow *flow)
{
	struct adsm_ptx_value memory = { 0 };

	switch (adsm_ptx_action(flow->instruction)) {
	case ADSM_PTX_NO_ACTION: return;
	case ADSM_PTX_COMPUTE: compute(flow); return;
	case ADSM_PTX_LOAD: load(flow); return;
	case ADSM_PTX_STORE: store(flow); return;
	case ADSM_PTX_ATOMIC: atomic(flow); return;
	case ADSM_PTX_CALL: adsm_ptx_each_callee(flow->places, flow->instruction, enter, flow); return;
	case ADSM_PTX_COPY:
		adsm_ptx_add_origin(memory.whole, ADSM_PTX_FROM_MEMORY);
		put(flow, ADSM_PTX_SHARED_POOL, &memory);
		return;
	case ADSM_PTX_SAMPLE:
		adsm_ptx_add_origin(memory.part, ADSM_PTX_FROM_MEMORY);
		if (flow->instruction->operands[0].kind != ADSM_PTX_OP_MEMORY)
			put_operand(flow, &flow->instruction->operands[0], &memory);
		return;
	case ADSM_PTX_UNKNOWN: unknown(flow); return;
	}
}

bool adsm_ptx_flow(struct adsm_ptx_places *places)
{
	struct flow flow = { .places = places, .changed = true };

	while (flow.changed) {
		flow.changed = false;
		for (uint32_t i = 0; i < places->n_reached; i++) {
			flow.in = &places->reached[i];
			for (uint32_t j = 0; j < flow.in->function->n; j++) {
				flow.instruction = &flow.in->function->instructions[j];
				step(&flow);
				if (flow.work > MOST_WORK)
					return false;
			}
		}
	}
	return true;
}
