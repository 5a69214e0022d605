/* SPDX-License-Identifier: MIT */
/* adsm_texture.h - textures for kernels in CUDA C (docs/cuda-c.md). */
#ifndef ADSM_TEXTURE_H
#define ADSM_TEXTURE_H

#include "adsm.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Address modes: the result of a read outside of the texture. */
enum {
	ADSM_TEXTURE_WRAP,		/* the texture repeats; if coordinates are not normalized, the same as
					   ADSM_TEXTURE_CLAMP */
	ADSM_TEXTURE_CLAMP,		/* the nearest element */
	ADSM_TEXTURE_MIRROR,		/* the texture is mirrored; if coordinates are not normalized, the same as
					   ADSM_TEXTURE_CLAMP */
	ADSM_TEXTURE_BORDER		/* the values of border */
};

/** The type of a channel. */
enum { ADSM_TEXTURE_SIGNED, ADSM_TEXTURE_UNSIGNED, ADSM_TEXTURE_FLOAT };

/**
 * A texture. Kernels in CUDA C read it by texture functions such as tex2D().
 *
 * The program puts this structure into shared memory. A kernel gets its address as an argument of the type
 * cudaTextureObject_t. The elements are in shared memory, too. The structure and the elements may change between calls:
 *
 *	adsmTexture *texture = (adsmTexture *)adsmAlloc(sizeof(*texture));
 *	float *image = (float *)adsmAlloc(640 * 480 * sizeof(*image));
 *
 *	*texture = adsmTextureOf(image, ADSM_TEXTURE_FLOAT, 32, 1, 640, 480, 1);
 *	texture->linear = 1;
 *	adsmCall(blur, grid, block, adsmPtr(texture), adsmPtr(out));
 *
 * The fields are part of the format of modules, so the structure never changes. The backends `cpu` and `cluster`
 * support textures. On GPUs a texture object is the driver's, and this structure is invalid there.
 */
typedef struct adsmTexture {
	uint64_t data;			/* address of the first element */
	uint64_t pitch;			/* bytes from row to row */
	uint64_t slice;			/* bytes from layer to layer, or from depth to depth */
	uint32_t size[3];		/* elements: width, height, depth */
	uint32_t layers;		/* 1 if the texture is not layered */
	uint8_t bits;			/* of a channel: 8, 16 or 32; 16 with ADSM_TEXTURE_FLOAT: half */
	uint8_t channels;		/* of an element: 1, 2 or 4 */
	uint8_t kind;			/* ADSM_TEXTURE_SIGNED, ADSM_TEXTURE_UNSIGNED or ADSM_TEXTURE_FLOAT */
	uint8_t normalized;		/* 1: coordinates are from 0 to 1; 0: in elements */
	uint8_t linear;			/* 1: values between elements are interpolated; 0: the nearest element */
	uint8_t to_float;		/* 1: reads of integers return a float: 0 to 1 if unsigned, -1 to 1 if signed */
	uint8_t edges[3];		/* address mode of each dimension: ADSM_TEXTURE_WRAP, … */
	uint8_t unused[3];		/* 0 */
	float border[4];		/* for ADSM_TEXTURE_BORDER */
} adsmTexture;

/**
 * Describe a texture without gaps between its rows. Reads return the nearest element: linear is 0, and the address
 * modes are ADSM_TEXTURE_CLAMP. Coordinates are not normalized.
 *
 * @data: the first element.
 * @kind: ADSM_TEXTURE_SIGNED, ADSM_TEXTURE_UNSIGNED or ADSM_TEXTURE_FLOAT.
 * @bits: bits of a channel: 8, 16 or 32.
 * @channels: channels of an element: 1, 2 or 4.
 * @width, @height, @depth: elements; 1 for a missing dimension.
 *
 * Returns the structure. The caller may change its fields.
 */
static inline adsmTexture adsmTextureOf(const void *data, unsigned kind, unsigned bits, unsigned channels,
					uint32_t width, uint32_t height, uint32_t depth)
{
	adsmTexture texture;

	texture.data = (uint64_t)(uintptr_t)data;
	texture.pitch = (uint64_t)width * channels * (bits / 8);
	texture.slice = texture.pitch * height;
	texture.size[0] = width;
	texture.size[1] = height;
	texture.size[2] = depth;
	texture.layers = 1;
	texture.bits = (uint8_t)bits;
	texture.channels = (uint8_t)channels;
	texture.kind = (uint8_t)kind;
	texture.normalized = texture.linear = texture.to_float = 0;
	texture.edges[0] = texture.edges[1] = texture.edges[2] = ADSM_TEXTURE_CLAMP;
	texture.unused[0] = texture.unused[1] = texture.unused[2] = 0;
	texture.border[0] = texture.border[1] = texture.border[2] = texture.border[3] = 0;
	return texture;
}

#ifdef __cplusplus
}
#endif

#endif
