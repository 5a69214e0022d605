/* SPDX-License-Identifier: MIT */
/* explicit.c - device-only memory and explicit copies. */
#include "conform.h"

#include <stdlib.h>

#define N 50000u

static unsigned *device(size_t size)
{
	unsigned *p = adsmDeviceAlloc(size);

	if (!p)
		FAIL("adsmDeviceAlloc(%zu)", size);
	return p;
}

static void count(unsigned *w, unsigned first)
{
	for (unsigned i = 0; i < N; i++)
		w[i] = first + i;
}

static void round_trip(void)
{
	static unsigned from[N], to[N];
	unsigned *d = device(N * 4), *e = device(N * 4);

	count(from, 5);
	CHECK_OK(adsmCopyToDevice(d, from, N * 4));
	memset(from, 0, sizeof(from));
	CHECK_OK(adsmCopyDevice(e, d, N * 4));
	CHECK_OK(adsmDeviceFill((char *)d + 4001, 0xab, 1));
	CHECK_OK(adsmCopyToHost(to, d, N * 4));
	for (unsigned i = 0; i < N; i++)
		CHECK_AT(to[i], i, i == 1000 ? (1005u & ~0xff00u) | 0xab00 : i + 5);
	CHECK_OK(adsmDeviceFill(d, 0, N * 4));
	CHECK_OK(adsmCopyDevice(d + 10, e + 20, 400));
	CHECK_OK(adsmCopyToHost(to + 3, d + 3, 1000));
	for (unsigned i = 0; i < 250; i++)
		CHECK_AT(to[i], i, i < 3 ? i + 5 : i >= 10 && i < 110 ? i + 15 : 0);
	CHECK_OK(adsmDeviceFree(d));
	CHECK_OK(adsmDeviceFree(e));
	CHECK_OK(adsmDeviceFree(NULL));
	CHECK_OK(adsmShutdown());
}

static void asynchronous(void)
{
	enum { COPIES = 20 };
	static unsigned from[COPIES][N], to[COPIES][N];
	adsmEvent sent[COPIES], fetched;
	unsigned *d[COPIES];

	set("cpu_link", "500MB/s,10us");	/* slow, so that the waits are not trivial */
	for (unsigned c = 0; c < COPIES; c++) {
		d[c] = device(N * 4);
		count(from[c], c);
		CHECK_OK(adsmCopyToDeviceAsync(d[c], from[c], N * 4, &sent[c]));
	}
	/* A call waits for the copies before it, and a copy for the calls before it. */
	for (unsigned c = 0; c < COPIES; c++)
		CALL("increment", N, adsmPtr(d[c]), adsmVal(N));
	for (unsigned c = 0; c < COPIES; c++) {
		CHECK_OK(adsmCopyToHostAsync(to[c], d[c], N * 4, &fetched));
		CHECK_OK(adsmEventWait(fetched));
		CHECK_OK(adsmEventWait(sent[c]));
		CHECK_OK(adsmEventWait(fetched));
		for (unsigned i = 0; i < N; i++)
			CHECK_AT(to[c][i], i, i + c + 1);
	}
	SYNC();
	for (unsigned c = 0; c < COPIES; c++)
		CHECK_OK(adsmDeviceFree(d[c]));
}

/* Copies are made in order, in both directions. */
static void in_order(void)
{
	static unsigned from[N], to[N];
	adsmEvent sent, fetched;
	unsigned *d;

	set("cpu_link", "20MB/s,10us");
	d = device(N * 4);
	for (unsigned round = 1; round < 4; round++) {
		count(from, round * N);
		CHECK_OK(adsmCopyToDeviceAsync(d, from, N * 4, &sent));
		CHECK_OK(adsmCopyToHostAsync(to, d, N * 4, &fetched));
		CHECK_OK(adsmEventWait(fetched));
		for (unsigned i = 0; i < N; i++)
			CHECK_AT(to[i], i, i + round * N);
		CHECK_OK(adsmEventWait(sent));
	}
	CHECK_OK(adsmDeviceFree(d));
}

/* Backends may delay copies and fills. All later operations see their results, and the source can be reused. */
static void put_off(void)
{
	enum { SIZE = 1 << 20, WORDS = 12, STEP = SIZE / WORDS };	/* more copies than a backend delays */
	static unsigned to[STEP * WORDS];
	unsigned *d = device(SIZE * 4), *e = device(SIZE * 4), value;

	for (unsigned round = 1; round < 60; round++) {
		unsigned filled = (round & 0xff) * 0x01010101u;

		CHECK_OK(adsmDeviceFill(d, (int)round, SIZE * 4));
		CHECK_OK(adsmCopyToHost(&value, d + SIZE - 1, 4));
		CHECK_EQ(value, filled);
		CHECK_OK(adsmDeviceFill(e, 0, SIZE * 4));
		for (unsigned i = 0; i < WORDS; i++) {
			value = round + i;
			CHECK_OK(adsmCopyToDevice(d + i * STEP, &value, 4));
		}
		value = 0;
		if (round % 2)
			CALL("add", STEP * WORDS, adsmPtr(d), adsmPtr(e), adsmPtr(e), adsmVal(STEP * WORDS));
		else
			CHECK_OK(adsmCopyDevice(e, d, SIZE * 4));
		CHECK_OK(adsmCopyToHost(to, e, sizeof(to)));
		for (unsigned i = 0; i < STEP * WORDS; i++)
			CHECK_AT(to[i], i, i % STEP ? filled : round + i / STEP);
	}
	value = 5;
	CHECK_OK(adsmCopyToDevice(d, &value, 4));
	CHECK_OK(adsmDeviceFree(d));
	CHECK_OK(adsmDeviceFree(e));
}

static void after_calls(void)
{
	static unsigned w[N];
	unsigned *a = words(N, 0), *d = device(N * 4);

	CALL("late_copy", 1, adsmVal(SPIN), adsmPtr(a), adsmPtr(d), adsmVal(N));
	CHECK_OK(adsmCopyToHost(w, d, N * 4));
	for (unsigned i = 0; i < N; i++)
		CHECK_AT(w[i], i, i);
	/* The copy does not overtake a kernel that reads the old bytes. */
	CALL("late_copy", 1, adsmVal(SPIN), adsmPtr(d), adsmPtr(a), adsmVal(N));
	count(w, 900);
	CHECK_OK(adsmCopyToDevice(d, w, N * 4));
	SYNC();
	for (unsigned i = 0; i < N; i++)
		CHECK_AT(a[i], i, i);
	/* Freeing waits, too. */
	CALL("late_copy", 1, adsmVal(SPIN), adsmPtr(d), adsmPtr(a), adsmVal(N));
	CHECK_OK(adsmDeviceFree(d));
	d = device(N * 4);
	CHECK_OK(adsmDeviceFill(d, 0, N * 4));
	SYNC();
	for (unsigned i = 0; i < N; i++)
		CHECK_AT(a[i], i, i + 900);
	CHECK_OK(adsmDeviceFree(d));
}

/* Objects and device-only memory in one call; interior pointers into both. */
static void mixed(void)
{
	static unsigned w[N];
	unsigned *a = words(N, 0), *b = words(N, 0), *d = device(N * 4);

	count(w, 7);
	CHECK_OK(adsmCopyToDevice(d, w, N * 4));
	for (unsigned round = 0; round < 3; round++) {
		CALL("add", N - 5, adsmPtr(a), adsmPtr(d + 5), adsmInOut(b + 2), adsmVal(N - 5));
		CALL("increment", N, adsmPtr(d), adsmVal(N));
		SYNC();
		CHECK_EQ(b[1], 1);
		for (unsigned i = 0; i < N - 5; i++)
			CHECK_AT(b[i + 2], i, i + round + i + 5 + 7 + round);
		for (unsigned i = 0; i < N; i++)
			a[i]++;
	}
}

/* The host's side of a copy may be a shared object. */
static void objects(void)
{
	unsigned *a = words(N, 0), *b = words(N, 0), *d = device(N * 4);

	CALL("increment", N, adsmPtr(a), adsmVal(N));
	CALL("increment", N, adsmPtr(b), adsmVal(N));
	SYNC();
	CHECK_OK(adsmCopyToDevice(d, a, N * 4));
	CHECK_OK(adsmDeviceFill(d, 0, 4));
	CHECK_OK(adsmCopyToHost(b + 1, d, (N - 1) * 4));
	CALL("increment", N, adsmPtr(b), adsmVal(N));
	SYNC();
	for (unsigned i = 0; i < N; i++)
		CHECK_AT(b[i], i, i == 0 ? 2 : i == 1 ? 1 : i + 1);
}

static void refused(void)
{
	unsigned *d = device(1000), *a = words(250, 0), w[250] = { 0 };
	adsmEvent event;

	CHECK_NULL(adsmDeviceAlloc(0), EINVAL);
	CHECK_NULL(adsmDeviceAlloc((size_t)1 << 60), ENOMEM);
	CHECK_ERROR(adsmCopyToDevice((char *)d + 1, w, 1000), EINVAL);
	CHECK_ERROR(adsmCopyToDevice(d - 1, w, 8), EINVAL);
	CHECK_ERROR(adsmCopyToHost(w, d + 249, 8), EINVAL);
	CHECK_ERROR(adsmCopyToHost(w, d, SIZE_MAX), EINVAL);
	CHECK_ERROR(adsmCopyDevice(d, d + 249, 8), EINVAL);
	CHECK_ERROR(adsmDeviceFill(d, 0, 1001), EINVAL);
	CHECK_ERROR(adsmCopyToDevice(w, w, 8), EINVAL);
	CHECK_ERROR(adsmCopyToDevice(a, w, 8), EINVAL);
	CHECK_ERROR(adsmCopyToHost(w, a, 8), EINVAL);
	/* Refused: the state of shared memory would have to stay the same until an asynchronous copy ends. */
	CHECK_ERROR(adsmCopyToDeviceAsync(d, a, 8, &event), EINVAL);
	CHECK_ERROR(adsmCopyToHostAsync(a + 1, d, 8, &event), EINVAL);
	CHECK_ERROR(adsmCopyToDeviceAsync(d + 249, w, 8, &event), EINVAL);
	CHECK_ERROR(adsmCopyToHostAsync(w, d + 249, 8, &event), EINVAL);
	/* A range that goes beyond the shared object: no part of it is copied. */
	CHECK_OK(adsmDeviceFill(d, 9, 1000));
	CHECK_ERROR(adsmCopyToHost(a + 1, d, 1000), EINVAL);
	CHECK_ERROR(adsmCopyToDevice(d, a + 1, 1000), EINVAL);
	CHECK_EQ(a[1], 1);
	CHECK_OK(adsmCopyToHost(w, d, 4));
	CHECK_EQ(w[0], 0x09090909);
	CHECK_ERROR(adsmDeviceFree(d + 1), EINVAL);
	CHECK_ERROR(adsmDeviceFree(a), EINVAL);
	CHECK_ERROR(adsmDeviceFree(w), EINVAL);
	CHECK_ERROR(adsmFree(d), EINVAL);
	CHECK_ERROR(adsmShutdown(), EBUSY);
	CHECK_OK(adsmFree(a));
	CHECK_ERROR(adsmShutdown(), EBUSY);
	CHECK_OK(adsmDeviceFree(d));
	CHECK_ERROR(adsmDeviceFree(d), EINVAL);
	CHECK_OK(adsmShutdown());
}

static void exhausted(void)
{
	unsigned *d[64], n = 0, value = 0;
	uint64_t total;

	/* Otherwise adsmAlloc() takes no device memory. */
	set("oversubscribe", "off");
	/* If the device's memory cannot be made small, filling it would take too long. */
	set("cpu_memory_size", "16M");
	total = device_props().memory_size;
	CHECK_NULL(adsmDeviceAlloc(total + 1), ENOMEM);
	CHECK_SAYS("bytes");
	if (total > 16 << 20)
		return;
	while (n < 64 && (d[n] = adsmDeviceAlloc(1 << 20))) {
		CHECK_OK(adsmCopyToDevice(d[n], &n, 4));
		n++;
	}
	CHECK_EQ(errno, ENOMEM);
	CHECK(n >= 8 && n <= 16);
	CHECK_NULL(adsmAlloc(1 << 20), ENOMEM);
	CHECK_OK(adsmDeviceFree(d[2]));
	CHECK_OK(adsmFree(words(1000, 0)));
	d[2] = device(1 << 20);
	for (unsigned i = 0; i < n; i++) {
		CHECK_OK(adsmCopyToHost(&value, d[i], 4));
		if (i != 2)
			CHECK_EQ(value, i);
		CHECK_OK(adsmDeviceFree(d[i]));
	}
}

static const struct conform_case cases[] = {
	CASE("explicit-round-trip", round_trip),
	CASE("explicit-asynchronous", asynchronous),
	CASE("explicit-in-order", in_order),
	CASE("explicit-put-off", put_off),
	CASE("explicit-after-calls", after_calls),
	CASE("explicit-mixed", mixed),
	CASE("explicit-objects", objects),
	CASE("explicit-refused", refused),
	CASE("explicit-exhausted", exhausted),
};
CONFORM_MAIN(cases)
