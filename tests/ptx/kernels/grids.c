/* SPDX-License-Identifier: MIT */
/* grids.c - what the kernels of grids.cu compute. */
#include "cases.h"

static void sync(const struct cuda_case *c, void *const *args, unsigned launch)
{
	const int n = *(int *)args[2];

	for (int round = 0; round < *(int *)args[3]; round++) {
		const int *from = args[round & 1];
		int *to = args[1 - (round & 1)];

		for (int i = 0; i < n; i++)
			to[i] = from[(i + 1) % n] + from[(i + n - 1) % n] * 2;
	}
}

static void by_hand(const struct cuda_case *c, void *const *args, unsigned launch)
{
	int *a = args[0], *b = args[1];
	const int n = *(int *)args[2];

	for (int i = 0; i < n; i++)
		b[i] = a[i] * 2;
	for (int i = 0; i < n; i++)
		a[i] = b[n - 1 - i] + 1;
	*(uint32_t *)args[3] += c->grid[0];
}

/* For each warp: tiles of eight, and the threads whose value is a multiple of three. */
static void tiles(const struct cuda_case *c, void *const *args, unsigned launch)
{
	const int *in = args[0];
	int *out = args[1];

	for (int first = 0; first < (int)(c->grid[0] * c->block[0]); first += 32, in += 32, out += 32) {
		int size = 0, rank = 0, leader = -1;

		for (int lane = 0; lane < 32; lane++)
			if ((in[lane] & 0xffff) % 3 == 0) {
				size++;
				leader = leader < 0 ? lane : leader;
			}
		for (int lane = 0; lane < 32; lane++) {
			const int *tile = in + lane / 8 * 8, x = in[lane] & 0xffff;
			int sum = 0, most = 0, before = 0, ballot = 0;

			for (int k = 0; k < 8; k++) {
				const int y = tile[k] & 0xffff;

				sum += y;
				most = y > most ? y : most;
				before += k < lane % 8 ? y : 0;
				ballot |= (y & 1) << k;
			}
			out[lane] = sum + most * 3 + before * 5 + ballot + (first + lane) % (int)c->block[0] / 8;
			if (x % 3 == 0)
				out[lane] += size * 100 + rank++ + (in[leader] & 0xffff);
		}
	}
}

/* Of the groups by label among 16 threads, in the order of their first threads: their number, and that of thread @t. */
static int place_of(const int *labels, int t)
{
	int n = 0, rank = 0;

	for (int k = 0; k < 16; k++) {
		int first = 0;

		while (labels[first] != labels[k])
			first++;
		n += first == k;
		if (first == k && labels[k] == labels[t])
			rank = n - 1;
	}
	return n * 100 + rank;
}

static void partitions(const struct cuda_case *c, void *const *args, unsigned launch)
{
	const int *in = args[0];
	int *out = args[1];

	for (int t = 0; t < (int)(c->grid[0] * c->block[0]); t++, out += 8) {
		const int *warp = in + t / 32 * 32, *tile = in + t / 16 * 16;
		int by_three[16], by_five[16], n = 0, before = 0;

		for (int k = 0; k < 16; k++) {
			by_three[k] = (tile[k] & 0xffff) % 3;
			by_five[k] = (tile[k] & 0xffff) % 5 < 2;
		}
		for (int k = 0; k < 32; k++) {
			n += warp[k] & 1;
			before += k < t % 32 ? warp[k] & 1 : 0;
		}
		out[0] = (int)c->block[0] / 16 * 100 + t % (int)c->block[0] / 16;
		out[1] = out[2] = out[3] = 400 + t % 16 / 4;
		out[4] = place_of(by_three, t % 16);
		out[5] = place_of(by_five, t % 16);
		if (in[t] & 1) {
			out[6] = 100;
			out[7] = (n + 3) / 4 * 100 + before / 4;
		}
	}
}

struct weights {
	int v[32];
};

static void address(const struct cuda_case *c, void *const *args, unsigned launch)
{
	const struct weights *w = args[0];
	const int *in = args[1];
	int *out = args[2];

	for (int i = 0; i < (int)(c->grid[0] * c->block[0]); i++) {
		out[i] = w->v[in[i] & 15] + w->v[(in[i] & 15) + 1] * 100;
		for (int k = 0; k < 32; k++)
			out[i] += in[k] + i;
	}
}

const struct cuda_case grids_cases[] = {
	{ .kernel = "grid_sync", { 4 }, { 32 }, 0, { BUFFER(I32, 300, RANDOM), BUFFER(I32, 300, ZERO), VALUE(int,
	  300), VALUE(int, 5) }, sync, .launches = 2 },
	{ .kernel = "grid_by_hand", { 6 }, { 50 }, 0, { BUFFER(I32, 290, RANDOM), BUFFER(I32, 290, ZERO), VALUE(int,
	  290), BUFFER(I32, 1, ZERO) }, by_hand },
	{ .kernel = "grid_address", { 6 }, { 20 }, 0, { VALUE(struct weights, { 2, 7, 1, 8, 2, 8, 1, 8, 2, 8, 4, 5, 9,
	  0, 4, 5, 2 }), BUFFER(I32, 120, RANDOM), BUFFER(I32, 120, ZERO) }, address },
	{ .kernel = "grid_tiles", { 2 }, { 64 }, 0, { BUFFER(I32, 128, RANDOM), BUFFER(I32, 128, ZERO) }, tiles },
	{ .kernel = "grid_partitions", { 2 }, { 64 }, 0, { BUFFER(I32, 128, RANDOM), BUFFER(I32, 1024, ZERO) },
	  partitions },
	{ 0 },
};
