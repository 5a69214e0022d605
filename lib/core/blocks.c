/* SPDX-License-Identifier: MIT */
/* blocks.c - the automaton: all changes of blocks' states are in this file. */
#include "core/blocks.h"

#include <string.h>

/* ---- states */

static void set_state(struct adsm_blocks *blocks, uint32_t b, unsigned next)
{
	const struct adsm_protocol *protocol = blocks->protocol;
	struct adsm_block *block = &blocks->at[b];
	unsigned state = block->state;
	bool unsent = blocks->unsent >> state & 1, dirties = blocks->unsent >> next & 1;

	if (state == next)
		return;
	if (unsent && !dirties)
		protocol->cleaned(blocks->policy, block, adsm_blocks_size(blocks, b, 1));
	blocks->n_in[state]--;
	blocks->n_in[next]++;
	block->state = next;
	if (blocks->lacking >> next & 1)
		block->flags &= ~ADSM_BLOCK_HOLED;
	if (unsent && !dirties && !adsm_blocks_n_unsent(blocks))
		protocol->object_dirty(blocks->policy, -1);
	if (unsent || !dirties)
		return;
	if (adsm_blocks_n_unsent(blocks) == 1)
		protocol->object_dirty(blocks->policy, 1);
	protocol->dirtied(blocks->policy, block, adsm_blocks_size(blocks, b, 1));
	blocks->sends->failed = false;
}

static void set_states(struct adsm_blocks *blocks, uint32_t first, uint32_t n, unsigned next)
{
	for (uint32_t b = first; b < first + n; b++)
		set_state(blocks, b, next);
}

void adsm_blocks_may_be_written(struct adsm_blocks *blocks, uint32_t first, uint32_t n)
{
	for (uint32_t b = first; b < first + n; b++)
		if (!adsm_blocks_lack(blocks, b) && !adsm_blocks_unsent(blocks, b) &&
		    !(blocks->at[b].flags & ADSM_BLOCK_QUEUED))	/* its copy to the device is still to be made */
			set_state(blocks, b, adsm_blocks_step(blocks, b, ADSM_EVENT_WRITE).next);
}

static void widen_open(struct adsm_blocks *blocks, uint32_t first, uint32_t n)
{
	bool none = blocks->open_first == blocks->open_end;

	if (none || first < blocks->open_first)
		blocks->open_first = first;
	if (none || first + n > blocks->open_end)
		blocks->open_end = first + n;
}

/* ---- windows */

/* The largest window, in blocks. */
static size_t window_limit(const struct adsm_blocks *blocks, enum adsm_block_event event, size_t most)
{
	size_t limit = most >> blocks->shift, room;

	/* Blocks that are opened ahead for writing count as Dirty: they must not evict each other. */
	if (event != ADSM_EVENT_READ) {
		room = blocks->protocol->window(blocks->policy);
		limit = limit < room ? limit : room;
	}
	return limit < 2 || blocks->n == 1 ? 1 : (size_t)1 << (63 - __builtin_clzl(limit));
}

uint32_t adsm_blocks_window(struct adsm_blocks *blocks, uint32_t b, enum adsm_block_event event, size_t most)
{
	const struct adsm_block *block = &blocks->at[b];
	size_t limit = window_limit(blocks, event, most);
	struct adsm_stream *stream = NULL;
	uint32_t n = 1, window = 1, end;

	/* What is mostly read is rarely written. Blocks that are opened ahead for writing would be sent in vain. */
	if (limit == 1 || (block->read_mostly && event != ADSM_EVENT_READ))
		return 1;
	for (unsigned i = 0; i < ADSM_STREAMS && !stream; i++)
		if (blocks->streams[i].window && blocks->streams[i].next == b)
			stream = &blocks->streams[i];
	if (stream) {
		window = stream->window < limit / 4 ? stream->window * 4 : (uint32_t)limit;
	} else {
		stream = &blocks->streams[blocks->next_stream];
		blocks->next_stream = (blocks->next_stream + 1) % ADSM_STREAMS;
	}
	if (block->read_mostly)
		window = (uint32_t)limit;
	/* A window ends at a multiple of its size, so the largest windows are whole huge pages. */
	end = (b + window) & ~(window - 1);
	while (b + n < end && b + n < blocks->n) {
		const struct adsm_block *next = &blocks->at[b + n];

		if (next->state != block->state || next->view != block->view ||
		    next->read_mostly != block->read_mostly ||
		    ((next->flags | block->flags) & (ADSM_BLOCK_BUSY | ADSM_BLOCK_QUEUED)))
			break;
		n++;
	}
	stream->next = b + n;
	stream->window = window;
	return n;
}

uint32_t adsm_blocks_ahead(const struct adsm_blocks *blocks, uint32_t b, size_t most)
{
	size_t limit = window_limit(blocks, ADSM_EVENT_READ, most), end = (b + limit) & ~(limit - 1);
	bool streams = false;
	uint32_t n = 0;

	/* Only if no more is fetched ahead than the reader has read already. */
	for (unsigned i = 0; i < ADSM_STREAMS; i++)
		streams |= blocks->streams[i].next == b && blocks->streams[i].window > 1 &&
			blocks->streams[i].window >= limit / 2;
	if (limit == 1 || !streams)
		return 0;
	while (b + n < end && b + n < blocks->n && adsm_blocks_lack(blocks, b + n) &&
	       !(blocks->at[b + n].flags & ADSM_BLOCK_BUSY))
		n++;
	return n;
}

static bool covered(const struct adsm_blocks *blocks, uint32_t b, size_t start, size_t end)
{
	size_t at = (size_t)b << blocks->shift;

	return start <= at && end - at >= adsm_blocks_size(blocks, b, 1);
}

/* Can block @b take the same step as block @first? */
static bool alike(const struct adsm_blocks *blocks, uint32_t first, uint32_t b)
{
	const struct adsm_block *one = &blocks->at[first], *other = &blocks->at[b];

	return one->state == other->state && one->view == other->view &&
		!((one->flags | other->flags) & (ADSM_BLOCK_QUEUED | ADSM_BLOCK_BUSY));
}

uint32_t adsm_blocks_range(const struct adsm_blocks *blocks, bool input, size_t at, size_t end, size_t most,
			   enum adsm_block_event *ret_event)
{
	uint32_t first = (uint32_t)(at >> blocks->shift), n = 1;
	bool whole = input && covered(blocks, first, at, end);

	*ret_event = whole ? ADSM_EVENT_OVERWRITE : input ? ADSM_EVENT_WRITE : ADSM_EVENT_READ;
	if (!input && !adsm_blocks_lack(blocks, first) && !(blocks->at[first].flags & ADSM_BLOCK_BUSY))
		return 0;
	for (; n < most && first + n < blocks->n && alike(blocks, first, first + n); n++)
		if (input ? !whole || !covered(blocks, first + n, at, end) :
			    (size_t)(first + n) << blocks->shift >= end)
			break;
	return n;
}

/* ---- changes */

struct adsm_change adsm_blocks_plan_send(const struct adsm_blocks *blocks, uint32_t first, uint32_t most)
{
	const struct adsm_block *at = &blocks->at[first];
	struct adsm_change change = adsm_blocks_plan(blocks, first, 0, ADSM_EVENT_SEND);

	while (first + change.n < blocks->n && change.n < most && adsm_blocks_unsent(blocks, first + change.n) &&
	       at[change.n].state == at->state && at[change.n].view == at->view &&
	       !(at[change.n].flags & (ADSM_BLOCK_SENDING | ADSM_BLOCK_BUSY)))
		change.n++;
	return change;
}

struct adsm_change adsm_blocks_plan_queued(const struct adsm_blocks *blocks, uint32_t b, bool alone)
{
	struct adsm_change change = adsm_blocks_plan(blocks, b, 1, ADSM_EVENT_SEND);

	change.marks = alone ? ADSM_BLOCK_BUSY | ADSM_BLOCK_SENDING : ADSM_BLOCK_SENDING;
	return change;
}

struct adsm_change adsm_blocks_plan_none(const struct adsm_blocks *blocks, uint32_t b)
{
	return (struct adsm_change){ .first = b, .n = 1, .event = ADSM_EVENT_NONE, .view = blocks->at[b].view };
}

static void leave_queue(struct adsm_blocks *blocks, uint32_t b)
{
	if (!(blocks->at[b].flags & ADSM_BLOCK_QUEUED))
		return;
	adsm_queue_remove(&blocks->sends->queued, &blocks->at[b]);
	blocks->at[b].flags &= ~ADSM_BLOCK_QUEUED;
	blocks->n_sending--;
}

void adsm_blocks_leave_queue(struct adsm_blocks *blocks, const struct adsm_change *change)
{
	leave_queue(blocks, change->first);
	set_states(blocks, change->first, change->n, change->step.next);
}

bool adsm_blocks_extend(struct adsm_blocks *blocks, struct adsm_change *change)
{
	uint32_t b = change->first + change->n;

	if (b == blocks->n || !adsm_blocks_unsent(blocks, b) ||
	    adsm_blocks_step(blocks, b, ADSM_EVENT_SEND).next != change->step.next ||
	    blocks->at[b].view != blocks->at[change->first].view ||
	    (blocks->at[b].flags & (ADSM_BLOCK_SENDING | ADSM_BLOCK_BUSY)))
		return false;
	adsm_blocks_set_flags(blocks, b, 1, change->marks);
	set_state(blocks, b, change->step.next);
	change->n++;
	return true;
}

static void end(struct adsm_blocks *blocks, const struct adsm_change *change)
{
	if (change->marks)
		adsm_blocks_clear_flags(blocks, change->first, change->n, change->marks);
	blocks->n_busy -= (change->marks & ADSM_BLOCK_BUSY) != 0;
	blocks->n_sending -= (change->marks & ADSM_BLOCK_SENDING) != 0;
}

void adsm_blocks_commit(struct adsm_blocks *blocks, const struct adsm_change *change)
{
	end(blocks, change);
	if (change->event == ADSM_EVENT_SEND || change->event == ADSM_EVENT_NONE)
		return;
	if (change->event != ADSM_EVENT_CALL_OUT)
		widen_open(blocks, change->first, change->n);
	for (uint32_t b = change->first; b < change->first + change->n; b++)
		set_state(blocks, b, adsm_blocks_step(blocks, b, change->event).next);
	if (change->event == ADSM_EVENT_OVERWRITE)
		adsm_blocks_clear_flags(blocks, change->first, change->n, ADSM_BLOCK_HOLED);
}

void adsm_blocks_abort(struct adsm_blocks *blocks, const struct adsm_change *change)
{
	end(blocks, change);
	/* If a write of the device failed, it is unknown how far it came. The host's copy is whole. */
	if (change->event == ADSM_EVENT_SEND || change->event == ADSM_EVENT_CALL_OUT)
		adsm_blocks_may_be_written(blocks, change->first, change->n);
	for (uint32_t b = change->first; b < change->first + change->n; b++)
		if (adsm_blocks_lack(blocks, b))
			blocks->at[b].flags &= ~ADSM_BLOCK_HOLED;
}

void adsm_blocks_queue(struct adsm_blocks *blocks, const struct adsm_change *change)
{
	set_states(blocks, change->first, change->n, change->step.next);
	for (uint32_t b = change->first; b < change->first + change->n; b++) {
		blocks->at[b].flags |= ADSM_BLOCK_QUEUED;
		adsm_queue_push(&blocks->sends->queued, &blocks->at[b]);
		blocks->n_sending++;
	}
}

bool adsm_blocks_called(struct adsm_blocks *blocks, enum adsm_block_event event)
{
	bool all_lack = true;

	for (uint32_t b = blocks->open_first; b < blocks->open_end; b++) {
		set_state(blocks, b, adsm_blocks_step(blocks, b, event).next);
		all_lack &= adsm_blocks_lack(blocks, b);
	}
	if (!all_lack || !blocks->detects || blocks->syncs)
		return false;
	blocks->open_first = blocks->open_end = 0;
	return true;
}

void adsm_blocks_forget(struct adsm_blocks *blocks, uint32_t b)
{
	set_state(blocks, b, adsm_blocks_step(blocks, b, ADSM_EVENT_CALL_OUT).next);
}

void adsm_blocks_discard(struct adsm_blocks *blocks, uint32_t first, uint32_t n)
{
	widen_open(blocks, first, n);
	for (uint32_t b = first; b < first + n; b++)
		leave_queue(blocks, b);
	set_states(blocks, first, n, blocks->protocol->initial);
	adsm_blocks_clear_flags(blocks, first, n, ADSM_BLOCK_HOLED | ADSM_BLOCK_EARLY);
}

/* ---- life */

void adsm_blocks_init(struct adsm_blocks *blocks, const struct adsm_protocol *protocol, unsigned view)
{
	blocks->protocol = protocol;
	blocks->detects = adsm_protocol_detects(protocol);
	blocks->lacking = blocks->unsent = 0;
	blocks->syncs = false;
	for (unsigned state = 0; state < protocol->n_states; state++) {
		blocks->lacking |= (protocol->steps[state][ADSM_EVENT_READ].transfer == ADSM_TO_HOST) << state;
		blocks->unsent |= (protocol->steps[state][ADSM_EVENT_SEND].transfer == ADSM_TO_DEVICE) << state;
		blocks->syncs |= protocol->steps[state][ADSM_EVENT_SYNC].next != state;
	}
	memset(blocks->n_in, 0, sizeof(blocks->n_in));
	blocks->n_in[protocol->initial] = blocks->n;
	blocks->open_first = 0;
	blocks->open_end = blocks->n;
	blocks->n_busy = blocks->n_sending = blocks->n_holds = 0;
	memset(blocks->streams, 0, sizeof(blocks->streams));
	memset(&blocks->notes, 0, sizeof(blocks->notes));
	for (uint32_t b = 0; b < blocks->n; b++) {
		blocks->at[b].owner = blocks;
		blocks->at[b].state = protocol->initial;
		blocks->at[b].view = view;
	}
}

void adsm_blocks_join(struct adsm_blocks *blocks, void *policy, struct adsm_sends *sends)
{
	blocks->policy = policy;
	blocks->sends = sends;
	blocks->protocol->object(policy, &blocks->notes, 1);
	if (!adsm_blocks_n_unsent(blocks))
		return;
	blocks->protocol->object_dirty(policy, 1);
	for (uint32_t b = 0; b < blocks->n; b++)
		if (adsm_blocks_unsent(blocks, b))
			blocks->protocol->dirtied(policy, &blocks->at[b], adsm_blocks_size(blocks, b, 1));
}

void adsm_blocks_leave(struct adsm_blocks *blocks)
{
	for (uint32_t b = 0; b < blocks->n; b++)
		if (adsm_blocks_unsent(blocks, b))
			blocks->protocol->cleaned(blocks->policy, &blocks->at[b], adsm_blocks_size(blocks, b, 1));
	if (adsm_blocks_n_unsent(blocks))
		blocks->protocol->object_dirty(blocks->policy, -1);
	blocks->protocol->object(blocks->policy, &blocks->notes, -1);
}

/* ---- invariants */

static const char *broken_block(const struct adsm_blocks *blocks, uint32_t b)
{
	const struct adsm_block *block = &blocks->at[b];
	bool lacks = adsm_blocks_lack(blocks, b), unsent = adsm_blocks_unsent(blocks, b);
	bool inside = b >= blocks->open_first && b < blocks->open_end;

	if ((block->flags & ADSM_BLOCK_QUEUED) && (lacks || unsent))
		return "a queued block has nothing to send";
	if ((block->flags & ADSM_BLOCK_HOLED) && lacks)
		return "a block has holes, but lacks its bytes";
	if (block->view > blocks->protocol->permits[block->state])
		return "a view permits more than the block's state";
	if (!inside && (!lacks || (blocks->detects && block->view != ADSM_PERMIT_NONE)))
		return "a block outside of the open range is open";
	return NULL;
}

const char *adsm_blocks_broken(const struct adsm_blocks *blocks)
{
	uint32_t n_in[ADSM_STATES_MAX] = { 0 }, n_busy = 0, n_sending = 0;
	const char *broken = NULL;

	for (uint32_t b = 0; b < blocks->n && !broken; b++) {
		n_in[blocks->at[b].state]++;
		n_busy += (blocks->at[b].flags & ADSM_BLOCK_BUSY) != 0;
		n_sending += (blocks->at[b].flags & (ADSM_BLOCK_SENDING | ADSM_BLOCK_QUEUED)) != 0;
		broken = broken_block(blocks, b);
	}
	if (!broken && memcmp(n_in, blocks->n_in, sizeof(n_in)))
		return "the counts of blocks in each state are wrong";
	if (!broken && n_busy && !blocks->n_busy)
		return "blocks that change are not counted";
	if (!broken && !blocks->n_sending != !n_sending)
		return "blocks that are sent or queued are not counted";
	return broken;
}
