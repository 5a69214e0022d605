/* SPDX-License-Identifier: MIT */
/* node/pages/table.c - what a node knows of each page. */
#include "table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"

#define MARGIN ((size_t)64)		/* bytes before the flags of the first page */

struct adsm_page_table adsm_table = { .lock = ADSM_LOCK_INIT(ADSM_RANK_PAGES) };

static size_t flags_size(void)
{
	return ((size_t)adsm_table.n + 2 * MARGIN + ADSM_PAGE_SIZE - 1) & ~(ADSM_PAGE_SIZE - 1);
}

static size_t groups_size(void)
{
	return ((size_t)(adsm_table.n / ADSM_PAGE_GROUP) + ADSM_PAGE_SIZE) & ~(ADSM_PAGE_SIZE - 1);
}

/* A file, like the memory itself: parts that are not used count nowhere, even if the system does not overcommit. */
static int map_twins(size_t size, void **ret_twins)
{
	int fd, ret = adsm_os_memfd("adsm-twins", size, &fd);

	if (ret)
		return ret;
	ret = adsm_os_map(NULL, size, fd, 0, ADSM_PROT_RW, ret_twins);
	close(fd);
	return ret;
}

int adsm_table_start(const struct adsm_pages_config *config)
{
	struct adsm_page_table *t = &adsm_table;
	void *alias, *twins;
	uint8_t *flags;
	int ret = adsm_os_map(NULL, config->size, config->fd, 0, ADSM_PROT_RW, &alias);

	if (ret)
		return adsm_fail(ret, "cluster: %zu bytes of memory cannot be mapped", config->size);
	t->n = config->size / ADSM_PAGE_SIZE;
	t->alias = alias;
	t->twins = map_twins(config->size, &twins) ? NULL : twins;
	t->view = (uint8_t *)config->base;
	t->home = config->home;
	t->max_read_ahead = config->max_read_ahead ? config->max_read_ahead : (1 << 20) / ADSM_PAGE_SIZE;
	flags = adsm_os_table(flags_size());
	t->flags = flags ? flags + MARGIN : NULL;
	t->changed = adsm_os_table(groups_size());
	t->counts = (struct adsm_pages_counts) { 0 };
	if (t->flags && t->changed && t->twins)
		return 0;
	adsm_table_stop();
	return adsm_fail(-ENOMEM, "cluster: not enough address space for the page tables of %zu bytes of memory",
			 config->size);
}

void adsm_table_stop(void)
{
	struct adsm_page_table *t = &adsm_table;

	if (t->flags)
		adsm_os_unmap(t->flags - MARGIN, flags_size());
	if (t->changed)
		adsm_os_unmap(t->changed, groups_size());
	if (t->twins)
		adsm_os_unmap(t->twins, adsm_table_offset(t->n));
	adsm_os_unmap(t->alias, adsm_table_offset(t->n));
	free(t->objects.v);
	free(t->read_only);
	*t = (struct adsm_page_table) { .lock = ADSM_LOCK_INIT(ADSM_RANK_PAGES) };
}

/* ---- objects that a launch only reads */

static int compare_runs(const void *a, const void *b)
{
	const struct adsm_run *x = a, *y = b;

	return (x->first > y->first) - (x->first < y->first);
}

/* The run that contains the page; NULL if none does. Runs do not overlap. */
static const struct adsm_run *run_of_page(const struct adsm_run *runs, size_t n, uint64_t page)
{
	while (n) {
		const struct adsm_run *middle = runs + n / 2;

		if (page - middle->first < middle->n)
			return middle;
		if (page > middle->first) {
			runs = middle + 1;
			n -= n / 2 + 1;
		} else {
			n /= 2;
		}
	}
	return NULL;
}

const struct adsm_run *adsm_table_read_only(uint64_t page)
{
	return run_of_page(adsm_table.read_only, adsm_table.n_read_only, page);
}

int adsm_table_set_read_only(const struct adsm_run *runs, size_t n, struct adsm_run **ret_old, size_t *ret_n_old)
{
	struct adsm_run *copy = malloc((n + 1) * sizeof(*copy));

	if (!copy)
		return -ENOMEM;
	if (n)
		memcpy(copy, runs, n * sizeof(*copy));
	qsort(copy, n, sizeof(*copy), compare_runs);
	*ret_old = adsm_table.read_only;
	*ret_n_old = adsm_table.n_read_only;
	adsm_table.read_only = copy;
	adsm_table.n_read_only = n;
	return 0;
}

/* ---- pages */

void adsm_table_take_twin(uint64_t page)
{
	const size_t offset = adsm_table_offset(page);

	memcpy(adsm_table.twins + offset, adsm_table.alias + offset, ADSM_PAGE_SIZE);
	adsm_table_set(page, ADSM_PAGE_TWIN);
	adsm_table.counts.twins++;
}

static bool is_like(uint64_t page, const struct adsm_run *read_only)
{
	return adsm_table_has(page, ADSM_PAGE_ADDED) && adsm_table_read_only(page) == read_only;
}

struct adsm_run adsm_table_around(struct adsm_run run, uint64_t size)
{
	const struct adsm_run *read_only = adsm_table_read_only(run.first);
	uint64_t low = run.first & ~(size - 1), high = (run.first + run.n + size - 1) & ~(size - 1);
	uint64_t first = run.first, end = run.first + run.n;

	high = high < adsm_table.n ? high : adsm_table.n;
	while (first > low && is_like(first - 1, read_only))
		first--;
	while (end < high && is_like(end, read_only))
		end++;
	return (struct adsm_run) { first, end - first };
}

uint64_t adsm_table_length(uint64_t at, uint64_t end, unsigned mask, unsigned flags)
{
	uint64_t n = 0;

	while (at + n < end && (adsm_table.flags[at + n] & mask) == flags)
		n++;
	return n;
}

bool adsm_table_next_changed(size_t *i, uint64_t *at, struct adsm_run *ret_run)
{
	for (; *i < adsm_table.objects.n; ++*i, *at = 0) {
		const struct adsm_run *object = &adsm_table.objects.v[*i];
		const uint64_t end = object->first + object->n;
		uint64_t first;

		*at = *at > object->first ? *at : object->first;
		while (*at < end && !adsm_table.changed[*at / ADSM_PAGE_GROUP])
			*at = (*at / ADSM_PAGE_GROUP + 1) * ADSM_PAGE_GROUP;
		first = *at;
		while (*at < end && adsm_table.changed[*at / ADSM_PAGE_GROUP])
			*at = (*at / ADSM_PAGE_GROUP + 1) * ADSM_PAGE_GROUP;
		if (first < end) {
			*ret_run = (struct adsm_run) { first, (*at < end ? *at : end) - first };
			return true;
		}
	}
	return false;
}

void adsm_table_settle(unsigned flags)
{
	struct adsm_run run;
	uint64_t at = 0;

	for (size_t i = 0; adsm_table_next_changed(&i, &at, &run);)
		for (uint64_t page = run.first; page < run.first + run.n; page++)
			adsm_table_clear(page, flags);
	/* In a second pass, because a group may have pages of several objects. */
	at = 0;
	for (size_t i = 0; adsm_table_next_changed(&i, &at, &run);)
		for (uint64_t group = run.first / ADSM_PAGE_GROUP; group * ADSM_PAGE_GROUP < run.first + run.n; group++)
			adsm_table.changed[group] = 0;
}

/* ---- objects */

void adsm_table_add(struct adsm_run run)
{
	struct adsm_page_table *t = &adsm_table;

	memset(t->flags + run.first, ADSM_PAGE_ADDED | (t->home ? ADSM_PAGE_VALID : 0), run.n);
	adsm_runs_insert(&t->objects, run);
}

void adsm_table_remove(struct adsm_run run)
{
	struct adsm_page_table *t = &adsm_table;

	memset(t->flags + run.first, 0, run.n);
	adsm_os_discard(t->twins + adsm_table_offset(run.first), adsm_table_offset(run.n));
	/* The home's memory belongs to the application. */
	if (!t->home)
		adsm_os_discard(t->alias + adsm_table_offset(run.first), adsm_table_offset(run.n));
	adsm_runs_remove(&t->objects, run);
}
