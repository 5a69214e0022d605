/* SPDX-License-Identifier: MIT */
/* node/exchange/exchange.c - exchanges pages between two launches. */
#include "exchange.h"

#include "cluster/node/pages/pages.h"

#include <mpi.h>
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

/* Exchange the pages that not all nodes get: from each writer to each reader, all at the same time. */
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
	/* Each node begins with another receiver, so that not all send to the same node. */
	for (int i = 1; i < adsm_comm.n; i++) {
		int r = (me + i) % adsm_comm.n;

		adsm_move_send(r, &to[r]);
		adsm_runs_clear(&to[r]);
	}
	adsm_move_wait();
}

/* Set the state of a segment's pages on this node after the exchange. Pages that the node gets have come. */
static void settle(const struct adsm_segment *segment, struct adsm_runs *untouched)
{
	const struct adsm_run run = { segment->first, segment->n };

	if (segment->writer == adsm_comm.rank && !(segment->flags & ADSM_SEGMENT_SEVERAL))
		return;
	if (!adsm_segment_goes_to(segment, adsm_comm.rank)) {
		adsm_pages_invalidate(run);
	} else if (adsm_comm.rank && (segment->flags & ADSM_SEGMENT_PROBE)) {
		adsm_pages_arrived(run, false);
		adsm_runs_insert(untouched, run);
	} else {
		adsm_pages_arrived(run, true);
	}
}

void adsm_exchange(const struct adsm_segment *v, size_t n, const struct adsm_run *wrote, size_t n_wrote,
		   enum adsm_collective collective, struct adsm_runs *untouched)
{
	unsigned flags = 0, all = ADSM_SEGMENT_ALL;

	for (size_t i = 0; i < n; i++) {
		flags |= v[i].flags;
		all &= v[i].flags;
	}
	if (flags & ADSM_SEGMENT_SEVERAL)
		adsm_diffs_merge(v, n, wrote, n_wrote);
	if (flags & ADSM_SEGMENT_ALL)
		adsm_exchange_collective(v, n, collective);
	if (!all)
		exchange_pairs(v, n);
	for (size_t i = 0; i < n; i++)
		settle(&v[i], untouched);
}

/* ---- small sets of pages, inline in letters */

/* Does this node get the segment from node 0, which has all pages? */
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
			struct adsm_runs *untouched)
{
	for (size_t i = 0; i < n; i++) {
		const size_t size = v[i].n * ADSM_PAGE_SIZE;

		if (is_for(&v[i], adsm_comm.rank))
			memcpy(adsm_pages_alias(v[i].first), adsm_pack_take(letter, at, size, 64), size);
		settle(&v[i], untouched);
	}
}

/*
 * ---- Pages that all nodes get, by collective operations of MPI: one Allgatherv, or one broadcast from each node. They
 * are split into rounds, which limits memory and time.
 */

#define ROUND_PAGES 8192		/* of all nodes together: 32 MiB */

/* Iterates over the pages of one writer. */
struct walk {
	const struct adsm_segment *v;
	size_t n, i;
	uint64_t offset;
	int writer;
};

/* The next run, of at most @most pages. Returns false at the end. */
static bool next_run(struct walk *walk, uint64_t most, struct adsm_run *ret_run)
{
	while (walk->i < walk->n && (walk->v[walk->i].writer != walk->writer ||
				     !(walk->v[walk->i].flags & ADSM_SEGMENT_ALL)))
		walk->i++;
	if (walk->i == walk->n)
		return false;
	ret_run->first = walk->v[walk->i].first + walk->offset;
	ret_run->n = walk->v[walk->i].n - walk->offset;
	if (ret_run->n > most) {
		ret_run->n = most;
		walk->offset += most;
	} else {
		walk->i++;
		walk->offset = 0;
	}
	return true;
}

/* Copy the next pages to the buffer (@pack) or from it. Returns the number of pages. */
static uint64_t copy(struct walk *walk, uint64_t most, uint8_t *buffer, bool pack)
{
	struct adsm_run run;
	uint64_t n = 0;

	while (n < most && next_run(walk, most - n, &run)) {
		uint8_t *alias = adsm_pages_alias(run.first), *at = buffer + n * ADSM_PAGE_SIZE;

		if (pack)
			memcpy(at, alias, run.n * ADSM_PAGE_SIZE);
		else
			memcpy(alias, at, run.n * ADSM_PAGE_SIZE);
		n += run.n;
	}
	return n;
}

static void all_gather(struct walk *walks, uint64_t *left, uint8_t *buffer)
{
	const uint64_t share = ROUND_PAGES / (uint64_t)adsm_comm.n + 1;
	static int *sizes, *places;
	MPI_Request request;
	uint64_t all = 1;

	if (!sizes) {
		sizes = adsm_node_table((size_t)adsm_comm.n * sizeof(*sizes));
		places = adsm_node_table((size_t)adsm_comm.n * sizeof(*places));
	}
	for (;;) {
		all = 0;
		for (int r = 0; r < adsm_comm.n; r++) {
			uint64_t pages = left[r] < share ? left[r] : share;

			sizes[r] = (int)(pages * ADSM_PAGE_SIZE);
			places[r] = (int)(all * ADSM_PAGE_SIZE);
			all += pages;
			left[r] -= pages;
			if (r == adsm_comm.rank)
				copy(&walks[r], pages, buffer + places[r], true);
		}
		if (!all)
			return;
		MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, buffer, sizes, places, MPI_BYTE, MPI_COMM_WORLD,
				&request);
		adsm_wait_for(&request);
		for (int r = 0; r < adsm_comm.n; r++) {
			if (r != adsm_comm.rank)
				copy(&walks[r], (uint64_t)sizes[r] / ADSM_PAGE_SIZE, buffer + places[r], false);
		}
	}
}

static void broadcast(struct walk *walk, uint64_t left, uint8_t *buffer)
{
	while (left) {
		const uint64_t pages = left < ROUND_PAGES ? left : ROUND_PAGES;
		const bool mine = walk->writer == adsm_comm.rank;
		MPI_Request request;

		if (mine)
			copy(walk, pages, buffer, true);
		MPI_Ibcast(buffer, (int)(pages * ADSM_PAGE_SIZE), MPI_BYTE, walk->writer, MPI_COMM_WORLD, &request);
		adsm_wait_for(&request);
		if (!mine)
			copy(walk, pages, buffer, false);
		left -= pages;
	}
}

void adsm_exchange_collective(const struct adsm_segment *v, size_t n, enum adsm_collective collective)
{
	static struct walk *walks;
	static uint64_t *left;
	static uint8_t *buffer;

	if (!walks) {
		walks = adsm_node_table((size_t)adsm_comm.n * sizeof(*walks));
		left = adsm_node_table((size_t)adsm_comm.n * sizeof(*left));
		buffer = adsm_node_memory(NULL, (ROUND_PAGES + (size_t)adsm_comm.n) * ADSM_PAGE_SIZE);
	}
	for (int r = 0; r < adsm_comm.n; r++) {
		walks[r] = (struct walk){ .v = v, .n = n, .writer = r };
		left[r] = 0;
	}
	for (size_t i = 0; i < n; i++)
		left[v[i].writer] += v[i].flags & ADSM_SEGMENT_ALL ? v[i].n : 0;
	if (collective == ADSM_COLLECTIVE_ALLGATHERV) {
		all_gather(walks, left, buffer);
		return;
	}
	for (int r = 0; r < adsm_comm.n; r++)
		broadcast(&walks[r], left[r], buffer);
}
