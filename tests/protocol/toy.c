/* SPDX-License-Identifier: MIT */
/*
 * toy.c - a protocol from outside: it includes protocol.h alone, and is added as its program starts.
 *
 * It is eager in both directions: a block is sent as soon as the CPU writes another one, and a sync fetches all that
 * calls have written. Views stay closed until an access.
 */
#include "protocol.h"

enum { MINE, AWAY, OURS, N };

static void dirtied(void *mine, struct adsm_block *block, size_t size)
{
	adsm_queue_push(mine, block);
}

static void cleaned(void *mine, struct adsm_block *block, size_t size)
{
	adsm_queue_remove(mine, block);
}

/* All but the one that is being written. */
static struct adsm_block *victim(const void *mine, bool started)
{
	const struct adsm_queue *queue = mine;
	struct adsm_block *block = queue->oldest;

	while (block != queue->newest && (block->holds || (block->flags & ADSM_BLOCK_BUSY)))
		block = block->newer;
	return block != queue->newest ? block : NULL;
}

static size_t window(const void *mine)
{
	return 1;
}

static const struct adsm_protocol toy = {
	.version = ADSM_PROTOCOL_VERSION,
	.name = "toy",
	.n_states = N,
	.initial = OURS,
	.permits = { [MINE] = ADSM_PERMIT_WRITE, [AWAY] = ADSM_PERMIT_NONE, [OURS] = ADSM_PERMIT_READ },
	.steps = {
		[MINE] = {
			[ADSM_EVENT_READ]	= ADSM_STEP(MINE),
			[ADSM_EVENT_WRITE]	= ADSM_STEP(MINE),
			[ADSM_EVENT_OVERWRITE]	= ADSM_STEP(MINE),
			[ADSM_EVENT_SEND]	= ADSM_STEP_AFTER(OURS, ADSM_TO_DEVICE, ADSM_WAIT_NONE),
			[ADSM_EVENT_CALL_IN]	= ADSM_STEP_AFTER(OURS, ADSM_TO_DEVICE, ADSM_WAIT_NONE),
			[ADSM_EVENT_CALL_INOUT]	= ADSM_STEP_AFTER(AWAY, ADSM_TO_DEVICE, ADSM_WAIT_NONE),
			[ADSM_EVENT_CALL_OUT]	= ADSM_STEP(AWAY),
			[ADSM_EVENT_SYNC]	= ADSM_STEP(MINE),
		},
		[AWAY] = {
			[ADSM_EVENT_READ]	= ADSM_STEP_AFTER(OURS, ADSM_TO_HOST, ADSM_WAIT_WRITERS),
			[ADSM_EVENT_WRITE]	= ADSM_STEP_AFTER(MINE, ADSM_TO_HOST, ADSM_WAIT_USERS),
			[ADSM_EVENT_OVERWRITE]	= ADSM_STEP_AFTER(MINE, ADSM_NO_TRANSFER, ADSM_WAIT_USERS),
			[ADSM_EVENT_SEND]	= ADSM_STEP(AWAY),
			[ADSM_EVENT_CALL_IN]	= ADSM_STEP(AWAY),
			[ADSM_EVENT_CALL_INOUT]	= ADSM_STEP(AWAY),
			[ADSM_EVENT_CALL_OUT]	= ADSM_STEP(AWAY),
			[ADSM_EVENT_SYNC]	= ADSM_STEP_AFTER(OURS, ADSM_TO_HOST, ADSM_WAIT_WRITERS),
		},
		[OURS] = {
			[ADSM_EVENT_READ]	= ADSM_STEP(OURS),
			[ADSM_EVENT_WRITE]	= ADSM_STEP_AFTER(MINE, ADSM_NO_TRANSFER, ADSM_WAIT_USERS),
			[ADSM_EVENT_OVERWRITE]	= ADSM_STEP_AFTER(MINE, ADSM_NO_TRANSFER, ADSM_WAIT_USERS),
			[ADSM_EVENT_SEND]	= ADSM_STEP(OURS),
			[ADSM_EVENT_CALL_IN]	= ADSM_STEP(OURS),
			[ADSM_EVENT_CALL_INOUT]	= ADSM_STEP(AWAY),
			[ADSM_EVENT_CALL_OUT]	= ADSM_STEP(AWAY),
			[ADSM_EVENT_SYNC]	= ADSM_STEP(OURS),
		},
	},
	.policy_size = sizeof(struct adsm_queue),	/* what is MINE, oldest first */
	.init = adsm_policy_no_init,
	.object_dirty = adsm_policy_no_object_dirty,
	.dirtied = dirtied,
	.cleaned = cleaned,
	.victim = victim,
	.window = window,
	ADSM_NO_EXPECTATION,
};

__attribute__((constructor)) static void add(void)
{
	if (adsm_protocol_add(&toy))
		__builtin_trap();
}
