/* SPDX-License-Identifier: MIT */
/*
 * node/task/seen.h - what is told of a task that is counted: when its workers did what, and how they share pages. Each
 * node sees its own part, which node 0 puts together.
 */
#ifndef ADSM_CLUSTER_SEEN_H
#define ADSM_CLUSTER_SEEN_H

#include "cluster/node/hcrc/hcrc_copies.h"
#include "cluster/node/net/comm.h"
#include "process/shared.h"
#include "store/sharing.h"

struct adsm_seen {			/* by a node */
	uint64_t start_ns;		/* by its clock, as those of spans are */
	uint32_t n_workers, n_waits, n_words;
	struct adsm_hcrc_in_vain in_vain;
	struct adsm_task_hot hot[ADSM_TASK_HOT];
	/* Elsewhere: as many; and which pages were written to, as adsm_hcrc_sharing_written() has it. */
	const struct adsm_task_span *workers;
	const struct adsm_task_wait *waits;
	const uint64_t *written;
};

/* On this node, when all workers have left; until the next task, or until the pages are forgotten. */
struct adsm_seen adsm_seen_here(uint64_t start_ns, uint32_t n_workers, uint32_t n_pages);
void adsm_seen_pack(struct adsm_pack *out, const struct adsm_seen *seen);
/* As long as the letter is there. */
struct adsm_seen adsm_seen_unpack(const struct adsm_letter *letter, size_t *at);

/* Node 0: -ENOMEM. What all workers did goes to the record. */
int adsm_seen_begin(struct adsm_task_record *ret_record, uint32_t n_pages);
/* Of a node, whose first worker has this number, and whose clock shows so much less than this one. */
void adsm_seen_add(int rank, uint32_t first, uint64_t later, const struct adsm_seen *seen);
/* When all are added: the page that was given up in vain most often, .n 0 for none, by a worker, because of whom. */
struct adsm_sharing_worst adsm_seen_worst(uint32_t *ret_page);
void adsm_seen_end(void);

#endif
