/* SPDX-License-Identifier: MIT */
/* test_residency.c - a call that needs room when the host has no memory for the objects that would make room. */
#include <adsm.h>
#include <stdlib.h>

#include "core/index.h"
#include "core/object.h"
#include "run/call/residency.h"

#define CHECK_MORE adsmLastError()
#include "../check.h"

#define N 8
#define ROOM 4
#define WORDS 65536
#define SIZE (WORDS * sizeof(unsigned))

static uint64_t available = UINT64_MAX;
static unsigned *p[N];

static uint64_t get_available(void)
{
	return available;
}

static int copy(adsmKernel *kernel, const unsigned *from, unsigned *to)
{
	return adsmCall(kernel, adsmDim3(WORDS / 256, 1, 1), adsmDim3(256, 1, 1), adsmPtr(from), adsmPtr(to),
			adsmVal((unsigned)WORDS));
}

static bool has_memory(const unsigned *object)
{
	return adsm_index_find((uintptr_t)object)->memory;
}

int main(void)
{
	adsmModule *module;
	adsmKernel *kernel;
	adsmStats before, after;
	char path[4096];

	CHECK(getenv("TEST_KERNELS"));
	snprintf(path, sizeof(path), "%s/conform.adsm", getenv("TEST_KERNELS"));
	CHECK_OK(adsmOption("cpu_memory_size", "1M"));
	adsm_residency_available = get_available;
	module = adsmModuleLoad(path);
	CHECK(module);
	kernel = adsmKernelGet(module, "copy");
	CHECK(kernel);
	for (int i = 0; i < N; i++) {
		p[i] = adsmAlloc(SIZE);
		CHECK(p[i]);
		CHECK(!has_memory(p[i]));
	}
	for (unsigned k = 0; k < WORDS; k++)
		p[0][k] = k;
	/* Only the device has the contents of these, and the host has no pages for them. */
	for (int i = 1; i < ROOM; i++)
		CHECK_OK(copy(kernel, p[0], p[i]));
	CHECK_OK(adsmSync());
	available = SIZE - 1;
	CHECK_OK(adsmStatsGet(&before, sizeof(before)));
	CHECK_EQ(copy(kernel, p[0], p[ROOM]), -ENOMEM);
	CHECK(strstr(adsmLastError(), "but the host has 262143 available"));
	CHECK_OK(adsmStatsGet(&after, sizeof(after)));
	CHECK_EQ(after.displaced, 0);
	CHECK_EQ(after.d2h_bytes, before.d2h_bytes);
	CHECK(has_memory(p[1]) && !has_memory(p[ROOM]));
	/* What the host has already needs no pages. */
	CHECK_OK(copy(kernel, p[1], p[2]));
	CHECK_OK(copy(kernel, p[2], p[3]));
	CHECK_OK(copy(kernel, p[3], p[ROOM]));
	CHECK(!has_memory(p[0]));
	/* And with enough of them all goes well. */
	available = SIZE;
	for (int i = ROOM; i < N - 1; i++)
		CHECK_OK(copy(kernel, p[i], p[i + 1]));
	CHECK_OK(adsmSync());
	CHECK(!has_memory(p[1]));
	for (int i = 0; i < N; i++)
		for (unsigned k = 0; k < WORDS; k++)
			CHECK_EQ(p[i][k], k);
	for (int i = 0; i < N; i++)
		CHECK_OK(adsmFree(p[i]));
	CHECK_OK(adsmModuleUnload(module));
	CHECK_OK(adsmShutdown());
	return 0;
}
