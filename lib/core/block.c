/* SPDX-License-Identifier: MIT */
/* block.c - accesses to blocks, sends before calls and early sends, fetches ahead, calls and syncs. */
#include "core/block.h"

#include <assert.h>
#include <errno.h>

#include "base/log.h"
#include "core/copier.h"
#include "core/observe.h"
#include "core/resident.h"
#include "core/transfer.h"
#include "core/view.h"

_Thread_local bool adsm_defers_eviction;

/* ---- invariants */

#ifndef NDEBUG
#define CHECKED_BLOCKS 1024	/* larger objects are not checked: it would make each access too slow */

/* The invariants of an object whenever the lock is given back. */
static void check(const struct adsm_object *object)
{
	const char *broken;

	if (object->blocks.n > CHECKED_BLOCKS)
		return;
	broken = adsm_blocks_broken(&object->blocks);
	if (broken)
		adsm_error("%s: %s", ADSM_THE_OBJECT(object), broken);
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

#define RANGE_STEP_MAX ((size_t)4 << 20)	/* bytes that change state, or are fetched, in one step */

uint32_t adsm_range_step(const struct adsm_blocks *blocks, bool input, size_t at, size_t end,
			 enum adsm_block_event *ret_event)
{
	/* With ADSM_EVICT_BATCH=1 each block that becomes Dirty may close another one: one by one. */
	size_t most = adsm_protocol_options.evict_batch == 1 ? 1 : RANGE_STEP_MAX >> blocks->shift;

	return adsm_blocks_range(blocks, input, at, end, most, ret_event);
}

/* The lock is about to be given away while bytes move; this thread moves them, or later the evictor. */
static void begin(struct adsm_object *object, struct adsm_change *change)
{
	adsm_blocks_begin(&object->blocks, change);
	adsm_object_mark_open(object);
}

/* Bytes have moved, or could not be moved: threads that wait for these blocks look again. */
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

/* Send a run that is closed to writers; gives the lock away meanwhile. */
static int send_run(struct adsm_object *object, struct adsm_change *change)
{
	begin(object, change);
	return end(object, change, adsm_run_send(object, change->first, change->n));
}

/* A block that is about to become Dirty again is still queued: send its bytes first, as one send that is counted. If
 * the send fails, the block is Dirty, as the write would make it, and is sent later. */
static void send_before_write(struct adsm_object *object, uint32_t b)
{
	struct adsm_change change = adsm_blocks_plan_queued(&object->blocks, b, true);

	send_run(object, &change);
}

static void note_early(struct adsm_object *object, uint32_t first, uint32_t n)
{
	adsm_blocks_set_flags(&object->blocks, first, n, ADSM_BLOCK_EARLY);
	object->habits.early += n;
	adsm_note_evicted(object, first, n);
}

/* A run becomes Dirty: count the blocks that were sent early, in vain. */
static void note_again(struct adsm_object *object, uint32_t first, uint32_t n)
{
	uint32_t again = 0;

	for (uint32_t b = first; b < first + n; b++)
		if (object->blocks.at[b].flags & ADSM_BLOCK_EARLY) {
			object->blocks.at[b].flags &= ~ADSM_BLOCK_EARLY;
			again++;
		}
	if (again)
		adsm_habit_again(object, again);
}

/* In the papers' exact mode the writing thread closes the oldest block; other threads do the copy. */
void adsm_evict_now(struct adsm_home *home)
{
	struct adsm_block *block;

	if (adsm_protocol_options.evict_batch != 1 || adsm_defers_eviction)
		return;
	while ((block = adsm_policy_victim(&home->policies, false))) {
		struct adsm_object *object = adsm_object_of(block);
		uint32_t b = (uint32_t)(block - object->blocks.at);
		struct adsm_change change = adsm_blocks_plan(&object->blocks, b, 1, ADSM_EVENT_SEND);

		if (block->view > change.view && adsm_view_set(object, b, 1, change.view))
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
	if (change.step.transfer == ADSM_TO_HOST ||
	    !adsm_blocks_all_have(&object->blocks, first, n, ADSM_BLOCK_BACKED)) {
		begin(object, &change);
		error = adsm_run_fetch(object, &change);
	}
	if (!error && open && object->blocks.at[first].view < change.view)
		error = adsm_view_set(object, first, n, change.view);
	if (!error && object->blocks.detects && change.dirties && event != ADSM_EVENT_SYNC)
		adsm_note_opened(object, first, n, true);
	if (!error && object->blocks.detects && lacked && event == ADSM_EVENT_READ)
		adsm_note_opened(object, first, n, false);
	if (!error)
		adsm_act_on_blocks(object, ADSM_ACT_ACCESS, event, first, n);
	end(object, &change, error);
	if (error)
		return error;
	adsm_object_mark_open(object);
	check(object);
	if (!change.dirties)
		return 0;
	note_again(object, first, n);
	/* If all other blocks are held, only these could be evicted, before the access that they were opened for. */
	for (uint32_t b = first; b < first + n; b++)
		object->blocks.at[b].holds++;
	adsm_evict_now(object->home);
	for (uint32_t b = first; b < first + n; b++)
		object->blocks.at[b].holds--;
	return 0;
}

int adsm_blocks_fetch(struct adsm_object *object, uint32_t first, uint32_t n)
{
	struct adsm_change change = adsm_blocks_plan(&object->blocks, first, n, ADSM_EVENT_READ);
	int error;

	begin(object, &change);
	error = end(object, &change, adsm_run_fetch(object, &change));
	check(object);
	return error;
}

/* ---- writes that the engine reports, and that did not fault */

struct collecting {
	struct adsm_object *object;
	uint64_t seq;			/* the last call that such a write has to wait for */
	bool some;			/* some blocks became Dirty */
};

static bool written(void *arg, void *pages, size_t size)
{
	struct collecting *c = arg;
	struct adsm_object *object = c->object;
	size_t offset = (uintptr_t)pages - object->start;
	uint32_t first = (uint32_t)(offset >> object->blocks.shift);
	uint32_t end = (uint32_t)((offset + size - 1) >> object->blocks.shift) + 1;
	uint32_t before = adsm_blocks_n_unsent(&object->blocks);
	uint64_t wait = 0;

	for (uint32_t b = first; b < end; b++) {
		bool both = !adsm_blocks_lack(&object->blocks, b) && !adsm_blocks_unsent(&object->blocks, b);
		uint64_t seq = both ? adsm_block_must_wait(object, b, ADSM_EVENT_WRITE) : 0;

		wait = seq > wait ? seq : wait;
	}
	c->seq = wait > c->seq ? wait : c->seq;
	if (wait)
		return false;
	adsm_blocks_may_be_written(&object->blocks, first, end - first);
	note_again(object, first, end - first);
	c->some |= adsm_blocks_n_unsent(&object->blocks) > before;
	return true;
}

int adsm_object_collect(struct adsm_object *object, uint64_t *ret_seq)
{
	struct collecting c = { .object = object };
	uint32_t first = object->blocks.open_first, n = object->blocks.open_end - first;
	int error = 0;

	if (n)
		error = object->engine->collect(adsm_run_view(object, first), adsm_run_span(object, first, n),
						written, &c);
	*ret_seq = c.seq;
	return error ? error : c.some;
}

/* ---- sending */

int adsm_object_flush(struct adsm_object *object)
{
	int tries = object->blocks.detects ? 1 : ADSM_UNDETECTED_TRIES;
	/* With ADSM_EVICT_BATCH=1 no two sends are merged. */
	uint32_t most = adsm_protocol_options.evict_batch == 1 ? 1 : UINT32_MAX;
	uint64_t generation = object->generation;
	uint32_t first = object->blocks.open_first;
	struct adsm_error_kept before;

	if (tries > 1)
		adsm_error_keep(&before);
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
			/* The block was written again while it is being sent, or it is being fetched. The object may be
			 * freed meanwhile. */
			adsm_home_wait(object->home);
			if (!object->live || object->generation != generation)
				return 0;
			continue;
		}
		if (object->blocks.at[first].view > change.view) {
			error = adsm_view_set(object, first, change.n, change.view);
			if (error)
				return error;
		}
		error = send_run(object, &change);
		if (error && --tries <= 0)
			return error;
		if (error)
			adsm_error_back(&before);
		first += error ? 0 : change.n;
	}
	check(object);
	return 0;
}

int adsm_blocks_send(struct adsm_object *object, uint32_t first, uint32_t most, uint32_t *ret_n)
{
	struct adsm_change change = adsm_blocks_plan_send(&object->blocks, first, most);
	int error = 0;

	*ret_n = change.n;
	if (change.n && object->blocks.at[first].view > change.view)
		error = adsm_view_set(object, first, change.n, change.view);
	if (change.n && !error)
		error = send_run(object, &change);
	check(object);
	return error;
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
	if (!object->memory) {
		adsm_object_place_early(object);
		return true;
	}
	most = (uint32_t)((adsm_protocol_options.evict_batch + adsm_block_size(object) - 1) >> object->blocks.shift);
	change = adsm_blocks_plan(&object->blocks, (uint32_t)(block - object->blocks.at), 1, ADSM_EVENT_SEND);
	begin(object, &change);
	/* Oldest first: the run grows while the next oldest block is the next block of the object. */
	while (change.n < most && change.first + change.n < object->blocks.n &&
	       adsm_policy_victim(&home->policies, true) == block + change.n &&
	       adsm_blocks_extend(&object->blocks, &change))
		;
	/* The lock was not given away yet, so state and protection change together. */
	if (block->view > change.view && adsm_view_set(object, change.first, change.n, change.view)) {
		end(object, &change, -ENOMEM);
		home->sends.failed = true;
		return false;
	}
	note_early(object, change.first, change.n);
	if (end(object, &change, adsm_run_send(object, change.first, change.n)))
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

/* ---- fetches ahead of sequential readers */

void adsm_want(struct adsm_object *object, uint32_t b, uint32_t n)
{
	struct adsm_home *home = object->home;
	struct adsm_change change;

	n = adsm_inputs_after(object, b, n);
	/* A lost device may still let the library read bytes that were lost with it. */
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
		adsm_want(object, b, adsm_blocks_ahead(&object->blocks, b, adsm_protocol_options.fault_ahead));
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
	/* After the fetch the lock stays held to the end. If the fetch fails, the blocks stay Invalid, and the reader
	 * fetches them itself. */
	error = adsm_run_fetch(object, &ahead.change);
	if (!error)
		adsm_note_opened(object, ahead.change.first, ahead.change.n, false);
	adsm_cause = cause;
	end(object, &ahead.change, error);
	check(object);
	return true;
}

/* ---- inputs in progress */

/* Needed if the bytes of a hole cannot be fetched now, for instance. */
void adsm_block_give_back(struct adsm_object *object, uint32_t b)
{
	const struct adsm_block *block = &object->blocks.at[b];
	struct adsm_change change;
	uint64_t seq;

	if (!object->blocks.detects || block->holds ||
	    (block->flags & (ADSM_BLOCK_QUEUED | ADSM_BLOCK_SENDING)))
		return;
	adsm_object_collect(object, &seq);
	change = adsm_blocks_plan(&object->blocks, b, 1, ADSM_EVENT_SEND);
	if (adsm_blocks_unsent(&object->blocks, b) &&
	    (block->view <= change.view || !adsm_view_set(object, b, 1, change.view)))
		send_run(object, &change);
	if (!adsm_blocks_lack(&object->blocks, b) && !adsm_blocks_unsent(&object->blocks, b) &&
	    !(block->flags & (ADSM_BLOCK_BUSY | ADSM_BLOCK_QUEUED | ADSM_BLOCK_SENDING)) &&
	    (block->view == ADSM_PROT_NONE || !adsm_view_set(object, b, 1, ADSM_PROT_NONE)) &&
	    !adsm_object_collect(object, &seq) && !seq)
		adsm_blocks_forget(&object->blocks, b);
}

int adsm_input_let_go(struct adsm_object *object, struct adsm_input *input, size_t delivered)
{
	int error = 0, failed;

	/* A call may come while the lock is away. So bytes that the input has let go of belong to the object again
	 * immediately. */
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
			failed = adsm_transfer(object, (struct adsm_around){ .except = input }, ADSM_TO_HOST, at, upto);
			end(object, &change, 0);
			if (failed)
				adsm_block_give_back(object, b);
			error = error ? error : failed;
		}
		input->size = at - input->offset;
		adsm_input_closed(object, at, upto - at);
	}
	return error;
}

/* ---- calls and syncs */

void adsm_object_called(struct adsm_object *object, enum adsm_block_event event)
{
	uint32_t first = object->blocks.open_first, n = object->blocks.open_end - first;

	object->version += event != ADSM_EVENT_CALL_IN;
	adsm_note_called(object);
	adsm_act(object, ADSM_ACT_CALLED, event, 0, adsm_object_last_use(object));
	if (object->habits.early)
		adsm_blocks_clear_flags(&object->blocks, first, n, ADSM_BLOCK_EARLY);
	if (adsm_blocks_called(&object->blocks, event))
		adsm_object_mark_closed(object);
	check(object);
}

int adsm_object_sync(struct adsm_object *object)
{
	adsm_act(object, ADSM_ACT_SYNCED, ADSM_EVENT_SYNC, 0, 0);
	for (uint32_t b = object->blocks.open_first; b < object->blocks.open_end; b++) {
		int error = 0;

		if (adsm_blocks_step(&object->blocks, b, ADSM_EVENT_SYNC).next == object->blocks.at[b].state)
			continue;
		/* If the protocol detects accesses, the next access fetches a block that is not ready now. */
		if (!object->blocks.detects ||
		    !(adsm_block_blocked(object, b) || adsm_block_must_wait(object, b, ADSM_EVENT_SYNC)))
			error = adsm_blocks_access(object, b, 1, ADSM_EVENT_SYNC, false);
		else
			adsm_act_inexact(object);
		if (error)
			return error;
	}
	return 0;
}

int adsm_blocks_device_write(struct adsm_object *object, uint32_t first, uint32_t n,
			     int (*write)(void *arg), void *arg)
{
	struct adsm_change change;
	uint64_t seq;
	int error;

	/* From here on writes of the CPU race with the device's write: they fault and wait. */
	for (uint32_t b = first; b < first + n && object->blocks.detects; b++)
		if (object->blocks.at[b].view != ADSM_PROT_NONE) {
			error = adsm_view_set(object, b, n - (b - first), ADSM_PROT_NONE);
			if (error)
				return error;
			break;
		}
	if (adsm_object_collect(object, &seq) || seq)
		return -EAGAIN;
	change = adsm_blocks_plan(&object->blocks, first, n, ADSM_EVENT_CALL_OUT);
	object->version++;
	begin(object, &change);
	adsm_unlock(&object->home->lock);
	error = adsm_backend_run(object->home, write, arg);
	adsm_lock(&object->home->lock);
	end(object, &change, error);
	adsm_act_on_blocks(object, ADSM_ACT_DEVICE_WROTE, ADSM_EVENT_NONE, first, n);
	check(object);
	return error;
}
