/* SPDX-License-Identifier: MIT */
/* tex.c - reads of textures. What a texture is: texture.h. */
#include "list.h"

#include <string.h>

/* tex.geometry.v4.type.type {d, ...}, [texture, {coordinates}]. The coordinates of layers begin with the layer. */
static void write_tex(struct adsm_ptx_writer *writer, const struct adsm_ptx_instruction *instruction)
{
	const char *geometry = adsm_ptx_one_of(instruction, "1d|2d|3d|a1d|a2d");
	const bool has_layer = geometry[0] == 'a';
	const uint32_t dimensions = (uint32_t)(geometry[has_layer] - '0');
	const bool is_number = adsm_ptx_type_of(instruction) == ADSM_PTX_f32;
	const struct adsm_ptx_operand *to = &instruction->operands[0], *from = &instruction->operands[1], *coordinates;
	uint32_t n;

	if (instruction->n != 2 || to->kind != ADSM_PTX_OP_VECTOR || to->n != 4 || from->kind != ADSM_PTX_OP_MEMORY ||
	    from->n != 2 || from->elements[0].kind == ADSM_PTX_OP_VARIABLE)
		adsm_ptx_refuse(writer,
				"tex needs four destinations, a register with a texture object, and coordinates");
	coordinates = &from->elements[1];
	n = coordinates->kind == ADSM_PTX_OP_VECTOR ? coordinates->n : 1;
	if (n < dimensions + has_layer)
		adsm_ptx_refuse(writer, "tex.%s needs %u coordinates", geometry, dimensions + has_layer);
	adsm_ptx_print(writer, "{ uint32_t v[4]; ptx_tex_%s(", is_number ? "number" : "integer");
	adsm_ptx_read(writer, &from->elements[0], ADSM_PTX_u64);
	adsm_ptx_print(writer, ", %u, ", dimensions);
	if (has_layer)
		adsm_ptx_read(writer, &coordinates->elements[0], ADSM_PTX_u32);
	else
		adsm_ptx_print(writer, "0");
	for (uint32_t i = 0; i < 3; i++) {
		adsm_ptx_print(writer, ", ");
		if (i < dimensions)
			adsm_ptx_read(writer, coordinates->kind == ADSM_PTX_OP_VECTOR ?
				      &coordinates->elements[i + has_layer] : coordinates,
				      is_number ? ADSM_PTX_f32 : ADSM_PTX_s32);
		else
			adsm_ptx_print(writer, "0");
	}
	adsm_ptx_print(writer, ", v); ");
	for (uint32_t i = 0; i < 4; i++) {
		if (to->elements[i].kind == ADSM_PTX_OP_SINK)
			continue;
		adsm_ptx_begin(writer, &to->elements[i], ADSM_PTX_b32);
		adsm_ptx_print(writer, "v[%u]", i);
		adsm_ptx_end(writer, &to->elements[i], ADSM_PTX_b32);
		adsm_ptx_print(writer, " ");
	}
	adsm_ptx_print(writer, "}");
}

const struct adsm_ptx_form adsm_ptx_tex_forms[] = {
	{ "tex", "1d|2d|3d|a1d|a2d v4", "f32.f32 s32.f32 u32.f32 f32.s32 s32.s32 u32.s32", 0, NULL, write_tex },
	{ NULL, NULL, NULL, 0, NULL, NULL },
};
