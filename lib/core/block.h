/* SPDX-License-Identifier: MIT */
/*
 * block.h - what happens to blocks: accesses of the CPU, sends, calls and syncs. Each function plans a change, moves
 * the bytes that the change needs, and opens or closes the views.
 *
 * Two orders hold everywhere: fill, then open; close, then drain. The library reads and writes objects only through the
 * alias.
 */
#pragma once

#include "core/input.h"
#include "core/object.h"

/* Set while one access of this thread needs more Dirty blocks at the same time than the protocol allows:
 * adsm_evict_now() then does nothing. */
extern _Thread_local bool adsm_defers_eviction;

/* ---- for all of the following: the caller holds home->lock, with signals blocked by adsm_os_signals_block(). If bytes
 * have to move, the function gives the lock away meanwhile; the blocks of the change are then busy */

/* Does an event have to wait for another thread: for a fetch, a fill, a send that must go first, or a call that makes
 * accesses wait (home->gate)? */
static inline bool adsm_block_blocked(const struct adsm_object *object, uint32_t b)
{
	return adsm_blocks_at_work(&object->blocks, b) || object->home->gate;
}

/* The number of a call that an event has to wait for, given the block's state; 0: no call. There may be more. */
static inline uint64_t adsm_block_must_wait(const struct adsm_object *object, uint32_t b,
					    enum adsm_block_event event)
{
	switch (adsm_blocks_step(&object->blocks, b, event).wait) {
	case ADSM_WAIT_WRITERS:
		return adsm_object_writer(object);
	case ADSM_WAIT_USERS:
		return adsm_object_user(object);
	case ADSM_WAIT_UNIT:
		return adsm_call_unfinished(object->home);
	}
	return 0;
}

/*
 * The number of blocks that a fault at block @b opens: one, or more if the fault continues a stream. The blocks after
 * the first contain no bytes of an input in progress: the input's thread may have left it by a jump, and nothing here
 * checks that.
 */
static inline uint32_t adsm_block_window(struct adsm_object *object, uint32_t b, enum adsm_block_event event)
{
	uint32_t n = adsm_blocks_window(&object->blocks, b, event, adsm_protocol_options.fault_ahead);

	return n > 1 && object->inputs ? 1 + adsm_inputs_after(object, b + 1, n - 1) : n;
}

/*
 * @at, @end: the bytes that an input or output uses. Returns how many blocks, from the first of them on, can take the
 * same step together, regardless of waits; 0: the first block needs no step. @ret_event: the event of that step.
 */
uint32_t adsm_range_step(const struct adsm_blocks *blocks, bool input, size_t at, size_t end,
			 enum adsm_block_event *ret_event);
/*
 * An access of the CPU (READ, WRITE, OVERWRITE) happens to @n blocks from @first on. All have the same state, and none
 * is busy or waits for a call. If the protocol says so, the bytes are fetched first. @open: also open the view. Returns
 * 0, or a negative errno if nothing has changed.
 */
int adsm_blocks_access(struct adsm_object *object, uint32_t first, uint32_t n, enum adsm_block_event event,
		       bool open);
/*
 * Fetch @n blocks from @first on for the library, not for an access of the CPU: the views stay as they are. All have
 * the same state, and none is busy or waits for a call.
 */
int adsm_blocks_fetch(struct adsm_object *object, uint32_t first, uint32_t n);
/*
 * @input has delivered @delivered bytes and lets go of the rest. If a fetch left out bytes of the rest, they are
 * fetched first, except those of other inputs.
 */
int adsm_input_let_go(struct adsm_object *object, struct adsm_input *input, size_t delivered);
/* Send the bytes of a block that only the CPU has, then make the block Invalid, so that the next access fetches all of
 * it. Does nothing if the block is held, queued or being sent, or if the protocol does not detect accesses. */
void adsm_block_give_back(struct adsm_object *object, uint32_t b);

/*
 * Blocks that the CPU may have written without a fault become Dirty. If such a write has to wait for a call, the engine
 * keeps it, and *@ret_seq is the last call to wait for; else it is 0. Returns 1 if blocks became Dirty, 0 if none did,
 * or a negative errno. While views are open, the CPU may write more.
 */
int adsm_object_collect(struct adsm_object *object, uint64_t *ret_seq);

/* ---- sends */

/* Send the run of Dirty blocks that begins at @first, at most @most blocks. *@ret_n: how many blocks; 0 if block @first
 * cannot be sent now. If the send fails, they are Dirty again. */
int adsm_blocks_send(struct adsm_object *object, uint32_t first, uint32_t most, uint32_t *ret_n);
/* Send the Dirty blocks of an object; -EBUSY if the program has held a block meanwhile. */
int adsm_object_flush(struct adsm_object *object);
/* With ADSM_EVICT_BATCH=1 (the papers' exact mode): close the oldest Dirty blocks beyond the rolling size, and queue
 * them. */
void adsm_evict_now(struct adsm_home *home);
/* Send one run of blocks that the policy wants sent early. @started: as in victim() of protocol.h. True: a send was
 * tried. */
bool adsm_evict_batch(struct adsm_home *home, bool started);
/* Send one block of home->sends; false: no block is queued. */
bool adsm_send_queued(struct adsm_home *home);

/* ---- fetches ahead of a reader. The evictor does them, or the first thread that needs the blocks; the blocks are busy
 * from the request on */

/* Request a fetch of a run of Invalid blocks. Does nothing if there are too many requests already. */
void adsm_want(struct adsm_object *object, uint32_t b, uint32_t n);
/* The window of a reader ends before @b. If a sequence of reads ends there whose windows have at least half the maximum
 * size, request a fetch of the next window. */
void adsm_want_ahead(struct adsm_object *object, uint32_t b);
/* Fetch one run that was requested; false: no request is waiting. */
bool adsm_fetch_ahead(struct adsm_home *home);

/* ---- calls and syncs */

/* A call has been launched; @event is what it does to the object. The views are closed, unless the call only reads. */
void adsm_object_called(struct adsm_object *object, enum adsm_block_event event);
/* A sync: fetch the blocks that the protocol fetches at a sync. */
int adsm_object_sync(struct adsm_object *object);
/* @write gives whole blocks new contents on the device; then they are Invalid. -EAGAIN: the library has just found that
 * the CPU had written some of the object without a fault. */
int adsm_blocks_device_write(struct adsm_object *object, uint32_t first, uint32_t n,
			     int (*write)(void *arg), void *arg);
