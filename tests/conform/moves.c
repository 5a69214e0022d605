/* SPDX-License-Identifier: MIT */
/* moves.c - calls that use objects of several devices: the objects move to the device of the call. */
#include "devices.h"

#include <adsm_once.h>
#include <adsm_prefetch.h>
#include <adsm_queue.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void copy(const unsigned *from, unsigned *to)
{
	CALL("copy", N, adsmPtr(from), adsmPtr(to), adsmVal((unsigned)N));
}

/* The call runs on the device of the thread, and its objects are there from then on. */
static void mixed(void)
{
	unsigned *a, *b, *c;

	start();
	a = words_on(0, 1);
	b = words_on(1, 5);
	c = words_on(0, 0);
	/* A call whose objects have one home runs there. */
	CHECK_OK(adsmDeviceSet(1));
	increment(a);
	CHECK_EQ(info(a).device, 0);
	CHECK_EQ(stats().moved, 0);
	/* c = a + b on device 1 */
	CALL("add", N, adsmPtr(a), adsmPtr(b), adsmPtr(c), adsmVal((unsigned)N));
	CHECK_EQ(info(b).device, 1);
	CHECK_EQ(info(c).device, 1);
	SETTLE();
	for (size_t i = 0; i < N; i++)
		CHECK_AT(c[i], i, 7 + 2 * i);
	expect(a, 2);
	expect(b, 5);
	/* And back again, with what calls and the CPU wrote. */
	increment(b);
	SETTLE();
	c[N - 1] = 3;
	CHECK_OK(adsmDeviceSet(0));
	a = words_on(0, 0);
	copy(b, a);
	CALL("add", N, adsmPtr(c), adsmPtr(b), adsmPtr(a), adsmVal((unsigned)N));
	SETTLE();
	for (size_t i = 0; i < N; i++)
		CHECK_AT(a[i], i, i < N - 1 ? 13 + 3 * i : 9 + i);
	CHECK_EQ(info(a).device, 0);
	/* Calls have only read it. */
	CHECK_EQ(info(c).device, 1);
	CHECK_EQ(object_stats(c).moved, 1);
	/* An object that the CPU never used, and one that no call used. */
	CHECK_OK(adsmDeviceSet(1));
	b = alloc(SIZE);
	copy(b, a);
	b = words_on(1, 9);
	CHECK_OK(adsmDeviceSet(0));
	copy(b, c);
	SETTLE();
	expect(c, 9);
	SYNC();
	unload();
}

/* Nothing is fetched that the host has. */
static void bytes(void)
{
	adsmStats before;
	unsigned *a, *b;

	start();
	a = words_on(0, 1);
	b = words_on(1, 5);
	CHECK_OK(adsmDeviceSet(0));
	copy(b, a);
	CHECK_EQ(stats().moved, 1);
	CHECK_EQ(stats().moved_bytes, 0);
	CHECK_EQ(stats().d2h_bytes, 0);
	SYNC();
	expect(a, 5);
	before = stats();
	/* b was only read, and the host has a now. */
	CHECK_OK(adsmDeviceSet(1));
	CALL("add", N, adsmPtr(b), adsmPtr(words_on(1, 0)), adsmPtr(a), adsmVal((unsigned)N));
	SYNC();
	CHECK_EQ(stats().moved_bytes, 0);
	CHECK_EQ(object_stats(a).moved, 1);
	CHECK_EQ(object_stats(a).h2d_bytes, 0);
	/* Now only the device has a. */
	increment(a);
	if (!batch()) {
		CHECK_OK(adsmDeviceSet(0));
		CALL("increment", N, adsmPtr(a), adsmVal((unsigned)N), adsmUse(b, ADSM_ACCESS_IN));
		CHECK_EQ(stats().moved_bytes - before.moved_bytes, SIZE);
	}
	SYNC();
}

/* A call that overwrites an object needs none of its bytes. If it reads the object, too, it needs all of them. */
static void overwritten(void)
{
	adsmStats before;
	unsigned *a, *c;

	start();
	if (batch())
		skip("the library fetches each object at a sync");
	a = words_on(0, 1);
	increment(a);
	c = words_on(1, 9);
	before = object_stats(a);
	copy(c, a);
	CHECK_EQ(object_stats(a).moved, 1);
	CHECK_EQ(object_stats(a).moved_bytes, 0);
	SETTLE();
	CHECK_EQ(object_stats(a).h2d_bytes, before.h2d_bytes);
	expect(a, 9);
	increment(a);
	c = words_on(0, 5);
	CALL("add", N, adsmPtr(a), adsmPtr(c), adsmPtr(a), adsmVal((unsigned)N));
	CHECK_EQ(object_stats(a).moved_bytes, SIZE);
	SETTLE();
	for (size_t i = 0; i < N; i++)
		CHECK_AT(a[i], i, 15 + 2 * i);
}

/* ---- copies of objects that calls only read */

/* Run c = a + b on a device, where c is. Returns the bytes that have moved for a. */
static uint64_t add_on(int device, const unsigned *a, const unsigned *b, unsigned *c)
{
	const adsmStats before = object_stats(a);

	CHECK_OK(adsmDeviceSet(device));
	CALL("add", N, adsmPtr(a), adsmPtr(b), adsmPtr(c), adsmVal((unsigned)N));
	CHECK_EQ(info(c).device, device);
	return object_stats(a).h2d_bytes + object_stats(a).d2h_bytes - before.h2d_bytes - before.d2h_bytes;
}

static void expect_sum(const unsigned *p, unsigned first)
{
	SETTLE();
	for (size_t i = 0; i < N; i++)
		CHECK_AT(p[i], i, first + 2 * i);
}

/* What calls only read stays where it is; other devices have copies of it. */
static void copied(void)
{
	unsigned *a, *b, *c[8];

	start();
	a = words_on(0, 1);
	b = words_on(0, 5);
	for (int d = 0; d < n_devices; d++)
		c[d] = words_on(d, 0);
	/* The home has them, too. */
	add_on(0, a, b, c[0]);
	for (int d = 1; d < n_devices; d++) {
		const uint64_t moved = add_on(d, a, b, c[d]);

		CHECK(batch() || moved == SIZE);
		expect_sum(c[d], 6);
	}
	CHECK_EQ(info(a).device, 0);
	CHECK_EQ(info(b).device, 0);
	CHECK_EQ(stats().moved, 0);
	if (batch())
		return;
	/* Again: nothing moves, also while calls read them at home. */
	for (int turn = 0; turn < 3; turn++)
		for (int d = 0; d < n_devices; d++)
			CHECK_EQ(add_on(d, a, b, c[d]), 0);
	/* The CPU writes a word: the home gets it, and each device a new copy. */
	a[N - 1] += 2;
	for (int d = n_devices; d-- > 1; ) {
		CHECK(add_on(d, a, b, c[d]) >= SIZE);
		CHECK_EQ(add_on(d, a, b, c[d]), 0);
		CHECK_EQ(c[d][N - 1], 6 + 2 * (N - 1) + 2);
	}
	a[N - 1] -= 2;
	/* A call of the home writes it. */
	increment(a);
	for (int d = 1; d < n_devices; d++) {
		/* Once to the host, and to each device. */
		CHECK_EQ(add_on(d, a, b, c[d]), d == 1 ? 2 * SIZE : SIZE);
		CHECK_EQ(add_on(d, a, b, c[d]), 0);
		expect_sum(c[d], 7);
	}
	/* Once more, when nothing is to be sent before. */
	increment(a);
	SYNC();
	for (int d = 1; d < n_devices; d++) {
		CHECK_EQ(add_on(d, a, b, c[d]), d == 1 ? 2 * SIZE : SIZE);
		expect_sum(c[d], 8);
	}
	CHECK_EQ(info(a).device, 0);
	CHECK_EQ(stats().moved, 0);
}

/* All ways to write an object. */
static void copied_written(void)
{
	unsigned *a, *b, *c, first = 1;
	const int last = 10;

	start();
	a = words_on(0, first);
	b = words_on(0, 0);
	c = words_on(1, 0);
	increment(b);
	for (int how = 0; how < last; how++) {
		/* The home has both, and the copies are current. */
		CHECK_OK(adsmDeviceSet(0));
		CALL("copy", N, adsmPtr(a), adsmPtr(b), adsmVal((unsigned)N));
		add_on(1, a, a, c);
		SYNC();
		switch (how % 5) {
		case 0:
			first++;
			for (size_t i = 0; i < N; i++)
				a[i] = first + (unsigned)i;
			break;
		case 1:		/* on the device */
			for (size_t i = 0; i < N; i++)
				b[i] = first + 3 + (unsigned)i;
			CALL("copy", N, adsmPtr(b), adsmPtr(b), adsmVal((unsigned)N));
			SYNC();
			CHECK_OK(adsmMemcpy(a, b, SIZE));
			first += 3;
			break;
		case 2:		/* an unnamed call */
			CALL("increment_any", N, adsmPtr(a), adsmVal((unsigned)N));
			first++;
			break;
		case 3: {	/* a system call */
			int fds[2];
			const unsigned word = first + 7;

			CHECK_OK(pipe(fds));
			CHECK_EQ(write(fds[1], &word, 4), 4);
			CHECK_EQ(read(fds[0], a, 4), 4);
			CHECK_EQ(a[0], word);
			CHECK_OK(adsmMemcpy(a, &first, 4));
			close(fds[0]);
			close(fds[1]);
			break;
		}
		default:	/* on the other device, where it moves */
			CHECK_OK(adsmDeviceSet(1));
			CALL("increment", N, adsmPtr(a), adsmVal((unsigned)N), adsmUse(c, ADSM_ACCESS_IN));
			CHECK_EQ(info(a).device, 1);
			CHECK_OK(adsmDeviceSet(0));
			CALL("increment", N, adsmPtr(a), adsmVal((unsigned)N), adsmUse(b, ADSM_ACCESS_IN));
			CHECK_EQ(info(a).device, 0);
			first += 2;
		}
		add_on(1, a, a, c);
		expect_sum(c, 2 * first);
		SYNC();
		expect(a, first);
	}
}

/* Devices with room for four objects. */
static void start_small(void)
{
	set("cpu_memory_size", "804K");
	set("opencl_memory_size", "804K");
	start();
	if (device_props().memory_size > SIZE * 5)
		skip("the size of the device's memory cannot be limited");
}

/* Copies end with their objects, and new objects have the addresses and the memory. */
static void copied_freed(void)
{
	unsigned *a, *b, *c;

	start();
	a = words_on(0, 1);
	b = words_on(0, 5);
	c = words_on(1, 0);
	increment(a);
	increment(b);
	for (unsigned turn = 0; turn < 5; turn++) {
		const uintptr_t was = (uintptr_t)a;

		CALL("late_increment", 256, adsmVal(SPIN / 20), adsmPtr(c), adsmVal(0u));
		add_on(1, a, b, c);
		CHECK_OK(adsmFree(a));
		a = words_on((int)(turn % 2), turn);
		CHECK(is_process("cpu") ? (uintptr_t)a == was : true);
		increment(a);
		add_on(1, a, b, c);
		expect_sum(c, turn + 7);
		SYNC();
	}
	CHECK_OK(adsmFree(a));
	CHECK_OK(adsmFree(b));
	CHECK_OK(adsmFree(c));
	SYNC();
	unload();
	CHECK_OK(adsmShutdown());
	start_small();
	for (unsigned turn = 0; turn < 2; turn++) {
		unsigned *p[6];

		c = words_on(1, 0);
		for (unsigned i = 0; i < 6; i++) {
			p[i] = words_on(i < 3 ? 0 : 2 % n_devices, i);
			increment(p[i]);
			add_on(1, p[i], p[i], c);
			expect_sum(c, 2 * i + 2);
			CHECK_EQ(info(p[i]).device, i < 3 ? 0 : 2 % n_devices);
		}
		/* Other memory needs the room of the copies, and so do calls. */
		b = adsmDeviceAlloc(SIZE * 2);
		CHECK(b);
		CHECK_OK(adsmDeviceFree(b));
		for (unsigned i = 0; i < 3; i++) {
			b = words_on(1, 0);
			increment(b);
			add_on(1, p[i], b, c);
			expect_sum(c, i + 2);
			CHECK_OK(adsmFree(b));
		}
		SYNC();
		for (unsigned i = 0; i < 6; i++) {
			expect(p[i], i + 1);
			CHECK_OK(adsmFree(p[i]));
		}
		CHECK_OK(adsmFree(c));
	}
}

/* A copy is made after the call that writes the object, and does not wait for calls that read it; it stays as it was
 * until the calls that read it have ended. */
static void copied_running(void)
{
	unsigned *a, *b, *c, *d;

	start();
	a = words_on(0, 1);
	b = words_on(0, 0);
	c = words_on(1, 0);
	d = words_on(1, 0);
	for (unsigned i = 0; i < 3; i++) {
		CHECK_OK(adsmDeviceSet(0));
		CALL("late_increment", N, adsmVal(SPIN / 4), adsmPtr(a), adsmVal((unsigned)N));
		CALL("late_copy", N, adsmVal(SPIN / 4), adsmPtr(a), adsmPtr(b), adsmVal((unsigned)N));
		CHECK_OK(adsmDeviceSet(1));
		CALL("late_copy", N, adsmVal(SPIN / 4), adsmPtr(a), adsmPtr(c), adsmVal((unsigned)N));
		/* The home writes it while the other device still reads its copy. */
		increment(a);
		/* A new copy, for a call after that one. */
		CALL("late_copy", N, adsmVal(SPIN / 4), adsmPtr(a), adsmPtr(d), adsmVal((unsigned)N));
		SYNC();
		expect(b, 2 + 2 * i);
		expect(c, 2 + 2 * i);
		expect(d, 3 + 2 * i);
		expect(a, 3 + 2 * i);
	}
	CHECK_EQ(info(a).device, 0);
}

/* Why an object cannot move. Nothing moves then. */
static void refused(void)
{
	unsigned *a, *b, *d;

	start();
	a = words_on(0, 1);
	b = words_on(1, 5);
	CHECK_OK(adsmDeviceSet(1));
	increment(a);
	CHECK_OK(adsmHold(a, 8, ADSM_ACCESS_IN));
	CHECK_ERROR(adsmCall(kernel("copy"), blocks(N), lanes(), adsmPtr(a), adsmPtr(b), adsmVal((unsigned)N)), EBUSY);
	CHECK_SAYS("held");
	CHECK_OK(adsmUnhold(a, 8));
	CHECK_OK(adsmDeviceSet(0));
	d = adsmDeviceAlloc(SIZE);
	CHECK(d);
	CHECK_OK(adsmDeviceSet(1));
	CHECK_ERROR(adsmCall(kernel("copy"), blocks(N), lanes(), adsmPtr(d), adsmPtr(b), adsmVal((unsigned)N)), EINVAL);
	CHECK_SAYS("device-only");
	CHECK_SAYS("on device 0");
	CHECK_OK(adsmDeviceFree(d));
	if (adsmSafe(a)) {
		CHECK_ERROR(adsmCall(kernel("add"), blocks(N), lanes(), adsmPtr(b), adsmPtr(words_on(2 % n_devices, 0)),
				     adsmPtr(a), adsmVal((unsigned)N)), EINVAL);
		CHECK_SAYS("argument 'c'");
		CHECK_SAYS("device address");
	}
	CHECK_EQ(info(a).device, 0);
	CHECK_EQ(info(b).device, 1);
	CHECK_EQ(stats().moved, 0);
	/* It can still be used together with the others, on its own device. */
	CHECK_OK(adsmDeviceSet(0));
	CALL("add", N, adsmPtr(a), adsmPtr(b), adsmPtr(a), adsmVal((unsigned)N));
	SETTLE();
	for (size_t i = 0; i < N; i++)
		CHECK_AT(a[i], i, 7 + 2 * i);
	CHECK_EQ(info(b).device, 0);
}

/* A call whose objects do not fit on its device together changes nothing, not even what it would overwrite. */
/* A call has failed for lack of room on device 1, and nothing has moved. */
static void stayed(const unsigned *a)
{
	CHECK_SAYS("do not fit on device 1");
	CHECK_EQ(info(a).device, 0);
	CHECK_EQ(stats().moved, 0);
	SETTLE();
	expect(a, 2);
}

static void full(void)
{
	unsigned *a, *b, *c, *d;

	start_small();
	a = words_on(0, 1);
	increment(a);
	c = words_on(1, 9);
	CHECK_OK(adsmDeviceSet(1));
	d = adsmDeviceAlloc(SIZE * 3);
	CHECK(d);
	CHECK_ERROR(adsmCall(kernel("copy"), blocks(N), lanes(), adsmPtr(c), adsmPtr(a), adsmVal((unsigned)N)), ENOMEM);
	stayed(a);
	CHECK_OK(adsmDeviceFree(d));
	/* The device has a copy of what the call reads: its memory counts once. */
	b = words_on(0, 5);
	increment(b);
	add_on(1, b, c, c);
	d = adsmDeviceAlloc(SIZE * 2);
	CHECK(d);
	CHECK_ERROR(adsmCall(kernel("add"), blocks(N), lanes(), adsmPtr(b), adsmPtr(c), adsmPtr(a),
			     adsmVal((unsigned)N)), ENOMEM);
	stayed(a);
	CHECK_OK(adsmDeviceFree(d));
	increment(a);
	copy(c, a);
	expect_sum(a, 15);
	CHECK_EQ(info(a).device, 1);
}

/* Addresses that are in the pages of an object, but in none that a call can use: errors as on one device. */
static void outside(void)
{
	unsigned *a, *b;
	adsmOnce *once;

	start();
	once = adsmOnceAlloc(64, 4, NULL);
	a = words_on(0, 1);
	b = words_on(1, 5);
	increment(a);
	/* What lies behind an object of another device that the call only reads, in the same page. */
	CHECK(SIZE % PAGE);
	CHECK_ERROR(adsmCall(kernel("copy"), blocks(N), lanes(), adsmUse(b, ADSM_ACCESS_IN), adsmPtr(a + N), adsmPtr(b),
			     adsmVal((unsigned)N)), EINVAL);
	CHECK_SAYS("argument 'from'");
	CHECK_SAYS("not in a live object");
	CHECK(once);
	for (int first = 0; first < 2; first++) {
		CHECK_ERROR(adsmCall(kernel("increment"), blocks(N), lanes(), adsmUse(first ? once->address : b, 0),
				     adsmPtr(b), adsmVal((unsigned)N), adsmUse(once->address, ADSM_ACCESS_IN)), EINVAL);
		CHECK_SAYS("adsmUse");
	}
	CHECK_OK(adsmOnceFree(once));
	CALL("copy", N, adsmPtr(a), adsmPtr(b), adsmVal((unsigned)N));
	SETTLE();
	expect(b, 2);
}

/* Where all objects have device memory from the start, none can move. */
static void resident(void)
{
	adsmAllocOptions options = ADSM_ALLOC_OPTIONS_INIT;
	unsigned *a, *b;

	set("cpu_devices", "2");
	if (adsmDeviceCount() < 2)
		skip("one device");
	CHECK_OK(adsmShutdown());
	set("oversubscribe", "off");
	a = alloc(SIZE);
	options.device = 1;
	b = adsmAllocWith(SIZE, &options);
	CHECK(b);
	CHECK_ERROR(adsmCall(kernel("copy"), blocks(N), lanes(), adsmPtr(a), adsmPtr(b), adsmVal((unsigned)N)), EINVAL);
	CHECK_SAYS("ADSM_OVERSUBSCRIBE=off");
	CHECK_EQ(info(a).device, 0);
	CHECK_EQ(info(b).device, 1);
}

/* An object moves only after the calls that use it. */
static void running(void)
{
	unsigned *a, *b;

	start();
	a = words_on(0, 1);
	b = words_on(1, 5);
	for (int i = 0; i < 3; i++) {
		CALL("late_increment", N, adsmVal(SPIN / 4), adsmPtr(a), adsmVal((unsigned)N));
		CHECK_OK(adsmDeviceSet(1 - i % 2));
		CALL("add", N, adsmPtr(a), adsmPtr(b), adsmPtr(b), adsmVal((unsigned)N));
	}
	SYNC();
	expect(a, 4);
	for (size_t i = 0; i < N; i++)
		CHECK_AT(b[i], i, 14 + 4 * i);
}

/* ---- in advance */

/* A prefetch to another device moves the object, and calls send what is left. */
static void ahead(void)
{
	adsmStats before;
	adsmEvent event;
	unsigned *a;

	start();
	a = words_on(0, 1);
	increment(a);
	before = object_stats(a);
	CHECK_OK(adsmPrefetch(a, SIZE, 1, &event));
	CHECK_EQ(event.device, 1);
	CHECK_OK(adsmEventWait(event));
	CHECK_EQ(info(a).device, 1);
	CHECK_EQ(object_stats(a).moved, 1);
	CHECK_EQ(object_stats(a).d2h_bytes, before.d2h_bytes + SIZE);
	CHECK_EQ(object_stats(a).h2d_bytes, before.h2d_bytes + (batch() ? 0 : SIZE));
	increment(a);
	SYNC();
	CHECK_EQ(object_stats(a).h2d_bytes, before.h2d_bytes + SIZE);
	CHECK_EQ(object_stats(a).moved, 1);
	expect(a, 3);
	/* The whole object moves, also if only a part is sent. */
	CHECK_OK(adsmPrefetch(a + N - 1, 4, 0, &event));
	CHECK_OK(adsmEventWait(event));
	CHECK_EQ(info(a).device, 0);
	if (rolling())
		CHECK(object_stats(a).h2d_bytes < before.h2d_bytes + 2 * SIZE);
	a[5]++;
	increment(a);
	SYNC();
	CHECK_AT(a[5], (size_t)5, 10);
	a[5]--;
	expect(a, 4);
	CHECK_OK(adsmFree(a));
	CHECK_OK(adsmEventWait(event));
}

/* What a later call has used stays, also if that call has ended when the prefetch begins. Waits of the prefetch are not
 * the program's. */
static void ahead_used(void)
{
	unsigned *a, *b, stayed = 0, turns = 0;
	adsmQueue *queue;
	adsmEvent event, call;
	uint64_t waited;

	start();
	a = words_on(0, 1);
	b = words_on(0, 1);
	queue = adsmQueueCreate();
	CHECK(queue);
	/* Only if this thread waits for a processor for a long time, the first call ends before the last one begins. */
	while (!stayed && turns++ < 20) {
		CHECK_OK(adsmQueueSet(queue));
		CALL("late_increment", N, adsmVal(SPIN / 4), adsmPtr(b), adsmVal((unsigned)N));
		CHECK_OK(adsmPrefetch(b, SIZE, 1, NULL));
		CHECK_OK(adsmPrefetch(a, SIZE, 1, &event));
		CHECK_OK(adsmQueueSet(NULL));
		increment(a);
		CHECK_OK(adsmCallEvent(&call));
		CHECK_OK(adsmEventWait(call));
		SYNC();
		CHECK_OK(adsmEventWait(event));
		CHECK_EQ(info(b).device, 1);
		stayed = info(a).device == 0;
		CHECK_OK(adsmPrefetch(a, SIZE, 0, &event));
		CHECK_OK(adsmEventWait(event));
		CHECK_OK(adsmPrefetch(b, SIZE, 0, &event));
		CHECK_OK(adsmEventWait(event));
	}
	CHECK(stayed);
	CHECK_OK(adsmQueueDestroy(queue));
	expect(a, 1 + turns);
	expect(b, 1 + turns);
	CALL("late_increment", N, adsmVal(SPIN / 4), adsmPtr(a), adsmVal((unsigned)N));
	waited = stats().wait_ns;
	CHECK_OK(adsmPrefetch(a, SIZE, 1, NULL));
	while (info(a).device == 0)
		sched_yield();
	CHECK_EQ(stats().wait_ns, waited);
}

/* It waits for the calls so far that use the object, and gives it up to a later one. Copies end. */
static void ahead_running(void)
{
	unsigned *a, *b, *c, n = 3;	/* n: what the first word is in the end */
	adsmEvent event;

	start();
	a = words_on(0, 1);
	b = words_on(1, 5);
	c = words_on(1, 0);
	CALL("late_increment", N, adsmVal(SPIN / 4), adsmPtr(a), adsmVal((unsigned)N));
	CHECK_OK(adsmPrefetch(a, SIZE, 1, &event));
	CHECK_OK(adsmEventWait(event));
	/* Only if this thread waits for a processor for a long time, the first call ends before the second begins. */
	while (info(a).device == 1) {
		CHECK_OK(adsmPrefetch(a, SIZE, 0, &event));
		CHECK_OK(adsmEventWait(event));
		CHECK_EQ(info(a).device, 0);
		CALL("late_increment", N, adsmVal(SPIN), adsmPtr(a), adsmVal((unsigned)N));
		CHECK_OK(adsmPrefetch(a, SIZE, 1, &event));
		increment(a);
		CHECK_OK(adsmEventWait(event));
		n += 2;
	}
	/* Device 1 gets a copy, which a call still reads. */
	CALL("add", N, adsmPtr(a), adsmPtr(b), adsmPtr(c), adsmVal((unsigned)N));
	CHECK_OK(adsmPrefetch(a, SIZE, 1, &event));
	CHECK_OK(adsmEventWait(event));
	CHECK_EQ(info(a).device, 1);
	CHECK_EQ(info(c).device, 1);
	increment(a);
	copy(a, b);
	SYNC();
	for (size_t i = 0; i < N; i++)
		CHECK_AT(c[i], i, n - 1 + 5 + 2 * i);
	expect(a, n);
	expect(b, n);
	CHECK_OK(adsmHold(a + 5, 4, ADSM_ACCESS_IN));
	CHECK_ERROR(adsmPrefetch(a + N - 1, 4, 0, NULL), EBUSY);
	CHECK_OK(adsmUnhold(a + 5, 4));
	if (adsmSafe(a)) {
		CHECK_ERROR(adsmPrefetch(a, SIZE, 0, NULL), ENOTSUP);
		CHECK_SAYS("from device 1 to device 0");
		CHECK_SAYS("device address");
	}
}

/* ---- at the same time */

#define OBJECTS 6
#define THREADS 3

static unsigned *objects[OBJECTS];
static unsigned *anchors[8];		/* one on each device, which stays there */
static _Atomic unsigned n_calls[OBJECTS];
static atomic_bool ended;
static int null;

static unsigned n_turns(void)
{
	return getenv("TEST_FULL") ? 5000 : 40;
}

/* Increment an object, on any device: it has to move there with another one. */
static int increment_on(unsigned device, size_t i, size_t other)
{
	CHECK_OK(adsmDeviceSet((int)device));
	return adsmCall(kernel("increment"), blocks(N), lanes(), adsmPtr(objects[i]), adsmVal((unsigned)N),
			adsmUse(objects[other], ADSM_ACCESS_IN), adsmUse(anchors[device], ADSM_ACCESS_IN));
}

static void *call_mixed(void *arg)
{
	uint64_t state = (uintptr_t)arg;

	for (unsigned turn = 0; turn < n_turns(); turn++) {
		const size_t i = draw(&state) % OBJECTS, k = draw(&state) % OBJECTS;

		CHECK_OK(increment_on((unsigned)(draw(&state) % (unsigned)n_devices), i, k));
		n_calls[i]++;
		if (!(draw(&state) % 4))
			CHECK_OK(adsmPrefetch(objects[k], SIZE, (int)(draw(&state) % (unsigned)n_devices), NULL));
		if (!(draw(&state) % 4))
			SYNC();
	}
	SYNC();
	return NULL;
}

static void make_objects(void)
{
	for (int i = 0; i < n_devices; i++)
		anchors[i] = words_on(i, 0);
	for (int i = 0; i < OBJECTS; i++) {
		CHECK_OK(adsmDeviceSet(i % n_devices));
		objects[i] = words(N + 2 * THREADS, 0);
		memset(objects[i] + N, 0, (size_t)2 * THREADS * 4);
	}
	CHECK(kernel("increment"));
}

static void expect_objects(void)
{
	for (int i = 0; i < OBJECTS; i++)
		expect(objects[i], n_calls[i]);
}

static void threads(void)
{
	pthread_t all[THREADS];

	start();
	make_objects();
	for (uintptr_t t = 0; t < THREADS; t++)
		CHECK_OK(pthread_create(&all[t], NULL, call_mixed, (void *)(t + 1)));
	for (int t = 0; t < THREADS; t++)
		CHECK_OK(pthread_join(all[t], NULL));
	/* With batch, objects are complete after a sync of the thread's own. */
	for (int i = 0; i < OBJECTS; i++)
		CALL("increment", 0, adsmPtr(objects[i]), adsmVal(0u));
	SYNC();
	CHECK(stats().moved > n_turns());
	expect_objects();
}

/* Calls that make room on device 1: it has memory for one of the two objects. */
static void *make_room(void *arg)
{
	CHECK_OK(adsmDeviceSet(1));
	for (size_t i = 0; !ended; i++) {
		increment(objects[i % 2]);
		n_calls[i % 2]++;
		SYNC();
	}
	return NULL;
}

/* An object moves to a device and back. It fits there each time, also while another call makes room. */
static void room_threads(void)
{
	unsigned *p, *small[2];
	pthread_t other;

	start_small();
	for (int d = 0; d < 2; d++)
		small[d] = words_on(d, (unsigned)d);
	for (int i = 0; i < 2; i++)
		objects[i] = words(3 * N, 0);
	p = words(3 * N, 0);
	CHECK_OK(pthread_create(&other, NULL, make_room, NULL));
	for (unsigned turn = 0; turn < 200; turn++) {
		const int d = (int)(turn % 2);

		CHECK_OK(adsmDeviceSet(d));
		CALL("add", 64, adsmPtr(small[d]), adsmPtr(small[d]), adsmPtr(p), adsmVal(64u));
		SYNC();
		CHECK_EQ(info(p).device, d);
	}
	ended = true;
	CHECK_OK(pthread_join(other, NULL));
	for (size_t i = 0; i < 64; i++)
		CHECK_AT(p[i], i, 2 + 2 * i);
	for (int i = 0; i < 2; i++) {
		CALL("increment", 0, adsmPtr(objects[i]), adsmVal(0u));
		SYNC();
		expect(objects[i], n_calls[i]);
	}
}

#define AHEAD 8

/* Use an object in calls of its device, so that some of them have not ended, until it has moved. */
static void *use_always(void *arg)
{
	adsmEvent events[AHEAD];

	CHECK_OK(adsmDeviceSet(0));
	for (size_t i = 0; !ended; i++) {
		if (i >= AHEAD)
			CHECK_OK(adsmEventWait(events[i % AHEAD]));
		CALL("late_increment", N, adsmVal(SPIN / 4), adsmPtr(objects[0]), adsmVal((unsigned)N));
		CHECK_OK(adsmCallEvent(&events[i % AHEAD]));
		n_calls[0]++;
	}
	SYNC();
	return NULL;
}

/* A call gets an object in its turn, although calls of another device always use it. */
static void turn(void)
{
	pthread_t user;

	start();
	make_objects();
	CHECK_OK(pthread_create(&user, NULL, use_always, NULL));
	while (n_calls[0] < AHEAD)
		sched_yield();
	CHECK_OK(increment_on(1, 0, 0));
	n_calls[0]++;
	ended = true;
	CHECK_OK(pthread_join(user, NULL));
	CALL("increment", 0, adsmPtr(objects[0]), adsmVal(0u));
	SYNC();
	CHECK(stats().moved > 0);
	expect_objects();
}

/* What the CPU does with an object that moves: each function finds it where it is. Two words belong to the thread. */
static void use_object(unsigned *p, uint64_t *state, unsigned *own, unsigned *n_own, int zero)
{
	static _Thread_local unsigned room[N];
	const size_t at = draw(state) % N, n = 1 + draw(state) % (N - at);
	const int device = (int)(draw(state) % (unsigned)n_devices);
	const volatile unsigned *word = p + at;
	int error;

	switch (draw(state) % 8) {
	case 0:
		CHECK(*word >= at);
		break;
	case 1:
		CHECK_EQ(own[0], *n_own);
		own[0] = ++*n_own;
		break;
	case 2:
		CHECK_OK(adsmMemcpy(room, p + at, n * 4));
		CHECK(room[n - 1] >= at + n - 1);
		break;
	case 3:
		memcpy(room, p + at, n * 4);
		CHECK(room[n - 1] >= at + n - 1);
		break;
	case 4:
		CHECK_OK(adsmHold(p + at, 4, ADSM_ACCESS_IN));
		CHECK(p[at] >= at);
		CHECK_OK(adsmUnhold(p + at, 4));
		break;
	case 5:
		error = adsmPrefetch(p + at, n * 4, at % 2 ? ADSM_HOST : device, NULL);
		CHECK(!error || (error == -EBUSY && !(at % 2)));
		break;
	case 6:
		CHECK_EQ(read(zero, own + 1, 4), 4);
		CHECK_EQ(own[1], 0);
		break;
	default:
		CHECK(write(null, p + at, n * 4) == (ssize_t)(n * 4));
		CHECK(info(p).device < n_devices);
	}
}

static void *use_objects(void *arg)
{
	const uintptr_t me = (uintptr_t)arg;
	unsigned n_own[OBJECTS] = { 0 };
	uint64_t state = me;
	int zero = open("/dev/zero", O_RDONLY);

	while (!ended) {
		const size_t i = draw(&state) % OBJECTS;

		use_object(objects[i], &state, objects[i] + N + 2 * me, &n_own[i], zero);
	}
	for (int i = 0; i < OBJECTS; i++)
		CHECK_EQ(objects[i][N + 2 * me], n_own[i]);
	close(zero);
	return NULL;
}

/* One thread makes calls on one device after the other, while other threads use the objects. */
static void touches(void)
{
	pthread_t all[THREADS];
	uint64_t state = 3;

	if (batch())
		skip("the CPU must not use objects during calls");
	start();
	null = open("/dev/null", O_WRONLY);
	make_objects();
	for (uintptr_t t = 0; t < THREADS; t++)
		CHECK_OK(pthread_create(&all[t], NULL, use_objects, (void *)t));
	for (unsigned turn = 0; turn < 2 * n_turns(); turn++) {
		const size_t i = draw(&state) % OBJECTS, k = draw(&state) % OBJECTS;
		int error;

		error = increment_on((unsigned)(draw(&state) % (unsigned)n_devices), i, k);
		/* A thread holds an object, or the system writes one. */
		CHECKF(!error || error == -EBUSY, "adsmCall(): %d, %s", error, adsmLastError());
		n_calls[i] += !error;
	}
	ended = true;
	for (int t = 0; t < THREADS; t++)
		CHECK_OK(pthread_join(all[t], NULL));
	SYNC();
	/* Others may hold the object, so that it does not move. */
	CHECK(stats().moved > n_turns() / 4);
	expect_objects();
}

/* ---- the process of one device is killed at any moment */

/*
 * What calls had made before a sync that succeeded is there, and moves to the devices that are left. An object is
 * uncertain if a call that writes it began, and no such sync came after it.
 */
static void kill_once(uint64_t state)
{
	const size_t when = draw(&state) % 40;
	unsigned more[OBJECTS] = { 0 }, pending[OBJECTS] = { 0 };
	bool uncertain[OBJECTS] = { false };
	unsigned n_lost = 0;
	adsmDeviceProps props = { .struct_size = sizeof(props) };
	pid_t pid;
	int error;

	start();
	pid = device_process();
	if (!pid)
		skip("the devices are not processes of this machine");
	make_objects();
	for (size_t turn = 0; turn < 120; turn++) {
		const size_t i = draw(&state) % OBJECTS, k = draw(&state) % OBJECTS;
		const unsigned device = (unsigned)(draw(&state) % (unsigned)n_devices);

		if (turn == when)
			CHECK_OK(kill(pid, SIGKILL));
		if (uncertain[i] || uncertain[k])
			continue;
		if (turn % 4 == 1)	/* whatever comes of it */
			adsmPrefetch(objects[k], SIZE, (int)((device + 1) % (unsigned)n_devices), NULL);
		error = increment_on(device, i, k);
		CHECK_OK(adsmDeviceInfo((int)device, &props));
		/* The device is lost, or was lost while a call wrote one of the objects. */
		CHECKF(!error || (error == -ENODEV && (props.lost || pending[i] || pending[k])), "adsmCall(): %d, %s",
		       error, adsmLastError());
		pending[i] += !error;
		if (draw(&state) % 3)
			continue;
		error = adsmSync();
		CHECK(!error || error == -ENODEV);
		for (size_t o = 0; o < OBJECTS; o++) {
			uncertain[o] |= error && pending[o];
			more[o] += pending[o];
			pending[o] = 0;
		}
	}
	for (int d = 0; d < n_devices; d++) {
		CHECK_OK(adsmDeviceInfo(d, &props));
		n_lost += props.lost;
	}
	CHECK_EQ(n_lost, 1);
	error = adsmSync();
	for (size_t o = 0; o < OBJECTS; o++)
		if (!uncertain[o] && !(error && pending[o]))
			expect(objects[o], more[o] + pending[o]);
}

static void killed(void)
{
	kill_often(kill_once, getenv("TEST_FULL") ? 70 : 4);
}

static const struct conform_case cases[] = {
	CASE("move-mixed", mixed),
	CASE("move-bytes", bytes),
	CASE("move-overwritten", overwritten),
	CASE("move-copied", copied),
	CASE("move-copied-written", copied_written),
	CASE("move-copied-freed", copied_freed),
	CASE("move-copied-running", copied_running),
	CASE("move-refused", refused),
	CASE("move-full", full),
	CASE("move-outside", outside),
	CASE("move-resident", resident),
	CASE("move-running", running),
	CASE("move-ahead", ahead),
	CASE("move-ahead-running", ahead_running),
	CASE("move-ahead-used", ahead_used),
	CASE("move-threads", threads),
	CASE("move-room-threads", room_threads),
	CASE("move-turn", turn),
	CASE("move-touches", touches),
	CASE("move-killed", killed),
};

CONFORM_MAIN(cases)
