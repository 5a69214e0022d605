/* SPDX-License-Identifier: MIT */
/* prefetch.c - see prefetch.h. Bytes move in pieces: the lock is free between them, and a touch waits for one piece. */
#include "run/copy/prefetch.h"

#include <errno.h>

#include "core/block.h"
#include "core/observe.h"
#include "core/resident.h"
#include "run/wait/left.h"
#include "run/wait/wait.h"

/* ---- with the lock held, which the functions give away meanwhile. The object is live when they begin */

/* Returns 1 if a call has moved the object to another device, so that nothing is left to do; or -EINVAL, if it was
 * freed. */
static int check(const struct adsm_prefetch *prefetch)
{
	const struct adsm_object *object = prefetch->object;

	if (!adsm_object_is_at(object, prefetch->home))
		return 1;
	return !object->live || object->freeing || object->generation != prefetch->generation ? -EINVAL : 0;
}

/* The block behind the last one of the range. */
static uint32_t end_of(const struct adsm_prefetch *prefetch)
{
	return (uint32_t)((prefetch->offset + prefetch->size - 1) >> prefetch->object->blocks.shift) + 1;
}

static int wait_for_call(struct adsm_home *home, uint64_t seq)
{
	int error;

	adsm_unlock(&home->lock);
	error = adsm_wait_call(home, seq);
	adsm_lock(&home->lock);
	return error;
}

/*
 * Fetch block @b, if it lacks its bytes, and blocks behind it. *@ret_n: how many blocks are done with; 0: the lock was
 * given away, so look again. Returns 1 if a later call may write the blocks.
 */
static int fetch_some(const struct adsm_prefetch *prefetch, uint32_t b, uint32_t *ret_n)
{
	struct adsm_object *object = prefetch->object;
	struct adsm_home *home = prefetch->home;
	size_t at = (size_t)b << object->blocks.shift;
	enum adsm_block_event event;
	uint64_t seq;
	uint32_t n;
	int error;

	*ret_n = 0;
	n = adsm_range_step(&object->blocks, false, at, prefetch->offset + prefetch->size, &event);
	if (!n) {
		*ret_n = 1;
		return 0;
	}
	if (adsm_block_blocked(object, b)) {
		if (!adsm_fetch_ahead(home))
			adsm_home_wait(home);
		return 0;
	}
	seq = adsm_block_must_wait(object, b, ADSM_EVENT_READ);
	if (seq > prefetch->last_seq)
		return 1;
	if (seq)
		return wait_for_call(home, seq);
	if (adsm_left_by_others(object, b, n))
		return 0;
	if (adsm_object_lost(object))
		return -ENODEV;
	/* Advice opens views page by page, to see each access. */
	error = adsm_blocks_access(object, b, n, ADSM_EVENT_READ, !adsm_is_paged(object));
	*ret_n = n;
	return error;
}

static int fetch(const struct adsm_prefetch *prefetch)
{
	uint32_t b = (uint32_t)(prefetch->offset >> prefetch->object->blocks.shift), n;
	int result = 0;

	for (; !result; b += n) {
		result = check(prefetch);
		if (result || b == end_of(prefetch))
			break;
		result = fetch_some(prefetch, b, &n);
	}
	return result;
}

/* Blocks that were written without a fault become Dirty. If such a write has to wait for a call that came before the
 * prefetch, the function waits, too. Returns like check(). */
static int collect(const struct adsm_prefetch *prefetch)
{
	uint64_t seq;
	int error;

	for (;;) {
		error = adsm_object_collect(prefetch->object, &seq);
		if (error < 0 || !seq || seq > prefetch->last_seq)
			return error < 0 ? error : 0;
		error = wait_for_call(prefetch->home, seq);
		if (!error)
			error = check(prefetch);
		if (error)
			return error;
	}
}

/* How many blocks from @b on, and before @end, no thread holds, in one piece. */
static uint32_t free_run(const struct adsm_object *object, uint32_t b, uint32_t end)
{
	/* With ADSM_EVICT_BATCH=1 no two sends are merged. */
	size_t most = adsm_protocol_options.evict_batch == 1 ? 1 : ADSM_PREFETCH_PIECE >> object->blocks.shift;
	uint32_t n = 0;

	while (b + n < end && (n < most || !n) && !object->blocks.at[b + n].holds)
		n++;
	return n;
}

static int send(const struct adsm_prefetch *prefetch)
{
	const unsigned moves = ADSM_BLOCK_BUSY | ADSM_BLOCK_QUEUED | ADSM_BLOCK_SENDING;
	struct adsm_object *object = prefetch->object;
	struct adsm_home *home = prefetch->home;
	uint32_t b = (uint32_t)(prefetch->offset >> object->blocks.shift), n;
	/* If accesses are not detected, the CPU may write again what was sent, and only the call may send it. */
	const bool sends = object->blocks.detects && !home->device->caps.unified;
	int error = sends ? collect(prefetch) : 0;

	if (sends && !error)
		error = adsm_object_place(object);
	for (; sends && !error; b += n) {
		error = check(prefetch);
		n = 0;
		if (error || b == end_of(prefetch))
			break;
		/* While the lock was given back, a call has needed the device memory for its own objects. */
		if (!object->memory)
			return -ENOMEM;
		if (object->blocks.at[b].flags & moves) {
			if (!adsm_send_queued(home) && !adsm_fetch_ahead(home))
				adsm_home_wait(home);
			continue;
		}
		if (adsm_blocks_unsent(&object->blocks, b) && !object->blocks.at[b].holds)
			error = adsm_blocks_send(object, b, free_run(object, b, end_of(prefetch)), &n);
		n = n ? n : 1;
	}
	return error;
}

/* Move the object to the device. Returns 1 if it has not moved; else the caller has the lock of prefetch->to. */
static int bring(struct adsm_prefetch *prefetch)
{
	int result;

	adsm_unlock(&prefetch->home->lock);
	result = prefetch->mover(prefetch->object, prefetch->generation, prefetch->home, prefetch->to,
				 prefetch->last_seq);
	if (result == 1)
		prefetch->home = prefetch->to;
	adsm_lock(&prefetch->home->lock);
	prefetch->last_seq = prefetch->home->last_seq;
	return result == 1 ? check(prefetch) : result ? result : 1;
}

/* ---- */

int adsm_prefetch_run(struct adsm_prefetch *prefetch)
{
	const struct adsm_cause cause = adsm_cause;
	int error;

	adsm_cause = prefetch->cause;
	adsm_lock(&prefetch->home->lock);
	/* The slot may have another object by now, or none. */
	error = check(prefetch);
	if (!error)
		adsm_act_inexact(prefetch->object);
	if (!error && prefetch->to && prefetch->to != prefetch->home)
		error = bring(prefetch);
	if (!error)
		error = prefetch->direction == ADSM_TO_HOST ? fetch(prefetch) : send(prefetch);
	adsm_unlock(&prefetch->home->lock);
	adsm_cause = cause;
	return error < 0 ? error : 0;
}
