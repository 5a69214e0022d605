/* SPDX-License-Identifier: MIT */
/* expected.c - see expected.h. */
#include "core/expected.h"

#include "core/block.h"
#include "core/observe.h"

#define EXPECTED_BYTES ((size_t)64 << 10)	/* of a block; a fetch in vain must cost little */

void adsm_note_written(struct adsm_object *object, bool told)
{
	const struct adsm_home *home = object->home;
	/* If the device is signal-safe, a fault fetches the block as quickly itself. Advice watches single pages. */
	bool pays = home->has_service && adsm_protocol_options.fault_ahead &&
		adsm_block_size(object) <= EXPECTED_BYTES && !home->device->caps.unified && !adsm_is_paged(object);

	object->blocks.protocol->written(object->blocks.policy, &object->blocks.notes, told && pays);
}

void adsm_fetch_expected(struct adsm_home *home)
{
	struct adsm_block *block;
	uint8_t view;

	while ((block = adsm_policy_synced(&home->policies, &view))) {
		struct adsm_object *object = adsm_object_of(block);
		uint32_t b = (uint32_t)(block - object->blocks.at);
		uint64_t generation = object->generation;
		bool write;

		/* A block that is not ready now is not fetched. */
		if (!adsm_blocks_lack(&object->blocks, b) || adsm_block_blocked(object, b) ||
		    adsm_block_must_wait(object, b, ADSM_EVENT_READ))
			continue;
		adsm_want(object, b, 1);
		/* Fetch the requests before this one, then this one, unless the evictor has taken it. */
		while (adsm_object_is_at(object, home) && object->live && object->generation == generation &&
		       (block->flags & ADSM_BLOCK_BUSY) && adsm_fetch_ahead(home))
			;
		if (!adsm_object_is_at(object, home) || !object->live || object->generation != generation ||
		    view == ADSM_PERMIT_NONE ||
		    adsm_blocks_lack(&object->blocks, b) || adsm_blocks_unsent(&object->blocks, b) ||
		    block->view != ADSM_PERMIT_NONE || adsm_block_blocked(object, b))
			continue;
		write = view == ADSM_PERMIT_WRITE && !adsm_block_must_wait(object, b, ADSM_EVENT_WRITE);
		adsm_blocks_access(object, b, 1, write ? ADSM_EVENT_WRITE : ADSM_EVENT_READ, true);
	}
}
