/* SPDX-License-Identifier: MIT */
/* ranges.c - calls that begin when units are set, and set others, of kernels that know nothing of that. */
#include "once.h"
#include "../sanitizers.h"

#define WORDS 256			/* of a unit */

static adsmModule *module;
static adsmDim block = { 64, 1, 1 };

static adsmKernel *kernel(const char *name)
{
	adsmKernel *found = adsmKernelGet(module, name);

	CHECK(found);
	return found;
}

static void told(const char *word)
{
	CHECKF(strstr(adsmLastError(), word), "no '%s'", word);
}

static void fill(adsmOnce *once, size_t unit, int value)
{
	int *p = adsmOnceFresh(once, unit);

	CHECK(p);
	for (int i = 0; i < WORDS; i++)
		p[i] = value + i;
	CHECK_OK(adsmOnceSet(once, unit));
}

/* c = a + b + more, for that number of units. */
static int add(adsmOnce *a, adsmOnce *b, adsmOnce *c, size_t first, size_t count, int more)
{
	const int n = (int)count * WORDS;

	return adsmOnceCall(kernel("add"), adsmDim3((unsigned)n / 64, 1, 1), block, adsmOnceIn(a, first, count),
			    adsmOnceIn(b, first, count), adsmOnceOut(c, first, count), adsmVal(n), adsmVal(more));
}

static adsmOnce *units(size_t n)
{
	return make(n, WORDS * sizeof(int));
}

static void free_all(adsmOnce *const *all, size_t n)
{
	for (size_t i = 0; i < n; i++)
		CHECK_OK(adsmOnceFree(all[i]));
}

/* It begins when the last of what it reads is there, not before; until then it is named. */
static void one(void)
{
	adsmOnce *a = units(4), *b = units(4), *c = units(4);
	adsmOnceWaiter waiter;

	fill(a, 1, 100);
	fill(b, 1, 1000);
	fill(b, 2, 2000);
	CHECK_OK(add(a, b, c, 1, 2, 5));
	CHECK_EQ(c->flags[1], ADSM_ONCE_FRESH);
	until_waiting(1, &waiter);
	CHECK(waiter.address == a->address && waiter.unit == 2 && waiter.where);
	CHECK(!adsmOnceTry(c, 1));
	CHECK_EQ(adsmOnceFree(a), -EBUSY);
	fill(a, 2, 200);
	for (int u = 1; u < 3; u++) {
		const int *p = adsmOnceGet(c, (size_t)u);

		CHECK(p);
		for (int i = 0; i < WORDS; i++)
			CHECK_AT(p[i], i, 1100 * u + 2 * i + 5);
	}
	CHECK(!adsmOnceTry(c, 0) && !adsmOnceTry(c, 3));
	free_all((adsmOnce *[]){ a, b, c }, 3);
}

struct producer {
	adsmOnce *once;
	size_t step;			/* no divisor of the units' number: in another order than they are read */
};

static void *produce(void *arg)
{
	const struct producer *producer = arg;
	const size_t n = producer->once->count;

	for (size_t i = 0; i < n; i++)
		fill(producer->once, i * producer->step % n, (int)(i * producer->step % n));
	return NULL;
}

/* CPU, device, device (another where there is one), CPU: all calls are there before anything is. */
static void pipeline(void)
{
	enum { N = 96, CHUNK = 8 };
	adsmOnce *a = units(N), *b = units(N), *c = units(N), *d = units(N), *e = make(N, sizeof(int));
	struct producer producers[] = { { a, 37 }, { b, 1 } };
	pthread_t threads[2];

	for (size_t first = 0; first < N; first += CHUNK) {
		CHECK_OK(adsmDeviceSet(0));
		CHECK_OK(add(a, b, c, first, CHUNK, 1));
		CHECK_OK(adsmDeviceSet(adsmDeviceCount() - 1));
		CHECK_OK(add(c, a, d, first, CHUNK, 2));
		CHECK_OK(adsmOnceCall(kernel("sums"), adsmDim3(1, 1, 1), block, adsmOnceIn(d, first, CHUNK),
				      adsmOnceOut(e, first, CHUNK), adsmVal((int)CHUNK), adsmVal(WORDS)));
	}
	CHECK_OK(adsmDeviceSet(0));
	for (int i = 0; i < 2; i++)
		threads[i] = start(produce, &producers[i]);
	for (int u = 0; u < N; u++)
		CHECK_AT((int)get(e, (size_t)u), u, WORDS * (3 * u + 3) + 3 * WORDS * (WORDS - 1) / 2);
	for (int i = 0; i < 2; i++)
		end(threads[i]);
	free_all((adsmOnce *[]){ a, b, c, d, e }, 5);
}

static void misuse(void)
{
	adsmOnce *a = units(4), *b = units(4), *c = units(4), gone;
	int *shared = adsmAlloc(4096);

	CHECK(shared);
	fill(c, 3, 0);
	CHECK_EQ(add(a, b, c, 3, 1, 0), -EEXIST);
	told("unit 3");
	CHECK_EQ(add(a, b, c, 0, 5, 0), -EINVAL);
	told("has 4 units");
	CHECK_EQ(add(a, b, c, 4, 1, 0), -EINVAL);
	CHECK_EQ(add(a, b, c, 0, 0, 0), -EINVAL);
	CHECK_EQ(add(a, b, c, 1, SIZE_MAX, 0), -EINVAL);
	CHECK_EQ(add(a, b, a, 0, 1, 0), -EINVAL);
	told("twice");
	CHECK_EQ(adsmOnceCall(kernel("add"), block, block, adsmOnceIn(a, 0, 1), adsmOnceIn(b, 0, 1)), -EINVAL);
	CHECK_EQ(adsmOnceCall(kernel("add"), block, adsmDim3(4096, 1, 1), adsmOnceIn(a, 0, 1), adsmOnceIn(b, 0, 1),
			      adsmOnceOut(c, 0, 1), adsmVal(1), adsmVal(1)), -EINVAL);
	told("threads, but the kernel allows at most");
	CHECK_EQ(adsmOnceCall(kernel("add"), block, block, adsmOnceIn(a, 0, 1), adsmOnceIn(b, 0, 1), adsmPtr(shared),
			      adsmVal(1), adsmVal(1)), -EINVAL);
	told("adsmOnceOut");
	CHECK_EQ(adsmOnceCall(kernel("add"), block, block, adsmOnceIn(a, 0, 1), adsmOnceIn(b, 0, 1),
			      adsmOnceOut(c, 0, 1), adsmOnceIn(a, 0, 1), adsmVal(1)), -EINVAL);
	told("'n'");
	/* Of memory of the block there is only a size. */
	CHECK_EQ(adsmOnceCall(kernel("add"), block, block, adsmOnceIn(a, 0, 1), adsmLocal((size_t)1 << 40),
			      adsmOnceOut(c, 0, 1), adsmVal(1), adsmVal(1)), -EINVAL);
	told("'b'");
	/* Only these calls take units. */
	CHECK_EQ(adsmCall(kernel("add"), block, block, adsmOnceIn(a, 0, 1), adsmOnceIn(b, 0, 1), adsmOnceOut(c, 0, 1),
			  adsmVal(1), adsmVal(1)), -EINVAL);
	CHECK_EQ(adsmOnceCallArgs(NULL, block, block, NULL, 0), -EINVAL);
	for (int u = 0; u < 3; u++)
		CHECK_EQ(c->flags[u], ADSM_ONCE_EMPTY);
	gone = *b;
	CHECK_OK(adsmOnceFree(b));
	CHECK_EQ(add(a, &gone, c, 0, 1, 0), -EINVAL);
	told("was freed");
	CHECK_OK(adsmFree(shared));
	free_all((adsmOnce *[]){ a, c }, 2);
}

/* Calls use other memory, too, and their values are copied. */
static void others(void)
{
	adsmOnce *a = units(1), *c = units(1);
	int *shared = adsmAlloc(WORDS * sizeof(int)), more = 7;
	const int *p;

	CHECK(shared);
	for (int i = 0; i < WORDS; i++)
		shared[i] = 10 * i;
	CHECK_OK(adsmOnceCall(kernel("add"), adsmDim3(WORDS / 64, 1, 1), block, adsmOnceIn(a, 0, 1), adsmIn(shared),
			      adsmOnceOut(c, 0, 1), adsmVal(WORDS), adsmVal(more)));
	more = 0;
	fill(a, 0, 0);
	p = adsmOnceGet(c, 0);
	CHECK(p);
	for (int i = 0; i < WORDS; i++)
		CHECK_AT(p[i], i, 11 * i + 7);
	free_all((adsmOnce *[]){ a, c }, 2);
	CHECK_OK(adsmFree(shared));
}

/* Arguments have a limit, and entries that are no arguments do not count, as in other calls. */
static void many(void)
{
	enum { USES = 300 };
	adsmOnce *a = units(1), *c = units(1);
	int *shared = adsmAlloc(4096);
	adsmArg args[5 + USES] = { adsmOnceIn(a, 0, 1), adsmOnceIn(a, 0, 1), adsmOnceOut(c, 0, 1), adsmVal(WORDS),
				   adsmVal(3) };

	CHECK(shared);
	for (int i = 0; i < USES; i++)
		args[5 + i] = args[4];
	CHECK_EQ(adsmOnceCallArgs(kernel("add"), adsmDim3(WORDS / 64, 1, 1), block, args, 5 + USES), -EINVAL);
	told("takes 5 arguments");
	for (int i = 0; i < USES; i++)
		args[5 + i] = adsmUse(shared, ADSM_ACCESS_IN);
	CHECK_OK(adsmOnceCallArgs(kernel("add"), adsmDim3(WORDS / 64, 1, 1), block, args, 5 + USES));
	fill(a, 0, 1);
	CHECK_EQ(get(c, 0), 5);
	CHECK_OK(adsmFree(shared));
	free_all((adsmOnce *[]){ a, c }, 2);
}

/* A kernel waits for what a call by ranges of its own device is to set, which comes when the kernel has ended. */
static void behind_a_kernel(void)
{
	adsmModule *other = adsmModuleLoad(getenv("TEST_ONCE"));
	adsmOnce *a = units(1), *b = units(1), *c = make(2, sizeof(int));

	CHECK(other);
	CHECK_OK(adsmCall(adsmKernelGet(other, "follow"), adsmDim3(1, 1, 1), adsmDim3(1, 1, 1), adsmPtr(b->address),
			  adsmVal(0), adsmPtr(c->address), adsmVal(0)));
	fill(a, 0, 0);
	CHECK_OK(add(a, a, b, 0, 1, 0));
	CHECK(!adsmOnceGet(c, 0) && errno == EDEADLK);
	CHECK(adsmOnceGet(b, 0));
	CHECK_EQ(adsmSync(), -EDEADLK);
	free_all((adsmOnce *[]){ a, b, c }, 3);
	CHECK_OK(adsmModuleUnload(other));
}

/* On the same device the later call never starts: threads that wait for it get an error, and so do those that wait for
 * the first. */
static void deadlock(void)
{
	adsmOnce *a = units(1), *b = units(1), *c = units(1);

	/* ThreadSanitizer has a thread, which might set units for all that can be known. */
	if (WITH_TSAN) {
		free_all((adsmOnce *[]){ a, b, c }, 3);
		return;
	}
	CHECK_OK(add(b, b, c, 0, 1, 0));
	CHECK_OK(add(a, a, b, 0, 1, 0));
	fill(a, 0, 0);
	CHECK(!adsmOnceGet(c, 0) && errno == EDEADLK);
	/* That one has its turn then. */
	CHECK(adsmOnceGet(b, 0));
	free_all((adsmOnce *[]){ a, b, c }, 3);
	if (getenv("TEST_ONCE"))
		behind_a_kernel();
}

static void *await_first(void *arg)
{
	CHECK(adsmOnceGet(arg, 0));
	return NULL;
}

/* Units that a call has not set can still be set by another call: threads that wait then get no error of the first. */
static void once_more(void)
{
	adsmOnce *a = units(1), *c = units(1);
	pthread_t thread;

	if (!WITH_TSAN) {
		CHECK_OK(add(a, a, c, 0, 1, 0));
		CHECK(!adsmOnceGet(c, 0) && errno == EDEADLK);
		CHECK_OK(add(a, a, c, 0, 1, 0));
		thread = start(await_first, c);
		until_waiting(2, NULL);
		fill(a, 0, 5);
		end(thread);
	}
	free_all((adsmOnce *[]){ a, c }, 2);
}

/* If two calls were to set the same units, and both have failed, or only a part is left, waiting threads get an
 * error. */
static void both(void)
{
	adsmOnce *a = units(1), *b = units(1), *c = units(1), *d = units(3);

	if (!WITH_TSAN) {
		CHECK_OK(adsmDeviceSet(0));
		CHECK_OK(add(a, a, b, 0, 1, 0));
		CHECK_OK(add(b, b, c, 0, 1, 0));
		CHECK_OK(adsmDeviceSet(adsmDeviceCount() - 1));
		CHECK_OK(add(b, b, c, 0, 1, 0));
		CHECK_OK(adsmDeviceSet(0));
		CHECK(!adsmOnceGet(c, 0) && errno == EDEADLK);
		CHECK(!adsmOnceGet(c, 0) && errno == EDEADLK);
		told("has failed");

		fill(b, 0, 0);
		CHECK_OK(adsmOnceCall(kernel("add"), adsmDim3(2 * WORDS / 64, 1, 1), block, adsmOnceIn(a, 0, 1),
				      adsmOnceIn(a, 0, 1), adsmOnceOut(d, 0, 2), adsmVal(WORDS), adsmVal(0)));
		CHECK_OK(adsmOnceCall(kernel("add"), adsmDim3(2 * WORDS / 64, 1, 1), block, adsmOnceIn(b, 0, 1),
				      adsmOnceIn(b, 0, 1), adsmOnceOut(d, 1, 2), adsmVal(WORDS), adsmVal(0)));
		CHECK(!adsmOnceGet(d, 0) && errno == EDEADLK);
		CHECK(!adsmOnceGet(d, 0) && errno == EDEADLK);
		told("has failed");
		while (!adsmOnceTry(d, 2))
			sched_yield();
	}
	free_all((adsmOnce *[]){ a, b, c, d }, 4);
}

static size_t memory_used(void)
{
	adsmDeviceProps props = { .struct_size = sizeof(props) };

	CHECK_OK(adsmDeviceInfo(0, &props));
	return props.memory_size - props.memory_free;
}

/* While a kernel runs that ends when we say so, calls behind it have their memory, and their input is there. */
static void overlap(void)
{
	const size_t size = (size_t)1 << 20;
	adsmModule *waiting = getenv("TEST_ONCE") ? adsmModuleLoad(getenv("TEST_ONCE")) : NULL;
	adsmOnce *a = make(6, size), *c = make(6, size), *gate = units(1), *opened = units(1);
	adsmDim one_ = adsmDim3(1, 1, 1);
	size_t before;

	if (!waiting) {
		free_all((adsmOnce *[]){ a, c, gate, opened }, 4);
		return;
	}
	CHECK_OK(adsmCall(adsmKernelGet(waiting, "follow"), one_, one_, adsmPtr(gate->address), adsmVal(0),
			  adsmPtr(opened->address), adsmVal(0)));
	before = memory_used();
	for (size_t u = 0; u < 6; u++)
		CHECK_OK(adsmOnceCall(kernel("add"), adsmDim3(4, 1, 1), block, adsmOnceIn(a, u, 1), adsmOnceIn(a, u, 1),
				      adsmOnceOut(c, u, 1), adsmVal(256), adsmVal(1)));
	/* The second one's input first: it waits for its turn. */
	for (size_t i = 0; i < 6; i++)
		put(a, i ^ 1, (uint32_t)(i ^ 1));
	while (memory_used() < before + 3 * 3 * size)
		sched_yield();
	CHECK(!adsmOnceTry(c, 0));
	put(gate, 0, 1);
	for (size_t u = 0; u < 6; u++)
		CHECK_AT(get(c, u), u, 2 * u + 1);
	CHECK_OK(adsmSync());
	free_all((adsmOnce *[]){ a, c, gate, opened }, 4);
	CHECK_OK(adsmModuleUnload(waiting));
}

/* Memory for one call at a time: those behind it wait for that. */
static void little_memory(void)
{
	adsmDeviceProps props = { .struct_size = sizeof(props) };
	size_t size, n;
	adsmOnce *a, *c;
	void *rest;

	CHECK_OK(adsmDeviceInfo(0, &props));
	n = props.memory_free < ((size_t)1 << 40) ? props.memory_free : 0;
	size = (size_t)1 << 20;
	if (n < 16 * size)
		return;
	CHECK_OK(adsmDeviceSet(0));
	rest = adsmDeviceAlloc(n - 5 * size);
	if (!rest)
		return;
	a = make(8, size);
	c = make(8, size);
	for (size_t u = 0; u < 8; u++)
		CHECK_OK(adsmOnceCall(kernel("add"), adsmDim3(4, 1, 1), block, adsmOnceIn(a, u, 1), adsmOnceIn(a, u, 1),
				      adsmOnceOut(c, u, 1), adsmVal(256), adsmVal(1)));
	for (size_t i = 0; i < 8; i++)
		put(a, 7 - i, (uint32_t)(7 - i));
	for (size_t u = 0; u < 8; u++)
		CHECK_AT(get(c, u), u, 2 * u + 1);
	CHECK_OK(adsmDeviceFree(rest));
	free_all((adsmOnce *[]){ a, c }, 2);
}

/* What a call uses stays until it has ended. */
static void ends(void)
{
	adsmOnce *a = units(1), *c = units(1), *d = units(1);

	for (int i = 0; i < 20; i++) {
		adsmOnce *to = units(1);

		if (!i)
			fill(a, 0, 3);
		CHECK_OK(add(a, a, to, 0, 1, 0));
		CHECK_OK(adsmOnceFree(to));
	}
	CHECK_OK(adsmOnceFree(a));
	a = units(1);
	/* The module's end waits for what comes, and for nothing else. */
	CHECK_OK(add(a, a, c, 0, 1, 0));
	CHECK_OK(add(c, c, d, 0, 1, 0));
	CHECK_EQ(adsmModuleUnload(module), -EBUSY);
	told("'add' waits");
	fill(a, 0, 4);
	CHECK_OK(adsmModuleUnload(module));
	module = NULL;
	CHECK_EQ(*(const int *)adsmOnceTry(c, 0), 8);
	CHECK_EQ(*(const int *)adsmOnceTry(d, 0), 16);
	free_all((adsmOnce *[]){ a, c, d }, 3);
}

/* So does memory that it points to. */
static void memory_stays(void)
{
	adsmOnce *a = units(1), *c = units(1);
	int *p = adsmAlloc(WORDS * sizeof(int)), *q = adsmDeviceAlloc(WORDS * sizeof(int));

	CHECK(p && q);
	for (int i = 0; i < WORDS; i++)
		p[i] = 10 * i;
	CHECK_OK(adsmCopyToDevice(q, p, WORDS * sizeof(int)));
	CHECK_OK(adsmOnceCall(kernel("add"), adsmDim3(WORDS / 64, 1, 1), block, adsmIn(p), adsmOnceIn(a, 0, 1),
			      adsmOnceOut(c, 0, 1), adsmVal(WORDS), adsmVal(0), adsmUse(q, ADSM_ACCESS_IN)));
	/* No other call sets what it waits for. */
	CHECK_EQ(adsmFree(p), -EBUSY);
	told("'add' waits");
	CHECK_EQ(adsmDeviceFree(q), -EBUSY);
	CHECK_EQ(adsmOnceFree(c), -EBUSY);
	/* What would be refused without the call says why. */
	CHECK_EQ(adsmFree(p + 1), -EINVAL);
	told("inside");
	CHECK_EQ(adsmFree(q), -EINVAL);
	told("adsmDeviceFree()");
	CHECK_EQ(adsmDeviceFree(p), -EINVAL);
	told("adsmFree()");
	CHECK_OK(adsmHold(p, 1, ADSM_ACCESS_IN));
	CHECK_EQ(adsmFree(p), -EBUSY);
	told("is held");
	CHECK_OK(adsmUnhold(p, 1));
	fill(a, 0, 1);
	CHECK_OK(adsmFree(p));
	CHECK_OK(adsmDeviceFree(q));
	for (int i = 0; i < WORDS; i++)
		CHECK_AT(((const int *)adsmOnceGet(c, 0))[i], i, 11 * i + 1);
	free_all((adsmOnce *[]){ a, c }, 2);
}

/* So does what the kernel is assigned. */
static void assigned_stays(void)
{
	adsmOnce *a = units(1), *c = units(1);
	int *p = adsmAlloc(WORDS * sizeof(int));

	CHECK(p);
	CHECK_OK(adsmAssign(p, kernel("add"), ADSM_ACCESS_IN));
	CHECK_OK(add(a, a, c, 0, 1, 0));
	CHECK_EQ(adsmFree(p), -EBUSY);
	told("'add' waits");
	fill(a, 0, 1);
	CHECK_OK(adsmFree(p));
	free_all((adsmOnce *[]){ a, c }, 2);
}

/* An unnamed call may use any memory of its device that is not assigned to other kernels. */
static void unnamed_stays(void)
{
	adsmOnce *a = units(1), *c = units(1);
	int *p = adsmAlloc(4096), *assigned = adsmAlloc(4096), *elsewhere, *q = adsmDeviceAlloc(4096);

	CHECK_OK(adsmDeviceSet(adsmDeviceCount() - 1));
	elsewhere = adsmAlloc(4096);
	CHECK_OK(adsmDeviceSet(0));
	CHECK(p && assigned && elsewhere && q);
	CHECK_OK(adsmAssign(assigned, kernel("sums"), ADSM_ACCESS_IN));
	CHECK_OK(adsmOnceCall(kernel("add"), adsmDim3(WORDS / 64, 1, 1), block, adsmOnceIn(a, 0, 1),
			      adsmOnceIn(a, 0, 1), adsmOnceOut(c, 0, 1), adsmVal(WORDS), adsmVal(0), adsmUseAll()));
	CHECK_EQ(adsmFree(p), -EBUSY);
	told("'add' waits");
	CHECK_EQ(adsmDeviceFree(q), -EBUSY);
	CHECK_OK(adsmFree(assigned));
	CHECK_EQ(adsmFree(elsewhere), adsmDeviceCount() > 1 ? 0 : -EBUSY);
	fill(a, 0, 1);
	CHECK_OK(adsmFree(p));
	CHECK_OK(adsmDeviceFree(q));
	if (adsmDeviceCount() == 1)
		CHECK_OK(adsmFree(elsewhere));
	free_all((adsmOnce *[]){ a, c }, 2);
}

/* Pointers of a kernel in CUDA C may be values, and may be one past the end of an object. */
static void raw_stays(void)
{
	adsmModule *raw = getenv("TEST_RAW") ? adsmModuleLoad(getenv("TEST_RAW")) : NULL;
	adsmOnce *a = units(1), *c = units(1);
	int *p = adsmAlloc(4096);
	char *q = adsmAlloc(5 * 4096), *end = adsmAlloc(5 * 4096);

	CHECK(raw || !getenv("TEST_RAW"));
	CHECK(p && q && end);
	for (int i = 0; i < WORDS; i++)
		p[i] = 10 * i;
	CHECK_OK(adsmFree(end));
	if (raw) {
		CHECK(end == q + 5 * 4096);
		CHECK_OK(adsmOnceCall(adsmKernelGet(raw, "raw"), adsmDim3(WORDS / 64, 1, 1), block,
				      adsmOnceIn(a, 0, 1), adsmVal(p), adsmVal(end), adsmOnceOut(c, 0, 1)));
		CHECK_EQ(adsmFree(p), -EBUSY);
		told("'raw' waits");
		CHECK_EQ(adsmFree(q), -EBUSY);
		fill(a, 0, 1);
		for (int i = 0; i < WORDS; i++)
			CHECK_AT(((const int *)adsmOnceGet(c, 0))[i], i, 11 * i + 1);
		CHECK_OK(adsmModuleUnload(raw));
	}
	CHECK_OK(adsmFree(p));
	CHECK_OK(adsmFree(q));
	free_all((adsmOnce *[]){ a, c }, 2);
}

/* On the CPU's device only: it ends, and threads that wait for units of the call get an error. */
static void crash(void)
{
	adsmOnce *a = units(1), *c = units(2);

	CHECK_OK(adsmOnceCall(kernel("crash"), adsmDim3(1, 1, 1), adsmDim3(1, 1, 1), adsmOnceIn(a, 0, 1),
			      adsmOnceOut(c, 0, 1)));
	fill(a, 0, 0);
	CHECK(!adsmOnceGet(c, 0) && errno == ENODEV);
	free_all((adsmOnce *[]){ a, c }, 2);
}

int main(int argc, char **argv)
{
	static const struct test_case cases[] = {
		{ "one", one }, { "pipeline", pipeline }, { "misuse", misuse }, { "others", others }, { "many", many },
		{ "deadlock", deadlock }, { "once_more", once_more }, { "both", both }, { "overlap", overlap },
		{ "little_memory", little_memory },
		{ "memory_stays", memory_stays }, { "assigned_stays", assigned_stays },
		{ "unnamed_stays", unnamed_stays }, { "raw_stays", raw_stays }, { "ends", ends },
	};
	static const struct test_case alone = { "crash", crash };
	bool crashes = argc == 2 && !strcmp(argv[1], "crash");

	if (check_no_driver(adsmInit())) {
		printf("no device here: %s\n", adsmLastError());
		return 77;
	}
	module = adsmModuleLoad(getenv("TEST_RANGES"));
	CHECK(module);
	if (!crashes)
		return test_run(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
	crash();
	CHECK_OK(adsmModuleUnload(module));
	return test_run(&alone, 0, argc, argv);
}
