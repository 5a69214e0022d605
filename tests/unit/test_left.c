/* SPDX-License-Identifier: MIT */
/*
 * test_left.c - inputs whose function was left by a jump: while one thread ends such an input, other threads wait
 * before they use its bytes. And inputs that were ended by mistake: what comes all the same is there; and what a switch
 * to another stack does not end.
 *
 * The ending thread is held inside of a transfer while another thread runs, so nothing depends on time.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "core.h"
#include "run/wait/in_driver.h"
#include "run/copy/io.h"

#define BLOCKS 8u
#define WORDS (BLOCKS * PAGE_WORDS)
#define FIRST 25u			/* the words of an input, mostly */
#define N (3 * PAGE_WORDS)
#define HOLED 3u			/* the block that was fetched around it */

static volatile unsigned *objects[2];
static unsigned first = FIRST;
static unsigned increments, added;	/* @added: to word 0 of block 0 by the other thread */

static void watch(void)
{
	for (unsigned k = 0; k < 2; k++) {
		objects[k] = alloc_with(WORDS * sizeof(unsigned), "rolling", PAGE);
		for (unsigned i = 0; i < WORDS; i++)
			objects[k][i] = i;
	}
	increments = added = 0;
}

static void increment(void)
{
	for (unsigned k = 0; k < 2; k++)
		CHECK(!call_words(kernel("increment"), WORDS, adsmPtr(objects[k])));
	CHECK(!adsmSync());
	increments++;
}

/* ---- the thread that makes the call: its function counts as left while *serial is 0 */

static struct adsm_io *call;		/* lies on its stack */
static atomic_int step;

static void await(int wanted)
{
	while (atomic_load(&step) < wanted)
		sched_yield();
}

static void begin(struct adsm_io *io, struct iovec *room, int n)
{
	static struct iovec vector[2];

	for (unsigned k = 0; k < 2; k++)
		vector[k] = (struct iovec){ (void *)&objects[k][first], (FIRST + N - first) * sizeof(unsigned) };
	CHECK(!adsm_io_begin_input(io, vector, n, room));
	call = io;
	atomic_store(&step, 1);
	await(2);
}

/* ---- ended by one thread, used by another */

static atomic_bool hold;		/* the next fetch of the holed block */
static atomic_int other_state;		/* 1: it may begin; 2: it has ended */
static bool passed;			/* it has ended before the other one had ended the input */
static atomic_int store_state;		/* 1: a third thread may store; 2: it has, or there is none */
static struct adsm_backend backend;

static int to_host(void *dst, struct adsm_memory *src, size_t offset, size_t size, struct adsm_device_event *event)
{
	if (offset == HOLED * PAGE && atomic_exchange(&hold, false)) {
		atomic_store(&other_state, 1);
		while (atomic_load(&other_state) == 1 && !adsm_homes[0].n_waiting)
			sched_yield();
		passed = atomic_load(&other_state) == 2;
		if (!atomic_load(&store_state))
			atomic_store(&store_state, 1);
		while (atomic_load(&store_state) == 1)
			sched_yield();
	}
	return backend.to_host(dst, src, offset, size, event);
}

static void *use(void *writes)
{
	while (!atomic_load(&other_state))
		sched_yield();
	if (writes)
		objects[0][500] += 1000;
	else
		CHECK_EQ(objects[0][500], 500 + increments + added);
	atomic_store(&other_state, 2);
	return NULL;
}

static void touch(void)
{
	const unsigned i = 2 * PAGE_WORDS + 1;

	CHECK_EQ(objects[0][i], i + increments);
}

static void *leave(void *ends_itself)
{
	struct iovec room[ADSM_IO_ROOM(2)];
	struct adsm_io io = { 0 };

	begin(&io, room, 1);
	if (ends_itself)
		touch();
	await(3);
	return NULL;
}

static void end_left(bool writes, bool ends_itself)
{
	pthread_t caller, other;
	int mark;

	increment();
	atomic_store(&step, 0);
	atomic_store(&other_state, 0);
	atomic_store(&store_state, 2);
	CHECK(!pthread_create(&caller, NULL, leave, ends_itself ? &mark : NULL));
	CHECK(!pthread_create(&other, NULL, use, writes ? &mark : NULL));
	await(1);
	CHECK_EQ(objects[0][HOLED * PAGE_WORDS + 500], HOLED * PAGE_WORDS + 500 + increments);
	call->serial = 0;
	atomic_store(&hold, true);
	atomic_store(&step, 2);
	if (!ends_itself)
		touch();
	CHECK(!pthread_join(other, NULL));
	atomic_store(&step, 3);
	CHECK(!pthread_join(caller, NULL));
	CHECK(!atomic_load(&hold));
	CHECK(!passed);
	added += writes ? 1000 : 0;
	for (unsigned round = 0; round < 2; round++) {
		for (unsigned i = 0; i < WORDS; i++)
			CHECK_AT(objects[0][i], i, i + increments + (i == 500 ? added : 0));
		increment();
	}
}

/* The system gets blocks 0 to 2, of which the input has the last one. */
static void *output(void *unused)
{
	const struct iovec whole = { (void *)objects[0], 3 * PAGE };
	struct iovec room[ADSM_IO_ROOM(1)];
	struct adsm_io io = { 0 };

	while (!atomic_load(&other_state))
		sched_yield();
	CHECK(!adsm_io_begin_output(&io, &whole, 1, room));
	atomic_store(&other_state, 2);
	return unused;
}

static void *store(void *unused)
{
	while (!atomic_load(&store_state))
		sched_yield();
	objects[0][PAGE_WORDS + 7] = 1234;
	atomic_store(&store_state, 2);
	return unused;
}

/* An output of several blocks waits for the end. Meanwhile a block of them is fetched and written: it stays so. */
static void several_blocks(void)
{
	pthread_t caller, other, third;

	increment();
	first = 2 * PAGE_WORDS + FIRST;
	atomic_store(&step, 0);
	atomic_store(&other_state, 0);
	atomic_store(&store_state, 0);
	CHECK(!pthread_create(&caller, NULL, leave, NULL));
	CHECK(!pthread_create(&other, NULL, output, NULL));
	CHECK(!pthread_create(&third, NULL, store, NULL));
	await(1);
	CHECK_EQ(objects[0][HOLED * PAGE_WORDS + 500], HOLED * PAGE_WORDS + 500 + increments);
	call->serial = 0;
	atomic_store(&hold, true);
	atomic_store(&step, 2);
	touch();
	CHECK(!pthread_join(third, NULL));
	CHECK(!pthread_join(other, NULL));
	atomic_store(&step, 3);
	CHECK(!pthread_join(caller, NULL));
	CHECK(!passed);
	for (unsigned i = 0; i < WORDS; i++)
		CHECK_AT(objects[0][i], i, i == PAGE_WORDS + 7 ? 1234 : i + increments + (i == 500 ? added : 0));
	first = FIRST;
}

static void ending(void)
{
	static struct adsm_backend wrapped;

	backend = *adsm_homes[0].device->backend;
	wrapped = backend;
	wrapped.to_host = to_host;
	adsm_homes[0].device->backend = &wrapped;
	watch();
	for (unsigned i = 0; i < 4; i++)
		end_left(i & 1, i & 2);
	several_blocks();
}

/* ---- a call into two objects, one of whose inputs is ended by mistake */

static unsigned delivered(unsigned position)
{
	return 70000 + position;
}

static void *deliver(void *unused)
{
	struct iovec room[ADSM_IO_ROOM(2)];
	struct adsm_io io = { 0 };
	unsigned position = 0;

	begin(&io, room, 2);
	for (int i = 0; i < io.n; i++)
		for (size_t k = 0; k < io.vector[i].iov_len / sizeof(unsigned); k++)
			((volatile unsigned *)io.vector[i].iov_base)[k] = delivered(position++);
	CHECK_EQ(position, 2 * N);
	CHECK(!adsm_io_end(&io, position * sizeof(unsigned)));
	CHECK(!adsm_homes[0].n_waiting);
	return unused;
}

static void check_delivered(void)
{
	for (unsigned round = 0; round < 2; round++, increment())
		for (unsigned k = 0; k < 2; k++)
			for (unsigned i = 0; i < WORDS; i++)
				CHECK_AT(objects[k][i], i, i - FIRST < N ? delivered(k * N + i - FIRST) + round :
					 i + increments);
}

/* @which: bits of the inputs that are ended. */
static void end_some(unsigned which)
{
	pthread_t caller;
	uint64_t serial;

	watch();
	increment();
	atomic_store(&step, 0);
	CHECK(!pthread_create(&caller, NULL, deliver, NULL));
	await(1);
	serial = call->serial;
	call->serial = 0;
	for (unsigned k = 0; k < 2; k++)
		if (which >> k & 1) {
			CHECK_EQ(objects[k][PAGE_WORDS + 1], PAGE_WORDS + 1 + increments);
			CHECK(!object_of(objects[k])->inputs);
		}
	call->serial = serial;
	atomic_store(&step, 2);
	CHECK(!pthread_join(caller, NULL));
	check_delivered();
	for (unsigned k = 0; k < 2; k++) {
		CHECK(!object_of(objects[k])->inputs);
		CHECK(!adsmFree((void *)objects[k]));
	}
}

static void parts(void)
{
	for (unsigned which = 0; which < 4; which++)
		end_some(which);
}

/* ---- setcontext() to another stack does not end what continues when the thread comes back */

static void switching(void)
{
	static char elsewhere[4096];
	const uintptr_t here = (uintptr_t)__builtin_frame_address(0);

	adsm_in_driver.frame = (uintptr_t)elsewhere;
	adsm_io_leave((uintptr_t)elsewhere + sizeof(elsewhere), true);
	CHECK(adsm_in_driver.frame);
	adsm_in_driver.frame = here - 64;
	adsm_io_leave(here - 128, true);
	CHECK(adsm_in_driver.frame);
	adsm_io_leave(here, true);
	CHECK(!adsm_in_driver.frame);
	adsm_in_driver.frame = (uintptr_t)elsewhere;
	adsm_io_leave((uintptr_t)elsewhere + sizeof(elsewhere), false);
	CHECK(!adsm_in_driver.frame);
}

int main(int argc, char **argv)
{
	CHECK_EQ(argc, 2);
	CHECK(!adsmOption("block_size", "4K"));
	CHECK(!adsmOption("fault_ahead", "0"));
	CHECK(!adsmInit());
	kernel("increment");
	if (!strcmp(argv[1], "ending"))
		ending();
	else if (!strcmp(argv[1], "parts"))
		parts();
	else if (!strcmp(argv[1], "switching"))
		switching();
	else
		FAIL("no case %s", argv[1]);
	return 0;
}
