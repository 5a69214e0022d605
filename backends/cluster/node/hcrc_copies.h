/* SPDX-License-Identifier: MIT */
/*
 * node/hcrc_copies.h - what the caches of a task's workers (store/copies.h) have is kept consistent by hcrc_node.h.
 * What a worker has been told to give up adsm_hcrc_node_notice() says, not the cache.
 */
#ifndef ADSM_CLUSTER_HCRC_COPIES_H
#define ADSM_CLUSTER_HCRC_COPIES_H

#include "store/copies.h"

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

#endif
