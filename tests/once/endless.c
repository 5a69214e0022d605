/* SPDX-License-Identifier: MIT */
/* endless.c - units that are emptied and written again: many generations of data pass through objects of few units. */
#include "once.h"
#include "../sanitizers.h"

#include <unistd.h>

#define COUNT 1000			/* units of an object */
#define INTS 64				/* of a unit */

static size_t n_units(void)
{
	return test_full() ? 1000000 : 100000;
}

static int *room(adsmOnce *once, size_t i)
{
	int *p = adsmOnceRoom(once, i % once->count);

	CHECK(p);
	return p;
}

static void *produce(void *arg)
{
	const struct test_unit *to = arg;

	for (size_t i = 0, n = n_units(); i < n; i++) {
		int *p = room(to->once, i);

		for (int k = 0; k < INTS; k++)
			p[k] = (int)i + k;
		CHECK_OK(adsmOnceSet(to->once, i % COUNT));
	}
	return NULL;
}

struct stage { adsmOnce *from, *to; };

static void *pass_on(void *arg)
{
	const struct stage *stage = arg;

	for (size_t i = 0, n = n_units(); i < n; i++) {
		const int *in = adsmOnceGet(stage->from, i % COUNT);
		int *out = room(stage->to, i);

		CHECK(in);
		for (int k = 0; k < INTS; k++)
			out[k] = in[k] + 1;
		CHECK_OK(adsmOnceEmpty(stage->from, i % COUNT));
		CHECK_OK(adsmOnceSet(stage->to, i % COUNT));
	}
	return NULL;
}

static void consume(adsmOnce *from, int more)
{
	for (size_t i = 0, n = n_units(); i < n; i++) {
		const int *in = adsmOnceGet(from, i % COUNT);

		CHECK(in);
		CHECKF(in[0] == (int)i + more && in[INTS - 1] == (int)i + more + INTS - 1, "unit %zu has %d", i, in[0]);
		CHECK_OK(adsmOnceEmpty(from, i % COUNT));
	}
}

/* Bytes of this process that are in memory. */
static size_t resident(void)
{
	size_t pages = 0;
	FILE *file = fopen("/proc/self/statm", "r");

	CHECK(file && fscanf(file, "%*u %zu", &pages) == 1);
	fclose(file);
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* Each object has 256 KB. */
static void threads(void)
{
	adsmOnce *a = make(COUNT, INTS * sizeof(int)), *b = make(COUNT, INTS * sizeof(int));
	struct test_unit to = { a, 0 };
	struct stage stage = { a, b };
	const size_t before = resident();
	pthread_t producer = start(produce, &to), middle = start(pass_on, &stage);

	consume(b, 1);
	end(producer);
	end(middle);
	CHECKF(resident() < before + ((size_t)16 << 20), "%zu bytes more", resident() - before);
	CHECK_OK(adsmOnceFree(a));
	CHECK_OK(adsmOnceFree(b));
}

static void read_stage(adsmOnce *from, size_t first, size_t n, int more)
{
	for (size_t i = first; i < first + n; i++) {
		const int *in = adsmOnceGet(from, i % COUNT);

		CHECKF(in && in[0] == (int)i + more && in[INTS - 1] == (int)i + more + INTS - 1, "unit %zu", i);
		CHECK_OK(adsmOnceEmpty(from, i % COUNT));
	}
}

/* The middle stage is a kernel on one device. A call has one generation: the device may have several threads. */
static void kernel_alone(void)
{
	adsmModule *module = adsmModuleLoad(getenv("TEST_ONCE"));
	adsmKernel *kernel = module ? adsmKernelGet(module, "pass_on") : NULL;
	adsmOnce *a = make(COUNT, INTS * sizeof(int)), *b = make(COUNT, INTS * sizeof(int));
	struct test_unit to = { a, 0 };
	pthread_t producer;
	size_t before = 0;

	CHECKF(kernel, "TEST_ONCE");
	producer = start(produce, &to);
	for (size_t i = 0; i < n_units(); i += COUNT) {
		CHECK_OK(adsmCall(kernel, adsmDim3(COUNT, 1, 1), adsmDim3(INTS, 1, 1), adsmPtr(a->address),
				  adsmPtr(b->address), adsmVal((int)i)));
		read_stage(b, i, COUNT, 1);
		before = i ? before : resident();
	}
	end(producer);
	CHECK_OK(adsmSync());
	CHECKF(resident() < before + ((size_t)16 << 20), "%zu bytes more", resident() - before);
	CHECK_OK(adsmOnceFree(a));
	CHECK_OK(adsmOnceFree(b));
	CHECK_OK(adsmModuleUnload(module));
}

/* The middle stages are kernels on two devices. */
static void kernels(void)
{
	adsmModule *module = adsmModuleLoad(getenv("TEST_ONCE"));
	adsmKernel *kernel = module ? adsmKernelGet(module, "pass_on") : NULL;
	adsmOnce *a = make(COUNT, INTS * sizeof(int)), *b = make(COUNT, INTS * sizeof(int));
	adsmOnce *c = make(COUNT, INTS * sizeof(int));
	struct test_unit to = { a, 0 };
	const unsigned each = 5000;
	pthread_t producer;

	CHECKF(kernel, "TEST_ONCE");
	producer = start(produce, &to);
	for (size_t i = 0; i < n_units(); i += each) {
		CHECK_OK(adsmDeviceSet(0));
		CHECK_OK(adsmCall(kernel, adsmDim3(each, 1, 1), adsmDim3(INTS, 1, 1), adsmPtr(a->address),
				  adsmPtr(b->address), adsmVal((int)i)));
		CHECK_OK(adsmDeviceSet(1));
		CHECK_OK(adsmCall(kernel, adsmDim3(each, 1, 1), adsmDim3(INTS, 1, 1), adsmPtr(b->address),
				  adsmPtr(c->address), adsmVal((int)i)));
		CHECK_OK(adsmDeviceSet(0));
		read_stage(c, i, each, 2);
	}
	end(producer);
	CHECK_OK(adsmSync());
	CHECK_OK(adsmOnceFree(a));
	CHECK_OK(adsmOnceFree(b));
	CHECK_OK(adsmOnceFree(c));
	CHECK_OK(adsmModuleUnload(module));
}

/* ---- one unit after the other */

static void *load(void *arg)
{
	return (void *)(uintptr_t)*(volatile int *)arg;
}

/* A plain load waits for the next generation, also where the page was open. */
static void loads(void)
{
	adsmOnce *once = make(4, PAGE);
	void *got;

	for (size_t i = 0; i < 100; i++) {
		const size_t unit = i % 4;
		int *view = (int *)((char *)once->address + unit * PAGE);
		pthread_t reader = start(load, view);

		if (i % 3)
			until_waiting(1, NULL);
		*room(once, unit) = (int)i + 1;
		CHECK_OK(adsmOnceSet(once, unit));
		got = end(reader);
		CHECK_EQ((size_t)(uintptr_t)got, i + 1);
		CHECK_EQ(*view, (int)i + 1);
		CHECK_OK(adsmOnceEmpty(once, unit));
		CHECK(!adsmOnceTry(once, unit));
	}
	CHECK_OK(adsmOnceFree(once));
}

/* Only a set unit can be emptied; what waits for room is named, and ends where nothing can empty the unit. */
static void errors(void)
{
	adsmOnce *once = make(2, sizeof(int));

	CHECK_EQ(adsmOnceEmpty(once, 0), -EINVAL);
	CHECK(strstr(adsmLastError(), "is not set"));
	CHECK(adsmOnceFresh(once, 0));
	CHECK_EQ(adsmOnceEmpty(once, 0), -EINVAL);
	CHECK_EQ(adsmOnceEmpty(once, 2), -EINVAL);
	CHECK(!adsmOnceRoom(once, 2) && errno == EINVAL);
	CHECK_OK(adsmOnceSet(once, 0));
	CHECK(!adsmOnceFresh(once, 0) && errno == EEXIST);
	/* ThreadSanitizer has a thread, which might empty units for all that can be known. */
	if (!WITH_TSAN) {
		CHECK(!adsmOnceRoom(once, 0) && errno == EDEADLK);
		CHECK(strstr(adsmLastError(), "unit 0 ") && strstr(adsmLastError(), "will not be emptied"));
	}
	CHECK_OK(adsmOnceEmpty(once, 0));
	CHECK(adsmOnceRoom(once, 0));
	CHECK_OK(adsmOnceFree(once));
}

int main(int argc, char **argv)
{
	static const struct test_case cases[] = {
		{ "errors", errors }, { "loads", loads }, { "threads", threads }, { "kernel", kernel_alone },
		{ "kernels", kernels },
	};

	return test_run(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
