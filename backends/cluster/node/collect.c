/* SPDX-License-Identifier: MIT */
/*
 * node/collect.c - pages that all nodes get, by collective operations of MPI: one Allgatherv, or one broadcast from
 * each node. In rounds, so that a round is bounded in memory and in time.
 */
#include "collect.h"

#include "comm.h"
#include "pages.h"
#include "wait.h"

#include <mpi.h>
#include <string.h>

#define ROUND_PAGES 8192		/* of all nodes together: 32 MiB */

/* A walk through the pages of one writer. */
struct walk {
	const struct adsm_segment *v;
	size_t n, i;
	uint64_t offset;
	int writer;
};

/* The next run of at most so many pages; false: there is none. */
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

/* Between the pages that come next and a buffer; returns how many. */
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

void adsm_collect(const struct adsm_segment *v, size_t n, enum adsm_collective collective)
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
