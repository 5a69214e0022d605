/* SPDX-License-Identifier: MIT */
/* node/inside.c - what nodes wrote, inside of letters. */
#include "inside.h"

#include "diffs.h"

#define MOST_PAGES 16			/* of one node */

static struct inside {
	struct adsm_letter letter;	/* .data NULL: none */
	const void *bytes;
	size_t size;
} *kept;				/* by node */

size_t adsm_inside_put(struct adsm_pack *pack, const struct adsm_run *wrote, size_t n)
{
	const uint64_t share = ADSM_INSIDE_ALL / (uint64_t)adsm_comm.n, most = share < MOST_PAGES ? share : MOST_PAGES;
	const size_t before = pack->n;

	if (adsm_runs_pages(wrote, n) > most)
		return 0;
	for (size_t i = 0; i < n; i++) {
		for (uint64_t page = wrote[i].first; page < wrote[i].first + wrote[i].n; page++)
			adsm_diffs_put(pack, page);
	}
	return pack->n - before;
}

void adsm_inside_keep(struct adsm_letter *letter, size_t *at, size_t size)
{
	if (!kept)
		kept = adsm_node_table((size_t)adsm_comm.n * sizeof(*kept));
	kept[letter->from] = (struct inside){ *letter, adsm_pack_take(letter, at, size, 8), size };
	letter->data = NULL;
}

void adsm_inside_merge(void)
{
	for (int r = 1; kept && r < adsm_comm.n; r++)
		adsm_diffs_take(r, kept[r].bytes, kept[r].size);
}

void adsm_inside_drop(void)
{
	for (int r = 1; kept && r < adsm_comm.n; r++) {
		adsm_comm_drop(&kept[r].letter);
		kept[r].size = 0;
	}
}
