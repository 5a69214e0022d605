/* SPDX-License-Identifier: MIT */
/*
 * A program that gives the library each structure that may grow. sized.py compiles it as C and as C++, with headers of
 * other versions.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adsm.h"
#include "adsm_once.h"
#include "adsm_split.h"

#define GUARD 0xa5

static int line;

/* A structure of the header's size, and behind it what the library may not write. */
#define ROOM(type) struct { type value; unsigned char guard[64]; }
#define PREPARE(room) memset(&(room), GUARD, sizeof(room))
#define CHECK(condition) do { \
		if (!(condition)) { \
			fprintf(stderr, "caller.c:%d: %s; adsmLastError(): %s\n", __LINE__, #condition, \
				adsmLastError()); \
			exit(1); \
		} \
	} while (0)
#define CHECK_GUARD(room) do { \
		for (line = 0; line < 64; line++) \
			CHECK((room).guard[line] == GUARD); \
	} while (0)

#ifdef NEWER
#define CHECK_LATER_IS_0(room) CHECK(!(room).value.later)
#else
#define CHECK_LATER_IS_0(room) ((void)0)
#endif

static void check_answers(void *p)
{
	ROOM(adsmDeviceProps) device;
	ROOM(adsmObjectProps) object;
	ROOM(adsmStats) stats;

	PREPARE(device);
	device.value.struct_size = sizeof(device.value);
	CHECK(!adsmDeviceInfo(0, &device.value));
	CHECK(device.value.struct_size == sizeof(device.value) && !strcmp(device.value.backend, "cpu"));
	CHECK(device.value.max_workers);
	CHECK_LATER_IS_0(device);
	CHECK_GUARD(device);
	device.value.struct_size = 8;
	CHECK(adsmDeviceInfo(0, &device.value) == -EINVAL);
	CHECK(strstr(adsmLastError(), "adsmDeviceProps: struct_size is 8"));
	device.value.struct_size = (size_t)-1;
	CHECK(adsmDeviceInfo(0, &device.value) == -EINVAL);

	PREPARE(object);
	object.value.struct_size = sizeof(object.value);
	CHECK(!adsmObjectInfo(p, &object.value));
	CHECK(object.value.struct_size == sizeof(object.value) && object.value.address == p);
	CHECK(object.value.block_size == 8192);
	CHECK_LATER_IS_0(object);
	CHECK_GUARD(object);

	PREPARE(stats);
	CHECK(!adsmStatsGet(&stats.value, sizeof(stats.value)));
	CHECK(!stats.value.calls);
	CHECK_LATER_IS_0(stats);
	CHECK_GUARD(stats);
	PREPARE(stats);
	CHECK(!adsmObjectStatsGet(p, &stats.value, sizeof(stats.value)));
	CHECK_LATER_IS_0(stats);
	CHECK_GUARD(stats);
	CHECK(adsmStatsGet(&stats.value, 16) == -EINVAL && strstr(adsmLastError(), "adsmStats: size is 16"));
}

static void check_choices(const char *module)
{
	adsmAllocOptions alloc = ADSM_ALLOC_OPTIONS_INIT;
	adsmModuleOptions options = ADSM_MODULE_OPTIONS_INIT;
	static char image[1 << 20];
	adsmModule *loaded;
	FILE *file = fopen(module, "rb");
	size_t size;
	void *p;

	CHECK(file);
	size = fread(image, 1, sizeof(image), file);
	fclose(file);
	alloc.block_size = 8192;
	p = adsmAllocWith(100000, &alloc);
	CHECK(p);
	check_answers(p);
	CHECK(!adsmFree(p));
	loaded = adsmModuleLoadWith(image, size, &options);
	CHECK(loaded);
	CHECK(!adsmModuleUnload(loaded));
#ifdef NEWER
	alloc.later = 1;
	CHECK(!adsmAllocWith(100000, &alloc) && errno == EINVAL);
	CHECK(strstr(adsmLastError(), "adsmAllocOptions: the caller's header is newer"));
	options.later = 1;
	CHECK(!adsmModuleLoadWith(image, size, &options) && errno == EINVAL);
#endif
}

static void *wait_for_unit(void *once)
{
	CHECK(adsmOnceGet((const adsmOnce *)once, 0));
	return NULL;
}

static void check_once(void)
{
	adsmOnceDistribution where = adsmOnceOnDevice(0);
	struct { adsmOnceWaiter waiters[2]; unsigned char guard[64]; } room;
	adsmOnce *once = adsmOnceAlloc(4, 4096, &where);
	pthread_t thread[2];

	CHECK(once);
	for (line = 0; line < 2; line++)
		CHECK(!pthread_create(&thread[line], NULL, wait_for_unit, once));
	PREPARE(room);
	while (adsmOnceWaiters(room.waiters, 2, sizeof(room.waiters[0])) != 2)
		sched_yield();
	CHECK(room.waiters[0].address == once->address && room.waiters[1].address == once->address);
	CHECK(room.waiters[0].thread != room.waiters[1].thread);
	CHECK(room.waiters[0].waited_ns >= room.waiters[1].waited_ns);
	CHECK_GUARD(room);
	CHECK(adsmOnceWaiters(room.waiters, 2, 8) == -EINVAL);
	CHECK(adsmOnceFresh(once, 0) && !adsmOnceSet(once, 0));
	for (line = 0; line < 2; line++)
		pthread_join(thread[line], NULL);
	CHECK(!adsmOnceFree(once));
#ifdef NEWER
	where.later = 1;
	CHECK(!adsmOnceAlloc(4, 4096, &where) && errno == EINVAL);
#endif
}

static void check_split(const char *path)
{
	adsmModule *module = adsmModuleLoad(path);
	adsmKernel *kernel = adsmKernelGet(module, "vecadd");
	adsmSplit split = ADSM_SPLIT_INIT;
	adsmDim grid = { 4, 1, 1 }, block = { 256, 1, 1 };
	float *p = (float *)adsmAlloc(4096);
	adsmSplitRows rows = { p, 1024 };
	unsigned n = 1024;
	const adsmArg args[] = { adsmPtr(p), adsmPtr(p), adsmPtr(p), { ADSM_ARG_VALUE, 0, &n, sizeof(n) } };

	CHECK(kernel && p);
	p[n - 1] = 2;
	split.rows = &rows;
	split.n_rows = 1;
	CHECK(!adsmCallSplitArgs(kernel, grid, block, &split, args, 4));
	CHECK(!adsmSync() && p[n - 1] == 4);
#ifdef NEWER
	split.later = 1;
	CHECK(adsmCallSplitArgs(kernel, grid, block, &split, args, 4) == -EINVAL);
	CHECK(strstr(adsmLastError(), "adsmSplit: the caller's header is newer"));
#endif
	CHECK(!adsmFree(p) && !adsmModuleUnload(module));
}

int main(int argc, char **argv)
{
	CHECK(argc == 2);
	check_choices(argv[1]);
	check_split(argv[1]);
	check_once();
	CHECK(!adsmShutdown());
	return 0;
}
