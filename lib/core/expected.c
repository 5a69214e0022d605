/* SPDX-License-Identifier: MIT */
/* expected.c - what the CPU reads first after a call. */
#include "core/expected.h"

#include "core/block.h"
#include "core/observe.h"

#define AGAIN_MIN 2			/* calls in a row, before one is expected */
#define TRUST 15			/* calls after one for which a fault has told that it was right */
#define EXPECTED_BYTES ((size_t)64 << 10)	/* of a block: in vain it must cost little */

void adsm_note_fault(struct adsm_object *object, uint32_t b, bool write)
{
	struct adsm_first_read *first = &object->first_read;

	if (write)
		first->written |= first->seen && b == first->block;
	if (write || first->seen)
		return;
	first->trust = b == first->block && first->again == AGAIN_MIN ? TRUST : 0;
	first->again = b != first->block ? 0 : first->again < AGAIN_MIN ? first->again + 1 : AGAIN_MIN;
	first->block = b;
	first->seen = true;
}

bool adsm_expects_read(const struct adsm_object *object)
{
	const struct adsm_home *home = object->home;

	/* A fault that fetches by itself is as quick; and advice watches single pages. */
	return object->first_read.seen && object->first_read.again == AGAIN_MIN && home->has_service &&
		adsm_protocol_options.fault_ahead && adsm_block_size(object) <= EXPECTED_BYTES &&
		!home->device->caps.unified &&
		!adsm_is_paged(object);
}

void adsm_forget_expected(struct adsm_object *object)
{
	struct adsm_home *home = object->home;

	for (unsigned i = home->n_expected; i-- > 0; )
		if (home->expected[i] == object)
			home->expected[i] = home->expected[--home->n_expected];
}

void adsm_note_written(struct adsm_object *object, bool told)
{
	struct adsm_first_read *first = &object->first_read;
	struct adsm_home *home = object->home;

	/* The object may still be listed: not all calls are followed by a sync. */
	adsm_forget_expected(object);
	if (told && adsm_expects_read(object) && home->n_expected < ADSM_EXPECTED_MAX)
		home->expected[home->n_expected++] = object;
	if (!told || !first->seen)
		first->again = 0;
	first->writes = !first->written ? 0 : first->writes < AGAIN_MIN ? first->writes + 1 : AGAIN_MIN;
	first->seen = first->written = false;
}

void adsm_fetch_expected(struct adsm_home *home)
{
	while (home->n_expected) {
		struct adsm_object *object = home->expected[--home->n_expected];
		struct adsm_first_read *first = &object->first_read;
		uint32_t b = first->block;
		const struct adsm_block *block = &object->blocks.at[b];
		uint64_t generation = object->generation;
		bool write;

		/* An object that is not ready now does without. */
		if (!adsm_blocks_lack(&object->blocks, b) || adsm_block_blocked(object, b) ||
		    adsm_block_must_wait(object, b, ADSM_EVENT_READ))
			continue;
		adsm_want(object, b, 1);
		/* The block's turn comes after those wanted earlier, unless the evictor has taken it. */
		while (object->live && object->generation == generation && (block->flags & ADSM_BLOCK_BUSY) &&
		       adsm_fetch_ahead(home))
			;
		if (!object->live || object->generation != generation || !first->trust || first->block != b ||
		    adsm_blocks_lack(&object->blocks, b) || adsm_blocks_unsent(&object->blocks, b) ||
		    block->view != ADSM_PROT_NONE || adsm_block_blocked(object, b))
			continue;
		write = first->writes == AGAIN_MIN && !adsm_block_must_wait(object, b, ADSM_EVENT_WRITE);
		if (adsm_blocks_access(object, b, 1, write ? ADSM_EVENT_WRITE : ADSM_EVENT_READ, true))
			continue;
		first->trust--;
		first->seen = true;
		first->written = write;
	}
}
