/* SPDX-License-Identifier: MIT */
/* writes.c - see writes.h. */
#include "base/writes.h"

#include <stdlib.h>
#include <string.h>

#include "base/writes_store.h"

#define VARIABLES ADSM_WRITES_VARIABLES
#define LIMIT ADSM_WRITES_LIMIT
#define ENDLESS ADSM_WRITES_ENDLESS
#define STORES 48			/* of one parameter, and parts of them; others do not count */
#define PARTS 4				/* of one store */

/*
 * A condition like 512 * blockIdx.x + threadIdx.x < n has no range without gaps. But for blocks up to one it is always
 * true, and for the block after these it is one of threads. Find the variable, and how many values of it are such
 * ones. Returns -1: there is none.
 */
static int find_split(const struct adsm_writes_store *store, const struct adsm_writes_sum *sum, int64_t *ret_count)
{
	__int128 least = sum->constant;
	int found = -1;

	for (int i = 0; i < VARIABLES; i++) {
		if (sum->factors[i] >= 0 || store->counts[i] == 1)
			continue;
		if (store->counts[i] == ENDLESS)
			return -1;
		least += (__int128)sum->factors[i] * (store->counts[i] - 1);
		if (found < 0 || sum->factors[i] < sum->factors[found])
			found = i;
	}
	if (found < 0 || least >= 0)
		return -1;
	least -= (__int128)sum->factors[found] * (store->counts[found] - 1);
	*ret_count = least < 0 ? 0 : (int64_t)(least / -sum->factors[found]) + 1;
	return *ret_count < store->counts[found] ? found : -1;
}

/* Put a number in place of a variable. */
static void fix(struct adsm_writes_store *store, int variable, int64_t value)
{
	store->counts[variable] = 1;
	store->distance.constant += store->distance.factors[variable] * value;
	for (uint32_t i = 0; i < store->n_conditions; i++)
		store->conditions[i].sum.constant += store->conditions[i].sum.factors[variable] * value;
}

/* Do the numbers stay small? */
static bool can_fix(const struct adsm_writes_store *store, int variable, int64_t value)
{
	bool can = adsm_writes_is_small((__int128)store->distance.factors[variable] * value);

	for (uint32_t i = 0; i < store->n_conditions; i++)
		can &= adsm_writes_is_small((__int128)store->conditions[i].sum.factors[variable] * value);
	return can;
}

/* Where a variable is split: below a value, and each of the values from there on. -1: it is not split. */
struct split {
	int variable;
	int64_t value;
};

/* Find where a store's variable may be split. */
static struct split split_of(const struct adsm_writes_store *store)
{
	struct split split = { .variable = -1 };

	for (uint32_t i = 0; i < store->n_conditions && split.variable < 0; i++) {
		if (store->conditions[i].kind == 'g' && store->conditions[i].loop < 0)
			split.variable = find_split(store, &store->conditions[i].sum, &split.value);
	}
	return split;
}

/* Find what a store writes, in parts. Returns their number, up to PARTS. */
static uint32_t solve_parts(const struct adsm_writes_store *store, struct split split, struct adsm_written ret[PARTS])
{
	struct adsm_writes_store part = *store;
	uint32_t n = 0;

	if (split.variable < 0)
		return adsm_writes_solve(&part, ret);
	if (split.value && split.value < part.counts[split.variable])
		part.counts[split.variable] = split.value;
	n += split.value && adsm_writes_solve(&part, &ret[n]);
	for (int64_t i = split.value; i < store->counts[split.variable] && i < split.value + PARTS - 1; i++) {
		if (!can_fix(store, split.variable, i))
			break;
		part = *store;
		fix(&part, split.variable, i);
		n += adsm_writes_solve(&part, &ret[n]);
	}
	return n;
}

/* ---- All stores of a parameter ------------------------------------------------------------ */

/* Stores with the same steps follow each other, in the order of where they start. */
static int compare_written(const void *a, const void *b)
{
	const struct adsm_written *x = a, *y = b;
	int order;

	if (x->n != y->n)
		return x->n < y->n ? -1 : 1;
	order = memcmp(x->steps, y->steps, x->n * sizeof(*x->steps));
	return order ? order : x->start < y->start ? -1 : x->start > y->start;
}

static int compare_starts(const void *a, const void *b)
{
	const struct adsm_written *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* Make the run longer by the steps that are not longer than it. */
static void absorb(struct adsm_written *written)
{
	uint32_t n = 0;

	while (n < written->n && written->steps[n].length <= written->size && written->size < LIMIT) {
		const __int128 size = written->size +
				      (__int128)written->steps[n].length * (written->steps[n].count - 1);

		written->size = size > LIMIT ? LIMIT : (int64_t)size;
		n++;
	}
	written->n -= n;
	memmove(written->steps, written->steps + n, written->n * sizeof(*written->steps));
}

/* Join runs with the same steps that leave no gap between them. Returns their new number. */
static uint32_t join(struct adsm_written *list, uint32_t n)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < n; i++)
		absorb(&list[i]);
	qsort(list, n, sizeof(*list), compare_written);
	for (uint32_t i = 0; i < n; i++) {
		struct adsm_written *last = kept ? &list[kept - 1] : NULL;

		if (last && last->n == list[i].n && list[i].start <= last->start + last->size &&
		    !memcmp(last->steps, list[i].steps, last->n * sizeof(*last->steps))) {
			const int64_t end = list[i].start + list[i].size;

			if (end > last->start + last->size)
				last->size = end - last->start;
		} else {
			list[kept++] = list[i];
		}
	}
	return kept;
}

/* The line after this one, if it is of the same parameter; else NULL. A module has these one after the other. */
static const char *next_of(const char *line)
{
	const char *next = line + strcspn(line, "\n");
	const size_t name_size = strcspn(line, " \n") + 1;
	int64_t param, of_next, size;
	const char *head = line, *head_of_next;

	next += *next == '\n';
	head_of_next = next;
	return !strncmp(next, line, name_size) && adsm_writes_read_head(&head, &param, &size) &&
	       adsm_writes_read_head(&head_of_next, &of_next, &size) && of_next == param ? next : NULL;
}

/* If a store is only understood in parts: where to split all of them, so that parts can be joined. */
static struct split find_common_split(const char *line, const struct adsm_writes_launch *launch)
{
	struct split split = { .variable = -1 };

	for (; line; line = next_of(line)) {
		struct adsm_writes_store store, part;
		struct adsm_written ignored;
		struct split of_store;

		if (!adsm_writes_read_store(line, launch, &store))
			continue;
		part = store;
		if (adsm_writes_solve(&part, &ignored))
			continue;
		of_store = split_of(&store);
		if (split.variable < 0 || (of_store.variable == split.variable && of_store.value < split.value))
			split = of_store;
	}
	return split;
}

bool adsm_writes_cover(const char *line, const struct adsm_writes_launch *launch, int64_t first, int64_t end)
{
	const struct split split = find_common_split(line, launch);
	struct adsm_written list[STORES];
	uint32_t n = 0, before;

	for (; line && n + PARTS <= STORES; line = next_of(line)) {
		struct adsm_writes_store store;

		if (adsm_writes_read_store(line, launch, &store))
			n += solve_parts(&store, split, &list[n]);
	}
	/* Runs that have become longer may have no gap any more. */
	do {
		before = n;
		n = join(list, n);
	} while (n < before);
	qsort(list, n, sizeof(*list), compare_starts);
	for (uint32_t i = 0; i < n && list[i].start <= first && first < end; i++) {
		if (list[i].start + list[i].size > first)
			first = list[i].start + list[i].size;
	}
	return n && first >= end;
}
