/* SPDX-License-Identifier: MIT */
/* textures.c - reads of textures of all kinds, with all treatments of edges, by counting elements one by one. */
#include "forms.h"

#include "adsm_texture.h"
#include "ptx/runtime/texture.h"

#include <stddef.h>
#include <stdlib.h>

/* The public structure is the one that the code of kernels reads. */
#define SAME(field) _Static_assert(offsetof(adsmTexture, field) == offsetof(struct ptx_texture, field) && \
	sizeof(((adsmTexture *)0)->field) == sizeof(((struct ptx_texture *)0)->field), #field)
SAME(data);
SAME(pitch);
SAME(slice);
SAME(size);
SAME(layers);
SAME(bits);
SAME(channels);
SAME(kind);
SAME(normalized);
SAME(linear);
SAME(to_float);
SAME(edges);
SAME(border);
_Static_assert((int)ADSM_TEXTURE_WRAP == PTX_WRAP && (int)ADSM_TEXTURE_CLAMP == PTX_CLAMP &&
	       (int)ADSM_TEXTURE_MIRROR == PTX_MIRROR && (int)ADSM_TEXTURE_BORDER == PTX_BORDER, "edges");
_Static_assert((int)ADSM_TEXTURE_SIGNED == PTX_SIGNED && (int)ADSM_TEXTURE_UNSIGNED == PTX_UNSIGNED &&
	       (int)ADSM_TEXTURE_FLOAT == PTX_FLOATING, "kinds");

#define WIDTH 7
#define HEIGHT 5
#define DEPTH 3
#define TEXTURES 64

static struct ptx_texture numbers[TEXTURES], integers[TEXTURES];
static uint8_t elements[TEXTURES * 2][DEPTH][HEIGHT + 1][16 * WIDTH] __attribute__((aligned(16)));

static void make(struct ptx_texture *texture, int i, bool is_number)
{
	static const struct { uint8_t bits, channels, kind, to_float; } formats[] = {
		{ 32, 1, PTX_FLOATING, 0 }, { 32, 4, PTX_FLOATING, 0 }, { 16, 2, PTX_FLOATING, 0 },
			{ 8, 4, PTX_UNSIGNED, 1 },
		{ 8, 1, PTX_SIGNED, 1 }, { 16, 1, PTX_UNSIGNED, 1 }, { 16, 4, PTX_SIGNED, 1 },
			{ 32, 2, PTX_FLOATING, 0 },
		{ 8, 1, PTX_SIGNED, 0 }, { 8, 4, PTX_UNSIGNED, 0 }, { 16, 2, PTX_SIGNED, 0 },
			{ 16, 1, PTX_UNSIGNED, 0 },
		{ 32, 1, PTX_SIGNED, 0 }, { 32, 4, PTX_UNSIGNED, 0 }, { 32, 2, PTX_SIGNED, 0 }, { 8, 2, PTX_SIGNED, 0 },
	};
	const int format = i % 8 + (is_number ? 0 : 8);
	uint8_t *bytes = &elements[i + (is_number ? 0 : TEXTURES)][0][0][0];

	*texture = (struct ptx_texture){
		.data = (uint64_t)(uintptr_t)bytes, .pitch = sizeof(elements[0][0][0]), .slice = sizeof(elements[0][0]),
		.size = { WIDTH, HEIGHT, DEPTH }, .layers = DEPTH, .bits = formats[format].bits,
		.channels = formats[format].channels, .kind = formats[format].kind,
			.to_float = formats[format].to_float,
		.normalized = i / 8 & 1, .linear = is_number && i / 16 & 1,
		/* All treatments of edges, each with both of these. */
		.edges = { (uint8_t)(i / 32 + 2 * (i & 1)), (uint8_t)(i / 32 * 2 + (i / 2 & 1)), (uint8_t)(i / 4 % 4) },
		.border = { 0.25f, -0.5f, 0.75f, 1.0f },
	};
	for (size_t j = 0; j < sizeof(elements[0]); j += 4) {
		const uint32_t random = (uint32_t)(j * 2654435761u + (uint32_t)i * 40503u) * 2246822519u;
		const uint32_t single = (uint32_t)f32_bits((float)(random >> 8) * 0x1p-23f - 1);
		/* f16 between -2 and 2. */
		const uint32_t pair = random & 0xbfffbfff;

		memcpy(bytes + j, texture->kind != PTX_FLOATING ? &random : texture->bits == 32 ? &single : &pair, 4);
	}
}

uint64_t texture_value(char kind, uint64_t random)
{
	return (uint64_t)(uintptr_t)&(kind == 'T' ? numbers : integers)[random % TEXTURES];
}

/* An element's channel as a number: of integers that stay integers, the integer. */
static double channel(const struct ptx_texture *texture, uint32_t layer, const int *index, int c)
{
	const uint8_t *at = (const uint8_t *)(uintptr_t)texture->data + texture->slice * (layer + (uint32_t)index[2]) +
			    texture->pitch * (uint32_t)index[1] +
			    texture->bits / 8u * (texture->channels * (uint32_t)index[0] + (uint32_t)c);
	uint32_t bits = 0;
	int64_t value;

	if (c >= texture->channels)
		return 0;
	memcpy(&bits, at, texture->bits / 8u);
	if (texture->kind == PTX_FLOATING)
		return texture->bits == 32 ? (double)bits_f32(bits) : half_value('h', bits);
	value = (int64_t)bits;
	if (texture->kind == PTX_SIGNED && bits >> (texture->bits - 1))
		value -= (int64_t)1 << texture->bits;
	if (!texture->to_float)
		return (double)value;
	if (texture->kind == PTX_UNSIGNED)
		return (double)value / (texture->bits == 8 ? 255 : 65535);
	return fmax((double)value / (texture->bits == 8 ? 127 : 32767), -1);
}

/* Walk to the inside. Returns whether it is the border. */
static bool walk(const struct ptx_texture *texture, int dimension, int *index)
{
	const int size = (int)texture->size[dimension];
	const int edges = texture->edges[dimension];

	if (edges == PTX_BORDER)
		return *index < 0 || *index >= size;
	while (*index < 0 || *index >= size) {
		if (edges == PTX_CLAMP || !texture->normalized)
			*index = *index < 0 ? 0 : size - 1;
		else if (edges == PTX_WRAP)
			*index += *index < 0 ? size : -size;
		else
			*index = *index < 0 ? -1 - *index : 2 * size - 1 - *index;
	}
	return false;
}

static double element(const struct ptx_texture *texture, uint32_t layer, int dimensions, const int *at, int c)
{
	int index[3] = { 0 };
	bool border = false;

	for (int i = 0; i < dimensions; i++) {
		index[i] = at[i];
		border |= walk(texture, i, &index[i]);
	}
	if (!border)
		return channel(texture, layer, index, c);
	return texture->kind == PTX_FLOATING || texture->to_float ? texture->border[c] :
		(double)f32_bits(texture->border[c]);
}

/* The place in elements, with the precision of f32. */
static float position(const struct ptx_texture *texture, int dimension, float x)
{
	int turns;

	if (!texture->normalized)
		return x;
	turns = (int)floorf(x);
	if (texture->edges[dimension] == PTX_WRAP)
		x -= (float)turns;
	if (texture->edges[dimension] == PTX_MIRROR)
		x = turns % 2 ? (float)(1 - (x - (float)turns)) : x - (float)turns;
	return x * (float)texture->size[dimension];
}

static double between(const struct ptx_texture *texture, uint32_t layer, int dimensions, const float *at, int c)
{
	double sum = 0;

	for (int i = 0; i < 1 << dimensions; i++) {
		int index[3] = { 0 };
		double weight = 1;

		for (int j = 0; j < dimensions; j++) {
			const double low = floor(at[j]), part = rint((at[j] - low) * 256) / 256;

			index[j] = (int)low + (i >> j & 1);
			weight *= i >> j & 1 ? part : 1 - part;
		}
		sum += weight * element(texture, layer, dimensions, index, c);
	}
	return sum;
}

/* Registers: d q r w t, then coordinates. bits: dimensions; flag: a layer is the first coordinate; sat: integers. */
static void read_texture(const struct form *form, uint64_t *v)
{
	const struct ptx_texture *texture = (const struct ptx_texture *)(uintptr_t)v[4];
	const uint64_t *coordinates = &v[5 + form->flag];
	const bool is_number = texture->kind == PTX_FLOATING || texture->to_float;
	uint32_t layer = form->flag ? (uint32_t)v[5] : 0;
	float at[3] = { 0 };
	int index[3] = { 0 };
	bool inside = true;

	layer = layer < DEPTH ? layer : DEPTH - 1;
	for (int i = 0; i < (int)form->bits; i++) {
		if (form->sat) {
			index[i] = (int32_t)coordinates[i];
			inside &= index[i] >= 0 && index[i] < (int)texture->size[i];
			continue;
		}
		at[i] = position(texture, i, bits_f32(coordinates[i])) - (texture->linear ? 0.5f : 0);
		index[i] = (int)floorf(at[i]);
		/* What rounds to the end of a turn belongs to the last element. */
		if (!texture->linear && texture->normalized && index[i] == (int)texture->size[i] &&
		    texture->edges[i] != PTX_BORDER)
			index[i]--;
	}
	for (int c = 0; c < 4; c++) {
		const double value = form->sat && !inside ? 0 : texture->linear && !form->sat ?
				     between(texture, layer, (int)form->bits, at, c) :
				     element(texture, layer, (int)form->bits, index, c);

		v[c] = is_number ? f64_bits(value) : (uint64_t)(int64_t)value;
	}
}

void add_textures(void)
{
	static const struct { const char *name; unsigned dimensions; bool layer; const char *list; } geometries[] = {
		{ "1d", 1, false, "{%x}" }, { "2d", 2, false, "{%x, %y}" }, { "3d", 3, false, "{%x, %y, %z, %z}" },
		{ "a1d", 1, true, "{%l, %x}" }, { "a2d", 2, true, "{%l, %x, %y, %y}" }, { "1d", 1, false, "%x" },
	};
	static const char *const results[] = { "f32", "s32", "u32" };

	for (int i = 0; i < TEXTURES; i++) {
		make(&numbers[i], i, true);
		make(&integers[i], i, false);
	}
	for (int i = 0; i < 6 * 3 * 2; i++) {
		const int geometry = i % 6, result = i / 6 % 3, by_integer = i / 18;
		char registers[160];
		struct form *form;
		const char *out = result ? "b32:i" : "f32:A", *in = by_integer ? "b32:j" : "f32:x";

		snprintf(registers, sizeof(registers), "d:%s q:%s r:%s w:%s t:b64:%c %sx:%s%s%s%s%s", out, out, out,
			 out,
			 result ? 'U' : 'T', geometries[geometry].layer ? "l:b32:j " : "", in,
			 geometries[geometry].dimensions > 1 ? " y:" : "", geometries[geometry].dimensions > 1 ? in :
				"",
			 geometries[geometry].dimensions > 2 ? " z:" : "", geometries[geometry].dimensions > 2 ? in :
				"");
		form = add_form(read_texture, registers, "tex.%s.v4.%s.%s {%%d, %%q, %%r, %%w}, [%%t, %s];",
				geometries[geometry].name, results[result], by_integer ? "s32" : "f32",
				geometries[geometry].list);
		form->bits = geometries[geometry].dimensions;
		form->flag = geometries[geometry].layer;
		form->sat = by_integer;
		add_bound(form, (struct bound)BOUND('a', -19.93, 0));
		form->type = 'T';
	}
}
