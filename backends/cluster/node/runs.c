/* SPDX-License-Identifier: MIT */
/* node/runs.c - lists of runs of pages. */
#include "runs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void *adsm_node_memory(void *data, size_t size)
{
	void *p = realloc(data, size ? size : 1);

	if (!p) {
		fprintf(stderr, "adsm-cluster-node: %zu bytes of memory are not to be had\n", size);
		_exit(1);
	}
	return p;
}

void adsm_runs_add(struct adsm_runs *runs, uint64_t first, uint64_t n)
{
	if (!n)
		return;
	if (runs->n && runs->v[runs->n - 1].first + runs->v[runs->n - 1].n == first) {
		runs->v[runs->n - 1].n += n;
		return;
	}
	if (runs->n == runs->room) {
		runs->room = runs->room ? 2 * runs->room : 64;
		runs->v = adsm_node_memory(runs->v, runs->room * sizeof(*runs->v));
	}
	runs->v[runs->n++] = (struct adsm_run){ first, n };
}

/* All pages before, those asked for, and all behind. */
static void rebuild(struct adsm_runs *runs, struct adsm_run run, bool with)
{
	const uint64_t end = run.first + run.n;
	struct adsm_runs old = *runs;
	bool added = !with;

	*runs = (struct adsm_runs){ 0 };
	for (size_t i = 0; i < old.n; i++) {
		const uint64_t first = old.v[i].first, last = first + old.v[i].n;

		if (first < run.first)
			adsm_runs_add(runs, first, (last < run.first ? last : run.first) - first);
		if (last <= end)
			continue;
		if (!added)
			adsm_runs_add(runs, run.first, run.n);
		added = true;
		adsm_runs_add(runs, first > end ? first : end, last - (first > end ? first : end));
	}
	if (!added)
		adsm_runs_add(runs, run.first, run.n);
	free(old.v);
}

void adsm_runs_insert(struct adsm_runs *runs, struct adsm_run run)
{
	rebuild(runs, run, true);
}

void adsm_runs_remove(struct adsm_runs *runs, struct adsm_run run)
{
	rebuild(runs, run, false);
}

static void add_to(struct adsm_runs *runs, uint64_t first, uint64_t end)
{
	if (runs && end > first)
		adsm_runs_add(runs, first, end - first);
}

void adsm_runs_split(const struct adsm_runs *runs, struct adsm_run run, struct adsm_runs *inside,
		     struct adsm_runs *outside)
{
	const uint64_t end = run.first + run.n;
	uint64_t at = run.first;

	for (size_t i = 0; i < runs->n && at < end; i++) {
		uint64_t from = runs->v[i].first > at ? runs->v[i].first : at;
		uint64_t to = runs->v[i].first + runs->v[i].n < end ? runs->v[i].first + runs->v[i].n : end;

		if (to <= from)
			continue;
		add_to(outside, at, from);
		add_to(inside, from, to);
		at = to;
	}
	add_to(outside, at, end);
}

void adsm_runs_clear(struct adsm_runs *runs)
{
	runs->n = 0;
}

uint64_t adsm_runs_pages(const struct adsm_run *v, size_t n)
{
	uint64_t pages = 0;

	for (size_t i = 0; i < n; i++)
		pages += v[i].n;
	return pages;
}

void *adsm_node_table(size_t size)
{
	return memset(adsm_node_memory(NULL, size), 0, size);
}
