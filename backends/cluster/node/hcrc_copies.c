/* SPDX-License-Identifier: MIT */
/* hcrc_copies.c - see hcrc_copies.h. */
#include "hcrc_copies.h"

#include "hcrc_node.h"
#include "hcrc_sharing.h"

#include <string.h>

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

/* Without an error; else it does not return. */
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

/* Of this process's memory what there is of the page. */
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

/* There is no memory that all nodes reach. */
static uint8_t *reach(struct adsm_copies *pages, uint64_t address, uint64_t size, bool write)
{
	const struct adsm_hcrc_memory *memory = pages->arg;

	memory->refuse(pages->worker, "does an atomic operation on memory of which workers on several nodes have "
		       "copies: guard what they share by ADSM_LOCK");
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
