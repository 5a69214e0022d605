/* SPDX-License-Identifier: MIT */
/* check.c - see check.h. The functions that check are in runtime_check.h. */
#include "check.h"

#include "ptx/access/flow.h"

#include <stdlib.h>

struct adsm_ptx_check {
	struct adsm_ptx_places places;
	bool is_known;			/* where values come from */
};

void adsm_ptx_check_start(struct adsm_ptx_writer *writer)
{
	struct adsm_ptx_check *check;

	/* In other functions addresses come from several kernels. */
	if (!writer->checks || !writer->function->is_entry)
		return;
	check = calloc(1, sizeof(*check));
	if (!check)
		adsm_ptx_refuse(writer, "there is no memory");
	writer->check = check;
	if (adsm_ptx_places_init(&check->places, writer->module, writer->function))
		adsm_ptx_refuse(writer, "there is no memory");
	check->is_known = adsm_ptx_flow(&check->places);
}

void adsm_ptx_check_end(struct adsm_ptx_writer *writer)
{
	if (!writer->check)
		return;
	adsm_ptx_places_finish(&writer->check->places);
	free(writer->check);
	writer->check = NULL;
}

/* The only source of an address: an enum adsm_ptx_origin, or more than it for slots. NONE: it is not known. */
#define NONE UINT32_MAX

static uint32_t find_origin(struct adsm_ptx_writer *writer, const struct adsm_ptx_operand *operand,
			    enum adsm_ptx_space space)
{
	const struct adsm_ptx_check *check = writer->check;
	struct adsm_ptx_target target;
	uint32_t found = NONE, n = 0;

	if (!check || !check->is_known)
		return NONE;
	adsm_ptx_target(&check->places, adsm_ptx_reached_of(&check->places, writer->function), operand, space, &target);
	if (target.variable)
		return target.space == ADSM_PTX_SHARED ? ADSM_PTX_FROM_SHARED : NONE;
	for (uint32_t i = 0; i < ADSM_PTX_FROM_SLOT + ADSM_PTX_SLOTS; i++) {
		if (!adsm_ptx_from(target.value.whole, i))
			continue;
		n++;
		found = i;
	}
	return n == 1 ? found : NONE;
}

/* Append the value of the parameter that an address is made of; 0: it is not one of one parameter. */
static void print_origin(struct adsm_ptx_writer *writer, uint32_t origin)
{
	const struct adsm_ptx_function *function = writer->function;
	uint32_t slot = origin - ADSM_PTX_FROM_SLOT, param = 0;

	if (origin == NONE || origin < ADSM_PTX_FROM_SLOT) {
		adsm_ptx_print(writer, "0");
		return;
	}
	while (param + 1 < function->n_params && writer->check->places.first_slot[param + 1] <= slot)
		param++;
	slot -= writer->check->places.first_slot[param];
	if (8 * (uint64_t)slot + 8 > function->params[param].size)
		adsm_ptx_print(writer, "0");
	else
		adsm_ptx_print(writer, "ptx_value(a%u + %u)", param, 8 * slot);
}

static void write_access(struct adsm_ptx_writer *writer, const struct adsm_ptx_instruction *instruction,
			 const struct adsm_ptx_operand *operand, enum adsm_ptx_space space, uint32_t size, uint32_t n,
			 const char *what)
{
	const struct adsm_ptx_operand *base = operand ? operand->elements : NULL;
	uint32_t origin;

	if (!base || operand->kind != ADSM_PTX_OP_MEMORY)
		return;
	if (base->kind == ADSM_PTX_OP_VARIABLE)
		space = base->variable->space;
	if (space != ADSM_PTX_GENERIC && space != ADSM_PTX_GLOBAL && space != ADSM_PTX_SHARED)
		return;
	origin = find_origin(writer, operand, space);
	adsm_ptx_print(writer, "ptx_check_%s(k, t, ",
		       space == ADSM_PTX_SHARED || origin == ADSM_PTX_FROM_SHARED ? "shared" :
		       space == ADSM_PTX_GLOBAL ? "global" : "generic");
	adsm_ptx_address(writer, operand, space);
	adsm_ptx_print(writer, ", %u, %u, %s, ", size, n, what);
	print_origin(writer, origin);
	adsm_ptx_print(writer, ", ");
	adsm_ptx_print_place(writer, instruction);
	adsm_ptx_print(writer, "); ");
}

void adsm_ptx_write_check(struct adsm_ptx_writer *writer, const struct adsm_ptx_instruction *instruction)
{
	const struct adsm_ptx_operand *address = adsm_ptx_address_of(instruction);
	const uint32_t size = adsm_ptx_size(adsm_ptx_type_of(instruction));
	const uint32_t n = instruction->vector ? instruction->vector : 1;

	if (!writer->checks)
		return;
	switch (adsm_ptx_action(instruction)) {
	case ADSM_PTX_LOAD:
		write_access(writer, instruction, address, instruction->space, size, n, "PTX_LOAD");
		break;
	case ADSM_PTX_STORE:
		write_access(writer, instruction, address, instruction->space, size, n, "PTX_STORE");
		break;
	case ADSM_PTX_ATOMIC:
		/* What an exchange reads is mostly not needed. */
		write_access(writer, instruction, address, instruction->space, size, n,
			     adsm_ptx_has(instruction, "exch") ? "PTX_STORE" : "PTX_ATOMIC");
		break;
	case ADSM_PTX_COPY:
		if (instruction->n < 3 || instruction->operands[2].kind != ADSM_PTX_OP_INTEGER)
			break;
		write_access(writer, instruction, &instruction->operands[1], ADSM_PTX_GLOBAL, 1,
			     (uint32_t)instruction->operands[2].bits, "PTX_LOAD");
		write_access(writer, instruction, &instruction->operands[0], ADSM_PTX_SHARED, 1,
			     (uint32_t)instruction->operands[2].bits, "PTX_STORE");
		break;
	default:
		break;
	}
}
