/* SPDX-License-Identifier: MIT */
/*
 * rolling.c - rolling-update (paper §4.3, Figure 6b): lazy-update by block, and when more than the
 * rolling size of them are Dirty the oldest go to the device early, while the CPU works on.
 *
 * The rolling size is counted in blocks; by default two for each live object. Where faults open whole
 * windows and sends are batched, a floor in bytes keeps what is just being written from leaving.
 */
#include "expected.h"
#include "list.h"
#include "states.h"

struct adsm_option adsm_rolling_rows[] = {
	{ "ROLLING_SIZE", "auto", "auto, or a number of blocks from 1",
	  "rolling: if a device has more Dirty blocks than this, the library sends the oldest early; auto: 2 for "
	  "each object",
	  ADSM_FIELD(adsm_protocol_options.rolling_size), adsm_parse_number, 1, UINT32_MAX, .zero = "auto",
	  .class = "general" },
	{ 0 }
};

struct policy {
	struct adsm_expected expected;
	struct adsm_queue dirty;	/* the Dirty blocks of rolling objects */
	size_t dirty_bytes;
	size_t n_objects, n_dirty;	/* live rolling objects; those of them with Dirty blocks */
	size_t fixed_limit;		/* blocks that may be Dirty; 0: two per live object */
	size_t keep_bytes;		/* per object with Dirty blocks: not sent early below this many bytes in all */
	size_t batch_bytes;		/* sending early starts this far above; 0: at once, block by block */
};

static void init(void *arg)
{
	struct policy *policy = arg;

	policy->fixed_limit = adsm_protocol_options.rolling_size;
	if (adsm_protocol_options.evict_batch == 1)
		return;
	policy->batch_bytes = adsm_protocol_options.evict_batch;
	if (adsm_protocol_options.rolling_size == ADSM_ROLLING_AUTO)
		policy->keep_bytes = adsm_protocol_options.fault_ahead;
}

static void object(void *arg, struct adsm_notes *notes, int change)
{
	struct policy *policy = arg;

	policy->n_objects += (size_t)change;
	adsm_expected_object(arg, notes, change);
}

static void object_dirty(void *arg, int change)
{
	struct policy *policy = arg;

	policy->n_dirty += (size_t)change;
}

static void dirtied(void *arg, struct adsm_block *block, size_t size)
{
	struct policy *policy = arg;

	adsm_queue_push(&policy->dirty, block);
	policy->dirty_bytes += size;
}

static void cleaned(void *arg, struct adsm_block *block, size_t size)
{
	struct policy *policy = arg;

	adsm_queue_remove(&policy->dirty, block);
	policy->dirty_bytes -= size;
}

static struct adsm_block *victim(const void *arg, bool started)
{
	const struct policy *policy = arg;
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

/* Half of what may be Dirty. */
static size_t window(const void *arg)
{
	const struct policy *policy = arg;

	return policy->fixed_limit ? policy->fixed_limit / 2 : SIZE_MAX;
}

const struct adsm_protocol adsm_protocol_rolling = {
	.version = ADSM_PROTOCOL_VERSION,
	.name = "rolling",
	.whole_object = false,
	.n_states = ADSM_N_STATES,
	.initial = ADSM_READ_ONLY,
	.permits = ADSM_PERMITS_ON_ACCESS,
	.steps = ADSM_STEPS_ON_ACCESS,
	.policy_size = sizeof(struct policy),
	.init = init,
	.object = object,
	.object_dirty = object_dirty,
	.dirtied = dirtied,
	.cleaned = cleaned,
	.victim = victim,
	.window = window,
	ADSM_EXPECTED,
};
