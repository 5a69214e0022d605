/* SPDX-License-Identifier: MIT */
/* block.c - everything that changes blocks: accesses, flushes, calls, early sends. */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "core/arena.h"
#include "core/block.h"
#include "core/copier.h"
#include "core/observe.h"
#include "core/transfer.h"

_Static_assert((int)ADSM_PERMIT_READ == (int)ADSM_PROT_READ && (int)ADSM_PERMIT_WRITE == (int)ADSM_PROT_RW,
	       "views are what states permit");

_Thread_local bool adsm_spare;

static void set_flags(struct adsm_object *object, uint32_t first, uint32_t n, unsigned flags)
{
	for (uint32_t b = first; b < first + n; b++)
		object->blocks.at[b].flags |= flags;
}

static void clear_flags(struct adsm_object *object, uint32_t first, uint32_t n, unsigned flags)
{
	for (uint32_t b = first; b < first + n; b++)
		object->blocks.at[b].flags &= ~flags;
}

static bool all_have(const struct adsm_object *object, uint32_t first, uint32_t n, unsigned flags)
{
	for (uint32_t b = first; b < first + n; b++)
		if ((object->blocks.at[b].flags & flags) != flags)
			return false;
	return true;
}

/* ---- views */

static void *run_view(const struct adsm_object *object, uint32_t first)
{
	return (void *)(object->start + ((size_t)first << object->blocks.shift));
}

/* Bytes of a run in whole pages. */
static size_t run_span(const struct adsm_object *object, uint32_t first, uint32_t n)
{
	size_t start = (size_t)first << object->blocks.shift;
	size_t size = (size_t)n << object->blocks.shift;

	return size < object->span - start ? size : object->span - start;
}

static int close_bytes(struct adsm_object *object, size_t offset, size_t size)
{
	return adsm_advises(object) ? adsm_advice_view(object, offset, size, ADSM_PROT_NONE) :
		adsm_engine->close((char *)object->start + offset, size);
}

void adsm_object_close_view(struct adsm_object *object)
{
	if (!close_bytes(object, 0, object->span))
		adsm_blocks_set_views(&object->blocks, 0, object->blocks.n, ADSM_PROT_NONE);
}

static bool is_shut(const struct adsm_object *object)
{
	for (uint32_t b = object->blocks.open_first; b < object->blocks.open_end; b++)
		if (object->blocks.at[b].view != ADSM_PROT_NONE)
			return false;
	return true;
}

/* Shut what is open of a home, but what must stay so. Did that change anything? */
static bool close_views(struct adsm_home *home)
{
	bool any = false;

	for (struct adsm_object *o = home->open; o; o = o->open_next)
		if (o->blocks.detects && !o->blocks.n_holds && !is_shut(o)) {
			adsm_object_close_view(o);
			any |= is_shut(o);
		}
	return any;
}

/* Where an object lies between open ones, closing it alone would take mappings: those on the outside go first. */
static void close_everything(struct adsm_home *home)
{
	adsm_arena_merge();
	while (close_views(home))
		;
	/* Others' too, where nobody is at work, who might be here for the same reason. */
	for (int i = 0; i < adsm_n_homes; i++) {
		if (&adsm_homes[i] == home || !adsm_trylock(&adsm_homes[i].lock))
			continue;
		while (close_views(&adsm_homes[i]))
			;
		adsm_unlock(&adsm_homes[i].lock);
	}
}

/*
 * The process has no mappings left (vm.max_map_count). Views may be shut without changing any state: a
 * later access only opens them again. So make whole objects one mapping again: this one, or all others.
 */
static void recover_mappings(struct adsm_object *object, bool all)
{
	if (!all && object->blocks.detects && !object->blocks.n_holds)
		adsm_object_close_view(object);
	if (all)
		close_everything(object->home);
}

int adsm_home_protect(struct adsm_home *home, uintptr_t start, size_t size, enum adsm_prot prot)
{
	int error = adsm_os_protect((void *)start, size, prot);

	if (error == -ENOMEM) {
		adsm_home_recover(home);
		error = adsm_os_protect((void *)start, size, prot);
	}
	return error;
}

void adsm_home_recover(struct adsm_home *home)
{
	struct adsm_sigset old;

	adsm_os_signals_block(&old);
	adsm_lock(&home->lock);
	close_everything(home);
	adsm_unlock(&home->lock);
	adsm_os_signals_restore(&old);
}

static int change_view(struct adsm_object *object, uint32_t first, uint32_t n, enum adsm_prot view)
{
	void *address = run_view(object, first);
	size_t size = run_span(object, first, n);
	enum adsm_prot now = object->blocks.at[first].view;

	if (adsm_advises(object))
		return adsm_advice_view(object, (size_t)first << object->blocks.shift, size, view);
	if (view == ADSM_PROT_NONE)
		return adsm_engine->close(address, size);
	if (now == ADSM_PROT_RW)
		return adsm_engine->protect(address, size);
	if (view == ADSM_PROT_READ)
		return adsm_engine->open_ro(address, size);
	return now == ADSM_PROT_NONE ? adsm_engine->open_rw(address, size)
				     : adsm_engine->upgrade(address, size);
}

/* Change what the view of a run permits; its blocks have one view. Never gives up while anything helps. */
static int set_view(struct adsm_object *object, uint32_t first, uint32_t n, enum adsm_prot view)
{
	int error = change_view(object, first, n, view);

	for (int all = 0; error == -ENOMEM && all <= 1; all++) {
		recover_mappings(object, all);
		error = object->blocks.at[first].view == view ? 0 : change_view(object, first, n, view);
	}
	if (error)
		return error;
	adsm_blocks_set_views(&object->blocks, first, n, view);
	if (view != ADSM_PROT_NONE && !all_have(object, first, n, ADSM_BLOCK_MAPPED) && !adsm_advises(object)) {
		adsm_os_populate(run_view(object, first), run_span(object, first, n),
				 view == ADSM_PROT_RW);
		set_flags(object, first, n, ADSM_BLOCK_MAPPED);
	}
	return 0;
}

/* One call for all that is open, however many blocks. */
int adsm_object_close(struct adsm_object *object)
{
	uint32_t first = object->blocks.open_first, end = object->blocks.open_end;
	int error;

	if (!object->blocks.detects)
		return 0;
	while (first < end && object->blocks.at[first].view == ADSM_PROT_NONE)
		first++;
	while (first < end && object->blocks.at[end - 1].view == ADSM_PROT_NONE)
		end--;
	if (first == end)
		return 0;
	error = close_bytes(object, (size_t)first << object->blocks.shift, run_span(object, first, end - first));
	if (error == -ENOMEM) {
		/* With its neighbours closed there is nothing to split. */
		recover_mappings(object, true);
		error = close_bytes(object, 0, object->span);
	}
	if (!error)
		adsm_blocks_set_views(&object->blocks, first, end - first, ADSM_PROT_NONE);
	return error;
}

static bool may_close(const struct adsm_object *object)
{
	return object->blocks.detects && !object->assigned && !object->blocks.n_holds &&
		!adsm_advises(object);
}

void adsm_close_neighbours(struct adsm_home *home)
{
	struct adsm_object *object = home->open, *next;

	for (; object; object = next) {
		uintptr_t start = object->start, end = start + object->span;

		next = object->open_next;
		if (!may_close(object))
			continue;
		/* In the list as they were made, so mostly one below the other. */
		while (next && may_close(next) && (next->start + next->span == start || next->start == end)) {
			start = next->start < start ? next->start : start;
			end = next->start + next->span > end ? next->start + next->span : end;
			next = next->open_next;
		}
		if (next == object->open_next || adsm_engine->close((void *)start, end - start))
			continue;
		for (; object != next; object = object->open_next)
			adsm_blocks_set_views(&object->blocks, object->blocks.open_first,
				  object->blocks.open_end - object->blocks.open_first, ADSM_PROT_NONE);
	}
}

/* ---- invariants */

#ifndef NDEBUG
#define CHECKED_BLOCKS 1024	/* of larger objects every access would cost too much */

/* What holds of every object whenever the lock is given back. */
static void check(const struct adsm_object *object)
{
	const char *broken;

	if (object->blocks.n > CHECKED_BLOCKS)
		return;
	broken = adsm_blocks_broken(&object->blocks);
	if (broken)
		adsm_error("the object at %p: %s", (void *)object->start, broken);
	assert(!broken);
	for (uint32_t b = 0; b < object->blocks.n; b++)
		assert(!(object->blocks.at[b].flags & ADSM_BLOCK_HOLED) || object->inputs);
	assert(object->open || !adsm_blocks_n_unsent(&object->blocks));
}
#else
static void check(const struct adsm_object *object)
{
}
#endif

/* ---- accesses */

bool adsm_block_blocked(const struct adsm_object *object, uint32_t b)
{
	return adsm_blocks_at_work(&object->blocks, b) || object->home->gate;
}

uint64_t adsm_block_must_wait(const struct adsm_object *object, uint32_t b, enum adsm_block_event event)
{
	uint64_t seq = 0;

	switch (adsm_blocks_step(&object->blocks, b, event).wait) {
	case ADSM_WAIT_WRITERS:
		seq = adsm_object_write_seq(object);
		break;
	case ADSM_WAIT_USERS:
		seq = adsm_object_use_seq(object);
		break;
	case ADSM_WAIT_UNIT:
		seq = object->home->last_seq;
		break;
	}
	return seq > atomic_load(&object->home->completed) ? seq : 0;
}

uint32_t adsm_block_window(struct adsm_object *object, uint32_t b, enum adsm_block_event event)
{
	return adsm_blocks_window(&object->blocks, b, event, adsm_protocol_options.fault_ahead);
}

#define RANGE_STEP_MAX ((size_t)4 << 20)	/* bytes that change state, or are fetched, at once */

uint32_t adsm_range_step(const struct adsm_object *object, bool input, size_t at, size_t end,
			 enum adsm_block_event *ret_event)
{
	/* Where every block that becomes Dirty may push another one out: one by one. */
	size_t most = adsm_protocol_options.evict_batch == 1 ? 1 : RANGE_STEP_MAX >> object->blocks.shift;

	return adsm_blocks_range(&object->blocks, input, at, end, most, ret_event);
}

/* The lock is about to be given away while bytes move, by this thread or, later, by the evictor. */
static void begin(struct adsm_object *object, struct adsm_change *change)
{
	adsm_blocks_begin(&object->blocks, change);
	adsm_object_mark_open(object);
}

/* Bytes have moved, or not: who waits for these blocks looks again. */
static int end(struct adsm_object *object, const struct adsm_change *change, int error)
{
	if (error)
		adsm_blocks_abort(&object->blocks, change);
	else
		adsm_blocks_commit(&object->blocks, change);
	if (change->marks)
		adsm_home_notify(object->home);
	return error;
}

/* ---- inputs in progress: bytes that no transfer may touch */

/* The lock is given away while bytes move. */
static int move_around(struct adsm_object *object, struct adsm_around around, enum adsm_direction direction, size_t at,
		       size_t end)
{
	size_t size;
	int error = 0;

	for (; !error && adsm_input_next_gap(object, &around, &at, end, &size); at += size) {
		adsm_unlock(&object->home->lock);
		error = adsm_transfer(object, direction, at, size);
		adsm_lock(&object->home->lock);
	}
	return error;
}

static int fetch(struct adsm_object *object, uint32_t first, uint32_t n)
{
	size_t start = (size_t)first << object->blocks.shift;
	uint64_t moved = adsm_spent.moved_ns;
	int error = move_around(object, (struct adsm_around){ 0 }, ADSM_TO_HOST, start,
				start + adsm_run_size(object, first, n));

	for (uint32_t b = first; object->inputs && !error && b < first + n; b++)
		if (adsm_input_is_in(object, b)) {
			object->blocks.at[b].flags |= ADSM_BLOCK_HOLED;
			object->blocks.at[b].holes_until = object->last_input;
		}
	adsm_habit_fetch(object, &object->habits, adsm_run_size(object, first, n), adsm_spent.moved_ns - moved);
	return error;
}

/* Send a run; of blocks with holes only what was fetched or written. */
static int send_bytes(struct adsm_object *object, uint32_t first, uint32_t n)
{
	struct adsm_home *home = object->home;
	int error = 0;

	for (uint32_t end; !error && n; n -= end - first, first = end) {
		bool holed = object->blocks.at[first].flags & ADSM_BLOCK_HOLED;
		size_t start = (size_t)first << object->blocks.shift;

		for (end = first + 1; end < first + n && !holed; end++)
			if (object->blocks.at[end].flags & ADSM_BLOCK_HOLED)
				break;
		if (holed) {
			error = move_around(object, (struct adsm_around){ .holed = &object->blocks.at[first] },
					    ADSM_TO_DEVICE, start, start + adsm_run_size(object, first, 1));
			continue;
		}
		adsm_unlock(&home->lock);
		error = adsm_transfer(object, ADSM_TO_DEVICE, start, adsm_run_size(object, first, end - first));
		adsm_lock(&home->lock);
	}
	return error;
}

static int send_run(struct adsm_object *object, struct adsm_change *change);

/* What a hole lacks cannot be had now: with the rest of the block sent, whoever wants it fetches all of it again. */
static void give_back(struct adsm_object *object, uint32_t b)
{
	const struct adsm_block *block = &object->blocks.at[b];

	if (!object->blocks.detects || block->holds ||
	    (block->flags & (ADSM_BLOCK_QUEUED | ADSM_BLOCK_SENDING)))
		return;
	if (adsm_blocks_unsent(&object->blocks, b) &&
	    (block->view != ADSM_PROT_RW || !set_view(object, b, 1, ADSM_PROT_READ))) {
		struct adsm_change change = adsm_blocks_plan(&object->blocks, b, 1, ADSM_EVENT_SEND);

		send_run(object, &change);
	}
	if (!adsm_blocks_lack(&object->blocks, b) && !adsm_blocks_unsent(&object->blocks, b) &&
	    !(block->flags & (ADSM_BLOCK_BUSY | ADSM_BLOCK_QUEUED | ADSM_BLOCK_SENDING)) &&
	    (block->view == ADSM_PROT_NONE || !set_view(object, b, 1, ADSM_PROT_NONE)))
		adsm_blocks_forget(&object->blocks, b);
}

int adsm_input_fill(struct adsm_object *object, struct adsm_input *input, size_t delivered)
{
	int error = 0, failed;

	/* What it has let go of is the object's again at once: a call may come while the lock is away. */
	while (input->object == object && input->size > delivered) {
		size_t upto = input->offset + input->size, at = input->offset + delivered;
		uint32_t b = (uint32_t)((upto - 1) >> object->blocks.shift);

		if (at < (size_t)b << object->blocks.shift)
			at = (size_t)b << object->blocks.shift;
		if (object->blocks.at[b].flags & ADSM_BLOCK_BUSY) {
			adsm_home_wait(object->home);
			continue;
		}
		if (adsm_input_left_hole(&object->blocks.at[b], input)) {
			struct adsm_change change = adsm_blocks_plan_none(&object->blocks, b);

			begin(object, &change);
			failed = move_around(object, (struct adsm_around){ .except = input }, ADSM_TO_HOST, at, upto);
			end(object, &change, 0);
			if (failed)
				give_back(object, b);
			error = error ? error : failed;
		}
		input->size = at - input->offset;
		adsm_input_closed(object, at, upto - at);
	}
	return error;
}

void adsm_input_closed(struct adsm_object *object, size_t offset, size_t size)
{
	uint32_t last = (uint32_t)((offset + size - 1) >> object->blocks.shift);

	for (uint32_t b = (uint32_t)(offset >> object->blocks.shift); size && b <= last; b++)
		if ((object->blocks.at[b].flags & ADSM_BLOCK_HOLED) && !adsm_input_is_in(object, b))
			object->blocks.at[b].flags &= ~ADSM_BLOCK_HOLED;
}

#define HUGE_FROM (ADSM_HUGE_PAGE_SIZE / 4)	/* who takes so much at once does not just look here and there */

/* Give a run pages: a long one whole huge pages, which may reach over its ends. Drops the lock meanwhile. */
static void back(struct adsm_object *object, uint32_t first, uint32_t n)
{
	const size_t page = ADSM_HUGE_PAGE_SIZE, block = adsm_block_size(object);
	size_t start = (size_t)first << object->blocks.shift, size = run_span(object, first, n);
	size_t from = start & ~(page - 1), end = (start + size + page - 1) & ~(page - 1);
	bool huge;

	if (end > object->span)
		end = object->span & ~(page - 1);
	adsm_unlock(&object->home->lock);
	huge = size >= HUGE_FROM && from < end && adsm_os_huge(object->alias + from, end - from);
	adsm_os_populate(object->alias + start, size, true);
	adsm_lock(&object->home->lock);
	if (!huge)
		return;
	/* Their small pages are gone, also from the view. */
	first = (uint32_t)((from + block - 1) >> object->blocks.shift);
	n = (uint32_t)(end >> object->blocks.shift);
	if (first < n) {
		clear_flags(object, first, n - first, ADSM_BLOCK_MAPPED);
		set_flags(object, first, n - first, ADSM_BLOCK_BACKED);
	}
}

/* Fetch a run into the alias where that is planned, or only give it pages: cold ones cost more than the transfer. */
static int fill(struct adsm_object *object, const struct adsm_change *change)
{
	uint32_t first = change->first, n = change->n;
	int error = 0;

	if (!all_have(object, first, n, ADSM_BLOCK_BACKED))
		back(object, first, n);
	if (change->step.transfer == ADSM_TO_HOST)
		error = fetch(object, first, n);
	if (!error)
		set_flags(object, first, n, ADSM_BLOCK_BACKED);
	return error;
}

/* A block that is about to become Dirty again is still queued: what it held must go first, counted. If that fails, it
 * is Dirty as it will be anyhow: it goes again. */
static void send_before_write(struct adsm_object *object, uint32_t b)
{
	struct adsm_change change = adsm_blocks_plan_queued(&object->blocks, b, true);

	begin(object, &change);
	end(object, &change, send_bytes(object, b, 1));
}

static void note_early(struct adsm_object *object, uint32_t first, uint32_t n)
{
	set_flags(object, first, n, ADSM_BLOCK_EARLY);
	object->habits.early += n;
	adsm_note_evicted(object, first, n);
}

/* A run becomes Dirty: were some sent early, in vain? */
static void note_again(struct adsm_object *object, uint32_t first, uint32_t n)
{
	uint32_t again = 0;

	for (uint32_t b = first; b < first + n; b++)
		if (object->blocks.at[b].flags & ADSM_BLOCK_EARLY) {
			object->blocks.at[b].flags &= ~ADSM_BLOCK_EARLY;
			again++;
		}
	if (again)
		adsm_habit_again(object, &object->habits, again);
}

/* In the paper's exact mode whoever writes closes the oldest block; only the copy is left to others. */
void adsm_evict_now(struct adsm_home *home)
{
	struct adsm_block *block;

	if (adsm_protocol_options.evict_batch != 1 || adsm_spare)
		return;
	while ((block = adsm_policy_victim(&home->policies, false))) {
		struct adsm_object *object = adsm_object_of(block);
		uint32_t b = (uint32_t)(block - object->blocks.at);
		struct adsm_change change = adsm_blocks_plan(&object->blocks, b, 1, ADSM_EVENT_SEND);

		if (block->view > change.view && set_view(object, b, 1, change.view))
			return;
		adsm_blocks_queue(&object->blocks, &change);
		note_early(object, b, 1);
	}
}

int adsm_blocks_access(struct adsm_object *object, uint32_t first, uint32_t n, enum adsm_block_event event,
		       bool open)
{
	struct adsm_change change = adsm_blocks_plan(&object->blocks, first, n, event);
	bool lacked = adsm_blocks_lack(&object->blocks, first);
	int error = 0;

	if (change.dirties && (object->blocks.at[first].flags & ADSM_BLOCK_QUEUED))
		send_before_write(object, first);
	if (change.step.transfer == ADSM_TO_HOST || !all_have(object, first, n, ADSM_BLOCK_BACKED)) {
		begin(object, &change);
		error = fill(object, &change);
	}
	if (!error && open && object->blocks.at[first].view < change.view)
		error = set_view(object, first, n, change.view);
	if (!error && object->blocks.detects && change.dirties && event != ADSM_EVENT_SYNC)
		adsm_note_opened(object, first, n, true);
	if (!error && object->blocks.detects && lacked && event == ADSM_EVENT_READ)
		adsm_note_opened(object, first, n, false);
	if (!error && adsm_advises(object))
		adsm_advice_access(object, first, n, event);
	end(object, &change, error);
	if (error)
		return error;
	adsm_object_mark_open(object);
	check(object);
	if (!change.dirties)
		return 0;
	note_again(object, first, n);
	/* Where all others are held, these are the only ones that could go: not before they were used. */
	for (uint32_t b = first; b < first + n; b++)
		object->blocks.at[b].holds++;
	adsm_evict_now(object->home);
	for (uint32_t b = first; b < first + n; b++)
		object->blocks.at[b].holds--;
	return 0;
}

/* ---- sending */

/* Send a run that is closed to writers; give the lock away meanwhile. */
static int send_run(struct adsm_object *object, struct adsm_change *change)
{
	begin(object, change);
	return end(object, change, send_bytes(object, change->first, change->n));
}

int adsm_object_flush(struct adsm_object *object)
{
	int tries = object->blocks.detects ? 1 : ADSM_UNDETECTED_TRIES;
	/* "No two sends are merged" where sends are block by block. */
	uint32_t most = adsm_protocol_options.evict_batch == 1 ? 1 : UINT32_MAX;
	uint64_t birth = object->birth;
	uint32_t first = object->blocks.open_first;

	while (first < object->blocks.open_end && adsm_blocks_n_unsent(&object->blocks)) {
		struct adsm_change change = adsm_blocks_plan_send(&object->blocks, first, most);
		int error;

		if (object->blocks.n_holds)
			return -EBUSY;
		if (!change.n) {
			if (!adsm_blocks_unsent(&object->blocks, first)) {
				first++;
				continue;
			}
			/* Written again while it moves, or being filled. Its owner may free it meanwhile. */
			adsm_home_wait(object->home);
			if (!object->live || object->birth != birth)
				return 0;
			continue;
		}
		if (object->blocks.at[first].view > change.view) {
			error = set_view(object, first, change.n, change.view);
			if (error)
				return error;
		}
		error = send_run(object, &change);
		if (error && --tries <= 0)
			return error;
		first += error ? 0 : change.n;
	}
	check(object);
	return 0;
}

bool adsm_evict_batch(struct adsm_home *home, bool started)
{
	struct adsm_block *block = home->sends.failed ? NULL : adsm_policy_victim(&home->policies, started);
	struct adsm_change change;
	struct adsm_object *object;
	uint32_t most;

	if (!block || (block->flags & ADSM_BLOCK_SENDING))
		return false;
	object = adsm_object_of(block);
	most = (uint32_t)((adsm_protocol_options.evict_batch + adsm_block_size(object) - 1) >> object->blocks.shift);
	change = adsm_blocks_plan(&object->blocks, (uint32_t)(block - object->blocks.at), 1, ADSM_EVENT_SEND);
	begin(object, &change);
	/* Oldest first, as one run while the next oldest is the next block. */
	while (change.n < most && change.first + change.n < object->blocks.n &&
	       adsm_policy_victim(&home->policies, true) == block + change.n &&
	       adsm_blocks_extend(&object->blocks, &change))
		;
	/* Still under the lock that state and protection change together. */
	if (block->view > change.view && set_view(object, change.first, change.n, change.view)) {
		end(object, &change, -ENOMEM);
		home->sends.failed = true;
		return false;
	}
	note_early(object, change.first, change.n);
	if (end(object, &change, send_bytes(object, change.first, change.n)))
		home->sends.failed = true;
	return true;
}

bool adsm_send_queued(struct adsm_home *home)
{
	struct adsm_block *block = home->sends.queued.oldest;
	struct adsm_change change;
	struct adsm_object *object;

	while (block && (block->flags & ADSM_BLOCK_SENDING))
		block = block->newer;
	if (!block)
		return false;
	object = adsm_object_of(block);
	change = adsm_blocks_plan_queued(&object->blocks, (uint32_t)(block - object->blocks.at), false);
	send_run(object, &change);
	return true;
}

static void want(struct adsm_object *object, uint32_t b, uint32_t n)
{
	struct adsm_home *home = object->home;
	struct adsm_change change;

	/* What went down with the device may still be had from it, by mistake. */
	if (!n || home->n_ahead == ADSM_AHEAD_MAX || home->gate || adsm_object_lost(object))
		return;
	change = adsm_blocks_plan(&object->blocks, b, n, ADSM_EVENT_READ);
	begin(object, &change);
	home->ahead[(home->first_ahead + home->n_ahead++) % ADSM_AHEAD_MAX] = (struct adsm_ahead){
		.object = object, .change = change, .cause = adsm_cause,
	};
}

void adsm_want_ahead(struct adsm_object *object, uint32_t b)
{
	if (!object->home->device->caps.unified)
		want(object, b, adsm_blocks_ahead(&object->blocks, b, adsm_protocol_options.fault_ahead));
}

bool adsm_fetch_ahead(struct adsm_home *home)
{
	const struct adsm_cause cause = adsm_cause;
	struct adsm_object *object;
	struct adsm_ahead ahead;
	int error;

	if (!home->n_ahead)
		return false;
	ahead = home->ahead[home->first_ahead];
	object = ahead.object;
	home->first_ahead = (home->first_ahead + 1) % ADSM_AHEAD_MAX;
	home->n_ahead--;
	adsm_cause = ahead.cause;
	/* Then the lock is ours to the end. If it fails, they are Invalid as before: the reader tries itself. */
	error = fill(object, &ahead.change);
	if (!error)
		adsm_note_opened(object, ahead.change.first, ahead.change.n, false);
	adsm_cause = cause;
	end(object, &ahead.change, error);
	check(object);
	return true;
}

/* ---- the first read after a call: where it is the same each time, the sync fetches it */

#define AGAIN_MIN 2			/* calls in a row, before one is expected */
#define TRUST 15			/* calls after one for which a fault has told that it was right */
#define EXPECTED_BYTES ((size_t)64 << 10)	/* of a block: in vain it must cost little */

void adsm_note_fault(struct adsm_object *object, uint32_t b, bool write)
{
	struct adsm_first_read *first = &object->first_read;

	if (write)
		first->written |= first->seen && b == first->block;
	if (write || first->seen)
		return;
	first->trust = b == first->block && first->again == AGAIN_MIN ? TRUST : 0;
	first->again = b != first->block ? 0 : first->again < AGAIN_MIN ? first->again + 1 : AGAIN_MIN;
	first->block = b;
	first->seen = true;
}

bool adsm_expects_read(const struct adsm_object *object)
{
	const struct adsm_home *home = object->home;

	/* Where a fault fetches by itself it is as quick; and advice watches single pages. */
	return object->first_read.seen && object->first_read.again == AGAIN_MIN && home->has_service &&
		adsm_protocol_options.fault_ahead && adsm_block_size(object) <= EXPECTED_BYTES &&
		!home->device->caps.unified &&
		!adsm_advises(object);
}

static void forget_expected(struct adsm_object *object)
{
	struct adsm_home *home = object->home;

	for (unsigned i = home->n_expected; i-- > 0; )
		if (home->expected[i] == object)
			home->expected[i] = home->expected[--home->n_expected];
}

void adsm_note_written(struct adsm_object *object, bool told)
{
	struct adsm_first_read *first = &object->first_read;
	struct adsm_home *home = object->home;

	/* It may still be there: not all calls are followed by a sync. */
	forget_expected(object);
	if (told && adsm_expects_read(object) && home->n_expected < ADSM_EXPECTED_MAX)
		home->expected[home->n_expected++] = object;
	if (!told || !first->seen)
		first->again = 0;
	first->writes = !first->written ? 0 : first->writes < AGAIN_MIN ? first->writes + 1 : AGAIN_MIN;
	first->seen = first->written = false;
}

void adsm_fetch_expected(struct adsm_home *home)
{
	while (home->n_expected) {
		struct adsm_object *object = home->expected[--home->n_expected];
		struct adsm_first_read *first = &object->first_read;
		uint32_t b = first->block;
		const struct adsm_block *block = &object->blocks.at[b];
		uint64_t birth = object->birth;
		bool write;

		/* Whoever is not ready now does without. */
		if (!adsm_blocks_lack(&object->blocks, b) || adsm_block_blocked(object, b) ||
		    adsm_block_must_wait(object, b, ADSM_EVENT_READ))
			continue;
		want(object, b, 1);
		/* Its turn comes after what others want, unless the evictor has taken it. */
		while (object->live && object->birth == birth && (block->flags & ADSM_BLOCK_BUSY) &&
		       adsm_fetch_ahead(home))
			;
		if (!object->live || object->birth != birth || !first->trust || first->block != b ||
		    adsm_blocks_lack(&object->blocks, b) || adsm_blocks_unsent(&object->blocks, b) ||
		    block->view != ADSM_PROT_NONE || adsm_block_blocked(object, b))
			continue;
		write = first->writes == AGAIN_MIN && !adsm_block_must_wait(object, b, ADSM_EVENT_WRITE);
		if (adsm_blocks_access(object, b, 1, write ? ADSM_EVENT_WRITE : ADSM_EVENT_READ, true))
			continue;
		first->trust--;
		first->seen = true;
		first->written = write;
	}
}

/* ---- calls and syncs */

void adsm_object_called(struct adsm_object *object, enum adsm_block_event event)
{
	uint32_t first = object->blocks.open_first, n = object->blocks.open_end - first;

	adsm_note_called(object);
	if (adsm_advises(object))
		adsm_advice_called(object, event);
	if (object->habits.early)
		clear_flags(object, first, n, ADSM_BLOCK_EARLY);
	if (adsm_blocks_called(&object->blocks, event))
		adsm_object_mark_closed(object);
	check(object);
}

void adsm_object_may_be_written(struct adsm_object *object)
{
	adsm_blocks_may_be_written(&object->blocks);
}

int adsm_object_sync(struct adsm_object *object)
{
	for (uint32_t b = object->blocks.open_first; b < object->blocks.open_end; b++) {
		int error = 0;

		if (adsm_blocks_step(&object->blocks, b, ADSM_EVENT_SYNC).next != object->blocks.at[b].state)
			error = adsm_blocks_access(object, b, 1, ADSM_EVENT_SYNC, false);
		if (error)
			return error;
	}
	return 0;
}

int adsm_blocks_device_write(struct adsm_object *object, uint32_t first, uint32_t n,
			     int (*write)(void *arg), void *arg)
{
	struct adsm_change change;
	int error;

	/* What the CPU writes from here on races with this and waits. */
	for (uint32_t b = first; b < first + n; b++)
		if (object->blocks.at[b].view != ADSM_PROT_NONE) {
			error = set_view(object, b, n - (b - first), ADSM_PROT_NONE);
			if (error)
				return error;
			break;
		}
	change = adsm_blocks_plan(&object->blocks, first, n, ADSM_EVENT_CALL_OUT);
	begin(object, &change);
	adsm_unlock(&object->home->lock);
	error = adsm_backend_run(object->home, write, arg);
	adsm_lock(&object->home->lock);
	end(object, &change, error);
	if (adsm_advises(object))
		adsm_advice_device_wrote(object, first, n);
	check(object);
	return error;
}

void adsm_object_drop(struct adsm_object *object)
{
	forget_expected(object);
	adsm_blocks_leave(&object->blocks);
	adsm_inputs_drop(object);
	adsm_object_mark_closed(object);
}
