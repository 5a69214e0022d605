/* SPDX-License-Identifier: MIT */
/*
 * advice.c - what would make the program faster, found by playing its accesses and calls again as they happen.
 *
 * Views are opened page by page, so every page that the CPU uses is seen. Each object is accompanied by simulated ones
 * with other settings, which are told the same; their blocks take the steps of the protocols' own tables, and block.c
 * chooses their windows. The first of them has the object's own settings: only where its counters are the true ones are
 * the promises of the others exact.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "observe/advice.h"
#include "base/log.h"
#include "core/block.h"
#include "core/view.h"
#include "protocols/paper.h"

#define MAPPINGS_MAX 24000		/* that opened pages may cost in all; usually a process may have 65530 */
#define SIM_BLOCKS_MAX ((size_t)1 << 20)
#define SEEN_MIN 3			/* calls after which something was fetched, to know what kernels do */
#define MATTERS_BYTES ((uint64_t)64 << 10)
#define MATTERS_FAULTS 16
#define COST_OF_EVENT ((uint64_t)16 << 10)	/* a fault or a transfer takes as long as so many bytes, about */

static const size_t sizes[] = { 4096, (size_t)16 << 10, (size_t)64 << 10, (size_t)256 << 10, (size_t)1 << 20 };

#define N_SIZES (sizeof(sizes) / sizeof(sizes[0]))

/* The simulated objects: as it is, without early sends, as an input of kernels, lazy, rolling by size. */
enum { AS_IS, UNEVICTED, INPUT, LAZY, ROLLING, N_SIMS = ROLLING + N_SIZES };

struct sim {
	struct adsm_object object;	/* its blocks, streams and sizes; the rest is never looked at */
	adsmStats stats;
	size_t dirty_bytes, peak_bytes;
	uint32_t peak;			/* most blocks Dirty at once */
};

struct adsm_advice {
	struct adsm_home *home;
	size_t n_pages;
	uint8_t *views;			/* enum adsm_prot of each page, as it really is */
	_Atomic uint8_t *known;		/* of each page: the device has had it from the CPU */
	size_t n_mappings;		/* that the views cost, about */
	bool whole;			/* there were too many: blocks are opened whole */
	_Atomic unsigned inexact;	/* for these, by bits, something happened that is not simulated */
	struct sim *sims[N_SIMS];	/* NULL: the same as another, or no object like that */
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

static struct adsm_home unlimited[ADSM_MAX_DEVICES];	/* as many blocks may be Dirty as there are */
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

/* ---- simulated objects */

static struct sim *make_sim(const struct adsm_object *object, const struct adsm_protocol *protocol, size_t block_size,
			    struct adsm_home *home)
{
	size_t size = protocol->whole_object ? object->span : block_size, n;
	unsigned shift = 64 - (unsigned)__builtin_clzl(size - 1);
	struct sim *sim;

	n = (object->span + ((size_t)1 << shift) - 1) >> shift;
	sim = n <= SIM_BLOCKS_MAX ? calloc(1, sizeof(*sim)) : NULL;
	if (!sim)
		return NULL;
	sim->object.blocks.at = calloc(n, sizeof(*sim->object.blocks.at));
	if (!sim->object.blocks.at) {
		free(sim);
		return NULL;
	}
	sim->object.home = home;
	sim->object.blocks.protocol = protocol;
	sim->object.blocks.policy = adsm_policy_of(&home->policies, protocol);
	sim->object.size = object->size;
	sim->object.span = object->span;
	sim->object.blocks.shift = shift;
	sim->object.blocks.n = sim->object.blocks.open_end = (uint32_t)n;
	sim->object.blocks.last_size = object->size - ((n - 1) << shift);
	sim->object.blocks.n_in[protocol->initial] = (uint32_t)n;
	for (size_t b = 0; b < n; b++) {
		sim->object.blocks.at[b].state = protocol->initial;
		sim->object.blocks.at[b].view = object->blocks.at[0].view;
	}
	return sim;
}

static struct adsm_step step_of(const struct sim *sim, uint32_t b, enum adsm_block_event event)
{
	return sim->object.blocks.protocol->steps[sim->object.blocks.at[b].state][event];
}

static void set_state(struct sim *sim, uint32_t b, unsigned next)
{
	struct adsm_block *block = &sim->object.blocks.at[b];
	size_t size = adsm_run_size(&sim->object, b, 1);

	if (block->state == next)
		return;
	if (block->state == ADSM_DIRTY)
		sim->dirty_bytes -= size;
	if (next == ADSM_DIRTY)
		sim->dirty_bytes += size;
	sim->object.blocks.n_in[block->state]--;
	sim->object.blocks.n_in[next]++;
	block->state = next;
}

static void set_views(struct sim *sim, uint32_t first, uint32_t n, enum adsm_prot view)
{
	for (uint32_t b = first; b < first + n; b++)
		sim->object.blocks.at[b].view = view;
}

static void widen_open(struct sim *sim, uint32_t first, uint32_t n)
{
	struct adsm_object *object = &sim->object;
	bool none = object->blocks.open_first == object->blocks.open_end;

	if (none || first < object->blocks.open_first)
		object->blocks.open_first = first;
	if (none || first + n > object->blocks.open_end)
		object->blocks.open_end = first + n;
}

static void count_fetch(struct sim *sim, size_t size)
{
	sim->stats.d2h_bytes += size;
	sim->stats.d2h_transfers += size > 0;
}

/* As adsm_blocks_access(); a fetch goes around the bytes from @hole to @hole_end, which somebody else brings. */
static void access_blocks(struct sim *sim, uint32_t first, uint32_t n, enum adsm_block_event event, bool open,
			  size_t hole, size_t hole_end)
{
	struct adsm_step step = step_of(sim, first, event);
	enum adsm_prot view = step.next == ADSM_DIRTY ? ADSM_PROT_RW : ADSM_PROT_READ;
	enum adsm_state state = sim->object.blocks.at[first].state;
	size_t start = (size_t)first << sim->object.blocks.shift, end = start + adsm_run_size(&sim->object, first, n);

	if (step.transfer == ADSM_TO_HOST && hole < hole_end) {
		count_fetch(sim, hole - start);
		count_fetch(sim, hole_end < end ? end - hole_end : 0);
	} else if (step.transfer == ADSM_TO_HOST) {
		count_fetch(sim, end - start);
	}
	if (open && sim->object.blocks.at[first].view < view)
		set_views(sim, first, n, view);
	widen_open(sim, first, n);
	if (state != ADSM_DIRTY && step.next == ADSM_DIRTY)
		sim->stats.write_faults += n;
	if (state == ADSM_INVALID && event == ADSM_EVENT_READ)
		sim->stats.read_faults += n;
	for (uint32_t b = first; b < first + n; b++)
		set_state(sim, b, step.next);
}

/* What the CPU uses in a page. */
static void touch(struct sim *sim, size_t offset, bool write)
{
	enum adsm_block_event event = write ? ADSM_EVENT_WRITE : ADSM_EVENT_READ;
	uint32_t b = (uint32_t)(offset >> sim->object.blocks.shift), n;

	if (sim->object.blocks.at[b].view >= (unsigned)(write ? ADSM_PROT_RW : ADSM_PROT_READ))
		return;
	n = adsm_block_window(&sim->object, b, event);
	sim->stats.signals++;
	sim->stats.ahead_blocks += n - 1;
	access_blocks(sim, b, n, event, true, 0, 0);
	b += n;
	n = write || sim->object.home->device->caps.unified ? 0 :
		adsm_blocks_ahead(&sim->object.blocks, b, adsm_protocol_options.fault_ahead);
	if (n)
		access_blocks(sim, b, n, event, false, 0, 0);
}

/* As access_range() in io.c. */
static void access_range(struct sim *sim, bool input, size_t at, size_t end)
{
	while (at < end) {
		uint32_t first = (uint32_t)(at >> sim->object.blocks.shift);
		enum adsm_block_event event;
		uint32_t n = adsm_range_step(&sim->object, input, at, end, &event);

		if (n)
			access_blocks(sim, first, n, event, false, at, event == ADSM_EVENT_WRITE ? end : at);
		at = (size_t)(first + (n ? n : 1)) << sim->object.blocks.shift;
	}
}

/* As adsm_blocks_device_write(), of the blocks that hold these bytes. */
static void write_by_device(struct sim *sim, size_t at, size_t end)
{
	uint32_t first = (uint32_t)(at >> sim->object.blocks.shift);
	uint32_t last = (uint32_t)((end - 1) >> sim->object.blocks.shift);

	for (uint32_t b = first; b <= last; b++)
		set_state(sim, b, step_of(sim, b, ADSM_EVENT_CALL_OUT).next);
	set_views(sim, first, last - first + 1, ADSM_PROT_NONE);
}

/* As for_libc() in copy.c. *ret_open: nothing of it faults. */
static bool for_libc(const struct sim *sim, const struct adsm_bulk *bulk, bool *ret_open)
{
	const struct adsm_object *object = &sim->object;
	size_t mask = adsm_block_size(object) - 1, end = bulk->offset + bulk->size;
	size_t first = (bulk->offset + mask) & ~mask;
	bool whole = first < end && (end == object->size || end - first > mask), device = bulk->fill;

	*ret_open = true;
	for (size_t at = bulk->offset; at < end; at = (at | mask) + 1)
		if (object->blocks.at[at >> object->blocks.shift].view <
		    (unsigned)(bulk->input ? ADSM_PROT_RW : ADSM_PROT_READ))
			*ret_open = false;
	if (*ret_open && bulk->size < bulk->device_min)
		device = false;
	return !bulk->strict && (!whole || (*ret_open && !device));
}

/* What libc does not: whole blocks are filled by the device, all else is input or output. */
static void copy(struct sim *sim, const struct adsm_bulk *bulk)
{
	size_t mask = adsm_block_size(&sim->object) - 1, at = bulk->offset, end = at + bulk->size;
	size_t first = (at + mask) & ~mask, last = end == sim->object.size ? end : end & ~mask;

	for (; !bulk->input && at < end; at += bulk->step)
		access_range(sim, false, at, end - at < bulk->step ? end : at + bulk->step);
	if (bulk->fill && first < last) {
		access_range(sim, true, at, first);
		write_by_device(sim, first, last);
		at = last;
	}
	if (bulk->input)
		access_range(sim, true, at, end);
}

/* Of what is Dirty in a run of blocks, the next that goes in one transfer. */
static uint32_t next_dirty(const struct sim *sim, uint32_t *first, uint32_t end, uint32_t most)
{
	const struct adsm_block *blocks = sim->object.blocks.at;
	uint32_t n = 0;

	while (*first < end && blocks[*first].state != ADSM_DIRTY)
		++*first;
	while (*first + n < end && n < most && blocks[*first + n].state == ADSM_DIRTY &&
	       blocks[*first + n].view == blocks[*first].view)
		n++;
	return n;
}

/* What is Dirty is sent. @known: where that is noted, or NULL. */
static void send(struct sim *sim, uint32_t first, uint32_t end, _Atomic uint8_t *known)
{
	uint32_t most = adsm_protocol_options.evict_batch == 1 ? 1 : UINT32_MAX, n;

	for (; sim->object.blocks.n_in[ADSM_DIRTY] && (n = next_dirty(sim, &first, end, most)); first += n) {
		size_t start = (size_t)first << sim->object.blocks.shift;
		size_t size = adsm_run_size(&sim->object, first, n);

		sim->stats.h2d_bytes += size;
		sim->stats.h2d_transfers++;
		for (size_t at = start; known && at < start + size; at += ADSM_PAGE_SIZE)
			atomic_store_explicit(&known[at / ADSM_PAGE_SIZE], 1, memory_order_relaxed);
		if (sim->object.blocks.at[first].view == ADSM_PROT_RW)
			set_views(sim, first, n, ADSM_PROT_READ);
		for (uint32_t b = first; b < first + n; b++)
			set_state(sim, b, step_of(sim, b, ADSM_EVENT_SEND).next);
	}
}

static void call(struct sim *sim, enum adsm_block_event event, _Atomic uint8_t *known)
{
	struct adsm_object *object = &sim->object;
	uint32_t first = object->blocks.open_first, end = object->blocks.open_end;
	bool all_invalid = true;

	if (event != ADSM_EVENT_CALL_IN)
		set_views(sim, first, end - first, ADSM_PROT_NONE);
	if (object->blocks.protocol->steps[ADSM_DIRTY][event].transfer == ADSM_TO_DEVICE)
		send(sim, first, end, known);
	for (uint32_t b = first; b < end; b++) {
		set_state(sim, b, step_of(sim, b, event).next);
		all_invalid &= object->blocks.at[b].state == ADSM_INVALID;
	}
	if (all_invalid)
		object->blocks.open_first = object->blocks.open_end = 0;
}

/* ---- all of them */

#define FOR_EACH_SIM(advice, i) for (int i = 0; i < N_SIMS; i++) if ((advice)->sims[i])

static bool counts_for_rolling_size(const struct adsm_advice *advice)
{
	return !advice->sims[UNEVICTED]->object.blocks.protocol->whole_object;
}

/* Something has become Dirty, or has been sent. */
static void note_peaks(struct adsm_advice *advice)
{
	struct device *device = &devices[advice->home->index];

	FOR_EACH_SIM(advice, i) {
		struct sim *sim = advice->sims[i];
		uint32_t n = sim->object.blocks.n_in[ADSM_DIRTY];

		if (n > sim->peak) {
			device->peaks[i] += n - sim->peak;
			sim->peak = n;
		}
		if (sim->dirty_bytes > sim->peak_bytes) {
			device->peak_bytes[i] += sim->dirty_bytes - sim->peak_bytes;
			sim->peak_bytes = sim->dirty_bytes;
		}
	}
}

/* Begin and end a change of the device's sum. */
static void take_from_sum(struct adsm_advice *advice)
{
	if (counts_for_rolling_size(advice))
		devices[advice->home->index].n_dirty -= advice->sims[UNEVICTED]->object.blocks.n_in[ADSM_DIRTY];
}

static void add_to_sum(struct adsm_advice *advice)
{
	struct device *device = &devices[advice->home->index];

	if (counts_for_rolling_size(advice))
		device->n_dirty += advice->sims[UNEVICTED]->object.blocks.n_in[ADSM_DIRTY];
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
			touch(advice->sims[i], touched.page * ADSM_PAGE_SIZE, touched.write);
	add_to_sum(advice);
}

/* ---- life */

static void forget(struct adsm_advice *advice)
{
	FOR_EACH_SIM(advice, i) {
		free(advice->sims[i]->object.blocks.at);
		advice->sims[i]->object.blocks.at = NULL;
	}
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
		free(advice->sims[i]);
	free(advice);
	if (--n_advices == 0)
		memset(devices, 0, sizeof(devices));
}

static void make_sims(struct adsm_advice *advice, const struct adsm_object *object)
{
	const struct adsm_protocol *protocol = object->blocks.protocol;
	struct adsm_home *unlimited_home = &unlimited[object->home->index];
	size_t block = adsm_block_size(object);

	unlimited_home->device = object->home->device;
	advice->sims[AS_IS] = make_sim(object, protocol, block, object->home);
	advice->sims[UNEVICTED] = make_sim(object, protocol, block, unlimited_home);
	advice->sims[INPUT] = make_sim(object, protocol, block, object->home);
	if (!protocol->whole_object)
		advice->sims[LAZY] = make_sim(object, &adsm_protocol_lazy, block, unlimited_home);
	for (size_t i = 0; i < N_SIZES; i++)
		if (sizes[i] < object->span && (protocol->whole_object || sizes[i] != block))
			advice->sims[ROLLING + i] = make_sim(object, &adsm_protocol_rolling, sizes[i], unlimited_home);
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
	FOR_EACH_SIM(advice, i) {
		struct sim *sim = advice->sims[i];
		uint32_t last = (uint32_t)((end - 1) >> sim->object.blocks.shift);

		for (uint32_t b = (uint32_t)(start >> sim->object.blocks.shift); b <= last; b++)
			access_blocks(sim, b, 1, event, true, 0, 0);
	}
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
			access_range(advice->sims[i], input, at, end);
	add_to_sum(advice);
}

void adsm_use_bulk(struct adsm_object *object, const struct adsm_bulk *bulk)
{
	struct adsm_advice *advice = object->record->advice;
	bool open, real = for_libc(advice->sims[AS_IS], bulk, &open);

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
		struct sim *sim = advice->sims[i];
		size_t mask = adsm_block_size(&sim->object) - 1;
		bool libc;

		/* That one does as the object does; so do others where both leave it to libc. */
		if (i == AS_IS)
			continue;
		libc = for_libc(sim, bulk, &open);
		if (libc && real)
			continue;
		if (!libc)
			copy(sim, bulk);
		for (size_t at = bulk->offset; libc && at < bulk->offset + bulk->size; at = (at | mask) + 1)
			touch(sim, at, bulk->input);
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
			write_by_device(advice->sims[i], start, end);
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

		call(advice->sims[i], input ? ADSM_EVENT_CALL_IN : event, i == AS_IS ? advice->known : NULL);
	}
	add_to_sum(advice);
}

void adsm_use_evicted(struct adsm_object *object, uint32_t first, uint32_t n)
{
	static const int followers[] = { AS_IS, INPUT };
	struct adsm_advice *advice = object->record->advice;

	for (size_t i = 0; i < sizeof(followers) / sizeof(followers[0]); i++) {
		struct sim *sim = advice->sims[followers[i]];

		if (!sim)
			continue;
		sim->stats.evictions += n;
		send(sim, first, first + n, followers[i] == AS_IS ? advice->known : NULL);
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
	const struct sim *s = choice->advice->sims[sim];
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
				  size_word(adsm_block_size(&s->object), size));
	if (adsm_protocol_options.rolling_size != ADSM_ROLLING_AUTO ||
	    (n > 2 && bytes >= (batch == 1 ? 0 : batch + adsm_protocol_options.fault_ahead)))
		adsm_format(text + at, sizeof(item->setting) - at, " ADSM_ROLLING_SIZE=%zu",
			    rolling_size(n, adsm_block_size(&s->object)));
}

static void advise_blocks(struct choice *choice)
{
	char all[24], used[24], size[24];
	struct adsm_advice_item *item;
	const struct sim *smallest = NULL;

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
