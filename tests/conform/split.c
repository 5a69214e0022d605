/* SPDX-License-Identifier: MIT */
/* split.c - calls whose grid is split over several devices: the results are those of one device. */
#include "conform.h"

#include <adsm_split.h>

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define N ((size_t)50000)	/* words of an object */
#define SIZE (N * 4)
#define ROW (256 * sizeof(unsigned))	/* what one block of a grid along x writes */

static int n_devices;

static void start(const char *devices)
{
	set("cpu_devices", devices);
	n_devices = adsmDeviceCount();
	if (n_devices < 2)
		skip("one device");
	if (unified())
		skip("the device's objects have their addresses there");
}

static adsmSplit split_of(const adsmSplitRows *rows, size_t n)
{
	adsmSplit split = ADSM_SPLIT_INIT;

	split.rows = rows;
	split.n_rows = n;
	return split;
}

/* Split a call of n threads in blocks of 256 that writes p. */
#define SPLIT(name, p, ...) do { \
	const adsmSplitRows rows_ = { (p), ROW }; \
	const adsmSplit split_ = split_of(&rows_, 1); \
	\
	CHECK_OK(adsmCallSplit(kernel(name), blocks(N), lanes(), &split_, __VA_ARGS__)); \
} while (0)

static unsigned *words_on(int device, unsigned first)
{
	CHECK_OK(adsmDeviceSet(device));
	return words(N, first);
}

static void expect(const unsigned *p, unsigned first, unsigned step)
{
	SETTLE();
	for (size_t i = 0; i < N; i++)
		CHECK_AT(p[i], i, first + step * i);
}

/* What is read, what is overwritten, and what is both, in objects of one device and of several. */
static void once_on(const char *devices)
{
	unsigned *a, *b, *c;
	adsmStats before;

	start(devices);
	a = words_on(0, 1);
	b = words_on(1, 5);
	c = words_on(0, 0);
	SPLIT("add", c, adsmPtr(a), adsmPtr(b), adsmPtr(c), adsmVal((unsigned)N));
	CHECK_EQ(info(c).device, 0);
	expect(c, 6, 2);
	CHECK_EQ(stats().calls, (uint64_t)n_devices);
	/* Again: the copies of what is read are there, and only rows move. */
	before = stats();
	SPLIT("add", c, adsmPtr(a), adsmPtr(b), adsmPtr(c), adsmVal((unsigned)N));
	CHECK(batch() || stats().h2d_bytes - before.h2d_bytes < SIZE);
	CHECK(batch() || stats().d2h_bytes - before.d2h_bytes < SIZE);
	expect(c, 6, 2);
	/* Read and written, after the CPU and after a call. */
	c[N - 1]++;
	SPLIT("increment", c, adsmPtr(c), adsmVal((unsigned)N));
	CALL("increment", N, adsmPtr(c), adsmVal((unsigned)N));
	SPLIT("increment", c, adsmPtr(c), adsmVal((unsigned)N));
	SETTLE();
	CHECK_EQ(c[N - 1], 6 + 2 * (N - 1) + 4);
	c[N - 1]--;
	expect(c, 9, 2);
	/* And what was a copy before is written, and the other way round. */
	SPLIT("increment", a, adsmPtr(a), adsmVal((unsigned)N));
	SPLIT("add", c, adsmPtr(a), adsmPtr(b), adsmPtr(c), adsmVal((unsigned)N));
	expect(a, 2, 1);
	expect(c, 7, 2);
	SYNC();
}

static void on_two(void)
{
	once_on("2");
}

static void on_three(void)
{
	once_on("3");
}

/* Each dimension, grids with fewer blocks than devices, and chosen devices. */
static void dimensions(void)
{
	static const adsmDim grids[] = { { 2, 3, 7 }, { 3, 2, 2 }, { 5, 4, 1 }, { 2, 2, 1 }, { 1, 1, 1 } };
	const adsmDim block = { 4, 2, 3 };

	start("3");
	for (size_t i = 0; i < sizeof(grids) / sizeof(grids[0]); i++) {
		const adsmDim g = grids[i];
		const size_t n = (size_t)g.x * g.y * g.z * 24;
		unsigned *one = alloc(n * 4), *many = alloc(n * 4);
		/* If the grid is flat, each block still writes lines of three planes. */
		const size_t plane = (size_t)g.x * 4 * g.y * 2 * 4, line = (size_t)g.x * 4 * 4;
		adsmSplitRows rows[3];
		adsmSplit split = split_of(rows, g.z > 1 ? 1 : 3);
		const int last[] = { n_devices - 1, 0 };

		rows[0] = (adsmSplitRows){ many, 3 * plane };
		for (size_t z = 0; g.z == 1 && z < 3; z++)
			rows[z] = (adsmSplitRows){ (char *)many + z * plane, g.y > 1 ? 2 * line : plane };
		memset(many, 0, n * 4);
		CHECK_OK(adsmCall(kernel("places"), g, block, adsmPtr(one)));
		CHECK_OK(adsmCallSplit(kernel("places"), g, block, &split, adsmPtr(many)));
		SETTLE();
		CHECK(!memcmp(one, many, n * 4));
		split.devices = last;
		split.n_devices = 2;
		memset(many, 0, n * 4);
		CHECK_OK(adsmCallSplit(kernel("places"), g, block, &split, adsmPtr(many)));
		CHECK_EQ(info(many).device, n_devices - 1);
		SETTLE();
		CHECK(!memcmp(one, many, n * 4));
		CHECK_OK(adsmFree(one));
		CHECK_OK(adsmFree(many));
		CHECK_OK(adsmDeviceSet(0));
	}
}

/* A part of an object: the rest keeps its bytes, wherever they are. */
static void part(void)
{
	unsigned *a, *b;
	adsmSplitRows rows;
	adsmSplit split = split_of(&rows, 1);
	const size_t n = 20 * 256;

	start("2");
	a = words_on(0, 1);
	b = words_on(0, 100);
	for (int turn = 0; turn < 2; turn++) {
		rows = (adsmSplitRows){ b + 777, ROW };
		CHECK_OK(adsmCallSplit(kernel("copy"), blocks(n), lanes(), &split, adsmPtr(a),
				       adsmInOut(b + 777),
				       adsmVal((unsigned)n)));
		SETTLE();
		for (size_t i = 0; i < N; i++)
			CHECK_AT(b[i], i, i >= 777 && i < 777 + n ? turn + i - 776 : 100 + turn + i);
		if (turn)
			break;
		CALL("increment", N, adsmPtr(a), adsmVal((unsigned)N));
		CALL("increment", N, adsmPtr(b), adsmVal((unsigned)N));
	}
}

/* The rows and a value are in the object that the kernel writes: all parts have what was there before. */
static void own_arguments(void)
{
	struct {
		adsmSplitRows rows;
		unsigned n;
	} *in;
	unsigned *c, before[sizeof(*in) / 4];
	adsmSplit split;

	start("2");
	c = words_on(0, 0);
	in = (void *)c;
	in->rows = (adsmSplitRows){ c, ROW };
	in->n = N - 1;
	memcpy(before, c, sizeof(before));
	split = split_of(&in->rows, 1);
	CHECK_OK(adsmCallSplit(kernel("increment"), blocks(N), lanes(), &split, adsmPtr(c),
			       (adsmArg){ .kind = ADSM_ARG_VALUE, .data = &in->n, .size = sizeof(in->n) }));
	SETTLE();
	for (size_t i = 0; i < N; i++)
		CHECK_AT(c[i], i, i < sizeof(before) / 4 ? before[i] + 1 : i + (i < N - 1));
}

static unsigned *late[2];

static void *split_late(void *unused)
{
	/* The first thread copies all words. */
	SPLIT("late_copy", late[1], adsmVal(SPIN * 5), adsmPtr(late[0]), adsmPtr(late[1]), adsmVal(256u));
	return NULL;
}

/* A call of another thread gets the memory that a split call keeps on the device, after it. */
static void gets_room(void)
{
	unsigned *p[4];
	pthread_t other;

	set("cpu_memory_size", "1M");	/* for five objects */
	start("2");
	for (unsigned i = 0; i < 2; i++)
		late[i] = words_on(0, i);
	for (unsigned i = 0; i < 4; i++)
		p[i] = words_on(1, i);
	CHECK(kernel("increment"));
	CHECK_OK(pthread_create(&other, NULL, split_late, NULL));
	while (stats().calls < 2)
		sched_yield();
	CALL("increment", N, adsmPtr(p[0]), adsmVal((unsigned)N), adsmUse(p[1], ADSM_ACCESS_IN),
	     adsmUse(p[2], ADSM_ACCESS_IN), adsmUse(p[3], ADSM_ACCESS_IN));
	CHECK_OK(pthread_join(other, NULL));
	expect(p[0], 1, 1);
	CALL("increment", 0, adsmPtr(late[1]), adsmVal(0u));
	SETTLE();
	for (size_t i = 0; i < 256; i++)
		CHECK_AT(late[1][i], i, i);
}

/* Objects that the call does not use make room for its own. */
static void makes_room(void)
{
	unsigned *p[5], *a, *c;

	set("cpu_memory_size", "1M");	/* for five objects */
	start("2");
	a = words_on(0, 7);
	c = words_on(0, 0);
	for (unsigned i = 0; i < 5; i++) {
		p[i] = words_on(0, i);
		CALL("increment", N, adsmPtr(p[i]), adsmVal((unsigned)N));
	}
	SYNC();
	SPLIT("copy", c, adsmPtr(a), adsmPtr(c), adsmVal((unsigned)N));
	SETTLE();
	expect(c, 7, 1);
	for (unsigned i = 0; i < 5; i++) {
		CALL("increment", N, adsmPtr(p[i]), adsmVal((unsigned)N));
		SETTLE();
		expect(p[i], i + 2, 1);
	}
}

static void *split_here(void *unused)
{
	SPLIT("increment", late[0], adsmPtr(late[0]), adsmVal((unsigned)N));
	expect(late[0], 1, 1);
	return NULL;
}

static void small_stack(void)
{
	size_t size = (size_t)sysconf(_SC_THREAD_STACK_MIN);
	pthread_attr_t attributes;
	pthread_t thread;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(__clang__)
	size *= 16;	/* sanitizers need more stack */
#endif
	start("2");
	late[0] = words_on(0, 0);
	CHECK(!pthread_attr_init(&attributes));
	CHECK(!pthread_attr_setstacksize(&attributes, size));
	CHECK_OK(pthread_create(&thread, &attributes, split_here, NULL));
	CHECK_OK(pthread_join(thread, NULL));
}

#define REFUSED(error, word, kernel, split, ...) do { \
	CHECK_ERROR(adsmCallSplit(kernel, blocks(N), lanes(), split, __VA_ARGS__), error); \
	CHECK_SAYS(word); \
} while (0)

static adsmKernel *kernel_of(const char *module, const char *name)
{
	adsmModule *loaded = adsmModuleLoad(module_path(module));

	CHECK(loaded);
	return adsmKernelGet(loaded, name);
}

static void refused(void)
{
	static const int twice[] = { 1, 1 }, none[] = { 0, 77 };
	unsigned *a, *b;
	adsmSplitRows rows, no_rows = { NULL, 4 };
	adsmSplit split = split_of(&rows, 1), bad;

	start("2");
	a = words_on(0, 1);
	b = words_on(1, 2);
	rows = (adsmSplitRows){ a, ROW };
	REFUSED(EINVAL, "unknown", kernel("increment_any"), &split, adsmPtr(a), adsmVal((unsigned)N));
	REFUSED(ENOTSUP, "task", kernel_of("tasks", "one_more"), &split, adsmPtr(a), adsmVal(1));
	REFUSED(ENOTSUP, "services", kernel_of("commands", "ask"), &split, adsmPtr(a), adsmVal(1));
	REFUSED(ENOTSUP, "atomic", kernel("count_up"), &split, adsmPtr(a));
	REFUSED(EINVAL, "no rows of", kernel("link"), &split, adsmVal(1ul), adsmPtr(a), adsmPtr(b), adsmPtr(a),
		adsmVal(0u));
	rows.address = b;
	REFUSED(EINVAL, "not in an object", kernel("increment"), &split, adsmPtr(a), adsmVal((unsigned)N));
	rows = (adsmSplitRows){ a, 0 };
	REFUSED(EINVAL, "size is 0", kernel("increment"), &split, adsmPtr(a), adsmVal((unsigned)N));
	rows.size = ROW;
	bad = split_of(&no_rows, 1);
	REFUSED(EINVAL, "not in", kernel("increment"), &bad, adsmPtr(a), adsmVal((unsigned)N));
	bad = split_of(NULL, 0);
	REFUSED(EINVAL, "0 rows", kernel("increment"), &bad, adsmPtr(a), adsmVal((unsigned)N));
	REFUSED(EINVAL, "NULL", kernel("increment"), NULL, adsmPtr(a), adsmVal((unsigned)N));
	bad = split;
	bad.devices = twice;
	bad.n_devices = 2;
	REFUSED(EINVAL, "twice", kernel("increment"), &bad, adsmPtr(a), adsmVal((unsigned)N));
	bad.devices = none;
	REFUSED(EINVAL, "77", kernel("increment"), &bad, adsmPtr(a), adsmVal((unsigned)N));
	bad.struct_size = 3;
	REFUSED(EINVAL, "struct_size", kernel("increment"), &bad, adsmPtr(a), adsmVal((unsigned)N));
	CHECK_OK(adsmHold(a, 8, ADSM_ACCESS_IN));
	REFUSED(EBUSY, "held", kernel("increment"), &split, adsmPtr(a), adsmVal((unsigned)N));
	CHECK_OK(adsmUnhold(a, 8));
	/* Nothing has changed. */
	expect(a, 1, 1);
	expect(b, 2, 1);
	SPLIT("increment", a, adsmPtr(a), adsmVal((unsigned)N));
	expect(a, 2, 1);
}

/* Devices that run whole grids only: a call with one part works there. */
static void whole(void)
{
	adsmSplitRows rows;
	adsmSplit split = split_of(&rows, 1);
	unsigned *a;

	start("2");
	a = words_on(1, 1);
	rows = (adsmSplitRows){ a, ROW };
	REFUSED(ENOTSUP, "whole grids", kernel("increment"), &split, adsmPtr(a), adsmVal((unsigned)N));
	CHECK_OK(adsmCallSplit(kernel("increment"), blocks(256), lanes(), &split, adsmPtr(a), adsmVal(256u)));
	SETTLE();
	for (size_t i = 0; i < N; i++)
		CHECK_AT(a[i], i, 1 + i + (i < 256));
	CHECK_EQ(info(a).device, 1);
}

/* One of the devices is killed at any moment: errors, and what calls only read is not lost. */
static void kill_once(uint64_t state)
{
	const size_t when = draw(&state) % 10;
	unsigned *a, *b, *c;
	adsmSplitRows rows;
	adsmSplit split = split_of(&rows, 1);
	pid_t pid;
	int error = 0;

	start("3");
	pid = device_process();
	if (!pid)
		skip("the devices are not processes of this machine");
	a = words_on(0, 1);
	b = words_on(1, 5);
	c = words_on((int)(draw(&state) % 3), 0);
	rows = (adsmSplitRows){ c, ROW };
	for (size_t turn = 0; turn < 15; turn++) {
		if (turn == when)
			CHECK_OK(kill(pid, SIGKILL));
		error = adsmCallSplit(kernel("add"), blocks(N), lanes(), &split, adsmPtr(a), adsmPtr(b), adsmPtr(c),
				      adsmVal((unsigned)N));
		CHECKF(!error || (error == -ENODEV && turn >= when), "%d: %s", error, adsmLastError());
		if (!error)
			expect(c, 6, 2);
	}
	CHECK_EQ(error, -ENODEV);
	adsmSync();
	expect(a, 1, 1);
	expect(b, 5, 1);
}

static void killed(void)
{
	kill_often(kill_once, getenv("TEST_FULL") ? 70 : 4);
}

/* A device is lost before. */
static void lost(void)
{
	adsmSplitRows rows;
	adsmSplit split = split_of(&rows, 1);
	unsigned *a, *b, n_lost;
	adsmDeviceProps props;
	pid_t pid;

	start("2");
	pid = device_process();
	if (!pid)
		skip("the devices are not processes of this machine");
	a = words_on(0, 1);
	b = words_on(1, 1);
	rows = (adsmSplitRows){ a, ROW };
	SPLIT("increment", a, adsmPtr(a), adsmVal((unsigned)N));
	expect(a, 2, 1);
	CHECK_OK(kill(pid, SIGKILL));
	do {
		props = (adsmDeviceProps){ .struct_size = sizeof(props) };
		n_lost = 0;
		for (int d = 0; d < n_devices; d++) {
			CHECK_OK(adsmDeviceInfo(d, &props));
			n_lost += props.lost;
		}
		adsmSync();
	} while (!n_lost);
	REFUSED(ENODEV, "killed", kernel("increment"), &split, adsmPtr(a), adsmVal((unsigned)N));
	expect(b, 1, 1);
}

/* Two parts crash: the error text is of the one whose error is returned, the first one. Also that of adsmSync(). */
static void crashed(void)
{
	adsmSplitRows rows;
	const adsmSplit split = split_of(&rows, 1);
	unsigned *a;

	start("2");
	a = words_on(0, 1);
	rows = (adsmSplitRows){ a, ROW };
	CHECK(adsmCallSplit(kernel("crash"), blocks(512), lanes(), &split, adsmPtr(a)) < 0);
	CHECK_SAYS("crash");
	CHECK(!strstr(adsmLastError(), "device 1"));
	adsmSync();
	CHECK(!strstr(adsmLastError(), "device 1"));
}

static const struct conform_case cases[] = {
	CASE("split-two", on_two),
	CASE("split-three", on_three),
	CASE("split-dimensions", dimensions),
	CASE("split-part", part),
	CASE("split-own-arguments", own_arguments),
	CASE("split-gets-room", gets_room),
	CASE("split-makes-room", makes_room),
	CASE("split-small-stack", small_stack),
	CASE("split-refused", refused),
	CASE("split-crashed", crashed),
	CASE("split-lost", lost),
	CASE("split-killed", killed),
	CASE("split-whole", whole),
};

CONFORM_MAIN(cases)
