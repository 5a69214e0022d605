/* SPDX-License-Identifier: MIT */
/* protocol.c - the list of protocols, queues of blocks, and the policy of those that have none. */
#include <string.h>

#include "protocol.h"

static const struct adsm_protocol *const all[] = {
	&adsm_protocol_batch, &adsm_protocol_lazy, &adsm_protocol_rolling,
};

#define N_PROTOCOLS (sizeof(all) / sizeof(all[0]))

const struct adsm_protocol *adsm_protocol_find(const char *name)
{
	for (size_t i = 0; i < N_PROTOCOLS; i++)
		if (!strcmp(name, all[i]->name))
			return all[i];
	return NULL;
}

struct adsm_block *adsm_policy_victim(const struct adsm_policy *policy, bool started)
{
	struct adsm_block *block = NULL;

	for (size_t i = 0; i < N_PROTOCOLS && !block; i++)
		block = all[i]->victim(policy, started);
	return block;
}

void adsm_queue_push(struct adsm_queue *queue, struct adsm_block *block)
{
	block->older = queue->newest;
	block->newer = NULL;
	if (queue->newest)
		queue->newest->newer = block;
	else
		queue->oldest = block;
	queue->newest = block;
	queue->n++;
}

void adsm_queue_remove(struct adsm_queue *queue, struct adsm_block *block)
{
	if (block->older)
		block->older->newer = block->newer;
	else
		queue->oldest = block->newer;
	if (block->newer)
		block->newer->older = block->older;
	else
		queue->newest = block->older;
	block->older = block->newer = NULL;
	queue->n--;
}

void adsm_policy_no_object(struct adsm_policy *policy, int change)
{
}

void adsm_policy_no_block(struct adsm_policy *policy, struct adsm_block *block, size_t size)
{
}

struct adsm_block *adsm_policy_no_victim(const struct adsm_policy *policy, bool started)
{
	return NULL;
}
