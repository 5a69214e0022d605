/* SPDX-License-Identifier: MIT */
/*
 * shared.c - bits of pages. With them the application reports the pages that it has touched to node 0.
 *
 * The application sets the bit of a page, then the bit of its group, then `any`. Node 0 clears them in the reverse
 * order, before it reads the page. So a bit that is set after it was read is found the next time.
 */
#include "shared.h"

#include "base/os.h"

#define WORD 64				/* bits */
#define GROUP 4096			/* pages: 64 words */

static uint64_t n_groups(uint64_t n_pages)
{
	return (n_pages + GROUP - 1) / GROUP;
}

static _Atomic uint64_t *groups(struct adsm_cluster_shared *shared)
{
	return shared->bits;
}

static _Atomic uint64_t *touched(struct adsm_cluster_shared *shared)
{
	return shared->bits + (n_groups(shared->n_pages) + WORD - 1) / WORD;
}

static _Atomic uint64_t *allocated(struct adsm_cluster_shared *shared)
{
	return touched(shared) + n_groups(shared->n_pages) * WORD;
}

size_t adsm_cluster_shared_size(size_t arena_size)
{
	uint64_t n = n_groups(arena_size / ADSM_PAGE_SIZE);

	return offsetof(struct adsm_cluster_shared, bits) +
		(size_t)((n + WORD - 1) / WORD + 2 * n * WORD) * sizeof(uint64_t);
}

/* The mask of those bits of [first, end) that are in the word of *@first. *@first moves to the first bit behind that
 * word. */
static uint64_t take_word(uint64_t *first, uint64_t end)
{
	uint64_t from = *first % WORD, n = WORD - from;

	if (n > end - *first)
		n = end - *first;
	*first += n;
	return (n == WORD ? UINT64_MAX : (UINT64_C(1) << n) - 1) << from;
}

static void change(_Atomic uint64_t *bits, uint64_t first, uint64_t n, bool set)
{
	for (uint64_t end = first + n; first < end;) {
		_Atomic uint64_t *word = &bits[first / WORD];
		uint64_t mask = take_word(&first, end);

		if (set)
			atomic_fetch_or_explicit(word, mask, memory_order_acq_rel);
		else
			atomic_fetch_and_explicit(word, ~mask, memory_order_acq_rel);
	}
}

void adsm_cluster_touched(struct adsm_cluster_shared *shared, uint64_t first, uint64_t n)
{
	if (!n)
		return;
	change(touched(shared), first, n, true);
	change(groups(shared), first / GROUP, (first + n - 1) / GROUP - first / GROUP + 1, true);
	atomic_exchange_explicit(&shared->any, 1, memory_order_acq_rel);
}

void adsm_cluster_allocated(struct adsm_cluster_shared *shared, uint64_t first, uint64_t n)
{
	change(allocated(shared), first, n, true);
	adsm_cluster_touched(shared, first, n);
}

void adsm_cluster_freed(struct adsm_cluster_shared *shared, uint64_t first, uint64_t n)
{
	change(allocated(shared), first, n, false);
	adsm_cluster_touched(shared, first, n);
}

/* ---- node 0 */

struct run {				/* the run that is being built */
	void (*take)(void *arg, uint64_t first, uint64_t n, bool allocated);
	void *arg;
	uint64_t first, n;
	bool allocated;
};

static void end_run(struct run *run)
{
	if (run->n)
		run->take(run->arg, run->first, run->n, run->allocated);
	run->n = 0;
}

static void add_pages(struct run *run, uint64_t first, uint64_t n, bool is_allocated)
{
	if (run->n && (run->first + run->n != first || run->allocated != is_allocated))
		end_run(run);
	if (!run->n) {
		run->first = first;
		run->allocated = is_allocated;
	}
	run->n += n;
}

/* Add the touched pages of one word. @first: the page of its lowest bit. */
static void add_word(struct run *run, uint64_t first, uint64_t bits, uint64_t of_objects)
{
	while (bits) {
		unsigned low = (unsigned)__builtin_ctzll(bits);
		bool is_allocated = of_objects >> low & 1;
		uint64_t like = (is_allocated ? of_objects : ~of_objects) & bits;
		uint64_t rest = ~(like >> low);
		unsigned n = rest ? (unsigned)__builtin_ctzll(rest) : WORD;

		add_pages(run, first + low, n, is_allocated);
		bits = low + n < WORD ? bits >> (low + n) << (low + n) : 0;
	}
}

static uint64_t take_bits(_Atomic uint64_t *word)
{
	/* Most words are 0. */
	return atomic_load_explicit(word, memory_order_relaxed) ?
		atomic_exchange_explicit(word, 0, memory_order_acq_rel) : 0;
}

void adsm_cluster_collect(struct adsm_cluster_shared *shared,
			  void (*take)(void *arg, uint64_t first, uint64_t n, bool allocated), void *arg)
{
	uint64_t n_words = (n_groups(shared->n_pages) + WORD - 1) / WORD;
	struct run run = { .take = take, .arg = arg };

	if (!atomic_load_explicit(&shared->any, memory_order_relaxed) ||
	    !atomic_exchange_explicit(&shared->any, 0, memory_order_acq_rel))
		return;
	for (uint64_t i = 0; i < n_words; i++) {
		uint64_t some = take_bits(&groups(shared)[i]);

		for (; some; some &= some - 1) {
			uint64_t word = (i * WORD + (unsigned)__builtin_ctzll(some)) * (GROUP / WORD);

			for (uint64_t end = word + GROUP / WORD; word < end; word++) {
				uint64_t bits = take_bits(&touched(shared)[word]);

				add_word(&run, word * WORD, bits, atomic_load(&allocated(shared)[word]));
			}
		}
	}
	end_run(&run);
}
