/* SPDX-License-Identifier: MIT */
/*
 * hcrc.c - workers on the nodes of a real MPI job: hcrc CASE KEY=VALUE… [-- CASE …]…, a rank for each node. They
 * share memory by the protocol of docs/tasks.md, with a simple cache each. Cases check themselves; all have
 *	workers=N	of each node; apart=1: node 0 has none
 *	page=BYTES pages=N frames=N lines=N locality=C; stay=0: locks do not stay on a node, as in the paper
 *
 * count rounds=N	workers count up numbers that locks guard, three of each lock on different pages
 * phases rounds=N	each worker writes its own number beside the others', and reads theirs after a barrier
 * circle, ended, not-mine, barrier	errors, which all nodes must report
 * killed		a node is killed while its worker has a lock that all others wait for
 * misses rounds=N	the time of a read miss, against its three messages alone
 */
#include "../check.h"

#include "base/os.h"
#include "cluster/node/net/comm.h"
#include "cluster/node/hcrc/hcrc_node.h"

#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#define MOST_WORKERS 8
#define MOST_PAGES 256
#define MOST_PAGE 32768
#define N_LOCKS 16
#define N_NUMBERS 3			/* of a lock */

struct line { uint8_t *bytes; bool has, dirty; };

struct worker {
	uint32_t index, global;
	struct line lines[MOST_PAGES];
	uint32_t n_lines, victim;
	uint64_t seed;
	int status;			/* why it has left */
	pthread_t thread;
};

static int n_options;
static char **options;
static struct adsm_hcrc_config config;
static uint32_t n_lines, n_all, n_rounds;
static uint8_t *memory;
static struct worker workers[MOST_WORKERS];
static int (*run)(struct worker *worker);
static _Atomic uint32_t n_left;
static _Atomic uint64_t miss_ns;

static uint64_t option(const char *key, uint64_t otherwise)
{
	const size_t n = strlen(key);

	for (int i = 1; i < n_options; i++)
		if (!strncmp(options[i], key, n) && options[i][n] == '=')
			return strtoull(options[i] + n + 1, NULL, 0);
	return otherwise;
}

static uint32_t below(struct worker *worker, uint32_t n)
{
	uint64_t z = worker->seed += 0x9E3779B97F4A7C15u;

	z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
	return (uint32_t)((z ^ z >> 29) % n);
}

/* ---- the cache of a worker */

static int give_up(struct worker *worker, uint32_t page)
{
	struct line *line = &worker->lines[page];
	int ret = 0;

	if (line->dirty)
		ret = adsm_hcrc_node_put(worker->index, page, line->bytes, false);
	else
		adsm_hcrc_node_drop(worker->index, page);
	line->has = line->dirty = false;
	worker->n_lines--;
	return ret;
}

/* The number at @at of all memory, to be read or written to. */
static int get(struct worker *worker, size_t at, bool write, uint64_t **ret_number)
{
	const uint32_t page = (uint32_t)(at / config.page_size);
	struct line *line = &worker->lines[page];
	int ret = 0;

	if (!line->has && worker->n_lines == n_lines) {
		while (!worker->lines[worker->victim].has)
			worker->victim = (worker->victim + 1) % config.n_pages;
		ret = give_up(worker, worker->victim);
	}
	if (!ret && !line->has && !write)
		ret = adsm_hcrc_node_read(worker->index, page, line->bytes);
	if (!ret && write && !line->dirty)
		ret = adsm_hcrc_node_write(worker->index, page, line->bytes, line->has);
	if (ret)
		return ret;
	worker->n_lines += !line->has;
	line->has = true;
	line->dirty = line->dirty || write;
	*ret_number = (uint64_t *)(line->bytes + at % config.page_size);
	return 0;
}

static int put_all(struct worker *worker)
{
	int ret = 0;

	for (uint32_t page = 0; page < config.n_pages && !ret; page++) {
		if (worker->lines[page].dirty)
			ret = adsm_hcrc_node_put(worker->index, page, worker->lines[page].bytes, true);
		worker->lines[page].dirty = false;
	}
	return ret;
}

static int take_notices(struct worker *worker)
{
	uint32_t page;

	while ((page = adsm_hcrc_node_notice(worker->index)) != ADSM_HCRC_NONE) {
		struct line *line = &worker->lines[page];

		if (line->dirty && adsm_hcrc_node_put(worker->index, page, line->bytes, false))
			return -ECANCELED;
		worker->n_lines -= line->has;
		line->has = line->dirty = false;
	}
	return 0;
}

static int acquire(struct worker *worker, uint32_t lock)
{
	enum adsm_hcrc_acquired how;
	bool has_notices;
	int ret = adsm_hcrc_node_acquire(worker->index, lock, &how, &has_notices);

	return !ret && has_notices ? take_notices(worker) : ret;
}

static int release(struct worker *worker, uint32_t lock)
{
	int ret = put_all(worker);

	return ret ? ret : adsm_hcrc_node_release(worker->index, lock);
}

static int barrier(struct worker *worker)
{
	int ret = put_all(worker);

	if (!ret)
		ret = adsm_hcrc_node_barrier(worker->index);
	return ret ? ret : take_notices(worker);
}

static int end(struct worker *worker)
{
	int ret = put_all(worker);

	return ret ? ret : adsm_hcrc_node_end(worker->index);
}

/* ---- cases: what each worker does */

/* Number @i of @lock: each on a page of its own, beside those of other locks. */
static size_t place(uint32_t lock, uint32_t i)
{
	return (size_t)((i * 7 + lock / 4) % config.n_pages) * config.page_size + (lock % 4 * 2 + i % 2) * 8;
}

static int count(struct worker *worker)
{
	int ret = 0;

	for (uint32_t round = 0; round < n_rounds && !ret; round++) {
		const uint32_t lock = below(worker, 4) ? below(worker, 2) : below(worker, N_LOCKS);
		uint64_t *number, first = 0;

		ret = acquire(worker, lock);
		for (uint32_t i = 0; i < N_NUMBERS && !ret; i++) {
			ret = get(worker, place(lock, i), below(worker, 2), &number);
			if (ret)
				break;
			first = i ? first : *number;
			CHECKF(*number == first, "number %u of lock %u is %lu, the first one %lu: worker %u of %u, "
			       "round %u, locality %u, %u lines, %u frames", i, lock, (unsigned long)*number,
			       (unsigned long)first, worker->global, n_all, round, config.locality, n_lines,
			       config.n_frames);
			ret = get(worker, place(lock, i), true, &number);
			if (!ret)
				++*number;
		}
		if (!ret)
			ret = release(worker, lock);
	}
	return ret ? ret : end(worker);
}

static void check_count(void)
{
	uint64_t sum = 0, number;

	for (uint32_t lock = 0; lock < N_LOCKS; lock++)
		for (uint32_t i = 0; i < N_NUMBERS; i++) {
			memcpy(&number, memory + place(lock, i), sizeof(number));
			sum += number;
		}
	CHECK_EQ(sum, (uint64_t)N_NUMBERS * n_all * n_rounds);
}

static int phases(struct worker *worker)
{
	uint64_t *number;
	int ret = 0;

	for (uint32_t round = 1; round <= n_rounds && !ret; round++) {
		ret = get(worker, worker->global * 8, true, &number);
		if (!ret)
			*number = round * 1000 + worker->global;
		ret = ret ? ret : barrier(worker);
		for (uint32_t i = 0; i < n_all && !ret; i++) {
			ret = get(worker, i * 8, false, &number);
			CHECKF(ret || *number == round * 1000 + i, "worker %u has %lu of %u in round %u",
			       worker->global, (unsigned long)*number, i, round);
		}
		ret = ret ? ret : barrier(worker);
	}
	return ret ? ret : end(worker);
}

static int circle(struct worker *worker)
{
	const bool last = worker->global == n_all - 1;
	int ret = 0;

	if (!worker->global || last)
		ret = acquire(worker, last);
	ret = ret ? ret : barrier(worker);
	if (!worker->global || last)
		ret = ret ? ret : acquire(worker, !last);
	return ret ? ret : end(worker);
}

/* A worker ends with a lock that the others want. */
static int ended(struct worker *worker)
{
	int ret = acquire(worker, 0);

	return ret ? ret : end(worker);
}

static int not_mine(struct worker *worker)
{
	int ret = worker->global ? barrier(worker) : release(worker, 5);

	return ret ? ret : end(worker);
}

static int some_at_barrier(struct worker *worker)
{
	int ret = worker->global ? barrier(worker) : 0;

	return ret ? ret : end(worker);
}

static int killed(struct worker *worker)
{
	uint64_t *number;
	int ret = 0;

	if (worker->global == n_all - 1) {
		ret = acquire(worker, 0);
		ret = ret ? ret : get(worker, 0, true, &number);
		ret = ret ? ret : barrier(worker);
		/* The others are on their way to the lock, or wait for it. */
		raise(SIGKILL);
	}
	ret = barrier(worker);
	return ret ? ret : acquire(worker, 0);
}

/* The last worker has pages, the first one of the node before reads them. */
static int misses(struct worker *worker)
{
	uint64_t *number, began;
	int ret = 0;

	for (uint32_t round = 0; round < n_rounds && !ret; round++) {
		for (uint32_t page = 0; page < config.n_pages && !ret && worker->global == n_all - 1; page++) {
			ret = get(worker, (size_t)page * config.page_size, true, &number);
			if (!ret)
				*number = round + 1;
		}
		ret = ret ? ret : barrier(worker);
		began = adsm_os_now_ns();
		for (uint32_t page = 0; page < config.n_pages && !ret && !worker->global; page++) {
			ret = get(worker, (size_t)page * config.page_size, false, &number);
			CHECK(ret || *number == round + 1);
		}
		/* In the first round it has to ask where their home is. */
		if (!worker->global && round)
			miss_ns += adsm_os_now_ns() - began;
		ret = ret ? ret : barrier(worker);
	}
	return ret ? ret : end(worker);
}

static const struct {
	const char *name;
	int (*run)(struct worker *worker);
	int status;
	void (*check)(void);		/* on node 0, when it has ended */
} cases[] = {
	{ "count", count, 0, check_count },
	{ "phases", phases, 0, NULL },
	{ "circle", circle, -EDEADLK, NULL },
	{ "ended", ended, -EOWNERDEAD, NULL },
	{ "not-mine", not_mine, -EPERM, NULL },
	{ "barrier", some_at_barrier, -EDEADLK, NULL },
	{ "killed", killed, 0, NULL },
	{ "misses", misses, 0, NULL },
};

/* ---- a node */

static void *worker_main(void *arg)
{
	struct worker *worker = arg;

	worker->status = run(worker);
	if (atomic_fetch_sub(&n_left, 1) == 1)
		adsm_comm_wake();
	return NULL;
}

static void configure(void)
{
	memset(&config, 0, sizeof(config));
	n_all = 0;
	for (int r = 0; r < adsm_comm.n; r++) {
		config.workers[r] = r || !option("apart", 0) ? (uint8_t)option("workers", 2) : 0;
		n_all += config.workers[r];
	}
	config.page_size = config.part_size = (uint32_t)option("page", 256);
	config.n_pages = (uint32_t)option("pages", 32);
	config.n_frames = (uint32_t)option("frames", 64);
	config.n_open = config.n_pages;
	config.n_locks = N_LOCKS;
	config.locality = (uint32_t)option("locality", 4);
	config.locks_stay = option("stay", 1);
	config.memory = memory;
	n_lines = (uint32_t)option("lines", config.n_pages);
	n_rounds = (uint32_t)option("rounds", 10);
	CHECK(config.n_pages <= MOST_PAGES && config.page_size <= MOST_PAGE);
	memset(memory, 0, (size_t)MOST_PAGES * MOST_PAGE);
}

static void start_worker(struct worker *worker, uint32_t i)
{
	for (uint32_t page = 0; page < MOST_PAGES; page++) {
		free(worker->lines[page].bytes);
		worker->lines[page].bytes = malloc(config.page_size);
	}
	for (uint32_t page = 0; page < MOST_PAGES; page++)
		worker->lines[page].has = worker->lines[page].dirty = false;
	worker->n_lines = 0;
	worker->index = worker->global = i;
	for (int r = 0; r < adsm_comm.rank; r++)
		worker->global += config.workers[r];
	worker->seed = worker->global + 1000 * option("seed", 1);
	CHECK_OK(pthread_create(&worker->thread, NULL, worker_main, worker));
}

static void run_case(size_t which)
{
	const uint32_t n = config.workers[adsm_comm.rank];
	int status;

	run = cases[which].run;
	atomic_store(&n_left, n);
	CHECK_OK(adsm_hcrc_node_begin(&config));
	for (uint32_t i = 0; i < n; i++)
		start_worker(&workers[i], i);
	while (atomic_load(&n_left) || !adsm_hcrc_node_has_ended(&status))
		if (!adsm_hcrc_node_poll())
			adsm_comm_rest(ADSM_COMM_BUSY_NS);
	for (uint32_t i = 0; i < n; i++) {
		pthread_join(workers[i].thread, NULL);
		CHECKF(workers[i].status == 0 || workers[i].status == cases[which].status, "%s: %s", cases[which].name,
		       strerror(-workers[i].status));
	}
	CHECKF(status == cases[which].status, "%s: %s", cases[which].name, strerror(-status));
	adsm_hcrc_node_finish();
	/* All workers everywhere have left: now a collective operation may wait. */
	MPI_Barrier(MPI_COMM_WORLD);
	if (!adsm_comm.rank && cases[which].check)
		cases[which].check();
}

/* ---- the three messages of a miss, by the same threads, without the protocol */

static _Atomic uint32_t raw_wanted, raw_there;	/* futexes: pages */

static void *raw_main(void *arg)
{
	const uint64_t began = adsm_os_now_ns();

	for (uint32_t i = 0; i < config.n_pages * (n_rounds - 1); i++) {
		atomic_fetch_add(&raw_wanted, 1);
		adsm_comm_wake();
		while (atomic_load(&raw_there) == i)
			adsm_os_wait(&raw_there, i, 0, false);
	}
	miss_ns = adsm_os_now_ns() - began;
	return NULL;
}

/* A node: sends requests, answers and reports to node 0, or receives them. */
static void run_raw(int asker, int home)
{
	const uint32_t n = config.n_pages * (n_rounds - 1);
	uint32_t asked = 0, done = 0;
	uint8_t *bytes = calloc(1, config.page_size + 64);
	struct adsm_letter letter;
	pthread_t thread;

	CHECK(bytes);
	atomic_store(&raw_wanted, 0);
	atomic_store(&raw_there, 0);
	miss_ns = 0;
	if (adsm_comm.rank == asker)
		CHECK_OK(pthread_create(&thread, NULL, raw_main, NULL));
	while (done < n && (adsm_comm.rank == asker || adsm_comm.rank == home || !adsm_comm.rank)) {
		bool any = false;

		if (adsm_comm.rank == asker && asked < atomic_load(&raw_wanted)) {
			adsm_comm_send(home, ADSM_TAG_TASK, bytes, 32);
			asked++;
			any = true;
		}
		while (adsm_comm_receive_only(ADSM_TAG_TASK, &letter)) {
			any = true;
			if (adsm_comm.rank == home) {
				adsm_comm_send(asker, ADSM_TAG_TASK, bytes, config.page_size + 32);
				adsm_comm_send(0, ADSM_TAG_TASK, bytes, 32);
				done++;
			} else if (letter.size > 32) {
				memcpy(bytes, letter.data, config.page_size);
				atomic_fetch_add(&raw_there, 1);
				adsm_os_wake(&raw_there, 1, false);
				done += adsm_comm.rank != 0;
			} else {
				done++;
			}
			adsm_comm_drop(&letter);
		}
		if (!any)
			adsm_comm_rest(ADSM_COMM_BUSY_NS);
	}
	if (adsm_comm.rank == asker)
		pthread_join(thread, NULL);
	free(bytes);
	while (adsm_comm_is_busy())
		adsm_comm_rest(ADSM_COMM_BUSY_NS);
	MPI_Barrier(MPI_COMM_WORLD);
}

static void say_misses(void)
{
	const uint32_t n = config.n_pages * (n_rounds - 1);
	double by_protocol, alone;

	/* Of the node that asks. */
	by_protocol = (double)miss_ns / n / 1000;
	run_raw(1, adsm_comm.n - 1);
	alone = (double)miss_ns / n / 1000;
	if (adsm_comm.rank == 1)
		printf("a read miss of %u bytes takes %.1f us, its messages alone %.1f: %.2f\n", config.page_size,
		       by_protocol, alone, by_protocol / alone);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	adsm_comm_start(&argc, &argv, UINT64_C(60000000000));
	memory = calloc(MOST_PAGES, MOST_PAGE);
	CHECK(memory);
	for (int i = 1; i < argc; i += n_options + 1) {
		size_t which = 0;

		options = argv + i;
		for (n_options = 0; i + n_options < argc && strcmp(argv[i + n_options], "--"); n_options++)
			;
		while (which < sizeof(cases) / sizeof(cases[0]) && strcmp(cases[which].name, options[0]))
			which++;
		CHECKF(which < sizeof(cases) / sizeof(cases[0]), "%s", options[0]);
		configure();
		miss_ns = 0;
		run_case(which);
		if (cases[which].run == misses)
			say_misses();
	}
	adsm_comm_finish();
	/* What MPI leaves behind is not for a leak checker. */
	fflush(NULL);
	_exit(0);
}
