/* SPDX-License-Identifier: MIT */
/* protocol.c - what each protocol must keep, queues of blocks, the policy of those that have none. */
#include "protocol.h"

/* ---- the contract */

static const char *broken_state(const struct adsm_protocol *p, uint8_t state)
{
	const struct adsm_step *steps = p->steps[state];
	bool sends = steps[ADSM_EVENT_SEND].transfer == ADSM_TO_DEVICE;
	bool lacks = steps[ADSM_EVENT_READ].transfer == ADSM_TO_HOST;

	if (sends && lacks)
		return "a state that lacks the current bytes sends";
	if (adsm_protocol_detects(p) && lacks && p->permits[state] != ADSM_PERMIT_NONE)
		return "a state that lacks the current bytes permits accesses";
	if (adsm_protocol_detects(p) && !sends && p->permits[state] == ADSM_PERMIT_WRITE)
		return "a state that does not send permits writes";
	if (adsm_protocol_detects(p) && p->permits[steps[ADSM_EVENT_READ].next] == ADSM_PERMIT_NONE)
		return "the state after a read does not permit reads";
	if (!adsm_protocol_detects(p) && p->permits[state] != ADSM_PERMIT_WRITE)
		return "the protocol detects accesses in some states only";
	if (!adsm_protocol_detects(p) && lacks && steps[ADSM_EVENT_SYNC].transfer != ADSM_TO_HOST)
		return "a sync does not fetch, and the protocol does not detect accesses";
	if (p->steps[steps[ADSM_EVENT_WRITE].next][ADSM_EVENT_SEND].transfer != ADSM_TO_DEVICE ||
	    p->permits[steps[ADSM_EVENT_WRITE].next] != ADSM_PERMIT_WRITE)
		return "the state after a write does not send, or does not permit writes";
	if (p->steps[steps[ADSM_EVENT_CALL_OUT].next][ADSM_EVENT_READ].transfer != ADSM_TO_HOST)
		return "the state after a call that writes does not fetch";
	return NULL;
}

static const char *broken_step(const struct adsm_protocol *p, uint8_t state, unsigned event)
{
	struct adsm_step step = p->steps[state][event];
	bool cpu = event <= ADSM_EVENT_OVERWRITE, sends, sent, lacks, lacked;

	if (step.next >= p->n_states || step.transfer > ADSM_TO_DEVICE || step.wait > ADSM_WAIT_UNIT ||
	    step.result > ADSM_RESULT_REFUSE)
		return "a step has an invalid field";
	sent = p->steps[state][ADSM_EVENT_SEND].transfer == ADSM_TO_DEVICE;
	lacked = p->steps[state][ADSM_EVENT_READ].transfer == ADSM_TO_HOST;
	sends = p->steps[step.next][ADSM_EVENT_SEND].transfer == ADSM_TO_DEVICE;
	lacks = p->steps[step.next][ADSM_EVENT_READ].transfer == ADSM_TO_HOST;
	if (step.result == ADSM_RESULT_REFUSE && !cpu)
		return "an event that is not an access of the CPU is refused";
	if (step.wait != ADSM_WAIT_NONE && !cpu && event != ADSM_EVENT_SYNC)
		return "a call or a send waits";
	if (step.wait == ADSM_WAIT_UNIT && event == ADSM_EVENT_SYNC)
		return "a sync waits for calls that do not use the block";
	if (sends && !sent && step.wait < ADSM_WAIT_USERS)
		return "a block becomes Dirty without a wait for the calls that use it";
	if (step.transfer == ADSM_TO_HOST && step.wait < ADSM_WAIT_WRITERS)
		return "a fetch does not wait for the calls that write the block";
	if (step.transfer == ADSM_TO_HOST && !lacked)
		return "a fetch overwrites current bytes of the CPU";
	if (step.transfer == ADSM_TO_DEVICE && !sent)
		return "a step sends bytes that are not newer than the device's";
	if (lacked && !lacks && step.transfer != ADSM_TO_HOST && event != ADSM_EVENT_OVERWRITE)
		return "missing bytes are not fetched";
	if (sent && !sends && step.transfer != ADSM_TO_DEVICE && event != ADSM_EVENT_CALL_OUT)
		return "bytes that only the CPU has are lost";
	if ((event == ADSM_EVENT_CALL_INOUT || event == ADSM_EVENT_CALL_OUT) && !lacks)
		return "the state after a call that may write does not lack the bytes";
	if ((cpu || event == ADSM_EVENT_SYNC) && step.transfer == ADSM_TO_DEVICE)
		return "an access or a sync sends";
	if (event == ADSM_EVENT_SEND && sent && (sends || lacks))
		return "after a send the bytes are not on both sides";
	/* Only before sends, and before calls that may write, are views closed. */
	if ((cpu || event == ADSM_EVENT_CALL_IN || event == ADSM_EVENT_SYNC) && step.transfer != ADSM_TO_DEVICE &&
	    p->permits[step.next] < p->permits[state])
		return "the next state does not permit the open view";
	return NULL;
}

const char *adsm_protocol_broken(const struct adsm_protocol *protocol)
{
	const char *broken = NULL;

	if (protocol->version != ADSM_PROTOCOL_VERSION)
		return "it has another version";
	if (protocol->n_states > ADSM_STATES_MAX || protocol->initial >= protocol->n_states ||
	    protocol->policy_size > ADSM_POLICY_SIZE)
		return "it has too many states, or its policy is too large";
	if (protocol->permits[protocol->initial] == ADSM_PERMIT_NONE)
		return "its initial state does not permit reads";
	for (uint8_t state = 0; state < protocol->n_states; state++)
		for (unsigned event = 0; event < ADSM_N_EVENTS && !broken; event++)
			broken = broken_step(protocol, state, event);
	for (uint8_t state = 0; state < protocol->n_states && !broken; state++)
		broken = broken_state(protocol, state);
	return broken;
}

/* ---- for policies */

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

void adsm_policy_no_init(void *policy)
{
}

void adsm_policy_no_object(void *policy, struct adsm_notes *notes, int change)
{
}

void adsm_policy_no_object_dirty(void *policy, int change)
{
}

void adsm_policy_no_block(void *policy, struct adsm_block *block, size_t size)
{
}

struct adsm_block *adsm_policy_no_victim(const void *policy, bool started)
{
	return NULL;
}

size_t adsm_policy_no_window(const void *policy)
{
	return SIZE_MAX;
}

void adsm_policy_no_touched(struct adsm_notes *notes, struct adsm_block *block, bool write)
{
}

void adsm_policy_no_written(void *policy, struct adsm_notes *notes, bool told)
{
}

struct adsm_block *adsm_policy_no_expected(const struct adsm_notes *notes)
{
	return NULL;
}

struct adsm_block *adsm_policy_no_synced(void *policy, uint8_t *ret_view)
{
	return NULL;
}
