/* SPDX-License-Identifier: MIT */
/* node/pages/waiting.c - threads that wait for pages. */
#include "waiting.h"

#include <string.h>

#include "table.h"

#define N_STREAMS 32			/* number of sequences of touches that are followed at the same time */

/* On the stack of a thread that waits. */
struct waiter {
	struct waiter *next;
	struct adsm_run run;
	_Atomic uint32_t may_go;
};

static struct waiter *waiters;
static atomic_bool may_want;		/* a thread may wait for pages that were not requested yet */

/* Sequences of touches: the last fetch of each had @n pages, up to @next. */
static struct stream { uint64_t next, n; } streams[N_STREAMS];
static unsigned oldest;

uint64_t adsm_waiting_ahead(uint64_t page)
{
	struct stream *s = streams;

	/* Pages in between may have been present already. */
	while (s < streams + N_STREAMS && page - s->next >= (s->n ? s->n : 1))
		s++;
	if (s == streams + N_STREAMS || !s->n) {
		s = &streams[oldest++ % N_STREAMS];
		s->n = 1;
	} else {
		s->n = 2 * s->n < adsm_table.max_read_ahead ? 2 * s->n : adsm_table.max_read_ahead;
	}
	s->next = page + s->n;
	return s->n;
}

void adsm_waiting_forget(void)
{
	memset(streams, 0, sizeof(streams));
	oldest = 0;
}

/* The number of available pages from the first one on. */
static uint64_t ready(struct adsm_run run)
{
	return adsm_table_length(run.first, run.first + run.n, ADSM_PAGE_VALID | ADSM_PAGE_ASKED, ADSM_PAGE_VALID);
}

void adsm_waiting_sleep(struct adsm_run run, void (*wake)(void))
{
	const bool wants = adsm_table_length(run.first, run.first + run.n, ADSM_PAGE_VALID, ADSM_PAGE_VALID) < run.n;
	struct waiter self = { .next = waiters, .run = run };
	const uint64_t start_ns = adsm_os_now_ns();

	waiters = &self;
	if (wants)
		atomic_store(&may_want, true);
	adsm_unlock(&adsm_table.lock);
	if (wants && wake)
		wake();
	adsm_os_await(&self.may_go, false);
	adsm_lock(&adsm_table.lock);
	/* Only for threads of kernels. */
	if (wake)
		adsm_table.counts.waited_ns += adsm_os_now_ns() - start_ns;
	/* release() has removed it from the list. NOLINTNEXTLINE(clang-analyzer-core.StackAddressEscape) */
}

void adsm_waiting_release(void)
{
	for (struct waiter **at = &waiters, *w; (w = *at);) {
		if (ready(w->run) < w->run.n) {
			at = &w->next;
			continue;
		}
		*at = w->next;
		/* From here on the waiter may no longer exist; a wake-up of another thread at this address does no
		 * harm. */
		adsm_os_raise(&w->may_go, false);
	}
	if (waiters)
		atomic_store(&may_want, true);
}

/* The number of pages from @at on that are neither present nor requested. */
static uint64_t missing(uint64_t at, uint64_t end)
{
	return adsm_table_length(at, end, ADSM_PAGE_ADDED | ADSM_PAGE_VALID | ADSM_PAGE_ASKED, ADSM_PAGE_ADDED);
}

static bool claim(struct adsm_run run, struct adsm_run *ret_run)
{
	const uint64_t end = run.first + run.n;
	uint64_t most;

	for (uint64_t at = run.first; at < end; at++) {
		if (!missing(at, at + 1))
			continue;
		most = adsm_waiting_ahead(at);
		if (most < end - at)
			most = end - at < adsm_table.max_read_ahead ? end - at : adsm_table.max_read_ahead;
		if (most > adsm_table.n - at)
			most = adsm_table.n - at;
		*ret_run = (struct adsm_run) { at, missing(at, at + most) };
		for (uint64_t page = at; page < at + ret_run->n; page++)
			adsm_table_set(page, ADSM_PAGE_ASKED);
		adsm_table.counts.fetched += ret_run->n;
		return true;
	}
	return false;
}

bool adsm_waiting_next(struct adsm_run *ret_run)
{
	bool found = false;

	if (!atomic_load_explicit(&may_want, memory_order_acquire))
		return false;
	adsm_lock(&adsm_table.lock);
	for (struct waiter *w = waiters; w && !found; w = w->next)
		found = claim(w->run, ret_run);
	if (!found)
		atomic_store(&may_want, false);
	adsm_unlock(&adsm_table.lock);
	return found;
}
