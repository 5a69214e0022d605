/* SPDX-License-Identifier: MIT */
/* indices.c - what the kernels of indices.cu compute. */
#include "cases.h"

static unsigned threads(const struct cuda_case *c)
{
	return c->grid[0] * c->block[0];
}

static void wraps(const struct cuda_case *c, void *const *args, unsigned launch)
{
	uint32_t *out = args[0];

	for (unsigned t = 0; t < threads(c); t++) {
		uint32_t i = *(uint32_t *)args[1] + t;

		if (i < *(uint32_t *)args[2])
			out[i] += i + 1;
	}
}

static void wraps_signed(const struct cuda_case *c, void *const *args, unsigned launch)
{
	int *out = args[0];

	for (unsigned t = 0; t < threads(c); t++) {
		int64_t at = (int64_t)(int32_t)(*(uint32_t *)args[1] + t) + 0x80000000ll;

		if (at >= 0 && at < *(int *)args[2])
			out[at] += (int)at;
	}
}

static void before(const struct cuda_case *c, void *const *args, unsigned launch)
{
	uint32_t *out = args[0], n = *(uint32_t *)args[2];
	const uint32_t *in = args[1];

	for (unsigned i = 0; i < n; i++)
		out[i] = in[i] + (i ? in[i - 1] : 7) + (i + 1 < n ? in[i + 1] : 9);
}

static void backwards(const struct cuda_case *c, void *const *args, unsigned launch)
{
	int *out = args[0], n = *(int *)args[2];
	const int *in = args[1];

	for (int i = 0; i < n; i++)
		out[i] = in[n - 1 - i] * 3;
}

static void strided(const struct cuda_case *c, void *const *args, unsigned launch)
{
	int *out = args[0], step = *(int *)args[1];

	for (int t = 0; t < (int)threads(c); t++) {
		int i = (t - 5) * step + *(int *)args[2];

		if (i >= 0 && i < *(int *)args[3])
			out[i] += i + step;
	}
}

static void by_or(const struct cuda_case *c, void *const *args, unsigned launch)
{
	int *out = args[0], n = *(int *)args[2];

	for (unsigned b = 0; b < c->grid[0]; b++) {
		for (unsigned t = 0; t < c->block[0]; t++) {
			int i = (int)(b << *(int *)args[1] | t), j = (int)(t * 4 | 3);

			if (i < n)
				out[i] = i;
			out[n + j] = j;
		}
	}
}

static void window(const struct cuda_case *c, void *const *args, unsigned launch)
{
	int *out = args[0], width = *(int *)args[1], height = *(int *)args[2];

	for (int y = 0; y < height && y < (int)(c->grid[1] * c->block[1]); y++)
		for (int x = *(int *)args[3]; x < *(int *)args[4] && x < (int)threads(c); x++)
			if ((y & 3) != 2 && x <= 2 * y + 40)
				out[y * width + x] += x - y;
}

static void by_else(const struct cuda_case *c, void *const *args, unsigned launch)
{
	int *out = args[0];

	for (int i = 0; i < (int)threads(c); i++)
		out[i] = i >= *(int *)args[1] ? -1 : i;
}

static void cube(const struct cuda_case *c, void *const *args, unsigned launch)
{
	int16_t *out = args[0];
	int nx = *(int *)args[1], ny = *(int *)args[2], nz = *(int *)args[3];

	for (int z = 0; z < nz; z++)
		for (int y = 0; y < ny; y++)
			for (int x = 0; x < nx; x++)
				out[(z * ny + y) * nx + x] = (int16_t)(x + 10 * y + 100 * z);
}

static void steps(const struct cuda_case *c, void *const *args, unsigned launch)
{
	int *out = args[0], n = *(int *)args[3];
	const int *in = args[1];

	for (int b = 0; b < (int)c->grid[0]; b++) {
		int at = 0, sum[64] = { 0 };

		for (int k = 0; k < *(int *)args[2]; k++) {
			const int old = at;

			at += k % 3 == 1 ? 5 : 0;
			for (int t = 0; t < 64; t++)
				sum[t] += in[(b * 64 + 63 - t + old) % n] + at;
			at += k;
			for (int t = 0; t < 64; t++)
				out[at + t + b * n] = sum[t];
			at++;
		}
	}
}

static void tiles(const struct cuda_case *c, void *const *args, unsigned launch)
{
	const float *in = args[1];
	float *out = args[0];
	int n = *(int *)args[2];

	for (unsigned b = 0; b < c->grid[0]; b++)
		for (int t = 0; t < 32; t++) {
			float sum = 0;

			for (int k = 0; k < n && in[(int)b * n + k] <= 2; k += 32)
				for (int i = 0; i < 32; i += t % 3 + 1)
					sum += in[(int)b * n + k + i];
			out[b * 32 + (unsigned)t] = sum;
		}
}

static void apart(const struct cuda_case *c, void *const *args, unsigned launch)
{
	const int *in = args[1];
	int *out = args[0], tile[96];

	for (unsigned b = 0; b < c->grid[0]; b++, in += 96, out += 96) {
		for (int t = 0; t < 96; t++)
			for (out[t] = 0; in[t] > out[t] * 100000000;)
				out[t]++;
		for (int turn = 0; turn < 3; turn++) {
			for (int t = 0; t < 96; t++)
				tile[t] = out[t] + turn;
			for (int t = 0; t < 96; t++)
				out[t] += tile[(t + 1) % 96];
		}
	}
}

static void stairs(const struct cuda_case *c, void *const *args, unsigned launch)
{
	const int *in = args[1];
	int *out = args[0], turns = *(int *)args[2];

	for (unsigned b = 0; b < c->grid[0]; b++)
		for (unsigned t = 0; t < 40; t++) {
			unsigned sum = 0;

			for (unsigned k = 0; k < (unsigned)turns; k++) {
				if (t <= k)
					sum += (unsigned)in[b * 40 + 39 - t] + k;
				out[(k * c->grid[0] + b) * 40 + t] = (int)sum;
			}
		}
}

const struct cuda_case indices_cases[] = {
	{ .kernel = "index_wraps", { 3 }, { 32 }, 0, { BUFFER(I32, 100, RANDOM), VALUE(unsigned, 0xfffffff0u),
	  VALUE(unsigned, 60) }, wraps },
	{ .kernel = "index_wraps", { 2 }, { 1 }, 0, { BUFFER(I32, 100, RANDOM), VALUE(unsigned, 0xffffffffu),
	  VALUE(unsigned, 60) }, wraps },
	{ .kernel = "index_wraps_signed", { 3 }, { 32 }, 0, { BUFFER(I32, 100, RANDOM), VALUE(unsigned, 0x7ffffff0u),
	  VALUE(int, 60) }, wraps_signed },
	{ .kernel = "index_before", { 4 }, { 64 }, 0, { BUFFER(I32, 256, ZERO), BUFFER(I32, 256, RANDOM),
	  VALUE(unsigned, 200) }, before },
	{ .kernel = "index_backwards", { 4 }, { 50 }, 0, { BUFFER(I32, 200, ZERO), BUFFER(I32, 200, RANDOM),
	  VALUE(int, 177) }, backwards },
	{ .kernel = "index_strided", { 3 }, { 40 }, 0, { BUFFER(I32, 300, RANDOM), VALUE(int, 3), VALUE(int, 2),
	  VALUE(int, 290) }, strided },
	{ .kernel = "index_strided", { 3 }, { 40 }, 0, { BUFFER(I32, 300, RANDOM), VALUE(int, -7), VALUE(int, 250),
	  VALUE(int, 255) }, strided },
	{ .kernel = "index_strided", { 1 }, { 40 }, 0, { BUFFER(I32, 300, RANDOM), VALUE(int, 0x10000001),
	  VALUE(int, 4), VALUE(int, 255) }, strided },
	{ .kernel = "index_or", { 5 }, { 32 }, 0, { BUFFER(I32, 512, ZERO), VALUE(int, 5), VALUE(int, 140) }, by_or },
	{ .kernel = "index_or", { 5 }, { 64 }, 0, { BUFFER(I32, 512, ZERO), VALUE(int, 5), VALUE(int, 150) }, by_or },
	{ .kernel = "index_window", { 4, 5 }, { 32, 4 }, 0, { BUFFER(I32, 2560, RANDOM), VALUE(int, 128),
	  VALUE(int, 17), VALUE(int, 3), VALUE(int, 97) }, window },
	{ .kernel = "index_else", { 3 }, { 50 }, 0, { BUFFER(I32, 150, ZERO), VALUE(int, 77) }, by_else },
	{ .kernel = "index_cube", { 1, 2, 2 }, { 9, 4, 3 }, 0, { BUFFER(I16, 400, ZERO), VALUE(int, 8), VALUE(int, 7),
	  VALUE(int, 5) }, cube },
	{ .kernel = "index_steps", { 3 }, { 64 }, 0, { BUFFER(I32, 1000, ZERO), BUFFER(I32, 300, RANDOM),
	  VALUE(int, 12), VALUE(int, 300) }, steps },
	{ .kernel = "index_tiles", { 2 }, { 32 }, 0, { BUFFER(F32, 64, ZERO), BUFFER(F32, 320, RANDOM),
	  VALUE(int, 160) }, tiles, 1e-6 },
	{ .kernel = "index_stairs", { 2 }, { 40 }, 0, { BUFFER(I32, 1360, ZERO), BUFFER(I32, 80, RANDOM),
	  VALUE(int, 17) }, stairs },
	{ .kernel = "index_apart", { 2 }, { 96 }, 0, { BUFFER(I32, 192, ZERO), BUFFER(I32, 192, RANDOM) }, apart },
	{ 0 },
};
