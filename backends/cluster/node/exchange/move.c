/* SPDX-License-Identifier: MIT */
/* node/exchange/move.c - moves pages between the nodes of a cluster. A message is a piece of a list of runs, described
 * to MPI by a datatype of its own: MPI reads and writes the aliases directly, without a copy if possible. */
#include "exchange.h"

#include "cluster/node/net/doorbell.h"
#include "cluster/node/pages/pages.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#define PIECE_PAGES 2048		/* 8 MiB: all messages are smaller than MPI's 2 GiB */
#define PIECE_RUNS 1024
#define AT_ONCE_PAGES 16		/* MPI sends this without a handshake, see adsm_cluster_prepare() */

enum { TAG_EXCHANGE = 1, TAG_FETCH };

struct fetch {
	MPI_Request request;
	struct adsm_run run;
};

/* Pages that node 0 sends to a node that requested them. */
struct serving {
	MPI_Request request;
	uint8_t *bytes;
};

static struct {
	MPI_Request *requests;
	size_t n, room;
	struct fetch *fetches;
	size_t n_fetches, room_fetches;
	struct serving *servings;
	size_t n_servings, room_servings;
} move;

/* ---- in an exchange */

/* Take the next piece of a list, from page @offset of run *@i on, as a datatype relative to the alias of page 0. */
static void take_piece(const struct adsm_runs *runs, size_t *i, uint64_t *offset, MPI_Datatype *ret_type)
{
	static int lengths[PIECE_RUNS];
	static MPI_Aint places[PIECE_RUNS];
	uint64_t pages = 0;
	int n = 0;

	while (*i < runs->n && pages < PIECE_PAGES && n < PIECE_RUNS) {
		const struct adsm_run *run = &runs->v[*i];
		uint64_t rest = run->n - *offset;
		uint64_t m = rest < PIECE_PAGES - pages ? rest : PIECE_PAGES - pages;

		lengths[n] = (int)(m * ADSM_PAGE_SIZE);
		places[n++] = adsm_pages_alias(run->first + *offset) - adsm_pages_alias(0);
		pages += m;
		*offset += m;
		if (*offset == run->n) {
			*offset = 0;
			++*i;
		}
	}
	MPI_Type_create_hindexed(n, lengths, places, MPI_BYTE, ret_type);
	MPI_Type_commit(ret_type);
}

static MPI_Request *new_request(void)
{
	move.requests = adsm_node_grow(move.requests, move.n, &move.room, sizeof(*move.requests));
	return &move.requests[move.n++];
}

void adsm_move_send(int to, const struct adsm_runs *runs)
{
	uint64_t offset = 0;
	MPI_Datatype type;

	for (size_t i = 0; i < runs->n;) {
		take_piece(runs, &i, &offset, &type);
		MPI_Isend(adsm_pages_alias(0), 1, type, to, TAG_EXCHANGE, MPI_COMM_WORLD, new_request());
		MPI_Type_free(&type);
		adsm_doorbell_ring(to);
	}
}

void adsm_move_receive(int from, const struct adsm_runs *runs)
{
	uint64_t offset = 0;
	MPI_Datatype type;

	for (size_t i = 0; i < runs->n;) {
		take_piece(runs, &i, &offset, &type);
		MPI_Irecv(adsm_pages_alias(0), 1, type, from, TAG_EXCHANGE, MPI_COMM_WORLD, new_request());
		MPI_Type_free(&type);
	}
}

void adsm_move_wait(void)
{
	static int *which;
	static size_t n_which;
	int left = (int)move.n, n;

	if (move.room > n_which) {
		n_which = move.room;
		which = adsm_node_memory(which, n_which * sizeof(*which));
	}
	while (left) {
		MPI_Testsome((int)move.n, move.requests, &n, which, MPI_STATUSES_IGNORE);
		/* Other nodes may have no part in this exchange, and wait for node 0. */
		adsm_comm_beat();
		if (n > 0) {
			left -= n;
			adsm_comm_active();
		} else {
			adsm_comm_rest(ADSM_COMM_BUSY_NS);
		}
	}
	move.n = 0;
	adsm_comm_active();
}

/* ---- while kernels run */

void adsm_move_fetch(struct adsm_run run)
{
	struct fetch *fetch;

	move.fetches = adsm_node_grow(move.fetches, move.n_fetches, &move.room_fetches, sizeof(*move.fetches));
	fetch = &move.fetches[move.n_fetches++];
	fetch->run = run;
	/* Answers come in the order of the requests. */
	MPI_Irecv(adsm_pages_alias(run.first), (int)(run.n * ADSM_PAGE_SIZE), MPI_BYTE, 0, TAG_FETCH, MPI_COMM_WORLD,
		  &fetch->request);
	adsm_comm_send(0, ADSM_TAG_WANT, &run, sizeof(run));
}

bool adsm_move_fetched(struct adsm_run *ret_run)
{
	static uint32_t last_count;

	if (!move.n_fetches || !adsm_comm_may_have(&last_count))
		return false;
	for (size_t i = 0; i < move.n_fetches; i++) {
		int done = 0;

		MPI_Test(&move.fetches[i].request, &done, MPI_STATUS_IGNORE);
		if (!done)
			continue;
		*ret_run = move.fetches[i].run;
		/* Keep the order, which is that of the answers. */
		move.n_fetches--;
		memmove(&move.fetches[i], &move.fetches[i + 1], (move.n_fetches - i) * sizeof(*move.fetches));
		adsm_comm_active();
		/* More answers may have come. */
		last_count--;
		return true;
	}
	/* Many pages arrive only while node 0 polls MPI; few pages were sent completely at once. */
	if (move.fetches[0].run.n > AT_ONCE_PAGES)
		adsm_doorbell_ring(0);
	return false;
}

size_t adsm_move_n_fetches(void)
{
	return move.n_fetches;
}

static void drop_served(void)
{
	for (size_t i = 0; i < move.n_servings;) {
		int done = 0;

		MPI_Test(&move.servings[i].request, &done, MPI_STATUS_IGNORE);
		if (!done) {
			i++;
			continue;
		}
		free(move.servings[i].bytes);
		move.servings[i] = move.servings[--move.n_servings];
	}
}

void adsm_move_serve(int to, struct adsm_run run)
{
	struct serving *serving;

	drop_served();
	move.servings = adsm_node_grow(move.servings, move.n_servings, &move.room_servings, sizeof(*move.servings));
	serving = &move.servings[move.n_servings++];
	serving->bytes = adsm_node_memory(NULL, run.n * ADSM_PAGE_SIZE);
	for (uint64_t i = 0; i < run.n; i++)
		memcpy(serving->bytes + i * ADSM_PAGE_SIZE, adsm_pages_original(run.first + i), ADSM_PAGE_SIZE);
	MPI_Isend(serving->bytes, (int)(run.n * ADSM_PAGE_SIZE), MPI_BYTE, to, TAG_FETCH, MPI_COMM_WORLD,
		  &serving->request);
	adsm_comm.pages.messages++;
	adsm_comm.pages.bytes += run.n * ADSM_PAGE_SIZE;
	adsm_doorbell_ring(to);
}
