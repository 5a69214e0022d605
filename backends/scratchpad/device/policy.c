/* SPDX-License-Identifier: MIT */
/* policy.c - see policy.h. */
#include "policy.h"

void adsm_policy_start(struct adsm_policy *policy, enum adsm_policy_kind kind, bool victims, uint32_t n_buffers,
		       uint32_t n_partitions, uint8_t *where)
{
	*policy = (struct adsm_policy) {
		.kind = kind, .victims = victims, .n_buffers = n_buffers, .n_partitions = n_partitions,
		.next = n_buffers - 1, .where = where,
	};
	for (uint32_t id = 0; id <= n_partitions; id++)
		where[id] = 0;
}

void adsm_policy_reset(struct adsm_policy *policy)
{
	policy->current = 0;
	policy->buffer = 0;
	policy->mask[0] = policy->mask[1] = 0;
}

void adsm_policy_drop_victim(struct adsm_policy *policy, bool victims)
{
	policy->victim = 0;
	policy->victims = victims;
}

void adsm_policy_forget(struct adsm_policy *policy, uint32_t id)
{
	if (policy->where[id])
		policy->buffers[policy->where[id] - 1].id = 0;
	policy->where[id] = 0;
}

static bool is_returned_to(const struct adsm_policy *policy, uint32_t id)
{
	return policy->mask[id % ADSM_POLICY_MASK_BITS / 64] & adsm_policy_bit(id);
}

enum adsm_policy_state adsm_policy_state(const struct adsm_policy *policy, uint32_t id)
{
	if (policy->where[id])
		return policy->current == id ? ADSM_POLICY_ACTIVE : ADSM_POLICY_INACTIVE;
	return is_returned_to(policy, id) ? ADSM_POLICY_EWOR : ADSM_POLICY_EVICTED;
}

void adsm_policy_place(struct adsm_policy *policy, uint32_t id, uint32_t buffer, struct adsm_policy_load *ret_load)
{
	const uint32_t old = policy->buffers[buffer].id;
	struct adsm_policy_load load = { .id = id, .buffer = buffer, .source = ADSM_POLICY_DMA };

	if (old && policy->victims && is_returned_to(policy, old))
		load.saved = old;
	if (policy->where[id]) {
		load.source = ADSM_POLICY_MOVE;
		load.from = policy->where[id] - 1u;
		policy->buffers[load.from].id = 0;
	} else if (policy->victims && policy->victim == id) {
		load.source = ADSM_POLICY_VICTIM;
		policy->victim = 0;
	}
	if (load.saved)
		policy->victim = load.saved;
	if (old)
		policy->where[old] = 0;
	policy->buffers[buffer].id = id;
	policy->where[id] = (uint8_t)(buffer + 1);
	*ret_load = load;
}

/* Empty sub-buffers are first, in their order. Those in use have different times. */
static uint32_t least_recently_used(const struct adsm_policy *policy)
{
	uint32_t least = 0;

	for (uint32_t i = 0; i < policy->n_buffers; i++) {
		if (!policy->buffers[i].id)
			return i;
		if (policy->buffers[i].used < policy->buffers[least].used)
			least = i;
	}
	return least;
}

void adsm_policy_call_load(struct adsm_policy *policy, uint32_t id, struct adsm_policy_load *ret_load)
{
	uint32_t buffer;

	if (policy->kind == ADSM_POLICY_LRU)
		buffer = least_recently_used(policy);
	else
		buffer = policy->next = (policy->next + 1) % policy->n_buffers;
	adsm_policy_place(policy, id, buffer, ret_load);
	adsm_policy_use(policy, id, buffer);
}

void adsm_policy_return_load(struct adsm_policy *policy, uint32_t caller, uint32_t buffer,
			     struct adsm_policy_load *ret_load)
{
	adsm_policy_place(policy, caller, buffer, ret_load);
	adsm_policy_use(policy, caller, buffer);
}
