/* SPDX-License-Identifier: MIT */
/*
 * node/hcrc/hcrc_copies.h - what the caches of a task's workers (store/copies.h) have is kept consistent by
 * hcrc_node.h. What a worker has been told to give up adsm_hcrc_node_notice() says, not the cache.
 */
#ifndef ADSM_CLUSTER_HCRC_COPIES_H
#define ADSM_CLUSTER_HCRC_COPIES_H

#include "store/copies.h"
#include "hcrc_types.h"

struct adsm_hcrc_memory {
	uint64_t begin, end;		/* device memory; its pages are counted from there, */
	uint64_t heap, heap_end;	/* and go on with those that ADSM_TASK_ALLOC gives */
	struct { uint64_t begin, end; } readable[2];	/* of this process: arguments, constants */
	/* The task has failed: the worker whose copies these are leaves it. Or it fails by what this one does. */
	void (*leave)(uint32_t worker) __attribute__((noreturn));
	void (*refuse)(uint32_t worker, const char *what) __attribute__((noreturn));
};

/* The number of a page, of so many bytes, by its address, and back. */
static inline uint32_t adsm_hcrc_number(const struct adsm_hcrc_memory *memory, uint64_t page, uint32_t size)
{
	return (uint32_t)((page - memory->begin < memory->end - memory->begin ? page - memory->begin :
			   page - memory->heap + (memory->end - memory->begin)) / size);
}

static inline uint64_t adsm_hcrc_address(const struct adsm_hcrc_memory *memory, uint32_t number, uint32_t size)
{
	const uint64_t offset = (uint64_t)number * size, n = memory->end - memory->begin;

	return offset < n ? memory->begin + offset : memory->heap + (offset - n);
}

/* Its argument is the struct adsm_hcrc_memory. */
extern const struct adsm_copies_below adsm_hcrc_copies;

/*
 * ---- pages that the workers of this node give up in vain
 *
 * Nobody is told what has changed in a page
 * that is old: it is seen when the worker has it again, if what it looked at is still the same.
 */

/* Before the workers of a task whose accesses are counted, of so many pages; -ENOMEM. */
int adsm_hcrc_sharing_begin(uint32_t n_pages, uint32_t page_size);
/* Behind its end, or that of one which was not counted. */
void adsm_hcrc_sharing_end(void);

/* A worker, where accesses are counted: it gives up a page, of which it has used these blocks, 64ths; */
void adsm_hcrc_sharing_gave_up(uint32_t worker, uint32_t page, const uint8_t *bytes, uint64_t touched);
/* it has one: true: it gave that up before, and none of what it used has changed; */
bool adsm_hcrc_sharing_fetched(uint32_t worker, uint32_t page, const uint8_t *bytes);
/* it has put its stores into the node's. */
void adsm_hcrc_sharing_put(uint32_t page);

/* When all have ended: what was given up in vain most often by one worker; .n 0: nothing was. */
struct adsm_hcrc_in_vain { uint32_t page, n, worker; };
struct adsm_hcrc_in_vain adsm_hcrc_sharing_worst(uint32_t n_workers);
/* Which pages workers of this node have written to, a bit for each, in words of 64; NULL: nothing is counted. */
const uint64_t *adsm_hcrc_sharing_written(void);

#endif
