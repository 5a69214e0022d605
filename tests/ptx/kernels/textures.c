/* SPDX-License-Identifier: MIT */
/* textures.c - what the kernels of textures.cu read. */
#include "cases.h"

#include <math.h>
#include <string.h>

static int clamp(int i, int size)
{
	return i < 0 ? 0 : i < size ? i : size - 1;
}

static void fetch(const struct cuda_case *c, void *const *args, unsigned launch)
{
	const int size = (int)c->args[0].n, n = *(int *)args[2];
	const int *in = args[0];
	int *out = args[1];

	for (int i = 0; i < n; i++)
		out[i] = i >= 5 && i - 5 < size ? in[i - 5] : 0;
}

/* The weight of the second of two elements: it has eight bits after the point. */
static double weight(double at)
{
	return rint((at - floor(at)) * 256) / 256;
}

static void between(const struct cuda_case *c, void *const *args, unsigned launch)
{
	const int width = (int)c->args[0].texture->size[0], height = (int)c->args[0].texture->size[1];
	const int out_width = (int)(c->grid[0] * c->block[0]), out_height = (int)(c->grid[1] * c->block[1]);
	const float *in = args[0], step = *(float *)args[2];
	float *out = args[1];

	for (int i = 0; i < out_width * out_height; i++) {
		const double x = i % out_width * step - 2.5, y = i / out_width * step - 2.5;
		double sum = 0;

		for (int corner = 0; corner < 4; corner++) {
			const int right = corner & 1, below = corner / 2;
			const int column = clamp((int)floor(x) + right, width);
			const int row = clamp((int)floor(y) + below, height);

			sum += (right ? weight(x) : 1 - weight(x)) * (below ? weight(y) : 1 - weight(y)) *
			       in[row * width + column];
		}
		out[i] = (float)sum;
	}
}

static void colours(const struct cuda_case *c, void *const *args, unsigned launch)
{
	const int width = *(int *)args[2], height = *(int *)args[3];
	const uint8_t *in = args[0];
	float *out = args[1];

	/* Repeated from left to right, mirrored from top to bottom. */
	for (int y = 0; y < 3 * height; y++)
		for (int x = 0; x < 3 * width; x++)
			for (int channel = 0; channel < 4; channel++) {
				const int row = y / height == 1 ? y % height : height - 1 - y % height;

				*out++ = in[(row * width + x % width) * 4 + channel] / 255.0f;
			}
}

static void volume(const struct cuda_case *c, void *const *args, unsigned launch)
{
	const int n = *(int *)args[2], size = n - 2;
	const float *in = args[0];
	float *out = args[1];

	for (int i = 0; i < n * n * n; i++) {
		const int x = i % n - 1, y = i / n % n - 1, z = i / n / n - 1;

		out[i] = x < 0 || y < 0 || z < 0 || x >= size || y >= size || z >= size ? -3 :
			in[(z * size + y) * size + x];
	}
}

static void layers(const struct cuda_case *c, void *const *args, unsigned launch)
{
	const int width = *(int *)args[2], n = *(int *)args[3];
	const int16_t *in = args[0];
	int16_t *out = args[1];

	for (int i = 0; i < n; i++) {
		const int element = (clamp(i % 7, 4) * width + i / width % width) * width + i % width;

		out[2 * i] = in[2 * element];
		out[2 * i + 1] = in[2 * element + 1];
	}
}

static void plane(const struct cuda_case *c, void *const *args, unsigned launch)
{
	memcpy(args[1], args[0], c->args[1].n * sizeof(float));
}

#define CLAMP ADSM_TEXTURE_CLAMP

const struct cuda_case textures_cases[] = {
	{ "fetch", { 5 }, { 64 },
	  .args = { TEXTURE(I32, 300, .kind = ADSM_TEXTURE_SIGNED, .bits = 32, .channels = 1, .size = { 300, 1, 1 }),
		    BUFFER(I32, 320, ZERO), VALUE(int, 320) }, .reference = fetch },
	{ "between", { 3, 5 }, { 32, 8 },
	  .args = { TEXTURE(F32, 20 * 9, .kind = ADSM_TEXTURE_FLOAT, .bits = 32, .channels = 1, .size = { 20, 9, 1 },
			    .linear = 1, .edges = { CLAMP, CLAMP }),
		    BUFFER(F32, 96 * 40, ZERO), VALUE(float, 0.28125f) }, .reference = between, .tolerance = 1e-5 },
	{ "colours", { 2, 12 }, { 32, 4 },
	  .args = { TEXTURE(U8, 4 * 16 * 16, .kind = ADSM_TEXTURE_UNSIGNED, .bits = 8, .channels = 4,
			    .size = { 16, 16, 1 }, .normalized = 1, .to_float = 1,
			    .edges = { ADSM_TEXTURE_WRAP, ADSM_TEXTURE_MIRROR }),
		    BUFFER(F32, 4 * 48 * 48, ZERO), VALUE(int, 16), VALUE(int, 16) }, .reference = colours,
	  .tolerance = 1e-6 },
	{ "volume", { 16 }, { 64 },
	  .args = { TEXTURE(F32, 8 * 8 * 8, .kind = ADSM_TEXTURE_FLOAT, .bits = 32, .channels = 1, .size = { 8, 8, 8 },
			    .edges = { ADSM_TEXTURE_BORDER, ADSM_TEXTURE_BORDER, ADSM_TEXTURE_BORDER },
			    .border = { -3 }),
		    BUFFER(F32, 1000, ZERO), VALUE(int, 10) }, .reference = volume },
	{ "layers", { 8 }, { 64 },
	  .args = { TEXTURE(I16, 2 * 4 * 11 * 11, .kind = ADSM_TEXTURE_SIGNED, .bits = 16, .channels = 2,
			    .size = { 11, 11, 1 }, .layers = 4, .edges = { CLAMP, CLAMP }),
		    BUFFER(I16, 2 * 500, ZERO), VALUE(int, 11), VALUE(int, 500) }, .reference = layers },
	{ "plane", { 5 }, { 32 },
	  .args = { REFERENCE(plane_reference, F32, 12 * 12, .kind = ADSM_TEXTURE_FLOAT, .bits = 32, .channels = 1,
			      .size = { 12, 12, 1 }, .edges = { CLAMP, CLAMP }),
		    BUFFER(F32, 144, ZERO), VALUE(int, 12) }, .reference = plane },
	{ 0 },
};
