/* SPDX-License-Identifier: MIT */
/*
 * tpacf_rolling.c - the faults of tpacf's fill against the rolling size, the subject of the paper's Fig. 12:
 * tpacf_rolling KERNELS [--all] [BLOCK_SIZE...]
 *
 * Three streams of stores go through one object. With fewer than three blocks Dirty at a time each store
 * evicts the block that the next one needs, until blocks become so large that the object nearly fits.
 * Cells that move 2 to 24 GB are left out unless --all is given, or TEST_FULL is set.
 */
#include <adsm.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../parboil/tpacf/tpacf.h"

enum { N_POINTS = 11 * 4096, BYTES = 3 * N_POINTS * sizeof(float), ALL = 3 * N_POINTS, N_SIZES = 4 };

/* Faults with a rolling size of 1, 2, 3, 4 blocks; bytes sent in all, with 4. */
static const struct row {
	const char *block_size;
	uint64_t faults[N_SIZES], bytes;
	int n_long;			/* this number of its cells, the first ones, move more than 2 GB */
} rows[] = {
	{ "8K", { ALL, ALL, 66, 66 }, 540672, 0 },
	{ "16K", { ALL, ALL, 33, 33 }, 540672, 2 },
	{ "32K", { ALL, ALL, 30, 18 }, 573440, 2 },
	{ "64K", { ALL, ALL, 19, 12 }, 737280, 2 },
	{ "128K", { ALL, ALL, 15, 5 }, 540672, 2 },
	{ "256K", { 94208, 12288, 3, 3 }, 540672, 2 },
	{ "512K", { 8192, 2, 2, 2 }, 540672, 1 },
	{ "1M", { 1, 1, 1, 1 }, 540672, 0 },
};
#define N_ROWS (sizeof(rows) / sizeof(rows[0]))

/* What a child leaves behind. */
struct cell { adsmStats fill, all; };

static int failed(const char *what)
{
	fprintf(stderr, "tpacf_rolling: %s: %s\n", what, adsmLastError());
	return 1;
}

/* The library as it starts, with a single shared object. */
static int run_cell(const char *kernels, const char *block_size, const char *rolling_size, struct cell *cell)
{
	const char *const options[][2] = {
		{ "backend", "cpu" }, { "cpu_memory", "discrete" }, { "paper", "1" }, { "protocol", "rolling" },
		{ "block_size", block_size }, { "rolling_size", rolling_size },
	};
	struct tpacf_point *points = calloc(N_POINTS, sizeof(*points));
	const struct tpacf t = { .n_sets = 11, .n_points = 4096, .room = 4096, .points = points };
	const float boundaries[TPACF_BINS + 1] = { 0 };
	adsmDim grid = { .x = 1 }, block = { .x = TPACF_THREADS };
	adsmModule *module;
	adsmKernel *kernel;
	float *array;
	void *histogram;

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		if (adsmOption(options[i][0], options[i][1]))
			return failed(options[i][0]);
	if (adsmInit())
		return failed("adsmInit");
	module = adsmModuleLoad(kernels);
	kernel = module ? adsmKernelGet(module, "Histograms") : NULL;
	array = adsmAlloc(BYTES);
	histogram = adsmDeviceAlloc(TPACF_BINS * sizeof(uint64_t));
	if (!points || !kernel || !array || !histogram)
		return failed("start");

	tpacf_fill(array, &t);
	if (adsmStatsGet(&cell->fill, sizeof(cell->fill)))
		return failed("adsmStatsGet");
	/* A call sends what is still Dirty. It is given no points to count. */
	if (adsmCall(kernel, grid, block, adsmPtr(array), adsmPtr(histogram),
		     adsmConst(boundaries, sizeof(boundaries)), adsmVal(0), adsmVal(0), adsmVal(0)) || adsmSync())
		return failed("adsmCall");
	if (adsmStatsGet(&cell->all, sizeof(cell->all)))
		return failed("adsmStatsGet");
	if (adsmFree(array) || adsmDeviceFree(histogram) || adsmModuleUnload(module) || adsmShutdown())
		return failed("end");
	free(points);
	return 0;
}

static int differs(const char *what, uint64_t got, uint64_t expected)
{
	if (got != expected)
		fprintf(stderr, "tpacf_rolling: %llu %s, and there should be %llu\n", (unsigned long long)got,
			what, (unsigned long long)expected);
	return got != expected;
}

/* In a process of its own: the number of things that are wrong. */
static int check_cell(const char *kernels, const struct row *row, unsigned rolling_size, struct cell *cell)
{
	uint64_t faults = row->faults[rolling_size - 1];
	struct timespec start, end;
	int status, wrong = 0;
	char digits[16];
	pid_t child;

	snprintf(digits, sizeof(digits), "%u", rolling_size);
	memset(cell, 0, sizeof(*cell));
	fflush(stdout);
	clock_gettime(CLOCK_MONOTONIC, &start);
	child = fork();
	if (child == 0)
		_exit(run_cell(kernels, row->block_size, digits, cell));
	while (child > 0 && waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			child = -1;
	if (child < 0) {
		perror("tpacf_rolling");
		return 1;
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	wrong += differs("as status of the process", (uint64_t)status, 0);
	wrong += differs("write faults", cell->fill.write_faults, faults);
	wrong += differs("read faults", cell->all.read_faults, 0);
	wrong += differs("evictions", cell->all.evictions, faults > rolling_size ? faults - rolling_size : 0);
	/* Each block that became Dirty is sent once, by an eviction or by the call. */
	wrong += differs("transfers in all", cell->all.h2d_transfers, faults);
	wrong += differs("bytes fetched", cell->all.d2h_bytes, 0);
	if (rolling_size == N_SIZES)
		wrong += differs("bytes sent", cell->all.h2d_bytes, row->bytes);
	printf("blocks of %-5s rolling size %u: %8llu faults, %8llu evictions, %12llu bytes, %7.3f s%s\n",
	       row->block_size, rolling_size, (unsigned long long)cell->fill.write_faults,
	       (unsigned long long)cell->all.evictions, (unsigned long long)cell->all.h2d_bytes,
	       end.tv_sec - start.tv_sec + 1e-9 * (end.tv_nsec - start.tv_nsec), wrong ? "  WRONG" : "");
	return wrong;
}

int main(int argc, char **argv)
{
	struct cell *cell = mmap(NULL, sizeof(*cell), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int given = argc > 2 && strcmp(argv[2], "--all") == 0, all = given || getenv("TEST_FULL"), first = 2 + given;
	int wrong = 0, n = 0;

	if (argc < 2 || cell == MAP_FAILED) {
		fprintf(stderr, "usage: tpacf_rolling KERNELS [--all] [BLOCK_SIZE...]\n");
		return 2;
	}
	for (size_t i = 0; i < N_ROWS; i++) {
		int chosen = argc == first;

		for (int j = first; j < argc; j++)
			chosen |= strcmp(argv[j], rows[i].block_size) == 0;
		for (int size = all ? 1 : 1 + rows[i].n_long; chosen && size <= N_SIZES; size++, n++)
			wrong += check_cell(argv[1], &rows[i], (unsigned)size, cell);
	}
	if (!n)
		fprintf(stderr, "tpacf_rolling: the table has no such block size\n");
	return wrong || !n;
}
