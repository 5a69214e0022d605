/* SPDX-License-Identifier: MIT */
/*
 * moving.c - operations of the backends of several devices fail while objects move, are copied to other devices and are
 * written by calls that are split. The program repeats what failed, and nothing is lost.
 *
 * usage: moving [OPTION=VALUE…]. Options as adsmOption() takes them. Under each plan every nth operation fails.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adsm.h"
#include "adsm_split.h"

#define FAIL(format, ...) \
	check_failed(stderr, __FILE__, __LINE__, errno, adsmLastError(), "under '%s': " format, plan, __VA_ARGS__)
#include "../check.h"

#define DEVICES 3
#define OBJECTS 4
#define WORDS 20000u
#define SIZE (WORDS * sizeof(unsigned))
#define TRIES 200
#define ROUNDS 60
#define FIRST 9u		/* a smaller number of operations would not let any call succeed */

static char plan[256];
static adsmModule *module;
static unsigned *objects[OBJECTS], *anchors[DEVICES];	/* an anchor is on each device */
static unsigned models[OBJECTS][WORDS], room[WORDS];
static unsigned n_failures;
static bool batch, splits;

static bool again(int error, unsigned *tries)
{
	if (!error)
		return false;
	CHECKF(error == -EIO || error == -ENOMEM, "error %d", error);
	CHECK(adsmLastError()[0]);
	CHECK(++*tries < TRIES);
	n_failures++;
	/* One operation more, or every nth one would always be the same. */
	if (*tries % 2)
		adsmDeviceFill(anchors[0], 0, 1);
	return true;
}

#define REPEAT(call) do { \
	unsigned tries_ = 0; \
	\
	while (again((call), &tries_)) \
		; \
} while (0)

static uint64_t draw(uint64_t *state)
{
	uint64_t z = *state += 0x9E3779B97F4A7C15u;

	z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
	z = (z ^ z >> 27) * 0x94D049BB133111EBu;
	return z ^ z >> 31;
}

static void set(const char *option, const char *value)
{
	CHECK(!adsmOption(option, value));
}

static void make(int i, int device, unsigned first)
{
	CHECK(!adsmDeviceSet(device));
	for (unsigned tries = 0; !(objects[i] = adsmAlloc(SIZE)); tries++)
		CHECK(tries < TRIES);
	for (unsigned w = 0; w < WORDS; w++)
		models[i][w] = first + w;
	REPEAT(adsmMemcpy(objects[i], models[i], SIZE));
}

static void settle(void)
{
	if (batch)
		REPEAT(adsmSync());
}

static void compare(int i)
{
	settle();
	REPEAT(adsmMemcpy(room, objects[i], SIZE));
	for (unsigned w = 0; w < WORDS; w++)
		CHECKF(room[w] == models[i][w], "object %d, word %u: %u, not %u", i, w, room[w], models[i][w]);
}

static adsmKernel *kernel(const char *name)
{
	adsmKernel *found = adsmKernelGet(module, name);

	CHECK(found);
	return found;
}

static const adsmDim grid = { (WORDS + 255) / 256, 1, 1 }, block = { 256, 1, 1 };

/* Objects move to the device of an anchor. */
static void increment(int i, int device)
{
	CHECK(!adsmDeviceSet(device));
	REPEAT(adsmCall(kernel("increment"), grid, block, adsmPtr(objects[i]), adsmVal(WORDS),
			adsmUse(anchors[device], ADSM_ACCESS_INOUT)));
	for (unsigned w = 0; w < WORDS; w++)
		models[i][w]++;
}

static void add(int a, int b, int c, int device)
{
	CHECK(!adsmDeviceSet(device));
	REPEAT(adsmCall(kernel("add"), grid, block, adsmPtr(objects[a]), adsmPtr(objects[b]), adsmPtr(objects[c]),
			adsmVal(WORDS), adsmUse(anchors[device], ADSM_ACCESS_INOUT)));
	for (unsigned w = 0; w < WORDS; w++)
		models[c][w] = models[a][w] + models[b][w];
}

/* If a part fails, the bytes of what the call writes are lost. */
static void split(int a, int c, bool adds, int first)
{
	const int devices[] = { first, (first + 1) % DEVICES, (first + 2) % DEVICES };
	const adsmSplitRows rows = { objects[c], 256 * sizeof(unsigned) };
	adsmSplit asked = ADSM_SPLIT_INIT;
	unsigned tries = 0;
	int error;

	asked.rows = &rows;
	asked.n_rows = 1;
	asked.devices = devices;
	asked.n_devices = DEVICES;
	do {
		error = adds ? adsmCallSplit(kernel("add"), grid, block, &asked, adsmPtr(objects[a]),
					     adsmPtr(objects[a]), adsmPtr(objects[c]), adsmVal(WORDS)) :
			adsmCallSplit(kernel("increment"), grid, block, &asked, adsmPtr(objects[c]), adsmVal(WORDS));
		if (error) {
			settle();
			REPEAT(adsmMemcpy(objects[c], models[c], SIZE));
		}
	} while (again(error, &tries));
	for (unsigned w = 0; w < WORDS; w++)
		models[c][w] = adds ? 2 * models[a][w] : models[c][w] + 1;
}

static void one_of_all(uint64_t *state)
{
	const int i = (int)(draw(state) % OBJECTS), k = (int)(draw(state) % OBJECTS);
	const int device = (int)(draw(state) % DEVICES);
	const size_t at = draw(state) % WORDS, n = 1 + draw(state) % (WORDS - at);

	switch (draw(state) % 8) {
	case 0:
	case 1:
		increment(i, device);
		break;
	case 2:
	case 3:
		if (i != k)
			add(i, draw(state) % 2 ? i : 0, k, device);
		break;
	case 4:
		if (i != k && splits)
			split(i, k, draw(state) % 2, device);
		break;
	case 5:
		settle();
		for (size_t w = at; w < at + n; w++)
			models[i][w] = (unsigned)draw(state);
		REPEAT(adsmMemcpy(objects[i] + at, models[i] + at, n * sizeof(unsigned)));
		break;
	case 6:
		REPEAT(adsmFree(objects[i]));
		make(i, device, (unsigned)draw(state));
		break;
	default:
		compare(i);
	}
}

static uint64_t memory_free(int device)
{
	adsmDeviceProps info = { .struct_size = sizeof(info) };

	CHECK(!adsmDeviceInfo(device, &info));
	return info.memory_free;
}

static void run(uint64_t state)
{
	const char *folder = getenv("TEST_KERNELS");
	uint64_t before[DEVICES];
	char path[4096];

	CHECK(folder);
	snprintf(path, sizeof(path), "%s/conform.adsm", folder);
	set("wrap", plan);
	CHECK(!adsmInit());
	CHECK(adsmDeviceCount() == DEVICES);
	for (int d = 0; d < DEVICES; d++)
		before[d] = memory_free(d);
	module = adsmModuleLoad(path);
	CHECK(module);
	for (int d = 0; d < DEVICES; d++) {
		CHECK(!adsmDeviceSet(d));
		while (!(anchors[d] = adsmDeviceAlloc(64)))
			;
	}
	for (int i = 0; i < OBJECTS; i++)
		make(i, i % DEVICES, (unsigned)i);
	for (int round = 0; round < ROUNDS; round++)
		one_of_all(&state);
	for (int i = 0; i < OBJECTS; i++)
		compare(i);
	REPEAT(adsmSync());
	for (int i = 0; i < OBJECTS; i++)
		REPEAT(adsmFree(objects[i]));
	for (int d = 0; d < DEVICES; d++)
		REPEAT(adsmDeviceFree(anchors[d]));
	REPEAT(adsmModuleUnload(module));
	for (int d = 0; d < DEVICES; d++)
		CHECK(memory_free(d) == before[d]);
	REPEAT(adsmShutdown());
}

int main(int argc, char **argv)
{
	const bool full = getenv("TEST_FULL");

	set("log", "silent");
	set("cpu_devices", "3");
	for (int i = 1; i < argc; i++) {
		char *value = strchr(argv[i], '=');

		CHECK(value);
		*value++ = '\0';
		batch |= !strcmp(value, "batch");
		set(argv[i], value);
	}
	splits = true;
	run(1);
	for (unsigned n = FIRST; n <= 61; n += full ? 4 : 13)
		for (unsigned seed = 0; seed < n; seed += full ? 17 : n) {
			/* A call that is split needs many operations, and all of them must succeed. */
			splits = n > 40;
			snprintf(plan, sizeof(plan), "fail=%u,seed=%u", n, seed);
			run(100 * n + seed);
		}
	CHECK(n_failures);
	return 0;
}
