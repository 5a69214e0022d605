/* SPDX-License-Identifier: MIT */
/*
 * tiles.c - a stencil and a matrix product on tiles that need four times the device's memory. Each runs as a program of
 * libadsm, and as a program that copies explicitly, into device memory that it replaces in the same order: the tile
 * that calls have not used for the longest time. Both must compute the same as the CPU, and libadsm may move at most
 * 1.05 times the bytes of the other. Belady's replacement, which knows the future, is printed beside them.
 *
 *	tiles stencil|product
 */
#include <adsm.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK_MORE adsmLastError()
#include "../check.h"

#define EDGE 64				/* rows and columns of a tile */
#define WORDS (EDGE * EDGE)
#define TILE (WORDS * sizeof(unsigned))	/* bytes */
#define TILES_MAX 192
#define CALLS_MAX 1024
#define ARGS_MAX 4

#define COLUMN 64			/* tiles of the stencil's column; there are two, the old and the new one */
#define STEPS 10
#define SIDE 8				/* tiles along each matrix of the product */

struct call {
	const char *kernel;
	unsigned n;
	int tiles[ARGS_MAX];
	unsigned access[ARGS_MAX];
};

static struct call calls[CALLS_MAX];
static size_t n_calls;
static int n_tiles, n_slots;		/* slots: tiles that fit on the device */
static unsigned start[TILES_MAX][WORDS], want[TILES_MAX][WORDS];
static adsmModule *module;

/* ---- the two programs, as lists of calls */

static void add(const char *kernel, unsigned n, const int *tiles, const unsigned *access)
{
	struct call *call = &calls[n_calls++];

	CHECK(n_calls <= CALLS_MAX);
	call->kernel = kernel;
	call->n = n;
	memcpy(call->tiles, tiles, n * sizeof(*tiles));
	memcpy(call->access, access, n * sizeof(*access));
}

static void plan_stencil(void)
{
	static const unsigned access[] = { ADSM_ACCESS_IN, ADSM_ACCESS_IN, ADSM_ACCESS_IN, ADSM_ACCESS_OUT };

	n_tiles = 2 * COLUMN;
	for (int step = 0; step < STEPS; step++)
		for (int i = 0; i < COLUMN; i++) {
			const int from = step % 2 * COLUMN, to = COLUMN - from;
			const int tiles[] = { from + (i + COLUMN - 1) % COLUMN, from + i, from + (i + 1) % COLUMN,
					      to + i };

			add("relax", 4, tiles, access);
		}
}

static void plan_product(void)
{
	static const unsigned access[] = { ADSM_ACCESS_IN, ADSM_ACCESS_IN, ADSM_ACCESS_INOUT };

	n_tiles = 3 * SIDE * SIDE;
	for (int i = 0; i < SIDE; i++)
		for (int j = 0; j < SIDE; j++)
			for (int k = 0; k < SIDE; k++) {
				const int tiles[] = { i * SIDE + k, SIDE * SIDE + k * SIDE + j,
						      2 * SIDE * SIDE + i * SIDE + j };

				add("multiply", 3, tiles, access);
			}
}

/* ---- on the CPU */

static void relax(const unsigned *above, const unsigned *here, const unsigned *below, unsigned *to)
{
	for (unsigned i = 0; i < WORDS; i++) {
		const unsigned row = i / EDGE, column = i % EDGE;

		to[i] = here[i] + (row ? here[i - EDGE] : above[(EDGE - 1) * EDGE + column]) +
			(row < EDGE - 1 ? here[i + EDGE] : below[column]) + (column ? here[i - 1] : 0) +
			(column < EDGE - 1 ? here[i + 1] : 0);
	}
}

static void multiply(const unsigned *a, const unsigned *b, unsigned *c)
{
	for (unsigned row = 0; row < EDGE; row++)
		for (unsigned k = 0; k < EDGE; k++)
			for (unsigned column = 0; column < EDGE; column++)
				c[row * EDGE + column] += a[row * EDGE + k] * b[k * EDGE + column];
}

static void run_on_cpu(void)
{
	for (int i = 0; i < n_tiles; i++)
		for (unsigned k = 0; k < WORDS; k++)
			want[i][k] = start[i][k] = (unsigned)i * 2654435761u ^ k * 40503u;
	for (size_t i = 0; i < n_calls; i++) {
		const int *t = calls[i].tiles;

		if (calls[i].n == 4)
			relax(want[t[0]], want[t[1]], want[t[2]], want[t[3]]);
		else
			multiply(want[t[0]], want[t[1]], want[t[2]]);
	}
}

/* ---- replacement: what a program with explicit copies does, and what it costs */

enum { ABSENT = -1 };

struct device {
	int tile[TILES_MAX];		/* of each slot, or ABSENT */
	int slot[TILES_MAX];		/* of each tile, or ABSENT */
	size_t used[TILES_MAX];		/* the last call of each tile, from 1 */
	bool newer[TILES_MAX];		/* only the device has the tile's contents */
	uint64_t bytes;
	void (*send)(int tile, int slot);
	void (*fetch)(int tile, int slot);
};

static bool names(const struct call *call, int tile)
{
	for (unsigned a = 0; a < call->n; a++)
		if (call->tiles[a] == tile)
			return true;
	return false;
}

/* The call that uses the tile next, from call @from on. */
static size_t next_use(int tile, size_t from)
{
	while (from < n_calls && !names(&calls[from], tile))
		from++;
	return from;
}

static int choose_oldest(const struct device *device, size_t now)
{
	int best = ABSENT;

	for (int tile = 0; tile < n_tiles; tile++)
		if (device->slot[tile] != ABSENT && !names(&calls[now], tile) &&
		    (best == ABSENT || device->used[tile] < device->used[best]))
			best = tile;
	return best;
}

static int choose_farthest(const struct device *device, size_t now)
{
	int best = ABSENT;

	for (int tile = 0; tile < n_tiles; tile++)
		if (device->slot[tile] != ABSENT && !names(&calls[now], tile) &&
		    (best == ABSENT || next_use(tile, now) > next_use(best, now)))
			best = tile;
	return best;
}

static void put_back(struct device *device, int tile)
{
	if (!device->newer[tile])
		return;
	if (device->fetch)
		device->fetch(tile, device->slot[tile]);
	device->bytes += TILE;
	device->newer[tile] = false;
}

/* Bring a tile to the device. @access: what the call does with it. */
static void bring(struct device *device, int tile, unsigned access, size_t now,
		  int (*choose)(const struct device *device, size_t now))
{
	int slot = 0;

	while (slot < n_slots && device->tile[slot] != ABSENT)
		slot++;
	if (slot == n_slots) {
		const int victim = choose(device, now);

		put_back(device, victim);
		slot = device->slot[victim];
		device->slot[victim] = ABSENT;
	}
	device->tile[slot] = tile;
	device->slot[tile] = slot;
	if (access == ADSM_ACCESS_OUT)
		return;
	if (device->send)
		device->send(tile, slot);
	device->bytes += TILE;
}

/* Run all calls. Returns the bytes that moved, the results included. */
static uint64_t replace(struct device *device, int (*choose)(const struct device *device, size_t now),
			void (*launch)(const struct device *device, const struct call *call))
{
	memset(device->tile, 0xff, sizeof(device->tile));
	memset(device->slot, 0xff, sizeof(device->slot));
	for (size_t now = 0; now < n_calls; now++) {
		const struct call *call = &calls[now];

		for (unsigned a = 0; a < call->n; a++)
			if (device->slot[call->tiles[a]] == ABSENT)
				bring(device, call->tiles[a], call->access[a], now, choose);
		for (unsigned a = 0; a < call->n; a++) {
			device->used[call->tiles[a]] = now + 1;
			device->newer[call->tiles[a]] |= call->access[a] != ADSM_ACCESS_IN;
		}
		if (launch)
			launch(device, call);
	}
	for (int tile = 0; tile < n_tiles; tile++)
		put_back(device, tile);
	return device->bytes;
}

/* ---- the program with explicit copies */

static unsigned host[TILES_MAX][WORDS];
static void *slots[TILES_MAX];

static void send(int tile, int slot)
{
	CHECK_OK(adsmCopyToDevice(slots[slot], host[tile], TILE));
}

static void fetch(int tile, int slot)
{
	CHECK_OK(adsmCopyToHost(host[tile], slots[slot], TILE));
}

static void call_kernel(const struct call *call, const adsmArg *args)
{
	CHECK_OK(adsmCallArgs(adsmKernelGet(module, call->kernel), adsmDim3(WORDS / 256, 1, 1), adsmDim3(256, 1, 1),
			      args, call->n + 1));
}

static void launch(const struct device *device, const struct call *call)
{
	const unsigned edge = EDGE;
	adsmArg args[ARGS_MAX + 1];

	for (unsigned a = 0; a < call->n; a++)
		args[a] = adsmPtr(slots[device->slot[call->tiles[a]]]);
	args[call->n] = adsmVal(edge);
	call_kernel(call, args);
}

static uint64_t run_by_hand(void)
{
	struct device device = { .send = send, .fetch = fetch };
	uint64_t bytes;

	memcpy(host, start, sizeof(host));
	for (int i = 0; i < n_slots; i++) {
		slots[i] = adsmDeviceAlloc(TILE);
		CHECK(slots[i]);
	}
	bytes = replace(&device, choose_oldest, launch);
	for (int i = 0; i < n_slots; i++)
		CHECK_OK(adsmDeviceFree(slots[i]));
	for (int i = 0; i < n_tiles; i++)
		CHECK(!memcmp(host[i], want[i], TILE));
	return bytes;
}

static uint64_t run_belady(void)
{
	struct device device = { 0 };

	return replace(&device, choose_farthest, NULL);
}

/* ---- the program of libadsm */

static uint64_t run_shared(uint64_t *ret_displaced)
{
	static unsigned *tiles[TILES_MAX];
	const unsigned edge = EDGE;
	adsmStats stats;

	for (int i = 0; i < n_tiles; i++) {
		tiles[i] = adsmAlloc(TILE);
		CHECK(tiles[i]);
	}
	for (int i = 0; i < n_tiles; i++)
		memcpy(tiles[i], start[i], TILE);
	CHECK_OK(adsmStatsReset());
	for (size_t i = 0; i < n_calls; i++) {
		adsmArg args[ARGS_MAX + 1];

		for (unsigned a = 0; a < calls[i].n; a++)
			args[a] = adsmPtr(tiles[calls[i].tiles[a]]);
		args[calls[i].n] = adsmVal(edge);
		call_kernel(&calls[i], args);
	}
	CHECK_OK(adsmSync());
	for (int i = 0; i < n_tiles; i++)
		CHECK(!memcmp(tiles[i], want[i], TILE));
	CHECK_OK(adsmStatsGet(&stats, sizeof(stats)));
	for (int i = 0; i < n_tiles; i++)
		CHECK_OK(adsmFree(tiles[i]));
	*ret_displaced = stats.displaced;
	return stats.h2d_bytes + stats.d2h_bytes;
}

static void load(void)
{
	char path[4096];

	CHECK(getenv("TEST_KERNELS"));
	snprintf(path, sizeof(path), "%s/tiles.adsm", getenv("TEST_KERNELS"));
	module = adsmModuleLoad(path);
	CHECK(module);
}

int main(int argc, char **argv)
{
	adsmDeviceProps props = { .struct_size = sizeof(props) };
	uint64_t by_hand, shared, displaced, best;
	char size[32];
	int error;

	if (argc != 2 || (strcmp(argv[1], "stencil") && strcmp(argv[1], "product"))) {
		fprintf(stderr, "usage: %s stencil|product\n", argv[0]);
		return 2;
	}
	if (getenv("TEST_SKIP")) {
		printf("skipped: %s\n", getenv("TEST_SKIP"));
		return 77;
	}
	(!strcmp(argv[1], "stencil") ? plan_stencil : plan_product)();
	run_on_cpu();
	snprintf(size, sizeof(size), "%zu", n_tiles * TILE / 4);
	CHECK_OK(adsmOption("cpu_memory_size", size));
	CHECK_OK(adsmOption("opencl_memory_size", size));
	error = adsmInit();
	if (check_no_driver(error)) {
		printf("skipped: %s\n", adsmLastError());
		return 77;
	}
	CHECK_OK(error);
	CHECK_OK(adsmDeviceInfo(0, &props));
	CHECK_EQ(props.memory_size, n_tiles * TILE / 4);
	n_slots = (int)(props.memory_size / TILE);
	load();
	by_hand = run_by_hand();
	shared = run_shared(&displaced);
	best = run_belady();
	printf("%s: %d tiles of %zu bytes, room for %d; bytes moved: %llu with libadsm, %llu by hand with the same "
	       "replacement (ratio %.3f), %llu with Belady's; %llu tiles moved away\n", argv[1], n_tiles, (size_t)TILE,
	       n_slots, (unsigned long long)shared, (unsigned long long)by_hand, (double)shared / (double)by_hand,
	       (unsigned long long)best, (unsigned long long)displaced);
	CHECK(displaced > 0);
	CHECK(shared * 100 <= by_hand * 105);
	CHECK_OK(adsmModuleUnload(module));
	CHECK_OK(adsmShutdown());
	return 0;
}
