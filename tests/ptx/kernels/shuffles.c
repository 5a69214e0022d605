/* SPDX-License-Identifier: MIT */
/* shuffles.c - what the kernels of shuffles.cu compute, warp by warp. */
#include "cases.h"

/* Call @body for each warp of the buffers @in and @out. */
#define WARPS(c, in, out) for (unsigned warp_ = 0; warp_ < (c)->grid[0] * (c)->block[0] / 32; \
			       warp_++, (in) += 32, (out) += 32) for (int lane = 0; lane < 32; lane++)

static void kinds(const struct cuda_case *c, void *const *args, unsigned launch)
{
	const int *x = args[0];
	int *out = args[1];

	WARPS(c, x, out) {
		int r = x[(lane * 7 + 3) % 32];

		r = r * 3 + x[lane < 5 ? lane : lane - 5];
		r = r * 3 + x[lane > 22 ? lane : lane + 9];
		out[lane] = r * 3 + x[lane ^ 21];
	}
}

static void widths(const struct cuda_case *c, void *const *args, unsigned launch)
{
	const int *x = args[0];
	int *out = args[1];

	WARPS(c, x, out) {
		int r = x[lane / 8 * 8 + (lane + 5) % 8];

		r = r * 3 + x[lane % 4 < 3 ? lane : lane - 3];
		r = r * 3 + x[lane % 16 + 7 > 15 ? lane : lane + 7];
		out[lane] = r * 3 + x[lane ^ 6];
	}
}

static void odd(const struct cuda_case *c, void *const *args, unsigned launch)
{
	const int *x = args[0];
	int *out = args[1];

	WARPS(c, x, out) {
		const int with = lane ^ 8;

		if (lane & 1)
			out[lane] = (x[lane] + x[(lane + 2) & 31]) ^ (x[with] + x[(with + 2) & 31]);
		else if (lane & 2)
			out[lane] = x[lane] - x[30 - (lane & 28)];
		else
			out[lane] = x[lane] * 2;
	}
}

static void types(const struct cuda_case *c, void *const *args, unsigned launch)
{
	const double *x = args[0];
	double *out = args[1];
	int64_t *words = args[2];
	int64_t old[32];

	for (int first = 0; first < (int)(c->grid[0] * c->block[0]); first += 32, x += 32, out += 32, words += 32) {
		for (int lane = 0; lane < 32; lane++)
			old[lane] = words[lane];
		for (int lane = 0; lane < 32; lane++) {
			out[lane] = x[lane ^ 13] * 2 + (float)x[lane < 31 ? lane + 1 : lane];
			words[lane] = old[lane < 4 ? lane : lane - 4] + ((int64_t)(first + 17) << 33);
		}
	}
}

static void votes(const struct cuda_case *c, void *const *args, unsigned launch)
{
	const int *x = args[0];
	uint32_t *out = args[1];

	WARPS(c, x, out) {
		uint32_t ones = 0, fours = 0, any = 0, all = 1;

		for (int i = 0; i < 32; i++) {
			ones |= (uint32_t)(x[i] & 1) << i;
			if (x[i] & 2) {
				fours |= (uint32_t)(x[i] >> 2 & 1) << i;
				any |= (x[i] & 0xf0) == 0x70;
			} else {
				all &= (x[i] & 0xf0) != 0x80;
			}
		}
		out[lane] = x[lane] & 2 ? (ones ^ fours * 3) + any * 1000 : ones ^ all << 20;
	}
}

static void match(const struct cuda_case *c, void *const *args, unsigned launch)
{
	const int *x = args[0];
	uint32_t *out = args[1];

	WARPS(c, x, out) {
		const int block = (int)(warp_ * 32 / c->block[0]);
		uint32_t any = 0;
		int same = 1;

		for (int i = 0; i < 32; i++) {
			any |= (uint32_t)((x[i] & 3) == (x[lane] & 3)) << i;
			same &= (x[i] & block) == (x[0] & block);
		}
		out[lane] = any ^ (same ? 0xfffffffe : 0) ^ (same ? 5 : 0);
	}
}

static void leaving(const struct cuda_case *c, void *const *args, unsigned launch)
{
	const int *in = args[0];
	int *out = args[1];

	for (unsigned warp = 0; warp < c->grid[0] * c->block[0] / 32; warp++, in += 32, out += 32) {
		for (int lane = 0; lane < 32; lane++)
			out[lane] = in[lane] & 1023;
		for (int n = 32; n > 0; n -= 3) {
			const int first = out[n - 1];

			for (int lane = 0; lane < n; lane++)
				out[lane] = (out[lane] + first) & 0xffff;
		}
	}
}

static void sort(const struct cuda_case *c, void *const *args, unsigned launch)
{
	const int *in = args[0];
	int *out = args[1];

	for (unsigned warp = 0; warp < c->grid[0] * c->block[0] / 32; warp++, in += 32, out += 32)
		for (int n = 0; n < 32; n++) {
			int k = n;

			for (; k > 0 && out[k - 1] > in[n]; k--)
				out[k] = out[k - 1];
			out[k] = in[n];
		}
}

#define WARPS_OF_INTS { BUFFER(I32, 192, RANDOM), BUFFER(I32, 192, ZERO) }

const struct cuda_case shuffles_cases[] = {
	{ .kernel = "shuffle_kinds", { 3 }, { 64 }, 0, WARPS_OF_INTS, kinds },
	{ .kernel = "shuffle_widths", { 3 }, { 64 }, 0, WARPS_OF_INTS, widths },
	{ .kernel = "shuffle_odd", { 3 }, { 64 }, 0, WARPS_OF_INTS, odd },
	{ .kernel = "shuffle_types", { 3 }, { 64 }, 0, { BUFFER(F64, 192, RANDOM), BUFFER(F64, 192, ZERO), BUFFER(I64,
	  192, RANDOM) }, types, 1e-12 },
	{ .kernel = "shuffle_votes", { 3 }, { 64 }, 0, WARPS_OF_INTS, votes },
	{ .kernel = "shuffle_match", { 3 }, { 64 }, 0, WARPS_OF_INTS, match },
	{ .kernel = "shuffle_leaving", { 3 }, { 64 }, 0, WARPS_OF_INTS, leaving },
	{ .kernel = "shuffle_sort", { 3 }, { 64 }, 0, WARPS_OF_INTS, sort },
	{ 0 },
};
