/* SPDX-License-Identifier: MIT */
/*
 * litmus.c - two calls of different queues that must have an order, many times. The first one is slow, so it would end
 * late. In every other batch a second thread makes the second call.
 */
#include "conform.h"

#include <adsm_queue.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

#define BATCH 8u		/* rounds without a wait in between */

#ifdef __SANITIZE_THREAD__
#define MOST 10000u
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define MOST 10000u
#endif
#endif
#ifndef MOST
#define MOST 100000u
#endif

static adsmQueue *queues[3];
static unsigned *x, *y;
static adsmEvent first_event, second_event;

/* A litmus test: the calls of round @k of a batch. */
static void (*first)(unsigned long spins, unsigned k), (*second)(unsigned k);

static void in_queue(unsigned i)
{
	CHECK_OK(adsmQueueSet(queues[i]));
}

static sem_t asked, done;
static _Atomic unsigned asked_round;
static _Atomic bool ends;

static void *help(void *unused)
{
	in_queue(1);
	for (;;) {
		while (sem_wait(&asked))
			;
		if (ends)
			return NULL;
		second(asked_round);
		CHECK_OK(adsmCallEvent(&second_event));
		CHECK(!sem_post(&done));
	}
}

static void run_round(unsigned k, unsigned long spins, bool threads)
{
	in_queue(0);
	first(spins, k);
	CHECK_OK(adsmCallEvent(&first_event));
	if (threads) {
		asked_round = k;
		CHECK(!sem_post(&asked));
		while (sem_wait(&done))
			;
		return;
	}
	in_queue(1);
	second(k);
	CHECK_OK(adsmCallEvent(&second_event));
}

/* @check: after each batch, where @base is the number of rounds before it. */
static void run(void (*check)(unsigned base))
{
	const bool full = getenv("TEST_FULL"), overlaps = !strcmp(device_props().backend, "cpu");
	const unsigned n = overlaps ? full ? MOST : 400 : full ? 2000 : 40;
	pthread_t helper;
	uint64_t state = 1;

	for (unsigned i = 0; i < 3; i++) {
		queues[i] = adsmQueueCreate();
		CHECK(queues[i]);
	}
	CHECK(!sem_init(&asked, 0, 0) && !sem_init(&done, 0, 0));
	CHECK(!pthread_create(&helper, NULL, help, NULL));
	for (unsigned base = 0; base < n; base += BATCH) {
		for (unsigned k = 0; k < BATCH; k++)
			run_round(k, draw(&state) % 4 * 5000, base / BATCH % 2);
		CHECK_OK(adsmEventWait(first_event));
		CHECK_OK(adsmEventWait(second_event));
		check(base);
	}
	ends = true;
	CHECK(!sem_post(&asked));
	CHECK(!pthread_join(helper, NULL));
}

static void increment_x(unsigned long spins, unsigned k)
{
	CALL("late_increment", 1, adsmVal(spins), adsmPtr(x), adsmVal(1u));
}

static void copy_x(unsigned k)
{
	CALL("copy", 1, adsmPtr(x), adsmPtr(&y[k]), adsmVal(1u));
}

static void check_written(unsigned base)
{
	for (unsigned k = 0; k < BATCH; k++)
		CHECK_AT(y[k], base + k, base + k + 1);
}

/* A call reads what an earlier one has written. */
static void write_read(void)
{
	x = words(1, 0);
	y = words(BATCH, 0);
	first = increment_x;
	second = copy_x;
	run(check_written);
}

static void copy_late(unsigned long spins, unsigned k)
{
	CALL("late_copy", 1, adsmVal(spins), adsmPtr(x), adsmPtr(&y[k]), adsmVal(1u));
}

static void increment_after(unsigned k)
{
	CALL("increment", 1, adsmPtr(x), adsmVal(1u));
}

static void check_read(unsigned base)
{
	for (unsigned k = 0; k < BATCH; k++)
		CHECK_AT(y[k], base + k, base + k);
}

/* A call does not read what a later one writes. */
static void read_write(void)
{
	x = words(1, 0);
	y = words(BATCH, 0);
	first = copy_late;
	second = increment_after;
	run(check_read);
}

static unsigned *ones, *twos;	/* 4 words each */

static unsigned *same(unsigned value)
{
	unsigned *a = words(4, value);

	for (unsigned i = 0; i < 4; i++)
		a[i] = value;
	return a;
}

static void write_one(unsigned long spins, unsigned k)
{
	CALL("late_copy", 1, adsmVal(spins), adsmPtr(ones), adsmPtr(x), adsmVal(4u));
}

static void write_two(unsigned k)
{
	CALL("copy", 4, adsmPtr(twos), adsmPtr(x), adsmVal(4u));
}

static void check_second(unsigned base)
{
	for (unsigned i = 0; i < 4; i++)
		CHECK_AT(x[i], base, 2);
}

/* The later of two writes stays. */
static void write_write(void)
{
	x = words(4, 0);
	ones = same(1);
	twos = same(2);
	first = write_one;
	second = write_two;
	run(check_second);
}

static struct { unsigned *data; } *ref;

/* An unnamed call, which finds x by a pointer in memory, and a call that reads what it wrote. */
static void increment_unnamed(unsigned k)
{
	in_queue(1);
	CALL("through_any", 1, adsmPtr(ref), adsmVal(1u));
	in_queue(2);
	copy_x(k);
}

static void check_both(unsigned base)
{
	for (unsigned k = 0; k < BATCH; k++)
		CHECK_AT(y[k], base + k, 2);
}

/* An unnamed call comes after all calls before it, and before all calls after it. */
static void unnamed(void)
{
	x = words(4, 0);
	y = words(BATCH, 0);
	ones = same(1);
	ref = alloc(sizeof(*ref));
	ref->data = in_data(x);
	first = write_one;
	second = increment_unnamed;
	run(check_both);
}

/* A call of another queue that shares no object with the first one: only the event gives the two an order. */
static void increment_later(unsigned k)
{
	uint64_t start, end, started;
	adsmEvent event;
	int error;

	CHECK_OK(adsmQueueWait(queues[1], first_event));
	CALL("increment", 1, adsmPtr(y), adsmVal(1u));
	CHECK_OK(adsmCallEvent(&event));
	CHECK_OK(adsmEventWait(event));
	CHECK_OK(adsmEventQuery(first_event));
	error = adsmEventTime(first_event, &start, &end);
	if (error == -ENOTSUP)
		return;
	CHECK_OK(error);
	CHECK_OK(adsmEventTime(event, &started, NULL));
	CHECKF(started >= end, "the second call started %lu ns before the first one ended",
	       (unsigned long)(end - started));
}

static void check_counts(unsigned base)
{
	CHECK_EQ(x[0], base + BATCH);
	CHECK_EQ(y[0], base + BATCH);
}

static void events(void)
{
	x = words(1, 0);
	y = words(1, 0);
	first = increment_x;
	second = increment_later;
	run(check_counts);
}

static const struct conform_case cases[] = {
	CASE("litmus-write-read", write_read),
	CASE("litmus-read-write", read_write),
	CASE("litmus-write-write", write_write),
	CASE("litmus-unnamed", unnamed),
	CASE("litmus-events", events),
};

CONFORM_MAIN(cases)
