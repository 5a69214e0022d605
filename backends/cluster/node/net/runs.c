/* SPDX-License-Identifier: MIT */
/* node/net/runs.c - lists of runs of pages. */
#include "runs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void *adsm_node_memory(void *data, size_t size)
{
	void *p = realloc(data, size ? size : 1);

	if (!p) {
		fprintf(stderr, "adsm-cluster-node: not enough memory for %zu bytes\n", size);
		_exit(1);
	}
	return p;
}

void *adsm_node_grow(void *data, size_t n, size_t *room, size_t size)
{
	if (n >= *room) {
		*room = *room ? 2 * *room : 64;
		data = adsm_node_memory(data, *room * size);
	}
	return data;
}

void *adsm_node_table(size_t size)
{
	return memset(adsm_node_memory(NULL, size), 0, size);
}

static void make_room(struct adsm_runs *runs, size_t n)
{
	if (n <= runs->room)
		return;
	runs->room = n < 32 ? 64 : 2 * n;
	runs->v = adsm_node_memory(runs->v, runs->room * sizeof(*runs->v));
}

void adsm_runs_add(struct adsm_runs *runs, uint64_t first, uint64_t n)
{
	if (!n)
		return;
	if (runs->n && runs->v[runs->n - 1].first + runs->v[runs->n - 1].n == first) {
		runs->v[runs->n - 1].n += n;
		return;
	}
	make_room(runs, runs->n + 1);
	runs->v[runs->n++] = (struct adsm_run){ first, n };
}

/* The index of the first run that ends after @page. */
static size_t index_after(const struct adsm_runs *runs, uint64_t page)
{
	size_t low = 0, high = runs->n;

	while (low < high) {
		const size_t middle = (low + high) / 2;

		if (runs->v[middle].first + runs->v[middle].n > page)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static void replace(struct adsm_runs *runs, size_t at, size_t n_old, const struct adsm_run *v, size_t n)
{
	const size_t n_behind = runs->n - at - n_old;

	make_room(runs, at + n + n_behind);
	memmove(runs->v + at + n, runs->v + at + n_old, n_behind * sizeof(*v));
	memcpy(runs->v + at, v, n * sizeof(*v));
	runs->n = at + n + n_behind;
}

void adsm_runs_insert(struct adsm_runs *runs, struct adsm_run run)
{
	/* Adjacent runs are joined with it. */
	const size_t at = index_after(runs, run.first - (run.first > 0));
	uint64_t end = run.first + run.n;
	size_t n_old = 0;

	for (; at + n_old < runs->n && runs->v[at + n_old].first <= end; n_old++) {
		const struct adsm_run near = runs->v[at + n_old];

		run.first = near.first < run.first ? near.first : run.first;
		end = near.first + near.n > end ? near.first + near.n : end;
	}
	run.n = end - run.first;
	replace(runs, at, n_old, &run, 1);
}

void adsm_runs_remove(struct adsm_runs *runs, struct adsm_run run)
{
	const uint64_t end = run.first + run.n;
	const size_t at = index_after(runs, run.first);
	struct adsm_run rest[2];
	size_t n_old = 0, n = 0;

	for (; at + n_old < runs->n && runs->v[at + n_old].first < end; n_old++) {
		const struct adsm_run old = runs->v[at + n_old];

		if (old.first < run.first)
			rest[n++] = (struct adsm_run){ old.first, run.first - old.first };
		if (old.first + old.n > end)
			rest[n++] = (struct adsm_run){ end, old.first + old.n - end };
	}
	if (n_old)
		replace(runs, at, n_old, rest, n);
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

	for (size_t i = index_after(runs, at); i < runs->n && runs->v[i].first < end; i++) {
		uint64_t from = runs->v[i].first > at ? runs->v[i].first : at;
		uint64_t to = runs->v[i].first + runs->v[i].n < end ? runs->v[i].first + runs->v[i].n : end;

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
