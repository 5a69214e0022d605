/* SPDX-License-Identifier: MIT */
/*
 * node/heap.h - the memory that ADSM_TASK_ALLOC gives on a cluster: at its beginning is what is known of it, which
 * workers of all nodes read and write by their caches, as they do the rest; zeros are an empty heap. Who calls has
 * ADSM_NODE_HEAP_LOCK.
 */
#ifndef ADSM_CLUSTER_HEAP_H
#define ADSM_CLUSTER_HEAP_H

#include "adsm_scratchpad.h"
#include "process/shared.h"

#include <stdbool.h>
#include <stdint.h>

#define ADSM_NODE_HEAP_SIZE ((uint64_t)1 << 28)
#define ADSM_NODE_HEAP_LOCK ADSM_TASK_LOCKS_MAX	/* behind those of the program */

/* Aligned to 64 bytes; 0: there is not so much left. */
uint64_t adsm_node_heap_alloc(struct adsm_store *store, uint64_t heap, uint64_t size);
/* False: it is no memory of this heap that is in use. */
bool adsm_node_heap_free(struct adsm_store *store, uint64_t heap, uint64_t address);

#endif
