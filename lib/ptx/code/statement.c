/* SPDX-License-Identifier: MIT */
/* statement.c - finds the form of an instruction among those of all files. */
#include "list.h"

#include <stdio.h>
#include <string.h>

/* How control flows (body.c). */
const struct adsm_ptx_form adsm_ptx_control_forms[] = {
	{ "bra", "?uni", "", 0, NULL, NULL },
	{ "brx", "idx ?uni", "", 0, NULL, NULL },
	{ "ret", "?uni", "", 0, NULL, NULL },
	{ "exit", "", "", 0, NULL, NULL },
	{ NULL, NULL, NULL, 0, NULL, NULL },
};

static const struct adsm_ptx_form *const tables[] = {
	adsm_ptx_integer_forms, adsm_ptx_bits_forms, adsm_ptx_float_forms, adsm_ptx_half_forms,
	adsm_ptx_compare_forms, adsm_ptx_convert_forms, adsm_ptx_move_forms, adsm_ptx_memory_forms,
	adsm_ptx_atomic_forms, adsm_ptx_tex_forms, adsm_ptx_call_forms, adsm_ptx_yield_forms, adsm_ptx_control_forms,
};

const struct adsm_ptx_form *adsm_ptx_table(size_t i)
{
	return i < sizeof(tables) / sizeof(*tables) ? tables[i] : NULL;
}

static _Noreturn void refuse(struct adsm_ptx_writer *writer, const struct adsm_ptx_instruction *instruction)
{
	char name[128], list[320] = "";
	size_t used = 0;

	adsm_ptx_full_name(instruction, name, sizeof(name));
	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
		for (const struct adsm_ptx_form *form = tables[i]; form->opcode && used + 3 < sizeof(list); form++) {
			if (strcmp(form->opcode, instruction->opcode) != 0)
				continue;
			if (used)
				used += (size_t)snprintf(list + used, sizeof(list) - used, ", ");
			used += adsm_ptx_describe_form(form, list + used, sizeof(list) - used);
		}
	}
	if (!used)
		adsm_ptx_refuse(writer, "%s is not supported", name);
	adsm_ptx_refuse(writer, "%s is not supported; these forms are: %s", name, list);
}

const struct adsm_ptx_form *adsm_ptx_find_form(struct adsm_ptx_writer *writer,
					       const struct adsm_ptx_instruction *instruction)
{
	writer->instruction = instruction;
	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++)
		for (const struct adsm_ptx_form *form = tables[i]; form->opcode; form++)
			if (adsm_ptx_form_fits(form, instruction))
				return form;
	refuse(writer, instruction);
}

void adsm_ptx_statement(struct adsm_ptx_writer *writer, const struct adsm_ptx_instruction *instruction)
{
	adsm_ptx_write_form(writer, adsm_ptx_find_form(writer, instruction), instruction);
	adsm_ptx_print(writer, "\n");
}
