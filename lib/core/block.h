/* SPDX-License-Identifier: MIT */
/*
 * block.h - what happens to blocks: the CPU's accesses, sends, calls and syncs. Each plans a change, moves the bytes
 * that it needs, and opens or closes the views.
 *
 * Two orders hold everywhere: fill, then open; close, then drain. The library reads and writes objects through the
 * alias only.
 */
#ifndef ADSM_BLOCK_H
#define ADSM_BLOCK_H

#include "core/input.h"
#include "core/object.h"

/* Set while an access of this thread needs more blocks at once than may be Dirty: the oldest ones stay open. */
extern _Thread_local bool adsm_defers_eviction;

/* ---- all of the following: home->lock held, signals blocked by adsm_os_signals_block(). Where bytes have to move the
 * lock is given away meanwhile; those blocks are busy */

/* Has an event to wait for another thread: a fetch, a fill, a send that must go first, a call at the gate? */
static inline bool adsm_block_blocked(const struct adsm_object *object, uint32_t b)
{
	return adsm_blocks_at_work(&object->blocks, b) || object->home->gate;
}

/* The call an event on a block in its state has to wait for, 0 when none. */
static inline uint64_t adsm_block_must_wait(const struct adsm_object *object, uint32_t b,
					    enum adsm_block_event event)
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

/* How many blocks from @b on a fault there should open: one, or more where it continues a stream. Of those that are not
 * touched none has bytes that an input is for: it may have been left, and nobody has looked. */
static inline uint32_t adsm_block_window(struct adsm_object *object, uint32_t b, enum adsm_block_event event)
{
	uint32_t n = adsm_blocks_window(&object->blocks, b, event, adsm_protocol_options.fault_ahead);

	return n > 1 && object->inputs ? 1 + adsm_inputs_after(object, b + 1, n - 1) : n;
}

/*
 * Of the blocks that input or output of the bytes from @at to @end uses, how many from the first on take one step, were
 * there nothing to wait for; 0: the first needs none.
 */
uint32_t adsm_range_step(const struct adsm_blocks *blocks, bool input, size_t at, size_t end,
			 enum adsm_block_event *ret_event);
/*
 * Let an event of the CPU's (READ, WRITE, OVERWRITE) happen to @n blocks from @first on, all of one state and neither
 * busy nor waiting for a call: the protocol says whether their bytes are fetched first. @open: open the view, too.
 * Returns 0, or a negative errno: nothing has changed.
 */
int adsm_blocks_access(struct adsm_object *object, uint32_t first, uint32_t n, enum adsm_block_event event,
		       bool open);
/*
 * @input has brought @delivered bytes and lets go of the rest. Of that the bytes which a fetch left out for this input,
 * and which are no other's, are fetched first.
 */
int adsm_input_let_go(struct adsm_object *object, struct adsm_input *input, size_t delivered);
/* What only the CPU has of a block is sent, and the CPU forgets the rest: the next access fetches the block whole. Not
 * while it is held, or on its way, or where accesses are not seen. */
void adsm_block_give_back(struct adsm_object *object, uint32_t b);

/*
 * What may have been written without a fault becomes Dirty; but where a call uses it, it is left until *@ret_seq has
 * ended; 0: none is. 1: some are Dirty now; or a negative errno. Of what is open more may be written meanwhile.
 */
int adsm_object_collect(struct adsm_object *object, uint64_t *ret_seq);

/* ---- sends */

/* Send the Dirty blocks of an object; -EBUSY when the program has held one meanwhile. */
int adsm_object_flush(struct adsm_object *object);
/* In the paper's exact mode: close the blocks over the rolling size, and queue them. */
void adsm_evict_now(struct adsm_home *home);
/* Send the blocks early that the policy says are due. @started as protocol.h has it. True: some were sent. */
bool adsm_evict_batch(struct adsm_home *home, bool started);
/* Send one block of home->sends; false: there was none. */
bool adsm_send_queued(struct adsm_home *home);

/* ---- fetches ahead of a reader, by the evictor or whoever comes first; their blocks are busy from now on */

/* Fetch a run of blocks that lack bytes, unless too many are wanted already. */
void adsm_want(struct adsm_object *object, uint32_t b, uint32_t n);
/* A reader's window ends before @b: in sequences whose windows have become half as large as may be, want the next. */
void adsm_want_ahead(struct adsm_object *object, uint32_t b);
/* Fetch one run that was wanted; false: there was none. */
bool adsm_fetch_ahead(struct adsm_home *home);

/* ---- calls and syncs */

/* A call has been launched that does this to an object, whose views are closed unless the call only reads. */
void adsm_object_called(struct adsm_object *object, enum adsm_block_event event);
/* A sync: the blocks that the protocol wants back are fetched. */
int adsm_object_sync(struct adsm_object *object);
/* Whole blocks get new contents on the device by @write; then they are Invalid. -EAGAIN: the CPU has just written
 * some of the object without a fault, which is known now. */
int adsm_blocks_device_write(struct adsm_object *object, uint32_t first, uint32_t n,
			     int (*write)(void *arg), void *arg);

#endif
