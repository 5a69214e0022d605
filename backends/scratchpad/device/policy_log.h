/* SPDX-License-Identifier: MIT */
/*
 * policy_log.h - what others would have loaded: calls between partitions and their returns are noted, and others
 * (policy.h) are asked all of it again, the same code, which only decides. For advice.
 *
 * Notes take as much memory however many calls there are: where they are full the others are asked at once, in the
 * midst of a call, and notes begin anew. So this is compiled as policy.c is.
 */
#ifndef ADSM_SCRATCHPAD_POLICY_LOG_H
#define ADSM_SCRATCHPAD_POLICY_LOG_H

#include "base/image.h"
#include "policy.h"

#define ADSM_POLICY_NOTES 1024u
#define ADSM_POLICY_OTHERS 32u

struct adsm_policy_frame { uint16_t id, buffer; };	/* who waits for a call, and where it was */

struct adsm_policy_other {
	struct adsm_policy policy;
	uint64_t loads, bytes;		/* DMA transfers that it had made */
	uint32_t n_frames;
	struct adsm_policy_frame *frames;	/* NULL: there is no such */
};

struct adsm_policy_log {
	uint32_t n;
	uint16_t notes[ADSM_POLICY_NOTES];	/* the partition that was called; 0: it has returned */
	uint32_t n_partitions, depth;
	const struct adsm_image_entry *partitions;
	struct adsm_policy_other others[ADSM_POLICY_OTHERS];
};

/* Between calls. @depth: calls that may be open at once. NULL: no memory. The image's list outlives it. */
struct adsm_policy_log *adsm_policy_log_create(const struct adsm_image *image, uint32_t depth);
/* NULL is fine. */
void adsm_policy_log_destroy(struct adsm_policy_log *log);
/* Another one, number @i, which has nothing loaded yet. -ENOMEM. */
int adsm_policy_log_add(struct adsm_policy_log *log, uint32_t i, enum adsm_policy_kind kind, bool victims,
			uint32_t n_buffers);
/* Nothing is loaded in any of them, and all have counted 0. */
void adsm_policy_log_empty(struct adsm_policy_log *log);
/* What is loaded stays, and they count from 0. */
void adsm_policy_log_count(struct adsm_policy_log *log);
/* What was running has been left for good. */
void adsm_policy_log_reset(struct adsm_policy_log *log);

/* Ask the others all that was noted; from then on their counts are those of now. */
void adsm_policy_log_play(struct adsm_policy_log *log);

static inline void adsm_policy_log_note(struct adsm_policy_log *log, uint32_t id)
{
	log->notes[log->n++] = (uint16_t)id;
	if (__builtin_expect(log->n == ADSM_POLICY_NOTES, 0))
		adsm_policy_log_play(log);
}

#endif
