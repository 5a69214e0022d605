/* SPDX-License-Identifier: MIT */
/*
 * policy.h - which partition is in which sub-buffer, and which has to leave (OPELL, section 5): decisions alone, no
 * code is moved here. Partitions have numbers from 1 on; 0 is none.
 *
 * These functions run in the midst of calls whose arguments are in vector registers: policy.c, as partition_call.c, is
 * compiled without any.
 */
#ifndef ADSM_SCRATCHPAD_POLICY_H
#define ADSM_SCRATCHPAD_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#define ADSM_POLICY_MAX_BUFFERS 64u
#define ADSM_POLICY_MASK_BITS 128u

enum adsm_policy_kind {
	ADSM_POLICY_MODULUS,		/* the oldest one leaves: (next + 1) mod n */
	ADSM_POLICY_LRU,		/* the one that was not called for the longest time */
};

/* What the paper's Table 1 calls a partition. */
enum adsm_policy_state {
	ADSM_POLICY_EVICTED,		/* not in the local store */
	ADSM_POLICY_ACTIVE,		/* running */
	ADSM_POLICY_INACTIVE,		/* in a sub-buffer, and not running */
	ADSM_POLICY_EWOR,		/* evicted, and somebody will return to it */
};

struct adsm_policy_buffer {
	uint32_t id;			/* the partition in it */
	uint64_t used;			/* the clock when it was called, or returned to */
};

struct adsm_policy {
	enum adsm_policy_kind kind;
	uint32_t n_buffers, n_partitions;
	bool victims;			/* there may be a victim entry */
	uint32_t victim;		/* the partition in it */
	uint32_t next;			/* modulus: the sub-buffer that was chosen last */
	uint32_t current, buffer;	/* the partition that runs, and where */
	uint64_t clock;
	/* Partitions that somebody will return to, by the number modulo 128: a second call from one, or of another with
	 * the same bit, makes the bit false, as in the paper; then the victim entry does not get what it might. */
	uint64_t mask[ADSM_POLICY_MASK_BITS / 64];
	struct adsm_policy_buffer buffers[ADSM_POLICY_MAX_BUFFERS];
	uint8_t *where;			/* by partition: its sub-buffer + 1; 0: in none */
};

enum adsm_policy_source { ADSM_POLICY_DMA, ADSM_POLICY_MOVE, ADSM_POLICY_VICTIM };

/* What is to be done before the partition in @buffer can run. First @saved, where it is not 0, goes from there to the
 * victim entry, whatever that had; where @source is the victim entry, both change places. */
struct adsm_policy_load {
	uint32_t id, buffer;
	uint32_t saved;
	enum adsm_policy_source source;
	uint32_t from;			/* move: the sub-buffer that has it until now */
};

/* @where: n_partitions + 1 bytes of the caller's. @n_buffers: 1 to 64. */
void adsm_policy_start(struct adsm_policy *policy, enum adsm_policy_kind kind, bool victims, uint32_t n_buffers,
		       uint32_t n_partitions, uint8_t *where);
/* Nobody runs, and nobody will be returned to. What is loaded stays. */
void adsm_policy_reset(struct adsm_policy *policy);
/* The victim entry is gone; from now on there may be one, or not. */
void adsm_policy_drop_victim(struct adsm_policy *policy, bool victims);
/* A partition is in no sub-buffer any more. */
void adsm_policy_forget(struct adsm_policy *policy, uint32_t id);
enum adsm_policy_state adsm_policy_state(const struct adsm_policy *policy, uint32_t id);

/* The partition that is called gets a sub-buffer, and the one that is returned to its own; it runs from there on. */
void adsm_policy_call_load(struct adsm_policy *policy, uint32_t id, struct adsm_policy_load *ret_load);
void adsm_policy_return_load(struct adsm_policy *policy, uint32_t caller, uint32_t buffer,
			     struct adsm_policy_load *ret_load);
/* A partition gets a sub-buffer in which it is not. */
void adsm_policy_place(struct adsm_policy *policy, uint32_t id, uint32_t buffer, struct adsm_policy_load *ret_load);

/* Lifetimes are the clock's distance: all others' grow with each use of one. So no two that were used are equal. */
static inline void adsm_policy_use(struct adsm_policy *policy, uint32_t id, uint32_t buffer)
{
	policy->buffers[buffer].used = ++policy->clock;
	policy->current = id;
	policy->buffer = buffer;
}

static inline uint64_t adsm_policy_bit(uint32_t id)
{
	return (uint64_t)1 << id % 64;
}

static inline uint64_t *adsm_policy_word(struct adsm_policy *policy, uint32_t id)
{
	return &policy->mask[id % ADSM_POLICY_MASK_BITS / 64];
}

/*
 * The partition that runs calls another one. It is to be kept by the caller who called, and from where: current and
 * buffer, before this. False: it is in no sub-buffer, and adsm_policy_call_load() is to follow.
 */
static inline bool adsm_policy_call(struct adsm_policy *policy, uint32_t id)
{
	const uint32_t in = policy->where[id];

	if (policy->current)
		*adsm_policy_word(policy, policy->current) |= adsm_policy_bit(policy->current);
	if (__builtin_expect(!in, 0))
		return false;
	adsm_policy_use(policy, id, in - 1);
	return true;
}

/*
 * It returns to @caller, which called from sub-buffer @buffer and has to be there; 0: to what is in no partition.
 * False: it is not there, and adsm_policy_return_load() is to follow.
 */
static inline bool adsm_policy_return(struct adsm_policy *policy, uint32_t caller, uint32_t buffer)
{
	if (!caller) {
		policy->current = 0;
		return true;
	}
	*adsm_policy_word(policy, caller) &= ~adsm_policy_bit(caller);
	if (__builtin_expect(policy->buffers[buffer].id != caller, 0))
		return false;
	adsm_policy_use(policy, caller, buffer);
	return true;
}

#endif
