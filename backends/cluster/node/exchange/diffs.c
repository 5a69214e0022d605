/* SPDX-License-Identifier: MIT */
/* node/exchange/diffs.c - combines on node 0 the pages that several nodes wrote in one launch. Nodes send byte-exact
 * differences to the page at the launch's start, or the whole page if they have no copy of that. */
#include "exchange.h"

#include "cluster/node/pages/pages.h"

#include <string.h>

#define LETTER_SIZE ((size_t)4 << 20)

struct head {
	uint32_t last;			/* 1: the last letter of this node */
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

/* Append to @out the changes that this node made to a page. */
static void put_diff(struct adsm_pack *pack, uint64_t page)
{
	const size_t before = pack->n;
	struct entry *entry = adsm_pack_room(pack, entry_size(ADSM_PAGES_DIFF_MAX), 8);
	size_t size = adsm_pages_has_twin(page) ? adsm_pages_diff(page, entry->bytes) : ADSM_PAGE_SIZE + 1;

	/* Node 0 can find the differences in a whole page, too. */
	entry->page = page;
	entry->whole = size > ADSM_PAGE_SIZE;
	if (entry->whole)
		memcpy(entry->bytes, adsm_pages_alias(page), size = ADSM_PAGE_SIZE);
	entry->size = (uint32_t)size;
	pack->n = before + entry_size(size);
}

/* Node 0: apply all changes of another node in these bytes, which are aligned to 8. */
static void take_diffs(int from, const void *data, size_t size)
{
	for (size_t at = 0; at < size;) {
		const struct entry *entry = (const struct entry *)((const uint8_t *)data + at);

		if (size - at < sizeof(*entry) || entry->size > size - at - sizeof(*entry) ||
		    (entry->whole && entry->size != ADSM_PAGE_SIZE))
			adsm_comm_fail("the changes that node %d sent are truncated", from);
		if (entry->whole)
			adsm_pages_merge(entry->page, entry->bytes);
		else if (adsm_pages_patch(entry->page, entry->bytes, entry->size))
			adsm_comm_fail("the changes that node %d sent are damaged", from);
		at += entry_size(entry->size);
	}
}

/* ---- in an exchange */

static struct adsm_pack pack;

static void begin_letter(void)
{
	pack.n = 0;
	adsm_pack_put(&pack, &(struct head){ 0 }, sizeof(struct head), 8);
}

static void send_letter(bool last)
{
	((struct head *)pack.data)->last = last;
	adsm_comm_send(0, ADSM_TAG_DIFFS, pack.data, pack.n);
}

static void add_page(uint64_t page)
{
	if (pack.n + entry_size(ADSM_PAGES_DIFF_MAX) > LETTER_SIZE) {
		send_letter(false);
		begin_letter();
	}
	put_diff(&pack, page);
}

static void send_all(const struct adsm_segment *v, size_t n, const struct adsm_run *wrote, size_t n_wrote)
{
	size_t w = 0;

	begin_letter();
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

void adsm_diffs_merge(const struct adsm_segment *v, size_t n, const struct adsm_run *wrote, size_t n_wrote)
{
	int waiting = adsm_comm.n - 1;
	struct adsm_letter received;

	if (adsm_comm.rank) {
		send_all(v, n, wrote, n_wrote);
		return;
	}
	while (waiting) {
		/* Only DIFFS: a node may have sent the answer to a request meanwhile. */
		if (!adsm_comm_receive_only(ADSM_TAG_DIFFS, &received)) {
			adsm_comm_rest(ADSM_COMM_BUSY_NS);
			continue;
		}
		waiting -= ((const struct head *)received.data)->last != 0;
		take_diffs(received.from, (const uint8_t *)received.data + sizeof(struct head),
			   received.size - sizeof(struct head));
		adsm_comm_drop(&received);
	}
}

/* ---- written pages inline in DONE letters */

#define MOST_PAGES 16			/* maximum for one node */

static struct inline_letter {
	struct adsm_letter letter;	/* data NULL: no letter */
	const void *bytes;
	size_t size;
} *letters;				/* one for each node */

size_t adsm_inline_put(struct adsm_pack *pack, const struct adsm_run *wrote, size_t n)
{
	const uint64_t share = ADSM_INLINE_PAGES / (uint64_t)adsm_comm.n;
	const uint64_t most = share < MOST_PAGES ? share : MOST_PAGES;
	const size_t before = pack->n;

	if (adsm_runs_pages(wrote, n) > most)
		return 0;
	for (size_t i = 0; i < n; i++) {
		for (uint64_t page = wrote[i].first; page < wrote[i].first + wrote[i].n; page++)
			put_diff(pack, page);
	}
	return pack->n - before;
}

void adsm_inline_keep(struct adsm_letter *letter, size_t *at, size_t size)
{
	if (!letters)
		letters = adsm_node_table((size_t)adsm_comm.n * sizeof(*letters));
	letters[letter->from] = (struct inline_letter){ *letter, adsm_pack_take(letter, at, size, 8), size };
	letter->data = NULL;
}

void adsm_inline_merge(void)
{
	for (int r = 1; letters && r < adsm_comm.n; r++)
		take_diffs(r, letters[r].bytes, letters[r].size);
}

void adsm_inline_drop(void)
{
	for (int r = 1; letters && r < adsm_comm.n; r++) {
		adsm_comm_drop(&letters[r].letter);
		letters[r].size = 0;
	}
}
