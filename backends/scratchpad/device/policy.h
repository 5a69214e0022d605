/* SPDX-License-Identifier: MIT */
/*
 * policy.h - decides which partition is in which sub-buffer, and which one is evicted (OPELL, section 5). It moves no
 * code. Partitions have numbers from 1; 0 is none.
 *
 * These functions run during calls whose arguments are in vector registers: policy.c, like partition_call.c, is
 * compiled without these.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define ADSM_POLICY_MAX_BUFFERS 64u
#define ADSM_POLICY_MASK_BITS 128u

enum adsm_policy_kind {
	ADSM_POLICY_MODULUS,		/* the oldest one is evicted: (next + 1) mod n */
	ADSM_POLICY_LRU,		/* the least recently used one is evicted */
};

/* The states of a partition in Table 1 of the paper. */
enum adsm_policy_state {
	ADSM_POLICY_EVICTED,		/* not in the local store */
	ADSM_POLICY_ACTIVE,		/* running */
	ADSM_POLICY_INACTIVE,		/* in a sub-buffer, and not running */
	ADSM_POLICY_EWOR,		/* evicted, and a call will return to it */
};

struct adsm_policy_buffer {
	uint32_t id;			/* the partition in it */
	uint64_t used;			/* the clock when it was last called, or returned to */
};

struct adsm_policy {
	enum adsm_policy_kind kind;
	uint32_t n_buffers, n_partitions;
	bool victims;			/* victim entries are allowed */
	uint32_t victim;		/* the partition in the victim entry */
	uint32_t next;			/* modulus: the sub-buffer that was last chosen */
	uint32_t current, buffer;	/* the partition that runs, and its sub-buffer */
	uint64_t clock;
	/* Partitions that calls will return to: bit number modulo 128. A second call from a partition, or from another
	 * one with the same bit, makes the bit wrong, as in the paper; then the victim entry may lack a partition. */
	uint64_t mask[ADSM_POLICY_MASK_BITS / 64];
	struct adsm_policy_buffer buffers[ADSM_POLICY_MAX_BUFFERS];
	uint8_t *where;			/* for each partition: its sub-buffer + 1; 0: in none */
};

enum adsm_policy_source { ADSM_POLICY_DMA, ADSM_POLICY_MOVE, ADSM_POLICY_VICTIM };

/* What to do before the partition in @buffer can run. If @saved is not 0, it is first copied from there to the victim
 * entry, replacing its contents; if @source is the victim entry, the two are exchanged. */
struct adsm_policy_load {
	uint32_t id, buffer;
	uint32_t saved;
	enum adsm_policy_source source;
	uint32_t from;			/* move: the sub-buffer that contains it until now */
};

/* @where: n_partitions + 1 bytes, owned by the caller. @n_buffers: 1 to 64. */
void adsm_policy_start(struct adsm_policy *policy, enum adsm_policy_kind kind, bool victims, uint32_t n_buffers,
		       uint32_t n_partitions, uint8_t *where);
/* Nothing runs, and no call will return. Loaded partitions stay. */
void adsm_policy_reset(struct adsm_policy *policy);
/* Forget the victim entry. @victims: are new ones allowed? */
void adsm_policy_drop_victim(struct adsm_policy *policy, bool victims);
/* Remove a partition from its sub-buffer. */
void adsm_policy_forget(struct adsm_policy *policy, uint32_t id);
enum adsm_policy_state adsm_policy_state(const struct adsm_policy *policy, uint32_t id);

/* Give the called partition a sub-buffer; give the partition that is returned to its own. It runs from now on. */
void adsm_policy_call_load(struct adsm_policy *policy, uint32_t id, struct adsm_policy_load *ret_load);
void adsm_policy_return_load(struct adsm_policy *policy, uint32_t caller, uint32_t buffer,
			     struct adsm_policy_load *ret_load);
/* Put a partition into a sub-buffer where it is not yet. */
void adsm_policy_place(struct adsm_policy *policy, uint32_t id, uint32_t buffer, struct adsm_policy_load *ret_load);

/* The lifetime of a partition is its clock's distance to the current one, and grows with each use of another one. So
 * used sub-buffers never have equal times. */
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

/* The running partition calls another one. Before this, the caller saves `current` and `buffer` for the return. Returns
 * false if the called partition is in no sub-buffer: adsm_policy_call_load() must follow. */
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

/* The call returns to @caller, which must be in sub-buffer @buffer, from where it called; 0: to code outside of
 * partitions. Returns false if it is not there: adsm_policy_return_load() must follow. */
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
