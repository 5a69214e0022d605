/* SPDX-License-Identifier: MIT */
/*
 * policy_log.h - simulates what other settings would have loaded, for advice. Calls between partitions and their
 * returns are recorded, and then replayed for other settings by the same code (policy.h), which only decides.
 *
 * The memory for records does not grow with the number of calls: when it is full, they are replayed immediately, during
 * a call, and recording starts again. So this is compiled like policy.c.
 */
#pragma once

#include "base/image.h"
#include "policy.h"

#define ADSM_POLICY_NOTES 1024u
#define ADSM_POLICY_OTHERS 32u

struct adsm_policy_frame { uint16_t id, buffer; };	/* a caller, and its sub-buffer */

struct adsm_policy_other {
	struct adsm_policy policy;
	uint64_t loads, bytes;		/* DMA transfers that the setting would make */
	uint32_t n_frames;
	struct adsm_policy_frame *frames;	/* NULL: unused */
};

/* The number of calls between each two partitions. */
struct adsm_policy_pairs {
	uint64_t *n;			/* (n_partitions + 1)², by caller, then by callee; NULL: not counted */
	uint16_t *frames;		/* the callers of the open calls */
	uint32_t n_frames, current;
};

struct adsm_policy_log {
	uint32_t n;
	uint16_t notes[ADSM_POLICY_NOTES];	/* the called partition; 0: a return */
	uint32_t n_partitions, depth;
	const struct adsm_image_entry *partitions;
	struct adsm_policy_other others[ADSM_POLICY_OTHERS];
	struct adsm_policy_pairs pairs;
};

/* Between calls. @depth: maximum number of open calls. Returns NULL if there is no memory. The image must outlive the
 * log. */
struct adsm_policy_log *adsm_policy_log_create(const struct adsm_image *image, uint32_t depth);
/* NULL is valid. */
void adsm_policy_log_destroy(struct adsm_policy_log *log);
/* Add setting number @i, with nothing loaded. Returns 0 or -ENOMEM. */
int adsm_policy_log_add(struct adsm_policy_log *log, uint32_t i, enum adsm_policy_kind kind, bool victims,
			uint32_t n_buffers);
/* From now on, count the calls between each two partitions. Returns 0 or -ENOMEM. */
int adsm_policy_log_count_pairs(struct adsm_policy_log *log);
/* Empty all sub-buffers, and reset all counts. */
void adsm_policy_log_empty(struct adsm_policy_log *log);
/* Reset all counts; loaded partitions stay. */
void adsm_policy_log_count(struct adsm_policy_log *log);
/* The running code was left permanently. */
void adsm_policy_log_reset(struct adsm_policy_log *log);

/* Replay everything that was recorded: afterwards the counts are current. */
void adsm_policy_log_play(struct adsm_policy_log *log);

static inline void adsm_policy_log_note(struct adsm_policy_log *log, uint32_t id)
{
	log->notes[log->n++] = (uint16_t)id;
	if (__builtin_expect(log->n == ADSM_POLICY_NOTES, 0))
		adsm_policy_log_play(log);
}
