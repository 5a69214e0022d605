/* SPDX-License-Identifier: MIT */
/* node/net/runs.h - lists of runs of pages, and memory that a node cannot go on without. */
#ifndef ADSM_CLUSTER_RUNS_H
#define ADSM_CLUSTER_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A run of pages. Pages are counted from the arena's start. */
struct adsm_run { uint64_t first, n; };

struct adsm_runs {
	struct adsm_run *v;
	size_t n, room;
};

/* One more run; it joins the last one where it follows it. */
void adsm_runs_add(struct adsm_runs *runs, uint64_t first, uint64_t n);
void adsm_runs_clear(struct adsm_runs *runs);
/* As a set of pages, ascending: with these, and without. */
void adsm_runs_insert(struct adsm_runs *runs, struct adsm_run run);
void adsm_runs_remove(struct adsm_runs *runs, struct adsm_run run);
/* The pages of @run that are in the set, and those that are not, are added to lists; NULL: to none. */
void adsm_runs_split(const struct adsm_runs *runs, struct adsm_run run, struct adsm_runs *inside,
		     struct adsm_runs *outside);
uint64_t adsm_runs_pages(const struct adsm_run *v, size_t n);

/* Memory; where there is none, the node ends with a sentence. @data NULL: new. */
__attribute__((returns_nonnull)) void *adsm_node_memory(void *data, size_t size);
/* Zeroed, kept for ever. */
__attribute__((returns_nonnull)) void *adsm_node_table(size_t size);

#endif
