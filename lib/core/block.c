/* SPDX-License-Identifier: MIT */
/* block.c - everything that changes blocks: accesses, flushes, calls, early sends. */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/options.h"
#include "core/arena.h"
#include "core/block.h"
#include "core/copier.h"
#include "core/observe.h"
#include "core/transfer.h"

const struct adsm_engine *adsm_engine = &adsm_engine_sigsegv;
_Thread_local bool adsm_spare;

/* ---- the list of open objects, the range of open blocks */

static void widen_open(struct adsm_object *object, uint32_t first, uint32_t n)
{
	adsm_object_mark_open(object);
	if (object->blocks.open_first == object->blocks.open_end) {
		object->blocks.open_first = first;
		object->blocks.open_end = first + n;
		return;
	}
	if (first < object->blocks.open_first)
		object->blocks.open_first = first;
	if (first + n > object->blocks.open_end)
		object->blocks.open_end = first + n;
}

/* ---- states */

static void set_state(struct adsm_object *object, uint32_t b, unsigned next)
{
	struct adsm_block *block = &object->blocks.at[b];
	unsigned state = block->state;

	if (state == next)
		return;
	if (state == ADSM_DIRTY)
		object->blocks.protocol->cleaned(&object->home->policy, block, adsm_run_size(object, b, 1));
	object->blocks.n_in[state]--;
	object->blocks.n_in[next]++;
	block->state = next;
	if (state == ADSM_DIRTY && !object->blocks.n_in[ADSM_DIRTY])
		object->blocks.protocol->object_dirty(&object->home->policy, -1);
	if (next == ADSM_DIRTY && object->blocks.n_in[ADSM_DIRTY] == 1)
		object->blocks.protocol->object_dirty(&object->home->policy, 1);
	if (next == ADSM_INVALID)
		block->flags &= ~ADSM_BLOCK_HOLED;
	if (next == ADSM_DIRTY) {
		object->blocks.protocol->dirtied(&object->home->policy, block, adsm_run_size(object, b, 1));
		object->home->send_failed = false;
	}
}

static void set_states(struct adsm_object *object, uint32_t first, uint32_t n, unsigned next)
{
	for (uint32_t b = first; b < first + n; b++)
		set_state(object, b, next);
}

static struct adsm_step step_of(const struct adsm_object *object, uint32_t b, enum adsm_block_event event)
{
	return object->blocks.protocol->steps[object->blocks.at[b].state][event];
}

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

static void set_views(struct adsm_object *object, uint32_t first, uint32_t n, enum adsm_prot view)
{
	for (uint32_t b = first; b < first + n; b++)
		object->blocks.at[b].view = view;
}

static int close_bytes(struct adsm_object *object, size_t offset, size_t size)
{
	return adsm_advises(object) ? adsm_advice_view(object, offset, size, ADSM_PROT_NONE) :
		adsm_engine->close((char *)object->start + offset, size);
}

void adsm_object_close_view(struct adsm_object *object)
{
	if (!close_bytes(object, 0, object->span))
		set_views(object, 0, object->blocks.n, ADSM_PROT_NONE);
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
		if (o->blocks.protocol->detects && !o->blocks.n_holds && !is_shut(o)) {
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
	if (!all && object->blocks.protocol->detects && !object->blocks.n_holds)
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
	set_views(object, first, n, view);
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

	if (!object->blocks.protocol->detects)
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
		set_views(object, first, end - first, ADSM_PROT_NONE);
	return error;
}

static bool may_close(const struct adsm_object *object)
{
	return object->blocks.protocol->detects && !object->assigned && !object->blocks.n_holds &&
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
			set_views(object, object->blocks.open_first,
				  object->blocks.open_end - object->blocks.open_first, ADSM_PROT_NONE);
	}
}

/* ---- invariants */

#ifndef NDEBUG
#define CHECKED_BLOCKS 1024	/* of larger objects every access would cost too much */

/* What holds of every object whenever the lock is given back. */
static void check(const struct adsm_object *object)
{
	uint32_t n_in[ADSM_N_STATES] = { 0 };

	if (object->blocks.n > CHECKED_BLOCKS)
		return;
	for (uint32_t b = 0; b < object->blocks.n; b++) {
		const struct adsm_block *block = &object->blocks.at[b];
		bool inside = b >= object->blocks.open_first && b < object->blocks.open_end;

		n_in[block->state]++;
		assert(!(block->flags & ADSM_BLOCK_QUEUED) || block->state == ADSM_READ_ONLY);
		assert(!(block->flags & ADSM_BLOCK_HOLED) || object->inputs);
		if (!object->blocks.protocol->detects)
			continue;
		assert(block->view != ADSM_PROT_RW || block->state == ADSM_DIRTY);
		assert(block->view == ADSM_PROT_NONE || block->state != ADSM_INVALID);
		assert(inside || (block->state == ADSM_INVALID && block->view == ADSM_PROT_NONE));
	}
	for (int state = 0; state < ADSM_N_STATES; state++)
		assert(n_in[state] == object->blocks.n_in[state]);
	assert(object->open || !object->blocks.n_in[ADSM_DIRTY]);
}
#else
static void check(const struct adsm_object *object)
{
}
#endif

/* ---- accesses */

bool adsm_block_blocked(const struct adsm_object *object, uint32_t b)
{
	unsigned flags = object->blocks.at[b].flags, both = ADSM_BLOCK_QUEUED | ADSM_BLOCK_SENDING;

	return (flags & ADSM_BLOCK_BUSY) || (flags & both) == both || object->home->gate;
}

uint64_t adsm_block_must_wait(const struct adsm_object *object, uint32_t b, enum adsm_block_event event)
{
	struct adsm_step step = step_of(object, b, event);
	uint64_t seq = 0;

	/* What becomes Dirty may be sent at any time: not under a call that still reads the old bytes. */
	if (step.next == ADSM_DIRTY && object->blocks.at[b].state != ADSM_DIRTY)
		seq = adsm_object_use_seq(object);
	else if (step.transfer == ADSM_TO_HOST)
		seq = adsm_object_write_seq(object);
	return seq > atomic_load(&object->home->completed) ? seq : 0;
}

/* The largest window, in blocks. */
static size_t window_limit(const struct adsm_object *object, enum adsm_block_event event)
{
	size_t limit = adsm_options.fault_ahead >> object->blocks.shift;
	const struct adsm_policy *policy = &object->home->policy;

	/* Blocks opened ahead for writing count as Dirty: they must not push each other out. */
	if (event != ADSM_EVENT_READ && policy->fixed_limit && limit > policy->fixed_limit / 2)
		limit = policy->fixed_limit / 2;
	return limit < 2 || object->blocks.n == 1 ? 1 : (size_t)1 << (63 - __builtin_clzl(limit));
}

uint32_t adsm_block_window(struct adsm_object *object, uint32_t b, enum adsm_block_event event)
{
	const struct adsm_block *block = &object->blocks.at[b];
	size_t limit = window_limit(object, event);
	struct adsm_stream *stream = NULL;
	uint32_t n = 1, window = 1, end;

	if (limit == 1)
		return 1;
	for (unsigned i = 0; i < ADSM_STREAMS && !stream; i++)
		if (object->blocks.streams[i].window && object->blocks.streams[i].next == b)
			stream = &object->blocks.streams[i];
	if (stream) {
		window = stream->window < limit / 4 ? stream->window * 4 : (uint32_t)limit;
	} else {
		stream = &object->blocks.streams[object->blocks.next_stream];
		object->blocks.next_stream = (object->blocks.next_stream + 1) % ADSM_STREAMS;
	}
	/* It ends where windows of its size do: the largest are whole huge pages. */
	end = (b + window) & ~(window - 1);
	while (b + n < end && b + n < object->blocks.n) {
		const struct adsm_block *next = &object->blocks.at[b + n];

		if (next->state != block->state || next->view != block->view ||
		    ((next->flags | block->flags) & (ADSM_BLOCK_BUSY | ADSM_BLOCK_QUEUED)))
			break;
		n++;
	}
	stream->next = b + n;
	stream->window = window;
	return n;
}

uint32_t adsm_block_ahead(const struct adsm_object *object, uint32_t b)
{
	size_t limit = window_limit(object, ADSM_EVENT_READ), end = (b + limit) & ~(limit - 1);
	bool streams = false;
	uint32_t n = 0;

	/* Once what is fetched ahead is no more than what was read. */
	for (unsigned i = 0; i < ADSM_STREAMS; i++)
		streams |= object->blocks.streams[i].next == b && object->blocks.streams[i].window > 1 &&
			object->blocks.streams[i].window >= limit / 2;
	if (limit == 1 || !streams || object->home->device->caps.unified)
		return 0;
	while (b + n < end && b + n < object->blocks.n && object->blocks.at[b + n].state == ADSM_INVALID &&
	       !(object->blocks.at[b + n].flags & ADSM_BLOCK_BUSY))
		n++;
	return n;
}

#define RANGE_STEP_MAX ((size_t)4 << 20)	/* bytes that change state, or are fetched, at once */

static bool covered(const struct adsm_object *object, uint32_t b, size_t start, size_t end)
{
	size_t at = (size_t)b << object->blocks.shift;

	return start <= at && end - at >= adsm_run_size(object, b, 1);
}

/* May block @b go on in one step with block @first? */
static bool alike(const struct adsm_object *object, uint32_t first, uint32_t b)
{
	const struct adsm_block *one = &object->blocks.at[first], *other = &object->blocks.at[b];

	return one->state == other->state && one->view == other->view &&
		!((one->flags | other->flags) & (ADSM_BLOCK_QUEUED | ADSM_BLOCK_BUSY));
}

uint32_t adsm_range_step(const struct adsm_object *object, bool input, size_t at, size_t end,
			 enum adsm_block_event *ret_event)
{
	/* Where every block that becomes Dirty may push another one out: one by one. */
	size_t most = adsm_options.evict_batch == 1 ? 1 : RANGE_STEP_MAX >> object->blocks.shift;
	uint32_t first = (uint32_t)(at >> object->blocks.shift), n = 1;
	bool whole = input && covered(object, first, at, end);

	*ret_event = whole ? ADSM_EVENT_OVERWRITE : input ? ADSM_EVENT_WRITE : ADSM_EVENT_READ;
	if (!input && object->blocks.at[first].state != ADSM_INVALID &&
	    !(object->blocks.at[first].flags & ADSM_BLOCK_BUSY))
		return 0;
	for (; n < most && first + n < object->blocks.n && alike(object, first, first + n); n++)
		if (input ? !whole || !covered(object, first + n, at, end) :
			    (size_t)(first + n) << object->blocks.shift >= end)
			break;
	return n;
}

/* Blocks are busy while the lock is given away to move their bytes, and before, when that is the evictor's to do. */
static void begin_busy(struct adsm_object *object, uint32_t first, uint32_t n)
{
	set_flags(object, first, n, ADSM_BLOCK_BUSY);
	object->blocks.n_busy++;
	adsm_object_mark_open(object);
}

static void end_busy(struct adsm_object *object, uint32_t first, uint32_t n)
{
	clear_flags(object, first, n, ADSM_BLOCK_BUSY);
	object->blocks.n_busy--;
	adsm_home_notify(object->home);
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
	uint64_t moved = adsm_moved_ns;
	int error = move_around(object, (struct adsm_around){ 0 }, ADSM_TO_HOST, start,
				start + adsm_run_size(object, first, n));

	for (uint32_t b = first; object->inputs && !error && b < first + n; b++)
		if (adsm_input_is_in(object, b)) {
			object->blocks.at[b].flags |= ADSM_BLOCK_HOLED;
			object->blocks.at[b].holes_until = object->last_input;
		}
	adsm_habit_fetch(object, &object->habits, adsm_run_size(object, first, n), adsm_moved_ns - moved);
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

static int send_run(struct adsm_object *object, uint32_t first, uint32_t n);

/* What a hole lacks cannot be had now: with the rest of the block sent, whoever wants it fetches all of it again. */
static void give_back(struct adsm_object *object, uint32_t b)
{
	const struct adsm_block *block = &object->blocks.at[b];

	if (!object->blocks.protocol->detects || block->holds ||
	    (block->flags & (ADSM_BLOCK_QUEUED | ADSM_BLOCK_SENDING)))
		return;
	if (block->state == ADSM_DIRTY && (block->view != ADSM_PROT_RW || !set_view(object, b, 1, ADSM_PROT_READ))) {
		set_state(object, b, ADSM_READ_ONLY);
		send_run(object, b, 1);
	}
	if (block->state == ADSM_READ_ONLY &&
	    !(block->flags & (ADSM_BLOCK_BUSY | ADSM_BLOCK_QUEUED | ADSM_BLOCK_SENDING)) &&
	    (block->view == ADSM_PROT_NONE || !set_view(object, b, 1, ADSM_PROT_NONE)))
		set_state(object, b, ADSM_INVALID);
}

int adsm_input_fill(struct adsm_object *object, struct adsm_input *input, size_t delivered)
{
	int error = 0, failed;

	/* What it has let go of is the object's again at once: a call may come while the lock is away. */
	while (input->object == object && input->size > delivered) {
		size_t end = input->offset + input->size, at = input->offset + delivered;
		uint32_t b = (uint32_t)((end - 1) >> object->blocks.shift);

		if (at < (size_t)b << object->blocks.shift)
			at = (size_t)b << object->blocks.shift;
		if (object->blocks.at[b].flags & ADSM_BLOCK_BUSY) {
			adsm_home_wait(object->home);
			continue;
		}
		if (adsm_input_left_hole(&object->blocks.at[b], input)) {
			begin_busy(object, b, 1);
			failed = move_around(object, (struct adsm_around){ .except = input }, ADSM_TO_HOST, at, end);
			end_busy(object, b, 1);
			if (failed)
				give_back(object, b);
			error = error ? error : failed;
		}
		input->size = at - input->offset;
		adsm_input_closed(object, at, end - at);
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

/* Fetch a run into the alias, or only give it pages: cold ones cost more than the transfer. */
static int fill(struct adsm_object *object, uint32_t first, uint32_t n, bool wanted)
{
	int error = 0;

	begin_busy(object, first, n);
	if (!all_have(object, first, n, ADSM_BLOCK_BACKED))
		back(object, first, n);
	if (wanted)
		error = fetch(object, first, n);
	end_busy(object, first, n);
	if (!error)
		set_flags(object, first, n, ADSM_BLOCK_BACKED);
	return error;
}

/* A block that is about to become Dirty again is still queued: what it held must go first, counted. */
static void send_before_write(struct adsm_object *object, uint32_t b)
{
	struct adsm_block *block = &object->blocks.at[b];
	int error;

	adsm_queue_remove(&object->home->send, block);
	block->flags &= ~ADSM_BLOCK_QUEUED;
	begin_busy(object, b, 1);
	error = send_bytes(object, b, 1);
	end_busy(object, b, 1);
	object->blocks.n_sending--;
	if (error)
		set_state(object, b, ADSM_DIRTY);	/* as it will be anyhow: it goes again */
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

	if (adsm_options.evict_batch != 1 || adsm_spare)
		return;
	while ((block = adsm_policy_victim(&home->policy, false))) {
		struct adsm_object *object = block->object;
		uint32_t b = (uint32_t)(block - object->blocks.at);

		if (block->view == ADSM_PROT_RW && set_view(object, b, 1, ADSM_PROT_READ))
			return;
		set_state(object, b, step_of(object, b, ADSM_EVENT_SEND).next);
		block->flags |= ADSM_BLOCK_QUEUED;
		adsm_queue_push(&home->send, block);
		object->blocks.n_sending++;
		note_early(object, b, 1);
	}
}

int adsm_blocks_access(struct adsm_object *object, uint32_t first, uint32_t n, enum adsm_block_event event,
		       bool open)
{
	struct adsm_step step = step_of(object, first, event);
	enum adsm_prot view = step.next == ADSM_DIRTY ? ADSM_PROT_RW : ADSM_PROT_READ;
	enum adsm_state state = object->blocks.at[first].state;
	bool becomes_dirty = state != ADSM_DIRTY && step.next == ADSM_DIRTY;
	int error;

	if (becomes_dirty && (object->blocks.at[first].flags & ADSM_BLOCK_QUEUED))
		send_before_write(object, first);
	if (step.transfer == ADSM_TO_HOST || !all_have(object, first, n, ADSM_BLOCK_BACKED)) {
		error = fill(object, first, n, step.transfer == ADSM_TO_HOST);
		if (error)
			return error;
	}
	if (open && object->blocks.at[first].view < view) {
		error = set_view(object, first, n, view);
		if (error)
			return error;
	}
	widen_open(object, first, n);
	if (object->blocks.protocol->detects && becomes_dirty && event != ADSM_EVENT_SYNC)
		adsm_note_opened(object, first, n, true);
	if (object->blocks.protocol->detects && state == ADSM_INVALID && event == ADSM_EVENT_READ)
		adsm_note_opened(object, first, n, false);
	if (adsm_advises(object))
		adsm_advice_access(object, first, n, event);
	set_states(object, first, n, step.next);
	if (event == ADSM_EVENT_OVERWRITE)
		clear_flags(object, first, n, ADSM_BLOCK_HOLED);
	check(object);
	if (!becomes_dirty)
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

/* Send a run that is ReadOnly and closed to writers; give the lock away meanwhile. */
static int send_run(struct adsm_object *object, uint32_t first, uint32_t n)
{
	struct adsm_home *home = object->home;
	int error;

	object->blocks.n_sending++;
	set_flags(object, first, n, ADSM_BLOCK_SENDING);
	error = send_bytes(object, first, n);
	clear_flags(object, first, n, ADSM_BLOCK_SENDING);
	object->blocks.n_sending--;
	adsm_home_notify(home);
	if (!error)
		return 0;
	/* But what was written again, and closed again, is on its way already. */
	for (uint32_t b = first; b < first + n; b++)
		if (object->blocks.at[b].state == ADSM_READ_ONLY && !(object->blocks.at[b].flags & ADSM_BLOCK_QUEUED))
			set_state(object, b, ADSM_DIRTY);
	return error;
}

int adsm_object_flush(struct adsm_object *object)
{
	bool detects = object->blocks.protocol->detects;
	int tries = detects ? 1 : ADSM_UNDETECTED_TRIES;
	/* "No two sends are merged" where sends are block by block. */
	uint32_t most = adsm_options.evict_batch == 1 ? 1 : UINT32_MAX;
	uint64_t birth = object->birth;
	uint32_t first = object->blocks.open_first;

	while (first < object->blocks.open_end && object->blocks.n_in[ADSM_DIRTY]) {
		const struct adsm_block *blocks = object->blocks.at;
		uint32_t n = 0;
		int error;

		if (object->blocks.n_holds)
			return -EBUSY;
		while (first + n < object->blocks.open_end && n < most && blocks[first + n].state == ADSM_DIRTY &&
		       blocks[first + n].view == blocks[first].view &&
		       !(blocks[first + n].flags & (ADSM_BLOCK_SENDING | ADSM_BLOCK_BUSY)))
			n++;
		if (!n) {
			if (blocks[first].state != ADSM_DIRTY) {
				first++;
				continue;
			}
			/* Written again while it moves, or being filled. Its owner may free it meanwhile. */
			adsm_home_wait(object->home);
			if (!object->live || object->birth != birth)
				return 0;
			continue;
		}
		if (detects && blocks[first].view == ADSM_PROT_RW) {
			error = set_view(object, first, n, ADSM_PROT_READ);
			if (error)
				return error;
		}
		set_states(object, first, n, step_of(object, first, ADSM_EVENT_SEND).next);
		error = send_run(object, first, n);
		if (error && --tries <= 0)
			return error;
		first += error ? 0 : n;
	}
	check(object);
	return 0;
}

bool adsm_evict_batch(struct adsm_home *home, bool started)
{
	struct adsm_block *block = home->send_failed ? NULL : adsm_policy_victim(&home->policy, started);
	struct adsm_object *object;
	uint32_t first, n = 0;
	enum adsm_prot view;

	if (!block || (block->flags & ADSM_BLOCK_SENDING))
		return false;
	object = block->object;
	first = (uint32_t)(block - object->blocks.at);
	view = block->view;
	/* Oldest first, as one run while the next oldest is the next block. */
	while (block == &object->blocks.at[first + n] && block->view == view &&
	       !(block->flags & ADSM_BLOCK_SENDING) &&
	       ((size_t)n << object->blocks.shift) < adsm_options.evict_batch) {
		set_state(object, first + n, step_of(object, first + n, ADSM_EVENT_SEND).next);
		n++;
		block = first + n < object->blocks.n ? adsm_policy_victim(&home->policy, true) : NULL;
	}
	/* Still under the lock that state and protection change together. */
	if (view == ADSM_PROT_RW && set_view(object, first, n, ADSM_PROT_READ)) {
		set_states(object, first, n, ADSM_DIRTY);
		home->send_failed = true;
		return false;
	}
	check(object);
	note_early(object, first, n);
	if (send_run(object, first, n))
		home->send_failed = true;
	return true;
}

bool adsm_send_queued(struct adsm_home *home)
{
	struct adsm_block *block = home->send.oldest;
	struct adsm_object *object;
	uint32_t b;

	while (block && (block->flags & ADSM_BLOCK_SENDING))
		block = block->newer;
	if (!block)
		return false;
	object = block->object;
	b = (uint32_t)(block - object->blocks.at);
	adsm_queue_remove(&home->send, block);
	block->flags &= ~ADSM_BLOCK_QUEUED;
	send_run(object, b, 1);
	object->blocks.n_sending--;
	adsm_home_notify(home);
	return true;
}

static void want(struct adsm_object *object, uint32_t b, uint32_t n)
{
	struct adsm_home *home = object->home;

	/* What went down with the device may still be had from it, by mistake. */
	if (!n || home->n_ahead == ADSM_AHEAD_MAX || home->gate || adsm_object_lost(object))
		return;
	begin_busy(object, b, n);
	home->ahead[(home->first_ahead + home->n_ahead++) % ADSM_AHEAD_MAX] = (struct adsm_ahead){
		.object = object, .first = b, .n = n, .cause = adsm_cause,
	};
}

void adsm_want_ahead(struct adsm_object *object, uint32_t b)
{
	want(object, b, adsm_block_ahead(object, b));
}

bool adsm_fetch_ahead(struct adsm_home *home)
{
	const struct adsm_cause cause = adsm_cause;
	struct adsm_object *object;
	struct adsm_ahead ahead;

	if (!home->n_ahead)
		return false;
	ahead = home->ahead[home->first_ahead];
	object = ahead.object;
	home->first_ahead = (home->first_ahead + 1) % ADSM_AHEAD_MAX;
	home->n_ahead--;
	adsm_cause = ahead.cause;
	/* Then the lock is ours to the end. If it fails, they are Invalid as before: the reader tries itself. */
	if (!fill(object, ahead.first, ahead.n, true)) {
		adsm_note_opened(object, ahead.first, ahead.n, false);
		widen_open(object, ahead.first, ahead.n);
		set_states(object, ahead.first, ahead.n, step_of(object, ahead.first, ADSM_EVENT_READ).next);
	}
	adsm_cause = cause;
	end_busy(object, ahead.first, ahead.n);
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
		adsm_options.fault_ahead && adsm_block_size(object) <= EXPECTED_BYTES && !home->device->caps.unified &&
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
		if (block->state != ADSM_INVALID || adsm_block_blocked(object, b) ||
		    adsm_block_must_wait(object, b, ADSM_EVENT_READ))
			continue;
		want(object, b, 1);
		/* Its turn comes after what others want, unless the evictor has taken it. */
		while (object->live && object->birth == birth && (block->flags & ADSM_BLOCK_BUSY) &&
		       adsm_fetch_ahead(home))
			;
		if (!object->live || object->birth != birth || !first->trust || first->block != b ||
		    block->state != ADSM_READ_ONLY || block->view != ADSM_PROT_NONE || adsm_block_blocked(object, b))
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
	bool all_invalid = true;

	adsm_note_called(object);
	if (adsm_advises(object))
		adsm_advice_called(object, event);
	for (uint32_t b = object->blocks.open_first; b < object->blocks.open_end; b++) {
		set_state(object, b, step_of(object, b, event).next);
		object->blocks.at[b].flags &= ~ADSM_BLOCK_EARLY;
		all_invalid &= object->blocks.at[b].state == ADSM_INVALID;
	}
	if (all_invalid && object->blocks.protocol->detects)
		adsm_object_mark_closed(object);
	check(object);
}

void adsm_object_may_be_written(struct adsm_object *object)
{
	for (uint32_t b = object->blocks.open_first; b < object->blocks.open_end; b++)
		if (object->blocks.at[b].state == ADSM_READ_ONLY)
			set_state(object, b, step_of(object, b, ADSM_EVENT_WRITE).next);
}

int adsm_object_sync(struct adsm_object *object)
{
	for (uint32_t b = object->blocks.open_first; b < object->blocks.open_end; b++) {
		int error = 0;

		if (step_of(object, b, ADSM_EVENT_SYNC).next != object->blocks.at[b].state)
			error = adsm_blocks_access(object, b, 1, ADSM_EVENT_SYNC, false);
		if (error)
			return error;
	}
	return 0;
}

int adsm_blocks_device_write(struct adsm_object *object, uint32_t first, uint32_t n,
			     int (*write)(void *arg), void *arg)
{
	int error;

	/* What the CPU writes from here on races with this and waits. */
	for (uint32_t b = first; b < first + n; b++)
		if (object->blocks.at[b].view != ADSM_PROT_NONE) {
			error = set_view(object, b, n - (b - first), ADSM_PROT_NONE);
			if (error)
				return error;
			break;
		}
	begin_busy(object, first, n);
	adsm_unlock(&object->home->lock);
	error = adsm_backend_run(object->home, write, arg);
	adsm_lock(&object->home->lock);
	end_busy(object, first, n);
	/* After a failure nobody knows how far the device came, but what the host has is whole. */
	for (uint32_t b = first; b < first + n; b++)
		if (!error)
			set_state(object, b, step_of(object, b, ADSM_EVENT_CALL_OUT).next);
		else if (object->blocks.at[b].state == ADSM_READ_ONLY)
			set_state(object, b, ADSM_DIRTY);
	if (adsm_advises(object))
		adsm_advice_device_wrote(object, first, n);
	check(object);
	return error;
}

void adsm_object_drop(struct adsm_object *object)
{
	forget_expected(object);
	if (object->blocks.n_in[ADSM_DIRTY])
		object->blocks.protocol->object_dirty(&object->home->policy, -1);
	for (uint32_t b = 0; b < object->blocks.n; b++) {
		struct adsm_block *block = &object->blocks.at[b];

		if (block->state == ADSM_DIRTY)
			object->blocks.protocol->cleaned(&object->home->policy, block, adsm_run_size(object, b, 1));
	}
	adsm_inputs_drop(object);
	adsm_object_mark_closed(object);
}
