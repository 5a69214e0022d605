/* SPDX-License-Identifier: MIT */
/* node/task/task.h - tasks of a cluster. Node 0 starts a task on all nodes. On each node some of the workers run
 * (workers.h), and hcrc_node.h keeps their pages consistent. Only the communication thread calls these functions. */
#pragma once

#include "cluster/shared.h"
#include "cluster/node/net/comm.h"
#include "cluster/node/hcrc/hcrc_types.h"
#include "cluster/node/options.h"
#include "workers.h"

/* The costs of a task, summed over all nodes. */
struct adsm_task_costs {
	struct adsm_hcrc_counts hcrc;
	struct adsm_workers_counts workers;
	uint64_t n_workers, n_barriers, virtual_ns;
};

/* Call this at the start if nodes run tasks. Returns false, with a text, if a local store is too small. */
bool adsm_node_task_start(const struct adsm_node_words *words, char *ret_text, size_t size);

/* ---- node 0 */

/*
 * Run a task to its end. adsm_pages_objects() must know all objects of the application. @poll_all: called between two
 * checks for letters. Afterwards the workers' stores are in device memory, and marked in @shared as if the application
 * had written them. *ret_record: what the workers did, if the task is counted. Returns 0, or a negative errno with a
 * text.
 */
int adsm_node_task_run(const struct adsm_process_slot *slot, const uint8_t *args, struct adsm_cluster_shared *shared,
		       void (*poll_all)(void), struct adsm_task_costs *ret_costs, struct adsm_task_record *ret_record,
		       char ret_text[ADSM_PROCESS_TEXT]);

/* When each node ran its part of the last task. */
const struct adsm_span *adsm_node_task_parts(void);

/* ---- any node */

/* Process a letter. Returns false if it belongs to no task. If the letter must stay, its data is taken from *letter. */
bool adsm_node_task_letter(struct adsm_letter *letter);
/* The function look_for_task of struct adsm_node_calls. */
bool adsm_node_task_poll(bool *ret_found);
