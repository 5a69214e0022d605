/* SPDX-License-Identifier: MIT */
/*
 * node/task/task.h - tasks of a cluster: node 0 tells all others, on each node some of the workers run (workers.h),
 * and what they store is kept consistent by hcrc_node.h. The communication thread's.
 */
#ifndef ADSM_CLUSTER_TASK_H
#define ADSM_CLUSTER_TASK_H

#include "cluster/shared.h"
#include "cluster/node/net/comm.h"
#include "cluster/node/hcrc/hcrc_types.h"
#include "cluster/node/options.h"
#include "workers.h"

/* What a task has cost, all nodes together. */
struct adsm_task_costs {
	struct adsm_hcrc_counts hcrc;
	struct adsm_workers_counts workers;
	uint64_t n_workers, n_barriers, virtual_ns;
};

/* At the start, where nodes run tasks. False: a local store has no room, and *ret_text says for what. */
bool adsm_node_task_start(const struct adsm_node_words *words, char *ret_text, size_t size);

/* ---- node 0 */

/*
 * A task, whole. All that the application has done to objects is known to adsm_pages_objects(). @look: called between
 * two looks for letters. What was written is in device memory, and told to @shared as if the application had done it.
 * What its workers did is in *ret_record, if it is counted. 0, or a negative errno with a sentence.
 */
int adsm_node_task_run(const struct adsm_process_slot *slot, const uint8_t *args, struct adsm_cluster_shared *shared,
		       void (*look)(void), struct adsm_task_costs *ret_costs, struct adsm_task_record *ret_record,
		       char ret_text[ADSM_PROCESS_TEXT]);

/* When each node had its part of the last one. */
const struct adsm_span *adsm_node_task_parts(void);

/* ---- any node */

/* A letter of a task; false: it is none. *letter is taken where it has to stay: then it has no data any more. */
bool adsm_node_task_letter(struct adsm_letter *letter);
/* As struct adsm_node_calls has it. */
bool adsm_node_task_look(bool *ret_found);

#endif
