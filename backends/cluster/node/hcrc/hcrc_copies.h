/* SPDX-License-Identifier: MIT */
/* node/hcrc/hcrc_copies.h - connects the caches of a task's workers (store/copies.h) to hcrc_node.h, which keeps them
 * consistent. Which pages a worker must give up is reported by adsm_hcrc_node_notice(), not here. */
#pragma once

#include "store/copies.h"
#include "hcrc_types.h"

struct adsm_hcrc_memory {
	uint64_t begin, end;		/* device memory; its pages have the first numbers */
	uint64_t heap, heap_end;	/* memory of ADSM_TASK_ALLOC; its pages have the next numbers */
	struct { uint64_t begin, end; } readable[2];	/* memory of this process: arguments, constants */
	/* leave() is called when the task has failed: the worker leaves it. refuse() is called when this worker did
	 * something invalid: the task fails. */
	void (*leave)(uint32_t worker) __attribute__((noreturn));
	void (*refuse)(uint32_t worker, const char *what) __attribute__((noreturn));
};

/* The number of a page by its address, and the reverse. @size: bytes of a page. */
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

/* Its argument is a struct adsm_hcrc_memory. */
extern const struct adsm_copies_below adsm_hcrc_copies;

/*
 * ---- Which pages the workers of this node give up in vain. A worker does not learn what has changed in an old page.
 * So when it gets the page again, it checks whether the parts that it had used are unchanged.
 */

/* Call this before the workers of a task whose accesses are counted. Returns 0 or -ENOMEM. */
int adsm_hcrc_sharing_begin(uint32_t n_pages, uint32_t page_size);
/* Call this after the end of any task. */
void adsm_hcrc_sharing_end(void);

/* A worker whose accesses are counted gives up a page. @touched: a bit for each 64th of the page that it has used. */
void adsm_hcrc_sharing_gave_up(uint32_t worker, uint32_t page, const uint8_t *bytes, uint64_t touched);
/* A worker has got a page. Returns true if it gave up that page before, and nothing that it had used has changed. */
bool adsm_hcrc_sharing_fetched(uint32_t worker, uint32_t page, const uint8_t *bytes);
/* A worker has put its stores to a page into the node's page. */
void adsm_hcrc_sharing_put(uint32_t page);

/* After all workers have ended: the page that one worker gave up in vain most often; .n 0: none. */
struct adsm_hcrc_in_vain { uint32_t page, n, worker; };
struct adsm_hcrc_in_vain adsm_hcrc_sharing_worst(uint32_t n_workers);
/* A bit for each page that workers of this node have written to, in words of 64 bits; NULL: nothing is counted. */
const uint64_t *adsm_hcrc_sharing_written(void);
