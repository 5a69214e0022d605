/* SPDX-License-Identifier: MIT */
/* kept.c - device memory of freed objects is kept for new ones, within ADSM_KEEP, and is as good as free. */
#include "conform.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

#include "../doubles/cuda/driver.h"

#define OBJECT ((size_t)2 << 20)	/* more than what debug builds fill */

/* Of the double. */
static struct test_cuda_counts counts(void)
{
	static test_cuda_counts_fn *get;
	struct test_cuda_counts now;

	if (!get)
		*(void **)&get = dlsym(dlopen(getenv("ADSM_CUDA_LIBRARY"), RTLD_NOW | RTLD_NOLOAD), "test_cuda_counts");
	CHECK(get);
	get(&now);
	return now;
}

/* Only device memory is kept, so objects get it at their allocation. */
__attribute__((constructor)) static void take_at_allocation(void)
{
	setenv("ADSM_OVERSUBSCRIBE", "off", 1);
}

static void turn(size_t size)
{
	CHECK_OK(adsmFree(alloc(size)));
}

/* The driver hears nothing of it, for memory of either kind. */
static void turns(void)
{
	void *other = alloc(OBJECT), *p = adsmDeviceAlloc(OBJECT);
	uint64_t before;

	CHECK_OK(adsmDeviceFree(p));
	turn(OBJECT);
	before = counts().calls;
	for (int i = 0; i < 100; i++) {
		turn(OBJECT);
		CHECK_OK(adsmDeviceFree(adsmDeviceAlloc(OBJECT)));
	}
	CHECK_EQ(counts().calls, before);
	CHECK_OK(adsmFree(other));
	CHECK_OK(adsmShutdown());
	CHECK_EQ(counts().used, 0);
}

/* It is another object: of another protocol, with other bytes, and zeros where they are asked for. */
static void another(void)
{
	adsmAllocOptions options = ADSM_ALLOC_OPTIONS_INIT;
	static const char *const protocols[] = { "lazy", "batch", "rolling" };
	const size_t n = OBJECT / sizeof(unsigned);
	unsigned *p;

	CHECK_OK(adsmDeviceFree(adsmDeviceAlloc(OBJECT)));
	for (unsigned i = 0; i < 9; i++) {
		options.protocol = protocols[i % 3];
		options.flags = i % 2 ? ADSM_ALLOC_ZERO : 0;
		p = adsmAllocWith(OBJECT, &options);
		CHECK(p);
		for (size_t k = i % 2; k < n; k += 2)
			p[k] = i;
		CALL("increment", n, adsmPtr(p), adsmVal((unsigned)n));
		SYNC();
		for (size_t k = 0; k < n; k++)
			if (i % 2 || k % 2 == 0)
				CHECK_AT(p[k], k, (k % 2 == i % 2 ? i : 0) + 1);
		CHECK_OK(adsmFree(p));
	}
	unload();
	CHECK_OK(adsmShutdown());
}

/* Before anything is refused, it is given up. */
static void room(void)
{
	uint64_t before = device_props().memory_free;
	void *p[6];

	CHECK_EQ(counts().used % GRANULE, 0);
	for (int i = 0; i < 6; i++)
		p[i] = alloc(8 * MiB);
	CHECK_EQ(device_props().memory_free, before - 48 * MiB);
	for (int i = 0; i < 6; i++)
		CHECK_OK(adsmFree(p[i]));
	CHECK(counts().used >= 48 * MiB);
	CHECK_EQ(device_props().memory_free, before);
	CHECK_ERROR(adsmFree((void *)8), EINVAL);
	p[0] = alloc(40 * MiB);
	CHECK_OK(adsmFree(p[0]));
	p[0] = adsmDeviceAlloc(44 * MiB);
	CHECK(p[0]);
	/* Nothing else has failed. */
	CHECK_SAYS("0x8");
	CHECK_OK(adsmDeviceFree(p[0]));
	CHECK_EQ(device_props().memory_free, before);
	CHECK_OK(adsmShutdown());
}

static void limits(void)
{
	void *p[8];

	set("keep", "8M");
	CHECK_OK(adsmInit());
	for (int i = 0; i < 8; i++)
		p[i] = alloc(2 * MiB);
	for (int i = 0; i < 8; i++)
		CHECK_OK(adsmFree(p[i]));
	CHECK_EQ(counts().used, 8 * MiB);
	turn(16 * MiB);
	CHECK_EQ(counts().used, 8 * MiB);
	/* The oldest has gone. */
	turn(6 * MiB);
	CHECK_EQ(counts().used, 8 * MiB);
	CHECK_OK(adsmShutdown());
	set("keep", "0");
	turn(2 * MiB);
	CHECK_EQ(counts().used, 0);
	CHECK_OK(adsmShutdown());
}

/* What was pinned, by a thread that copies nothing, stays so with its pages as long as the memory is kept. */
static void pins(void)
{
	const size_t n = OBJECT / sizeof(unsigned);
	unsigned *p = alloc(OBJECT);

	for (unsigned i = 0; i < 20 || !counts().registered; i++) {
		for (size_t k = 0; k < n; k++)
			p[k] = i;
		CALL("increment", n, adsmPtr(p), adsmVal((unsigned)n));
		SYNC();
	}
	CHECK(counts().registered_by != gettid());
	CHECK_OK(adsmFree(p));
	CHECK_EQ(counts().registered, OBJECT);
	CHECK(alloc(OBJECT) == p);
	CHECK_EQ(counts().registered, OBJECT);
	CHECK_OK(adsmFree(p));
	unload();
	CHECK_OK(adsmShutdown());
	CHECK_EQ(counts().registered, 0);
}

static const struct conform_case cases[] = {
	CASE("turns", turns),
	CASE("another", another),
	CASE("room", room),
	CASE("limits", limits),
	CASE("pins", pins),
};

CONFORM_MAIN(cases)
