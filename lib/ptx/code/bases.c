/* SPDX-License-Identifier: MIT */
/* bases.c - the C text that bases.h describes: the code before a row of threads, and widened indices. */
#include "bases.h"

#include <string.h>

enum { COMPUTED = 1, FROM_START };

struct needed {
	struct adsm_ptx_linear *linear;
	uint8_t *registers;		/* by register: COMPUTED; FROM_START: it has a value when the part begins */
	const struct adsm_ptx_instruction **list;	/* each instruction once, in an order that works */
	uint32_t n;
};

static void need_register(void *arg, uint32_t reg, bool writes)
{
	struct needed *needed = arg;
	const struct adsm_ptx_part *part = needed->linear->recipes.part;

	if (!writes && part && adsm_ptx_bit(part->common, reg))
		needed->registers[reg] = FROM_START;
	else if (!needed->registers[reg])
		needed->registers[reg] = COMPUTED;
}

static void need(struct needed *needed, uint32_t reg)
{
	const struct adsm_ptx_recipe *recipe = &needed->linear->recipes.recipes[reg];

	/* Without a recipe it is the value when the part begins. */
	need_register(needed, reg, recipe->n > 0);
	for (uint32_t i = 0; i < recipe->n; i++) {
		const struct adsm_ptx_instruction *by = recipe->instructions[i];
		uint32_t j = 0;

		while (j < needed->n && needed->list[j] != by)
			j++;
		if (j < needed->n)
			continue;
		needed->list[needed->n++] = by;
		adsm_ptx_each_register(by, need_register, needed);
	}
}

/* Does the text need a limit, or a comparison that divides the row? */
static bool is_used(const struct adsm_ptx_linear *linear, uint32_t i)
{
	const struct adsm_ptx_instruction *by = linear->limits[i].by;
	bool used = i < linear->n_limits || adsm_ptx_bit(linear->named, linear->limits[i].predicate);

	for (uint32_t side = 1; i >= linear->n_limits && side < 3; side++) {
		if (by->operands[side].kind == ADSM_PTX_OP_REGISTER)
			used = used && adsm_ptx_bit(linear->named, by->operands[side].reg);
	}
	return used;
}

/* Append what a limit compares with, or its predicate. */
static void write_limit(struct adsm_ptx_writer *writer, struct adsm_ptx_linear *linear, uint32_t i)
{
	const struct adsm_ptx_limit *limit = &linear->limits[i];

	if (!limit->by) {
		adsm_ptx_print(writer, "\t\tl%ua = r%u != 0;\n", i, limit->predicate);
		return;
	}
	for (uint32_t side = 0; side < 2; side++) {
		const struct adsm_ptx_operand *operand = &limit->by->operands[1 + side];

		if (adsm_ptx_is_index(linear, operand))
			continue;
		adsm_ptx_print(writer, "\t\tl%u%s = ", i, side ? "b" : "a");
		writer->instruction = limit->by;
		adsm_ptx_read(writer, operand, adsm_ptx_type_of(limit->by));
		adsm_ptx_print(writer, ";\n");
	}
}

/* The number of an index, if the code that is written may need it. */
static uint32_t index_number(const struct adsm_ptx_linear *linear, uint32_t reg, bool is_unsigned)
{
	return adsm_ptx_bit(linear->named, reg) ? linear->indices[is_unsigned][reg] : 0;
}

/* Append the linear operand of an or, and, for thread 0, the other one. */
static void write_or(struct adsm_ptx_writer *writer, struct adsm_ptx_linear *linear, uint32_t i, uint32_t x)
{
	const struct adsm_ptx_operand *operands = linear->ors[i]->operands;
	const bool first = adsm_ptx_is_linear(linear, &operands[1]);

	writer->instruction = linear->ors[i];
	adsm_ptx_print(writer, x ? "\t\tx%us = " : "\t\tx%u = ", i + 1);
	adsm_ptx_read(writer, &operands[first ? 1 : 2], ADSM_PTX_b32);
	if (x) {
		adsm_ptx_print(writer, " - x%u;\n", i + 1);
		return;
	}
	adsm_ptx_print(writer, ";\n\t\tx%uu = ", i + 1);
	adsm_ptx_read(writer, &operands[first ? 2 : 1], ADSM_PTX_b32);
	adsm_ptx_print(writer, ";\n");
}

/* Append the code that computes all indices for the thread with tid.x == @x of the row. */
static void write_thread(struct adsm_ptx_writer *writer, const struct needed *needed, uint32_t x)
{
	const struct adsm_ptx_linear *linear = needed->linear;
	const struct adsm_ptx_function *function = writer->function;

	adsm_ptx_print(writer, "\t{\n\t\tconst uint32_t tx __attribute__((unused)) = %u;\n", x);
	for (uint32_t reg = 0; reg < function->n_registers; reg++) {
		const char *type = adsm_ptx_c_register(function->registers[reg].type);

		if (needed->registers[reg] == FROM_START)
			adsm_ptx_print(writer, "\t\t%s r%u = *(const %s *)(u + %u);\n", type, reg, type,
				       linear->offsets[reg]);
		else if (needed->registers[reg])
			adsm_ptx_print(writer, "\t\t%s r%u __attribute__((unused));\n", type, reg);
	}
	for (uint32_t i = 0; i < needed->n; i++) {
		adsm_ptx_print(writer, "\t\t");
		adsm_ptx_statement(writer, needed->list[i]);
	}
	for (uint32_t reg = 0; reg < function->n_registers; reg++) {
		for (uint32_t is_unsigned = 0; is_unsigned < 2; is_unsigned++) {
			const uint32_t index = index_number(linear, reg, is_unsigned);

			if (!index)
				continue;
			if (x)
				adsm_ptx_print(writer, "\t\tw%us = (int32_t)((uint32_t)r%u - (uint32_t)w%u);\n", index,
					       reg, index);
			else
				adsm_ptx_print(writer, "\t\tw%u = (%s)r%u;\n", index,
					       is_unsigned ? "uint32_t" : "int32_t", reg);
		}
	}
	for (uint32_t i = 0; i < linear->n_ors; i++) {
		if (needed->registers[linear->ors[i]->operands[0].reg])
			write_or(writer, needed->linear, i, x);
	}
	for (uint32_t i = 0; !x && i < linear->n_limits + linear->n_splits; i++)
		if (is_used(linear, i))
			write_limit(writer, needed->linear, i);
	adsm_ptx_print(writer, "\t}\n");
}

/* Append one side of a comparison, minus the other one: the value of thread 0 of the row, or the step ("s"). */
static void write_difference(struct adsm_ptx_writer *writer, struct adsm_ptx_linear *linear, uint32_t i, bool swap,
			     const char *suffix)
{
	const struct adsm_ptx_instruction *by = linear->limits[i].by;

	for (uint32_t side = 0; side < 2; side++) {
		const struct adsm_ptx_operand *operand = &by->operands[1 + (side ^ swap)];

		adsm_ptx_print(writer, side ? " - " : "");
		if (adsm_ptx_is_index(linear, operand))
			adsm_ptx_print(writer, "w%u%s",
				       linear->indices[adsm_ptx_type_of(by) == ADSM_PTX_u32][operand->reg], suffix);
		else
			adsm_ptx_print(writer, *suffix ? "0" : "l%u%s", i, side ^ swap ? "b" : "a");
	}
}

void adsm_ptx_write_range(struct adsm_ptx_writer *writer, struct adsm_ptx_linear *linear)
{
	for (uint32_t i = 0; i < linear->n_limits; i++) {
		const struct adsm_ptx_limit *limit = &linear->limits[i];
		bool swap = false, or_equal = false;

		if (!limit->by) {
			adsm_ptx_print(writer, "\tif (l%ua != %u) continue;\n", i, limit->wanted);
			continue;
		}
		adsm_ptx_limit_order(limit->by, limit->wanted, &swap, &or_equal);
		adsm_ptx_print(writer, "\tptx_limit(");
		write_difference(writer, linear, i, swap, "");
		adsm_ptx_print(writer, ", ");
		write_difference(writer, linear, i, swap, "s");
		adsm_ptx_print(writer, ", %u, &from, &to);\n", or_equal);
	}
}

static void need_all(struct needed *needed)
{
	const struct adsm_ptx_linear *linear = needed->linear;

	for (uint32_t reg = 0; reg < linear->recipes.function->n_registers; reg++) {
		if (index_number(linear, reg, false) || index_number(linear, reg, true))
			need(needed, reg);
	}
	for (uint32_t i = 0; i < linear->n_limits + linear->n_splits; i++) {
		const struct adsm_ptx_instruction *by = linear->limits[i].by;

		if (!is_used(linear, i))
			continue;
		if (!by)
			need(needed, linear->limits[i].predicate);
		for (uint32_t side = 1; by && side < 3; side++) {
			if (by->operands[side].kind == ADSM_PTX_OP_REGISTER)
				need(needed, by->operands[side].reg);
		}
	}
}

/* Append the conditions for computing indices in 64 bits. */
static void write_fits(struct adsm_ptx_writer *writer, const struct needed *needed)
{
	const struct adsm_ptx_linear *linear = needed->linear;

	for (uint32_t reg = 0; reg < writer->function->n_registers; reg++) {
		for (uint32_t is_unsigned = 0; is_unsigned < 2; is_unsigned++) {
			const uint32_t index = index_number(linear, reg, is_unsigned);

			if (index)
				adsm_ptx_print(writer, "\tfits &= ptx_fits%s(w%u + w%us * (nx - 1ll));\n",
					       is_unsigned ? "_unsigned" : "", index, index);
		}
	}
	for (uint32_t i = 0; i < linear->n_ors; i++) {
		if (needed->registers[linear->ors[i]->operands[0].reg])
			adsm_ptx_print(writer, "\tfits &= ptx_apart(x%u, x%us, nx, x%uu);\n", i + 1, i + 1, i + 1);
	}
}

void adsm_ptx_write_bases(struct adsm_ptx_writer *writer, struct adsm_ptx_linear *linear)
{
	const size_t n = (size_t)writer->function->n_registers + 1;
	struct needed needed = { .linear = linear, .registers = linear->needed, .list = linear->list };

	memset(linear->needed, 0, n);
	need_all(&needed);
	for (uint32_t i = 1; i <= linear->n_indices; i++)
		adsm_ptx_print(writer, "\tint64_t w%u = 0, w%us = 0;\n", i, i);
	for (uint32_t i = 1; i <= linear->n_ors; i++)
		adsm_ptx_print(writer, "\tuint32_t x%u, x%us, x%uu;\n", i, i, i);
	for (uint32_t i = 0; i < linear->n_limits + linear->n_splits; i++)
		adsm_ptx_print(writer, "\tint64_t l%ua, l%ub;\n", i, i);
	adsm_ptx_print(writer, "\tif (wide) {\n\tint fits = 1;\n");
	write_thread(writer, &needed, 0);
	write_thread(writer, &needed, 1);
	write_fits(writer, &needed);
}

bool adsm_ptx_write_splits(struct adsm_ptx_writer *writer, struct adsm_ptx_linear *linear)
{
	bool any = false;

	for (uint32_t i = linear->n_limits; i < linear->n_limits + linear->n_splits; i++)
		any |= is_used(linear, i);
	if (!any)
		return false;
	adsm_ptx_print(writer, "\tfor (uint32_t begin = from, end; begin < to; begin = end) {\n\tend = to;\n");
	for (uint32_t i = linear->n_limits; i < linear->n_limits + linear->n_splits; i++) {
		bool swap = false, or_equal = false;

		if (!is_used(linear, i))
			continue;
		adsm_ptx_limit_order(linear->limits[i].by, true, &swap, &or_equal);
		adsm_ptx_print(writer, "\tconst uint8_t c%u __attribute__((unused)) = wide ? ptx_split(", i);
		write_difference(writer, linear, i, swap, "");
		adsm_ptx_print(writer, ", ");
		write_difference(writer, linear, i, swap, "s");
		adsm_ptx_print(writer, ", %u, begin, &end) : 0;\n", or_equal);
	}
	return true;
}

/* The number of a comparison that divides the row; ADSM_PTX_LIMITS: it is none. */
static uint32_t split_of(const struct adsm_ptx_linear *linear, const struct adsm_ptx_instruction *instruction)
{
	for (uint32_t i = linear->n_limits; i < linear->n_limits + linear->n_splits; i++) {
		if (linear->limits[i].by == instruction)
			return i;
	}
	return ADSM_PTX_LIMITS;
}

static uint32_t index_of(const struct adsm_ptx_linear *linear, const struct adsm_ptx_instruction *instruction)
{
	const enum adsm_ptx_type type = adsm_ptx_widens(instruction);

	return type == ADSM_PTX_NO_TYPE ? 0 : linear->indices[type == ADSM_PTX_u32][instruction->operands[1].reg];
}

bool adsm_ptx_is_wide(const struct adsm_ptx_linear *linear, const struct adsm_ptx_instruction *instruction)
{
	return index_of(linear, instruction) != 0 || split_of(linear, instruction) != ADSM_PTX_LIMITS;
}

void adsm_ptx_write_wide(struct adsm_ptx_writer *writer, const struct adsm_ptx_linear *linear,
			 const struct adsm_ptx_instruction *instruction)
{
	const struct adsm_ptx_operand *operands = instruction->operands;
	const uint32_t index = index_of(linear, instruction), split = split_of(linear, instruction);

	if (split != ADSM_PTX_LIMITS) {
		adsm_ptx_print(writer, "r%u = c%u;", operands[0].reg, split);
		return;
	}
	adsm_ptx_begin(writer, &operands[0], ADSM_PTX_u64);
	adsm_ptx_print(writer, "(uint64_t)(w%u + w%us * (int64_t)tx)", index, index);
	if (!adsm_ptx_is(instruction, "cvt")) {
		adsm_ptx_print(writer, " * (uint64_t)");
		adsm_ptx_read(writer, &operands[2], adsm_ptx_widens(instruction));
	}
	if (adsm_ptx_is(instruction, "mad")) {
		adsm_ptx_print(writer, " + ");
		adsm_ptx_read(writer, &operands[3], ADSM_PTX_u64);
	}
	adsm_ptx_end(writer, &operands[0], ADSM_PTX_u64);
}
