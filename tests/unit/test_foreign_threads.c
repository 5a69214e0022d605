/* SPDX-License-Identifier: MIT */
/*
 * test_foreign_threads.c - the same by many threads, on one home and on two; with a second argument the driver is
 * CUDA's, with a context for each home.
 */
#include <dlfcn.h>

#include "foreign.h"
#include "cuda/cu.h"
#include "cuda/options.h"

/* ---- on CUDA */

#define CONTEXTS 2

struct set {			/* a command */
	CUdeviceptr p;
	size_t size;
	uint8_t value;
	CUstream stream;
};

static int enqueue_set(void *arg)
{
	const struct set *set = arg;

	return adsm_cu.cuMemsetD8Async(set->p, set->value, set->size, set->stream);
}

/* A program with a context, on one home. */
static void check_context(struct adsm_home *on, CUstream stream)
{
	volatile unsigned char *p, *last = NULL;
	struct adsm_driver_use use = { .access = ADSM_ACCESS_INOUT };
	int result;

	for (unsigned round = 0; round < 3; round++) {
		struct set set = { .size = 100, .stream = stream };

		CHECK(!adsm_cu.cuMemAlloc_v2(&set.p, SIZE));
		p = (unsigned char *)(uintptr_t)set.p;
		CHECK(!last || p == last);
		last = p;
		CHECK(!adsm_driver_adopt(on, set.p, SIZE));
		memset(bytes, 1, SIZE);
		copy(p, bytes, SIZE);
		p[0] = 2;
		p[SIZE - 1] = 3;
		use.p = (void *)(p + 1);
		for (unsigned i = 0; i < 20; i++) {
			set.p = (uintptr_t)p + 1 + i;
			set.value = (uint8_t)(10 + i);
			CHECK(!adsm_driver_call(on, &use, i % 2, stream, enqueue_set, &set, &result));
			CHECK(!result);
			if (batch()) {
				CHECK(!adsm_cu.cuStreamSynchronize(stream));
				CHECK(!adsm_driver_sync(on));
			}
			CHECK_EQ(p[1 + i], 10 + i);
			CHECK_EQ(p[100 + i], 10 + i);
			p[200] = (unsigned char)i;
		}
		copy(back, p, SIZE);
		CHECK_EQ(back[0], 2);
		for (unsigned i = 0; i < 20; i++)
			CHECK_EQ(back[1 + i], 10 + i);
		CHECK_EQ(back[120], 1);
		CHECK_EQ(back[200], 19);
		CHECK_EQ(back[SIZE - 1], 3);
		CHECK(!adsm_driver_call(on, &use, 1, stream, enqueue_set, &set, &result));
		CHECK(!adsm_driver_forget((void *)p, round % 2, NULL));
		check_reserved((void *)p, SIZE);
		CHECK(!adsm_cu.cuStreamSynchronize(stream));
		CHECK(!adsm_cu.cuMemFree_v2((uintptr_t)p));
	}
}

/* ---- many threads */

#define THREADS 4
#define ROUNDS 40

struct worker {
	pthread_t thread;
	unsigned number;
	struct adsm_home *home;
	volatile unsigned char *common;	/* a block of it for each; NULL: accesses are not seen */
	CUcontext context;		/* NULL: not on CUDA */
	CUstream stream;
};

/* Fill bytes, and wait where the CPU's accesses do not. */
static void command(const struct worker *w, volatile unsigned char *p, size_t size, uint8_t value, bool named)
{
	const struct adsm_driver_use use = { (void *)p, ADSM_ACCESS_INOUT };
	struct set set = { (uintptr_t)p, size, value, w->stream };
	struct command c = { .p = p, .offset = (uintptr_t)p - object_of(p)->start, .size = size, .value = value };
	int i = w->home->index, result = -1;

	if (named)
		CHECK(!adsm_driver_call(w->home, &use, 1, w->stream, w->context ? enqueue_set : enqueue,
					w->context ? (void *)&set : &c, &result));
	else
		CHECK(!adsm_driver_launch(w->home, w->stream, w->context ? enqueue_set : enqueue,
					  w->context ? (void *)&set : &c, &result));
	CHECK(!result);
	if (!batch())
		return;
	if (w->context)
		CHECK(!adsm_cu.cuStreamSynchronize(w->stream));
	else
		run_jobs(i, n_jobs[i]);
	CHECK(!adsm_driver_sync(w->home));
}

static unsigned char *worker_adopt(const struct worker *w)
{
	CUdeviceptr p;

	if (!w->context)
		return adopt_on(w->home, SIZE);
	CHECK(!adsm_cu.cuMemAlloc_v2(&p, SIZE));
	CHECK(!adsm_driver_adopt(w->home, p, SIZE));
	return (unsigned char *)(uintptr_t)p;
}

static void worker_forget(const struct worker *w, volatile unsigned char *p)
{
	forget((void *)p);
	if (w->context)
		CHECK(!adsm_cu.cuMemFree_v2((uintptr_t)p));
}

/* Launches, touches and copies of one thread's objects, and of its block of one that it shares. */
static void work_round(const struct worker *w, volatile unsigned char *p, volatile unsigned char *q, unsigned round)
{
	volatile unsigned char *block = w->common ? w->common + w->number * BLOCK : NULL;
	uint8_t v = (uint8_t)(w->number * ROUNDS + round + 1);
	unsigned char here[SIZE];

	p[3] = p[SIZE - 1] = v;
	command(w, p + 100, BLOCK, v, batch() || round % 3);
	CHECK_EQ(p[100], v);
	CHECK_EQ(p[3], v);
	memset(here, v + 1, SIZE);
	copy(p + BLOCK, here, BLOCK + 7);
	copy(q, p, SIZE);
	CHECK(!fill_found((void *)(q + 50), v + 2, 60));
	if (block) {
		block[0] = v;
		command(w, block + 1, 10, v, round % 2);
	}
	copy(here, q, SIZE);
	CHECK_EQ(here[3], v);
	CHECK_EQ(here[50], (uint8_t)(v + 2));
	CHECK_EQ(here[110], v);
	CHECK_EQ(here[BLOCK], (uint8_t)(v + 1));
	CHECK_EQ(here[2 * BLOCK + 6], (uint8_t)(v + 1));
	CHECK_EQ(here[SIZE - 1], v);
	CHECK_EQ(p[110], v);
	CHECK_EQ(q[109], (uint8_t)(v + 2));
	if (block) {
		CHECK_EQ(block[0], v);
		copy(here, block, 11);
		CHECK_EQ(here[0], v);
		CHECK_EQ(here[10], v);
	}
}

static void *work(void *arg)
{
	const struct worker *w = arg;
	unsigned char *p = NULL, *q = NULL;

	if (w->context)
		CHECK(!adsm_cu.cuCtxPushCurrent_v2(w->context));
	for (unsigned round = 0; round < ROUNDS; round++) {
		if (round % 8 == 0) {
			if (round) {
				worker_forget(w, p);
				worker_forget(w, q);
			}
			p = worker_adopt(w);
			q = worker_adopt(w);
		}
		work_round(w, p, q, round);
	}
	worker_forget(w, p);
	worker_forget(w, q);
	return NULL;
}

/* All on one home, then on two. @contexts: NULL or theirs. */
static void check_threads(struct adsm_home *const homes[2], const CUcontext *contexts)
{
	struct worker workers[THREADS];

	for (unsigned n_homes = 1; n_homes <= 2; n_homes++) {
		for (unsigned i = 0; i < THREADS; i++) {
			struct worker *w = &workers[i];

			*w = (struct worker){ .number = i, .home = homes[i % n_homes],
					      .context = contexts ? contexts[i % n_homes] : NULL };
			if (w->context) {
				CHECK(!adsm_cu.cuCtxPushCurrent_v2(w->context));
				CHECK(!adsm_cu.cuStreamCreate(&w->stream, i % 2 ? CU_STREAM_NON_BLOCKING : 0));
			}
			if (!batch())
				w->common = i < n_homes ? worker_adopt(w) : workers[i - n_homes].common;
		}
		for (unsigned i = 0; i < THREADS; i++)
			CHECK(!pthread_create(&workers[i].thread, NULL, work, &workers[i]));
		for (unsigned i = 0; i < THREADS; i++)
			CHECK(!pthread_join(workers[i].thread, NULL));
		for (unsigned i = 0; i < n_homes && !batch(); i++)
			worker_forget(&workers[i], workers[i].common);
	}
}

/* @started: the library by itself, before the program comes with its contexts. */
static void check_cuda(const char *protocol, bool started)
{
	CUresult (*create)(CUcontext *context, unsigned flags, CUdevice device);
	CUresult (*destroy)(CUcontext context);
	struct adsm_home *homes[CONTEXTS];
	CUcontext context[CONTEXTS], primary;
	void *library;
	CUstream stream;

	CHECK(!adsmOption("protocol", protocol));
	CHECK(!adsmOption("block_size", "64K"));
	CHECK(!adsm_options_load());
	library = dlopen(adsm_cuda_options.library, RTLD_NOW);
	CHECK(library);
	*(void **)&create = dlsym(library, "cuCtxCreate_v2");
	*(void **)&destroy = dlsym(library, "cuCtxDestroy_v2");
	CHECK(!adsm_cu_open());
	CHECK(!adsm_cu.cuDevicePrimaryCtxRetain(&primary, 0));
	if (started)
		CHECK(!adsmInit());
	for (int i = 0; i < CONTEXTS; i++) {
		CHECK(!create(&context[i], 0, 0));
		CHECK(!adsm_driver_home_of(context[i]));
		CHECK(!adsm_driver_home("cuda", context[i], NULL, &homes[i]));
		CHECK_EQ(adsm_n_homes, i + 1 + started);
		CHECK(adsm_driver_home_of(context[i]) == homes[i]);
		CHECK(!adsm_driver_home("cuda", context[i], NULL, &homes[i]));
		CHECK_EQ(adsm_n_homes, i + 1 + started);
		CHECK(!adsm_cu.cuStreamCreate(&stream, 0));
		check_context(homes[i], stream);
	}
	CHECK(homes[0] != homes[1]);
	check_threads(homes, context);
	CHECK(adsm_driver_home_of(primary) == (started ? &adsm_homes[0] : NULL));
	CHECK(!adsmShutdown());
	/* The next start is not on them: they may be gone. */
	for (int i = 0; i < CONTEXTS; i++)
		CHECK(!destroy(context[i]));
	CHECK(!adsmInit());
	CHECK(adsm_n_homes == 1 && adsm_driver_home_of(primary) == &adsm_homes[0]);
	CHECK(!adsmShutdown());
}

int main(int argc, char **argv)
{
	CHECK(argc >= 2);
	if (argc > 2) {
		check_cuda(argv[1], !strcmp(argv[2], "started"));
		return 0;
	}
	start(argv[1]);
	check_threads((struct adsm_home *[]){ &adsm_homes[0], &adsm_homes[1] }, NULL);
	CHECK(!adsmShutdown());
	return 0;
}
