/* SPDX-License-Identifier: MIT */
/* policy_log.c - see policy_log.h. */
#include "policy_log.h"

#include <errno.h>
#include <stdlib.h>

_Static_assert(ADSM_IMAGE_MAX_PARTITIONS <= UINT16_MAX, "a note has room for a partition's number");

/* ---- during calls */

static void count(const struct adsm_policy_log *log, struct adsm_policy_other *other,
		  const struct adsm_policy_load *load)
{
	if (load->source != ADSM_POLICY_DMA)
		return;
	other->loads++;
	other->bytes += log->partitions[load->id].size;
}

static void call(const struct adsm_policy_log *log, struct adsm_policy_other *other, uint32_t id)
{
	struct adsm_policy_frame *frame = &other->frames[other->n_frames++];
	struct adsm_policy_load load;

	frame->id = (uint16_t)other->policy.current;
	frame->buffer = (uint16_t)other->policy.buffer;
	if (adsm_policy_call(&other->policy, id))
		return;
	adsm_policy_call_load(&other->policy, id, &load);
	count(log, other, &load);
}

static void come_back(const struct adsm_policy_log *log, struct adsm_policy_other *other)
{
	const struct adsm_policy_frame *frame = &other->frames[--other->n_frames];
	struct adsm_policy_load load;

	if (adsm_policy_return(&other->policy, frame->id, frame->buffer))
		return;
	adsm_policy_return_load(&other->policy, frame->id, frame->buffer, &load);
	count(log, other, &load);
}

static void count_pairs(const struct adsm_policy_log *log, struct adsm_policy_pairs *pairs)
{
	for (uint32_t i = 0; i < log->n; i++) {
		const uint32_t called = log->notes[i];

		if (called) {
			pairs->n[pairs->current * (log->n_partitions + 1) + called]++;
			pairs->frames[pairs->n_frames++] = (uint16_t)pairs->current;
			pairs->current = called;
		} else {
			pairs->current = pairs->frames[--pairs->n_frames];
		}
	}
}

/* Replay for one setting after the other, which uses the processor's caches better. */
void adsm_policy_log_play(struct adsm_policy_log *log)
{
	if (log->pairs.n)
		count_pairs(log, &log->pairs);
	for (uint32_t i = 0; i < ADSM_POLICY_OTHERS; i++) {
		struct adsm_policy_other *other = &log->others[i];

		for (uint32_t k = 0; k < log->n && other->frames; k++) {
			if (log->notes[k])
				call(log, other, log->notes[k]);
			else
				come_back(log, other);
		}
	}
	log->n = 0;
}

/* ---- between calls */

struct adsm_policy_log *adsm_policy_log_create(const struct adsm_image *image, uint32_t depth)
{
	struct adsm_policy_log *log = calloc(1, sizeof(*log));

	if (!log)
		return NULL;
	log->n_partitions = image->header->n_partitions;
	log->partitions = image->partitions;
	log->depth = depth;
	return log;
}

void adsm_policy_log_destroy(struct adsm_policy_log *log)
{
	for (uint32_t i = 0; log && i < ADSM_POLICY_OTHERS; i++) {
		free(log->others[i].frames);
		free(log->others[i].policy.where);
	}
	if (log) {
		free(log->pairs.n);
		free(log->pairs.frames);
	}
	free(log);
}

int adsm_policy_log_count_pairs(struct adsm_policy_log *log)
{
	const size_t n = (size_t)log->n_partitions + 1;

	log->pairs.frames = calloc(log->depth, sizeof(*log->pairs.frames));
	log->pairs.n = log->pairs.frames ? calloc(n * n, sizeof(*log->pairs.n)) : NULL;
	return log->pairs.n ? 0 : -ENOMEM;
}

/* The running code was left, or other code was loaded. Calls that were made stay counted. */
static void end_pairs(struct adsm_policy_log *log)
{
	log->pairs.n_frames = 0;
	log->pairs.current = 0;
}

int adsm_policy_log_add(struct adsm_policy_log *log, uint32_t i, enum adsm_policy_kind kind, bool victims,
			uint32_t n_buffers)
{
	struct adsm_policy_frame *frames = calloc(log->depth, sizeof(*frames));
	uint8_t *where = calloc((size_t)log->n_partitions + 1, 1);

	if (!frames || !where) {
		free(frames);
		free(where);
		return -ENOMEM;
	}
	adsm_policy_start(&log->others[i].policy, kind, victims, n_buffers, log->n_partitions, where);
	log->others[i].frames = frames;
	return 0;
}

void adsm_policy_log_empty(struct adsm_policy_log *log)
{
	log->n = 0;
	end_pairs(log);
	for (uint32_t i = 0; i < ADSM_POLICY_OTHERS; i++) {
		struct adsm_policy_other *other = &log->others[i];
		struct adsm_policy *policy = &other->policy;

		if (other->frames)
			adsm_policy_start(policy, policy->kind, policy->victims, policy->n_buffers,
					  policy->n_partitions, policy->where);
		other->n_frames = 0;
		other->loads = other->bytes = 0;
	}
}

void adsm_policy_log_count(struct adsm_policy_log *log)
{
	adsm_policy_log_play(log);
	for (uint32_t i = 0; i < ADSM_POLICY_OTHERS; i++)
		log->others[i].loads = log->others[i].bytes = 0;
}

void adsm_policy_log_reset(struct adsm_policy_log *log)
{
	adsm_policy_log_play(log);
	end_pairs(log);
	for (uint32_t i = 0; i < ADSM_POLICY_OTHERS; i++) {
		log->others[i].n_frames = 0;
		adsm_policy_reset(&log->others[i].policy);
	}
}
