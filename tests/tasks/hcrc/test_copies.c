/* SPDX-License-Identifier: MIT */
/*
 * test_copies.c - what a worker's cache of pages asks of its node: which memory it may read, the bytes of pages that
 * are only partly readable, and which pages are counted as given up in vain.
 */
#include <errno.h>
#include <stdlib.h>

#include "../../check.h"
#include "cluster/node/hcrc/hcrc_copies.h"
#include "cluster/node/hcrc/hcrc_node.h"

#define PAGE 1024
#define N_PAGES 1000
#define N_TABLES 4		/* pages that hold the constants */

/* ---- in the place of hcrc_node.c, which needs MPI */

static int error;		/* of the next call */
static uint32_t asked;		/* the page of the last one */

int adsm_hcrc_node_read(uint32_t worker, uint32_t page, uint8_t *to)
{
	asked = page;
	memset(to, 'r', PAGE);
	return error;
}

int adsm_hcrc_node_write(uint32_t worker, uint32_t page, uint8_t *to, bool has)
{
	asked = page;
	memset(to, 'w', PAGE);
	return error;
}

int adsm_hcrc_node_put(uint32_t worker, uint32_t page, const uint8_t *bytes, bool keep)
{
	asked = page;
	return error;
}

void adsm_hcrc_node_drop(uint32_t worker, uint32_t page)
{
	asked = page;
}

/* ---- memory */

static _Alignas(PAGE) uint8_t tables[N_TABLES * PAGE], args[PAGE];
static struct adsm_hcrc_memory memory = {
	.begin = 1 << 20, .end = (1 << 20) + 8 * PAGE, .heap = 1 << 24, .heap_end = (1 << 24) + 8 * PAGE,
};
static struct adsm_copies pages = { .arg = &memory, .page = PAGE, .worker = 1 };

static void check_may(uint64_t begin, uint64_t end, bool write)
{
	for (int w = 0; w <= write; w++) {
		CHECK(adsm_hcrc_copies.may(&pages, begin, 1, w) && adsm_hcrc_copies.may(&pages, end - 1, 1, w));
		CHECK(!adsm_hcrc_copies.may(&pages, begin - 1, 1, w) && !adsm_hcrc_copies.may(&pages, end, 1, w));
	}
	CHECK(write || !adsm_hcrc_copies.may(&pages, begin, 1, true));
}

/* Of a page the readable bytes come, wherever the range begins and ends; nothing else is written. */
static void check_readable(const uint8_t *range, uint64_t begin, uint64_t end)
{
	const uint64_t first = (uint64_t)(uintptr_t)range;

	for (uint64_t page = first; page < first + N_TABLES * PAGE && page < end; page += PAGE) {
		uint8_t bytes[3 * PAGE];

		memset(bytes, 0xee, sizeof(bytes));
		adsm_hcrc_copies.fetch(&pages, page, bytes + PAGE, NULL, false);
		for (uint64_t i = 0; i < sizeof(bytes); i++) {
			const uint64_t at = page - PAGE + i;
			const bool in = i / PAGE == 1 && at >= begin && at < end;

			CHECK_EQ(bytes[i], in ? *(const uint8_t *)(uintptr_t)at : 0xee);
		}
	}
}

static void test_memory(void)
{
	const uint64_t at = (uint64_t)(uintptr_t)tables, other = (uint64_t)(uintptr_t)args;
	uint8_t bytes[PAGE];

	for (size_t i = 0; i < sizeof(tables); i++)
		tables[i] = (uint8_t)(i * 7 + i / 256);
	memset(args, 5, sizeof(args));
	memory.readable[0].begin = other + 16;
	memory.readable[0].end = other + 40;
	memory.readable[1].begin = at + 100;
	memory.readable[1].end = at + 3 * PAGE + 11;
	check_may(memory.begin, memory.end, true);
	check_may(memory.heap, memory.heap_end, true);
	for (int i = 0; i < 2; i++)
		check_may(memory.readable[i].begin, memory.readable[i].end, false);
	check_readable(args, memory.readable[0].begin, memory.readable[0].end);
	check_readable(tables, memory.readable[1].begin, memory.readable[1].end);

	adsm_hcrc_copies.fetch(&pages, memory.begin + 3 * PAGE, bytes, NULL, false);
	CHECK(asked == 3 && bytes[0] == 'r');
	adsm_hcrc_copies.fetch(&pages, memory.heap + 2 * PAGE, bytes, NULL, true);
	CHECK(asked == 10 && bytes[0] == 'w');
	adsm_hcrc_copies.drop(&pages, other);
	CHECK_EQ(asked, 10);
	adsm_hcrc_copies.drop(&pages, memory.begin);
	CHECK_EQ(asked, 0);
}

/* ---- pages that are given up in vain */

static void fill(uint8_t *bytes, uint32_t page)
{
	for (uint32_t i = 0; i < PAGE; i++)
		bytes[i] = (uint8_t)(page * 13 + i * 3 + i / 256);
}

static void test_sharing(void)
{
	struct adsm_hcrc_in_vain worst;
	uint8_t bytes[PAGE];

	CHECK(!adsm_hcrc_sharing_written() && !adsm_hcrc_sharing_worst(2).n);
	CHECK(!adsm_hcrc_sharing_begin(N_PAGES, PAGE));
	/* Each worker remembers 256 pages: as many numbers in order all have places of their own. */
	for (uint32_t page = 300; page < 556; page++) {
		fill(bytes, page);
		adsm_hcrc_sharing_gave_up(1, page, bytes, 1ull << 63 | 1 << 4 | 1);
	}
	for (uint32_t page = 300; page < 556; page++) {
		fill(bytes, page);
		CHECK(!adsm_hcrc_sharing_fetched(0, page, bytes));
		bytes[PAGE / 2] ^= 1;	/* the worker had not used that */
		CHECK(adsm_hcrc_sharing_fetched(1, page, bytes));
		CHECK(!adsm_hcrc_sharing_fetched(1, page, bytes));	/* it has not given it up again */
	}
	/* What it had used has changed, in the first, a middle and the last block. */
	for (int i = 0; i < 3; i++) {
		const uint32_t at[] = { 0, 4 * (PAGE / 64) + 15, PAGE - 1 };

		fill(bytes, 400);
		adsm_hcrc_sharing_gave_up(1, 400, bytes, 1ull << 63 | 1 << 4 | 1);
		bytes[at[i]] ^= 1;
		CHECK(!adsm_hcrc_sharing_fetched(1, 400, bytes));
	}
	adsm_hcrc_sharing_gave_up(1, 400, bytes, 2);
	CHECK(adsm_hcrc_sharing_fetched(1, 400, bytes));
	worst = adsm_hcrc_sharing_worst(2);
	CHECK(worst.page == 400 && worst.n == 2 && worst.worker == 1);
	CHECK(!adsm_hcrc_sharing_worst(1).n);
	/* A page takes the place of the one with 256 less, and counts from 0. */
	adsm_hcrc_sharing_gave_up(1, 656, bytes, 1);
	CHECK(!adsm_hcrc_sharing_fetched(1, 400, bytes) && adsm_hcrc_sharing_fetched(1, 656, bytes));
	CHECK_EQ(adsm_hcrc_sharing_worst(2).n, 1);

	adsm_hcrc_sharing_put(0);
	adsm_hcrc_sharing_put(65);
	adsm_hcrc_sharing_put(N_PAGES - 1);
	CHECK(adsm_hcrc_sharing_written()[0] == 1 && adsm_hcrc_sharing_written()[1] == 2);
	CHECK(adsm_hcrc_sharing_written()[15] == 1ull << 39);
	adsm_hcrc_sharing_end();
	CHECK(!adsm_hcrc_sharing_written());
	/* Another task begins with nothing. */
	CHECK(!adsm_hcrc_sharing_begin(N_PAGES, PAGE));
	CHECK(!adsm_hcrc_sharing_worst(2).n && !adsm_hcrc_sharing_written()[0]);
	adsm_hcrc_sharing_end();
}

int main(void)
{
	test_memory();
	test_sharing();
	return 0;
}
