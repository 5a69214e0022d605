/* SPDX-License-Identifier: MIT */
/* node/pack.h - letters are written into a buffer part by part, and taken apart in the same order. */
#ifndef ADSM_CLUSTER_PACK_H
#define ADSM_CLUSTER_PACK_H

#include "comm.h"

struct adsm_pack {
	uint8_t *data;
	size_t n, room;
};

/* Room for one more part, which begins at a multiple of @align; what lies between is zeros. Until the next part. */
void *adsm_pack_room(struct adsm_pack *pack, size_t size, size_t align);
void adsm_pack_put(struct adsm_pack *pack, const void *data, size_t size, size_t align);
/* The next part of a letter, *@at being the end of the one before. Where it has none the node ends with a sentence. */
const void *adsm_pack_take(const struct adsm_letter *letter, size_t *at, size_t size, size_t align);

#endif
