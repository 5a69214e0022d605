/* SPDX-License-Identifier: MIT */
/* node/exchange/sums.c - finds which node wrote which page as CUDA-For-Clusters does. */
#include "exchange.h"

#include <mpi.h>
#include <string.h>

#define ROUND_PAGES ((uint64_t)16 << 20)

static uint16_t *vector;
static uint64_t room;

static void set_vector(const struct adsm_runs *global, const struct adsm_run *wrote, size_t n_wrote)
{
	uint64_t number = 0;			/* number of the run's first page in the vector */
	size_t w = 0;

	for (size_t i = 0; i < global->n; i++) {
		const struct adsm_run *run = &global->v[i];

		/* Adjacent objects: a written run may cross the border between two of them. */
		while (w < n_wrote && wrote[w].first + wrote[w].n <= run->first)
			w++;
		for (size_t k = w; k < n_wrote && wrote[k].first < run->first + run->n; k++) {
			uint64_t from = wrote[k].first > run->first ? wrote[k].first : run->first;
			uint64_t to = wrote[k].first + wrote[k].n;

			for (; from < to && from < run->first + run->n; from++)
				vector[number + from - run->first] = 1;
		}
		number += run->n;
	}
}

/* The runs that each node wrote. */
static const struct adsm_runs *all_written_runs(const struct adsm_run *wrote, size_t n_wrote)
{
	static struct adsm_runs *by_node;
	static int *sizes, *places;
	static struct adsm_runs all;
	int size = (int)(n_wrote * sizeof(*wrote)), end = 0;
	MPI_Request request;

	if (!by_node) {
		by_node = adsm_node_table((size_t)adsm_comm.n * sizeof(*by_node));
		sizes = adsm_node_table((size_t)adsm_comm.n * sizeof(*sizes));
		places = adsm_node_table((size_t)adsm_comm.n * sizeof(*places));
	}
	MPI_Iallgather(&size, 1, MPI_INT, sizes, 1, MPI_INT, MPI_COMM_WORLD, &request);
	adsm_wait_for(&request);
	for (int r = 0; r < adsm_comm.n; r++) {
		places[r] = end;
		end += sizes[r];
	}
	all.v = adsm_node_memory(all.v, (size_t)end);
	MPI_Iallgatherv(wrote, size, MPI_BYTE, all.v, sizes, places, MPI_BYTE, MPI_COMM_WORLD, &request);
	adsm_wait_for(&request);
	for (int r = 0; r < adsm_comm.n; r++) {
		by_node[r].v = all.v + (size_t)places[r] / sizeof(*all.v);
		by_node[r].n = (size_t)sizes[r] / sizeof(*all.v);
	}
	return by_node;
}

void adsm_sums_plan(const struct adsm_runs *global, const struct adsm_run *wrote, size_t n_wrote,
		    struct adsm_segments *out, struct adsm_plan_counts *ret_counts)
{
	const uint64_t n = adsm_runs_pages(global->v, global->n);
	struct adsm_plan_counts counts = { 0 };

	if (n > room) {
		room = n;
		vector = adsm_node_memory(vector, n * sizeof(*vector));
	}
	memset(vector, 0, n * sizeof(*vector));
	set_vector(global, wrote, n_wrote);
	for (uint64_t i = 0; i < n; i += ROUND_PAGES) {
		MPI_Request request;

		MPI_Iallreduce(MPI_IN_PLACE, vector + i, (int)(n - i < ROUND_PAGES ? n - i : ROUND_PAGES),
			       MPI_UINT16_T, MPI_SUM, MPI_COMM_WORLD, &request);
		adsm_wait_for(&request);
	}
	adsm_plan_kernel(all_written_runs(wrote, n_wrote), out, ret_counts);
	for (uint64_t i = 0; i < n; i++) {
		counts.single += vector[i] == 1;
		counts.multi += vector[i] > 1;
	}
	if (counts.single != ret_counts->single || counts.multi != ret_counts->multi)
		adsm_comm_fail("nodes wrote %lu pages by the sum of their vectors, but %lu pages by their lists",
			       counts.single + counts.multi, ret_counts->modified);
}
