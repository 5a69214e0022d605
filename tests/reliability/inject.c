/* SPDX-License-Identifier: MIT */
/*
 * inject.c - operations of the backend fail, the program repeats what failed, and nothing is lost.
 *
 * usage: inject PLAN [OPTION=VALUE…]. PLAN is "every" (each nth operation fails, n up to 50), the name of an operation
 * of ADSM_WRAP (only that one fails), or "unsafe": nothing fails, but no operation may be called in the fault handler,
 * and threads do the same work at the same time. Options as adsmOption() takes them.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "adsm_prefetch.h"
#include "list.h"
#include "run/copy/io.h"

#define FAIL(format, ...) \
	check_failed(stderr, __FILE__, __LINE__, errno, adsmLastError(), "under '%s': " format, plan, __VA_ARGS__)
#include "../check.h"

#define TRIES 100
#define WORDS 20000u			/* 20 blocks of 4 KiB, the last one not whole */
#define THREADS 3u

static char plan[256];
static bool batch, fails, threaded;
static atomic_uint n_calls;
static atomic_uint n_failures;
static adsmModule *module;
static void *spare;

/* An object, and what must be in it. */
struct thing {
	unsigned *p;
	unsigned *model;
};

/* One operation more, or every nth one would always be the same. */
static void shift(void)
{
	adsmDeviceFill(spare, 0, 1);
}

static bool plain;		/* nothing is written between a failed call and the next try */

/* Whether to try again: what failed must have failed as the plan says, and not for ever. */
static bool again(int error, unsigned *tries)
{
	if (!error)
		return false;
	if (threaded && error == -EBUSY) {	/* another thread holds what this call might use */
		sched_yield();
		return true;
	}
	CHECK(fails && (error == -EIO || error == -ENOMEM));
	CHECK(adsmLastError()[0]);
	CHECK(++*tries < TRIES);
	n_failures++;
	if (!plain && *tries % 2)
		shift();
	return true;
}

#define REPEAT(call) do { \
	unsigned tries_ = 0; \
	while (again((call), &tries_)) \
		; \
} while (0)

/* ---- touches: SIGBUS says that one has failed, and it is done again */

static _Thread_local sigjmp_buf failed_touch;
static _Thread_local volatile sig_atomic_t touching;

static void on_sigbus(int signal)
{
	if (!touching)
		_exit(3);
	siglongjmp(failed_touch, 1);
}

/* Write what the model has, or compare. */
static void touch(struct thing *thing, unsigned first, unsigned step, bool write)
{
	volatile unsigned *p = thing->p;
	volatile unsigned i = first, tries = 0;

	if (sigsetjmp(failed_touch, 1)) {
		touching = 0;
		CHECK(fails && ++tries < TRIES);
		n_failures++;
		if (tries % 2)
			shift();
	}
	touching = 1;
	for (; i < WORDS; i += step, tries = 0) {
		unsigned want = thing->model[i];

		if (write)
			p[i] = want;
		else if (p[i] != want) {
			fprintf(stderr, "under '%s': word %u is %u, not %u\n", plan, i, p[i], want);
			_exit(1);
		}
	}
	touching = 0;
}

static void write_words(struct thing *thing, unsigned step, unsigned value)
{
	for (unsigned i = 0; i < WORDS; i += step)
		thing->model[i] = value + i;
	touch(thing, 0, step, true);
}

static void expect(struct thing *thing, unsigned step)
{
	touch(thing, step - 1, step, false);
}

/* ---- the API, repeated */

/* Where accesses are not seen, what a kernel wrote is there after the sync only. */
static void settle(bool sync)
{
	if (batch || sync)
		REPEAT(adsmSync());
}

static adsmKernel *kernel(const char *name)
{
	adsmKernel *found = adsmKernelGet(module, name);

	CHECK(found);
	return found;
}

static struct thing new_thing(void)
{
	struct thing thing = { .model = calloc(WORDS, sizeof(unsigned)) };
	unsigned tries = 0;

	while (!(thing.p = adsmAlloc(WORDS * sizeof(unsigned))))
		again(-errno, &tries);
	return thing;
}

static void free_thing(struct thing *thing)
{
	REPEAT(adsmFree(thing->p));
	free(thing->model);
}

static const adsmDim grid = { (WORDS + 255) / 256, 1, 1 }, block = { 256, 1, 1 };

/* Before a call is repeated the program usually continues to write: these writes must arrive, too. */
static void increment(struct thing *thing, const char *name)
{
	unsigned tries = 0;

	while (again(adsmCall(kernel(name), grid, block, adsmPtr(thing->p), adsmVal(WORDS)), &tries)) {
		if (plain || tries % 3 == 0)	/* of two operations in turn, every second would always fail */
			continue;
		thing->model[tries * 777 % WORDS] = tries;
		touch(thing, tries * 777 % WORDS, WORDS, true);
	}
	n_calls++;
	for (unsigned i = 0; i < WORDS; i++)
		thing->model[i]++;
}

static void add(struct thing *a, struct thing *b, struct thing *sum)
{
	REPEAT(adsmCall(kernel("add"), grid, block, adsmPtr(a->p), adsmPtr(b->p), adsmPtr(sum->p), adsmVal(WORDS)));
	n_calls++;
	for (unsigned i = 0; i < WORDS; i++)
		sum->model[i] = a->model[i] + b->model[i];
}

static void copy(struct thing *to, struct thing *from, unsigned first, unsigned n)
{
	memcpy(to->model + first, from->model + first, n * sizeof(unsigned));
	REPEAT(adsmMemcpy(to->p + first, from->p + first, n * sizeof(unsigned)));
}

static void set(struct thing *thing, unsigned first, unsigned n, int byte)
{
	memset(thing->model + first, byte, n * sizeof(unsigned));
	REPEAT(adsmMemset(thing->p + first, byte, n * sizeof(unsigned)));
}

/*
 * A system call that writes @n words from @first on, and brings some of them only. Meanwhile the program touches other
 * words of the block, so the rest of the range is a hole, which is fetched at the end. If this fails, the next access
 * fetches it.
 */
static void input(struct thing *thing, unsigned first, unsigned n, unsigned delivered, bool write)
{
	struct iovec range = { thing->p + first, n * sizeof(unsigned) }, room[ADSM_IO_ROOM(1)];
	struct adsm_io io = { 0 };
	int error;

	REPEAT(adsm_io_begin_input(&io, &range, 1, room));
	CHECK(io.n == 1);
	touch(thing, first + n, WORDS, false);
	if (write) {
		thing->model[first + n + 1] = n;
		touch(thing, first + n + 1, WORDS, true);
	}
	for (unsigned i = 0; i < delivered; i++)
		((unsigned *)io.vector->iov_base)[i] = thing->model[first + i] = 7 * i;
	error = adsm_io_end(&io, delivered * sizeof(unsigned));
	CHECK(!error || (fails && (error == -EIO || error == -ENOMEM)));
	/* Then the system call returns EIO, and the program does not know what it has brought. */
	for (unsigned i = 0; i < delivered && error; i++)
		touch(thing, first + i, WORDS, true);
}

static void hold(struct thing *thing, unsigned first, unsigned n, int access)
{
	int error;

	REPEAT(adsmHold(thing->p + first, n * sizeof(unsigned), access));
	for (unsigned i = first; i < first + n; i++) {
		if (access == (int)ADSM_ACCESS_IN)
			CHECK(thing->p[i] == thing->model[i]);
		else
			thing->p[i] = thing->model[i] = 3 * i;
	}
	error = adsmCall(kernel("increment"), grid, block, adsmPtr(thing->p), adsmVal(WORDS));
	CHECK(error == -EBUSY || (fails && (error == -EIO || error == -ENOMEM)));
	CHECK(!adsmUnhold(thing->p + first, n * sizeof(unsigned)));
}

/* What fails here is done again by the call or the touch that needs it. */
static void prefetch(const struct thing *thing, int to)
{
	adsmEvent event;
	int error;

	CHECK(!adsmPrefetch(thing->p, WORDS * sizeof(unsigned), to, &event));
	error = adsmEventWait(event);
	CHECK(!error || (fails && (error == -EIO || error == -ENOMEM)));
}

static void check_info(const struct thing *thing)
{
	adsmObjectProps info = { .struct_size = sizeof(info) };

	CHECK(!adsmObjectInfo(thing->p, &info));
	CHECK(info.n_invalid + info.n_read_only + info.n_dirty == info.n_blocks);
}

static void *work(void *seed)
{
	struct thing a = new_thing(), b = new_thing(), c = new_thing();

	for (unsigned round = 0; round < 4; round++) {
		/* Writes of other threads while an unnamed call runs are lost if they are not detected. */
		const char *any = batch && threaded ? "increment" : "increment_any";
		unsigned value = (unsigned)(uintptr_t)seed * 1000 + round;

		write_words(&a, 1, value);
		write_words(&b, 1, 2 * value);
		increment(&a, "increment");
		prefetch(&a, ADSM_HOST);
		settle(round & 1);
		expect(&a, round < 2 ? 1 : 700);
		write_words(&a, 1300, value + 5);
		prefetch(&a, 0);
		increment(&a, any);
		settle(round & 2);
		add(&a, &b, &c);
		settle(true);
		expect(&b, 1);
		check_info(&a);
		/* On the device, and through the CPU; whole blocks and parts. */
		copy(&b, &c, 0, WORDS);
		copy(&c, &a, 100, WORDS - 200);
		set(&a, 0, round & 1 ? WORDS : WORDS / 2, (int)round);
		set(&a, WORDS - 3000, 2000, 9);
		increment(&a, any);
		settle(round & 1);
		hold(&a, 500, 5000, ADSM_ACCESS_INOUT);
		hold(&b, 0, 10240, ADSM_ACCESS_OUT);
		increment(&c, "increment");
		settle(false);
		input(&c, 5 * 1024 + 100, 200, 60 * round, round & 1);
		hold(&c, 0, WORDS, ADSM_ACCESS_IN);
		check_info(&b);
		increment(&b, "increment");
		settle(round & 2);
		expect(&a, 1);
		expect(&b, 1);
		expect(&c, 1);
	}
	REPEAT(adsmSync());
	free_thing(&a);
	free_thing(&b);
	free_thing(&c);
	return NULL;
}

/* ---- the library from start to stop, under one plan */

static uint64_t memory_free(void)
{
	adsmDeviceProps info = { .struct_size = sizeof(info) };

	CHECK(!adsmDeviceInfo(0, &info));
	return info.memory_free;
}

static void run(void)
{
	pthread_t threads[THREADS];
	const char *folder = getenv("TEST_KERNELS");
	char path[4096];
	uint64_t before;
	adsmStats stats;

	CHECK(folder);
	snprintf(path, sizeof(path), "%s/conform.adsm", folder);
	CHECK(!adsmOption("wrap", plan));
	CHECK(!adsmInit());
	CHECK(!adsmStatsReset());
	n_calls = 0;
	before = memory_free();
	while (!(spare = adsmDeviceAlloc(1)))
		CHECK(fails);
	module = adsmModuleLoad(path);
	CHECK(module);
	if (threaded) {
		for (uintptr_t t = 0; t < THREADS; t++)
			CHECK(!pthread_create(&threads[t], NULL, work, (void *)(t + 1)));
		for (unsigned t = 0; t < THREADS; t++)
			CHECK(!pthread_join(threads[t], NULL));
	} else {
		work((void *)1);
	}
	CHECK(!adsmStatsGet(&stats, sizeof(stats)));
	CHECK(stats.calls == n_calls);
	CHECK(stats.h2d_bytes >= stats.h2d_transfers && stats.d2h_bytes >= stats.d2h_transfers);
	CHECK(stats.h2d_transfers && stats.d2h_transfers && stats.kernel_ns);
	CHECK(batch ? !stats.signals : stats.signals && stats.write_faults && stats.read_faults);
	REPEAT(adsmModuleUnload(module));
	REPEAT(adsmDeviceFree(spare));
	CHECK(memory_free() == before);
	CHECK(!adsm_wrap_unsafe_calls);
	REPEAT(adsmShutdown());
}

static void nothing_works(void)
{
	strcpy(plan, "fail=1");
	CHECK(!adsmOption("wrap", plan));
	CHECK(!adsmOption("oversubscribe", "off"));	/* adsmAlloc() asks the device for memory */
	CHECK(!adsmInit());
	CHECK(!adsmAlloc(1) && errno == ENOMEM);
	CHECK(!adsmDeviceAlloc(1) && errno == ENOMEM);
	CHECK(!adsmShutdown());
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = on_sigbus };
	static const unsigned some[] = { 7, 8, 9, 13, 29 };
	/*
	 * Every n-th operation fails. If the program writes between a failed call and its repetition, the repetition
	 * makes its last send and its launch again; if writes are not detected, all its sends. Such a repetition can
	 * succeed if n is at least @least. With a smaller n the program writes nothing in between.
	 */
	unsigned least = 3, first = 2;
	bool rolling = false, repeated;

	CHECK(argc > 1);
	CHECK(!sigaction(SIGBUS, &action, NULL));
	for (int i = 2; i < argc; i++) {
		char *value = strchr(argv[i], '=');

		CHECK(value);
		*value++ = '\0';
		batch |= !strcmp(value, "batch");
		/* A copy into the middle of a block fetches what is before and what is behind it, two operations in
		 * a row: every second failing lets none by. */
		rolling |= !strcmp(value, "rolling");
		if (!strcmp(value, "rolling") || !strcmp(value, "lazy"))
			first = 3;
		CHECK(!adsmOption(argv[i], value));
	}
	CHECK(!adsmOption("log", "silent"));
	if (batch)
		least = 6;
	if (!strcmp(argv[1], "unsafe")) {
		strcpy(plan, "unsafe");
		run();
		threaded = true;
		run();
		threaded = false;
		fails = true;
		for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++) {
			snprintf(plan, sizeof(plan), "unsafe,fail=%u", some[i]);
			run();
		}
		return 0;
	}
	fails = true;
	if (!strcmp(argv[1], "every")) {
		nothing_works();
		for (unsigned n = first; n <= 50; n++)
			for (unsigned seed = 0; seed < n; seed += 7) {
				plain = n < least;
				snprintf(plan, sizeof(plan), "fail=%u,seed=%u", n, seed);
				run();
			}
	} else {
		for (unsigned n = 1; n <= 20; n++) {
			/* If the device can never be asked whether a call has ended, it is enough to wait for it. */
			const bool once = n < first ? strcmp(argv[1], "query") != 0 : n & 1;

			snprintf(plan, sizeof(plan), "fail=%u,ops=%s%s", n, argv[1], once ? ",once" : "");
			run();
		}
	}
	/* Where the library does not detect the CPU's accesses, it tries each send and launch twice. */
	repeated = batch && (!strcmp(argv[1], "launch") || !strcmp(argv[1], "to_device"));
	/* It sends early blocks again, and waits where it cannot ask. */
	CHECK(!n_failures == repeated || !strcmp(argv[1], "query") || (rolling && !strcmp(argv[1], "to_device")));
	return 0;
}
