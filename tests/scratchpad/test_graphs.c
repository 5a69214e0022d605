/* SPDX-License-Identifier: MIT */
/*
 * test_graphs.c - random call graphs, with recursion, of partitions of different sizes: their code is really loaded, in
 * buffers of 1 to 8 sub-buffers, by both policies, with a victim entry and without. What comes out is what ordinary
 * calls of the same functions give. With TEST_FULL=1 there are many more graphs; test_graphs IMAGE SEED runs one.
 */
#include "../check.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define GRAPH_FUNCTION(k)
#include "graphs.h"
#include "scratchpad/device/partition.h"

enum { COLUMNS = 16, MAX_NODES = 48, MAX_CALLS = 4, MAX_DEPTH = 24 };

typedef unsigned long graph_function(const struct trace_node *node, unsigned long value);

#define ADDRESS(k) [k] = graph_##k,
static graph_function *const by_call[GRAPH_PARTITIONS + 1] = { GRAPH_ALL(ADDRESS) };

/* ---- graphs */

static struct trace_node nodes[MAX_NODES];
static const struct trace_node *calls[MAX_NODES][MAX_CALLS];
static unsigned n_nodes;
static uint64_t state;

static unsigned draw(unsigned n)
{
	uint64_t z = state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return (unsigned)((z ^ (z >> 31)) % n);
}

/* @path: the partitions of its callers. One in three calls is recursion: of one of these. */
static unsigned make_node(unsigned *path, unsigned depth)
{
	const unsigned self = n_nodes++;
	const unsigned n = depth + 1 < MAX_DEPTH ? draw(MAX_CALLS + 1) : 0;
	struct trace_node *node = &nodes[self];

	node->who = depth && !draw(3) ? path[draw(depth)] : 1 + draw(GRAPH_PARTITIONS);
	node->times = 1 + !draw(8);
	node->n = 0;
	node->calls = calls[self];
	path[depth] = node->who;
	while (node->n < n && n_nodes < MAX_NODES) {
		const unsigned called = make_node(path, depth + 1);

		calls[self][node->n++] = &nodes[called];
	}
	return self;
}

/* How many calls of other partitions it makes, and its callees do; one of its own is none. */
static uint64_t calls_across(const struct trace_node *node)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < node->n; i++)
		sum += (node->calls[i]->who != node->who) + calls_across(node->calls[i]);
	return node->times * sum;
}

/* ---- managers */

static struct adsm_image image;
static char text[ADSM_PARTITION_TEXT];
static unsigned long seed;
static unsigned column;

static void fail(void *context, const char *why)
{
	FAIL("graph %lu, column %u: %s", seed, column, why);
}

/* Code that is not all there crashes; snprintf() is no worse in the handler than the crash is. */
static void crashed(int sig)
{
	char line[160];
	int n = snprintf(line, sizeof(line), "signal %d in graph %lu, column %u\n", sig, seed, column);

	_exit(write(STDERR_FILENO, line, (size_t)n) == n ? 1 : 2);
}

static struct adsm_partitions *create(unsigned of_column)
{
	const struct adsm_partition_config config = {
		.image = &image, .n_buffers = 1u << of_column / 4, .victim = of_column & 1, .fail = fail,
		.policy = of_column & 2 ? ADSM_POLICY_LRU : ADSM_POLICY_MODULUS,
	};
	struct adsm_partitions *partitions;

	CHECKF(!adsm_partition_create(&config, &partitions, text), "%s", text);
	return partitions;
}

static struct {
	uint64_t moves, victims;
} totals;

static void run_graph(struct adsm_partitions *partitions, const struct trace_node *root, unsigned long want)
{
	char name[24];
	graph_function *function;
	struct adsm_partition_counters counters;
	unsigned long got;

	snprintf(name, sizeof(name), "graph_%u", root->who);
	function = (graph_function *)(uintptr_t)adsm_partition_function(partitions, name);
	CHECKF(function, "%s", name);
	/* In one of two what others have left is still loaded. */
	if (draw(2))
		adsm_partition_empty(partitions);
	else
		adsm_partition_count(partitions);
	got = function(root, seed);
	counters = adsm_partition_counters(partitions);
	CHECKF(got == want, "graph %lu, column %u: %lx, not %lx", seed, column, got, want);
	CHECKF(counters.calls == 1 + calls_across(root), "graph %lu, column %u: %lu calls", seed, column,
	       (unsigned long)counters.calls);
	totals.moves += counters.moves;
	totals.victims += counters.victim_hits;
}

static void run_seed(struct adsm_partitions **managers)
{
	unsigned path[MAX_DEPTH];
	const struct trace_node *root = &nodes[0];
	unsigned long want;

	state = seed;
	n_nodes = 0;
	make_node(path, 0);
	if (calls_across(root) > 150)
		return;
	want = by_call[root->who](root, seed);
	for (column = 0; column < COLUMNS; column++)
		run_graph(managers[column], root, want);
}

static void read_image(const char *path)
{
	const int fd = open(path, O_RDONLY);
	struct stat stat;
	void *bytes;

	CHECKF(fd >= 0 && !fstat(fd, &stat), "%s", path);
	bytes = mmap(NULL, (size_t)stat.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	CHECK(bytes != MAP_FAILED);
	close(fd);
	CHECKF(!adsm_image_check(bytes, (size_t)stat.st_size, &image, text, sizeof(text)), "%s", text);
}

int main(int argc, char **argv)
{
	const unsigned long n = getenv("TEST_FULL") ? 20000 : 400;
	struct adsm_partitions *managers[COLUMNS];

	read_image(argv[1]);
	CHECK_EQ(image.header->n_partitions, GRAPH_PARTITIONS);
	signal(SIGSEGV, crashed);
	signal(SIGILL, crashed);
	signal(SIGBUS, crashed);
	signal(SIGTRAP, crashed);
	for (column = 0; column < COLUMNS; column++)
		managers[column] = create(column);
	if (argc > 2) {
		seed = strtoul(argv[2], NULL, 10);
		run_seed(managers);
		return 0;
	}
	for (seed = 1; seed <= n; seed++)
		run_seed(managers);
	/* What is easy to do wrong has been done often. */
	CHECKF(totals.moves > n && totals.victims > n, "%lu moves, %lu from the victim entry",
	       (unsigned long)totals.moves, (unsigned long)totals.victims);
	for (column = 0; column < COLUMNS; column++)
		adsm_partition_destroy(managers[column]);
	return 0;
}
