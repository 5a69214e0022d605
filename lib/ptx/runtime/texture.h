/* SPDX-License-Identifier: MIT */
/*
 * texture.h - what a texture object is in memory: the number that kernels get is the address of this. It is part of the
 * C text of modules, too.
 */
#ifndef ADSM_PTX_TEXTURE_H
#define ADSM_PTX_TEXTURE_H

#include <stdint.h>

/* What is beyond the edges: repeated, the last element, mirrored, or the border's values. In CUDA's order. */
enum { PTX_WRAP, PTX_CLAMP, PTX_MIRROR, PTX_BORDER };

/* The elements' kind. */
enum { PTX_SIGNED, PTX_UNSIGNED, PTX_FLOATING };

struct ptx_texture {
	uint64_t data;			/* the address of the first element */
	uint64_t pitch;			/* bytes from row to row */
	uint64_t slice;			/* bytes from layer to layer, or from depth to depth */
	uint32_t size[3];		/* elements: width, height, depth; 1 if there is no such dimension */
	uint32_t layers;
	uint8_t bits;			/* of a channel: 8, 16 or 32 */
	uint8_t channels;		/* 1, 2 or 4 */
	uint8_t kind;			/* PTX_SIGNED and so on */
	uint8_t normalized;		/* coordinates are between 0 and 1 */
	uint8_t linear;			/* values between elements are interpolated */
	uint8_t to_float;		/* integers are read as numbers between -1 or 0 and 1 */
	uint8_t edges[3];		/* PTX_WRAP and so on, for each dimension */
	float border[4];
};

#endif
