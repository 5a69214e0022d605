/* SPDX-License-Identifier: MIT */
/*
 * cluster_record.c - plays the node of a cluster of one, and writes down what each block of each launch does: how long
 * it computes, on one core, and which pages it touches and which it writes. cluster_model.c makes clusters of any size
 * of that. Programs run on it unchanged:
 *
 *	ADSM_BACKEND=cluster ADSM_CLUSTER_NODES=1 ADSM_CLUSTER_LAUNCH='env %p' \
 *	ADSM_CLUSTER_PROGRAM=…/bench-cluster-record BENCH_RECORD=FILE PROGRAM
 *
 * A launch runs twice: once block by block with all pages closed, to see what is touched; and, its memory being what it
 * was, once with all of them open, for the time. That is the thread's processor time.
 *
 * The record is text. "launch NAME BLOCKS ALONE", then, each as FIRST N, pages since the launch before: "a" of new
 * objects, "r" of objects that are no more, "w" written by the host, and "o": only read by this launch. Then for each
 * block "b NANOSECONDS" and pages: "t" touched, "m" modified.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "adsm.h"
#include "base/os.h"
#include "cluster/join.h"
#include "cluster/node/net/comm.h"
#include "cluster/node/pages/pages.h"
#include "cluster/node/net/runs.h"
#include "cluster/shared.h"
#include "process/device/code.h"
#include "process/device/crash.h"
#include "process/device/serve.h"

struct block {
	uint64_t ns;
	struct adsm_runs touched, wrote;
};

static const char *connect_to, *token;
static uint64_t base, size;
static FILE *record;
static struct adsm_process_shared *shared;
static struct adsm_cluster_shared *cluster;
static struct adsm_runs objects, added, removed, written, read_only;
static struct adsm_pool_launch launch;
static struct block *blocks;
static size_t n_blocks_room;

_Noreturn void adsm_comm_fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs("bench-cluster-record: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	_exit(1);
}

static void never(void)
{
	adsm_comm_fail("a page is missing, where none can be");
}

static void wrong(uint64_t address, enum adsm_pages_wrong why)
{
	adsm_comm_fail("the kernel is wrong (%d) at %#lx", (int)why, (unsigned long)address);
}

static void check(int error, const char *what)
{
	if (error)
		adsm_comm_fail("%s: %s", what, strerror(-error));
}

/* ---- what the application has done since the last launch */

static void take_touched(void *arg, uint64_t first, uint64_t n, bool allocated)
{
	struct adsm_run run = { first, n };

	adsm_runs_split(&objects, run, allocated ? &written : &removed, allocated ? &added : NULL);
	if (allocated)
		adsm_runs_insert(&objects, run);
	else
		adsm_runs_remove(&objects, run);
}

static void find_read_only(const struct adsm_process_pointer *pointers, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		bool only_read = true;

		for (uint32_t k = 0; k < n; k++)
			only_read &= pointers[k].base != pointers[i].base || pointers[k].access == ADSM_ACCESS_IN;
		if (only_read && pointers[i].base >= base)
			adsm_runs_insert(&read_only, (struct adsm_run){
				(pointers[i].base - base) / ADSM_PAGE_SIZE,
				(pointers[i].size + ADSM_PAGE_SIZE - 1) / ADSM_PAGE_SIZE });
	}
}

static void look_at_host(const struct adsm_process_slot *slot, uint64_t i)
{
	adsm_runs_clear(&added);
	adsm_runs_clear(&removed);
	adsm_runs_clear(&written);
	adsm_runs_clear(&read_only);
	adsm_cluster_collect(cluster, take_touched, NULL);
	find_read_only(shared->pointers[i], slot->n_pointers);
	for (size_t k = 0; k < removed.n; k++)
		adsm_pages_remove(removed.v[k]);
	for (size_t k = 0; k < added.n; k++)
		check(adsm_pages_add(added.v[k]), "an object");
}

/* ---- running */

static void run_block(uint64_t i)
{
	struct adsm_pool_launch one = launch;

	one.first = i;
	one.n = 1;
	adsm_pool_run(&one);
}

static void watch_block(uint64_t i, struct block *block)
{
	const struct adsm_run *wrote;
	size_t n;

	adsm_runs_clear(&block->touched);
	adsm_runs_clear(&block->wrote);
	/* All are here, and the first touch of each is seen. */
	for (size_t k = 0; k < objects.n; k++)
		adsm_pages_arrived(objects.v[k], false);
	check(adsm_pages_begin(read_only.v, read_only.n), "the start of a block");
	run_block(i);
	for (size_t k = 0; k < objects.n; k++)
		for (uint64_t page = objects.v[k].first; page < objects.v[k].first + objects.v[k].n; page++)
			if (adsm_pages_touched(page))
				adsm_runs_add(&block->touched, page, 1);
	wrote = adsm_pages_written(&n);
	if (!wrote)
		adsm_comm_fail("no memory");
	for (size_t k = 0; k < n; k++)
		adsm_runs_add(&block->wrote, wrote[k].first, wrote[k].n);
}

static uint64_t processor_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* Between all objects and a buffer. */
static void copy_all(uint8_t *buffer, bool save)
{
	for (size_t k = 0; k < objects.n; k++) {
		uint8_t *alias = adsm_pages_alias(objects.v[k].first);
		const size_t bytes = objects.v[k].n * ADSM_PAGE_SIZE;

		memcpy(save ? buffer : alias, save ? alias : buffer, bytes);
		buffer += bytes;
	}
}

/* Without the tracker's help: it takes them for closed, and finds them so. */
static void open_all(bool open)
{
	for (size_t k = 0; k < objects.n; k++) {
		adsm_pages_arrived(objects.v[k], false);
		if (mprotect((void *)(base + objects.v[k].first * ADSM_PAGE_SIZE), objects.v[k].n * ADSM_PAGE_SIZE,
			     open ? PROT_READ | PROT_WRITE : PROT_NONE))
			adsm_comm_fail("mprotect: %s", strerror(errno));
	}
}

static void run_launch(uint64_t first, uint64_t n)
{
	const size_t bytes = adsm_runs_pages(objects.v, objects.n) * ADSM_PAGE_SIZE;
	uint8_t *before = adsm_node_memory(NULL, bytes + 1);

	if (n > n_blocks_room) {
		blocks = adsm_node_memory(blocks, n * sizeof(*blocks));
		memset(blocks + n_blocks_room, 0, (n - n_blocks_room) * sizeof(*blocks));
		n_blocks_room = n;
	}
	copy_all(before, true);
	for (uint64_t i = 0; i < n; i++)
		watch_block(first + i, &blocks[i]);
	copy_all(before, false);
	free(before);
	open_all(true);
	for (uint64_t i = 0; i < n; i++) {
		uint64_t start = processor_ns();

		run_block(first + i);
		blocks[i].ns = processor_ns() - start;
	}
	open_all(false);
}

/* ---- the record */

static void put_runs(const char *what, const struct adsm_runs *runs)
{
	for (size_t i = 0; i < runs->n; i++)
		fprintf(record, "%s %lu %lu\n", what, (unsigned long)runs->v[i].first, (unsigned long)runs->v[i].n);
}

static void put_launch(const struct adsm_process_slot *slot)
{
	fprintf(record, "launch %s %lu %d\n", slot->name, (unsigned long)slot->n_blocks,
		adsm_code_atomics(slot->kernel));
	put_runs("a", &added);
	put_runs("r", &removed);
	put_runs("w", &written);
	put_runs("o", &read_only);
	for (uint64_t i = 0; i < slot->n_blocks; i++) {
		fprintf(record, "b %lu\n", (unsigned long)blocks[i].ns);
		put_runs("t", &blocks[i].touched);
		put_runs("m", &blocks[i].wrote);
	}
	if (fflush(record))
		adsm_comm_fail("the record: %s", strerror(errno));
}

static void *serve_launches(void *arg)
{
	adsm_crash_thread();
	while (adsm_process_queue_next(&shared->queue, 0, true)) {
		uint64_t i = atomic_load(&shared->queue.done) % ADSM_PROCESS_SLOTS;
		struct adsm_process_slot *slot = &shared->slots[i];

		adsm_code_launch(slot, shared->areas[i], &launch);
		look_at_host(slot, i);
		slot->start_ns = adsm_os_now_ns();
		run_launch(slot->first_block, slot->n_blocks);
		slot->end_ns = adsm_os_now_ns();
		put_launch(slot);
		adsm_process_queue_done(&shared->queue, true);
	}
	return NULL;
}

/* ---- start */

static int start(const struct adsm_process_request *hello, int memory_fd, struct adsm_process_shared *memory,
		 struct adsm_process_reply *reply)
{
	struct adsm_pages_config config = {
		.base = base, .size = size, .fd = memory_fd, .track = ADSM_TRACK_SIGSEGV, .wake = never, .error = wrong,
	};
	int ret = adsm_pages_start(&config);

	close(memory_fd);
	shared = memory;
	cluster = (struct adsm_cluster_shared *)shared->extra;
	cluster->n_pages = size / ADSM_PAGE_SIZE;
	if (!ret)
		ret = adsm_pool_start(1);
	return ret ? ret : adsm_pool_thread(serve_launches);
}

int main(int argc, char **argv)
{
	static const struct adsm_server server = { start, adsm_serve_answer };
	static struct adsm_cluster_card card;
	const char *file = getenv("BENCH_RECORD");
	char why[ADSM_CLUSTER_WHY];
	void *reserved;

	for (int i = 1; i + 1 < argc; i += 2) {
		if (!strcmp(argv[i], "--connect"))
			connect_to = argv[i + 1];
		else if (!strcmp(argv[i], "--token"))
			token = argv[i + 1];
		else if (!strcmp(argv[i], "--arena") && sscanf(argv[i + 1], "%lx:%lx", &base, &size) != 2)
			adsm_comm_fail("no arena: %s", argv[i + 1]);
	}
	if (!connect_to || !token)
		adsm_comm_fail("it is started by a cluster's keeper");
	adsm_cluster_prepare(connect_to, "", false);
	/* Behind the descriptors that the application's will have. */
	record = file ? fopen(file, "we") : NULL;
	if (!record)
		adsm_comm_fail("BENCH_RECORD has to be a file that can be written");
	adsm_cluster_card(&card);
	card.error = adsm_os_reserve(base, size, &reserved);
	if (adsm_cluster_join(connect_to, token, 1, &card, why))
		adsm_comm_fail("%s", why);
	adsm_crash_thread();
	adsm_crash_start();
	adsm_serve(&server);
	_exit(0);
}
