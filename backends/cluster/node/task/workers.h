/* SPDX-License-Identifier: MIT */
/*
 * node/task/workers.h - the workers of a task on this node. Each is a thread with a core that has a local store
 * (store/). hcrc_node.h keeps their copies of device memory consistent with those of all other workers, on all nodes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "process/device/pool.h"
#include "store/copies.h"
#include "adsm_scratchpad.h"
#include "process/shared.h"

/* What the workers of this node have counted, added up. */
struct adsm_workers_counts {
	struct adsm_copies_counts copies;
	uint64_t of_tasks[ADSM_TASK_N_COUNTS];	/* without the locks taken and the barriers */
};

/* Call this at the start. @layout: the layout of a local store. @page: bytes of a page. @wake: called in another thread
 * when the last worker has ended. */
void adsm_workers_start(const struct adsm_scratchpad_layout *layout, uint32_t page, void (*wake)(void));
/* The part of a task that runs on this node. */
struct adsm_workers_part {
	struct adsm_pool_launch *launch;	/* must stay valid until they are done */
	uint32_t kernel;
	uint32_t first, n, n_all;	/* workers of this node: number of the first, count; count on all nodes */
	uint64_t begin, end, heap;	/* as in struct adsm_hcrc_memory */
	const uint8_t *args;		/* arguments of the launch, arg_bytes of them */
	uint32_t arg_bytes;
	bool counted;
};

/* Begin the workers, after adsm_hcrc_node_begin(). If this node lacks memory or a thread for them, no worker of it
 * begins, and the task fails. */
void adsm_workers_begin(const struct adsm_workers_part *part);
bool adsm_workers_done(void);
/* After adsm_workers_done(): 0, or why the task has failed, if this node or a worker of it caused that. */
int adsm_workers_result(const char **ret_text);
/* The state of worker @i of this node, from 0, when it left the task or ended. */
struct adsm_worker_left {
	uint32_t waits_for;		/* as in struct adsm_task_state: what it waited for */
	uint32_t gives_back;		/* 1: it released the lock waits_for without holding it */
	uint32_t n_locks;		/* number of locks it held */
};
struct adsm_worker_left adsm_workers_left(uint32_t i);
const uint32_t *adsm_workers_locks(uint32_t i);	/* these locks */
void adsm_workers_counts(struct adsm_workers_counts *ret_counts);
/* What the workers did, by their numbers on this node, with times of this node's clock. Empty if the launch is not
 * counted. */
const struct adsm_task_record *adsm_workers_record(void);
/* Is the calling thread a worker's? May be called in signal handlers, like the next function. */
bool adsm_workers_is_one(void);
/* Explain the crash of a worker at this address; NULL: nothing to add. */
const char *adsm_workers_explain(int signal, uint64_t address, const char *access);

/*
 * ---- The memory of ADSM_TASK_ALLOC on a cluster. Its administration is at its beginning. Workers of all nodes access
 * it by their caches, like all other memory; an empty heap consists of zeros. The caller holds ADSM_NODE_HEAP_LOCK.
 */

#define ADSM_NODE_HEAP_SIZE ((uint64_t)1 << 28)
#define ADSM_NODE_HEAP_LOCK ADSM_TASK_LOCKS_MAX	/* the number after the program's locks */

/* Returns an address aligned to 64 bytes; 0 if there is not enough memory. */
uint64_t adsm_node_heap_alloc(struct adsm_store *store, uint64_t heap, uint64_t size);
/* Returns false if the address is no allocated memory of this heap. */
bool adsm_node_heap_free(struct adsm_store *store, uint64_t heap, uint64_t address);
