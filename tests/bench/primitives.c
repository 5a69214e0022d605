/* SPDX-License-Identifier: MIT */
/*
 * primitives.c - the costs in Table 4 of the paper on COMIC++, as measured here, by a job of two nodes: primitives
 * ROUNDS. Node 0 prints lines of what, bytes, and nanoseconds of each, medians of the rounds:
 * - word: a word that one thread writes and another, which waits for it, answers. The paper: a mailbox
 * - copy: bytes that one memory gets from another. The paper: a DMA transfer
 * - message: bytes from node to node, as the nodes of a cluster send them. The paper: GASNet
 */
#include "base/os.h"
#include "cluster/node/net/comm.h"

#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BATCH 64			/* operations that are timed together */
#define MOST 16384
#define LEAST_CACHE (32 << 20)		/* bytes; where the system knows no size */

static _Atomic uint32_t word;		/* futex: odd for the answering thread */
static long n_rounds;
static double *rounds;

static int compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void say(const char *what, size_t size)
{
	qsort(rounds, (size_t)n_rounds, sizeof(*rounds), compare);
	printf("%s %zu %.1f\n", what, size, rounds[n_rounds / 2]);
	fflush(stdout);
}

/* ---- in one node */

static void await_change(uint32_t from)
{
	while (atomic_load(&word) == from)
		adsm_os_wait(&word, from, 0, false);
}

static void *answer_words(void *arg)
{
	for (uint32_t i = 0; i < BATCH * (uint32_t)n_rounds; i++) {
		await_change(2 * i);
		atomic_store(&word, 2 * i + 2);
		adsm_os_wake(&word, 1, false);
	}
	return NULL;
}

static void measure_words(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, answer_words, NULL))
		exit(1);
	for (long round = 0; round < n_rounds; round++) {
		const uint64_t began = adsm_os_now_ns();

		for (uint32_t i = (uint32_t)round * BATCH; i < (uint32_t)(round + 1) * BATCH; i++) {
			atomic_store(&word, 2 * i + 1);
			adsm_os_wake(&word, 1, false);
			await_change(2 * i + 1);
		}
		/* There and back. */
		rounds[round] = (double)(adsm_os_now_ns() - began) / BATCH / 2;
	}
	pthread_join(thread, NULL);
	say("word", 4);
}

/* The pages of a node: written, and more than twice what the caches have room for. next: the byte to copy next. */
static struct pages { uint8_t *start; size_t size, next; } pages;

static void make_pages(void)
{
	const long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);

	pages.size = 2 * (cache > LEAST_CACHE ? (size_t)cache : LEAST_CACHE) + (size_t)BATCH * MOST;
	pages.start = malloc(pages.size);
	if (!pages.start) {
		fprintf(stderr, "bench-primitives: not enough memory for %zu bytes\n", pages.size);
		exit(1);
	}
	memset(pages.start, 1, pages.size);
}

/* Each copy is of the bytes behind the last one's, so that all of the pages are read before any byte is read again. */
static void measure_copies(uint8_t *bytes, size_t size)
{
	for (long round = 0; round < n_rounds; round++) {
		const uint8_t *from;
		uint64_t began;

		if (pages.next + BATCH * size > pages.size)
			pages.next = 0;
		from = pages.start + pages.next;
		pages.next += BATCH * size;
		began = adsm_os_now_ns();
		for (size_t i = 0; i < BATCH; i++) {
			memcpy(bytes, from + i * size, size);
			__asm__ volatile("" : : "r"(bytes) : "memory");
		}
		rounds[round] = (double)(adsm_os_now_ns() - began) / BATCH;
	}
	say("copy", size);
}

/* ---- between two */

/* The next message. */
static void receive(uint8_t *bytes)
{
	struct adsm_letter letter;

	while (!adsm_comm_receive_only(ADSM_TAG_TASK, &letter))
		adsm_comm_rest(ADSM_COMM_BUSY_NS);
	memcpy(bytes, letter.data, letter.size);
	adsm_comm_drop(&letter);
}

static void measure_messages(uint8_t *bytes, size_t size)
{
	for (long round = 0; round < n_rounds; round++) {
		const uint64_t began = adsm_os_now_ns();

		for (int i = 0; i < BATCH; i++) {
			if (!adsm_comm.rank)
				adsm_comm_send(1, ADSM_TAG_TASK, bytes, size);
			receive(bytes);
			if (adsm_comm.rank)
				adsm_comm_send(0, ADSM_TAG_TASK, bytes, size);
		}
		rounds[round] = (double)(adsm_os_now_ns() - began) / BATCH / 2;
	}
	while (adsm_comm_is_busy())
		adsm_comm_rest(ADSM_COMM_BUSY_NS);
	MPI_Barrier(MPI_COMM_WORLD);
	if (!adsm_comm.rank)
		say("message", size);
}

int main(int argc, char **argv)
{
	static const size_t sizes[] = { 2048, 4096, 8192, 16384 };
	uint8_t *bytes = calloc(1, MOST);

	adsm_comm_start(&argc, &argv, UINT64_C(60000000000));
	n_rounds = argc > 1 ? atol(argv[1]) : 0;
	rounds = n_rounds > 0 ? calloc((size_t)n_rounds, sizeof(*rounds)) : NULL;
	if (!rounds || !bytes || adsm_comm.n != 2)
		exit(2);
	measure_messages(bytes, 4);
	for (size_t i = 0; i < 4; i++)
		measure_messages(bytes, sizes[i]);
	if (!adsm_comm.rank) {
		measure_words();
		make_pages();
		for (size_t i = 0; i < 4; i++)
			measure_copies(bytes, sizes[i]);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	adsm_comm_finish();
	fflush(NULL);
	_exit(0);
}
