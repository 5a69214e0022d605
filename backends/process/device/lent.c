/* SPDX-License-Identifier: MIT */
/*
 * lent.c - see lent.h. Sizes of blocks are powers of two. A free block is reused only for its own size, and blocks are
 * never split. The descriptions of blocks are not next to the blocks: a kernel that writes beyond a block's end damages
 * other kernels' data, but not these.
 */
#include "lent.h"

#include "base/os.h"

#include <pthread.h>
#include <stdlib.h>

#define LEAST 64			/* smallest block, bytes: a cache line */
#define MOST ((uint64_t)1 << (ADSM_LENT_SIZES - 1))
#define RANGE ((size_t)64 << 30)	/* addresses to reserve: mostly more than the machine's memory */
#define SHARE 8				/* or this fraction of the addresses that this process may have (ulimit -v) */
#define STEP ((size_t)1 << 20)		/* the accessible part grows in these steps */

struct adsm_lent_block {		/* in ascending order of addresses */
	uint64_t offset;
	uint32_t size;			/* log2 of its bytes */
	uint32_t next;			/* the next free block of this size: index + 1; 0: none */
	bool used;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

void adsm_lent_start(struct adsm_lent *lent)
{
	const uint64_t limit = adsm_os_address_limit() / SHARE;
	size_t size = RANGE;
	void *p;

	while (size > limit)
		size /= 2;
	if (size < STEP || adsm_os_reserve(0, size, &p))
		return;
	lent->base = p;
	lent->size = size;
}

static uint32_t log2_of(uint64_t power)
{
	return (uint32_t)__builtin_ctzll(power);
}

uint64_t adsm_lent_cost(uint64_t size)
{
	uint64_t cost = LEAST;

	if (!size || size > MOST)
		return 0;
	while (cost < size)
		cost *= 2;
	return cost;
}

/* The mutex is held, here and in the functions below. */
static struct adsm_lent_block *reuse(struct adsm_lent *lent, uint32_t size)
{
	struct adsm_lent_block *block = lent->free[size] ? &lent->blocks[lent->free[size] - 1] : NULL;

	if (block)
		lent->free[size] = block->next;
	return block;
}

static bool open_to(struct adsm_lent *lent, size_t end)
{
	const size_t open = (end + STEP - 1) & ~(STEP - 1);

	if (end <= lent->open)
		return true;
	if (open > lent->size || adsm_os_protect(lent->base + lent->open, open - lent->open, ADSM_PROT_RW))
		return false;
	lent->open = open;
	return true;
}

static struct adsm_lent_block *add_block(struct adsm_lent *lent, uint64_t cost)
{
	struct adsm_lent_block *blocks;

	if (lent->n_blocks == lent->n_room) {
		blocks = realloc(lent->blocks, (2 * lent->n_room + 64) * sizeof(*blocks));
		if (!blocks)
			return NULL;
		lent->blocks = blocks;
		lent->n_room = 2 * lent->n_room + 64;
	}
	if (cost > lent->size - lent->end || lent->n_blocks >= UINT32_MAX || !open_to(lent, lent->end + cost))
		return NULL;
	lent->blocks[lent->n_blocks] = (struct adsm_lent_block){ lent->end, log2_of(cost), 0, false };
	lent->end += cost;
	return &lent->blocks[lent->n_blocks++];
}

uint64_t adsm_lent_alloc(struct adsm_lent *lent, uint64_t cost)
{
	struct adsm_lent_block *block;
	uint64_t address = 0;

	pthread_mutex_lock(&mutex);
	block = reuse(lent, log2_of(cost));
	if (!block)
		block = add_block(lent, cost);
	if (block) {
		block->used = true;
		address = (uintptr_t)lent->base + block->offset;
		lent->taken += cost;
	}
	pthread_mutex_unlock(&mutex);
	return address;
}

/* The block that begins at @offset; NULL if there is none. */
static struct adsm_lent_block *block_at(const struct adsm_lent *lent, uint64_t offset)
{
	size_t low = 0, high = lent->n_blocks;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (lent->blocks[middle].offset < offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low < lent->n_blocks && lent->blocks[low].offset == offset ? &lent->blocks[low] : NULL;
}

uint64_t adsm_lent_size(const struct adsm_lent *lent, uint64_t address)
{
	const struct adsm_lent_block *block;
	uint64_t cost;

	pthread_mutex_lock(&mutex);
	block = block_at(lent, address - (uintptr_t)lent->base);
	cost = block && block->used ? (uint64_t)1 << block->size : 0;
	pthread_mutex_unlock(&mutex);
	return cost;
}

uint64_t adsm_lent_free(struct adsm_lent *lent, uint64_t address)
{
	struct adsm_lent_block *block;
	uint64_t cost = 0;

	pthread_mutex_lock(&mutex);
	block = block_at(lent, address - (uintptr_t)lent->base);
	if (block && block->used) {
		cost = (uint64_t)1 << block->size;
		block->used = false;
		block->next = lent->free[block->size];
		lent->free[block->size] = (uint32_t)(block - lent->blocks) + 1;
		lent->taken -= cost;
	}
	pthread_mutex_unlock(&mutex);
	return cost;
}

uint64_t adsm_lent_reset(struct adsm_lent *lent)
{
	uint64_t taken;

	pthread_mutex_lock(&mutex);
	taken = lent->taken;
	if (lent->open)
		adsm_os_unmap_to_reserve(lent->base, lent->open);
	lent->open = lent->end = lent->n_blocks = 0;
	for (unsigned i = 0; i < ADSM_LENT_SIZES; i++)
		lent->free[i] = 0;
	lent->taken = 0;
	pthread_mutex_unlock(&mutex);
	return taken;
}
