/* SPDX-License-Identifier: MIT */
/*
 * cluster.c - what it costs to keep the memory of a cluster's nodes the same: BlackScholes with 5 million options,
 * those of a block side by side, as parboil has it at size cfc. Each launch writes 9,766 pages.
 *
 * The exchange after a kernel, on node 0's clock: floor is the paper's, a broadcast by each node (ADSM_PAPER=1, lazy
 * update off); "ours" are one Allgatherv, and lazy update. Adaptive is held against lazy. A launch is all of the call
 * and its sync. ADSM_CLUSTER_NODES and ADSM_CLUSTER_HOSTS say how many nodes, and where; else four on this machine.
 *
 * Tracking: one node does not track what its kernels write, and can be made to. Floor is a launch without; and where a
 * kernel does nothing but store to each of as many pages, what mprotect() adds to a launch, "ours" what userfaultfd
 * adds.
 *
 * Each run is a process of its own with a cluster of its own; they take turns. Its first launch, which brings inputs to
 * the nodes, does not count; of the others it gives the median.
 */
#include "bench.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/os.h"
#include "cluster/shared.h"
#include "core/home.h"
#include "process/process.h"

#define N_BLOCKS 480u
#define N_THREADS 128u
#define N_LAUNCHES 6

/* How a run's cluster differs from others. */
struct config {
	const char *name;
	bool stores;			/* not BlackScholes: a store to each page */
	const char *options[3][2];
};

struct result {
	bool failed;			/* it could not start */
	double launch_ms, exchange_ms;
	uint64_t last[ADSM_CLUSTER_N_COUNTS];	/* of the last launch */
	uint64_t written;		/* a hash of what kernels have written */
};

static size_t n_options;
static const char *nodes;

/* ---- one run */

static const struct adsm_cluster_shared *cluster(void)
{
	const struct adsm_process_device *device = (struct adsm_process_device *)adsm_homes[0].device;

	return (struct adsm_cluster_shared *)device->shared->extra;
}

/* Of the last launch. */
static const struct adsm_cluster_costs *costs(void)
{
	const struct adsm_process_device *device = (struct adsm_process_device *)adsm_homes[0].device;

	return &cluster()->costs[(atomic_load(&device->shared->queue.done) - 1) % ADSM_PROCESS_SLOTS];
}

static void launch(adsmKernel *kernel, float *const *arrays, bool stores)
{
	const adsmDim grid = { N_BLOCKS, 1, 1 }, block = { N_THREADS, 1, 1 };
	const int share = (int)((n_options + N_BLOCKS - 1) / N_BLOCKS);

	if (stores)
		bench_check(adsmCall(kernel, grid, bench_one, adsmPtr(arrays[3]), adsmPtr(arrays[4]),
				     adsmVal((int)(n_options * sizeof(float)))));
	else
		bench_check(adsmCall(kernel, grid, block, adsmPtr(arrays[0]), adsmPtr(arrays[1]), adsmPtr(arrays[2]),
				     adsmPtr(arrays[3]), adsmPtr(arrays[4]), adsmVal((int)n_options), adsmVal(share),
				     adsmVal(0.02f), adsmVal(0.30f)));
	bench_check(adsmSync());
}

static void launch_all(adsmKernel *kernel, float *const *arrays, bool stores, struct result *result)
{
	double launches[N_LAUNCHES], exchanges[N_LAUNCHES];

	for (int i = 0; i <= N_LAUNCHES; i++) {
		double start = bench_now_us();

		launch(kernel, arrays, stores);
		if (!i)
			continue;
		launches[i - 1] = (bench_now_us() - start) / 1e3;
		exchanges[i - 1] = (double)costs()->nodes[0].after.ns / 1e6;
	}
	memcpy(result->last, costs()->values, sizeof(result->last));
	result->launch_ms = bench_median(launches, N_LAUNCHES);
	result->exchange_ms = bench_median(exchanges, N_LAUNCHES);
}

/* FNV-1a, by words. */
static uint64_t hash(uint64_t hash, const float *array)
{
	for (size_t i = 0; i < n_options; i++) {
		uint32_t word;

		memcpy(&word, &array[i], sizeof(word));
		hash = (hash ^ word) * UINT64_C(0x100000001b3);
	}
	return hash;
}

static void run_cluster(const struct config *config, struct result *result)
{
	static const float least[] = { 5, 1, 0.25f }, span[] = { 25, 99, 9.75f };
	adsmKernel *kernel;
	adsmModule *module;
	float *arrays[5];

	bench_check(adsmOption("BACKEND", "cluster"));
	for (size_t i = 0; i < 3 && config->options[i][0]; i++)
		bench_check(adsmOption(config->options[i][0], config->options[i][1]));
	if (adsmInit()) {
		result->failed = true;
		fprintf(stderr, "adsm-bench: cluster: not measured: %s\n", adsmLastError());
		return;
	}
	if (!strcmp(config->name, "uffd") && strcmp(cluster()->nodes[0].tracker, "uffd")) {
		result->failed = true;
		fputs("adsm-bench: cluster: not measured: this system has no tracker uffd\n", stderr);
		bench_check(adsmShutdown());
		return;
	}
	module = config->stores ? bench_load("../kernels/bench.adsm", "store_pages", &kernel) :
		 bench_load("../../parboil/blackscholes.adsm", "BlackScholes", &kernel);
	for (size_t i = 0; i < 5; i++)
		arrays[i] = bench_shared_alloc(n_options * sizeof(float), 0);
	for (size_t i = 0; i < 3 && !config->stores; i++)
		for (size_t k = 0; k < n_options; k++)
			arrays[i][k] = least[i] + span[i] * (float)(k * (2 * i + 7919) % 65521) / 65521;
	launch_all(kernel, arrays, config->stores, result);
	if (!config->stores)
		result->written = hash(hash(UINT64_C(0xcbf29ce484222325), arrays[3]), arrays[4]);
	for (size_t i = 0; i < 5; i++)
		bench_check(adsmFree(arrays[i]));
	bench_check(adsmModuleUnload(module));
	bench_check(adsmShutdown());
}

/* False: there is no cluster here. */
static bool run(const struct config *config, struct result *result)
{
	int status = 1;
	pid_t child;

	fflush(NULL);
	child = fork();
	if (!child) {
		run_cluster(config, result);
		fflush(NULL);
		_exit(0);
	}
	if (child < 0 || waitpid(child, &status, 0) != child || status)
		bench_die("a run with %s has failed", config->name);
	return !result->failed;
}

/* All in turns, each first in another round: results[config * bench_repeat + round]. NULL: there is no cluster here. */
static struct result *run_all(const struct config *configs, size_t n)
{
	const size_t rounds = (size_t)bench_repeat;
	struct result *results = mmap(NULL, n * rounds * sizeof(*results), PROT_READ | PROT_WRITE,
				      MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (results == MAP_FAILED)
		bench_die("no memory");
	for (size_t round = 0; round < rounds; round++) {
		for (size_t i = 0; i < n; i++) {
			size_t config = (round + i) % n;

			if (!run(&configs[config], &results[config * rounds + round]))
				return NULL;
			if (results[config * rounds + round].written != results[0].written)
				bench_die("%s has other results than %s", configs[config].name, configs[0].name);
		}
	}
	return results;
}

/* ---- rows */

enum value { LAUNCH, EXCHANGE };

static double value_of(const struct result *result, enum value value)
{
	return value == LAUNCH ? result->launch_ms : result->exchange_ms;
}

/* The median over all rounds; @less: of the differences to another configuration, round by round. */
static double median(const struct result *results, size_t config, enum value value, const size_t *less)
{
	const size_t rounds = (size_t)bench_repeat;
	double *values = bench_host_alloc(rounds * sizeof(*values)), result;

	for (size_t i = 0; i < rounds; i++) {
		values[i] = value_of(&results[config * rounds + i], value);
		if (less)
			values[i] -= value_of(&results[*less * rounds + i], value);
	}
	result = bench_median(values, rounds);
	free(values);
	return result;
}

static void emit(const char *name, const struct result *of, double ours, double floor, const char *target)
{
	struct bench_row row = { .unit = "ms", .ours = ours, .floor = floor, .target = target };

	snprintf(row.name, sizeof(row.name), "%s", name);
	snprintf(row.note, sizeof(row.note), "%lu pages, %.1f MB sent",
		 (unsigned long)of->last[ADSM_CLUSTER_PAGES_MODIFIED], (double)of->last[ADSM_CLUSTER_BYTES] / 1e6);
	bench_emit(&row);
}

static bool measure_exchange(void)
{
	enum { PAPER, ALLGATHERV, LAZY, ADAPTIVE, N_CONFIGS };
	const struct config configs[N_CONFIGS] = {
		[PAPER] = { "the paper's broadcasts", false, { { "CLUSTER_NODES", nodes }, { "PAPER", "1" },
								{ "CLUSTER_LAZY", "1G" } } },
		[ALLGATHERV] = { "allgatherv", false, { { "CLUSTER_NODES", nodes }, { "CLUSTER_UPDATE", "eager" } } },
		[LAZY] = { "lazy", false, { { "CLUSTER_NODES", nodes }, { "CLUSTER_UPDATE", "lazy" } } },
		[ADAPTIVE] = { "adaptive", false, { { "CLUSTER_NODES", nodes }, { "CLUSTER_UPDATE", "adaptive" } } },
	};
	static const struct { size_t ours, floor; const char *target; } rows[] = {
		{ ALLGATHERV, PAPER, "" },
		{ LAZY, PAPER, "" },
		{ ADAPTIVE, LAZY, "<= 1.2" },
	};
	/* Only between hosts is there something to be won: on one, a network is memory. */
	const bool hosts = getenv("ADSM_CLUSTER_HOSTS");
	const struct result *results = run_all(configs, N_CONFIGS);

	for (size_t i = 0; results && i < 2 * sizeof(rows) / sizeof(rows[0]); i++) {
		const size_t ours = rows[i / 2].ours, floor = rows[i / 2].floor;
		const enum value value = i % 2 ? LAUNCH : EXCHANGE;
		char name[48];

		snprintf(name, sizeof(name), "%s, %s nodes, %s", value == LAUNCH ? "launch" : "exchange", nodes,
			 configs[ours].name);
		emit(name, &results[ours * (size_t)bench_repeat], median(results, ours, value, NULL),
		     median(results, floor, value, NULL), value == LAUNCH ? "" :
		     ours == LAZY && hosts ? "<= 0.33" : rows[i / 2].target);
	}
	return results;
}

static void measure_tracking(bool stores)
{
	enum { OFF, MPROTECT, UFFD, N_CONFIGS };
	const struct config configs[N_CONFIGS] = {
		[OFF] = { "not tracked", stores, { { "CLUSTER_NODES", "1" }, { "CLUSTER_TRACKER", "off" } } },
		[MPROTECT] = { "sigsegv", stores, { { "CLUSTER_NODES", "1" }, { "CLUSTER_TRACKER", "sigsegv" } } },
		[UFFD] = { "uffd", stores, { { "CLUSTER_NODES", "1" }, { "CLUSTER_TRACKER", "uffd" } } },
	};
	static const size_t off = OFF;
	const uint64_t pages = 2 * ((n_options * sizeof(float) + ADSM_PAGE_SIZE - 1) / ADSM_PAGE_SIZE);
	const struct result *results = run_all(configs, N_CONFIGS), *of = results;

	for (size_t config = MPROTECT; results && config < N_CONFIGS; config++) {
		char name[48];

		of = &results[config * (size_t)bench_repeat];
		if (of->last[ADSM_CLUSTER_WRITE_FAULTS] != pages || of->last[ADSM_CLUSTER_PAGES_MODIFIED] != pages)
			bench_die("%s saw %lu writes, of %lu pages", configs[config].name,
				  (unsigned long)of->last[ADSM_CLUSTER_WRITE_FAULTS], (unsigned long)pages);
		snprintf(name, sizeof(name), "launch, 1 node, %s", configs[config].name);
		/* Without one there is next to nothing to hold it against. */
		if (!stores)
			emit(name, of, median(results, config, LAUNCH, NULL), median(results, OFF, LAUNCH, NULL), "");
	}
	if (results && stores)
		emit("stores, 1 node, what uffd adds", of, median(results, UFFD, LAUNCH, &off),
		     median(results, MPROTECT, LAUNCH, &off), "<= 0.5");
}

void bench_cluster(void)
{
	nodes = getenv("ADSM_CLUSTER_NODES");
	if (!nodes)
		nodes = bench_smoke ? "2" : "4";
	n_options = bench_smoke ? 20000 : 5000000;
	/* Tracking has nothing to do with hosts. */
	if (measure_exchange() && !getenv("ADSM_CLUSTER_HOSTS")) {
		measure_tracking(false);
		measure_tracking(true);
	}
}
