/* SPDX-License-Identifier: MIT */
/* test_diff.c - byte-exact differences of pages: against the plain way, for pages that many wrote to. */
#include "../check.h"
#include "process/device/diff.h"

#include <stdlib.h>

static uint64_t seed = 42;

static uint64_t draw(void)
{
	uint64_t z = seed += 0x9E3779B97F4A7C15u;

	z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
	z = (z ^ z >> 27) * 0x94D049BB133111EBu;
	return z ^ z >> 31;
}

#define LARGEST 32768
#define DIFF_LARGEST ADSM_DIFF_MAX(LARGEST)

static size_t page_size;
static uint8_t twin[LARGEST], page[LARGEST], other[LARGEST], wanted[LARGEST], merged[LARGEST];
static uint8_t outs[2][DIFF_LARGEST + 1];

/* Between two bytes that must not be touched. */
static size_t diff(uint8_t *out)
{
	size_t size;

	out[ADSM_DIFF_MAX(page_size)] = 99;
	size = adsm_diff(page, twin, page_size, out);
	CHECK(size <= ADSM_DIFF_MAX(page_size) && out[ADSM_DIFF_MAX(page_size)] == 99);
	CHECK(adsm_diff_is_valid(out, size, page_size));
	return size;
}

static void test_edges(void)
{
	uint8_t *out = outs[0];

	CHECK_EQ(diff(out), 0);
	for (size_t at = 0; at < page_size; at++) {
		page[at] ^= 1;
		CHECK_EQ(diff(out), 5);
		CHECK(out[0] + 256 * out[1] == (int)at && out[2] == 1 && out[4] == page[at]);
		page[at] ^= 1;
	}
	/* As much as there can be, and one piece that is all. */
	for (size_t at = 0; at < page_size; at += 2)
		page[at] = (uint8_t)~twin[at];
	CHECK_EQ(diff(out), page_size / 2 * 5);
	memcpy(page, twin, page_size);
	page[0] = (uint8_t)~twin[0];
	for (size_t at = 1; at < page_size; at += 2)
		page[at] = (uint8_t)~twin[at];
	CHECK_EQ(diff(out), ADSM_DIFF_MAX(page_size));
	for (size_t at = 0; at < page_size; at++)
		page[at] = (uint8_t)~twin[at];
	CHECK_EQ(diff(out), 4 + page_size);
}

/* Neighbouring bytes by different nodes: by patches, by whole pages, and by one of each. */
static void test_several(void)
{
	size_t size[2];

	for (int round = 0; round < 6000000 / (int)page_size; round++) {
		const unsigned rare = 1u << draw() % 12, grain = 1u << draw() % 4;

		for (size_t at = 0; at < page_size; at++)
			twin[at] = page[at] = other[at] = wanted[at] = (uint8_t)draw();
		for (size_t at = 0; at < page_size; at++)
			if (draw() % rare == 0)
				(at / grain % 2 ? page : other)[at] = wanted[at] = (uint8_t)draw();
		size[0] = diff(outs[0]);
		size[1] = adsm_diff(other, twin, page_size, outs[1]);
		for (int way = 0; way < 4; way++) {
			memcpy(merged, twin, page_size);
			for (int writer = 0; writer < 2; writer++)
				if (way >> writer & 1)
					adsm_diff_patch(merged, outs[writer], size[writer]);
				else
					adsm_diff_merge(merged, writer ? other : page, twin, page_size);
			CHECKF(!memcmp(merged, wanted, page_size), "round %d, way %d", round, way);
		}
	}
}

/* From a network anything may come. */
static void test_invalid(void)
{
	static const struct { uint16_t words[4]; size_t size; bool valid; } cases[] = {
		{ { 0 }, 0, true },
		{ { 4095, 1, 7 }, 5, true },
		{ { 0, 4, 1, 2 }, 8, true },
		{ { 0, 4, 1, 2 }, 7, false },
		{ { 0, 3, 1, 2 }, 8, false },
		{ { 0, 0, 1, 2 }, 4, false },
		{ { 4095, 2, 7 }, 6, false },
		{ { 65535, 1, 7 }, 5, false },
		{ { 0, 65535, 7 }, 6, false },
		{ { 5 }, 2, false },
	};
	uint8_t bytes[64];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK_AT(adsm_diff_is_valid((const uint8_t *)cases[i].words, cases[i].size, 4096), i, cases[i].valid);
	for (int round = 0; round < 100000; round++) {
		size_t size = draw() % sizeof(bytes);

		for (size_t at = 0; at < size; at++)
			bytes[at] = draw() % 3 ? 0 : (uint8_t)draw();
		if (adsm_diff_is_valid(bytes, size, 4096))
			adsm_diff_patch(page, bytes, size);
	}
}

int main(void)
{
	static const size_t sizes[] = { 64, 2048, 4096, LARGEST };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		page_size = sizes[i];
		memcpy(page, twin, page_size);
		test_edges();
		test_several();
	}
	test_invalid();
	return 0;
}
