/* SPDX-License-Identifier: MIT */
/*
 * blocks.h - the blocks of an object as an automaton: their states, what their views permit, and which of them are
 * being moved.
 *
 * The automaton moves no bytes, takes no lock and makes no system call. Its caller plans a change of a run of blocks,
 * begins the change if bytes have to move, moves them, changes the view, and commits or aborts the change. The caller
 * holds the lock of the object's home; between begin and commit or abort it may give the lock away.
 */
#pragma once

#include "protocol.h"

#define ADSM_STREAMS 8			/* sequential accesses that one object keeps apart */

/* A sequential access to an object: the block where it should fault next, and the size of the window that it opened
 * last. */
struct adsm_stream {
	uint32_t next, window;		/* blocks */
};

/* Of a home: blocks that are closed to writers, and are yet to be sent one by one. */
struct adsm_sends {
	struct adsm_queue queued;
	bool failed;			/* the last early send failed: no further one until the next write */
};

struct adsm_blocks {
	const struct adsm_protocol *protocol;
	void *policy;			/* the home's policy for that protocol */
	struct adsm_notes notes;	/* the policy's notes on this object */
	struct adsm_sends *sends;	/* the home's */
	struct adsm_block *at;
	uint32_t n;
	unsigned shift;			/* a block has 1 << shift bytes */
	size_t last_size;		/* bytes of the last one that are the caller's */
	bool detects;			/* the view follows the state */
	bool syncs;			/* syncs change states */
	/* bit masks of states: in which the CPU lacks the bytes; in which only the CPU has them */
	uint8_t lacking, unsent;
	uint32_t n_in[ADSM_STATES_MAX];	/* blocks in each state */
	uint32_t open_first, open_end;	/* all blocks outside [open_first, open_end) are Invalid and closed */
	/* n_busy: changes that are begun or requested ahead, and device copies from here; n_sending: sends that are
	 * begun or queued */
	uint32_t n_busy, n_sending;
	uint32_t n_holds;
	struct adsm_stream streams[ADSM_STREAMS];
	unsigned next_stream;
};

#define ADSM_EVENT_NONE ADSM_N_EVENTS	/* bytes move, and no state changes */

/* A change, planned or begun, of a run of blocks that have one state. */
struct adsm_change {
	uint32_t first, n;
	uint8_t event;			/* enum adsm_block_event, or ADSM_EVENT_NONE */
	uint8_t view;			/* what the views have to permit; for a send, the most that they may permit */
	/* ADSM_BLOCK_BUSY, _SENDING: flags that the blocks have while the change is begun */
	uint8_t marks;
	bool dirties;			/* the blocks change to a state in which only the CPU has the bytes */
	struct adsm_step step;
};

/* ---- states */

static inline struct adsm_step adsm_blocks_step(const struct adsm_blocks *blocks, uint32_t b,
						enum adsm_block_event event)
{
	return blocks->protocol->steps[blocks->at[b].state][event];
}

/* Has only the device the bytes of a block? */
static inline bool adsm_blocks_lack(const struct adsm_blocks *blocks, uint32_t b)
{
	return blocks->lacking >> blocks->at[b].state & 1;
}

/* Has only the CPU the bytes of a block? */
static inline bool adsm_blocks_unsent(const struct adsm_blocks *blocks, uint32_t b)
{
	return blocks->unsent >> blocks->at[b].state & 1;
}

/* The number of blocks that are in one of @states, a bit mask. */
static inline uint32_t adsm_blocks_count(const struct adsm_blocks *blocks, unsigned states)
{
	uint32_t n = 0;

	for (unsigned state = 0; state < ADSM_STATES_MAX; state++)
		n += states >> state & 1 ? blocks->n_in[state] : 0;
	return n;
}

static inline uint32_t adsm_blocks_n_lacking(const struct adsm_blocks *blocks)
{
	return adsm_blocks_count(blocks, blocks->lacking);
}

static inline uint32_t adsm_blocks_n_unsent(const struct adsm_blocks *blocks)
{
	return adsm_blocks_count(blocks, blocks->unsent);
}

/* Does an event move bytes that only the CPU has to the device? */
static inline bool adsm_blocks_sends(const struct adsm_blocks *blocks, enum adsm_block_event event)
{
	for (unsigned state = 0; state < ADSM_STATES_MAX; state++)
		if (blocks->unsent >> state & 1 &&
		    blocks->protocol->steps[state][event].transfer == ADSM_TO_DEVICE)
			return true;
	return false;
}

/* Bytes of a run that are the caller's. */
static inline size_t adsm_blocks_size(const struct adsm_blocks *blocks, uint32_t first, uint32_t n)
{
	return first + n == blocks->n ? ((size_t)(n - 1) << blocks->shift) + blocks->last_size :
		(size_t)n << blocks->shift;
}

/* Does an event have to wait for another thread's change: for a fetch, a fill, or a send that must go first? */
static inline bool adsm_blocks_at_work(const struct adsm_blocks *blocks, uint32_t b)
{
	unsigned flags = blocks->at[b].flags, both = ADSM_BLOCK_QUEUED | ADSM_BLOCK_SENDING;

	return (flags & ADSM_BLOCK_BUSY) || (flags & both) == both;
}

/* The number of blocks that a fault at block @b opens: one, or more if the fault continues a stream, or if the CPU
 * mostly reads the block. All have the state and the view of block @b. @most: bytes. */
uint32_t adsm_blocks_window(struct adsm_blocks *blocks, uint32_t b, enum adsm_block_event event, size_t most);
/* A reader's window of at most @most bytes ends before @b. Returns how many blocks, from @b on, to fetch while it reads
 * that window. */
uint32_t adsm_blocks_ahead(const struct adsm_blocks *blocks, uint32_t b, size_t most);
/*
 * @at, @end: the bytes that an input or output uses. Returns how many blocks, from the first of them on and at most
 * @most, can take the same step together, regardless of waits; 0: the first block needs no step. @ret_event: the event
 * of that step.
 */
uint32_t adsm_blocks_range(const struct adsm_blocks *blocks, bool input, size_t at, size_t end, size_t most,
			   enum adsm_block_event *ret_event);

/* ---- flags, ADSM_BLOCK_* */

static inline void adsm_blocks_set_flags(struct adsm_blocks *blocks, uint32_t first, uint32_t n, unsigned flags)
{
	for (uint32_t b = first; b < first + n; b++)
		blocks->at[b].flags |= flags;
}

static inline void adsm_blocks_clear_flags(struct adsm_blocks *blocks, uint32_t first, uint32_t n, unsigned flags)
{
	for (uint32_t b = first; b < first + n; b++)
		blocks->at[b].flags &= ~flags;
}

static inline bool adsm_blocks_all_have(const struct adsm_blocks *blocks, uint32_t first, uint32_t n, unsigned flags)
{
	for (uint32_t b = first; b < first + n; b++)
		if ((blocks->at[b].flags & flags) != flags)
			return false;
	return true;
}

/* ---- changes */

/* Plan: an event happens to @n blocks from @first on, which have one state. */
static inline struct adsm_change adsm_blocks_plan(const struct adsm_blocks *blocks, uint32_t first, uint32_t n,
						  enum adsm_block_event event)
{
	struct adsm_step step = adsm_blocks_step(blocks, first, event);

	return (struct adsm_change){
		.first = first, .n = n, .event = event, .step = step,
		.view = blocks->protocol->permits[step.next],
		.dirties = (blocks->unsent >> step.next & 1) && !adsm_blocks_unsent(blocks, first),
	};
}

/* Plan to send the longest run from @first on, of at most @most blocks, that can go as one send. n is 0 if @first
 * cannot be sent now. */
struct adsm_change adsm_blocks_plan_send(const struct adsm_blocks *blocks, uint32_t first, uint32_t most);
/* Plan to send a queued block. @alone: all other threads that need the block wait. */
struct adsm_change adsm_blocks_plan_queued(const struct adsm_blocks *blocks, uint32_t b, bool alone);
/* Plan to move bytes of a block without a change of its state. */
struct adsm_change adsm_blocks_plan_none(const struct adsm_blocks *blocks, uint32_t b);
/* A send begins: the states change, and a queued block leaves the queue. */
void adsm_blocks_leave_queue(struct adsm_blocks *blocks, const struct adsm_change *change);
/* Bytes are about to move. For a send the states change now, for all other changes at commit. */
static inline void adsm_blocks_begin(struct adsm_blocks *blocks, struct adsm_change *change)
{
	bool sends = change->event == ADSM_EVENT_SEND;

	if (!change->marks)
		change->marks = sends ? ADSM_BLOCK_SENDING : ADSM_BLOCK_BUSY;
	blocks->n_busy += (change->marks & ADSM_BLOCK_BUSY) != 0;
	blocks->n_sending += (change->marks & ADSM_BLOCK_SENDING) != 0;
	adsm_blocks_set_flags(blocks, change->first, change->n, change->marks);
	if (sends)
		adsm_blocks_leave_queue(blocks, change);
}

/* Extend a send that has begun by the block behind it; false: that block cannot be sent with it. */
bool adsm_blocks_extend(struct adsm_blocks *blocks, struct adsm_change *change);
/* The bytes have moved, and the views permit what they have to. If no bytes had to move, commit also works without
 * begin. */
void adsm_blocks_commit(struct adsm_blocks *blocks, const struct adsm_change *change);
/* The bytes have not moved, or it is unknown whether they have: each block gets the state of the side that surely has
 * all of its bytes. */
void adsm_blocks_abort(struct adsm_blocks *blocks, const struct adsm_change *change);
/* Instead of begin: queue a planned send of blocks that are closed to writers. Any thread may do it later. */
void adsm_blocks_queue(struct adsm_blocks *blocks, const struct adsm_change *change);

/* A call has been launched; @event is what it does to the blocks of the open range. True: no block is open any more. */
bool adsm_blocks_called(struct adsm_blocks *blocks, enum adsm_block_event event);
/* The CPU may have written a run without a fault: blocks whose bytes both sides have become Dirty. */
void adsm_blocks_may_be_written(struct adsm_blocks *blocks, uint32_t first, uint32_t n);
/* The CPU's copy of a closed block that both sides have is incomplete: the block becomes Invalid. */
void adsm_blocks_forget(struct adsm_blocks *blocks, uint32_t b);

/* The contents of a run do not matter any more: it gets the protocol's first state, which must not send. No byte of it
 * moves now, and no view of it permits more than that state. Blocks that are queued leave the queue. */
void adsm_blocks_discard(struct adsm_blocks *blocks, uint32_t first, uint32_t n);

/* Record what the views of a run permit now. */
static inline void adsm_blocks_set_views(struct adsm_blocks *blocks, uint32_t first, uint32_t n, unsigned view)
{
	for (uint32_t b = first; b < first + n; b++)
		blocks->at[b].view = view;
}

/* ---- life: @at and the sizes are set */

/* All blocks get the protocol's first state. @view: what their views permit. */
void adsm_blocks_init(struct adsm_blocks *blocks, const struct adsm_protocol *protocol, unsigned view);
/* From now on the policy knows the blocks, and they may be queued for sends. */
void adsm_blocks_join(struct adsm_blocks *blocks, void *policy, struct adsm_sends *sends);
/* The blocks are about to be freed. */
void adsm_blocks_leave(struct adsm_blocks *blocks);

/* Check the invariants that hold whenever the lock is given back. Returns a text on the first one that is broken; NULL:
 * none is. */
const char *adsm_blocks_broken(const struct adsm_blocks *blocks);
