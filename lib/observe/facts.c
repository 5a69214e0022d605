/* SPDX-License-Identifier: MIT */
/* facts.c - collects the facts of a report, in the report's order. */
#include "observe/facts.h"

#include <stdlib.h>
#include <string.h>

#include "observe/advice.h"
#include "observe/costs.h"
#include "observe/options.h"
#include "observe/site.h"
#include "once/waiters.h"

#define ADVICE_MAX 8		/* the most advice for one object */

static int compare(uint64_t a, uint64_t b)
{
	return a < b ? 1 : a > b ? -1 : 0;
}

static int compare_entries(const void *a, const void *b)
{
	const struct adsm_fact_object *x = a, *y = b;
	int order = compare(adsm_traffic(&x->stats), adsm_traffic(&y->stats));

	order = order ? order : compare(x->stats.read_faults + x->stats.write_faults,
					y->stats.read_faults + y->stats.write_faults);
	return order ? order : compare(y->record->id, x->record->id);
}

static int compare_causes(const void *a, const void *b)
{
	const struct adsm_fact_cause *x = a, *y = b;
	int order = compare(x->bytes[0] + x->bytes[1], y->bytes[0] + y->bytes[1]);

	order = order ? order : compare(x->opened + x->opened_writing, y->opened + y->opened_writing);
	order = order ? order : compare(x->faults, y->faults);
	return order ? order : compare(y->cause.where, x->cause.where);
}

void adsm_facts_add_stats(adsmStats *sum, const adsmStats *stats)
{
#define ADD(name, help) sum->name += stats->name;
	ADSM_STATS(ADD)
#undef ADD
}

void adsm_facts_add_cause(struct adsm_fact_cause *sum, const struct adsm_fact_cause *cause)
{
#define ADD(count) sum->count += cause->count;
	ADSM_CAUSE_COUNTS(ADD)
#undef ADD
	if (!sum->place)
		sum->place = cause->place;
	else if (cause->place && cause->place != sum->place)
		sum->place = ADSM_MANY_PLACES;
}

/* Join causes with the same words: one loop has several instructions on a line, and objects that are alike have the
 * same causes. */
static void fold_causes(struct adsm_fact_object *entry)
{
	size_t n = 0;

	for (size_t i = 0; i < entry->n_causes; i++) {
		struct adsm_fact_cause *cause = &entry->causes[i];
		size_t j = 0;

		while (j < n && (entry->causes[j].cause.why != cause->cause.why ||
				 entry->causes[j].cause.in_libc != cause->cause.in_libc ||
				 strcmp(entry->causes[j].where, cause->where) ||
				 strcmp(entry->causes[j].cause.name, cause->cause.name)))
			j++;
		if (j < n)
			adsm_facts_add_cause(&entry->causes[j], cause);
		else
			entry->causes[n++] = *cause;
	}
	entry->n_causes = n;
	if (n)
		qsort(entry->causes, n, sizeof(*entry->causes), compare_causes);
}

/* NULL if there are no items, or no memory, which sets @no_memory. */
static void *duplicate(const void *items, size_t n, size_t size, bool *no_memory)
{
	void *copy = n ? malloc(n * size) : NULL;

	if (copy)
		memcpy(copy, items, n * size);
	else if (n)
		*no_memory = true;
	return copy;
}

/* The caller has the records' lock. */
static bool copy_record(const struct adsm_record *record, struct adsm_fact_object *entry)
{
	struct adsm_advice_item items[ADVICE_MAX];
	struct adsm_fact_cause causes[ADSM_CAUSES_MAX];
	bool no_memory = false;
	size_t n = 0, n_advice;

	entry->record = record;
	entry->n = 1;
	memcpy(entry->name, record->name, sizeof(entry->name));
	entry->freed_ns = record->freed_ns;
	entry->calls = atomic_load(&record->calls);
	adsm_record_stats(record, &entry->stats);
	n_advice = adsm_advice_list(record, items, ADVICE_MAX);
	for (int i = 0; i < ADSM_CAUSES_MAX; i++) {
		const struct adsm_cause_count *from = &record->causes[i];
		struct adsm_fact_cause *to = &causes[n];
		uint64_t any = 0;

		if (!atomic_load(&from->complete))
			continue;
		*to = (struct adsm_fact_cause){ .cause = from->cause };
		to->place = atomic_load_explicit(&from->place, memory_order_relaxed);
#define COPY(count) any |= to->count = atomic_load_explicit(&from->count, memory_order_relaxed);
		ADSM_CAUSE_COUNTS(COPY)
#undef COPY
		n += any != 0;
	}
	entry->advice = duplicate(items, n_advice, sizeof(*items), &no_memory);
	entry->n_advice = entry->advice ? n_advice : 0;
	entry->causes = duplicate(causes, n, sizeof(*causes), &no_memory);
	entry->n_causes = entry->causes ? n : 0;
	return !no_memory;
}

/* Find where an object was allocated. Inner frames without line numbers belong to a runtime that is linked in, if other
 * frames of their module have line numbers. */
static void find_site(struct adsm_fact_object *entry)
{
	const struct adsm_record *record = entry->record;
	char text[ADSM_FACT_SIZE];

	for (unsigned i = 0; i < record->n_site; i++) {
		bool has_line;

		if (i && !adsm_site_same_module(record->site[0], record->site[i]))
			return;
		has_line = adsm_site_text(record->site[i], true, text, sizeof(text));
		if (!i || has_line)
			memcpy(entry->site, text, sizeof(text));
		if (has_line)
			return;
	}
}

static void find_where(struct adsm_fact_cause *cause)
{
	uintptr_t where = cause->cause.where;
	bool faulted = cause->cause.why == ADSM_WHY_READ || cause->cause.why == ADSM_WHY_WRITE;

	if (where && (!cause->cause.in_libc || adsm_site_follows_call(where)))
		adsm_site_text(where, cause->cause.in_libc || !faulted, cause->where, sizeof(cause->where));
}

static int compare_kernels(const void *a, const void *b)
{
	const struct adsm_fact_kernel *x = a, *y = b;
	int order = x->device - y->device;

	order = order ? order : compare(x->costs.kernel_ns, y->costs.kernel_ns);
	return order ? order : strcmp(x->name, y->name);
}

/* Add the costs that a device counts. */
static void add_kernels(struct adsm_facts *facts, int device)
{
	const struct adsm_cost_ops *ops = adsm_homes[device].device->backend->costs;
	struct adsm_cost_sum *sums;
	size_t n = adsm_costs_copy(device, &sums);
	struct adsm_fact_kernel *kernels = NULL;

	if (n)
		kernels = realloc(facts->kernels, (facts->n_kernels + n) * sizeof(*kernels));
	if (kernels)
		facts->kernels = kernels;
	for (size_t i = 0; kernels && i < n; i++) {
		struct adsm_fact_kernel *kernel = &kernels[facts->n_kernels++];

		*kernel = (struct adsm_fact_kernel){ .device = device, .costs = sums[i].costs };
		memcpy(kernel->name, sums[i].kernel, sizeof(kernel->name));
		if (adsm_observe_options.advice)
			ops->advise(adsm_homes[device].device, kernel->name, &kernel->costs, kernel->advice,
				    sizeof(kernel->advice));
	}
	free(sums);
	facts->no_memory |= n && !kernels;
}

void adsm_facts_end(struct adsm_facts *facts)
{
	free(facts->kernels);
	for (size_t i = 0; i < facts->n_entries; i++) {
		free(facts->entries[i].causes);
		free(facts->entries[i].advice);
	}
	free(facts->entries);
}

static void add_waiters(struct adsm_facts *facts)
{
	facts->n_waiters = adsm_once_waiters(NULL, facts->waiters, ADSM_FACT_WAITERS);
	for (size_t i = 0; i < facts->n_waiters && i < ADSM_FACT_WAITERS; i++) {
		adsmOnceWaiter *waiter = &facts->waiters[i];

		if (waiter->where)
			adsm_site_text((uintptr_t)waiter->where, true, waiter->place, sizeof(waiter->place));
	}
}

void adsm_facts_take(struct adsm_facts *facts, bool final)
{
	const struct adsm_record *record, *first;
	size_t n = 0;

	*facts = (struct adsm_facts){ .final = final };
	first = adsm_records_lock(&facts->n_not_listed);
	for (record = first; record; record = record->next)
		n++;
	facts->entries = calloc(n + 1, sizeof(*facts->entries));
	if (!facts->entries)
		n = 0;
	facts->no_memory = !facts->entries;
	for (record = first; record && n && !facts->no_memory; record = record->next)
		facts->no_memory = !copy_record(record, &facts->entries[facts->n_entries++]);
	adsm_counters_read(&adsm_total, &facts->totals);
	facts->wall_ns = adsm_os_now_ns() - adsm_start_ns;
	facts->counted_ns = facts->wall_ns;
	if (adsm_counted_ns)
		facts->counted_ns = adsm_start_ns + facts->wall_ns - adsm_counted_ns;
	adsm_records_unlock();
	add_waiters(facts);
	for (int i = 0; i < adsm_n_homes; i++)
		add_kernels(facts, i);
	if (facts->n_kernels)
		qsort(facts->kernels, facts->n_kernels, sizeof(*facts->kernels), compare_kernels);
	for (size_t i = 0; i < facts->n_entries; i++) {
		struct adsm_fact_object *entry = &facts->entries[i];

		find_site(entry);
		for (size_t j = 0; j < entry->n_causes; j++)
			find_where(&entry->causes[j]);
		fold_causes(entry);
	}
	if (facts->n_entries)
		qsort(facts->entries, facts->n_entries, sizeof(*facts->entries), compare_entries);
}

int adsm_facts_order(const void *a, const void *b)
{
	const struct adsm_fact_object *x = a, *y = b;
	const struct adsm_record *p = x->record, *q = y->record;
	int order = strcmp(x->site, y->site);

	order = order ? order : strcmp(x->name, y->name);
	order = order ? order : strcmp(p->protocol, q->protocol);
	order = order ? order : compare(p->size, q->size);
	order = order ? order : compare(p->block_size, q->block_size);
	order = order ? order : compare((uint64_t)p->device << 1 | p->adopted, (uint64_t)q->device << 1 | q->adopted);
	return order;
}

/* ---- objects that are alike */

static bool join(struct adsm_fact_object *sum, struct adsm_fact_object *entry)
{
	size_t n = sum->n_causes + entry->n_causes;
	struct adsm_fact_cause *causes = realloc(sum->causes, (n + 1) * sizeof(*causes));

	if (!causes)
		return false;
	if (entry->n_causes)
		memcpy(causes + sum->n_causes, entry->causes, entry->n_causes * sizeof(*causes));
	sum->causes = causes;
	sum->n_causes = n;
	sum->n++;
	sum->calls = 0;		/* the objects may share calls */
	adsm_facts_add_stats(&sum->stats, &entry->stats);
	free(entry->causes);
	return true;
}

void adsm_facts_fold(struct adsm_facts *facts)
{
	struct adsm_fact_object *entries = facts->entries;
	size_t n = 0;

	if (!facts->n_entries)
		return;
	qsort(entries, facts->n_entries, sizeof(*entries), adsm_facts_order);
	for (size_t i = 0; i < facts->n_entries; i++) {
		free(entries[i].advice);	/* the report has it already */
		entries[i].advice = NULL;
		if (!n || !*entries[i].site || adsm_facts_order(&entries[n - 1], &entries[i]) ||
		    !join(&entries[n - 1], &entries[i]))
			entries[n++] = entries[i];
	}
	for (size_t i = 0; i < n; i++)
		fold_causes(&entries[i]);
	qsort(entries, n, sizeof(*entries), compare_entries);
	facts->n_entries = n;
}

uint64_t adsm_facts_rest_ns(const struct adsm_facts *facts)
{
	const adsmStats *totals = &facts->totals;
	uint64_t sum = totals->wait_ns + totals->once_ns + totals->h2d_ns + totals->d2h_ns + totals->fault_ns +
		totals->io_ns;

	return sum < facts->counted_ns ? facts->counted_ns - sum : 0;
}
