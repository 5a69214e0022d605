/* SPDX-License-Identifier: MIT */
/*
 * test_messages.c - which messages each thing costs, between nodes: the paper's scenario with and without locks that
 * are handed over on a node, each operation by itself, the cases that the paper leaves open, and locks that stay on a
 * node. Node 0 is the manager's and has no workers.
 */
#define NODES 3
#define WORKERS 2
#define PAGES 8
#define PAGE_SIZE 64
#define LOCKS 4
#define FLAGS 3
#define PACKETS 64
#include "world.h"

#define L 0
#define M 1
#define P 0

static void begin(uint32_t locality, uint32_t n_frames)
{
	static const uint8_t workers[NODES] = { 0, 2, 2 };

	world_begin(NODES, workers, n_frames, PAGES, locality, NULL);
}

/* All messages under way arrive, each node's in order, and woken workers continue. */
static void settle(void)
{
	do {
		while (world.n_packets)
			CHECK_OK(world_deliver(0));
		for (uint32_t node = 0; node < NODES; node++)
			for (uint32_t worker = 0; worker < WORKERS; worker++)
				if (world.caches[node][worker].waits == WOKEN)
					take_notices(node, worker);
	} while (world.n_packets);
}

static bool runs(uint32_t node, uint32_t worker)
{
	return world.caches[node][worker].waits == RUNS;
}

static uint8_t *at(uint32_t node, uint32_t worker, uint32_t page)
{
	return world.caches[node][worker].lines[page].bytes;
}

static void do_read(uint32_t node, uint32_t worker, uint32_t page)
{
	ask_read(node, worker, page);
	settle();
	CHECK(runs(node, worker));
}

static void do_write(uint32_t node, uint32_t worker, uint32_t page, uint32_t byte, uint8_t value)
{
	if (!world.caches[node][worker].lines[page].dirty) {
		ask_write(node, worker, page);
		settle();
	}
	CHECK(runs(node, worker));
	at(node, worker, page)[byte] = value;
}

static void do_acquire(uint32_t node, uint32_t worker, uint32_t lock)
{
	acquire(node, worker, lock);
	settle();
	CHECK(runs(node, worker));
}

static void do_release(uint32_t node, uint32_t worker, uint32_t lock)
{
	release(node, worker, lock);
	settle();
	CHECK(runs(node, worker));
}

/* The messages since the last time; of diffs, and of pages. */
static uint64_t count(uint64_t *ret_diffs, uint64_t *ret_pages)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < ADSM_HCRC_N_KINDS; i++)
		n += n_sent[i];
	if (ret_diffs)
		*ret_diffs = n_sent[ADSM_HCRC_DIFF];
	if (ret_pages)
		*ret_pages = n_sent[ADSM_HCRC_PAGE];
	memset(n_sent, 0, sizeof(n_sent));
	return n;
}

#define CHECK_COUNT(want) CHECK_EQ(count(NULL, NULL), want)

/* Node 2 is the home of the first @n pages; node 1 has copies that are old, and its workers have none. */
static void make_old_copies(uint32_t n)
{
	for (uint32_t page = 0; page < n; page++) {
		do_write(2, 0, page, 0, 1);
		do_read(1, 0, page);
		put(1, 0, page, false);
	}
	do_acquire(2, 0, L);
	for (uint32_t page = 0; page < n; page++)
		do_write(2, 0, page, 0, 2);
	do_release(2, 0, L);
	count(NULL, NULL);
}

/* Figures 5 and 6: acquire by APE 0, W(u), acquire by APE 1, release by APE 0, W(v), release by APE 1. */
static void test_figures(uint32_t locality, const uint64_t want[6], uint64_t want_diffs)
{
	uint64_t diffs, pages, n_diffs = 0, n_pages = 0, total = 0;

	begin(locality, PAGES);
	make_old_copies(1);
	for (int step = 0; step < 6; step++) {
		switch (step) {
		case 0:
			do_acquire(1, 0, L);
			break;
		case 1:
			do_write(1, 0, P, 8, 3);
			break;
		case 2:
			acquire(1, 1, L);
			settle();
			CHECK(!runs(1, 1));
			break;
		case 3:
			do_release(1, 0, L);
			CHECK(runs(1, 1));
			break;
		case 4:
			do_write(1, 1, P, 9, 4);
			CHECK_EQ(at(1, 1, P)[0], 2);
			CHECK_EQ(at(1, 1, P)[8], 3);
			break;
		default:
			do_release(1, 1, L);
		}
		const uint64_t n = count(&diffs, &pages);

		CHECK_AT(n, step, want[step]);
		total += n;
		n_diffs += diffs;
		n_pages += pages;
	}
	CHECK_EQ(n_diffs, want_diffs);
	CHECK_EQ(n_pages, 1);
	if (locks_stay)
		do_acquire(2, 0, L);
	CHECK(world.memory[2][0] == 2 && world.memory[2][8] == 3 && world.memory[2][9] == 4);
	printf("locality %u%s: %lu messages, %lu diffs, %lu page\n", locality, locks_stay ? ", locks stay" : "",
	       (unsigned long)total, (unsigned long)n_diffs, (unsigned long)n_pages);
}

static void test_operations(void)
{
	begin(4, PAGES);
	make_old_copies(4);
	/* With write notices, all of one message. */
	do_acquire(1, 0, L);
	CHECK_COUNT(2);
	do_release(1, 0, L);
	CHECK_COUNT(1);
	do_read(1, 0, 0);
	CHECK_COUNT(3);
	do_read(1, 1, 0);
	CHECK_COUNT(0);
	do_write(1, 0, 1, 0, 5);
	CHECK_COUNT(3);
	do_write(1, 0, 0, 0, 5);
	CHECK_COUNT(3);
	/* Pages that were never written: the first worker that writes one is only asked to take it. */
	do_read(1, 0, 5);
	CHECK_COUNT(2);
	do_write(1, 0, 6, 0, 1);
	CHECK_COUNT(3);
	/* A node that does not know the home asks for it. */
	do_write(2, 0, 6, 1, 1);
	CHECK_COUNT(2 + 3);
	do_read(2, 1, 5);
	CHECK_COUNT(2);
	/* A release of k pages of other homes. */
	do_acquire(1, 0, M);
	CHECK_COUNT(2);
	do_release(1, 0, M);
	CHECK_COUNT(1 + 2 * 2);
	for (uint32_t k = 0; k <= 4; k++) {
		do_acquire(1, 1, M);
		for (uint32_t page = 0; page < k; page++)
			do_write(1, 1, page, 2, (uint8_t)(10 + k));
		count(NULL, NULL);
		do_release(1, 1, M);
		CHECK_COUNT(1 + 2 * k);
	}
	/* What has been written and is as it was is not sent. */
	do_acquire(1, 1, M);
	do_write(1, 1, 0, 2, 14);
	count(NULL, NULL);
	do_release(1, 1, M);
	CHECK_COUNT(1);
	/* Node 2 has written to page 6 of node 1, node 1 to page 0 of node 2, both to pages of their own. */
	do_write(1, 0, 0, 3, 9);
	do_write(1, 0, 6, 3, 9);
	do_write(2, 0, 0, 4, 9);
	count(NULL, NULL);
	for (uint32_t i = 0; i < 4; i++)
		barrier(1 + i / 2, i % 2);
	settle();
	CHECK_COUNT(2 * 2 + 2 + 2);
	for (uint32_t i = 0; i < 4; i++) {
		CHECK(runs(1 + i / 2, i % 2));
		end(1 + i / 2, i % 2);
	}
	settle();
	/* Arrivals, departures; page 6 and four others to node 0, and that this was all. */
	CHECK_COUNT(2 * 2 + 5 + 2);
	CHECK_EQ(world.n_ended, NODES);
	CHECK_EQ(world.status, 0);
	for (uint32_t page = 0; page < 4; page++)
		CHECK_AT(world.memory[0][page * PAGE_SIZE + 2], page, page < 4 ? 14 : 0);
	CHECK(world.memory[0][3] == 9 && world.memory[0][4] == 9);
	CHECK(world.memory[0][6 * PAGE_SIZE] == 1 && world.memory[0][6 * PAGE_SIZE + 1] == 1 &&
	      world.memory[0][6 * PAGE_SIZE + 3] == 9);
}

/* Two workers of a node write to neighbouring bytes at the same time: each has a twin of its own. */
static void test_two_workers(void)
{
	begin(4, PAGES);
	make_old_copies(1);
	do_acquire(1, 0, L);
	do_acquire(1, 1, M);
	do_write(1, 0, P, 8, 3);
	do_write(1, 1, P, 9, 4);
	at(1, 0, P)[7] = 1;
	do_release(1, 0, L);
	/* What came between its first store and now is not its own. */
	do_acquire(2, 0, L);
	do_write(2, 0, P, 7, 5);
	do_release(2, 0, L);
	count(NULL, NULL);
	do_release(1, 1, M);
	CHECK_COUNT(1 + 2);
	CHECK(world.memory[2][7] == 5 && world.memory[2][8] == 3 && world.memory[2][9] == 4);
	/* It has the right to write on: no upgrade, but bytes that are new. */
	do_acquire(1, 1, M);
	count(NULL, NULL);
	do_write(1, 1, P, 9, 6);
	CHECK_COUNT(3);
	CHECK_EQ(at(1, 1, P)[7], 5);
	do_release(1, 1, M);
	do_acquire(1, 1, M);
	count(NULL, NULL);
	do_write(1, 1, P, 9, 7);
	CHECK_COUNT(0);
	do_release(1, 1, M);
	CHECK_EQ(world.memory[2][9], 7);
}

/* A worker, and another one of its node, have written to a page when a second lock says that it is old. */
static void test_two_locks(void)
{
	begin(4, PAGES);
	make_old_copies(1);
	do_acquire(1, 0, L);
	do_write(1, 0, P, 8, 3);
	do_write(1, 1, P, 9, 4);
	do_acquire(2, 0, M);
	do_write(2, 0, P, 10, 5);
	do_release(2, 0, M);
	count(NULL, NULL);
	do_acquire(1, 0, M);
	/* The lock; what it had written, before its time: diff, ack, and the manager's word of it. */
	CHECK_COUNT(2 + 3);
	CHECK(!world.caches[1][0].lines[P].has && world.caches[1][1].lines[P].dirty);
	CHECK_EQ(world.memory[2][8], 3);
	do_read(1, 0, P);
	CHECK(at(1, 0, P)[8] == 3 && at(1, 0, P)[10] == 5);
	do_release(1, 0, M);
	do_release(1, 0, L);
	/* The other one's bytes are compared with its own twin. */
	put(1, 1, P, false);
	do_acquire(1, 1, M);
	do_release(1, 1, M);
	CHECK(world.memory[2][8] == 3 && world.memory[2][9] == 4 && world.memory[2][10] == 5);
}

/* A node is the home: nothing is sent, and a release says what has changed. */
static void test_home_self(void)
{
	begin(4, PAGES);
	make_old_copies(1);
	do_acquire(2, 1, L);
	count(NULL, NULL);
	do_write(2, 1, P, 8, 3);
	CHECK_COUNT(0);
	do_release(2, 1, L);
	CHECK_COUNT(1);
	/* Once the other one hears of it, its copy goes. */
	do_acquire(1, 0, M);
	CHECK_COUNT(2);
	do_read(1, 0, P);
	CHECK_COUNT(3);
	CHECK_EQ(at(1, 0, P)[8], 3);
}

/* A worker reads a page again before it learns that its copy was old: it keeps the new bytes. */
static void test_read_again(void)
{
	begin(4, PAGES);
	make_old_copies(1);
	do_read(1, 0, P);
	CHECK_EQ(at(1, 0, P)[0], 0);
	do_acquire(1, 1, L);
	put(1, 0, P, false);
	do_read(1, 0, P);
	CHECK_EQ(at(1, 0, P)[0], 2);
	do_acquire(1, 0, M);
	CHECK(world.caches[1][0].lines[P].has);
	CHECK_EQ(at(1, 0, P)[0], 2);
}

/* Pages of other homes share two frames; those of its own stay. */
static void test_frames(void)
{
	begin(4, 2);
	make_old_copies(4);
	for (uint32_t page = 4; page < 7; page++)
		do_write(1, 0, page, 0, 1);
	do_acquire(1, 0, L);
	count(NULL, NULL);
	do_write(1, 0, 0, 8, 3);
	put(1, 0, 0, false);
	do_read(1, 0, 1);
	CHECK_COUNT(3 + 3);
	/* The page that was used longest ago goes, with what was written: diff, ack, and the manager's word of it. */
	do_read(1, 0, 2);
	CHECK_COUNT(3 + 3);
	CHECK_EQ(world.memory[2][8], 3);
	CHECK(nodes[1]->counts.evicted && !nodes[1]->pages[0].valid && nodes[1]->pages[1].valid);
	for (uint32_t page = 4; page < 7; page++)
		CHECK(nodes[1]->pages[page].valid && nodes[1]->pages[page].home == 2);
	do_read(1, 1, 2);
	CHECK_COUNT(0);
	do_read(1, 1, 0);
	CHECK_COUNT(3);
	CHECK_EQ(at(1, 1, 0)[8], 3);
	CHECK(!nodes[1]->pages[1].valid && nodes[1]->pages[2].valid);
	do_release(1, 0, L);
	/* The worker's copy is still heard of: node 2 writes what worker 0 of node 1 has, and the node has not. */
	do_acquire(2, 0, M);
	do_write(2, 0, 1, 9, 7);
	do_release(2, 0, M);
	do_acquire(1, 0, M);
	CHECK(!world.caches[1][0].lines[1].has);
	do_release(1, 0, M);
}

/* All messages arrive, and those that they cause, except messages of that kind. Woken workers continue. */
static void settle_without(enum adsm_hcrc_kind kind)
{
	for (uint32_t i = 0; i < world.n_packets; )
		i = world.packets[i].message.kind == kind || world_deliver(i) ? i + 1 : 0;
	for (uint32_t i = 0; i < 4; i++)
		if (world.caches[1 + i / 2][i % 2].waits == WOKEN)
			take_notices(1 + i / 2, i % 2);
}

/* A release waits for an early diff. Meanwhile a frame is needed that has stores of its worker. */
static void test_waiting_release(void)
{
	begin(4, 2);
	make_old_copies(4);
	do_acquire(1, 0, L);
	do_write(1, 0, 0, 8, 3);
	put(1, 0, 0, false);
	for (uint32_t page = 1; page < 3; page++) {
		ask_read(1, 0, page);
		settle_without(ADSM_HCRC_UPDATE_ACK);
		CHECK(runs(1, 0));
	}
	CHECK_EQ(nodes[1]->counts.early_diffs, 1);
	ask_write(1, 0, 2);
	settle_without(ADSM_HCRC_UPDATE_ACK);
	CHECK(runs(1, 0));
	at(1, 0, 2)[8] = 4;
	/* The worker does not wait for that, but the lock does. */
	release(1, 0, L);
	settle_without(ADSM_HCRC_UPDATE_ACK);
	CHECK(runs(1, 0) && nodes[1]->locks[L].here);
	ask_read(1, 1, 1);
	settle_without(ADSM_HCRC_UPDATE_ACK);
	ask_read(1, 1, 3);
	acquire(2, 0, L);
	settle_without(ADSM_HCRC_DIFF);
	CHECKF(!runs(2, 0) || world.memory[2][2 * PAGE_SIZE + 8] == 4, "it has the lock, and not what was written");
	settle();
	CHECK(runs(1, 0) && runs(1, 1) && runs(2, 0));
	CHECK_EQ(world.memory[2][2 * PAGE_SIZE + 8], 4);
	CHECK_EQ(world.memory[2][8], 3);
}

/* A lock stays on a node, with what its workers have changed, until another node requests it. */
static void test_stays(void)
{
	begin(4, PAGES);
	make_old_copies(2);
	CHECK(nodes[2]->locks[L].here && !nodes[2]->locks[L].wanted);
	/* The request, which the manager passes on to node 2; the release and the grant. */
	do_acquire(1, 0, L);
	CHECK_COUNT(4);
	do_write(1, 0, 0, 8, 3);
	CHECK_COUNT(3);
	do_release(1, 0, L);
	do_acquire(1, 0, L);
	do_release(1, 0, L);
	/* Another worker of the node sees the change; all of this without messages. */
	do_acquire(1, 1, L);
	do_read(1, 1, 0);
	CHECK_EQ(at(1, 1, 0)[8], 3);
	do_write(1, 1, 0, 9, 4);
	do_release(1, 1, L);
	CHECK_COUNT(0);
	CHECK_EQ(world.memory[2][8], 0);
	/* A lock that no node has comes from the manager; it takes the same changes along when it leaves. */
	do_acquire(1, 1, M);
	CHECK_COUNT(2);
	do_release(1, 1, M);
	CHECK_COUNT(0);
	do_acquire(2, 0, M);
	CHECK_COUNT(4 + 2);
	CHECK(world.memory[2][8] == 3 && world.memory[2][9] == 4);
	/* So nothing is left to send with the other one. */
	do_acquire(2, 1, L);
	CHECK_COUNT(4);
	do_read(2, 1, 0);
	CHECK(at(2, 1, 0)[8] == 3 && at(2, 1, 0)[9] == 4);
	do_release(2, 1, L);
	/* Locks stay beyond a barrier, which takes their changes along. */
	do_write(2, 0, 1, 9, 7);
	do_release(2, 0, M);
	count(NULL, NULL);
	for (uint32_t i = 0; i < 4; i++)
		barrier(1 + i / 2, i % 2);
	settle();
	CHECK_COUNT(2 * 2);
	do_read(1, 0, 1);
	CHECK_EQ(at(1, 0, 1)[9], 7);
	count(NULL, NULL);
	do_acquire(2, 0, L);
	do_acquire(2, 1, M);
	CHECK_COUNT(0);
}

/* A lock is requested by the other node while a worker has it, while others wait for it, and while it is given back. */
static void test_recalled(void)
{
	begin(1, PAGES);
	do_acquire(1, 0, L);
	acquire(1, 1, L);
	acquire(2, 0, L);
	settle();
	CHECK_COUNT(2 + 2);
	CHECK(!runs(1, 1) && !runs(2, 0) && nodes[1]->locks[L].wanted);
	/* Two acquisitions in a row for its two workers, then the other node. */
	do_release(1, 0, L);
	CHECK(runs(1, 1) && !runs(2, 0));
	acquire(1, 0, L);
	settle();
	CHECK_COUNT(0);
	/* The release; the grant; the request of the worker that is left, which the manager passes on. */
	do_release(1, 1, L);
	CHECK_COUNT(4);
	CHECK(runs(2, 0) && !runs(1, 0) && nodes[2]->locks[L].wanted);
	do_release(2, 0, L);
	CHECK_COUNT(2);
	CHECK(runs(1, 0) && !nodes[1]->locks[L].wanted);
	do_release(1, 0, L);
	/* Both workers of node 2 want it: one request. The manager's word of it comes while the lock is free. */
	acquire(2, 0, L);
	acquire(2, 1, L);
	settle();
	CHECK_COUNT(4);
	CHECK(runs(2, 0) && !runs(2, 1));
	/* It is on its way to node 1 when a worker of node 2 requests it again. */
	acquire(1, 0, L);
	settle();
	do_release(2, 0, L);
	CHECK(runs(2, 1) && !runs(1, 0));
	release(2, 1, L);
	acquire(2, 0, L);
	CHECK(!runs(2, 0));
	settle();
	CHECK(runs(1, 0) && runs(2, 1) && !runs(2, 0));
	do_release(1, 0, L);
	CHECK(runs(2, 0));
}

/* A lock that leaves waits for an early diff: no worker of the node gets it meanwhile. */
static void test_waiting_lock(void)
{
	begin(4, 2);
	make_old_copies(4);
	do_acquire(1, 0, L);
	do_write(1, 0, 0, 8, 3);
	put(1, 0, 0, false);
	do_read(1, 0, 1);
	do_release(1, 0, L);
	/* The frame of page 0 is needed. */
	ask_read(1, 1, 2);
	CHECK_EQ(nodes[1]->counts.early_diffs, 1);
	acquire(2, 0, L);
	settle_without(ADSM_HCRC_DIFF);
	CHECK(nodes[1]->locks[L].wanted);
	acquire(1, 0, L);
	settle_without(ADSM_HCRC_DIFF);
	CHECK(!runs(1, 0) && !runs(2, 0));
	settle();
	CHECK(runs(2, 0) && !runs(1, 0));
	CHECK_EQ(world.memory[2][8], 3);
	do_release(2, 0, L);
	CHECK(runs(1, 0));
}

/* Nodes hand a lock on, all of whose workers want it, so often that it is asked for as often as the paper says. */
static void test_contended(uint32_t locality)
{
	const uint32_t n_rounds = 6, turn = locality * WORKERS;
	uint32_t left[2][WORKERS], n_global = 0;

	begin(locality, PAGES);
	for (uint32_t i = 0; i < 2 * WORKERS; i++) {
		left[i / WORKERS][i % WORKERS] = n_rounds;
		acquire(1 + i / WORKERS, i % WORKERS, L);
	}
	for (uint32_t n = 2 * WORKERS * n_rounds; n > 0; n--) {
		uint32_t owner = 0;

		settle();
		while (!runs(1 + owner / WORKERS, owner % WORKERS) || !left[owner / WORKERS][owner % WORKERS])
			owner++;
		CHECK(owner < 2 * WORKERS);
		/* It wants it again before it gives it back: another one of its kind would. */
		left[owner / WORKERS][owner % WORKERS]--;
		release(1 + owner / WORKERS, owner % WORKERS, L);
		if (left[owner / WORKERS][owner % WORKERS])
			acquire(1 + owner / WORKERS, owner % WORKERS, L);
	}
	settle();
	for (uint32_t node = 1; node < 3; node++) {
		CHECK_EQ(nodes[node]->counts.locks, WORKERS * n_rounds);
		n_global += (uint32_t)nodes[node]->counts.global_locks;
	}
	CHECK_EQ(n_global, 2 * ((WORKERS * n_rounds + turn - 1) / turn));
	printf("locality %u: %u locks, %u of them asked for at the manager\n", locality, 2 * WORKERS * n_rounds,
	       n_global);
}

/* A lock is not granted before all diffs of its last owner are in their pages, also those of another release. */
static void test_release_order(void)
{
	begin(4, PAGES);
	make_old_copies(1);
	do_acquire(1, 0, L);
	do_write(1, 0, P, 8, 3);
	do_acquire(1, 0, M);
	release(1, 0, L);
	release(1, 0, M);
	acquire(2, 1, M);
	/* All but the diff, and what comes of it. */
	for (uint32_t i = 0; i < world.n_packets; )
		if (world.packets[i].message.kind == ADSM_HCRC_DIFF || world_deliver(i))
			i++;
		else
			i = 0;
	CHECK_EQ(world.n_packets, 1);
	CHECK(!runs(2, 1));
	settle();
	CHECK(runs(2, 1));
	CHECK_EQ(world.memory[2][8], 3);
}

static void do_flag(uint32_t node, uint32_t worker, uint8_t kind, uint32_t flag)
{
	use_flag(node, worker, kind, flag);
	settle();
	CHECK(runs(node, worker));
}

#define SET ADSM_HCRC_FLAG_SET
#define AWAIT ADSM_HCRC_FLAG_AWAIT
#define CLEAR ADSM_HCRC_FLAG_CLEAR

/* What each operation on a flag costs, and what a worker that has waited sees. */
static void test_flags(void)
{
	begin(4, PAGES);
	make_old_copies(1);
	do_read(1, 1, 0);
	count(NULL, NULL);
	/* A worker of each node waits; the flag is set, with a change of a page of another home. */
	use_flag(1, 1, AWAIT, 0);
	use_flag(2, 1, AWAIT, 0);
	settle();
	CHECK(!runs(1, 1) && !runs(2, 1));
	CHECK_COUNT(2);
	do_write(1, 0, 0, 8, 5);
	count(NULL, NULL);
	do_flag(1, 0, SET, 0);
	CHECK(runs(1, 1) && runs(2, 1));
	/* Set, its answer, the diff, its acknowledgement; two workers pass. */
	CHECK_COUNT(2 + 2 + 2);
	do_read(1, 1, 0);
	do_read(2, 1, 0);
	CHECK(at(1, 1, 0)[8] == 5 && at(2, 1, 0)[8] == 5);
	count(NULL, NULL);
	/* It stays set until it is cleared, for a worker of either node. */
	do_flag(2, 0, AWAIT, 0);
	CHECK_COUNT(2);
	do_flag(1, 0, CLEAR, 0);
	CHECK_COUNT(2);
	use_flag(2, 0, AWAIT, 0);
	settle();
	CHECK(!runs(2, 0));
	do_flag(2, 1, SET, 0);
	CHECK(runs(2, 0));
	count(NULL, NULL);
	/* The worker continues before its flag is set, but for its next flag it waits until then. */
	use_flag(1, 0, SET, 1);
	CHECK(runs(1, 0));
	use_flag(1, 0, CLEAR, 1);
	CHECK(!runs(1, 0));
	settle();
	CHECK(runs(1, 0) && !nodes[0]->flags[1].set);
	CHECK_COUNT(2 + 2);
	/* What locks guard goes along, too, and the lock stays. */
	locks_stay = true;
	begin(4, PAGES);
	make_old_copies(1);
	do_acquire(1, 0, M);
	do_write(1, 0, 0, 9, 6);
	do_release(1, 0, M);
	do_flag(1, 1, SET, 2);
	do_flag(2, 0, AWAIT, 2);
	do_read(2, 0, 0);
	CHECK_EQ(at(2, 0, 0)[9], 6);
	CHECK(nodes[1]->locks[M].here);
	locks_stay = false;
}

/* A flag is set by a node with an early diff on its way: the flag waits for it, and others of the node behind it. */
static void test_waiting_flag(void)
{
	uint32_t i;

	begin(4, PAGES);
	make_old_copies(1);
	do_write(1, 0, 0, 8, 5);
	put(1, 0, 0, true);
	adsm_hcrc_evict(nodes[1], 0);
	use_flag(1, 0, SET, 0);
	use_flag(1, 1, CLEAR, 0);
	CHECK(runs(1, 0) && runs(1, 1));
	for (i = 0; i < world.n_packets; i++)
		CHECK(world.packets[i].message.kind == ADSM_HCRC_DIFF);
	settle();
	CHECK(!nodes[0]->flags[0].set);
	CHECK_EQ(world.memory[2][8], 5);
}

static void test_flag_errors(void)
{
	struct adsm_hcrc_message message = { .kind = SET, .from = 1, .to = 0, .page = FLAGS,
					     .lock = LOCKS + NODES };

	begin(4, PAGES);
	CHECK_EQ(adsm_hcrc_flag(nodes[1], 0, SET, FLAGS), -EINVAL);
	/* There is no such flag; another worker's release; no such worker. */
	CHECK_EQ(adsm_hcrc_receive(nodes[0], &message, NULL), -EPROTO);
	message.page = 0;
	message.count = 1;
	CHECK_EQ(adsm_hcrc_receive(nodes[0], &message, NULL), -EPROTO);
	message.number++;
	message.count = message.lock = 7;
	CHECK_EQ(adsm_hcrc_receive(nodes[0], &message, NULL), -EPROTO);
	/* No worker is left that could set it. */
	begin(4, PAGES);
	use_flag(1, 0, AWAIT, 1);
	end(1, 1);
	barrier(2, 0);
	use_flag(2, 1, AWAIT, 2);
	for (int i = 0; i < 2; i++) {
		settle();
		CHECK_EQ(world.n_ended, 0);
		adsm_hcrc_probe(nodes[0]);
	}
	settle();
	CHECK_EQ(world.n_ended, NODES);
	CHECK_EQ(world.status, -EDEADLK);
}

static void test_errors(void)
{
	struct adsm_hcrc_message message = { .kind = ADSM_HCRC_READ, .from = 1, .to = 2, .page = 7 };

	begin(4, PAGES);
	CHECK_EQ(adsm_hcrc_acquire(nodes[1], 0, LOCKS), -EINVAL);
	CHECK_EQ(adsm_hcrc_release(nodes[1], 0, LOCKS), -EINVAL);
	CHECK_EQ(adsm_hcrc_release(nodes[1], 0, L), -EPERM);
	do_acquire(1, 0, L);
	CHECK_EQ(adsm_hcrc_acquire(nodes[1], 0, L), -EDEADLK);
	CHECK_EQ(adsm_hcrc_release(nodes[1], 1, L), -EPERM);
	CHECK_EQ(adsm_hcrc_end(nodes[1], 0), -EOWNERDEAD);
	do_release(1, 0, L);
	/* Not its home; there is no such page; a number that comes later; no diff. */
	CHECK_EQ(adsm_hcrc_receive(nodes[2], &message, NULL), -EPROTO);
	message.page = PAGES;
	message.number++;
	CHECK_EQ(adsm_hcrc_receive(nodes[2], &message, NULL), -EPROTO);
	message.page = 7;
	message.number++;
	CHECK_EQ(adsm_hcrc_receive(nodes[2], &message, NULL), -EAGAIN);
	/* Some end where others wait at the barrier. */
	end(1, 0);
	end(1, 1);
	barrier(2, 0);
	barrier(2, 1);
	settle();
	CHECK_EQ(world.n_ended, NODES);
	CHECK_EQ(world.status, -EDEADLK);
	/* Locks in a circle; as long as one runs it is none. */
	begin(4, PAGES);
	do_acquire(1, 0, L);
	do_acquire(2, 0, M);
	acquire(1, 0, M);
	acquire(2, 0, L);
	settle();
	barrier(1, 1);
	for (int i = 0; i < 10; i++) {
		adsm_hcrc_probe(nodes[0]);
		adsm_hcrc_probe(nodes[0]);
		count(NULL, NULL);
		settle();
		CHECK_COUNT(2);
	}
	CHECK_EQ(world.n_ended, 0);
	barrier(2, 1);
	for (int i = 0; i < 2; i++) {
		settle();
		CHECK_EQ(world.n_ended, 0);
		adsm_hcrc_probe(nodes[0]);
	}
	settle();
	CHECK_EQ(world.n_ended, NODES);
	CHECK_EQ(world.status, -EDEADLK);
	begin(4, PAGES);
	adsm_hcrc_fail(nodes[2], ENODEV);
	adsm_hcrc_fail(nodes[1], EPERM);
	settle();
	CHECK_EQ(world.n_ended, NODES);
	CHECK(world.status == -EPERM || world.status == -ENODEV);
}

/* A node without workers learns of the task's end, and of no barrier before. */
static void test_no_workers(void)
{
	static const uint8_t workers[NODES] = { 2, 0, 2 };

	world_begin(NODES, workers, PAGES, PAGES, 4, NULL);
	count(NULL, NULL);
	for (uint32_t i = 0; i < 4; i++)
		barrier(i / 2 * 2, i % 2);
	settle();
	CHECK_COUNT(2);
	for (uint32_t i = 0; i < 4; i++)
		end(i / 2 * 2, i % 2);
	settle();
	CHECK_EQ(world.n_ended, NODES);
	CHECK_EQ(world.status, 0);
}

int main(void)
{
	static const uint64_t without[6] = { 2, 3, 1, 4, 0, 3 }, with[6] = { 2, 3, 0, 0, 0, 3 };
	static const uint64_t stay[6] = { 4, 3 };

	test_figures(0, without, 2);
	test_figures(4, with, 1);
	test_operations();
	test_two_workers();
	test_two_locks();
	test_home_self();
	test_read_again();
	test_frames();
	test_release_order();
	test_waiting_release();
	test_contended(1);
	test_contended(2);
	locks_stay = true;
	test_figures(4, stay, 0);
	test_stays();
	test_recalled();
	test_waiting_lock();
	locks_stay = false;
	test_flags();
	test_waiting_flag();
	test_flag_errors();
	test_errors();
	test_no_workers();
	world_end();
	return 0;
}
