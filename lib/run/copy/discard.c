/* SPDX-License-Identifier: MIT */
/* discard.c - see discard.h. No byte moves here. */
#include "run/copy/discard.h"

#include <errno.h>

#include "adsm_prefetch.h"
#include "base/log.h"
#include "core/block.h"
#include "core/observe.h"
#include "core/view.h"
#include "run/wait/enter.h"
#include "run/wait/left.h"
#include "run/wait/wait.h"

/* ---- with the lock held */

/* Does block @b have a hold, or bytes that a thread is writing through the alias? They matter. */
static bool is_used(const struct adsm_object *object, uint32_t b)
{
	return object->blocks.at[b].holds || (object->inputs && adsm_input_is_in(object, b));
}

static bool moves(const struct adsm_object *object, uint32_t first, uint32_t end)
{
	for (uint32_t b = first; b < end; b++)
		if (object->blocks.at[b].flags & (ADSM_BLOCK_BUSY | ADSM_BLOCK_SENDING))
			return true;
	return false;
}

static int check(const struct adsm_object *object, const struct adsm_home *home, uint64_t generation, uint32_t first,
		 uint32_t end)
{
	if (!adsm_object_is_at(object, home))
		return -ESTALE;
	if (!object->live || object->freeing || object->generation != generation)
		return adsm_fail(-EINVAL, "the object was freed meanwhile");
	for (uint32_t b = first; object->blocks.n_holds && b < end; b++)
		if (object->blocks.at[b].holds)
			return adsm_fail(-EBUSY, "%s is held: call adsmUnhold() first", ADSM_THE_OBJECT(object));
	return 0;
}

/* Wait until no byte of the blocks moves. The lock is given away meanwhile. */
static int settle(struct adsm_object *object, uint32_t first, uint32_t end)
{
	struct adsm_home *home = object->home;
	const uint64_t generation = object->generation;
	int error;

	while (!(error = check(object, home, generation, first, end))) {
		if (moves(object, first, end))
			adsm_home_wait(home);
		else if (!adsm_left_by_others(object, first, end - first))
			return 0;
	}
	return error;
}

/* Close the blocks that the CPU may write. */
static int close_written(struct adsm_object *object, uint32_t first, uint32_t end)
{
	for (uint32_t b = first, n; b < end; b += n) {
		unsigned view = object->blocks.at[b].view;
		int error;

		for (n = 1; b + n < end && object->blocks.at[b + n].view == view; n++)
			;
		error = view != ADSM_PROT_RW ? 0 : adsm_view_set(object, b, n, ADSM_PROT_NONE);
		if (error)
			return adsm_fail(error, "%s cannot be closed: the process has no memory "
					 "mappings left (vm.max_map_count)", ADSM_THE_OBJECT(object));
	}
	return 0;
}

/* Accesses are detected: from now on neither side has to send or to fetch. Later writes are detected, too. */
static int discard(struct adsm_object *object, uint32_t first, uint32_t end)
{
	uint64_t seq;
	int error = settle(object, first, end);

	if (!error)
		error = close_written(object, first, end);
	/* The engine must not report later what was written before. */
	if (!error && adsm_object_collect(object, &seq) < 0)
		error = adsm_fail(-EIO, "the engine cannot collect the writes to %s", ADSM_THE_OBJECT(object));
	if (error)
		return error;
	for (uint32_t b = first, n; b < end; b += n ? n : 1) {
		for (n = 0; b + n < end && !is_used(object, b + n); n++)
			;
		if (n)
			adsm_blocks_discard(&object->blocks, b, n);
	}
	adsm_object_mark_open(object);
	adsm_home_notify(object->home);		/* blocks may have left the queue of sends */
	return 0;
}

/* The protocol's first state sends, for instance because accesses are not detected: only fetches can be omitted. */
static int overwrite(struct adsm_object *object, uint32_t first, uint32_t end, struct adsm_sigset *old)
{
	const struct adsm_home *home = object->home;
	const uint64_t generation = object->generation;
	int error = 0;

	for (uint32_t b = first; !error && b < end; b++) {
		error = check(object, home, generation, first, end);
		if (!error && adsm_blocks_lack(&object->blocks, b) && !is_used(object, b))
			error = adsm_blocks_ready(object, b, 1, ADSM_EVENT_OVERWRITE, false, old);
	}
	return error;
}

/* ---- */

/* Returns -ESTALE if a call has moved the object to another device meanwhile. */
static int discard_range(const void *p, size_t size)
{
	struct adsm_sigset old;
	struct adsm_object *object = adsm_enter_range(p, size, &old);
	const struct adsm_protocol *protocol;
	struct adsm_home *home;
	size_t offset, block;
	uint32_t first, end;
	int error = 0;

	if (!object)
		return -EINVAL;
	home = object->home;
	protocol = object->blocks.protocol;
	block = adsm_block_size(object);
	offset = (uintptr_t)p - object->start;
	first = (uint32_t)((offset + block - 1) >> object->blocks.shift);
	end = offset + size == object->size ? object->blocks.n : (uint32_t)((offset + size) >> object->blocks.shift);
	adsm_act_inexact(object);
	if (first < end && (object->blocks.unsent >> protocol->initial & 1))
		error = overwrite(object, first, end, &old);
	else if (first < end)
		error = discard(object, first, end);
	adsm_home_unlock(home, &old);
	return error;
}

int adsm_discard(void *p, size_t size)
{
	int error;

	do
		error = discard_range(p, size);
	while (error == -ESTALE);
	return error;
}

int adsm_advise(const void *p, size_t size, int advice)
{
	struct adsm_object *object;
	struct adsm_sigset old;
	size_t offset;

	if (advice != ADSM_ADVISE_NORMAL && advice != ADSM_ADVISE_READ_MOSTLY)
		return adsm_fail(-ENOTSUP, "advice %d is unknown; known: ADSM_ADVISE_NORMAL, ADSM_ADVISE_READ_MOSTLY",
				 advice);
	object = adsm_enter_range(p, size, &old);
	if (!object)
		return -EINVAL;
	offset = (uintptr_t)p - object->start;
	adsm_act_inexact(object);
	for (uint32_t b = (uint32_t)(offset >> object->blocks.shift);
	     b <= (offset + size - 1) >> object->blocks.shift; b++)
		object->blocks.at[b].read_mostly = advice == ADSM_ADVISE_READ_MOSTLY;
	adsm_home_unlock(object->home, &old);
	return 0;
}
