/* SPDX-License-Identifier: MIT */
/* node/pack.c - letters, part by part. */
#include "pack.h"

#include "runs.h"

#include <string.h>

static size_t aligned(size_t n, size_t align)
{
	return (n + align - 1) & ~(align - 1);
}

void *adsm_pack_room(struct adsm_pack *pack, size_t size, size_t align)
{
	const size_t at = aligned(pack->n, align);

	if (at + size > pack->room) {
		pack->room = 2 * (at + size);
		pack->data = adsm_node_memory(pack->data, pack->room);
	}
	memset(pack->data + pack->n, 0, at - pack->n);
	pack->n = at + size;
	return pack->data + at;
}

void adsm_pack_put(struct adsm_pack *pack, const void *data, size_t size, size_t align)
{
	void *room = adsm_pack_room(pack, size, align);

	if (size)
		memcpy(room, data, size);
}

const void *adsm_pack_take(const struct adsm_letter *letter, size_t *at, size_t size, size_t align)
{
	const size_t begin = aligned(*at, align);

	if (begin > letter->size || size > letter->size - begin)
		adsm_comm_fail("a letter of node %d is cut off", letter->from);
	*at = begin + size;
	return (const uint8_t *)letter->data + begin;
}
