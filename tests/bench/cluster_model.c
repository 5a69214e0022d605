/* SPDX-License-Identifier: MIT */
/*
 * cluster_model.c - virtual time: how long programs would take on clusters of 1 to 1024 nodes, computed from a record
 * of their blocks on one node (cluster_record.c). bench-cluster-model [--cores N] PROGRAM=RECORD[*TIMES]… writes CSV,
 * times in milliseconds. TIMES: how often the record's launches are repeated; what the host did before them happens
 * once.
 *
 * Real are a block's processor time, and the pages that it touches and writes. So is the exchange after each launch:
 * the nodes' own plan.c plans it, in node 0's processor time. The time of messages is a model. A message of n bytes
 * leaves its sender after o + n / B, one after the other, and arrives L later. A receiver takes o for each, and its
 * link B. Collective operations are the best known ones for their size. In a launch node 0 informs all nodes. Each node
 * runs its blocks, one on each free core, and waits for the pages that it fetches. Then node 0 learns of the end, and
 * pages are exchanged. These parts do not overlap. The first store to a page costs what the benchmarks "pages" and
 * "cluster" measure. One node alone tracks and exchanges nothing. The model has no traffic of others, no contention
 * within the network, and no caches and memory that cores share.
 */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/os.h"
#include "cluster/node/net/comm.h"
#include "cluster/node/exchange/plan.h"

#define MAX_NODES 1024
#define MAX_CORES 256
#define MAX_TIMES 1000000
#define THRESHOLD 2048			/* the paper's, pages */
#define PROBE_EVERY 8
#define MAX_READ_AHEAD 256		/* pages */
#define COPY 8000.0			/* bytes a µs, between memory and a message */
#define LETTER 256.0			/* bytes of a launch beside its lists */

struct block {
	double us;
	struct adsm_runs touched, wrote;
};

struct launch {
	bool alone;
	struct adsm_runs added, removed, written, read_only;
	struct block *blocks;
	size_t n_blocks, n_announced;	/* n_announced: by the launch's own line */
};

struct record {
	struct launch *launches;
	size_t n;
	uint64_t n_pages;		/* none has this number, or a higher one */
};

/* A cluster's nodes and its network: µs, µs, bytes a µs, and how many times slower a core is than the recording one. */
static const struct network { const char *name; double latency, overhead, bandwidth, slower; } networks[] = {
	{ "1Gbit", 50, 5, 118, 1 },
	{ "100Gbit", 1.5, 0.5, 12000, 1 },
	/* The paper's: InfiniBand, and cores so slow that BlackScholes gains there what it gained. */
	{ "2011", 5, 1, 1500, 10 },
};
#define N_NETWORKS (sizeof(networks) / sizeof(networks[0]))

static const struct config {
	const char *name;
	enum adsm_update update;
	bool paper;			/* broadcasts, and a sum over all pages */
	double store_us;		/* the first store to a page, twin included where there is one */
} configs[] = {
	{ "paper", ADSM_UPDATE_EAGER, true, 5 },
	{ "paper-lazy", ADSM_UPDATE_THRESHOLD, true, 5 },
	{ "eager", ADSM_UPDATE_EAGER, false, 1 },
	{ "lazy", ADSM_UPDATE_LAZY, false, 1 },
	{ "adaptive", ADSM_UPDATE_ADAPTIVE, false, 1 },
};
#define N_CONFIGS (sizeof(configs) / sizeof(configs[0]))

/* Where a program's time goes, by network, µs. */
struct times { double control, compute, fetch, plan, exchange; };

struct counts { uint64_t single, multi, write_faults, fetched, pushed, bytes; };

static unsigned cores = 8;		/* of a node */

/* What plan.c and runs.c want of a node. */
struct adsm_comm adsm_comm;

_Noreturn void adsm_comm_fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs("bench-cluster-model: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	exit(1);
}

/* ---- reading records */

static void *grow(void *v, size_t n, size_t size)
{
	/* Doubled at each power of two. */
	return n & (n - 1) ? v : adsm_node_memory(v, (n ? 2 * n : 1) * size);
}

static struct launch *new_launch(struct record *record)
{
	record->launches = grow(record->launches, record->n, sizeof(*record->launches));
	record->launches[record->n] = (struct launch){ .alone = false };
	return &record->launches[record->n++];
}

static struct block *new_block(struct launch *launch)
{
	launch->blocks = grow(launch->blocks, launch->n_blocks, sizeof(*launch->blocks));
	launch->blocks[launch->n_blocks] = (struct block){ .us = 0 };
	return &launch->blocks[launch->n_blocks++];
}

static struct adsm_runs *runs_of(struct launch *launch, struct block *block, char what)
{
	switch (what) {
	case 'a': return &launch->added;
	case 'r': return &launch->removed;
	case 'w': return &launch->written;
	case 'o': return &launch->read_only;
	case 't': return block ? &block->touched : NULL;
	case 'm': return block ? &block->wrote : NULL;
	default: return NULL;
	}
}

/* The record of a process that was ended lacks blocks. */
static void check_blocks(const char *path, const struct record *record)
{
	const struct launch *last = record->n ? &record->launches[record->n - 1] : NULL;

	if (last && last->n_blocks != last->n_announced)
		adsm_comm_fail("%s: launch %zu has %zu blocks, not %zu", path, record->n, last->n_blocks,
			       last->n_announced);
}

static struct record read_record(const char *path)
{
	struct record record = { .n = 0 };
	struct launch *launch = NULL;
	struct block *block = NULL;
	FILE *in = fopen(path, "re");
	unsigned long a, b, line = 0;
	char text[256], what;

	if (!in)
		adsm_comm_fail("%s: cannot be read", path);
	while (fgets(text, sizeof(text), in)) {
		struct adsm_runs *runs;

		line++;
		if (sscanf(text, "launch %*s %lu %lu", &a, &b) == 2) {
			check_blocks(path, &record);
			launch = new_launch(&record);
			launch->n_announced = a;
			launch->alone = b;
			block = NULL;
		} else if (launch && sscanf(text, "b %lu", &a) == 1) {
			block = new_block(launch);
			block->us = (double)a / 1e3;
		} else if (launch && sscanf(text, "%c %lu %lu", &what, &a, &b) == 3 &&
			   (runs = runs_of(launch, block, what))) {
			adsm_runs_add(runs, a, b);
			if (a + b > record.n_pages)
				record.n_pages = a + b;
		} else {
			adsm_comm_fail("%s: line %lu is none of a record", path, line);
		}
	}
	fclose(in);
	check_blocks(path, &record);
	if (!record.n)
		adsm_comm_fail("%s: no launch", path);
	return record;
}

static void free_record(struct record *record)
{
	for (size_t i = 0; i < record->n; i++) {
		struct launch *launch = &record->launches[i];

		for (size_t k = 0; k < launch->n_blocks; k++) {
			free(launch->blocks[k].touched.v);
			free(launch->blocks[k].wrote.v);
		}
		free(launch->blocks);
		free(launch->added.v);
		free(launch->removed.v);
		free(launch->written.v);
		free(launch->read_only.v);
	}
	free(record->launches);
}

/* ---- one cluster */

static struct {
	const struct config *config;
	size_t n;			/* nodes */
	size_t words;			/* of a set of nodes */
	/* By page: nodes that have it; nodes that got it unmapped, and have not touched it since. */
	uint64_t *valid, *untouched;
	uint32_t *touched_in, serial;	/* by page: the last part of a launch that touched it, and that wrote it */
	uint32_t *stored;
	uint32_t *writers;		/* by page, of this launch */
	struct adsm_runs *wrote;	/* by node */
	struct adsm_segments segments;
	uint64_t global;		/* pages of objects */
	struct times times[N_NETWORKS];
	struct counts counts;		/* of the last launch */
} sim;

static uint64_t *set_of(uint64_t *sets, uint64_t page)
{
	return sets + page * sim.words;
}

static void clear_sets(const struct adsm_runs *runs)
{
	for (size_t i = 0; i < runs->n; i++) {
		memset(set_of(sim.valid, runs->v[i].first), 0, runs->v[i].n * sim.words * sizeof(*sim.valid));
		memset(set_of(sim.untouched, runs->v[i].first), 0, runs->v[i].n * sim.words * sizeof(*sim.untouched));
	}
}

static double log2_up(size_t n)
{
	return ceil(log2((double)n));
}

static double least(double a, double b)
{
	return a < b ? a : b;
}

/* ---- what an exchange costs */

/* All nodes get what each has; @most is what one has, @all what all have together. */
static double all_gather(const struct network *net, double most, double all)
{
	const double hop = net->latency + net->overhead, n = (double)sim.n;

	return least((n - 1) * (hop + most / net->bandwidth), log2_up(sim.n) * hop + all / net->bandwidth);
}

static double broadcast(const struct network *net, double bytes)
{
	const double hop = net->latency + net->overhead, n = (double)sim.n;

	return least(log2_up(sim.n) * (hop + bytes / net->bandwidth),
		     (log2_up(sim.n) + n - 1) * hop + 2 * (n - 1) / n * bytes / net->bandwidth);
}

static double all_reduce(const struct network *net, double bytes)
{
	const double hop = net->latency + net->overhead, n = (double)sim.n;

	return least(log2_up(sim.n) * (hop + bytes / net->bandwidth),
		     2 * log2_up(sim.n) * hop + 2 * (n - 1) / n * bytes / net->bandwidth);
}

/* Bytes by node, of one exchange. */
struct traffic {
	double all[MAX_NODES];		/* that all others get */
	double in[MAX_NODES], out[MAX_NODES];	/* between two */
	unsigned n_in[MAX_NODES], n_out[MAX_NODES];
	double diffs;			/* to node 0, of pages that several wrote */
	unsigned n_diffs;
	double lists;			/* of what was written */
	double bytes;			/* delivered */
};

static void add_pairs(struct traffic *traffic, const struct adsm_segment *segment, bool *pairs)
{
	const double bytes = (double)segment->n * ADSM_PAGE_SIZE;

	for (size_t r = 0; r < sim.n; r++) {
		if (r == segment->writer || !adsm_segment_goes_to(segment, (int)r))
			continue;
		traffic->in[r] += bytes;
		traffic->out[segment->writer] += bytes;
		traffic->bytes += bytes;
		if (!pairs[segment->writer * sim.n + r]) {
			pairs[segment->writer * sim.n + r] = true;
			traffic->n_in[r]++;
			traffic->n_out[segment->writer]++;
		}
	}
}

static void add_diffs(struct traffic *traffic)
{
	for (size_t r = 0; r < sim.n; r++) {
		double before = traffic->diffs;

		traffic->lists += (double)sim.wrote[r].n * sizeof(struct adsm_run);
		for (size_t i = 0; r && i < sim.wrote[r].n; i++) {
			const struct adsm_run *run = &sim.wrote[r].v[i];

			for (uint64_t page = run->first; page < run->first + run->n; page++)
				traffic->diffs += sim.writers[page] > 1 ? ADSM_PAGE_SIZE : 0;
		}
		traffic->n_diffs += traffic->diffs > before;
	}
	traffic->bytes += traffic->diffs;
}

static double collective_us(const struct network *net, const struct traffic *traffic)
{
	double most = 0, all = 0, us = 0;

	for (size_t r = 0; r < sim.n; r++) {
		all += traffic->all[r];
		if (traffic->all[r] > most)
			most = traffic->all[r];
		if (sim.config->paper && traffic->all[r] > 0)
			us += broadcast(net, traffic->all[r]);
	}
	if (all <= 0)
		return 0;
	return all / COPY + (sim.config->paper ? us : all_gather(net, most, all));
}

static double pairs_us(const struct network *net, const struct traffic *traffic)
{
	double most = 0;

	for (size_t r = 0; r < sim.n; r++) {
		double bytes = traffic->in[r] > traffic->out[r] ? traffic->in[r] : traffic->out[r];
		double us = bytes / net->bandwidth + net->overhead * (traffic->n_in[r] + traffic->n_out[r]);

		if (us > most)
			most = us;
	}
	return most > 0 ? most + net->latency : 0;
}

static double exchange_us(const struct network *net, const struct traffic *traffic, bool of_kernel)
{
	double us = collective_us(net, traffic) + pairs_us(net, traffic);

	if (traffic->n_diffs)
		us += net->latency + traffic->n_diffs * net->overhead + traffic->diffs / net->bandwidth +
			traffic->diffs / COPY;
	if (of_kernel && sim.config->paper)
		us += all_reduce(net, 2.0 * (double)sim.global) + all_gather(net, 4, 4.0 * (double)sim.n) +
			all_gather(net, traffic->lists, traffic->lists);
	return us;
}

/* Pages change hands. */
static void apply(void)
{
	for (size_t i = 0; i < sim.segments.n; i++) {
		const struct adsm_segment *s = &sim.segments.v[i];
		const uint64_t get = s->flags & ADSM_SEGMENT_ALL ? UINT64_MAX : s->readers;

		for (uint64_t page = s->first; page < s->first + s->n; page++) {
			uint64_t *valid = set_of(sim.valid, page), *untouched = set_of(sim.untouched, page);

			for (size_t w = 0; w < sim.words; w++) {
				valid[w] = get;
				untouched[w] = s->flags & ADSM_SEGMENT_PROBE ? get : 0;
			}
			if (!(s->flags & ADSM_SEGMENT_SEVERAL)) {
				valid[s->writer / 64] |= UINT64_C(1) << s->writer % 64;
				untouched[s->writer / 64] &= ~(UINT64_C(1) << s->writer % 64);
			}
		}
	}
}

/* The exchange of what is in the segments: what a kernel wrote, or the host. */
static void exchange(bool of_kernel)
{
	static struct traffic traffic;
	static bool *pairs;

	if (!pairs)
		pairs = adsm_node_table((size_t)MAX_NODES * MAX_NODES);
	memset(&traffic, 0, sizeof(traffic));
	memset(pairs, 0, sim.n * sim.n);
	for (size_t i = 0; i < sim.segments.n; i++) {
		const struct adsm_segment *s = &sim.segments.v[i];

		if (s->flags & ADSM_SEGMENT_ALL) {
			traffic.all[s->writer] += (double)s->n * ADSM_PAGE_SIZE;
			traffic.bytes += (double)s->n * ADSM_PAGE_SIZE * (double)(sim.n - 1);
		} else {
			add_pairs(&traffic, s, pairs);
		}
	}
	if (of_kernel)
		add_diffs(&traffic);
	for (size_t k = 0; k < N_NETWORKS; k++)
		sim.times[k].exchange += exchange_us(&networks[k], &traffic, of_kernel);
	sim.counts.bytes += (uint64_t)traffic.bytes;
	apply();
}

/* ---- a launch */

/* One node's part. */
struct part {
	double compute[N_NETWORKS];
	double requests;		/* for pages, as many as are one after the other */
	double pages;
};

/* Pages in a row that a node lacks are asked for in runs that double. */
static double requests_of(uint64_t row)
{
	double n = 0;

	for (uint64_t ahead = 1; row; n++) {
		row -= row < ahead ? row : ahead;
		ahead = ahead < MAX_READ_AHEAD ? 2 * ahead : ahead;
	}
	return n;
}

static void touch(size_t r, const struct adsm_runs *runs, struct part *part)
{
	const uint64_t bit = UINT64_C(1) << r % 64;
	uint64_t row = 0;

	for (size_t i = 0; i < runs->n; i++) {
		for (uint64_t page = runs->v[i].first; page < runs->v[i].first + runs->v[i].n; page++) {
			uint64_t *valid = set_of(sim.valid, page) + r / 64;
			uint64_t *untouched = set_of(sim.untouched, page) + r / 64;

			if (sim.touched_in[page] == sim.serial)
				continue;
			sim.touched_in[page] = sim.serial;
			if (*valid & bit && !(*untouched & bit)) {
				part->requests += requests_of(row);
				row = 0;
				continue;
			}
			adsm_plan_read((int)r, (struct adsm_run){ page, 1 });
			if (!(*valid & bit)) {
				row++;
				part->pages++;
			}
			*valid |= bit;
			*untouched &= ~bit;
		}
		part->requests += requests_of(row);
		row = 0;
	}
}

/* How many pages are stored to for the first time. */
static unsigned store(size_t r, const struct adsm_runs *runs)
{
	unsigned n = 0;

	for (size_t i = 0; i < runs->n; i++) {
		for (uint64_t page = runs->v[i].first; page < runs->v[i].first + runs->v[i].n; page++) {
			if (sim.stored[page] == sim.serial)
				continue;
			sim.stored[page] = sim.serial;
			sim.writers[page]++;
			adsm_runs_insert(&sim.wrote[r], (struct adsm_run){ page, 1 });
			n++;
		}
	}
	return n;
}

/* A block, as soon as a core is free. */
static void run_block(const struct block *block, unsigned stores, double free_at[N_NETWORKS][MAX_CORES],
		      struct part *part)
{
	for (size_t k = 0; k < N_NETWORKS; k++) {
		double *at = free_at[k];
		unsigned core = 0;

		for (unsigned c = 1; c < cores; c++)
			core = at[c] < at[core] ? c : core;
		at[core] += block->us * networks[k].slower + stores * sim.config->store_us;
		if (at[core] > part->compute[k])
			part->compute[k] = at[core];
	}
}

static struct part run_part(const struct launch *launch, size_t r)
{
	const size_t n = launch->n_blocks;
	const size_t first = launch->alone ? 0 : n * r / sim.n;
	const size_t end = launch->alone ? (r ? 0 : n) : n * (r + 1) / sim.n;
	double free_at[N_NETWORKS][MAX_CORES] = { 0 };
	struct part part = { .pages = 0 };

	sim.serial++;
	adsm_runs_clear(&sim.wrote[r]);
	for (size_t i = first; i < end; i++) {
		const struct block *block = &launch->blocks[i];
		unsigned stores = 0;

		if (sim.n > 1)
			stores = store(r, &block->wrote);
		if (r)
			touch(r, &block->touched, &part);
		sim.counts.write_faults += stores;
		run_block(block, stores, free_at, &part);
	}
	sim.counts.fetched += (uint64_t)part.pages;
	return part;
}

static void run_parts(const struct launch *launch)
{
	double most[N_NETWORKS] = { 0 }, served[N_NETWORKS] = { 0 }, until[N_NETWORKS] = { 0 };

	for (size_t r = 0; r < sim.n; r++) {
		const struct part part = run_part(launch, r);

		for (size_t k = 0; k < N_NETWORKS; k++) {
			const struct network *net = &networks[k];
			double bytes_us = part.pages * ADSM_PAGE_SIZE / net->bandwidth;
			/* Cores wait for their own pages, side by side; there is one link. */
			double us = part.compute[k] + bytes_us +
				2 * part.requests * (net->latency + net->overhead) / cores;

			served[k] += part.requests * net->overhead + bytes_us;
			most[k] = part.compute[k] > most[k] ? part.compute[k] : most[k];
			until[k] = us > until[k] ? us : until[k];
		}
	}
	for (size_t k = 0; k < N_NETWORKS; k++) {
		/* Node 0 has one link, too. */
		double end = served[k] > until[k] ? served[k] : until[k];

		sim.times[k].compute += most[k];
		sim.times[k].fetch += end - most[k];
	}
}

/* Letters of node 0 to all others, or theirs to it. */
static void letters(double bytes_each)
{
	for (size_t k = 0; k < N_NETWORKS; k++)
		sim.times[k].control += networks[k].latency +
			(double)(sim.n - 1) * (networks[k].overhead + bytes_each / networks[k].bandwidth);
}

static double processor_us(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (double)time.tv_sec * 1e6 + (double)time.tv_nsec * 1e-3;
}

static void plan_exchange(void)
{
	struct adsm_plan_counts counts;
	double start = processor_us();

	adsm_plan_kernel(sim.wrote, &sim.segments, &counts);
	start = processor_us() - start;
	for (size_t k = 0; k < N_NETWORKS; k++)
		sim.times[k].plan += start;
	sim.counts.single = counts.single;
	sim.counts.multi = counts.multi;
	sim.counts.pushed = counts.pushed;
}

/* What the host has done, told with the launch. */
static void begin_launch(const struct launch *launch)
{
	for (size_t i = 0; i < launch->removed.n; i++)
		adsm_plan_forget(launch->removed.v[i]);
	for (size_t i = 0; i < launch->added.n; i++)
		adsm_plan_forget(launch->added.v[i]);
	clear_sets(&launch->removed);
	clear_sets(&launch->added);
	sim.global += adsm_runs_pages(launch->added.v, launch->added.n);
	sim.global -= adsm_runs_pages(launch->removed.v, launch->removed.n);
	adsm_plan_host(launch->written.v, launch->written.n, &sim.segments);
	letters(LETTER + (double)(launch->added.n + launch->removed.n + launch->read_only.n) * sizeof(struct adsm_run) +
		(double)(sim.segments.n * sizeof(*sim.segments.v)));
	exchange(false);
}

static void run_launch(const struct launch *launch, bool again)
{
	double lists = 0;

	sim.counts = (struct counts){ 0 };
	if (sim.n == 1) {
		run_parts(launch);
		return;
	}
	if (again)
		letters(LETTER);
	else
		begin_launch(launch);
	run_parts(launch);
	for (size_t r = 0; r < sim.n; r++)
		lists += (double)sim.wrote[r].n * sizeof(struct adsm_run);
	letters(64 + lists / (double)sim.n);
	plan_exchange();
	letters((double)(sim.segments.n * sizeof(*sim.segments.v)));
	exchange(true);
	for (size_t r = 0; r < sim.n; r++)
		for (size_t i = 0; i < sim.wrote[r].n; i++)
			memset(sim.writers + sim.wrote[r].v[i].first, 0, sim.wrote[r].v[i].n * sizeof(*sim.writers));
}

static void simulate(const struct record *record, unsigned times, const struct config *config, size_t n)
{
	const size_t pages = record->n_pages;

	free(sim.valid);
	free(sim.untouched);
	free(sim.touched_in);
	free(sim.stored);
	free(sim.writers);
	for (size_t r = 0; r < sim.n; r++)
		free(sim.wrote[r].v);
	free(sim.wrote);
	free(sim.segments.v);
	memset(&sim, 0, sizeof(sim));
	sim.config = config;
	sim.n = n;
	sim.words = (n + 63) / 64;
	sim.valid = adsm_node_table(pages * sim.words * sizeof(*sim.valid));
	sim.untouched = adsm_node_table(pages * sim.words * sizeof(*sim.untouched));
	sim.touched_in = adsm_node_table(pages * sizeof(*sim.touched_in));
	sim.stored = adsm_node_table(pages * sizeof(*sim.stored));
	sim.writers = adsm_node_table(pages * sizeof(*sim.writers));
	sim.wrote = adsm_node_table(n * sizeof(*sim.wrote));
	adsm_comm.n = (int)n;
	adsm_plan_start((int)n, pages, config->update, THRESHOLD, PROBE_EVERY);
	for (unsigned k = 0; k < times; k++)
		for (size_t i = 0; i < record->n; i++)
			run_launch(&record->launches[i], k);
}

/* ---- the table */

static double total(const struct times *times)
{
	return times->control + times->compute + times->fetch + times->plan + times->exchange;
}

static void model(const char *program, const struct record *record, unsigned times)
{
	double alone[N_NETWORKS];

	for (size_t w = 0; w < N_CONFIGS; w++) {
		for (size_t n = 1; n <= MAX_NODES; n += n < 8 ? 1 : n) {
			simulate(record, times, &configs[w], n);
			for (size_t k = 0; k < N_NETWORKS; k++) {
				const struct times *t = &sim.times[k];
				const struct counts *c = &sim.counts;

				if (n == 1)
					alone[k] = total(t);
				printf("%s,%s,%s,%zu,%.3f,%.3f", program, networks[k].name, configs[w].name, n,
				       total(t) / 1e3, alone[k] / total(t));
				printf(",%.3f,%.3f,%.3f,%.3f,%.3f", t->compute / 1e3, t->control / 1e3, t->fetch / 1e3,
				       t->plan / 1e3, t->exchange / 1e3);
				printf(",%lu,%lu,%lu,%lu,%lu,%lu\n", (unsigned long)c->single, (unsigned long)c->multi,
				       (unsigned long)c->write_faults, (unsigned long)c->fetched,
				       (unsigned long)c->pushed, (unsigned long)c->bytes);
			}
		}
	}
}

/* 0: it is no number from 1 to @most. */
static unsigned number(const char *text, unsigned long most)
{
	unsigned long value;
	char *end;

	errno = 0;
	value = strtoul(text, &end, 10);
	return *text >= '0' && *text <= '9' && !*end && !errno && value <= most ? (unsigned)value : 0;
}

int main(int argc, char **argv)
{
	int i = 1;

	if (argc > 2 && !strcmp(argv[1], "--cores")) {
		cores = number(argv[2], MAX_CORES);
		i = 3;
	}
	if (i >= argc || !cores)
		adsm_comm_fail("usage: bench-cluster-model [--cores 1…256] PROGRAM=RECORD[*TIMES]…");
	printf("program,network,update,nodes,total,speedup,compute,control,fetch,plan,exchange,"
	       "single,multi,write_faults,fetched,pushed,bytes\n");
	for (; i < argc; i++) {
		char *path = strchr(argv[i], '='), *times = path ? strrchr(path, '*') : NULL;
		const unsigned n = times ? number(times + 1, MAX_TIMES) : 1;
		struct record record;

		if (!path || !n)
			adsm_comm_fail("PROGRAM=RECORD or PROGRAM=RECORD*TIMES, not '%s'", argv[i]);
		*path = '\0';
		if (times)
			*times = '\0';
		record = read_record(path + 1);
		model(argv[i], &record, n);
		free_record(&record);
	}
	return fflush(stdout) ? 1 : 0;
}
