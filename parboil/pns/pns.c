/* SPDX-License-Identifier: MIT */
/*
 * pns.c - simulation of a Petri net: sizes, output, reference, verification.
 *
 * A trajectory fires transitions drawn at random, in batches; over many of them the variance of the marks and the
 * largest mark have a mean and a variance. In the original, what threads of a batch do to each other is a race, and the
 * last seed is the time of day. Here a transition drawn twice in a batch fires once, no trajectory sees another's
 * stamps, and all seeds are fixed: results are exact.
 */
#include "pns.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static const char *const size_names[] = { "small", "medium", "paper", "n64", NULL };
static const struct { int n, steps, n_trajectories, per_launch; } sizes[] = {
	{ 200, 2000, 64, 2 },
	{ 1000, 2000, 64, 8 },
	{ 2000, 2000, 2000, 18 },
	{ 64, 2000, 32, 4 },
};

/* Up to this size of a launch its marks are verified as well. */
#define CHECKED_BYTES ((size_t)100 << 20)

void pns_open(struct pns *ret_pns, const struct pb_run *run)
{
	struct pns *pns = ret_pns;

	pns->n = sizes[run->size].n;
	pns->steps = sizes[run->size].steps;
	pns->n_trajectories = sizes[run->size].n_trajectories;
	pns->per_launch = sizes[run->size].per_launch;
	pns->n_places = 2 * (size_t)pns->n * (size_t)pns->n;
	pns->bytes = (size_t)pns->per_launch * pns->n_places * (1 + sizeof(int32_t));
	pns->scale = 1.0f / (float)pns->n_places;
	pns->rewards = pb_host_alloc((size_t)pns->n_trajectories * sizeof(*pns->rewards));
}

void pns_close(struct pns *pns)
{
	free(pns->rewards);
}

int pns_launch(const struct pns *pns, int base)
{
	int left = pns->n_trajectories - base;

	return left < pns->per_launch ? left : pns->per_launch;
}

void pns_collect(struct pns *pns, int base, const float *vars, const int *maxs)
{
	for (int b = 0; b < pns_launch(pns, base); b++)
		pns->rewards[base + b] = (struct pns_reward){ vars[b], maxs[b] };
}

void pns_write(struct pns *pns, struct pb_run *run)
{
	double n = pns->n_trajectories, *numbers = pns->numbers;
	double var = 0, var_squares = 0, max = 0, max_squares = 0;
	FILE *out;

	for (int i = 0; i < pns->n_trajectories; i++) {
		double v = pns->rewards[i].var, m = pns->rewards[i].max;

		var += v;
		var_squares += v * v;
		max += m;
		max_squares += m * m;
	}
	numbers[PNS_MEAN_VAR] = var / n;
	numbers[PNS_VAR_VAR] = var_squares / n - var / n * (var / n);
	numbers[PNS_MEAN_MAX] = max / n;
	numbers[PNS_VAR_MAX] = max_squares / n - max / n * (max / n);
	out = pb_open(run->output, "w");
	pb_io_start(run);
	for (int i = 0; i < PNS_N_NUMBERS; i++)
		fprintf(out, "%f%c", numbers[i], i + 1 < PNS_N_NUMBERS ? ' ' : '\n');
	pb_io_stop(run);
	pb_close(out, run->output);
}

/*
 * ---- the reference: one transition after the other. No place loses or gets more than one token in a batch, and what
 * the transitions of a batch do can be done in any order once it is known which of them fire.
 */

enum { MT_WORDS = 624, MT_OFFSET = 397 };

struct transition { size_t left, above, right, below; };	/* its places */

static struct transition transition(const struct pns_net *net, uint32_t v)
{
	size_t columns = (size_t)net->n, rows = 2 * columns, row = v / columns, column = v % columns;
	size_t shifted = (column + row % 2) % columns;

	return (struct transition){
		.left = row * columns + column,
		.above = (row + rows - 1) % rows * columns + shifted,
		.right = row * columns + (column + 1) % columns,
		.below = (row + 1) % rows * columns + shifted,
	};
}

static void add(struct pns_net *net, size_t place, int tokens)
{
	net->marks[place] += tokens;
	net->touched[net->n_touched++] = (uint32_t)place;
}

/* Those whose row has the parity of the stamp come first; each fires unless one before has taken from its places. */
static void batch(struct pns_net *net, const uint32_t *drawn, size_t n_drawn, int stamp)
{
	struct transition enabled[2][PNS_THREADS];
	size_t n_enabled[2] = { 0 };

	for (size_t i = 0; i < n_drawn; i++) {
		struct transition t = transition(net, drawn[i]);
		int late = (drawn[i] / (uint32_t)net->n ^ (uint32_t)stamp) & 1;

		if (net->marks[t.left] && net->marks[t.above])
			enabled[late][n_enabled[late]++] = t;
	}
	net->batch++;
	for (int late = 0; late < 2; late++) {
		for (size_t i = 0; i < n_enabled[late]; i++) {
			struct transition t = enabled[late][i];

			if (net->claims[t.left] == net->batch || net->claims[t.above] == net->batch)
				continue;
			net->claims[t.left] = net->claims[t.above] = net->batch;
			add(net, t.left, -1);
			add(net, t.above, -1);
			add(net, t.right, 1);
			add(net, t.below, 1);
		}
	}
}

void pns_net_init(struct pns_net *ret_net, const struct pns *pns)
{
	struct pns_net *net = ret_net;
	size_t n_rounds = ((size_t)pns->steps + MT_WORDS / 2 - 1) / (MT_WORDS / 2);

	*net = (struct pns_net){ .n = pns->n, .n_places = pns->n_places };
	net->marks = pb_host_alloc(net->n_places);
	memset(net->marks, 1, net->n_places);
	net->claims = pb_host_alloc(net->n_places * sizeof(*net->claims));
	memset(net->claims, 0, net->n_places * sizeof(*net->claims));
	net->touched = pb_host_alloc(n_rounds * MT_WORDS * 4 * sizeof(*net->touched));
}

void pns_net_finish(struct pns_net *net)
{
	free(net->marks);
	free(net->claims);
	free(net->touched);
}

void pns_net_run(struct pns_net *net, const struct pns *pns, int i)
{
	static const int stamps[] = { 7, 11, 13 };
	int b = i % pns->per_launch, base = i - b;
	uint32_t mt[MT_WORDS], drawn[MT_WORDS];

	mt[0] = 5489u * (uint32_t)(base + 1) + (uint32_t)b;
	for (uint32_t k = 1; k < MT_WORDS; k++)
		mt[k] = UINT32_C(1812433253) * (mt[k - 1] ^ mt[k - 1] >> 30) + k;
	for (int step = 0; step < pns->steps; step += MT_WORDS / 2) {
		/* MT19937 without the tempering. */
		for (size_t k = 0; k < MT_WORDS; k++) {
			uint32_t y = (mt[k] & 0x80000000) | (mt[(k + 1) % MT_WORDS] & 0x7fffffff);

			mt[k] = mt[(k + MT_OFFSET) % MT_WORDS] ^ y >> 1 ^ (y % 2 ? 0x9908b0df : 0);
			drawn[k] = mt[k] % (uint32_t)net->n_places;
		}
		for (size_t part = 0; part < 3; part++) {
			size_t first = part * PNS_THREADS, left = MT_WORDS - first;

			batch(net, drawn + first, left < PNS_THREADS ? left : PNS_THREADS, step + stamps[part]);
		}
	}
}

void pns_net_reset(struct pns_net *net, uint64_t *ret_squares, int *ret_max)
{
	uint64_t squares = net->n_places;
	long tokens = 0;
	int max = 1;			/* as the mean is 1 */

	for (size_t i = 0; i < net->n_touched; i++) {
		unsigned char *mark = &net->marks[net->touched[i]];

		tokens += *mark - 1;
		squares += (uint64_t)(*mark * *mark - 1);
		if (*mark > max)
			max = *mark;
		*mark = 1;
	}
	/* None was made, none was lost. */
	assert(tokens == 0);
	(void)tokens;
	net->n_touched = 0;
	*ret_squares = squares;
	*ret_max = max;
}

static void mean_and_variance(const double *values, int n, double *ret_two)
{
	double mean = 0, variance = 0;

	for (int i = 0; i < n; i++)
		mean += values[i] / n;
	for (int i = 0; i < n; i++)
		variance += (values[i] - mean) * (values[i] - mean) / n;
	ret_two[0] = mean;
	ret_two[1] = variance;
}

/* Number of the first trajectory of the last launch. */
static int last_launch(const struct pns *pns)
{
	return (pns->n_trajectories - 1) / pns->per_launch * pns->per_launch;
}

static void prepare(struct pb_run *run)
{
	struct pns_reference *reference;
	struct pns_net net;
	struct pns pns;
	size_t n;
	int last;
	double *values;

	pns_open(&pns, run);
	pns_net_init(&net, &pns);
	n = (size_t)pns.n_trajectories;
	last = last_launch(&pns);
	reference = pb_host_alloc(sizeof(*reference) + n * (sizeof(*reference->squares) + sizeof(*reference->rewards)) +
				  (n - (size_t)last) * pns.n_places);
	reference->squares = (uint64_t *)(reference + 1);
	reference->rewards = (struct pns_reward *)(reference->squares + n);
	reference->marks = (unsigned char *)(reference->rewards + n);
	values = pb_host_alloc(2 * n * sizeof(*values));
	for (size_t i = 0; i < n; i++) {
		struct pns_reward *reward = &reference->rewards[i];

		pns_net_run(&net, &pns, (int)i);
		if (i >= (size_t)last)
			memcpy(reference->marks + (i - (size_t)last) * pns.n_places, net.marks, pns.n_places);
		pns_net_reset(&net, &reference->squares[i], &reward->max);
		/* As the kernel does: all but the product is exact. */
		reward->var = (float)(reference->squares[i] - pns.n_places) * pns.scale;
		values[i] = (double)(reference->squares[i] - pns.n_places) / (double)pns.n_places;
		values[n + i] = reward->max;
	}
	mean_and_variance(values, pns.n_trajectories, &reference->numbers[PNS_MEAN_VAR]);
	mean_and_variance(values + n, pns.n_trajectories, &reference->numbers[PNS_MEAN_MAX]);
	free(values);
	pns_net_finish(&net);
	pns_close(&pns);
	run->data = reference;
}

void pns_verify(struct pb_run *run, const struct pns *pns, const unsigned char *places,
		int (*copy)(void *dst, const void *src, size_t size))
{
	const struct pns_reference *reference = run->data;
	const size_t stride = pns->bytes / (size_t)pns->per_launch;
	const unsigned char *expected = reference->marks;
	unsigned char *marks = pb_host_alloc(pns->n_places);
	/* To copy a part of an object may fetch all of it. */
	int first = pns->bytes <= CHECKED_BYTES ? last_launch(pns) : pns->n_trajectories;

	for (int i = 0; i < pns->n_trajectories; i++) {
		pb_compare(run, pns->rewards[i].var, reference->rewards[i].var, 0);
		pb_compare(run, pns->rewards[i].max, reference->rewards[i].max, 0);
	}
	/* These come from the rewards, whose variance has been rounded to a float. */
	for (int i = 0; i < PNS_N_NUMBERS; i++)
		pb_compare(run, pns->numbers[i], reference->numbers[i],
			   fmin(1e-6, 1e-3 * fabs(reference->numbers[i])));
	for (int i = first; i < pns->n_trajectories; i++) {
		pb_check(copy(marks, places, pns->n_places));
		for (size_t place = 0; place < pns->n_places; place++)
			pb_compare(run, marks[place], expected[place], 0);
		places += stride;
		expected += pns->n_places;
	}
	free(marks);
}

const struct pb_bench pns_bench = {
	.name = "pns",
	.about = "simulation of a Petri net",
	.sizes = size_names,
	.writes = true,
	.prepare = prepare,
	.variants = { [PB_ADSM] = pns_adsm, [PB_EXPLICIT] = pns_explicit, PB_CUDA_RIVALS(pns) },
};
