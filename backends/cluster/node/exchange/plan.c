/* SPDX-License-Identifier: MIT */
/* node/exchange/plan.c - node 0 decides which pages go to which nodes. */
#include "plan.h"

#include <stdlib.h>

#include "base/os.h"

/* Node 0's state of a page. */
struct page {
	uint64_t readers;		/* nodes that have read it since it was last written */
	uint64_t probing;		/* nodes that got it unmapped and have not touched it since */
	uint8_t pushes;
};

/* The begin or end of a run. */
struct edge {
	uint64_t page;
	uint32_t node;
	int32_t step;
};

static struct {
	struct page *pages;
	enum adsm_update update;
	uint64_t threshold;
	unsigned probe_every;
	int n_nodes;
	struct edge *edges;
	size_t room;
	struct adsm_segments whole;	/* before they are split by readers */
} plan;

void adsm_plan_start(int n_nodes, uint64_t n_pages, enum adsm_update update, uint64_t threshold, unsigned probe_every)
{
	plan.n_nodes = n_nodes;
	plan.update = update;
	plan.threshold = threshold;
	plan.probe_every = probe_every;
	plan.pages = adsm_os_table(n_pages * sizeof(*plan.pages));
	if (!plan.pages)
		plan.update = ADSM_UPDATE_THRESHOLD;
}

void adsm_plan_read(int node, struct adsm_run run)
{
	const uint64_t bit = 1ull << node % 64;

	if (plan.update != ADSM_UPDATE_ADAPTIVE)
		return;
	for (uint64_t page = run.first; page < run.first + run.n; page++) {
		plan.pages[page].readers |= bit;
		plan.pages[page].probing &= ~bit;
	}
}

void adsm_plan_forget(struct adsm_run run)
{
	if (plan.update != ADSM_UPDATE_ADAPTIVE)
		return;
	for (uint64_t page = run.first; page < run.first + run.n; page++) {
		if (plan.pages[page].readers || plan.pages[page].pushes)
			plan.pages[page] = (struct page){ 0 };
	}
}

/* Choose the nodes that get a written page. */
static void choose(struct adsm_segment *segment)
{
	struct page *page = &plan.pages[segment->first];

	page->readers &= ~page->probing;
	page->probing = 0;
	segment->readers = page->readers;
	/* A node that alone wrote the page has it. */
	if (!(segment->flags & ADSM_SEGMENT_SEVERAL) && plan.n_nodes <= 64)
		segment->readers &= ~(1ull << segment->writer % 64);
	if (!segment->readers)
		return;
	if (plan.n_nodes < 64 && (segment->readers | 1 | 1ull << segment->writer) == (1ull << plan.n_nodes) - 1)
		segment->flags |= ADSM_SEGMENT_ALL;
	if (plan.probe_every && ++page->pushes % plan.probe_every == 0) {
		page->pushes = 0;
		page->probing = segment->readers;
		segment->flags |= ADSM_SEGMENT_PROBE;
	}
}

static void add_choices(const struct adsm_segment *segment, uint64_t modified, struct adsm_segments *out)
{
	struct adsm_segment next = *segment;

	switch (plan.update) {
	case ADSM_UPDATE_ADAPTIVE:
		for (uint64_t i = 0; i < segment->n; i++) {
			next = *segment;
			next.first += i;
			next.n = 1;
			choose(&next);
			adsm_segments_add(out, next);
		}
		return;
	case ADSM_UPDATE_EAGER:
		next.flags |= ADSM_SEGMENT_ALL;
		break;
	case ADSM_UPDATE_LAZY:
		break;
	case ADSM_UPDATE_THRESHOLD:
		next.flags |= modified > plan.threshold ? 0 : ADSM_SEGMENT_ALL;
		break;
	}
	adsm_segments_add(out, next);
}

void adsm_plan_host(const struct adsm_run *v, size_t n, struct adsm_segments *out)
{
	const uint64_t modified = adsm_runs_pages(v, n);

	out->n = 0;
	for (size_t i = 0; i < n; i++)
		add_choices(&(struct adsm_segment){ .first = v[i].first, .n = (uint32_t)v[i].n }, modified, out);
}

static int by_page(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	return x->page < y->page ? -1 : x->page > y->page;
}

static size_t gather_edges(const struct adsm_runs *wrote)
{
	size_t n = 0;

	for (int r = 0; r < plan.n_nodes; r++) {
		if (n + 2 * wrote[r].n > plan.room) {
			plan.room = 2 * (n + 2 * wrote[r].n);
			plan.edges = adsm_node_memory(plan.edges, plan.room * sizeof(*plan.edges));
		}
		for (size_t i = 0; i < wrote[r].n; i++) {
			const struct adsm_run *run = &wrote[r].v[i];

			plan.edges[n++] = (struct edge){ run->first, (uint32_t)r, 1 };
			plan.edges[n++] = (struct edge){ run->first + run->n, (uint32_t)r, -1 };
		}
	}
	if (n)
		qsort(plan.edges, n, sizeof(*plan.edges), by_page);
	return n;
}

void adsm_plan_kernel(const struct adsm_runs *wrote, struct adsm_segments *out, struct adsm_plan_counts *ret_counts)
{
	const size_t n = gather_edges(wrote);
	struct adsm_plan_counts counts = { 0 };
	int64_t writers = 0, sum = 0;		/* number of nodes that wrote this page, and the sum of their ranks */

	plan.whole.n = out->n = 0;
	for (size_t i = 0; i + 1 < n; i++) {
		const uint64_t pages = plan.edges[i + 1].page - plan.edges[i].page;
		struct adsm_segment segment = { .first = plan.edges[i].page, .n = (uint32_t)pages };

		writers += plan.edges[i].step;
		sum += plan.edges[i].step * (int64_t)plan.edges[i].node;
		if (!pages || !writers)
			continue;
		*(writers > 1 ? &counts.multi : &counts.single) += pages;
		segment.flags = writers > 1 ? ADSM_SEGMENT_SEVERAL : 0;
		segment.writer = (uint16_t)(writers > 1 ? 0 : sum);
		adsm_segments_add(&plan.whole, segment);
	}
	counts.modified = counts.single + counts.multi;
	for (size_t i = 0; i < plan.whole.n; i++)
		add_choices(&plan.whole.v[i], counts.modified, out);
	for (size_t i = 0; i < out->n; i++) {
		for (int r = 1; r < plan.n_nodes; r++) {
			if (r != out->v[i].writer && adsm_segment_goes_to(&out->v[i], r))
				counts.pushed += out->v[i].n;
		}
	}
	*ret_counts = counts;
}

/* ---- Lists of segments */

void adsm_segments_add(struct adsm_segments *segments, struct adsm_segment segment)
{
	if (segments->n) {
		struct adsm_segment *last = &segments->v[segments->n - 1];

		if (last->first + last->n == segment.first && last->writer == segment.writer &&
		    last->flags == segment.flags && last->readers == segment.readers &&
		    last->n < UINT32_MAX - segment.n) {
			last->n += segment.n;
			return;
		}
	}
	segments->v = adsm_node_grow(segments->v, segments->n, &segments->room, sizeof(*segments->v));
	segments->v[segments->n++] = segment;
}
