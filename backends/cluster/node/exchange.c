/* SPDX-License-Identifier: MIT */
/* node/exchange.c - pages change hands between two launches. */
#include "exchange.h"

#include "collect.h"
#include "diffs.h"
#include "move.h"
#include "pages.h"

#include <string.h>

struct adsm_comm_traffic adsm_exchange_traffic(const struct adsm_segment *v, size_t n)
{
	static bool *pairs, *to_all;
	struct adsm_comm_traffic traffic = { 0 };
	const size_t nodes = (size_t)adsm_comm.n;

	if (!pairs) {
		pairs = adsm_node_table(nodes * nodes);
		to_all = adsm_node_table(nodes);
	}
	memset(pairs, 0, nodes * nodes);
	memset(to_all, 0, nodes);
	for (size_t i = 0; i < n; i++) {
		bool all = v[i].flags & ADSM_SEGMENT_ALL;

		to_all[v[i].writer] |= all && nodes > 1;
		for (size_t r = 0; r < nodes; r++) {
			if (r == v[i].writer || !adsm_segment_goes_to(&v[i], (int)r))
				continue;
			pairs[v[i].writer * nodes + r] |= !all;
			traffic.bytes += v[i].n * ADSM_PAGE_SIZE;
		}
	}
	for (size_t i = 0; i < nodes * nodes; i++)
		traffic.messages += pairs[i] + (i < nodes && to_all[i]);
	return traffic;
}

/* What not all get: from each writer to each reader, all at once. */
static void exchange_pairs(const struct adsm_segment *v, size_t n)
{
	static struct adsm_runs *to, *from;
	const int me = adsm_comm.rank;

	if (!to) {
		to = adsm_node_table((size_t)adsm_comm.n * sizeof(*to));
		from = adsm_node_table((size_t)adsm_comm.n * sizeof(*from));
	}
	for (size_t i = 0; i < n; i++) {
		if (v[i].flags & ADSM_SEGMENT_ALL)
			continue;
		if (v[i].writer == me) {
			for (int r = 0; r < adsm_comm.n; r++) {
				if (r != me && adsm_segment_goes_to(&v[i], r))
					adsm_runs_add(&to[r], v[i].first, v[i].n);
			}
		} else if (adsm_segment_goes_to(&v[i], me)) {
			adsm_runs_add(&from[v[i].writer], v[i].first, v[i].n);
		}
	}
	for (int r = 0; r < adsm_comm.n; r++) {
		adsm_move_receive(r, &from[r]);
		adsm_runs_clear(&from[r]);
	}
	/* Each begins with another, so that not all send to the same. */
	for (int i = 1; i < adsm_comm.n; i++) {
		int r = (me + i) % adsm_comm.n;

		adsm_move_send(r, &to[r]);
		adsm_runs_clear(&to[r]);
	}
	adsm_move_wait();
}

/* What this node has of a segment from then on; its bytes are here where they are to be. */
static void settle(const struct adsm_segment *segment, struct adsm_runs *unseen)
{
	const struct adsm_run run = { segment->first, segment->n };

	if (segment->writer == adsm_comm.rank && !(segment->flags & ADSM_SEGMENT_SEVERAL))
		return;
	if (!adsm_segment_goes_to(segment, adsm_comm.rank)) {
		adsm_pages_invalidate(run);
	} else if (adsm_comm.rank && (segment->flags & ADSM_SEGMENT_PROBE)) {
		adsm_pages_arrived(run, false);
		adsm_runs_add(unseen, run.first, run.n);
	} else {
		adsm_pages_arrived(run, true);
	}
}

void adsm_exchange(const struct adsm_segment *v, size_t n, const struct adsm_run *wrote, size_t n_wrote,
		   enum adsm_collective collective, struct adsm_runs *unseen)
{
	unsigned flags = 0, all = ADSM_SEGMENT_ALL;

	for (size_t i = 0; i < n; i++) {
		flags |= v[i].flags;
		all &= v[i].flags;
	}
	if (flags & ADSM_SEGMENT_SEVERAL)
		adsm_diffs_merge(v, n, wrote, n_wrote);
	if (flags & ADSM_SEGMENT_ALL)
		adsm_collect(v, n, collective);
	if (!all)
		exchange_pairs(v, n);
	for (size_t i = 0; i < n; i++)
		settle(&v[i], unseen);
}

/* ---- few pages, inside of letters */

/* Node 0 has them all. */
static bool is_for(const struct adsm_segment *segment, int node)
{
	return adsm_segment_goes_to(segment, node) &&
		(segment->writer != node || (segment->flags & ADSM_SEGMENT_SEVERAL));
}

uint64_t adsm_exchange_pages(const struct adsm_segment *v, size_t n, int to)
{
	uint64_t pages = 0;

	for (size_t i = 0; i < n; i++)
		pages += is_for(&v[i], to) ? v[i].n : 0;
	return pages;
}

void adsm_exchange_put(struct adsm_pack *pack, const struct adsm_segment *v, size_t n, int to)
{
	for (size_t i = 0; i < n; i++) {
		if (is_for(&v[i], to))
			adsm_pack_put(pack, adsm_pages_alias(v[i].first), v[i].n * ADSM_PAGE_SIZE, 64);
	}
}

void adsm_exchange_take(const struct adsm_letter *letter, size_t *at, const struct adsm_segment *v, size_t n,
			struct adsm_runs *unseen)
{
	for (size_t i = 0; i < n; i++) {
		const size_t size = v[i].n * ADSM_PAGE_SIZE;

		if (is_for(&v[i], adsm_comm.rank))
			memcpy(adsm_pages_alias(v[i].first), adsm_pack_take(letter, at, size, 64), size);
		settle(&v[i], unseen);
	}
}
