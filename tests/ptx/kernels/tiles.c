/* SPDX-License-Identifier: MIT */
/* tiles.c - what the kernels of tiles.cu compute. */
#include "cases.h"

static void transpose(const struct cuda_case *c, void *const *args, unsigned launch)
{
	const int width = *(int *)args[2], height = *(int *)args[3];
	const float *in = args[0];
	float *out = args[1];

	for (int y = 0; y < height; y++)
		for (int x = 0; x < width; x++)
			out[x * height + y] = in[y * width + x];
}

static void matmul(const struct cuda_case *c, void *const *args, unsigned launch)
{
	const float *a = args[0], *b = args[1];
	float *out = args[2];
	const int n = *(int *)args[3];

	for (int y = 0; y < n; y++)
		for (int x = 0; x < n; x++) {
			double sum = 0;

			for (int k = 0; k < n; k++)
				sum += (double)a[y * n + k] * b[k * n + x];
			out[y * n + x] = (float)sum;
		}
}

static float cell(const float *in, const int *n, int x, int y, int z)
{
	return x < 0 || y < 0 || z < 0 || x >= n[0] || y >= n[1] || z >= n[2] ? 0 : in[(z * n[1] + y) * n[0] + x];
}

static void stencil(const struct cuda_case *c, void *const *args, unsigned launch)
{
	const int n[3] = { *(int *)args[2], *(int *)args[3], *(int *)args[4] };
	const float *in = args[0];
	float *out = args[1];

	for (int z = 0; z < n[2]; z++)
		for (int y = 0; y < n[1]; y++)
			for (int x = 0; x < n[0]; x++)
				*out++ = (cell(in, n, x, y, z) + cell(in, n, x - 1, y, z) + cell(in, n, x + 1, y, z) +
					  cell(in, n, x, y - 1, z) + cell(in, n, x, y + 1, z) +
					  cell(in, n, x, y, z - 1) + cell(in, n, x, y, z + 1)) / 7;
}

static void dynamic(const struct cuda_case *c, void *const *args, unsigned launch)
{
	const int n = *(int *)args[2];
	const float *in = args[0];
	float *out = args[1];

	for (unsigned b = 0; b < c->grid[0]; b++, in += n, out += n)
		for (int t = 0; t < n; t++)
			out[t] = (float)((double)in[(t * 5 + 3) % n] * 2 + in[t]);
}

const struct cuda_case tiles_cases[] = {
	{ .kernel = "tile_transpose", { 4, 3 }, { 16, 16 }, 0, { BUFFER(F32, 2400, RANDOM), BUFFER(F32, 2400, ZERO),
	  VALUE(int, 60), VALUE(int, 40) }, transpose },
	{ .kernel = "tile_matmul", { 4, 4 }, { 8, 8 }, 0, { BUFFER(F32, 1024, RANDOM), BUFFER(F32, 1024, RANDOM),
	  BUFFER(F32, 1024, ZERO), VALUE(int, 32) }, matmul, 1e-5 },
	{ .kernel = "tile_stencil", { 2, 3, 2 }, { 8, 4, 4 }, 0, { BUFFER(F32, 1536, RANDOM), BUFFER(F32, 1536, ZERO),
	  VALUE(int, 16), VALUE(int, 12), VALUE(int, 8) }, stencil, 1e-6 },
	{ .kernel = "tile_dynamic", { 3 }, { 72 }, 720, { BUFFER(F32, 216, RANDOM), BUFFER(F32, 216, ZERO), VALUE(int,
	  72) }, dynamic, 1e-6 },
	{ 0 },
};
