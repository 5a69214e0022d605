/* SPDX-License-Identifier: MIT */
/* choice.c - ADSM_DEVICE_ANY: the library chooses the device of a call. */
#include "devices.h"

#include <adsm_queue.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

/* Make long calls on objects of device 0, each on its own object. Returns how many of them ran on other devices. */
static unsigned spread(unsigned *const *p, unsigned n)
{
	unsigned n_elsewhere = 0;

	for (unsigned i = 0; i < n; i++) {
		CALL("late_increment", N, adsmVal(SPIN * 2), adsmPtr(p[i]), adsmVal((unsigned)N));
		n_elsewhere += info(p[i]).device != 0;
	}
	return n_elsewhere;
}

/* Calls that share no object spread over the devices while earlier ones still run. */
static void any(void)
{
	unsigned *p[4], n_elsewhere = 0;
	uint64_t moved;

	start();
	/* The library learns how long such calls run, and how fast bytes move. */
	for (int i = 0; i < n_devices; i++) {
		p[0] = words_on(i, 0);
		CALL("late_increment", N, adsmVal(SPIN * 2), adsmPtr(p[0]), adsmVal((unsigned)N));
		SYNC();
		CHECK_OK(adsmFree(p[0]));
	}
	/* Where no other call runs, a call runs where its object is. */
	p[0] = words_on(0, 0);
	increment(p[0]);
	SYNC();
	CHECK_OK(adsmDeviceSet(ADSM_DEVICE_ANY));
	increment(p[0]);
	SYNC();
	/* With batch, each call sends the object anyway. */
	CHECK(batch() || !stats().moved);
	expect(p[0], 2);
	CHECK_OK(adsmFree(p[0]));
	/* Only if this thread has to wait for a processor for a long time, the calls have ended before. */
	for (int turn = 0; turn < 100 && !n_elsewhere; turn++) {
		for (int i = 0; turn && i < 4; i++)
			CHECK_OK(adsmFree(p[i]));
		for (int i = 0; i < 4; i++)
			p[i] = words_on(0, 0);
		moved = stats().moved;
		CHECK_OK(adsmDeviceSet(ADSM_DEVICE_ANY));
		n_elsewhere = spread(p, 4);
		CHECK_EQ(stats().moved - moved, n_elsewhere);
	}
	CHECK(n_elsewhere);
	/* A call that has to wait for its object anyway does not take it elsewhere. */
	SYNC();
	moved = stats().moved;
	for (int i = 0; i < 3; i++)
		increment(p[1]);
	CHECK(batch() || stats().moved == moved);
	SYNC();
	for (int i = 0; i < 4; i++)
		expect(p[i], i == 1 ? 4 : 1);
	/* An object that cannot move takes the others along. */
	CHECK_OK(adsmDeviceSet(n_devices - 1));
	p[0] = words_on(n_devices - 1, 5);
	if (adsmSafe(p[0])) {
		CHECK_OK(adsmDeviceSet(ADSM_DEVICE_ANY));
		CALL("copy", N, adsmPtr(p[0]), adsmPtr(p[1]), adsmVal((unsigned)N));
		CHECK_EQ(info(p[1]).device, n_devices - 1);
		SETTLE();
		expect(p[1], 5);
	}
	CHECK_OK(adsmDeviceSet(0));
	CHECK_EQ(info(alloc(4)).device, 0);
}

/* A device that is busy, so that the library would choose another one. */
struct busy {
	unsigned *p;
	adsmEvent last;			/* the end of what it does */
	unsigned tries;
	bool was_busy;			/* for the call that was made meanwhile */
};

/*
 * Let device 0 be busy, and the thread have no device of its own. False: it was still busy after the last call. If
 * the machine was too slow, the call is made again, beside longer kernels.
 */
static bool keep_busy(struct busy *busy)
{
	if (busy->was_busy)
		return false;
	CHECK(busy->tries < 5);
	if (!busy->tries) {
		busy->p = words_on(0, 0);
		increment(busy->p);
		SYNC();
	}
	CHECK_OK(adsmDeviceSet(ADSM_DEVICE_ANY));
	for (int i = 0; i < 3; i++)
		CALL("late_increment", N, adsmVal(SPIN << 2 * busy->tries), adsmPtr(busy->p), adsmVal((unsigned)N));
	CHECK_OK(adsmCallEvent(&busy->last));
	busy->tries++;
	return true;
}

static void note_busy(struct busy *busy)
{
	busy->was_busy = adsmEventQuery(busy->last) == -EBUSY;
}

/* A kernel that follows a pointer finds its object: calls whose access is unknown run where their arguments are. */
static void unnamed(void)
{
	struct busy busy = { 0 };
	unsigned **r, *p;

	start();
	if (strcmp(device_props().backend, "cpu"))
		skip("kernels cannot follow pointers in objects");
	p = words_on(0, 0);
	r = alloc(PAGE);
	*r = p;
	while (keep_busy(&busy)) {
		CALL("through_any", N, adsmPtr(r), adsmVal((unsigned)N));
		note_busy(&busy);
		SYNC();
		CHECK_EQ(info(r).device, 0);
	}
	expect(p, busy.tries);
}

static int ends[2];
static _Atomic pid_t reading;

static void *read_into(void *p)
{
	reading = gettid();
	CHECK_EQ(read(ends[0], p, 4096), 4);
	return NULL;
}

/* What cannot move at the moment keeps its calls: here a system call writes the object. */
static void input(void)
{
	struct busy busy = { 0 };
	unsigned *p, *other;
	pthread_t reader;

	start();
	if (batch())
		skip("a call sends the whole object, which the system writes");
	CHECK_OK(pipe(ends));
	p = words_on(0, 0);
	other = words_on(0, 0);
	increment(p);
	SYNC();
	CHECK_OK(pthread_create(&reader, NULL, read_into, p));
	while (!reading || !asleep(reading))
		sched_yield();
	while (keep_busy(&busy)) {
		CALL("increment", 10, adsmPtr(p + N - 10), adsmVal(10u));
		note_busy(&busy);
		increment(other);
		SYNC();
		CHECK_EQ(info(p).device, 0);
	}
	CHECK_EQ(write(ends[1], "abcd", 4), 4);
	CHECK_OK(pthread_join(reader, NULL));
	CHECK_EQ(p[N - 1], N + busy.tries);
	expect(other, busy.tries);
}

/* Devices with room for five objects. */
static void start_small(void)
{
	set("cpu_memory_size", "1M");
	start();
	if (strcmp(device_props().backend, "cpu"))
		skip("the size of the memory is the device's");
}

/* The device has no room for another object. @size: in KiB. */
static void fill_up(int device, size_t size)
{
	CHECK_OK(adsmDeviceSet(device));
	CHECK(adsmDeviceAlloc(size << 10));
}

/* Nor does a call go where its objects find no room. */
static void full(void)
{
	struct busy busy = { 0 };
	unsigned *p;

	start_small();
	for (int i = 1; i < n_devices; i++)
		fill_up(i, 900);
	p = words_on(0, 0);
	increment(p);
	while (keep_busy(&busy)) {
		increment(p);
		note_busy(&busy);
		SYNC();
		CHECK_EQ(info(p).device, 0);
	}
	expect(p, 1 + busy.tries);
}

/* Nor if a device has a copy of what the call reads, and no room for one more object beside the copy. */
static void copied(void)
{
	struct busy busy = { 0 };
	unsigned *p, *q, *r;

	start_small();
	p = words_on(0, 0);
	increment(p);
	q = words_on(0, 5);
	increment(q);
	r = words_on(1, 0);
	CALL("copy", N, adsmPtr(q), adsmPtr(r), adsmVal((unsigned)N));
	SYNC();
	CHECK_OK(adsmFree(r));
	for (int i = 1; i < n_devices; i++)
		fill_up(i, i == 1 ? 700 : 900);
	while (keep_busy(&busy)) {
		CALL("copy", N, adsmPtr(q), adsmPtr(p), adsmVal((unsigned)N));
		note_busy(&busy);
		SYNC();
		CHECK_EQ(info(p).device, 0);
	}
	expect(p, 6);
}

/* Nor does it stay where its objects have no memory, and find no room. */
static void room(void)
{
	unsigned *p;

	start_small();
	fill_up(0, 900);
	p = words(N, 1);
	CHECK_OK(adsmDeviceSet(ADSM_DEVICE_ANY));
	increment(p);
	SYNC();
	CHECK(info(p).device != 0);
	expect(p, 2);
}

static const struct conform_case cases[] = {
	CASE("any", any),
	CASE("any-unnamed", unnamed),
	CASE("any-input", input),
	CASE("any-full", full),
	CASE("any-copied", copied),
	CASE("any-room", room),
};

CONFORM_MAIN(cases)
