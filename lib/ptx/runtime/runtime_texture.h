/* SPDX-License-Identifier: MIT */
/*
 * runtime_texture.h - reads of textures in the C text of modules that are made of PTX, after texture.h and
 * runtime_half.h.
 *
 * Between elements the weights have eight bits after the point, as the CUDA programming guide says.
 */

/* One channel of an element as f32: of integers that stay integers, their bits. */
PTX_RARE uint32_t ptx_channel(const struct ptx_texture *texture, const char *element, uint32_t channel)
{
	const char *at = element + channel * (texture->bits / 8u);
	uint32_t bits;
	int32_t value;

	if (channel >= texture->channels)
		return 0;
	bits = texture->bits == 8 ? *(const uint8_t *)at : texture->bits == 16 ? *(const uint16_t *)at :
	       *(const uint32_t *)at;
	value = texture->bits == 8 ? (int8_t)bits : texture->bits == 16 ? (int16_t)bits : (int32_t)bits;
	if (texture->kind == PTX_FLOATING)
		return texture->bits == 16 ? ptx_b32(ptx_f32_of_f16((uint16_t)bits)) : bits;
	if (!texture->to_float)
		return texture->kind == PTX_SIGNED ? (uint32_t)value : bits;
	if (texture->kind == PTX_UNSIGNED)
		return ptx_b32((float)bits / (texture->bits == 8 ? 255.0f : 65535.0f));
	return ptx_b32(ptx_max_f32((float)value / (texture->bits == 8 ? 127.0f : 32767.0f), -1.0f));
}

/* An index inside the dimension; -1: the border. */
PTX_RARE int64_t ptx_edge(const struct ptx_texture *texture, int dimension, int64_t index)
{
	const int64_t size = texture->size[dimension];

	if (index >= 0 && index < size)
		return index;
	switch (texture->normalized || texture->edges[dimension] >= PTX_BORDER ? texture->edges[dimension] :
		PTX_CLAMP) {
	case PTX_WRAP: return ((index % size) + size) % size;
	case PTX_MIRROR:
		index = ((index % (2 * size)) + 2 * size) % (2 * size);
		return index < size ? index : 2 * size - 1 - index;
	case PTX_CLAMP: return index < 0 ? 0 : size - 1;
	default: return -1;
	}
}

PTX_RARE void ptx_element(const struct ptx_texture *texture, int dimensions, uint32_t layer, const int64_t *index,
			  uint32_t *value)
{
	const char *element = (const char *)texture->data;
	int is_border = 0;

	layer = layer < texture->layers ? layer : texture->layers - 1;
	element += layer * texture->slice;
	for (int i = 0; i < dimensions; i++) {
		const int64_t at = ptx_edge(texture, i, index[i]);

		is_border |= at < 0;
		element += (i == 0 ? texture->bits / 8u * texture->channels : i == 1 ? texture->pitch :
			    texture->slice) *
			   (uint64_t)at;
	}
	for (uint32_t i = 0; i < 4; i++)
		value[i] = is_border ? ptx_b32(texture->border[i]) : ptx_channel(texture, element, i);
}

/* A coordinate in elements. */
PTX_RARE float ptx_coordinate(const struct ptx_texture *texture, int dimension, float x)
{
	const float whole = __builtin_floorf(x), rest = x - whole;

	if (!texture->normalized)
		return x;
	if (texture->edges[dimension] == PTX_WRAP)
		x = rest;
	else if (texture->edges[dimension] == PTX_MIRROR)
		x = whole * 0.5f != __builtin_floorf(whole * 0.5f) ? 1.0f - rest : rest;
	return x * (float)texture->size[dimension];
}

PTX_INLINE int64_t ptx_index(float x)
{
	return x > -0x1p40f ? x < 0x1p40f ? (int64_t)__builtin_floorf(x) : (int64_t)1 << 40 : -((int64_t)1 << 40);
}

/* Read at a place that may be between elements. */
PTX_RARE void ptx_tex_number(uint64_t object, int dimensions, uint32_t layer, float x, float y, float z,
			     uint32_t *value)
{
	const struct ptx_texture *texture = (const struct ptx_texture *)object;
	const float given[3] = { x, y, z };
	const int is_linear = texture->linear && (texture->kind == PTX_FLOATING || texture->to_float);
	float weights[3] = { 0.0f }, sum[4] = { 0.0f };
	int64_t index[3], corner[3];

	for (int i = 0; i < dimensions; i++) {
		const float at = ptx_coordinate(texture, i, given[i]) - (is_linear ? 0.5f : 0.0f);

		index[i] = ptx_index(at);
		/* The product with the size may round to the end. */
		if (!is_linear && index[i] == texture->size[i] && texture->normalized &&
		    (texture->edges[i] == PTX_WRAP || texture->edges[i] == PTX_MIRROR))
			index[i]--;
		weights[i] = __builtin_rintf((at - __builtin_floorf(at)) * 256.0f) * 0x1p-8f;
	}
	if (!is_linear) {
		ptx_element(texture, dimensions, layer, index, value);
		return;
	}
	for (int i = 0; i < 1 << dimensions; i++) {
		float weight = 1.0f;

		for (int j = 0; j < dimensions; j++) {
			corner[j] = index[j] + (i >> j & 1);
			weight *= i >> j & 1 ? weights[j] : 1.0f - weights[j];
		}
		ptx_element(texture, dimensions, layer, corner, value);
		for (int j = 0; j < 4; j++)
			sum[j] += weight * ptx_f32(value[j]);
	}
	for (int i = 0; i < 4; i++)
		value[i] = ptx_b32(sum[i]);
}

/* Read an element by its index. What is outside is 0. */
PTX_RARE void ptx_tex_integer(uint64_t object, int dimensions, uint32_t layer, int32_t x, int32_t y, int32_t z,
			      uint32_t *value)
{
	const struct ptx_texture *texture = (const struct ptx_texture *)object;
	const int64_t index[3] = { x, y, z };
	int is_inside = 1;

	for (int i = 0; i < dimensions; i++)
		is_inside &= index[i] >= 0 && index[i] < texture->size[i];
	memset(value, 0, 4 * sizeof(*value));
	if (is_inside)
		ptx_element(texture, dimensions, layer, index, value);
}
