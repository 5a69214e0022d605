/* SPDX-License-Identifier: MIT */
/* node/task/record.h - the record of a counted task: when its workers did what, and how they share pages. Each node
 * records its own part, and node 0 combines the parts. */
#pragma once

#include "cluster/node/hcrc/hcrc_copies.h"
#include "cluster/node/net/comm.h"
#include "process/shared.h"
#include "store/sharing.h"

struct adsm_node_record {		/* the part of one node */
	uint64_t start_ns;		/* by the node's clock, like the times of spans */
	uint32_t n_workers, n_waits, n_words;
	struct adsm_hcrc_in_vain in_vain;
	struct adsm_task_hot hot[ADSM_TASK_HOT];
	/* In other memory: these numbers of entries; and the written pages, as in adsm_hcrc_sharing_written(). */
	const struct adsm_span *workers;
	const struct adsm_task_wait *waits;
	const uint64_t *written;
};

/* The part of this node, after all workers have left. Valid until the next task, or until adsm_hcrc_sharing_end(). */
struct adsm_node_record adsm_node_record_here(uint64_t start_ns, uint32_t n_workers, uint32_t n_pages);
void adsm_node_record_pack(struct adsm_pack *out, const struct adsm_node_record *part);
/* Valid as long as the letter. */
struct adsm_node_record adsm_node_record_unpack(const struct adsm_letter *letter, size_t *at);

/* Node 0: begin to combine. @n_pages: of those that nodes send each other, with @n_parts parts each. Returns 0 or
 * -ENOMEM. The spans of all workers are written to @ret_record. */
int adsm_node_record_begin(struct adsm_task_record *ret_record, uint32_t n_pages, uint32_t n_parts);
/* Add the part of a node. @first: number of its first worker. @clock_offset_ns: this node's clock minus that node's. */
void adsm_node_record_add(int rank, uint32_t first, uint64_t clock_offset_ns, const struct adsm_node_record *part);
/* After all parts were added: the page that a worker gave up in vain most often (.n 0: none), the worker, and the
 * reason. */
struct adsm_sharing_worst adsm_node_record_worst(uint32_t *ret_page);
void adsm_node_record_end(void);
