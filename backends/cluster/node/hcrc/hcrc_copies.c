/* SPDX-License-Identifier: MIT */
/* hcrc_copies.c - see hcrc_copies.h. */
#include "hcrc_copies.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "hcrc_node.h"
#include "base/os.h"

static bool is_shared(const struct adsm_copies *pages, uint64_t address)
{
	const struct adsm_hcrc_memory *memory = pages->arg;

	return address - memory->begin < memory->end - memory->begin ||
		address - memory->heap < memory->heap_end - memory->heap;
}

static uint32_t number_of(const struct adsm_copies *pages, uint64_t page)
{
	return adsm_hcrc_number(pages->arg, page, pages->page);
}

/* Leave the task after an error: then this does not return. */
static void check(const struct adsm_copies *pages, int error)
{
	const struct adsm_hcrc_memory *memory = pages->arg;

	if (error)
		memory->leave(pages->worker);
}

static bool may(const struct adsm_copies *pages, uint64_t address, uint64_t size, bool write)
{
	const struct adsm_hcrc_memory *memory = pages->arg;

	if (is_shared(pages, address))
		return true;
	for (int i = 0; i < 2 && !write; i++)
		if (address - memory->readable[i].begin < memory->readable[i].end - memory->readable[i].begin)
			return true;
	return false;
}

/* Copy the part of the page that is in this process's readable memory. */
static void copy_readable(const struct adsm_copies *pages, uint64_t page, uint8_t *bytes)
{
	const struct adsm_hcrc_memory *memory = pages->arg;

	for (int i = 0; i < 2; i++) {
		uint64_t begin = memory->readable[i].begin, end = memory->readable[i].end;

		begin = begin > page ? begin : page;
		end = end < page + pages->page ? end : page + pages->page;
		if (begin < end)
			memcpy(bytes + (begin - page), (const void *)(uintptr_t)begin, end - begin);
	}
}

static uint64_t fetch(struct adsm_copies *pages, uint64_t page, uint8_t *bytes, uint8_t *twin, bool write)
{
	const uint32_t number = number_of(pages, page);

	if (!is_shared(pages, page))
		copy_readable(pages, page, bytes);
	else if (write)
		check(pages, adsm_hcrc_node_write(pages->worker, number, bytes, false));
	else
		check(pages, adsm_hcrc_node_read(pages->worker, number, bytes));
	if (pages->counted && is_shared(pages, page) && adsm_hcrc_sharing_fetched(pages->worker, number, bytes))
		pages->counts.shared_falsely++;
	return 0;
}

static void own(struct adsm_copies *pages, uint64_t page, uint8_t *bytes, uint8_t *twin)
{
	check(pages, adsm_hcrc_node_write(pages->worker, number_of(pages, page), bytes, true));
}

static bool send(struct adsm_copies *pages, uint64_t page, const uint8_t *bytes, uint8_t *twin, bool keep)
{
	const uint32_t number = number_of(pages, page);

	check(pages, adsm_hcrc_node_put(pages->worker, number, bytes, keep));
	if (pages->counted)
		adsm_hcrc_sharing_put(number);
	return false;
}

static void drop(struct adsm_copies *pages, uint64_t page)
{
	if (is_shared(pages, page))
		adsm_hcrc_node_drop(pages->worker, number_of(pages, page));
}

static void gave_up(struct adsm_copies *pages, uint64_t page, const uint8_t *bytes, uint64_t touched)
{
	adsm_hcrc_sharing_gave_up(pages->worker, number_of(pages, page), bytes, touched);
}

/* There is no memory that all nodes can access. */
static uint8_t *reach(struct adsm_copies *pages, uint64_t address, uint64_t size, bool write)
{
	const struct adsm_hcrc_memory *memory = pages->arg;

	memory->refuse(pages->worker, "does an atomic or volatile access to device memory, which tasks on a cluster do "
		       "not support: protect shared data by ADSM_LOCK");
	return NULL;
}

const struct adsm_copies_below adsm_hcrc_copies = {
	.may = may,
	.fetch = fetch,
	.own = own,
	.send = send,
	.drop = drop,
	.gave_up = gave_up,
	.reach = reach,
};

/*
 * ---- sharing in vain. Each worker has a table of pages that it gave up: how often that was in vain and, until it gets
 * the page again, a checksum of each 64th that it had used. A page replaces another one at the same index: so with many
 * pages not all events are counted, but each counted one has happened.
 */

#define PLACES 256

struct place {
	uint32_t page;			/* number + 1; 0: none */
	uint32_t n;			/* how often it was given up in vain */
	uint64_t touched;		/* 0: the worker has the page */
	uint64_t sums[ADSM_COPIES_BLOCKS];
};

static struct {
	size_t size;			/* bytes of the memory; 0: nothing is counted */
	uint32_t page_size;
	_Atomic uint64_t *written;
	struct place (*places)[PLACES];	/* one table for each worker */
} sharing;

int adsm_hcrc_sharing_begin(uint32_t n_pages, uint32_t page_size)
{
	const size_t places = ADSM_HCRC_WORKERS_MAX * sizeof(*sharing.places);
	const size_t size = places + ((size_t)n_pages + 63) / 64 * sizeof(*sharing.written);
	uint8_t *memory = adsm_os_table(size);

	if (!memory)
		return -ENOMEM;
	sharing.size = size;
	sharing.page_size = page_size;
	sharing.places = (struct place (*)[PLACES])memory;
	sharing.written = (_Atomic uint64_t *)(memory + places);
	return 0;
}

void adsm_hcrc_sharing_end(void)
{
	if (sharing.size)
		munmap(sharing.places, sharing.size);
	sharing.size = 0;
}

/* A checksum: different bytes have different ones, with high probability. */
static uint64_t sum_of(const uint8_t *bytes, uint32_t size)
{
	uint64_t sum = 0, word;

	for (uint32_t i = 0; i < size; i += (uint32_t)sizeof(word)) {
		memcpy(&word, bytes + i, sizeof(word));
		sum = (sum ^ word) * UINT64_C(0x9e3779b97f4a7c15);
		sum ^= sum >> 32;
	}
	return sum;
}

void adsm_hcrc_sharing_gave_up(uint32_t worker, uint32_t page, const uint8_t *bytes, uint64_t touched)
{
	struct place *place = &sharing.places[worker][page % PLACES];
	const uint32_t block = sharing.page_size / ADSM_COPIES_BLOCKS;

	if (place->page != page + 1)
		*place = (struct place){ .page = page + 1 };
	place->touched = touched;
	for (; touched; touched &= touched - 1) {
		const uint32_t i = (uint32_t)__builtin_ctzll(touched);

		place->sums[i] = sum_of(bytes + (size_t)i * block, block);
	}
}

bool adsm_hcrc_sharing_fetched(uint32_t worker, uint32_t page, const uint8_t *bytes)
{
	struct place *place = &sharing.places[worker][page % PLACES];
	const uint32_t block = sharing.page_size / ADSM_COPIES_BLOCKS;
	uint64_t touched = place->touched;
	bool changed = false;

	if (place->page != page + 1 || !touched)
		return false;
	place->touched = 0;
	for (; touched && !changed; touched &= touched - 1) {
		const uint32_t i = (uint32_t)__builtin_ctzll(touched);

		changed = place->sums[i] != sum_of(bytes + (size_t)i * block, block);
	}
	place->n += !changed;
	return !changed;
}

void adsm_hcrc_sharing_put(uint32_t page)
{
	atomic_fetch_or_explicit(&sharing.written[page / 64], (uint64_t)1 << page % 64, memory_order_relaxed);
}

struct adsm_hcrc_in_vain adsm_hcrc_sharing_worst(uint32_t n_workers)
{
	struct adsm_hcrc_in_vain worst = { 0, 0, 0 };

	for (uint32_t i = 0; sharing.size && i < n_workers * PLACES; i++) {
		const struct place *place = &sharing.places[i / PLACES][i % PLACES];

		if (place->n > worst.n)
			worst = (struct adsm_hcrc_in_vain){ place->page - 1, place->n, i / PLACES };
	}
	return worst;
}

const uint64_t *adsm_hcrc_sharing_written(void)
{
	return sharing.size ? (const uint64_t *)sharing.written : NULL;
}
