/* SPDX-License-Identifier: MIT */
/* linear.c - see linear.h. */
#include "linear.h"

#include <errno.h>
#include <stdlib.h>

#define RECIPE_MAX 48			/* instructions: they run twice for each row */

/* How a register depends on tid.x: in another way; not at all; linearly. */
enum shape { UNKNOWN, VARIES, UNIFORM, AFFINE };

static enum shape shape_of(struct adsm_ptx_linear *linear, uint32_t reg);

static enum shape special_shape(const struct adsm_ptx_operand *operand)
{
	switch (operand->special) {
	case ADSM_PTX_SPECIAL_tid:
		return operand->component == 0 ? AFFINE : UNIFORM;
	case ADSM_PTX_SPECIAL_laneid:
	case ADSM_PTX_SPECIAL_warpid:
	case ADSM_PTX_SPECIAL_lanemask_eq:
	case ADSM_PTX_SPECIAL_lanemask_le:
	case ADSM_PTX_SPECIAL_lanemask_lt:
	case ADSM_PTX_SPECIAL_lanemask_ge:
	case ADSM_PTX_SPECIAL_lanemask_gt:
		return VARIES;
	default:
		return UNIFORM;
	}
}

static enum shape operand_shape(struct adsm_ptx_linear *linear, const struct adsm_ptx_operand *operand)
{
	switch (operand->kind) {
	case ADSM_PTX_OP_REGISTER:
		return shape_of(linear, operand->reg);
	case ADSM_PTX_OP_SPECIAL:
		return special_shape(operand);
	case ADSM_PTX_OP_INTEGER:
	case ADSM_PTX_OP_F32:
	case ADSM_PTX_OP_F64:
	case ADSM_PTX_OP_FUNCTION:
		return UNIFORM;
	case ADSM_PTX_OP_VARIABLE:
		return operand->variable->space == ADSM_PTX_LOCAL ? VARIES : UNIFORM;
	case ADSM_PTX_OP_MEMORY:
		/* A recipe loads from parameters only. */
		return UNIFORM;
	default:
		return VARIES;
	}
}

static bool is_word(enum adsm_ptx_type type)
{
	return adsm_ptx_size(type) == 4 || adsm_ptx_size(type) == 8;
}

/* The shape of a sum. */
static enum shape sum(enum shape a, enum shape b)
{
	return a == VARIES || b == VARIES ? VARIES : a == AFFINE || b == AFFINE ? AFFINE : UNIFORM;
}

static enum shape product(enum shape a, enum shape b)
{
	return a == AFFINE && b == AFFINE ? VARIES : sum(a, b);
}

/* The shape of a result, one of whose operands is linear. */
static enum shape linear_shape(const struct adsm_ptx_instruction *instruction, const enum shape *operands)
{
	const enum adsm_ptx_type type = adsm_ptx_type_of(instruction);

	if (adsm_ptx_is_float(type) || !is_word(type) || adsm_ptx_has(instruction, "sat"))
		return VARIES;
	if (adsm_ptx_is(instruction, "mov") || adsm_ptx_is(instruction, "cvta") || adsm_ptx_is(instruction, "neg"))
		return operands[1];
	if (adsm_ptx_is(instruction, "add") || adsm_ptx_is(instruction, "sub"))
		return sum(operands[1], operands[2]);
	if (adsm_ptx_is(instruction, "or") && adsm_ptx_size(type) == 4)
		return operands[1] == AFFINE && operands[2] == AFFINE ? VARIES : sum(operands[1], operands[2]);
	if (adsm_ptx_is(instruction, "shl"))
		return operands[2] == UNIFORM ? operands[1] : VARIES;
	if (adsm_ptx_is(instruction, "mul") && adsm_ptx_has(instruction, "lo"))
		return product(operands[1], operands[2]);
	if (adsm_ptx_is(instruction, "mad") && adsm_ptx_has(instruction, "lo"))
		return sum(product(operands[1], operands[2]), operands[3]);
	/* A conversion to 32 bits keeps the low bits. */
	if (adsm_ptx_is(instruction, "cvt") && instruction->n_types == 2 && adsm_ptx_size(instruction->types[0]) == 4 &&
	    !adsm_ptx_is_float(instruction->types[0]))
		return operands[1];
	return VARIES;
}

static enum shape find_shape(struct adsm_ptx_linear *linear, uint32_t reg)
{
	enum shape operands[ADSM_PTX_OPERANDS] = { UNKNOWN };
	const struct adsm_ptx_instruction *by;
	enum shape all = UNIFORM;

	const struct adsm_ptx_recipe *recipe = adsm_ptx_recipe_find(&linear->recipes, reg);

	if (!recipe)
		return VARIES;
	/* The value when the part begins is the same in all threads, and so is what comes of it. */
	if (!recipe->n || (linear->recipes.part && adsm_ptx_bit(linear->recipes.part->common, reg)))
		return UNIFORM;
	by = recipe->instructions[recipe->n - 1];
	for (uint32_t i = 1; i < by->n; i++) {
		operands[i] = operand_shape(linear, &by->operands[i]);
		all = sum(all, operands[i]);
	}
	return all == AFFINE ? linear_shape(by, operands) : all;
}

static enum shape shape_of(struct adsm_ptx_linear *linear, uint32_t reg)
{
	if (linear->shapes[reg] == UNKNOWN)
		linear->shapes[reg] = (uint8_t)find_shape(linear, reg);
	return linear->shapes[reg];
}

enum adsm_ptx_type adsm_ptx_widens(const struct adsm_ptx_instruction *instruction)
{
	enum adsm_ptx_type type = ADSM_PTX_NO_TYPE;

	if (instruction->operands[0].kind != ADSM_PTX_OP_REGISTER ||
	    instruction->operands[1].kind != ADSM_PTX_OP_REGISTER || adsm_ptx_has(instruction, "sat"))
		return ADSM_PTX_NO_TYPE;
	if ((adsm_ptx_is(instruction, "mul") || adsm_ptx_is(instruction, "mad")) && adsm_ptx_has(instruction, "wide"))
		type = adsm_ptx_type_of(instruction);
	else if (adsm_ptx_is(instruction, "cvt") && instruction->n_types == 2 &&
		 adsm_ptx_size(instruction->types[0]) == 8 && !adsm_ptx_is_float(instruction->types[0]))
		type = instruction->types[1];
	return type == ADSM_PTX_s32 || type == ADSM_PTX_u32 ? type : ADSM_PTX_NO_TYPE;
}

/* Number an index, and note what it needs to be linear. */
static void add_index(struct adsm_ptx_linear *linear, uint32_t reg, bool is_unsigned)
{
	const struct adsm_ptx_recipe *recipe = adsm_ptx_recipe_find(&linear->recipes, reg);
	uint32_t *index = &linear->indices[is_unsigned][reg];

	if (*index)
		return;
	*index = ++linear->n_indices;
	for (uint32_t i = 0; i < recipe->n; i++) {
		const struct adsm_ptx_instruction *by = recipe->instructions[i];
		uint32_t j = 0;

		if (!adsm_ptx_is(by, "or") || shape_of(linear, by->operands[0].reg) != AFFINE)
			continue;
		while (j < linear->n_ors && linear->ors[j] != by)
			j++;
		if (j == linear->n_ors)
			linear->ors[linear->n_ors++] = by;
	}
}

bool adsm_ptx_is_linear(struct adsm_ptx_linear *linear, const struct adsm_ptx_operand *operand)
{
	return operand_shape(linear, operand) == AFFINE;
}

bool adsm_ptx_is_index(struct adsm_ptx_linear *linear, const struct adsm_ptx_operand *operand)
{
	return operand->kind == ADSM_PTX_OP_REGISTER && shape_of(linear, operand->reg) == AFFINE &&
	       adsm_ptx_size(linear->recipes.function->registers[operand->reg].type) == 4;
}

/* ---- limits */

bool adsm_ptx_limit_order(const struct adsm_ptx_instruction *by, bool wanted, bool *ret_swap, bool *ret_or_equal)
{
	static const char *const names[] = { "lt", "lo", "le", "ls", "gt", "hi", "ge", "hs" };

	for (uint32_t i = 0; i < 8; i++) {
		if (!adsm_ptx_has(by, names[i]))
			continue;
		/* Not less is greater or equal. */
		*ret_swap = (i >= 4) == wanted;
		*ret_or_equal = (i / 2 % 2 == 1) == wanted;
		return true;
	}
	return false;
}

static bool compares_indices(struct adsm_ptx_linear *linear, const struct adsm_ptx_instruction *by)
{
	const enum adsm_ptx_type type = adsm_ptx_type_of(by);
	bool swap, or_equal;

	if (!adsm_ptx_is(by, "setp") || by->n < 3 || (type != ADSM_PTX_s32 && type != ADSM_PTX_u32) ||
	    !adsm_ptx_limit_order(by, true, &swap, &or_equal))
		return false;
	for (uint32_t i = 1; i < 3; i++) {
		if (!adsm_ptx_is_index(linear, &by->operands[i]) && operand_shape(linear, &by->operands[i]) != UNIFORM)
			return false;
	}
	return true;
}

static void add_indices(struct adsm_ptx_linear *linear, const struct adsm_ptx_instruction *by)
{
	for (uint32_t i = 1; i < 3; i++) {
		if (adsm_ptx_is_index(linear, &by->operands[i]))
			add_index(linear, by->operands[i].reg, adsm_ptx_type_of(by) == ADSM_PTX_u32);
	}
}

static bool limit_by_predicate(struct adsm_ptx_linear *linear, const struct adsm_ptx_operand *predicate, bool wanted,
			       bool add, uint32_t depth);

/* A comparison, without what it is combined with. */
static bool limit_by_comparison(struct adsm_ptx_linear *linear, const struct adsm_ptx_instruction *by, bool wanted,
				bool add)
{
	if (!compares_indices(linear, by))
		return false;
	if (!add)
		return true;
	add_indices(linear, by);
	if (linear->n_limits < ADSM_PTX_LIMITS)
		linear->limits[linear->n_limits++] = (struct adsm_ptx_limit){ .by = by, .wanted = wanted };
	return true;
}

/*
 * Is the condition that a predicate has a value a conjunction of limits? @add: note these. Otherwise nothing changes.
 * More limits than there is room for leave threads in, so their branches must stay: the caller checks that.
 */
static bool limit_by_predicate(struct adsm_ptx_linear *linear, const struct adsm_ptx_operand *predicate, bool wanted,
			       bool add, uint32_t depth)
{
	const struct adsm_ptx_instruction *by;
	bool both;

	if (predicate->kind != ADSM_PTX_OP_REGISTER || depth > 8 ||
	    !adsm_ptx_recipe_find(&linear->recipes, predicate->reg))
		return false;
	wanted ^= predicate->negated;
	if (shape_of(linear, predicate->reg) == UNIFORM) {
		if (add && linear->n_limits < ADSM_PTX_LIMITS)
			linear->limits[linear->n_limits++] = (struct adsm_ptx_limit){
				.predicate = predicate->reg, .wanted = wanted };
		return true;
	}
	by = linear->recipes.definitions[predicate->reg].by;
	both = adsm_ptx_has(by, "and") || adsm_ptx_is(by, "and") ? wanted :
	       adsm_ptx_has(by, "or") || adsm_ptx_is(by, "or") ? !wanted : false;
	if (adsm_ptx_is(by, "setp") && by->n == 4)
		return both && limit_by_comparison(linear, by, wanted, add) &&
		       limit_by_predicate(linear, &by->operands[3], wanted, add, depth + 1);
	if (adsm_ptx_is(by, "setp"))
		return limit_by_comparison(linear, by, wanted, add);
	if (adsm_ptx_is(by, "not"))
		return limit_by_predicate(linear, &by->operands[1], !wanted, add, depth + 1);
	return both && by->n == 3 && limit_by_predicate(linear, &by->operands[1], wanted, add, depth + 1) &&
	       limit_by_predicate(linear, &by->operands[2], wanted, add, depth + 1);
}

/* Does a thread that comes to a block end without having done anything? */
bool adsm_ptx_only_leaves(const struct adsm_ptx_block *block)
{
	return !block->n && block->end == ADSM_PTX_LEAVE && (!block->by || block->by->guard.kind == ADSM_PTX_OP_NONE);
}

/* Do the instructions of a block write registers only? */
static bool is_silent(const struct adsm_ptx_function *function, const struct adsm_ptx_block *block)
{
	for (uint32_t i = 0; i < block->n; i++) {
		const struct adsm_ptx_instruction *instruction = &function->instructions[block->first + i];

		if (!adsm_ptx_is_pure(function, instruction))
			return false;
	}
	return true;
}

/* From the kernel's start on: branches that end a thread. */
static void find_limits(struct adsm_ptx_linear *linear, const struct adsm_ptx_blocks *blocks)
{
	uint32_t index = 0;

	for (uint32_t turns = 0; turns < 16; turns++) {
		const struct adsm_ptx_block *block = &blocks->blocks[index];
		const bool guarded = block->by && block->by->guard.kind != ADSM_PTX_OP_NONE;
		struct adsm_ptx_operand condition;
		bool leaves;

		if (block->end != ADSM_PTX_GOTO || !is_silent(blocks->function, block))
			return;
		if (guarded) {
			const uint32_t before = linear->n_limits;

			condition = block->by->guard;
			leaves = adsm_ptx_only_leaves(&blocks->blocks[block->next[0]]);
			if (!leaves && !adsm_ptx_only_leaves(&blocks->blocks[block->next[block->n_next - 1]]))
				return;
			if (!limit_by_predicate(linear, &condition, !leaves, false, 0) || before > ADSM_PTX_LIMITS / 2)
				return;
			limit_by_predicate(linear, &condition, !leaves, true, 0);
			if (linear->n_limits == ADSM_PTX_LIMITS) {
				linear->n_limits = before;
				return;
			}
			adsm_ptx_set_bit(linear->decided, index);
			index = block->next[leaves ? block->n_next - 1 : 0];
		} else {
			index = block->next[0];
		}
	}
}

/* Comparisons that are not limits. */
static void find_splits(struct adsm_ptx_linear *linear, const struct adsm_ptx_function *function)
{
	for (uint32_t i = 0; i < function->n && linear->n_limits + linear->n_splits < ADSM_PTX_LIMITS; i++) {
		const struct adsm_ptx_instruction *by = &function->instructions[i];
		uint32_t j = 0;

		if (!adsm_ptx_is(by, "setp") || by->n != 3 || by->operands[0].kind != ADSM_PTX_OP_REGISTER ||
		    !adsm_ptx_recipe_find(&linear->recipes, by->operands[0].reg) || !compares_indices(linear, by) ||
		    shape_of(linear, by->operands[0].reg) == UNIFORM)
			continue;
		while (j < linear->n_limits && linear->limits[j].by != by)
			j++;
		if (j < linear->n_limits)
			continue;
		add_indices(linear, by);
		linear->limits[linear->n_limits + linear->n_splits++] = (struct adsm_ptx_limit){
			.by = by, .predicate = by->operands[0].reg, .wanted = true };
	}
}

int adsm_ptx_linear_find(const struct adsm_ptx_blocks *blocks, const struct adsm_ptx_part *part,
			 struct adsm_ptx_linear *ret_linear)
{
	const struct adsm_ptx_function *function = blocks->function;
	const size_t n = (size_t)function->n_registers + 1;
	struct adsm_ptx_linear linear = { .n_indices = 0 };
	int error = adsm_ptx_recipes_init(&linear.recipes, function, RECIPE_MAX, part);

	linear.shapes = calloc(n, 1);
	linear.indices[0] = calloc(n, 2 * sizeof(*linear.indices[0]));
	linear.indices[1] = linear.indices[0] + n;
	linear.ors = calloc((size_t)function->n + 1, sizeof(*linear.ors));
	linear.needed = calloc(n, 1);
	linear.list = calloc(n, sizeof(*linear.list));
	linear.decided = calloc(blocks->n / 64 + 1, sizeof(*linear.decided));
	if (!linear.shapes || !linear.indices[0] || !linear.ors || !linear.needed || !linear.list || !linear.decided)
		error = -ENOMEM;
	for (uint32_t i = 0; !error && i < function->n; i++) {
		const struct adsm_ptx_instruction *instruction = &function->instructions[i];
		const enum adsm_ptx_type type = adsm_ptx_widens(instruction);

		if (type != ADSM_PTX_NO_TYPE && adsm_ptx_is_index(&linear, &instruction->operands[1]))
			add_index(&linear, instruction->operands[1].reg, type == ADSM_PTX_u32);
	}
	if (!error && !blocks->n_yields)
		find_limits(&linear, blocks);
	if (!error)
		find_splits(&linear, function);
	if (error || linear.recipes.failed) {
		adsm_ptx_linear_destroy(&linear);
		return -ENOMEM;
	}
	*ret_linear = linear;
	return 0;
}

void adsm_ptx_linear_destroy(struct adsm_ptx_linear *linear)
{
	adsm_ptx_recipes_destroy(&linear->recipes);
	free(linear->shapes);
	free(linear->indices[0]);
	free(linear->ors);
	free(linear->needed);
	free(linear->list);
	free(linear->decided);
	*linear = (struct adsm_ptx_linear){ .n_indices = 0 };
}
