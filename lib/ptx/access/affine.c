/* SPDX-License-Identifier: MIT */
/* affine.c - see affine.h. */
#include "affine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX
#define MOST_DEPTH 100
#define MOST_MOVES 8			/* from register to register */
#define MOST_WORK 4000			/* instructions that are looked at for one address, with repetitions */

static bool of_register(struct adsm_ptx_affine *affine, uint32_t reg, uint32_t at, struct adsm_ptx_poly *ret);

struct setter {
	struct adsm_ptx_affine *affine;
	uint32_t at;
};

static void note_setter(void *arg, uint32_t reg, bool writes)
{
	const struct setter *setter = arg;
	struct adsm_ptx_setters *setters = &setter->affine->setters[reg];

	if (!writes)
		return;
	if (setters->n < 2)
		setters->at[setters->n] = setter->at;
	setters->n++;
}

int adsm_ptx_affine_init(struct adsm_ptx_affine *affine, const struct adsm_ptx_function *kernel,
			 const struct adsm_ptx_shape *shape)
{
	struct setter setter = { .affine = affine };

	*affine = (struct adsm_ptx_affine){ .kernel = kernel, .shape = shape, .self = NONE };
	affine->setters = calloc((size_t)kernel->n_registers + 1, sizeof(*affine->setters));
	if (!affine->setters)
		return -ENOMEM;
	for (setter.at = 0; setter.at < kernel->n; setter.at++)
		adsm_ptx_each_register(&kernel->instructions[setter.at], note_setter, &setter);
	return 0;
}

void adsm_ptx_affine_finish(struct adsm_ptx_affine *affine)
{
	free(affine->setters);
	affine->setters = NULL;
}

void adsm_ptx_affine_begin(struct adsm_ptx_affine *affine, struct adsm_ptx_conditions *conditions)
{
	conditions->n = 0;
	affine->conditions = conditions;
	affine->n_loops = affine->depth = affine->work = 0;
	affine->self = NONE;
}

static bool equals(const struct adsm_ptx_poly *a, const struct adsm_ptx_poly *b)
{
	struct adsm_ptx_poly difference;

	return adsm_ptx_poly_add(a, -1, b, &difference) && !difference.n;
}

bool adsm_ptx_affine_condition(struct adsm_ptx_affine *affine, enum adsm_ptx_condition_kind kind, uint32_t turns_of,
			       const struct adsm_ptx_poly *poly)
{
	struct adsm_ptx_conditions *conditions = affine->conditions;
	struct adsm_ptx_condition *condition = &conditions->list[conditions->n];

	for (uint32_t i = 0; i < conditions->n; i++) {
		if (conditions->list[i].kind == kind && conditions->list[i].turns_of == turns_of &&
		    equals(&conditions->list[i].poly, poly))
			return true;
	}
	/* A launch knows nothing of the value that a counter had. */
	if (conditions->n == ADSM_PTX_CONDITIONS || !adsm_ptx_poly_is_linear(poly) ||
	    adsm_ptx_poly_has(poly, ADSM_PTX_ATOM_SELF))
		return false;
	condition->kind = kind;
	condition->turns_of = turns_of;
	condition->poly = *poly;
	conditions->n++;
	return true;
}

bool adsm_ptx_affine_loop(struct adsm_ptx_affine *affine, uint32_t loop, uint32_t *ret_atom)
{
	uint32_t i = 0;

	while (i < affine->n_loops && affine->loops[i] != loop)
		i++;
	if (i == ADSM_PTX_POLY_LOOPS)
		return false;
	if (i == affine->n_loops)
		affine->loops[affine->n_loops++] = loop;
	*ret_atom = ADSM_PTX_ATOM_LOOP + i;
	return true;
}

/* Is one instruction before another on all ways to that one? */
static bool is_before(const struct adsm_ptx_affine *affine, uint32_t a, uint32_t b)
{
	const struct adsm_ptx_shape *shape = affine->shape;
	const uint32_t x = shape->block_of[a], y = shape->block_of[b];

	return x == y ? a < b : adsm_ptx_is_above(&shape->before, x, y);
}

bool adsm_ptx_affine_is_known_at(const struct adsm_ptx_affine *affine, uint32_t setter, uint32_t at)
{
	return affine->kernel->instructions[setter].guard.kind == ADSM_PTX_OP_NONE && is_before(affine, setter, at);
}

/* ---- Numbers ------------------------------------------------------------------------------ */

/* Is the polynomial within the range of the type for all launches? */
static bool always_fits(enum adsm_ptx_condition_kind kind, const struct adsm_ptx_poly *poly)
{
	int64_t value;

	if (adsm_ptx_poly_is_constant(poly, &value))
		return kind == ADSM_PTX_FITS_S64 || (kind == ADSM_PTX_FITS_U64 && value >= 0) ||
		       (kind == ADSM_PTX_FITS_U32 && value >= 0 && value <= UINT32_MAX) ||
		       (kind == ADSM_PTX_FITS_S32 && value >= INT32_MIN && value <= INT32_MAX);
	/* An index or a size; a signed parameter of 32 bits. */
	return poly->n == 1 && poly->terms[0].factor == 1 && poly->terms[0].n == 1 &&
	       (poly->terms[0].atoms[0] < ADSM_PTX_ATOM_LOOP || kind == ADSM_PTX_FITS_S64 ||
		(kind == ADSM_PTX_FITS_S32 && adsm_ptx_atom_is_param(poly->terms[0].atoms[0]) &&
		 !((poly->terms[0].atoms[0] - ADSM_PTX_ATOM_PARAM) & 1)));
}

static bool fits(struct adsm_ptx_affine *affine, enum adsm_ptx_type type, const struct adsm_ptx_poly *poly)
{
	enum adsm_ptx_condition_kind kind;

	switch (type) {
	case ADSM_PTX_s32: kind = ADSM_PTX_FITS_S32; break;
	case ADSM_PTX_u32: case ADSM_PTX_b32: kind = ADSM_PTX_FITS_U32; break;
	case ADSM_PTX_s64: kind = ADSM_PTX_FITS_S64; break;
	case ADSM_PTX_u64: case ADSM_PTX_b64: kind = ADSM_PTX_FITS_U64; break;
	default: return false;
	}
	return always_fits(kind, poly) || adsm_ptx_affine_condition(affine, kind, 0, poly);
}

bool adsm_ptx_affine_number(struct adsm_ptx_affine *affine, const struct adsm_ptx_operand *operand, uint32_t at,
			    enum adsm_ptx_type type, struct adsm_ptx_poly *ret)
{
	if (operand->kind == ADSM_PTX_OP_INTEGER) {
		const bool is_short = adsm_ptx_size(type) == 4;

		adsm_ptx_poly_constant(!is_short ? (int64_t)operand->bits : type == ADSM_PTX_s32 ?
				       (int32_t)operand->bits : (int64_t)(uint32_t)operand->bits, ret);
		return is_short || type == ADSM_PTX_s64 || (int64_t)operand->bits >= 0;
	}
	return adsm_ptx_affine_value(affine, operand, at, ret) && fits(affine, type, ret);
}

static bool of_special(const struct adsm_ptx_operand *operand, struct adsm_ptx_poly *ret)
{
	static const uint32_t atoms[ADSM_PTX_N_SPECIALS] = {
		[ADSM_PTX_SPECIAL_tid] = ADSM_PTX_ATOM_THREAD + 1, [ADSM_PTX_SPECIAL_ctaid] = ADSM_PTX_ATOM_BLOCK + 1,
		[ADSM_PTX_SPECIAL_ntid] = ADSM_PTX_ATOM_BLOCK_SIZE + 1,
		[ADSM_PTX_SPECIAL_nctaid] = ADSM_PTX_ATOM_GRID_SIZE + 1,
	};

	if (operand->special >= ADSM_PTX_N_SPECIALS || !atoms[operand->special] || operand->component > 2)
		return false;
	adsm_ptx_poly_atom(atoms[operand->special] - 1 + operand->component, ret);
	return true;
}

bool adsm_ptx_affine_value(struct adsm_ptx_affine *affine, const struct adsm_ptx_operand *operand, uint32_t at,
			   struct adsm_ptx_poly *ret)
{
	switch (operand->kind) {
	case ADSM_PTX_OP_REGISTER: return of_register(affine, operand->reg, at, ret);
	case ADSM_PTX_OP_INTEGER: adsm_ptx_poly_constant((int64_t)operand->bits, ret); return true;
	case ADSM_PTX_OP_SPECIAL: return of_special(operand, ret);
	default: return false;
	}
}

/* ---- Instructions ------------------------------------------------------------------------- */

/* The parameter of the kernel whose address a load of .param names, and the offset in it; NULL: not known. */
static const struct adsm_ptx_variable *param_of(const struct adsm_ptx_affine *affine,
						const struct adsm_ptx_operand *memory, uint32_t at,
						int64_t *ret_offset)
{
	const struct adsm_ptx_function *kernel = affine->kernel;
	const struct adsm_ptx_operand *base = &memory->elements[0];

	/* Its address may have been moved to a register. */
	for (int i = 0; i < MOST_MOVES && base->kind == ADSM_PTX_OP_REGISTER; i++) {
		const struct adsm_ptx_setters *setters = &affine->setters[base->reg];

		if (setters->n != 1 || !adsm_ptx_affine_is_known_at(affine, setters->at[0], at) ||
		    !adsm_ptx_is(&kernel->instructions[setters->at[0]], "mov"))
			return NULL;
		at = setters->at[0];
		base = &kernel->instructions[at].operands[1];
	}
	if (base->kind != ADSM_PTX_OP_VARIABLE || base->variable < kernel->params ||
	    base->variable >= kernel->params + kernel->n_params)
		return NULL;
	*ret_offset = (int64_t)((uint64_t)memory->offset + (uint64_t)base->offset);
	return base->variable;
}

/* ld.param: an integer of 32 bits is taken for a signed one. */
static bool load(struct adsm_ptx_affine *affine, const struct adsm_ptx_instruction *instruction, uint32_t at,
		 struct adsm_ptx_poly *ret)
{
	const struct adsm_ptx_operand *memory = &instruction->operands[1];
	const enum adsm_ptx_type type = adsm_ptx_type_of(instruction);
	const uint32_t size = adsm_ptx_size(type);
	const struct adsm_ptx_variable *variable;
	int64_t offset = 0;

	if (instruction->space != ADSM_PTX_PARAM || instruction->vector > 1 || memory->kind != ADSM_PTX_OP_MEMORY ||
	    (size != 4 && size != 8))
		return false;
	variable = param_of(affine, memory, at, &offset);
	if (!variable || offset < 0 || offset > UINT16_MAX || (uint64_t)offset + size > variable->size)
		return false;
	adsm_ptx_poly_atom(adsm_ptx_atom_of_param((uint32_t)(variable - affine->kernel->params), (uint32_t)offset,
						  size), ret);
	if (size == 4 && adsm_ptx_size(affine->kernel->registers[instruction->operands[0].reg].type) == 8)
		return fits(affine, type, ret);
	return true;
}

static bool convert(struct adsm_ptx_affine *affine, const struct adsm_ptx_instruction *instruction, uint32_t at,
		    struct adsm_ptx_poly *ret)
{
	if (instruction->n_types != 2 || adsm_ptx_has(instruction, "sat") || adsm_ptx_is_float(instruction->types[0]) ||
	    adsm_ptx_size(instruction->types[0]) < 4 || adsm_ptx_size(instruction->types[1]) < 4)
		return false;
	if (adsm_ptx_size(instruction->types[0]) > adsm_ptx_size(instruction->types[1]))
		return adsm_ptx_affine_number(affine, &instruction->operands[1], at, instruction->types[1], ret);
	return !adsm_ptx_is_float(instruction->types[1]) &&
	       adsm_ptx_affine_value(affine, &instruction->operands[1], at, ret);
}

/* mul and mad, .lo and .wide */
static bool multiply(struct adsm_ptx_affine *affine, const struct adsm_ptx_instruction *instruction, uint32_t at,
		     struct adsm_ptx_poly *ret)
{
	const struct adsm_ptx_operand *operands = instruction->operands;
	const enum adsm_ptx_type type = adsm_ptx_type_of(instruction);
	struct adsm_ptx_poly a, b;

	if (adsm_ptx_has(instruction, "wide")) {
		if (!adsm_ptx_affine_number(affine, &operands[1], at, type, &a) ||
		    !adsm_ptx_affine_number(affine, &operands[2], at, type, &b))
			return false;
	} else if (!adsm_ptx_has(instruction, "lo") || !adsm_ptx_affine_value(affine, &operands[1], at, &a) ||
		   !adsm_ptx_affine_value(affine, &operands[2], at, &b)) {
		return false;
	}
	if (!adsm_ptx_poly_multiply(&a, &b, ret))
		return false;
	return instruction->n < 4 || (adsm_ptx_affine_value(affine, &operands[3], at, &a) &&
				      adsm_ptx_poly_add(ret, 1, &a, ret));
}

/* x or y, where y has only bits that are 0 in x: it is the sum. */
static bool join(const struct adsm_ptx_poly *a, const struct adsm_ptx_poly *b, struct adsm_ptx_poly *ret)
{
	int64_t bits, unit = 1;

	if (!adsm_ptx_poly_is_constant(b, &bits) || bits < 0 || bits > UINT16_MAX)
		return false;
	while (unit <= bits)
		unit *= 2;
	for (uint32_t i = 0; i < a->n; i++) {
		if (a->terms[i].factor % unit)
			return false;
	}
	return adsm_ptx_poly_add(a, 1, b, ret);
}

/* add, sub, shl, or */
static bool combine(struct adsm_ptx_affine *affine, const struct adsm_ptx_instruction *instruction, uint32_t at,
		    struct adsm_ptx_poly *ret)
{
	struct adsm_ptx_poly a, b, power;
	int64_t shift;

	if (instruction->n != 3 || !adsm_ptx_affine_value(affine, &instruction->operands[1], at, &a) ||
	    !adsm_ptx_affine_value(affine, &instruction->operands[2], at, &b))
		return false;
	if (adsm_ptx_is(instruction, "add"))
		return adsm_ptx_poly_add(&a, 1, &b, ret);
	if (adsm_ptx_is(instruction, "sub"))
		return adsm_ptx_poly_add(&a, -1, &b, ret);
	if (adsm_ptx_is(instruction, "or"))
		return join(&a, &b, ret);
	if (!adsm_ptx_poly_is_constant(&b, &shift) || shift < 0 || shift > 31)
		return false;
	adsm_ptx_poly_constant((int64_t)1 << shift, &power);
	return adsm_ptx_poly_multiply(&a, &power, ret);
}

static bool is_integer(enum adsm_ptx_type type)
{
	return type == ADSM_PTX_b32 || type == ADSM_PTX_u32 || type == ADSM_PTX_s32 || type == ADSM_PTX_b64 ||
	       type == ADSM_PTX_u64 || type == ADSM_PTX_s64;
}

/* Have the registers of an instruction the sizes that its types ask for? */
static bool has_sizes(const struct adsm_ptx_affine *affine, const struct adsm_ptx_instruction *instruction)
{
	const struct adsm_ptx_register *registers = affine->kernel->registers;
	const uint32_t size = adsm_ptx_size(adsm_ptx_type_of(instruction));
	const bool is_wide = adsm_ptx_has(instruction, "wide"), is_cvt = adsm_ptx_is(instruction, "cvt");
	const uint32_t result = is_cvt ? adsm_ptx_size(instruction->types[0]) : is_wide ? 2 * size : size;

	if (adsm_ptx_is(instruction, "ld"))
		return true;
	for (uint32_t i = 0; i < instruction->n; i++) {
		if (instruction->operands[i].kind == ADSM_PTX_OP_REGISTER &&
		    adsm_ptx_size(registers[instruction->operands[i].reg].type) != (i % 3 ? size : result))
			return false;
	}
	return true;
}

/* The result of an instruction. */
static bool of_result(struct adsm_ptx_affine *affine, uint32_t at, struct adsm_ptx_poly *ret)
{
	const struct adsm_ptx_instruction *instruction = &affine->kernel->instructions[at];
	const struct adsm_ptx_operand *operands = instruction->operands;
	struct adsm_ptx_poly value, base;

	if (operands[0].kind != ADSM_PTX_OP_REGISTER || !is_integer(adsm_ptx_type_of(instruction)) ||
	    adsm_ptx_has(instruction, "cc") || adsm_ptx_has(instruction, "sat") || !has_sizes(affine, instruction))
		return false;
	if (adsm_ptx_is(instruction, "ld"))
		return load(affine, instruction, at, ret);
	if (adsm_ptx_is(instruction, "cvt"))
		return convert(affine, instruction, at, ret);
	if (adsm_ptx_is(instruction, "mul") || adsm_ptx_is(instruction, "mad"))
		return multiply(affine, instruction, at, ret);
	if (adsm_ptx_is(instruction, "mov"))
		return instruction->n == 2 && adsm_ptx_affine_value(affine, &operands[1], at, ret);
	/* Addresses of global memory are generic ones. */
	if (adsm_ptx_is(instruction, "cvta"))
		return instruction->n == 2 && instruction->space == ADSM_PTX_GLOBAL &&
		       adsm_ptx_affine_value(affine, &operands[1], at, ret);
	/* not x is -x - 1. */
	if (adsm_ptx_is(instruction, "neg") || adsm_ptx_is(instruction, "not")) {
		adsm_ptx_poly_constant(adsm_ptx_is(instruction, "neg") ? 0 : -1, &base);
		return adsm_ptx_affine_value(affine, &operands[1], at, &value) &&
		       adsm_ptx_poly_add(&base, -1, &value, ret);
	}
	if (adsm_ptx_is(instruction, "add") || adsm_ptx_is(instruction, "sub") || adsm_ptx_is(instruction, "shl") ||
	    adsm_ptx_is(instruction, "or"))
		return combine(affine, instruction, at, ret);
	return false;
}

/* ---- Registers ---------------------------------------------------------------------------- */

/* The step that instruction @at adds to a register that it sets, in each turn of a loop. */
static bool find_step(struct adsm_ptx_affine *affine, uint32_t reg, uint32_t at, uint32_t atom,
		      struct adsm_ptx_poly *ret)
{
	const uint32_t self = affine->self;
	bool found;

	if (self != NONE)
		return false;
	affine->self = reg;
	found = of_result(affine, at, ret);
	affine->self = self;
	return found && adsm_ptx_poly_take(ret, ADSM_PTX_ATOM_SELF) == 1 &&
	       !adsm_ptx_poly_has(ret, ADSM_PTX_ATOM_SELF) && !adsm_ptx_poly_has(ret, atom);
}

bool adsm_ptx_is_in_each_turn(const struct adsm_ptx_shape *shape, uint32_t loop, uint32_t block)
{
	const uint32_t header = shape->loops[loop].header;

	if (shape->loop_of[block] != loop)
		return false;
	for (uint32_t i = 0; i < shape->blocks->n; i++) {
		if (!adsm_ptx_in_loop(shape, loop, i))
			continue;
		for (uint32_t j = 0; j < shape->blocks->blocks[i].n_next; j++) {
			if (shape->blocks->blocks[i].next[j] == header && !adsm_ptx_is_above(&shape->before, block, i))
				return false;
		}
	}
	return true;
}

/* Is the register one that gets a value before a loop, and another one in each turn of it? */
static bool is_counter(const struct adsm_ptx_affine *affine, uint32_t first, uint32_t next, uint32_t loop)
{
	const struct adsm_ptx_shape *shape = affine->shape;
	const uint32_t before = shape->block_of[first];

	return loop != ADSM_PTX_NO_LOOP && !adsm_ptx_in_loop(shape, loop, before) &&
	       shape->loop_of[before] == shape->loops[loop].outer &&
	       adsm_ptx_is_above(&shape->before, before, shape->loops[loop].header) &&
	       adsm_ptx_is_in_each_turn(shape, loop, shape->block_of[next]) &&
	       affine->kernel->instructions[first].guard.kind == ADSM_PTX_OP_NONE &&
	       affine->kernel->instructions[next].guard.kind == ADSM_PTX_OP_NONE;
}

/* The value of such a register: first + step * turn. */
static bool of_counter(struct adsm_ptx_affine *affine, uint32_t reg, uint32_t at, struct adsm_ptx_poly *ret)
{
	const struct adsm_ptx_shape *shape = affine->shape;
	const uint32_t first = affine->setters[reg].at[0], next = affine->setters[reg].at[1];
	const uint32_t loop = shape->loop_of[shape->block_of[next]];
	struct adsm_ptx_poly turn, step, begin;
	uint32_t atom;

	if (!is_counter(affine, first, next, loop))
		return false;
	/* Before the loop. */
	if (!adsm_ptx_in_loop(shape, loop, shape->block_of[at]))
		return adsm_ptx_is_above(&shape->before, shape->block_of[at], shape->loops[loop].header) &&
		       adsm_ptx_affine_is_known_at(affine, first, at) && of_result(affine, first, ret);
	if (!adsm_ptx_affine_loop(affine, loop, &atom) || !find_step(affine, reg, next, atom, &step) ||
	    !of_result(affine, first, &begin) || adsm_ptx_poly_has(&begin, ADSM_PTX_ATOM_SELF))
		return false;
	adsm_ptx_poly_atom(atom, &turn);
	if (!adsm_ptx_poly_multiply(&turn, &step, &turn) || !adsm_ptx_poly_add(&begin, 1, &turn, ret))
		return false;
	if (is_before(affine, next, at))
		return adsm_ptx_poly_add(ret, 1, &step, ret);
	return shape->block_of[at] == shape->block_of[next] ? at <= next :
	       !adsm_ptx_shape_leads(shape, loop, shape->block_of[next], shape->block_of[at]);
}

/* Has a value that was computed in a loop this value at @at, too? */
static bool leaves_no_loop(const struct adsm_ptx_affine *affine, uint32_t at, const struct adsm_ptx_poly *value)
{
	for (uint32_t i = 0; i < affine->n_loops; i++) {
		if (!adsm_ptx_in_loop(affine->shape, affine->loops[i], affine->shape->block_of[at]) &&
		    adsm_ptx_poly_has(value, ADSM_PTX_ATOM_LOOP + i))
			return false;
	}
	return true;
}

static bool of_setter(struct adsm_ptx_affine *affine, uint32_t reg, uint32_t at, struct adsm_ptx_poly *ret)
{
	const struct adsm_ptx_setters *setters = &affine->setters[reg];

	if (setters->n == 1)
		return adsm_ptx_affine_is_known_at(affine, setters->at[0], at) &&
		       of_result(affine, setters->at[0], ret);
	if (setters->n != 2)
		return false;
	/* The step of a counter reads the counter before it sets it. */
	if (reg == affine->self) {
		const uint32_t loop = affine->shape->loop_of[affine->shape->block_of[setters->at[1]]];

		if (!adsm_ptx_in_loop(affine->shape, loop, affine->shape->block_of[at]) ||
		    !(at == setters->at[1] || is_before(affine, at, setters->at[1])))
			return false;
		adsm_ptx_poly_atom(ADSM_PTX_ATOM_SELF, ret);
		return true;
	}
	return of_counter(affine, reg, at, ret);
}

static bool of_register(struct adsm_ptx_affine *affine, uint32_t reg, uint32_t at, struct adsm_ptx_poly *ret)
{
	bool found;

	if (affine->depth == MOST_DEPTH || affine->work++ >= MOST_WORK)
		return false;
	affine->depth++;
	found = of_setter(affine, reg, at, ret);
	affine->depth--;
	return found && leaves_no_loop(affine, at, ret);
}
