/* SPDX-License-Identifier: MIT */
/* node/net/runs.h - lists of runs of pages, and allocation of memory that a node needs to continue. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A run of pages. Page numbers count from the arena's start. */
struct adsm_run { uint64_t first, n; };

struct adsm_runs {
	struct adsm_run *v;
	size_t n, room;
};

/* Append a run. If it follows the last run directly, the two are joined. */
void adsm_runs_add(struct adsm_runs *runs, uint64_t first, uint64_t n);
void adsm_runs_clear(struct adsm_runs *runs);
/* The list as an ascending set of pages: add or remove pages. */
void adsm_runs_insert(struct adsm_runs *runs, struct adsm_run run);
void adsm_runs_remove(struct adsm_runs *runs, struct adsm_run run);
/* Append the pages of @run that are in the set to @inside, and the others to @outside. Each list may be NULL. */
void adsm_runs_split(const struct adsm_runs *runs, struct adsm_run run, struct adsm_runs *inside,
		     struct adsm_runs *outside);
uint64_t adsm_runs_pages(const struct adsm_run *v, size_t n);

/* As realloc(). If there is no memory, the node ends with an error. */
__attribute__((returns_nonnull)) void *adsm_node_memory(void *data, size_t size);
/* Room for one more than @n elements of @size bytes, of which there is room for *@room now. */
__attribute__((returns_nonnull)) void *adsm_node_grow(void *data, size_t n, size_t *room, size_t size);
/* Zeroed, and never freed. */
__attribute__((returns_nonnull)) void *adsm_node_table(size_t size);
