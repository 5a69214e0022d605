/* SPDX-License-Identifier: MIT */
/*
 * blocks.h - the blocks of an object as an automaton: their states, what their views permit, who is at work on them.
 *
 * It moves no byte, takes no lock and calls no system. Who wants something of a run of blocks plans the change, begins
 * it where bytes have to move, moves them and changes the view, and commits the change or aborts it. Under the lock of
 * the object's home; between begin and the end it may be given away.
 */
#ifndef ADSM_BLOCKS_H
#define ADSM_BLOCKS_H

#include "protocol.h"

#define ADSM_STREAMS 8			/* sequential accesses told apart in one object */

/* One access pattern that walks through an object: where it should fault next, what it opened last. */
struct adsm_stream {
	uint32_t next, window;		/* blocks */
};

/* Of a home: closed blocks on their way to the device, block by block. */
struct adsm_sends {
	struct adsm_queue queued;
	bool failed;			/* the last early send did: none until the next write */
};

struct adsm_blocks {
	const struct adsm_protocol *protocol;
	void *policy;			/* the home's, of that protocol */
	struct adsm_notes notes;	/* its own */
	struct adsm_sends *sends;	/* the home's */
	struct adsm_block *at;
	uint32_t n;
	unsigned shift;			/* a block has 1 << shift bytes */
	size_t last_size;		/* bytes of the last one that are the caller's */
	bool detects;			/* the view follows the state */
	bool syncs;			/* syncs change states */
	uint8_t lacking, unsent;	/* the states, by bits, that lack bytes; that send */
	uint32_t n_in[ADSM_STATES_MAX];	/* blocks in each state */
	uint32_t open_first, open_end;	/* blocks outside lack bytes and are closed */
	uint32_t n_busy, n_sending;	/* changes begun, or wanted ahead, copies from here; sends begun, or queued */
	uint32_t n_holds;
	struct adsm_stream streams[ADSM_STREAMS];
	unsigned next_stream;
};

#define ADSM_EVENT_NONE ADSM_N_EVENTS	/* bytes move, and states stay */

/* What happens, or is to happen, to a run of blocks of one state. */
struct adsm_change {
	uint32_t first, n;
	uint8_t event;			/* enum adsm_block_event, or ADSM_EVENT_NONE */
	uint8_t view;			/* what the views have to permit; where it sends, the most they may */
	uint8_t marks;			/* ADSM_BLOCK_BUSY, _SENDING: the blocks', while it is begun */
	bool dirties;			/* the blocks come to a state that sends */
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

/* How many blocks are in any of some states, by bits? */
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

/* Does an event move what only the CPU has to the device? */
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

/* Has an event to wait for another thread's change: a fetch, a fill, a send that must go first? */
static inline bool adsm_blocks_at_work(const struct adsm_blocks *blocks, uint32_t b)
{
	unsigned flags = blocks->at[b].flags, both = ADSM_BLOCK_QUEUED | ADSM_BLOCK_SENDING;

	return (flags & ADSM_BLOCK_BUSY) || (flags & both) == both;
}

/*
 * How many blocks from @b on a fault there should open, of one state, view and kind: one, or more where it continues a
 * stream. @most: bytes.
 */
uint32_t adsm_blocks_window(struct adsm_blocks *blocks, uint32_t b, enum adsm_block_event event, size_t most);
/* A reader's window of at most @most bytes ends before @b: how many blocks from there on to fetch while it reads. */
uint32_t adsm_blocks_ahead(const struct adsm_blocks *blocks, uint32_t b, size_t most);
/*
 * Of the blocks that input or output of the bytes from @at to @end uses, how many from the first on take one step, were
 * there nothing to wait for: at most @most; 0: the first needs none.
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

/* An event happens to @n blocks from @first on, all of one state. */
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

/* The next run from @first on, of at most @most blocks, that can be sent at once. n 0: @first cannot. */
struct adsm_change adsm_blocks_plan_send(const struct adsm_blocks *blocks, uint32_t first, uint32_t most);
/* The same of a queued block. @alone: whoever else wants the block waits. */
struct adsm_change adsm_blocks_plan_queued(const struct adsm_blocks *blocks, uint32_t b, bool alone);
/* Bytes of a block are to move, and its state stays. */
struct adsm_change adsm_blocks_plan_none(const struct adsm_blocks *blocks, uint32_t b);
/* A send begins: its states change, and what was queued is not any more. */
void adsm_blocks_leave_queue(struct adsm_blocks *blocks, const struct adsm_change *change);
/* Bytes are about to move: of sends the states change now, of all else at the end. */
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

/* A send that has begun takes the block behind it, too; false: that cannot be sent with it. */
bool adsm_blocks_extend(struct adsm_blocks *blocks, struct adsm_change *change);
/* The bytes have moved, and views permit what they have to. Also without begin, where none had to move. */
void adsm_blocks_commit(struct adsm_blocks *blocks, const struct adsm_change *change);
/* The bytes have not moved, or nobody knows: each block is where it is sure to be whole. */
void adsm_blocks_abort(struct adsm_blocks *blocks, const struct adsm_change *change);
/* In place of begin: a planned send of blocks that writers cannot reach any more is left to whoever takes it. */
void adsm_blocks_queue(struct adsm_blocks *blocks, const struct adsm_change *change);

/* A call has been launched that does this to the open range. True: nothing is open any more. */
bool adsm_blocks_called(struct adsm_blocks *blocks, enum adsm_block_event event);
/* The CPU may have written a run unseen: of the blocks that both sides have only the CPU's bytes count. */
void adsm_blocks_may_be_written(struct adsm_blocks *blocks, uint32_t first, uint32_t n);
/* The CPU's bytes of a closed block that both sides have are not whole: only the device's count. */
void adsm_blocks_forget(struct adsm_blocks *blocks, uint32_t b);

/* What the views of a run permit has changed. */
static inline void adsm_blocks_set_views(struct adsm_blocks *blocks, uint32_t first, uint32_t n, unsigned view)
{
	for (uint32_t b = first; b < first + n; b++)
		blocks->at[b].view = view;
}

/* ---- life: @at and the sizes are set */

/* All are in the protocol's first state; their views permit @view. */
void adsm_blocks_init(struct adsm_blocks *blocks, const struct adsm_protocol *protocol, unsigned view);
/* From here on the policy knows them, and the queue of sends may. */
void adsm_blocks_join(struct adsm_blocks *blocks, void *policy, struct adsm_sends *sends);
/* The blocks are about to be freed. */
void adsm_blocks_leave(struct adsm_blocks *blocks);

/* What is broken of what holds of all blocks whenever the lock is given back, in words; NULL: nothing. */
const char *adsm_blocks_broken(const struct adsm_blocks *blocks);

#endif
