/* SPDX-License-Identifier: MIT */
/*
 * exchange_app.c - an application within node 0. Options: mode=adaptive|eager|lazy|threshold|paper,
 * collective=bcast|allgatherv, track=sigsegv|uffd, threads=N, threshold=PAGES, probe=PUSHES.
 */
#include "exchange_app.h"

#include "base/os.h"
#include "check.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#define BASE 0x7e8000000000ul
#define MAX_OBJECTS 64
#define HASH_KERNEL 0

static struct {
	int argc;
	char **argv;
	struct adsm_run objects[MAX_OBJECTS];
	size_t n_objects;
	struct adsm_node_before before;
	uint64_t next_page, n_pages;
	uint64_t n_used;		/* pages that have been an object's */
} app;

/* ---- threads that run blocks */

static struct {
	struct adsm_node_work work;
	_Atomic uint32_t number;	/* futex: of the launch */
	_Atomic uint64_t next;
	_Atomic unsigned running;
	unsigned n_threads;
} pool;

static void *pool_main(void *arg)
{
	stack_t stack = { .ss_size = 65536, .ss_sp = malloc(65536) };
	uint32_t number = 0;

	CHECK(!sigaltstack(&stack, NULL));
	for (;;) {
		uint64_t block;

		while (atomic_load(&pool.number) == number)
			adsm_os_wait(&pool.number, number, 0, false);
		number++;
		while ((block = atomic_fetch_add(&pool.next, 1)) < pool.work.first + pool.work.n)
			app_kernels[pool.work.launch.kernel](block, pool.work.args);
		if (atomic_fetch_sub(&pool.running, 1) == 1)
			adsm_comm_wake();
	}
	return NULL;
}

static void begin(const struct adsm_node_work *work)
{
	if (!work->n)
		return;
	pool.work = *work;
	pool.next = work->first;
	pool.running = pool.n_threads;
	atomic_fetch_add(&pool.number, 1);
	adsm_os_wake(&pool.number, (int)pool.n_threads, false);
}

static bool has_ended(void)
{
	return !atomic_load(&pool.running);
}

/* ---- a node */

const char *app_option(const char *key, const char *otherwise)
{
	const size_t n = strlen(key);

	for (int i = 1; i < app.argc; i++) {
		if (!strncmp(app.argv[i], key, n) && app.argv[i][n] == '=')
			return app.argv[i] + n + 1;
	}
	return otherwise;
}

static void error(uint64_t address, enum adsm_pages_wrong why)
{
	static const char *const words[] = { "illegal", "a store to what is only read", "no mappings" };

	adsm_comm_fail("kernel's touch of %#lx: %s", address, words[why]);
}

static void take_options(const void *data, size_t size);

static void poll_all(void)
{
}

static bool take_letter(struct adsm_letter *letter)
{
	if (letter->tag == ADSM_TAG_NOTE)
		FAIL("node %d: %.*s", letter->from, (int)letter->size, (const char *)letter->data);
	if (letter->tag == ADSM_TAG_CODE)
		take_options(letter->data, letter->size);
	return letter->tag == ADSM_TAG_CODE || letter->tag == ADSM_TAG_ANSWER;
}

static enum adsm_update update(const char *name)
{
	static const char *const names[] = { "adaptive", "eager", "lazy", "threshold", "paper" };

	for (unsigned i = 0; i < 5; i++) {
		if (!strcmp(name, names[i]))
			return i < 4 ? (enum adsm_update)i : ADSM_UPDATE_THRESHOLD;
	}
	FAIL("mode %s", name);
}

/* What MPI leaves behind is not for a leak checker: it has unloaded the parts, which have no names any more. */
static _Noreturn void leave(int status)
{
	adsm_comm_finish();
	fflush(NULL);
	_exit(status);
}

static bool poll_task(bool *ret_found)
{
	return false;
}

static const struct adsm_node_calls calls = { begin, has_ended, poll_all, poll_task, take_letter };

/* Another case, which node 0 announces. */
static void take_options(const void *data, size_t size)
{
	struct adsm_node_options options;

	CHECK_EQ(size, sizeof(options));
	memcpy(&options, data, size);
	adsm_node_start(&options, &calls);
}

static void read_options(struct adsm_node_options *options)
{
	options->update = update(app_option("mode", "adaptive"));
	options->paper = !strcmp(app_option("mode", ""), "paper");
	options->collective = !strcmp(app_option("collective", options->paper ? "bcast" : ""), "bcast") ?
		ADSM_COLLECTIVE_BCAST : ADSM_COLLECTIVE_ALLGATHERV;
	options->threshold = strtoul(app_option("threshold", "2048"), NULL, 0);
	options->probe_every = (unsigned)strtoul(app_option("probe", "8"), NULL, 0);
}

void app_start(int argc, char **argv, size_t arena_size)
{
	struct adsm_pages_config config = { .base = BASE, .size = arena_size, .wake = adsm_comm_wake, .error = error };
	struct adsm_node_options options = { .n_pages = arena_size / ADSM_PAGE_SIZE };
	pthread_t thread;
	void *p;

	app.argc = argc;
	app.argv = argv;
	app.n_pages = options.n_pages;
	read_options(&options);
	CHECK(!adsm_os_reserve(BASE, arena_size, &p));
	adsm_comm_start(&argc, &argv, 30ull * 1000000000);
	CHECK(!adsm_os_memfd("arena", arena_size, &config.fd));
	config.home = !adsm_comm.rank;
	config.track = !strcmp(app_option("track", "sigsegv"), "uffd") ? ADSM_TRACK_UFFD : ADSM_TRACK_SIGSEGV;
	CHECK(!adsm_pages_start(&config));
	if (adsm_pages_track() != config.track) {
		if (!adsm_comm.rank)
			printf("skip: this system has no tracker %s\n", app_option("track", ""));
		leave(77);
	}
	adsm_node_start(&options, &calls);
	pool.n_threads = (unsigned)strtoul(app_option("threads", "2"), NULL, 0);
	for (unsigned i = 0; i < pool.n_threads; i++)
		CHECK(!pthread_create(&thread, NULL, pool_main, NULL));
	if (!adsm_comm.rank)
		return;
	adsm_node_serve();
	leave(0);
}

_Noreturn void app_finish(void)
{
	adsm_comm_send(-1, ADSM_TAG_END, NULL, 0);
	leave(0);
}

/* ---- node 0 */

static uint64_t page_of(const void *p)
{
	return ((uintptr_t)p - BASE) / ADSM_PAGE_SIZE;
}

void *app_alloc(size_t size)
{
	struct adsm_run run = { app.next_page, (size + ADSM_PAGE_SIZE - 1) / ADSM_PAGE_SIZE };

	CHECK(app.n_objects < MAX_OBJECTS && run.first + run.n <= app.n_pages);
	app.objects[app.n_objects++] = run;
	app.next_page += run.n;
	/* As new memory is. */
	if (run.first < app.n_used)
		memset(adsm_pages_alias(run.first), 0, run.n * ADSM_PAGE_SIZE);
	if (app.next_page > app.n_used)
		app.n_used = app.next_page;
	adsm_runs_insert(&app.before.added, run);
	return (void *)(BASE + run.first * ADSM_PAGE_SIZE);
}

void app_free(void *p)
{
	size_t i = 0;

	while (app.objects[i].first != page_of(p))
		i++;
	/* One that no launch has seen was never there. */
	adsm_runs_remove(&app.before.added, app.objects[i]);
	adsm_runs_remove(&app.before.written, app.objects[i]);
	adsm_runs_insert(&app.before.removed, app.objects[i]);
	app.objects[i] = app.objects[--app.n_objects];
}

void app_next(int argc, char **argv)
{
	struct adsm_node_options options = { .n_pages = app.n_pages };

	while (app.n_objects)
		app_free((void *)(BASE + app.objects[0].first * ADSM_PAGE_SIZE));
	app.next_page = 0;
	app.argc = argc;
	app.argv = argv;
	read_options(&options);
	adsm_comm_send(-1, ADSM_TAG_CODE, &options, sizeof(options));
	adsm_node_start(&options, &calls);
}

void *app_host(const void *p)
{
	return adsm_pages_alias(0) + ((uintptr_t)p - BASE);
}

void app_wrote(const void *p, size_t size)
{
	const uint64_t first = page_of(p);
	const uint64_t last = page_of((const uint8_t *)p + size - 1);

	for (uint64_t page = first; page <= last; page++) {
		bool is_new = false;

		for (size_t i = 0; i < app.before.added.n; i++)
			is_new |= page - app.before.added.v[i].first < app.before.added.v[i].n;
		if (!is_new)
			adsm_runs_insert(&app.before.written, (struct adsm_run){ page, 1 });
	}
}

struct adsm_node_counts app_launch(const struct app_call *call)
{
	static const uint32_t offset;
	struct adsm_node_work work = {
		.launch = { .kernel = call->kernel, .n_args = 1, .n_blocks = call->n_blocks, .alone = call->alone,
			    .arg_bytes = (uint32_t)call->size },
		.arg_offset = &offset, .args = call->args,
	};
	struct adsm_node_counts counts;

	for (size_t i = 0; i < app.n_objects; i++) {
		if (call->read_only && app.objects[i].first == page_of(call->read_only))
			adsm_runs_insert(&app.before.read_only, app.objects[i]);
	}
	adsm_node_run(&work, &app.before, &counts);
	adsm_runs_clear(&app.before.removed);
	adsm_runs_clear(&app.before.added);
	adsm_runs_clear(&app.before.written);
	adsm_runs_clear(&app.before.read_only);
	return counts;
}

/* ---- what is in memory */

struct hash_args {
	size_t n_objects;
	struct adsm_run objects[MAX_OBJECTS];
	uint64_t *out;			/* a page for each node */
};

static uint64_t hash_of(const struct adsm_run *v, size_t n, const uint8_t *memory)
{
	uint64_t hash = 0xcbf29ce484222325;

	for (size_t i = 0; i < n; i++) {
		const uint64_t *words = (const uint64_t *)(memory + v[i].first * ADSM_PAGE_SIZE);

		for (size_t k = 0; k < v[i].n * ADSM_PAGE_SIZE / 8; k++)
			hash = (hash ^ words[k]) * 0x100000001b3;
	}
	return hash;
}

uint64_t app_hash(void)
{
	return hash_of(app.objects, app.n_objects, adsm_pages_alias(0));
}

void app_hash_kernel(uint64_t block, const void *data)
{
	const struct hash_args *args = data;

	args->out[block * (ADSM_PAGE_SIZE / 8)] = hash_of(args->objects, args->n_objects, (const uint8_t *)BASE);
}

void app_check_nodes(void)
{
	struct hash_args args = { .n_objects = app.n_objects };
	struct app_call call = { .kernel = HASH_KERNEL, .args = &args, .size = sizeof(args) };

	memcpy(args.objects, app.objects, sizeof(args.objects));
	args.out = app_alloc((size_t)adsm_comm.n * ADSM_PAGE_SIZE);
	call.n_blocks = (uint64_t)adsm_comm.n;
	app_launch(&call);
	for (int r = 0; r < adsm_comm.n; r++) {
		uint64_t got = ((uint64_t *)app_host(args.out))[(size_t)r * (ADSM_PAGE_SIZE / 8)];

		CHECKF(got == hash_of(args.objects, args.n_objects, adsm_pages_alias(0)), "node %d has other bytes", r);
	}
	app_free(args.out);
}
