/* SPDX-License-Identifier: MIT */
/*
 * rolling.c - rolling-update (paper §4.3, Figure 6b): lazy-update by block, and when more than the
 * rolling size of them are Dirty the oldest go to the device early, while the CPU works on.
 *
 * The rolling size is counted in blocks; by default two for each live object. Where faults open whole
 * windows and sends are batched, a floor in bytes keeps what is just being written from leaving.
 */
#include "protocol.h"

static void object(struct adsm_policy *policy, int change)
{
	policy->n_objects += (size_t)change;
}

static void object_dirty(struct adsm_policy *policy, int change)
{
	policy->n_dirty += (size_t)change;
}

static void dirtied(struct adsm_policy *policy, struct adsm_block *block, size_t size)
{
	adsm_queue_push(&policy->dirty, block);
	policy->dirty_bytes += size;
}

static void cleaned(struct adsm_policy *policy, struct adsm_block *block, size_t size)
{
	adsm_queue_remove(&policy->dirty, block);
	policy->dirty_bytes -= size;
}

static struct adsm_block *victim(const struct adsm_policy *policy, bool started)
{
	size_t limit = policy->fixed_limit ? policy->fixed_limit : 2 * policy->n_objects;
	/* Only so many streams are being written at once, however many objects there are. */
	size_t floor = policy->keep_bytes * (policy->n_dirty < 8 ? policy->n_dirty : 8);
	struct adsm_block *block = policy->dirty.oldest;

	if (policy->dirty.n <= limit)
		return NULL;
	/* A batch begins when so much is Dirty above the floor, and ends at it, not a block below. */
	if (started ? policy->dirty_bytes <= floor : policy->dirty_bytes < floor + policy->batch_bytes)
		return NULL;
	while (block && (block->holds || (block->flags & ADSM_BLOCK_BUSY)))
		block = block->newer;
	return block;
}

const struct adsm_protocol adsm_protocol_rolling = {
	.version = ADSM_PROTOCOL_VERSION,
	.name = "rolling",
	.whole_object = false,
	.detects = true,
	.initial = ADSM_READ_ONLY,
	.steps = ADSM_STEPS_ON_ACCESS,
	.object = object,
	.object_dirty = object_dirty,
	.dirtied = dirtied,
	.cleaned = cleaned,
	.victim = victim,
};
