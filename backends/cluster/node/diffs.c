/* SPDX-License-Identifier: MIT */
/*
 * node/diffs.c - pages that several nodes wrote in one launch come together on node 0: as byte-exact differences to
 * what they were at its start, and whole where the node has not kept that.
 */
#include "diffs.h"

#include "comm.h"

#include <string.h>

#define LETTER_SIZE ((size_t)4 << 20)

struct head {
	uint32_t last;			/* of this node's letters */
	uint32_t unused;
};

struct entry {
	uint64_t page;
	uint32_t size, whole;
	uint8_t bytes[];
};

static size_t entry_size(size_t size)
{
	return sizeof(struct entry) + ((size + 7) & ~(size_t)7);
}

static uint8_t *letter;
static size_t used;

static void send_letter(bool last)
{
	*(struct head *)letter = (struct head){ .last = last };
	adsm_comm_send(0, ADSM_TAG_DIFFS, letter, used);
	used = sizeof(struct head);
}

static void add_page(uint64_t page)
{
	struct entry *entry;

	if (used + entry_size(ADSM_DIFF_MAX) > LETTER_SIZE)
		send_letter(false);
	entry = (struct entry *)(letter + used);
	entry->page = page;
	entry->whole = !adsm_pages_has_twin(page);
	entry->size = entry->whole ? ADSM_PAGE_SIZE : (uint32_t)adsm_pages_diff(page, entry->bytes);
	if (entry->whole)
		memcpy(entry->bytes, adsm_pages_alias(page), ADSM_PAGE_SIZE);
	used += entry_size(entry->size);
}

static void send_all(const struct adsm_segment *v, size_t n, const struct adsm_run *wrote, size_t n_wrote)
{
	size_t w = 0;

	if (!letter)
		letter = adsm_node_memory(NULL, LETTER_SIZE);
	used = sizeof(struct head);
	for (size_t i = 0; i < n; i++) {
		const uint64_t end = v[i].first + v[i].n;

		if (!(v[i].flags & ADSM_SEGMENT_SEVERAL))
			continue;
		while (w < n_wrote && wrote[w].first + wrote[w].n <= v[i].first)
			w++;
		for (size_t k = w; k < n_wrote && wrote[k].first < end; k++) {
			uint64_t from = wrote[k].first > v[i].first ? wrote[k].first : v[i].first;
			uint64_t to = wrote[k].first + wrote[k].n < end ? wrote[k].first + wrote[k].n : end;

			for (uint64_t page = from; page < to; page++)
				add_page(page);
		}
	}
	send_letter(true);
}

static void merge_letter(const struct adsm_letter *received)
{
	const uint8_t *data = received->data;
	size_t at = sizeof(struct head);

	while (at < received->size) {
		const struct entry *entry = (const struct entry *)(data + at);

		if (received->size - at < sizeof(*entry) || entry->size > received->size - at - sizeof(*entry))
			adsm_comm_fail("what node %d sent of its changes is cut off", received->from);
		if (entry->whole)
			adsm_pages_merge(entry->page, entry->bytes);
		else if (adsm_pages_patch(entry->page, entry->bytes, entry->size))
			adsm_comm_fail("what node %d sent of its changes is damaged", received->from);
		at += entry_size(entry->size);
	}
}

void adsm_diffs_merge(const struct adsm_segment *v, size_t n, const struct adsm_run *wrote, size_t n_wrote)
{
	int waiting = adsm_comm.n - 1;
	struct adsm_letter received;

	if (adsm_comm.rank) {
		send_all(v, n, wrote, n_wrote);
		return;
	}
	while (waiting) {
		/* A node may have answered to a request meanwhile. */
		if (!adsm_comm_receive_only(ADSM_TAG_DIFFS, &received)) {
			adsm_comm_rest(ADSM_COMM_BUSY_NS);
			continue;
		}
		waiting -= ((const struct head *)received.data)->last != 0;
		merge_letter(&received);
		adsm_comm_drop(&received);
	}
}
