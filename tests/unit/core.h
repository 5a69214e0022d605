/* SPDX-License-Identifier: MIT */
/* core.h - what the tests that look behind the API share: an object's bytes on each side, and kernels. */
#ifndef TEST_CORE_H
#define TEST_CORE_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "adsm.h"
#include "core/arena.h"
#include "core/block.h"
#include "core/index.h"
#include "core/life.h"
#include "core/resident.h"
#include "protocols/states.h"
#include "run/object/alloc.h"
#include "run/call/call.h"
#include "run/wait/coalesced.h"
#include "run/copy/copy.h"
#include "run/wait/enter.h"
#include "run/touch/hold.h"
#include "run/wait/pending.h"
#include "run/wait/sync.h"
#include "run/wait/wait.h"
#include "start/start.h"

#define CHECK_MORE adsmLastError()
#include "../check.h"

#define PAGE ADSM_PAGE_SIZE
#define PAGE_WORDS 1024u

static inline struct adsm_object *object_of(const volatile void *p)
{
	struct adsm_object *object = adsm_index_find((uintptr_t)p);

	CHECK(object && object->live);
	return object;
}

/* The CPU's bytes as the library has them: no access, no fault. */
static inline volatile unsigned *alias_of(const volatile void *p)
{
	return adsm_arena_alias((uintptr_t)p);
}

/* The device's bytes: a copy behind the library's back. */
static inline void device_read(const volatile void *p, void *ret, size_t size)
{
	struct adsm_object *object = object_of(p);

	CHECK(!object->home->device->backend->to_host(ret, object->memory, (uintptr_t)p - object->start, size, NULL));
}

static inline unsigned device_word(const volatile unsigned *p)
{
	unsigned word;

	device_read(p, &word, sizeof(word));
	return word;
}

static inline void device_write(const volatile void *p, const void *bytes, size_t size)
{
	struct adsm_object *object = object_of(p);
	struct adsm_sigset old;

	/* It may have no device memory yet. */
	adsm_home_lock(object->home, &old);
	CHECK(!adsm_object_pin(object));
	adsm_home_unlock(object->home, &old);
	CHECK(!object->home->device->backend->to_device(object->memory, (uintptr_t)p - object->start, bytes, size,
							 NULL));
}

/* A kernel of conform.adsm in the folder TEST_KERNELS. */
static inline adsmKernel *kernel(const char *name)
{
	static adsmModule *module;
	const char *folder = getenv("TEST_KERNELS");
	char path[4096];
	adsmKernel *found;

	CHECK(folder);
	snprintf(path, sizeof(path), "%s/conform.adsm", folder);
	if (!module)
		module = adsmModuleLoad(path);
	CHECK(module);
	found = adsmKernelGet(module, name);
	CHECK(found);
	return found;
}

static inline int call_words(adsmKernel *kernel, size_t n, adsmArg a)
{
	return adsmCall(kernel, ((adsmDim){ (unsigned)((n + 255) / 256), 1, 1 }), ((adsmDim){ 256, 1, 1 }), a,
			adsmVal((unsigned)n));
}

static inline unsigned *alloc_with(size_t size, const char *protocol, size_t block_size)
{
	adsmAllocOptions options = ADSM_ALLOC_OPTIONS_INIT;
	unsigned *p;

	options.protocol = protocol;
	options.block_size = block_size;
	p = adsmAllocWith(size, &options);
	CHECK(p);
	return p;
}

static inline adsmStats object_stats(const volatile void *p)
{
	adsmStats stats;

	CHECK(!adsmObjectStatsGet((const void *)p, &stats, sizeof(stats)));
	return stats;
}

#endif
