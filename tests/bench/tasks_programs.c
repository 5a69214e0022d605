/* SPDX-License-Identifier: MIT */
/*
 * tasks_programs.c - programs of tasks with the locks, flags and barriers of tasks ("ours"), and with those of POSIX
 * threads ("floor"): the same code of the same modules (parboil/tasks), both in threads of this process. A flag of
 * POSIX threads is a mutex and a condition variable, as in SPLASH's macros for them.
 */
#include "bench.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "process/device/task.h"

#define N_WORKERS 2
#define N_LOCKS 16
#define N_FLAGS 16384

struct program {
	const char *name;
	adsm_task_run *run;
	const void *args[8];
	void *written;			/* what the program changes, and what was there first */
	const void *first;
	void *result;			/* of the first run, or NULL */
	size_t size;
};

/* Both have the same result, in each run. */
static void check(struct program *program)
{
	if (!memcmp(program->written, program->first, program->size))
		bench_die("%s has changed nothing", program->name);
	if (!program->result)
		program->result = memcpy(bench_host_alloc(program->size), program->written, program->size);
	else if (memcmp(program->written, program->result, program->size))
		bench_die("%s has another result than in its first run", program->name);
}

/* ---- POSIX threads */

static struct {
	pthread_mutex_t locks[N_LOCKS];
	pthread_barrier_t barrier;
	struct { pthread_mutex_t mutex; pthread_cond_t set; bool is_set; } flags[N_FLAGS];
} posix;

static void lock(struct adsm_task_worker *worker, uint32_t id)
{
	pthread_mutex_lock(&posix.locks[id]);
}

static void unlock(struct adsm_task_worker *worker, uint32_t id)
{
	pthread_mutex_unlock(&posix.locks[id]);
}

static void barrier(struct adsm_task_worker *worker)
{
	pthread_barrier_wait(&posix.barrier);
}

static void change_flag(uint32_t id, bool is_set)
{
	pthread_mutex_lock(&posix.flags[id].mutex);
	posix.flags[id].is_set = is_set;
	if (is_set)
		pthread_cond_broadcast(&posix.flags[id].set);
	pthread_mutex_unlock(&posix.flags[id].mutex);
}

static void set_flag(struct adsm_task_worker *worker, uint32_t id)
{
	change_flag(id, true);
}

static void clear_flag(struct adsm_task_worker *worker, uint32_t id)
{
	change_flag(id, false);
}

static void await_flag(struct adsm_task_worker *worker, uint32_t id)
{
	pthread_mutex_lock(&posix.flags[id].mutex);
	while (!posix.flags[id].is_set)
		pthread_cond_wait(&posix.flags[id].set, &posix.flags[id].mutex);
	pthread_mutex_unlock(&posix.flags[id].mutex);
}

static const struct adsm_task_calls calls = {
	.size = sizeof(calls), .lock = lock, .unlock = unlock, .barrier = barrier, .set_flag = set_flag,
	.await_flag = await_flag, .clear_flag = clear_flag,
};

static void begin_posix(void)
{
	pthread_barrier_init(&posix.barrier, NULL, N_WORKERS);
	for (unsigned i = 0; i < N_LOCKS; i++)
		pthread_mutex_init(&posix.locks[i], NULL);
	for (unsigned i = 0; i < N_FLAGS; i++) {
		pthread_mutex_init(&posix.flags[i].mutex, NULL);
		pthread_cond_init(&posix.flags[i].set, NULL);
	}
}

struct thread {
	struct adsm_task_worker worker;
	const struct program *program;
	pthread_t id;
};

static void *run_thread(void *arg)
{
	struct thread *thread = arg;

	thread->program->run(&thread->worker, thread->program->args);
	return NULL;
}

static double theirs(void *arg)
{
	struct program *program = arg;
	struct thread threads[N_WORKERS];
	double start, ms;

	memcpy(program->written, program->first, program->size);
	for (unsigned i = 0; i < N_FLAGS; i++)
		posix.flags[i].is_set = false;
	start = bench_now_us();
	for (unsigned i = 0; i < N_WORKERS; i++) {
		threads[i].worker = (struct adsm_task_worker){ .calls = &calls, .index = i, .n = N_WORKERS };
		threads[i].program = program;
		if (pthread_create(&threads[i].id, NULL, run_thread, &threads[i]))
			bench_die("a thread could not be started");
	}
	for (unsigned i = 0; i < N_WORKERS; i++)
		pthread_join(threads[i].id, NULL);
	ms = (bench_now_us() - start) / 1000;
	check(program);
	return ms;
}

/* ---- tasks */

static double ours(void *arg)
{
	static char text[ADSM_PROCESS_TEXT];
	struct program *program = arg;
	struct adsm_pool_launch launch = { .task = program->run, .n = N_WORKERS };
	uint64_t counts[ADSM_TASK_N_COUNTS];
	double start, ms;

	memcpy(launch.args, program->args, sizeof(program->args));
	memcpy(program->written, program->first, program->size);
	start = bench_now_us();
	if (adsm_task_run_all(&launch, program->name, NULL, counts, text))
		bench_die("%s", text);
	ms = (bench_now_us() - start) / 1000;
	check(program);
	return ms;
}

/* ---- programs, on 2 workers, of size medium */

static void *memory(size_t size)
{
	void *p = calloc(1, size);

	if (!p)
		bench_die("not enough memory for %zu bytes", size);
	return p;
}

/* A parameter that is a pointer: the address of @p. */
static const void *pointer(void *p)
{
	void **at = memory(sizeof(*at));

	*at = p;
	return at;
}

static const void *value(int v)
{
	int *at = memory(sizeof(*at));

	*at = v;
	return at;
}

static void *random_bytes(size_t size)
{
	unsigned char *bytes = memory(size);
	uint64_t seed = 42;

	for (size_t i = 0; i < size; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		bytes[i] = (unsigned char)(seed >> 56);
	}
	return bytes;
}

static void make_lu(struct program *program)
{
	const int n = bench_smoke ? 64 : 512, n_blocks = n / 16;
	const size_t size = (size_t)n * (size_t)n * sizeof(double);
	double *given = memory(size), *a = memory(size);

	for (int i = 0; i < n * n; i++)
		given[i] = i % 7 - 3;
	/* Element (i, i) lies in block (i / 16, i / 16), in row i % 16. */
	for (int i = 0; i < n; i++)
		given[(i / 16 * n_blocks + i / 16) * 256 + i % 16 * 17] = n;
	*program = (struct program){
		.name = "lu", .written = a, .first = given, .size = size,
		.args = { pointer(a), pointer(given), pointer(memory(sizeof(int))), value(n_blocks), value(1) } };
}

static void make_pipeline(struct program *program)
{
	const int n_blocks = bench_smoke ? 4 : 128;
	const size_t size = (size_t)n_blocks * 4096;
	void *given = random_bytes(size), *made = memory(size);

	*program = (struct program){
		.name = "pipeline", .written = made, .first = given, .size = size,
		.args = { pointer(given), pointer(made), pointer(memory(2 * 4096 * N_WORKERS)), value(n_blocks) } };
}

static void make_radix(struct program *program)
{
	const int n = bench_smoke ? 4096 : 1 << 20;
	const size_t size = (size_t)n * sizeof(unsigned);
	void *a = memory(size), *given = random_bytes(size);

	*program = (struct program){
		.name = "radix", .written = a, .first = given, .size = size,
		.args = { pointer(a), pointer(memory(size)), pointer(memory(2 * N_WORKERS * 4096)),
			  pointer(memory(N_WORKERS * 4096)), value(n), value(2) } };
}

static void measure(void (*make)(struct program *program), const char *target)
{
	struct bench_row row = { .unit = "ms", .target = target };
	struct program program;
	char path[64], symbol[64];
	void *module;

	make(&program);
	snprintf(path, sizeof(path), "../../parboil/tasks/%s.adsm", program.name);
	snprintf(symbol, sizeof(symbol), "adsm_task_%s", program.name);
	module = dlopen(bench_beside(path), RTLD_NOW | RTLD_LOCAL);
	if (!module)
		bench_die("%s", dlerror());
	*(void **)&program.run = dlsym(module, symbol);
	if (!program.run)
		bench_die("%s", dlerror());
	snprintf(row.name, sizeof(row.name), "%s, %d workers", program.name, N_WORKERS);
	bench_compare(&row, bench_repeat, ours, theirs, &program);
	bench_emit(&row);
}

void bench_tasks_programs(void)
{
	begin_posix();
	measure(make_lu, "<= 1.1");
	measure(make_pipeline, "<= 1.1");
	measure(make_radix, "<= 1.1");
}
