/* SPDX-License-Identifier: MIT */
/*
 * node/task/workers.h - the workers of a task that run on this node: threads, each on a core with a local store
 * (store/). hcrc_node.h keeps their copies of device memory consistent with those of all others, on all nodes.
 */
#ifndef ADSM_CLUSTER_WORKERS_H
#define ADSM_CLUSTER_WORKERS_H

#include <stdbool.h>
#include <stdint.h>

#include "process/device/pool.h"
#include "store/copies.h"
#include "adsm_scratchpad.h"
#include "process/shared.h"

/* What they have done, all together. */
struct adsm_workers_counts {
	struct adsm_copies_counts copies;
	uint64_t lock_waits, work_ns, lock_wait_ns, barrier_wait_ns;
};

/* At the start: what a store is made of. @wake: called when the last worker has ended, in another thread. */
void adsm_workers_start(const struct adsm_scratchpad_layout *layout, uint32_t page, void (*wake)(void));
/* A task's part that runs on this node. */
struct adsm_workers_part {
	struct adsm_pool_launch *launch;	/* stays until they are done */
	uint32_t kernel;
	uint32_t first, n, n_all;	/* workers: from that number on, so many of all */
	uint64_t begin, end, heap;	/* as struct adsm_hcrc_memory */
	const uint8_t *args;		/* the launch's, as many bytes */
	uint32_t arg_bytes;
	bool counted;
};

/* They begin, behind adsm_hcrc_node_begin(). 0, or a negative errno with a sentence: none has begun. */
int adsm_workers_begin(const struct adsm_workers_part *part, char ret_text[ADSM_PROCESS_TEXT]);
bool adsm_workers_done(void);
/* Then: why the task has failed, if one of them has done what it may not. */
int adsm_workers_result(const char **ret_text);
/* Of a worker, from 0 on this node: what it waited for when it was left, or ended, and locks that it had. */
struct adsm_worker_left {
	uint32_t waits_for;		/* as struct adsm_task_seen */
	uint32_t gives_back;		/* 1: a lock which it has not got, that one */
	uint32_t n_locks, locks[6];	/* the first of them; 0: it had none */
};
struct adsm_worker_left adsm_workers_left(uint32_t i);
void adsm_workers_counts(struct adsm_workers_counts *ret_counts);
/* What they did, by their numbers on this node and its clock; where it was not counted, nothing. */
const struct adsm_task_record *adsm_workers_record(void);
/* Is the calling thread one of theirs? For handlers of signals, as is the next. */
bool adsm_workers_is_one(void);
/* What the crash of a worker at this address means; NULL: no more than that. */
const char *adsm_workers_explain(int signal, uint64_t address, const char *access);

/*
 * ---- memory of ADSM_TASK_ALLOC
 *
 * At its beginning is what is known of it, which
 * workers of all nodes read and write by their caches, as they do the rest; zeros are an empty heap. Who calls has
 * ADSM_NODE_HEAP_LOCK.
 */

#define ADSM_NODE_HEAP_SIZE ((uint64_t)1 << 28)
#define ADSM_NODE_HEAP_LOCK ADSM_TASK_LOCKS_MAX	/* behind those of the program */

/* Aligned to 64 bytes; 0: there is not so much left. */
uint64_t adsm_node_heap_alloc(struct adsm_store *store, uint64_t heap, uint64_t size);
/* False: it is no memory of this heap that is in use. */
bool adsm_node_heap_free(struct adsm_store *store, uint64_t heap, uint64_t address);

#endif
