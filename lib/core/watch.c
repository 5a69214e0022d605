/* SPDX-License-Identifier: MIT */
/* watch.c - the table of base/watch.h. */
#include "base/watch.h"

#include <stddef.h>

#include "core/object.h"
#include "core/objects.h"

#define NAME(name) #name " "
#define COUNTER_NAME(name, help) #name " "
#define AT(p) ((uintptr_t)(p))
#define IN_OBJECT(member) offsetof(struct adsm_object, member)

/* The linker must keep it, and a reader must find it. */
static const struct adsm_watch watch __attribute__((used, aligned(ADSM_WATCH_ALIGNMENT))) = {
	.magic = ADSM_WATCH_MAGIC,
	.version = ADSM_WATCH_VERSION,
	.names_at = AT(ADSM_WATCH_FIELDS(NAME)), .counter_names_at = AT(ADSM_STATS(COUNTER_NAME)),
	.total_at = AT(&adsm_total),
	.n_homes_at = AT(&adsm_n_homes), .homes_at = AT(adsm_homes), .home_size = sizeof(struct adsm_home),
	.home_index = offsetof(struct adsm_home, index), .home_device = offsetof(struct adsm_home, device),
	.home_last_call = offsetof(struct adsm_home, last_seq),
	.home_ended = offsetof(struct adsm_home, ended.up_to),
	.device_name = offsetof(struct adsm_device, name), .device_lost = offsetof(struct adsm_device, lost),
	.device_backend = offsetof(struct adsm_device, backend), .backend_name = offsetof(struct adsm_backend, name),
	.n_slots_at = AT(&adsm_object_n_slots), .chunks_at = AT(adsm_object_chunks),
	.chunk_slots = ADSM_OBJECT_CHUNK, .object_size = sizeof(struct adsm_object),
	.object_live = IN_OBJECT(live), .object_home = IN_OBJECT(home), .object_start = IN_OBJECT(start),
	.object_bytes = IN_OBJECT(size), .object_generation = IN_OBJECT(generation),
	.object_device_only = IN_OBJECT(device_only), .object_name = IN_OBJECT(name),
	.object_counters = IN_OBJECT(counters), .object_n_blocks = IN_OBJECT(blocks.n),
	.object_block_shift = IN_OBJECT(blocks.shift), .object_protocol = IN_OBJECT(blocks.protocol),
	.object_n_in = IN_OBJECT(blocks.n_in), .object_lacking = IN_OBJECT(blocks.lacking),
	.object_unsent = IN_OBJECT(blocks.unsent), .object_blocks = IN_OBJECT(blocks.at),
	.block_size = sizeof(struct adsm_block),
	/* The bit-field follows this member. */
	.block_state = offsetof(struct adsm_block, holds) + sizeof(uint16_t),
	.protocol_name = offsetof(struct adsm_protocol, name),
};
