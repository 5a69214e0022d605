/* SPDX-License-Identifier: MIT */
/*
 * advice.c - what would make the program faster, found by playing its accesses and calls again as they happen.
 *
 * Views are opened page by page, so every page that the CPU uses is seen. Each object is accompanied by simulated ones
 * with other settings, which are told the same. The first of them has the object's own settings: only where its counters
 * are the true ones are the promises of the others exact.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "observe/advice.h"
#include "base/log.h"
#include "core/block.h"
#include "core/view.h"
#include "observe/sim.h"

#define MAPPINGS_MAX 24000		/* that opened pages may cost in all; usually a process may have 65530 */
#define SEEN_MIN 3			/* calls after which something was fetched, to know what kernels do */
#define MATTERS_BYTES ((uint64_t)64 << 10)
#define MATTERS_FAULTS 16
#define COST_OF_EVENT ((uint64_t)16 << 10)	/* a fault or a transfer takes as long as so many bytes, about */

static const size_t sizes[] = { 4096, (size_t)16 << 10, (size_t)64 << 10, (size_t)256 << 10, (size_t)1 << 20 };

#define N_SIZES (sizeof(sizes) / sizeof(sizes[0]))

/* The simulated objects: as it is, without early sends, as an input of kernels, lazy, rolling by size. */
enum { AS_IS, UNEVICTED, INPUT, LAZY, ROLLING, N_SIMS = ROLLING + N_SIZES };

struct adsm_advice {
	struct adsm_home *home;
	size_t n_pages;
	uint8_t *views;			/* enum adsm_prot of each page, as it really is */
	_Atomic uint8_t *known;		/* of each page: the device has had it from the CPU */
	size_t n_mappings;		/* that the views cost, about */
	bool whole;			/* there were too many: blocks are opened whole */
	_Atomic unsigned inexact;	/* for these, by bits, something happened that is not simulated */
	struct adsm_sim *sims[N_SIMS];	/* NULL: the same as another, or no object like that */
	uint32_t n_calls[ADSM_N_EVENTS];
	_Atomic uint32_t n_writing;	/* calls that may have written it */
	/* what fetches brought */
	_Atomic uint32_t last_seen, n_seen;	/* the last call after which there was one, how many such */
	_Atomic bool changed, unknown;	/* other bytes than the CPU had; something that the CPU never had */
};

/* Sums over the objects of a device. Under its lock. */
static struct device {
	size_t n_dirty, peak;		/* blocks, were none sent early */
	/* What could be Dirty at once, were all objects like this. */
	size_t peaks[N_SIMS], peak_bytes[N_SIMS];
} devices[ADSM_MAX_DEVICES];

static unsigned n_advices;
static _Atomic size_t n_mappings;
static _Thread_local struct {
	bool in_fault;
	size_t page;
	bool write;
} touched;				/* by the fault that is being served */
/* The bulk copy that goes on in this thread, and for which simulated objects it has been done already, by bits. */
static _Thread_local struct {
	const struct adsm_object *object;
	unsigned done;
	bool differs;			/* pages may be open that are not in all of them */
	size_t offset, size;
} copying;

/* ---- all of them */

#define FOR_EACH_SIM(advice, i) for (int i = 0; i < N_SIMS; i++) if ((advice)->sims[i])

static bool counts_for_rolling_size(const struct adsm_advice *advice)
{
	return !advice->sims[UNEVICTED]->blocks.protocol->whole_object;
}

/* Something has become Dirty, or has been sent. */
static void note_peaks(struct adsm_advice *advice)
{
	struct device *device = &devices[advice->home->index];

	FOR_EACH_SIM(advice, i) {
		struct adsm_sim *sim = advice->sims[i];
		uint32_t n = adsm_blocks_n_unsent(&sim->blocks);
		size_t bytes = adsm_sim_dirty_bytes(sim);

		if (n > sim->peak) {
			device->peaks[i] += n - sim->peak;
			sim->peak = n;
		}
		if (bytes > sim->peak_bytes) {
			device->peak_bytes[i] += bytes - sim->peak_bytes;
			sim->peak_bytes = bytes;
		}
	}
}

/* Begin and end a change of the device's sum. */
static void take_from_sum(struct adsm_advice *advice)
{
	if (counts_for_rolling_size(advice))
		devices[advice->home->index].n_dirty -= adsm_blocks_n_unsent(&advice->sims[UNEVICTED]->blocks);
}

static void add_to_sum(struct adsm_advice *advice)
{
	struct device *device = &devices[advice->home->index];

	if (counts_for_rolling_size(advice))
		device->n_dirty += adsm_blocks_n_unsent(&advice->sims[UNEVICTED]->blocks);
	if (device->n_dirty > device->peak)
		device->peak = device->n_dirty;
	note_peaks(advice);
}

/* What happens to the object now is part of a copy that has been told before. */
static bool is_done(const struct adsm_object *object, int sim)
{
	return copying.object == object && copying.done & 1u << sim;
}

static void touch_all(const struct adsm_object *object)
{
	struct adsm_advice *advice = object->record->advice;

	take_from_sum(advice);
	FOR_EACH_SIM(advice, i)
		if (!is_done(object, i))
			adsm_sim_touch(advice->sims[i], touched.page * ADSM_PAGE_SIZE, touched.write);
	add_to_sum(advice);
}

/* ---- life */

static void forget(struct adsm_advice *advice)
{
	FOR_EACH_SIM(advice, i)
		adsm_sim_forget(advice->sims[i]);
	free(advice->views);
	free((void *)advice->known);
	advice->views = NULL;
	advice->known = NULL;
	atomic_fetch_sub(&n_mappings, advice->n_mappings);
	advice->n_mappings = 0;
}

void adsm_advice_end(struct adsm_advice *advice)
{
	forget(advice);
	for (int i = 0; i < N_SIMS; i++)
		adsm_sim_end(advice->sims[i]);
	free(advice);
	if (--n_advices == 0)
		memset(devices, 0, sizeof(devices));
}

static void make_sims(struct adsm_advice *advice, const struct adsm_object *object)
{
	const struct adsm_protocol *protocol = object->blocks.protocol;
	size_t block = adsm_block_size(object);

	advice->sims[AS_IS] = adsm_sim_make(object, protocol, block, true);
	advice->sims[UNEVICTED] = adsm_sim_make(object, protocol, block, false);
	advice->sims[INPUT] = adsm_sim_make(object, protocol, block, true);
	if (!protocol->whole_object)
		advice->sims[LAZY] = adsm_sim_make(object, &adsm_protocol_lazy, block, false);
	for (size_t i = 0; i < N_SIZES; i++)
		if (sizes[i] < object->span && (protocol->whole_object || sizes[i] != block))
			advice->sims[ROLLING + i] = adsm_sim_make(object, &adsm_protocol_rolling, sizes[i], false);
	if (advice->sims[AS_IS])
		advice->sims[AS_IS]->known = advice->known;
}

struct adsm_advice *adsm_advice_make(const struct adsm_object *object)
{
	struct adsm_advice *advice = object->blocks.detects ? calloc(1, sizeof(*advice)) : NULL;
	struct device *device = &devices[object->home->index];
	struct adsm_sigset old;

	if (!advice)
		return NULL;
	n_advices++;
	advice->home = object->home;
	advice->n_pages = object->span / ADSM_PAGE_SIZE;
	advice->views = malloc(advice->n_pages);
	advice->known = calloc(advice->n_pages, 1);
	make_sims(advice, object);
	if (!advice->views || !advice->known || !advice->sims[AS_IS] || !advice->sims[UNEVICTED]) {
		adsm_advice_end(advice);
		return NULL;
	}
	memset(advice->views, object->blocks.at[0].view, advice->n_pages);
	/* An object no larger than the block is one block. */
	adsm_os_signals_block(&old);
	adsm_lock(&object->home->lock);
	for (int i = LAZY; i < N_SIMS; i++)
		if (!advice->sims[i]) {
			device->peaks[i] += i == LAZY ? 1 : (object->span - 1) / sizes[i - ROLLING] + 1;
			device->peak_bytes[i] += object->span;
		}
	adsm_unlock(&object->home->lock);
	adsm_os_signals_restore(&old);
	return advice;
}

void adsm_advice_freed(struct adsm_advice *advice)
{
	struct adsm_sigset old;

	adsm_os_signals_block(&old);
	adsm_lock(&advice->home->lock);
	take_from_sum(advice);
	adsm_unlock(&advice->home->lock);
	adsm_os_signals_restore(&old);
	forget(advice);
}

void adsm_advice_reset(struct adsm_advice *advice)
{
	struct adsm_sigset old;

	adsm_os_signals_block(&old);
	adsm_lock(&advice->home->lock);
	FOR_EACH_SIM(advice, i)
		memset(&advice->sims[i]->stats, 0, sizeof(advice->sims[i]->stats));
	adsm_unlock(&advice->home->lock);
	adsm_os_signals_restore(&old);
}

/* ---- views */

/* How often the view changes from a page to the next, from the page before @first to the one behind @n pages. */
static size_t count_edges(const struct adsm_advice *advice, size_t first, size_t n)
{
	size_t end = first + n < advice->n_pages ? first + n : advice->n_pages - 1, edges = 0;

	for (size_t p = first ? first - 1 : 0; p < end; p++)
		edges += advice->views[p] != advice->views[p + 1];
	return edges;
}

static void set_pages(struct adsm_advice *advice, size_t first, size_t n, enum adsm_prot view)
{
	size_t before = count_edges(advice, first, n), after;

	memset(advice->views + first, view, n);
	after = count_edges(advice, first, n);
	advice->n_mappings += after - before;
	atomic_fetch_add(&n_mappings, after - before);
}

static int open_pages(struct adsm_object *object, size_t first, size_t n, enum adsm_prot view)
{
	struct adsm_advice *advice = object->record->advice;
	void *address = (char *)object->start + first * ADSM_PAGE_SIZE;
	size_t size = n * ADSM_PAGE_SIZE;
	int error = view == ADSM_PROT_READ ? adsm_engine->open_ro(address, size) :
		advice->views[first] == ADSM_PROT_NONE ? adsm_engine->open_rw(address, size) :
		adsm_engine->upgrade(address, size);

	if (!error)
		set_pages(advice, first, n, view);
	return error;
}

static int open_touched(struct adsm_object *object)
{
	if (atomic_load_explicit(&n_mappings, memory_order_relaxed) >= MAPPINGS_MAX)
		return -ENOMEM;
	return open_pages(object, touched.page, 1, touched.write ? ADSM_PROT_RW : ADSM_PROT_READ);
}

/* The process has too many mappings for single pages: from here on they are opened as they would be without. */
static void give_up(struct adsm_object *object)
{
	struct adsm_advice *advice = object->record->advice;

	adsm_info("no advice on blocks for the object at %p (%zu bytes): it is used in too many places to watch them "
		  "one by one", (void *)object->start, object->size);
	advice->whole = true;
	atomic_store(&advice->inexact, ~0u);
	if (!object->blocks.n_holds)
		adsm_object_close_view(object);
}

/* What is writable in a run becomes readable. */
static int lower_pages(struct adsm_object *object, size_t first, size_t n)
{
	struct adsm_advice *advice = object->record->advice;
	size_t end = first + n, size;

	for (; first < end; first += size ? size : 1) {
		int error = 0;

		for (size = 0; first + size < end && advice->views[first + size] == ADSM_PROT_RW; size++)
			;
		if (size)
			error = adsm_engine->protect((char *)object->start + first * ADSM_PAGE_SIZE,
						     size * ADSM_PAGE_SIZE);
		/* What was shut already only faults once more. */
		if (error)
			return error;
		if (size)
			set_pages(advice, first, size, ADSM_PROT_READ);
	}
	return 0;
}

int adsm_paged_view(struct adsm_object *object, size_t offset, size_t size, enum adsm_prot view)
{
	struct adsm_advice *advice = object->record->advice;
	size_t first = offset / ADSM_PAGE_SIZE, n = size / ADSM_PAGE_SIZE;
	enum adsm_prot now = object->blocks.at[offset >> object->blocks.shift].view;
	int error;

	if (view == ADSM_PROT_NONE) {
		error = adsm_engine->close((char *)object->start + offset, size);
		if (!error)
			set_pages(advice, first, n, ADSM_PROT_NONE);
		return error;
	}
	if (now > view)
		return lower_pages(object, first, n);
	if (touched.in_fault && !advice->whole) {
		error = open_touched(object);
		if (error != -ENOMEM)
			return error;
		give_up(object);
	}
	/* What is open for other reasons is used unseen. */
	atomic_store(&advice->inexact, ~0u);
	return open_pages(object, first, n, view);
}

static void pages_of(const struct adsm_object *object, uint32_t b, size_t *ret_first, size_t *ret_n)
{
	size_t start = (size_t)b << object->blocks.shift, size = object->span - start;

	if (size > adsm_block_size(object))
		size = adsm_block_size(object);
	*ret_first = start / ADSM_PAGE_SIZE;
	*ret_n = size / ADSM_PAGE_SIZE;
}

int adsm_paged_hold(struct adsm_object *object, uint32_t b)
{
	size_t first, n;

	pages_of(object, b, &first, &n);
	return open_pages(object, first, n, object->blocks.at[b].view);
}

void adsm_paged_unhold(struct adsm_object *object, uint32_t b)
{
	struct adsm_advice *advice = object->record->advice;
	size_t first, n;

	pages_of(object, b, &first, &n);
	if (!advice->whole && !adsm_engine->close((char *)object->start + first * ADSM_PAGE_SIZE, n * ADSM_PAGE_SIZE))
		set_pages(advice, first, n, ADSM_PROT_NONE);
}

bool adsm_paged_touch(struct adsm_object *object, uintptr_t address, bool write)
{
	struct adsm_advice *advice = object->record->advice;
	unsigned needed = write ? ADSM_PROT_RW : ADSM_PROT_READ;
	size_t offset = address - object->start;
	uint32_t b = (uint32_t)(offset >> object->blocks.shift);

	touched.in_fault = true;
	touched.page = offset / ADSM_PAGE_SIZE;
	touched.write = write;
	/* Or it is open by now: another thread was faster. */
	if (object->blocks.at[b].view < needed || advice->views[touched.page] >= needed)
		return false;
	if (open_touched(object)) {
		give_up(object);
		if (object->blocks.at[b].view < needed)
			return false;
		/* It is held. */
		return !adsm_paged_hold(object, b);
	}
	touch_all(object);
	return true;
}

void adsm_paged_touched(void)
{
	touched.in_fault = false;
}

/* ---- accesses and calls */

void adsm_use_access(struct adsm_object *object, uint32_t first, uint32_t n, enum adsm_block_event event)
{
	struct adsm_advice *advice = object->record->advice;
	size_t start = (size_t)first << object->blocks.shift, end = start + adsm_run_size(object, first, n);

	if (touched.in_fault) {
		touch_all(object);
		return;
	}
	if (adsm_in_fault)	/* input or output: adsm_use_range() */
		return;
	atomic_store(&advice->inexact, ~0u);
	take_from_sum(advice);
	FOR_EACH_SIM(advice, i)
		adsm_sim_access(advice->sims[i], start, end, event);
	add_to_sum(advice);
}

void adsm_use_range(struct adsm_object *object, size_t at, size_t end, bool input)
{
	struct adsm_advice *advice = object->record->advice;

	if (object->inputs && (!input || object->inputs->next))
		atomic_store(&advice->inexact, ~0u);
	take_from_sum(advice);
	FOR_EACH_SIM(advice, i)
		if (!is_done(object, i))
			adsm_sim_range(advice->sims[i], input, at, end);
	add_to_sum(advice);
}

void adsm_use_bulk(struct adsm_object *object, const struct adsm_bulk *bulk)
{
	struct adsm_advice *advice = object->record->advice;
	bool open, real = adsm_sim_for_libc(advice->sims[AS_IS], bulk, &open);

	/* It may be that of a signal handler, in the middle of another; or another was left by a jump. */
	if (object->blocks.n_holds || copying.object == object)
		atomic_store(&advice->inexact, ~0u);
	copying.object = object;
	copying.done = 0;
	copying.differs = false;
	copying.offset = bulk->offset;
	copying.size = bulk->size;
	take_from_sum(advice);
	FOR_EACH_SIM(advice, i) {
		struct adsm_sim *sim = advice->sims[i];
		bool libc;

		/* That one does as the object does; so do others where both leave it to libc. */
		if (i == AS_IS)
			continue;
		libc = adsm_sim_for_libc(sim, bulk, &open);
		if (libc && real)
			continue;
		if (libc)
			adsm_sim_touch_all(sim, bulk);
		else
			adsm_sim_copy(sim, bulk);
		copying.done |= 1u << i;
		copying.differs |= real || bulk->fill;
	}
	add_to_sum(advice);
}

void adsm_use_bulk_end(struct adsm_object *object)
{
	struct adsm_advice *advice = object->record->advice;
	size_t first = copying.offset / ADSM_PAGE_SIZE, last = (copying.offset + copying.size - 1) / ADSM_PAGE_SIZE;
	bool close = copying.object == object && copying.differs && !advice->whole && !object->blocks.n_holds;

	copying.object = NULL;
	/* What is used from here on is seen again. */
	if (close && adsm_engine->close((char *)object->start + first * ADSM_PAGE_SIZE,
					(last - first + 1) * ADSM_PAGE_SIZE))
		atomic_store(&advice->inexact, ~0u);
	else if (close)
		set_pages(advice, first, last - first + 1, ADSM_PROT_NONE);
}

void adsm_use_inexact(struct adsm_object *object)
{
	atomic_store(&object->record->advice->inexact, ~0u);
}

void adsm_use_device_wrote(struct adsm_object *object, uint32_t first, uint32_t n)
{
	struct adsm_advice *advice = object->record->advice;
	size_t start = (size_t)first << object->blocks.shift, end = start + adsm_run_size(object, first, n);

	if (copying.object != object)
		atomic_store(&advice->inexact, ~0u);
	take_from_sum(advice);
	FOR_EACH_SIM(advice, i)
		if (!is_done(object, i))
			adsm_sim_device_write(advice->sims[i], start, end);
	add_to_sum(advice);
}

void adsm_use_called(struct adsm_object *object, enum adsm_block_event event)
{
	struct adsm_advice *advice = object->record->advice;

	advice->n_calls[event]++;
	if (event != ADSM_EVENT_CALL_IN)
		atomic_fetch_add(&advice->n_writing, 1);
	take_from_sum(advice);
	FOR_EACH_SIM(advice, i) {
		bool input = i == INPUT && event == ADSM_EVENT_CALL_INOUT;

		adsm_sim_call(advice->sims[i], input ? ADSM_EVENT_CALL_IN : event);
	}
	add_to_sum(advice);
}

void adsm_use_evicted(struct adsm_object *object, uint32_t first, uint32_t n)
{
	static const int followers[] = { AS_IS, INPUT };
	struct adsm_advice *advice = object->record->advice;

	for (size_t i = 0; i < sizeof(followers) / sizeof(followers[0]); i++) {
		struct adsm_sim *sim = advice->sims[followers[i]];

		if (!sim)
			continue;
		sim->stats.evictions += n;
		adsm_sim_send(sim, first, n);
	}
}

/* ---- what fetches bring */

void *adsm_use_before_fetch(struct adsm_object *object, size_t offset, size_t size)
{
	struct adsm_advice *advice = object->record->advice;
	void *before = NULL;

	for (size_t page = offset / ADSM_PAGE_SIZE; page * ADSM_PAGE_SIZE < offset + size; page++)
		if (!atomic_load_explicit(&advice->known[page], memory_order_relaxed))
			atomic_store(&advice->unknown, true);
	/* Enough is known of what kernels change. */
	if (!atomic_load(&advice->unknown) && !atomic_load(&advice->changed))
		before = adsm_os_table(size);
	if (before)
		memcpy(before, object->alias + offset, size);
	else
		atomic_store(&advice->unknown, true);
	return before;
}

void adsm_use_after_fetch(struct adsm_object *object, void *before, size_t offset, size_t size, bool arrived)
{
	struct adsm_advice *advice = object->record->advice;
	uint32_t seen = atomic_load(&advice->n_writing);

	if (arrived && memcmp(before, object->alias + offset, size))
		atomic_store(&advice->changed, true);
	if (arrived && atomic_exchange(&advice->last_seen, seen) != seen)
		atomic_fetch_add(&advice->n_seen, 1);
	adsm_os_unmap(before, size);
}

/* ---- the list */

struct choice {
	const struct adsm_record *record;
	const struct adsm_advice *advice;
	adsmStats now;			/* of the object */
	adsmStats as_is;		/* as simulated */
	bool exact;
	bool unified;
	struct adsm_advice_item items[ADSM_N_ADVICE_KINDS];
	uint64_t costs[ADSM_N_ADVICE_KINDS];	/* with it; by kind; 0: no such advice */
};

#define PROMISED(X) X(h2d_bytes) X(d2h_bytes) X(h2d_transfers) X(d2h_transfers) X(read_faults) X(write_faults) \
	X(signals) X(ahead_blocks) X(evictions)

static adsmStats stats_of(const struct choice *choice, int sim)
{
	adsmStats stats = choice->advice->sims[sim]->stats;

	if (choice->unified)
		stats.h2d_bytes = stats.d2h_bytes = stats.h2d_transfers = stats.d2h_transfers = 0;
	return stats;
}

/* What threads do at once is not simulated; it shows mostly in signals, of which nothing is promised. */
static bool agree(const adsmStats *a, const adsmStats *b)
{
	return a->h2d_bytes == b->h2d_bytes && a->d2h_bytes == b->d2h_bytes && a->h2d_transfers == b->h2d_transfers &&
		a->d2h_transfers == b->d2h_transfers && a->read_faults == b->read_faults &&
		a->write_faults == b->write_faults && a->evictions == b->evictions;
}

/* As it would be: what is simulated, or as much more or less as that is. */
static adsmStats promise(const struct choice *choice, int sim)
{
	adsmStats then = stats_of(choice, sim);

#define SHIFT(field) do {									\
	uint64_t more = then.field + choice->now.field;						\
	then.field = more > choice->as_is.field ? more - choice->as_is.field : 0;		\
} while (0);
	if (!choice->exact) {
		PROMISED(SHIFT)
	}
#undef SHIFT
	return then;
}

static uint64_t bytes_of(const adsmStats *stats)
{
	return stats->h2d_bytes + stats->d2h_bytes;
}

static uint64_t cost_of(const adsmStats *stats)
{
	return bytes_of(stats) + COST_OF_EVENT * (stats->signals + stats->h2d_transfers + stats->d2h_transfers);
}

static bool matters(const adsmStats *now, const adsmStats *then)
{
	uint64_t bytes = bytes_of(now), fewer = bytes_of(then);
	bool moves_less = bytes >= fewer + MATTERS_BYTES && bytes - fewer >= bytes / 10;
	bool faults_less = now->signals >= then->signals + MATTERS_FAULTS && then->signals <= now->signals / 2 &&
		fewer <= bytes + bytes / 50;

	return (moves_less || faults_less) && cost_of(then) <= cost_of(now) - cost_of(now) / 10;
}

/* Offer the advice whose effect a simulated object shows: taken where it matters, and is the best of its kind. */
static struct adsm_advice_item *offer(struct choice *choice, enum adsm_advice_kind kind, int sim)
{
	struct adsm_advice_item *item = &choice->items[kind];
	adsmStats then;

	if (!choice->advice->sims[sim])
		return NULL;
	then = promise(choice, sim);
	if (!matters(&choice->now, &then) || (choice->costs[kind] && choice->costs[kind] <= cost_of(&then)))
		return NULL;
	choice->costs[kind] = cost_of(&then);
	*item = (struct adsm_advice_item){ .kind = kind, .now = choice->now, .then = then };
	/* When bytes are sent early by a thread is chance. */
	item->exact = choice->exact && !(atomic_load(&choice->advice->inexact) & 1u << sim) &&
		(!then.evictions || adsm_protocol_options.evict_batch == 1);
	return item;
}

/* For people. */
static const char *amount(uint64_t size, char ret_text[24])
{
	bool large = size >= (uint64_t)10 << 20, small = size < 10 << 10 && size % (1 << 10);

	adsm_format(ret_text, 24, "%lu %s", (unsigned long)(small ? size : size >> (large ? 20 : 10)),
		    small ? "bytes" : large ? "MiB" : "KiB");
	return ret_text;
}

/* As options have it. */
static const char *size_word(size_t size, char ret_text[24])
{
	bool large = !(size % (1 << 20));

	adsm_format(ret_text, 24, "%zu%s", size >> (large ? 20 : 10), large ? "M" : "K");
	return ret_text;
}

/*
 * A rolling size that sends nothing early, where @n blocks are Dirty at once: large enough also for the windows that
 * blocks are opened in.
 */
static size_t rolling_size(size_t n, size_t block_size)
{
	size_t window = adsm_protocol_options.fault_ahead / block_size;

	return window >= 2 && n < 2 * window ? 2 * window : n ? n : 1;
}

/* Words for another block size; the rolling size is part of it where otherwise blocks could be sent early. */
static void set_blocks(const struct choice *choice, struct adsm_advice_item *item, int sim)
{
	const struct adsm_sim *s = choice->advice->sims[sim];
	const struct device *device = &devices[choice->advice->home->index];
	size_t batch = adsm_protocol_options.evict_batch;
	size_t n = device->peaks[UNEVICTED] + s->peak, bytes = device->peak_bytes[UNEVICTED] + s->peak_bytes, at = 0;
	char *text = item->setting, size[24];

	if (n < device->peaks[sim])
		n = device->peaks[sim];
	if (bytes < device->peak_bytes[sim])
		bytes = device->peak_bytes[sim];
	if (strcmp(choice->record->protocol, "rolling"))
		at = (size_t)adsm_format(text, sizeof(item->setting), "ADSM_PROTOCOL=rolling ");
	at += (size_t)adsm_format(text + at, sizeof(item->setting) - at, "ADSM_BLOCK_SIZE=%s",
				  size_word((size_t)1 << s->blocks.shift, size));
	if (adsm_protocol_options.rolling_size != ADSM_ROLLING_AUTO ||
	    (n > 2 && bytes >= (batch == 1 ? 0 : batch + adsm_protocol_options.fault_ahead)))
		adsm_format(text + at, sizeof(item->setting) - at, " ADSM_ROLLING_SIZE=%zu",
			    rolling_size(n, (size_t)1 << s->blocks.shift));
}

static void advise_blocks(struct choice *choice)
{
	char all[24], used[24], size[24];
	struct adsm_advice_item *item;
	const struct adsm_sim *smallest = NULL;

	for (int i = ROLLING; i < N_SIMS; i++) {
		smallest = smallest ? smallest : choice->advice->sims[i];
		item = sizes[i - ROLLING] < choice->record->block_size ? offer(choice, ADSM_ADVICE_BLOCKS, i) : NULL;
		if (!item)
			continue;
		set_blocks(choice, item, i);
		if (item->now.d2h_bytes + item->then.h2d_bytes < item->then.d2h_bytes + item->now.h2d_bytes)
			adsm_format(item->text, sizeof(item->text), "%s were sent to the device, of which the CPU had "
				    "written %s: blocks of %s send less (adsmAllocOptions.block_size)",
				    amount(item->now.h2d_bytes, all), amount(smallest->stats.h2d_bytes, used),
				    size_word(sizes[i - ROLLING], size));
		else
			adsm_format(item->text, sizeof(item->text), "fetched %lu times, %s in all, of which the CPU "
				    "used %s: blocks of %s fetch less (adsmAllocOptions.block_size)",
				    (unsigned long)item->now.d2h_transfers, amount(item->now.d2h_bytes, all),
				    amount(smallest->stats.d2h_bytes, used), size_word(sizes[i - ROLLING], size));
	}
}

static void advise_protocol(struct choice *choice)
{
	struct adsm_advice_item *item;

	/* Its block is the whole object. */
	if (!strcmp(choice->record->protocol, "lazy"))
		return;
	for (int i = LAZY; i < N_SIMS; i++) {
		bool larger = i == LAZY || sizes[i - ROLLING] > choice->record->block_size;

		item = larger ? offer(choice, ADSM_ADVICE_PROTOCOL, i) : NULL;
		if (!item)
			continue;
		if (i == LAZY)
			adsm_format(item->setting, sizeof(item->setting), "ADSM_PROTOCOL=lazy");
		else
			set_blocks(choice, item, i);
		adsm_format(item->text, sizeof(item->text), "it takes %lu faults to use it as it is: %s takes %lu "
			    "(adsmAllocOptions.%s)", (unsigned long)item->now.signals,
			    i == LAZY ? "as one block it" : "in larger blocks it", (unsigned long)item->then.signals,
			    i == LAZY ? "protocol" : "block_size");
	}
}

static void advise_in(struct choice *choice)
{
	const struct adsm_advice *advice = choice->advice;
	struct adsm_advice_item *item;

	if (atomic_load(&advice->n_seen) < SEEN_MIN || atomic_load(&advice->changed) || atomic_load(&advice->unknown) ||
	    advice->n_calls[ADSM_EVENT_CALL_OUT] || adsm_paper)
		return;
	item = offer(choice, ADSM_ADVICE_IN, INPUT);
	if (!item)
		return;
	adsm_format(item->setting, sizeof(item->setting), "adsmIn(p)");
	adsm_format(item->text, sizeof(item->text), "fetched %lu times, and no kernel had changed anything: name it "
		    "as input, by adsmIn(p) in the calls or ADSM_IN in the kernel's parameters",
		    (unsigned long)item->now.d2h_transfers);
}

static void advise_rolling_size(struct choice *choice)
{
	const struct device *device = &devices[choice->advice->home->index];
	struct adsm_advice_item *item;

	if (!choice->now.evictions)
		return;
	item = offer(choice, ADSM_ADVICE_ROLLING_SIZE, UNEVICTED);
	if (!item)
		return;
	adsm_format(item->setting, sizeof(item->setting), "ADSM_ROLLING_SIZE=%zu",
		    rolling_size(device->peak, choice->record->block_size));
	adsm_format(item->text, sizeof(item->text), "%lu blocks were sent early, and %lu written again before the next "
		    "call: let more blocks be Dirty", (unsigned long)choice->now.evictions,
		    (unsigned long)(item->now.write_faults - item->then.write_faults));
}

static unsigned collect(struct choice *choice, struct adsm_advice_item *ret_items, unsigned n)
{
	unsigned found = 0;

	while (found < n) {
		int best = -1;

		for (int kind = 0; kind < ADSM_N_ADVICE_KINDS; kind++)
			if (choice->costs[kind] && (best < 0 || choice->costs[kind] < choice->costs[best]))
				best = kind;
		if (best < 0)
			break;
		ret_items[found++] = choice->items[best];
		choice->costs[best] = 0;
	}
	return found;
}

unsigned adsm_advice_list(const struct adsm_record *record, struct adsm_advice_item *ret_items, unsigned n)
{
	const struct adsm_advice *advice = record->advice;
	struct choice choice = { .record = record, .advice = advice };
	struct adsm_sigset old;

	if (!advice)
		return 0;
	adsm_os_signals_block(&old);
	adsm_lock(&advice->home->lock);
	adsm_record_stats(record, &choice.now);
	choice.unified = advice->home->device->caps.unified;
	choice.as_is = stats_of(&choice, AS_IS);
	choice.exact = !(atomic_load(&advice->inexact) & 1u << AS_IS) && agree(&choice.now, &choice.as_is);
	advise_in(&choice);
	/* Only what was seen page by page tells about other blocks. */
	if (!advice->whole) {
		advise_blocks(&choice);
		advise_protocol(&choice);
	}
	advise_rolling_size(&choice);
	adsm_unlock(&advice->home->lock);
	adsm_os_signals_restore(&old);
	return collect(&choice, ret_items, n);
}

bool adsm_advice_what_if(const struct adsm_record *record, const char *protocol, size_t block_size,
			 adsmStats *ret_stats)
{
	const struct adsm_advice *advice = record->advice;
	int i = UNEVICTED;

	if (!advice)
		return false;
	if (strcmp(protocol, record->protocol))
		i = LAZY;
	if (!strcmp(protocol, "rolling") && (i == LAZY || block_size != record->block_size))
		for (i = ROLLING; i < N_SIMS && sizes[i - ROLLING] != block_size; i++)
			;
	if (i == N_SIMS || !advice->sims[i] || atomic_load(&advice->inexact) & 1u << i)
		return false;
	*ret_stats = advice->sims[i]->stats;
	return true;
}
