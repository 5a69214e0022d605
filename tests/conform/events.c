/* SPDX-License-Identifier: MIT */
/* events.c - events of calls: their status, waits, times, and how long the library remembers them. */
#include "conform.h"

#include <adsm_queue.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define N 5000u
#define KEPT 1024u		/* calls of a device whose end the library remembers */

static adsmEvent event_of_last(void)
{
	adsmEvent event;

	CHECK_OK(adsmCallEvent(&event));
	return event;
}

static adsmEvent increment(unsigned *a)
{
	CALL("increment", N, adsmPtr(a), adsmVal(N));
	return event_of_last();
}

/* An event can be waited for again and again, and a copy of it, also after adsmSync(). */
static void order(void)
{
	unsigned *a = words(N, 0);
	adsmEvent first, second, copy;

	first = increment(a);
	CALL("late_increment", N, adsmVal(SPIN), adsmPtr(a), adsmVal(N));
	second = copy = event_of_last();
	CHECK_OK(adsmEventWait(second));
	/* Calls of a device end in order. */
	CHECK_OK(adsmEventQuery(first));
	CHECK_OK(adsmEventQuery(second));
	CHECK_OK(adsmEventWait(copy));
	CHECK_OK(adsmEventWait(first));
	CHECK_EQ(a[5], 7);
	SYNC();
	CHECK_OK(adsmEventQuery(second));
	CHECK_OK(adsmEventWait(first));
	/* adsmSync() has not changed which call is the last one. */
	second = event_of_last();
	CHECK(!memcmp(&second, &copy, sizeof(copy)));
}

/* After the wait the CPU reads the results, with batch too, where no access waits. */
static void fetches(void)
{
	unsigned *a = words(N, 0), *b = words(N, 0);
	adsmEvent of_a = increment(a), of_b;

	CALL("late_increment", N, adsmVal(SPIN), adsmPtr(b), adsmVal(N));
	of_b = event_of_last();
	CHECK_OK(adsmEventWait(of_a));
	for (unsigned i = 0; i < N; i++)
		CHECK_AT(a[i], i, i + 1);
	a[3] = 100;
	CHECK_OK(adsmEventWait(of_b));
	for (unsigned i = 0; i < N; i++)
		CHECK_AT(b[i], i, i + 1);
	of_a = increment(a);
	CHECK_OK(adsmEventWait(of_a));
	CHECK_EQ(a[3], 101);
	SYNC();
	CHECK_EQ(a[3], 101);
}

/* A query returns at once. It ends to return -EBUSY when the call has ended, although no thread waits. */
static void query(void)
{
	unsigned *a = words(N, 0);
	adsmEvent event;
	int error;

	CALL("late_increment", N, adsmVal(SPIN), adsmPtr(a), adsmVal(N));
	event = event_of_last();
	while ((error = adsmEventQuery(event)))
		CHECK_EQ(error, -EBUSY);
	CHECK_OK(adsmEventWait(event));
	CHECK_EQ(a[4], 5);
}

static void refused(void)
{
	static const adsmEvent nothing;
	unsigned *a = words(N, 0);
	uint64_t start = 7, end = 8;
	adsmEvent event = { 1, 2, 3 }, good;

	CHECK_ERROR(adsmCallEvent(&event), ENOENT);
	CHECK(event.device == 1 && event.queue == 2 && event.seq == 3);
	CHECK_ERROR(adsmCallEvent(NULL), EINVAL);
	CHECK_ERROR(adsmEventWait(nothing), EINVAL);
	CHECK_ERROR(adsmEventQuery(nothing), EINVAL);
	CHECK_ERROR(adsmEventTime(nothing, &start, &end), EINVAL);
	CHECK(start == 7 && end == 8);
	good = event = increment(a);
	event.seq++;
	CHECK_ERROR(adsmEventWait(event), EINVAL);
	CHECK_ERROR(adsmEventQuery(event), EINVAL);
	CHECK_ERROR(adsmEventTime(event, &start, &end), EINVAL);
	event = good;
	event.device = 100;
	CHECK_ERROR(adsmEventWait(event), EINVAL);
	CHECK_SAYS("device 100");
	event = good;
	event.queue++;
	CHECK_ERROR(adsmEventQuery(event), EINVAL);
	SYNC();
	/* Numbers of calls begin again with each start. */
	CHECK_OK(adsmFree(a));
	unload();
	CHECK_OK(adsmShutdown());
	a = words(N, 0);
	CHECK_ERROR(adsmCallEvent(&event), ENOENT);
	increment(a);
	CHECK_ERROR(adsmEventWait(good), EINVAL);
	CHECK_SAYS("older than the last start");
	SYNC();
}

static void times(void)
{
	unsigned *a = words(N, 0);
	uint64_t start[3], end[3];
	adsmEvent events[3];

	for (int i = 0; i < 3; i++) {
		CALL("late_increment", N, adsmVal(SPIN / 100), adsmPtr(a), adsmVal(N));
		events[i] = event_of_last();
	}
	CHECK_OK(adsmEventWait(events[2]));
	if (adsmEventTime(events[0], &start[0], &end[0]) == -ENOTSUP) {
		CHECK(adsmLastError()[0]);
		skip("the device does not report when a kernel ran");
	}
	for (int i = 0; i < 3; i++) {
		CHECK_OK(adsmEventTime(events[i], &start[i], &end[i]));
		CHECK(start[i] && start[i] <= end[i]);
		CHECK(!i || start[i] >= end[i - 1]);
	}
	CHECK_OK(adsmEventTime(events[1], NULL, &end[0]));
	CHECK_EQ(end[0], end[1]);
	CHECK_OK(adsmEventTime(events[1], &start[0], NULL));
	CHECK_EQ(start[0], start[1]);
	SYNC();
}

/* The library remembers a number of calls. Older ones count as successful, and have no times. */
static void forgotten(void)
{
	unsigned *a = words(N, 0);
	uint64_t start, end;
	adsmEvent first = increment(a);
	int timed;

	for (unsigned i = 1; i < KEPT; i++)
		CALL("increment", 1, adsmPtr(a), adsmVal(1u));
	CHECK_OK(adsmEventWait(event_of_last()));
	timed = adsmEventTime(first, &start, &end);
	CHECK(!timed || timed == -ENOTSUP);
	CHECK_OK(adsmEventQuery(first));
	CALL("increment", 1, adsmPtr(a), adsmVal(1u));
	CHECK_OK(adsmEventWait(event_of_last()));
	CHECK_ERROR(adsmEventTime(first, &start, &end), EINVAL);
	CHECK_SAYS("1024");
	CHECK_OK(adsmEventQuery(first));
	CHECK_OK(adsmEventWait(first));
	SYNC();
	CHECK_EQ(a[0], KEPT + 1);
}

static void copies(void)
{
	static unsigned from[N], to[N];
	unsigned *d = adsmDeviceAlloc(sizeof(from));
	uint64_t start, end;
	adsmEvent sent, fetched;
	int error;

	CHECK(d);
	from[7] = 8;
	CHECK_OK(adsmCopyToDeviceAsync(d, from, sizeof(from), &sent));
	CHECK_OK(adsmCopyToHostAsync(to, d, sizeof(to), &fetched));
	while ((error = adsmEventQuery(fetched)))
		CHECK_EQ(error, -EBUSY);
	CHECK_EQ(to[7], 8);
	CHECK_OK(adsmEventQuery(sent));
	CHECK_ERROR(adsmEventTime(sent, &start, &end), ENOTSUP);
	sent.seq += 1000;
	CHECK_ERROR(adsmEventQuery(sent), EINVAL);
	CHECK_OK(adsmDeviceFree(d));
}

#define THREADS 8
#define ROUNDS 20

static pthread_barrier_t in_turn;
static adsmEvent posted[THREADS];
static unsigned *objects[THREADS];

/* Each thread waits for the calls of all, and sees their results. */
static void *take_part(void *arg)
{
	const size_t me = (size_t)arg;

	for (unsigned round = 1; round <= ROUNDS; round++) {
		CALL("increment", N, adsmPtr(objects[me]), adsmVal(N));
		posted[me] = event_of_last();
		pthread_barrier_wait(&in_turn);
		for (size_t i = 0; i < THREADS; i++) {
			const size_t one = (me + i) % THREADS;

			CHECK_OK(adsmEventWait(posted[one]));
			CHECK_EQ(objects[one][N - 1], N - 1 + round);
			CHECK_OK(adsmEventQuery(posted[one]));
		}
		pthread_barrier_wait(&in_turn);
	}
	SYNC();
	return NULL;
}

static void threads(void)
{
	pthread_t all[THREADS];

	pthread_barrier_init(&in_turn, NULL, THREADS);
	kernel("increment");
	for (size_t i = 0; i < THREADS; i++)
		objects[i] = words(N, 0);
	for (size_t i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&all[i], NULL, take_part, (void *)i));
	for (size_t i = 0; i < THREADS; i++)
		CHECK(!pthread_join(all[i], NULL));
}

static void forks(void)
{
	adsmEvent event = increment(words(N, 0)), other;
	uint64_t start, end;
	int status;
	pid_t child;

	SYNC();
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		CHECK_ERROR(adsmCallEvent(&other), ENOTSUP);
		CHECK_ERROR(adsmEventQuery(event), ENOTSUP);
		CHECK_ERROR(adsmEventWait(event), ENOTSUP);
		CHECK_ERROR(adsmEventTime(event, &start, &end), ENOTSUP);
		_exit(0);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
	CHECK_OK(adsmEventWait(event));
}

static void *wait_for_lost(void *event)
{
	CHECK(adsmEventWait(*(adsmEvent *)event) < 0);
	CHECK(adsmLastError()[0]);
	/* This thread has made no call. With batch the loss of an object is reported to the first sync. */
	if (!batch())
		SYNC();
	return NULL;
}

/* The error of a call is that of its event, for each thread. adsmSync() of the call's thread returns it, too. */
static void crashed(void)
{
	unsigned *a = words(N, 0), *b = words(N, 0);
	adsmEvent good, bad, behind;
	uint64_t start, end;
	pthread_t thread;
	int error;

	if (!strcmp(device_props().backend, "opencl"))
		skip("a crash in a kernel is the program's own on this device");
	good = increment(a);
	CALL("late_increment", 1, adsmVal(SPIN), adsmPtr(b), adsmVal(1u));
	if (adsmCall(kernel("crash"), blocks(1), lanes(), adsmPtr(b)))
		skip("the device was lost before the call returned");
	bad = event_of_last();
	/* The device may be lost by now. */
	behind = adsmCall(kernel("increment"), blocks(N), lanes(), adsmPtr(b), adsmVal(N)) ? bad : event_of_last();
	CHECK(!pthread_create(&thread, NULL, wait_for_lost, &bad));
	CHECK(!pthread_join(thread, NULL));
	error = adsmEventWait(bad);
	CHECK(error < 0);
	CHECK_EQ(adsmEventQuery(bad), error);
	CHECK_EQ(adsmEventTime(bad, &start, &end), error);
	CHECK(adsmEventWait(behind) < 0);
	CHECK_OK(adsmEventQuery(good));
	CHECK(adsmSync() < 0);
	SYNC();
	CHECK_EQ(adsmEventQuery(bad), error);
}

/* The query of a call that runs, and a wait for it that ends with the device. */
static void killed(void)
{
	unsigned *a = words(N, 0);
	pid_t process = device_process();
	uint64_t start, end;
	pthread_t thread;
	adsmEvent event;

	if (!process)
		skip("the accelerator has no process of its own");
	CALL("late_increment", 1, adsmVal(1ul << 40), adsmPtr(a), adsmVal(1u));
	event = event_of_last();
	CHECK_ERROR(adsmEventQuery(event), EBUSY);
	CHECK_ERROR(adsmEventTime(event, &start, &end), EBUSY);
	CHECK(!pthread_create(&thread, NULL, wait_for_lost, &event));
	CHECK_ERROR(adsmEventQuery(event), EBUSY);
	CHECK(!kill(process, SIGKILL));
	CHECK(!pthread_join(thread, NULL));
	CHECK_ERROR(adsmEventQuery(event), ENODEV);
	CHECK_ERROR(adsmSync(), ENODEV);
}

static const struct conform_case cases[] = {
	CASE("event-order", order),
	CASE("event-fetches", fetches),
	CASE("event-query", query),
	CASE("event-refused", refused),
	CASE("event-times", times),
	CASE("event-forgotten", forgotten),
	CASE("event-copies", copies),
	CASE("event-threads", threads),
	CASE("event-forks", forks),
	CASE("event-crashed", crashed),
	CASE("event-killed", killed),
};

CONFORM_MAIN(cases)
