/* SPDX-License-Identifier: MIT */
/* prefetch.c - transfers in advance, transfers that are not needed, and advice. */
#include "conform.h"

#include <adsm_once.h>
#include <adsm_prefetch.h>
#include <adsm_queue.h>
#include <pthread.h>
#include <stdlib.h>

#define N 100000u

static void wait_for(const void *p, size_t size, int device)
{
	uint64_t start_ns = 1, end_ns = 0;
	adsmEvent event;
	int error;

	CHECK_OK(adsmPrefetch(p, size, device, &event));
	error = adsmEventQuery(event);
	CHECK(!error || error == -EBUSY);
	CHECK_OK(adsmEventWait(event));
	CHECK_OK(adsmEventQuery(event));
	CHECK_OK(adsmEventTime(event, &start_ns, &end_ns));
	CHECK(start_ns <= end_ns);
	CHECK_ERROR(adsmQueueWait(NULL, event), EINVAL);
}

static void check_from(const unsigned *p, unsigned first)
{
	for (unsigned i = 0; i < N; i++)
		CHECK_AT(p[i], i, first + i);
}

/* All bytes come before the CPU touches any, and no touch faults afterwards. */
static void to_host(void)
{
	unsigned *p = words(N, 0);
	adsmStats before;

	CALL("increment", N, adsmPtr(p), adsmVal(N));
	wait_for(p, N * 4, ADSM_HOST);
	CHECK_EQ(info(p).n_invalid, 0);
	before = object_stats(p);
	CHECK_EQ(before.d2h_bytes, unified() ? 0 : N * 4);
	SYNC();
	check_from(p, 1);
	CHECK_EQ(object_stats(p).d2h_bytes, before.d2h_bytes);
	CHECK_EQ(object_stats(p).signals, before.signals);
	/* The next call sends nothing, and its results are found. */
	CALL("increment", N, adsmPtr(p), adsmVal(N));
	SYNC();
	if (!batch())
		CHECK_EQ(object_stats(p).h2d_bytes, before.h2d_bytes);
	check_from(p, 2);
	CHECK_OK(adsmFree(p));
}

/* The blocks of a range, and no others. */
static void part(void)
{
	const size_t start = 20000 * 4, end = 50000 * 4;
	unsigned *p = words(N, 0);
	size_t block = info(p).block_size, first = start / block * block, last = (end + block - 1) / block * block;

	CALL("increment", N, adsmPtr(p), adsmVal(N));
	wait_for((char *)p + start, end - start, ADSM_HOST);
	if (!unified())
		CHECK_EQ(object_stats(p).d2h_bytes, (last < N * 4 ? last : N * 4) - first);
	SYNC();
	check_from(p, 1);
	p[0] = 1;
	wait_for(p + N / 2, 4, ADSM_DEVICE_CURRENT);
	CALL("increment", N, adsmPtr(p), adsmVal(N));
	SYNC();
	check_from(p, 2);
}

/* What was sent in advance is not sent again. */
static void to_device(void)
{
	unsigned *p = words(N, 5), *q = words(N, 0);
	const uint64_t all = unified() ? 0 : N * 4;

	wait_for(p, N * 4, ADSM_DEVICE_CURRENT);
	CHECK_EQ(object_stats(p).h2d_bytes, batch() ? 0 : all);
	if (!batch() && !unified())
		CHECK_EQ(info(p).n_dirty, 0);
	CALL("copy", N, adsmIn(p), adsmOut(q), adsmVal(N));
	SYNC();
	CHECK_EQ(object_stats(p).h2d_bytes, all);
	check_from(q, 5);
	check_from(p, 5);
	CHECK_OK(adsmPrefetch(p, N * 4, 0, NULL));
	CHECK_OK(adsmPrefetch(p, N * 4, ADSM_HOST, NULL));
}

/* The CPU writes while its bytes are on their way. */
static void written_meanwhile(void)
{
	unsigned *p, *q;

	set("cpu_link", "2GB/s,50us");
	p = words(N, 0);
	q = words(N, 0);
	for (unsigned round = 1; round <= 10; round++) {
		for (unsigned i = 0; i < N; i++)
			p[i] = round + i - 1;
		CHECK_OK(adsmPrefetch(p, N * 4, 0, NULL));
		for (unsigned i = 0; i < N; i++)
			p[i]++;
		CALL("copy", N, adsmIn(p), adsmOut(q), adsmVal(N));
		if (round % 2)
			CHECK_OK(adsmPrefetch(q, N * 4, ADSM_HOST, NULL));
		SYNC();
		check_from(q, round);
	}
}

/* The function returns while the call runs, and fetches what it writes. Later calls that write end it. */
static void waits(void)
{
	unsigned *p = words(N, 0), *q = words(N, 7);
	adsmEvent event;

	CALL("late_increment", 1, adsmVal(SPIN), adsmPtr(p), adsmVal(N));
	CHECK_OK(adsmPrefetch(p, N * 4, ADSM_HOST, &event));
	wait_for(q, N * 4, 0);
	CHECK_OK(adsmEventWait(event));
	CHECK_EQ(object_stats(p).d2h_bytes, unified() ? 0 : N * 4);
	SYNC();
	check_from(p, 1);
	CALL("late_increment", 1, adsmVal(SPIN), adsmPtr(p), adsmVal(N));
	CHECK_OK(adsmPrefetch(p, N * 4, ADSM_HOST, &event));
	CALL("increment", N, adsmPtr(p), adsmVal(N));
	CHECK_OK(adsmEventWait(event));
	SYNC();
	check_from(p, 3);
	check_from(q, 7);
}

static void refused(void)
{
	unsigned *p, private[4], *device;
	adsmEvent event, wrong;
	adsmOnce *once;

	set("cpu_devices", "2");
	p = words(N, 0);
	device = adsmDeviceAlloc(N * 4);
	CHECK(device);
	CHECK_ERROR(adsmPrefetch(private, sizeof(private), ADSM_HOST, NULL), EINVAL);
	CHECK_ERROR(adsmPrefetch(p + N - 1, 2 * PAGE, ADSM_HOST, NULL), EINVAL);
	CHECK_ERROR(adsmPrefetch(p, SIZE_MAX, ADSM_HOST, NULL), EINVAL);
	CHECK_ERROR(adsmPrefetch(p, 0, ADSM_HOST, NULL), EINVAL);
	CHECK_ERROR(adsmPrefetch(p, 4, 99, NULL), EINVAL);
	CHECK_ERROR(adsmPrefetch(p, 4, -3, NULL), EINVAL);
	CHECK_ERROR(adsmPrefetch(device, 4, ADSM_HOST, NULL), EINVAL);
	CHECK_SAYS("device-only");
	CHECK_ERROR(adsmDiscard(device, 4), EINVAL);
	CHECK_SAYS("device-only");
	CHECK_ERROR(adsmDiscard(private, sizeof(private)), EINVAL);
	CHECK_ERROR(adsmDiscard(p + N - 1, 2 * PAGE), EINVAL);
	CHECK_ERROR(adsmAdvise(p, N * 4 + 1, ADSM_ADVISE_READ_MOSTLY), EINVAL);
	CHECK_ERROR(adsmAdvise(p, 4, 2), ENOTSUP);
	CHECK_SAYS("ADSM_ADVISE_READ_MOSTLY");
	once = adsmOnceAlloc(10, 4, NULL);
	if (once) {
		CHECK_ERROR(adsmPrefetch(once->address, 4, ADSM_HOST, NULL), EINVAL);
		CHECK_SAYS("write-once");
		CHECK_OK(adsmOnceFree(once));
	}
	CHECK_OK(adsmHold(p + 5, 4, ADSM_ACCESS_IN));
	CHECK_ERROR(adsmPrefetch(p, N * 4, 0, NULL), EBUSY);
	CHECK_ERROR(adsmDiscard(p, N * 4), EBUSY);
	wait_for(p, N * 4, ADSM_HOST);
	CHECK_OK(adsmUnhold(p + 5, 4));
	CHECK_OK(adsmPrefetch(p, N * 4, 0, &event));
	wrong = event;
	wrong.seq += 1000000;
	CHECK_ERROR(adsmEventWait(wrong), EINVAL);
	wrong = event;
	wrong.device = 1000;
	CHECK_ERROR(adsmEventWait(wrong), EINVAL);
	CHECK_OK(adsmEventWait(event));
	check_from(p, 0);
	CHECK_OK(adsmFree(p));
	CHECK_OK(adsmDeviceFree(device));
	/* Events of an earlier start are known as such. */
	CHECK_OK(adsmShutdown());
	CHECK_OK(adsmInit());
	CHECK_ERROR(adsmEventWait(event), EINVAL);
}

/* Objects are freed under their prefetches, and the next ones have the same addresses. */
static void freed(void)
{
	adsmEvent events[2];

	for (unsigned round = 0; round < 60; round++) {
		unsigned *p = words(N, round), *q = words(20, round);

		if (round % 2)
			CALL("increment", N, adsmPtr(p), adsmVal(N));
		CHECK_OK(adsmPrefetch(p, N * 4, round % 3 ? ADSM_HOST : 0, &events[0]));
		CHECK_OK(adsmPrefetch(q, 80, 0, &events[1]));
		if (round % 4 == 0)
			SYNC();
		CHECK_OK(adsmFree(p));
		CHECK_OK(adsmFree(q));
		for (int i = 0; round % 5 == 0 && i < 2; i++) {
			int error = adsmEventWait(events[i]);

			CHECK(!error || error == -EINVAL);
		}
	}
	SYNC();
}

/* Bytes that were lost with the device are not fetched. After a discard the CPU may use the memory again. */
static void lost(void)
{
	unsigned *p = words(N, 0);
	adsmEvent event;

	if (!is_process(device_props().backend))
		skip("a crash of a kernel would end this process");
	CALL("crash", 1, adsmPtr(p));
	CHECK_OK(adsmPrefetch(p, N * 4, ADSM_HOST, &event));
	CHECK_ERROR(adsmEventWait(event), ENODEV);
	CHECK(adsmSync() < 0);
	CHECK_OK(adsmDiscard(p, N * 4));
	for (unsigned i = 0; i < N; i++)
		p[i] = i;
	check_from(p, 0);
}

/* The library neither sends nor fetches what was discarded. */
static void discard(void)
{
	unsigned *p = words(N, 1);
	adsmStats before;

	CALL("increment", N, adsmPtr(p), adsmVal(N));
	CHECK_OK(adsmDiscard(p, N * 4));
	SYNC();
	for (unsigned i = 0; i < N; i += 100)
		p[i] = i;
	CHECK_EQ(object_stats(p).d2h_bytes, 0);
	CHECK_OK(adsmDiscard(p, N * 4));
	if (!batch())
		CHECK_EQ(info(p).n_read_only, info(p).n_blocks);
	before = object_stats(p);
	CALL("increment", N, adsmPtr(p), adsmVal(N));
	SYNC();
	if (!batch())
		CHECK_EQ(object_stats(p).h2d_bytes, before.h2d_bytes);
	/* What is written later counts, also in blocks that were Dirty. */
	for (unsigned i = 0; i < N; i++)
		p[i] = i + 7;
	CHECK_OK(adsmDiscard(p, N * 4));
	for (unsigned i = 0; i < N; i++)
		p[i] = 3 * i;
	CALL("increment", N, adsmPtr(p), adsmVal(N));
	SYNC();
	for (unsigned i = 0; i < N; i++)
		CHECK_AT(p[i], i, 3 * i + 1);
}

/* Blocks that the range covers in part keep their bytes, on whichever side they are. */
static void discard_part(void)
{
	unsigned *p = words(N, 10);

	CHECK_OK(adsmDiscard(p + 100, (N - 200) * 4));
	CHECK_OK(adsmDiscard(p + 1, 4));
	for (unsigned i = 0; i < 100; i++) {
		CHECK_AT(p[i], i, i + 10);
		CHECK_AT(p[N - 1 - i], i, N - 1 - i + 10);
	}
	CALL("increment", N, adsmPtr(p), adsmVal(N));
	CHECK_OK(adsmDiscard(p + 100, (N - 200) * 4));
	SYNC();
	for (unsigned i = 0; i < 100; i++) {
		CHECK_AT(p[i], i, i + 11);
		CHECK_AT(p[N - 1 - i], i, N - 1 - i + 11);
	}
	if (batch() || info(p).n_blocks == 1)
		check_from(p, 11);
}

/* A call still uses what is discarded: later writes of the CPU come after it. */
static void discard_running(void)
{
	unsigned *p = words(N, 0), *q = words(N, 0);

	CALL("late_increment", 1, adsmVal(SPIN), adsmPtr(p), adsmVal(N));
	CHECK_OK(adsmDiscard(p, N * 4));
	SETTLE();
	for (unsigned i = 0; i < N; i++)
		p[i] = 3 * i;
	CALL("late_copy", 1, adsmVal(SPIN), adsmIn(p), adsmOut(q), adsmVal(N));
	CHECK_OK(adsmDiscard(p, N * 4));
	SETTLE();
	for (unsigned i = 0; i < N; i++)
		p[i] = 5 * i;
	CALL("increment", N, adsmPtr(p), adsmVal(N));
	SYNC();
	for (unsigned i = 0; i < N; i++) {
		CHECK_AT(q[i], i, 3 * i);
		CHECK_AT(p[i], i, 5 * i + 1);
	}
}

static uint64_t faults_of_reads(const unsigned *p)
{
	const uint64_t before = object_stats(p).signals;

	check_from(p, 1);
	return object_stats(p).signals - before;
}

/* A read opens all blocks that one fault may open, and a write opens one. */
static void advise(void)
{
	unsigned *p = words(N, 0), *q = words(N, 0), step = (unsigned)info(p).block_size / 4;

	if (!rolling())
		skip("an object is one block");
	CHECK_OK(adsmAdvise(p, N * 4, ADSM_ADVISE_READ_MOSTLY));
	CHECK_OK(adsmAdvise(q, N * 4, ADSM_ADVISE_READ_MOSTLY));
	CHECK_OK(adsmAdvise(q, N * 4, ADSM_ADVISE_NORMAL));
	CALL("increment", N, adsmPtr(p), adsmVal(N));
	CALL("increment", N, adsmPtr(q), adsmVal(N));
	SYNC();
	CHECK_EQ(faults_of_reads(p), 1);
	CHECK(faults_of_reads(q) > 1);
	for (unsigned b = 0; b < 3; b++) {
		p[b * step]++;
		q[b * step]++;
	}
	CHECK_EQ(info(p).n_dirty, 3);
	CHECK(info(q).n_dirty > 3);
}

/* ---- many threads */

#define READERS 3u
#define ROUNDS 20u
static volatile unsigned *shared;
static _Atomic unsigned n_calls;

/* Each word is between the results of the calls that have surely ended and of those that have begun. */
static void *read_all(void *seed)
{
	uint64_t state = (uintptr_t)seed;

	for (unsigned done = 0; done < ROUNDS;) {
		unsigned i = (unsigned)(draw(&state) % N), got = shared[i] - i;

		CHECK(got >= done && got <= ROUNDS);
		done = n_calls;
	}
	return NULL;
}

static void against_touches(void)
{
	pthread_t readers[READERS];

	shared = words(N, 0);
	for (uintptr_t i = 0; i < READERS; i++)
		CHECK(!pthread_create(&readers[i], NULL, read_all, (void *)i));
	for (unsigned round = 1; round <= ROUNDS; round++) {
		CHECK_OK(adsmPrefetch((void *)(shared + round * 100), 50000 * 4, 0, NULL));
		CALL("increment", N, adsmPtr(shared), adsmVal(N));
		CHECK_OK(adsmPrefetch((void *)shared, N * 4, ADSM_HOST, NULL));
		if (round % 3)
			CHECK_OK(adsmPrefetch((void *)(shared + N / 2), N / 4, ADSM_HOST, NULL));
		SYNC();
		n_calls = round;
	}
	for (unsigned i = 0; i < READERS; i++)
		CHECK(!pthread_join(readers[i], NULL));
	check_from((unsigned *)shared, ROUNDS);
}

/* Each thread has objects of its own, and the device's threads do the prefetches of all. */
static void *mix_thread(void *seed)
{
	uint64_t state = (uintptr_t)seed + 17;

	for (unsigned round = 0; round < 15; round++) {
		unsigned n = (unsigned)draw(&state) % 60000 + 1, first = (unsigned)draw(&state), more = 0;
		unsigned *p = words(n, first), at = (unsigned)draw(&state) % n;

		for (unsigned step = 0; step < 6; step++)
			switch (draw(&state) % 6) {
			case 0:
			case 1:
				CHECK_OK(adsmPrefetch(p + at, (n - at) * 4, draw(&state) % 2 ? 0 : ADSM_HOST, NULL));
				break;
			case 2:
			case 3:
				CALL("increment", n, adsmPtr(p), adsmVal(n));
				more++;
				SETTLE();
				break;
			case 4:
				CHECK_AT(p[at], at, first + at + more);
				break;
			case 5:
				CHECK_OK(adsmDiscard(p, n * 4));
				for (unsigned i = 0; i < n; i++)
					p[i] = first + i + more;
				break;
			}
		SETTLE();
		for (unsigned i = 0; i < n; i++)
			CHECK_AT(p[i], i, first + i + more);
		CHECK_OK(adsmFree(p));
	}
	SYNC();
	return NULL;
}

static void mix(void)
{
	pthread_t threads[READERS];

	for (uintptr_t i = 0; i < READERS; i++)
		CHECK(!pthread_create(&threads[i], NULL, mix_thread, (void *)i));
	for (unsigned i = 0; i < READERS; i++)
		CHECK(!pthread_join(threads[i], NULL));
}

static const struct conform_case cases[] = {
	CASE("prefetch-host", to_host),
	CASE("prefetch-part", part),
	CASE("prefetch-device", to_device),
	CASE("prefetch-written", written_meanwhile),
	CASE("prefetch-waits", waits),
	CASE("prefetch-refused", refused),
	CASE("prefetch-freed", freed),
	FAULT_CASE("prefetch-lost", lost),
	CASE("discard", discard),
	CASE("discard-part", discard_part),
	CASE("discard-running", discard_running),
	FAULT_CASE("advise", advise),
	FAULT_CASE("prefetch-touches", against_touches),
	CASE("prefetch-mix", mix),
};
CONFORM_MAIN(cases)
