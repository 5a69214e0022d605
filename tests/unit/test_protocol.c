/* SPDX-License-Identifier: MIT */
/* test_protocol.c - the tables of DESIGN.md section 1, row by row; their contract; queues; whom rolling sends early. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../check.h"
#include "protocols/list.h"
#include "protocols/states.h"

/* ---- the tables: what a block becomes, and what moves first: < to the host, > to the device */

static const char *const states[] = { "Invalid", "ReadOnly", "Dirty" };
static const char *const events[] = {
	"read", "write", "overwrite", "send", "call in", "call inout", "call out", "sync",
};

#define EVENTS 8
#define ROW(read, write, overwrite, send, in, inout, out, sync) \
	{ read, write, overwrite, send, in, inout, out, sync }

/* Columns as in enum adsm_block_event. */
static const char *const on_access[ADSM_N_STATES][EVENTS] = {
	[ADSM_INVALID]   = ROW("<R", "<D", "D", "I",  "I",  "I",  "I", "I"),
	[ADSM_READ_ONLY] = ROW("R",  "D",  "D", "R",  "R",  "I",  "I", "R"),
	[ADSM_DIRTY]     = ROW("D",  "D",  "D", ">R", ">R", ">I", "I", "D"),
};

/* Nothing is seen between the calls: every read could be a write, and the sync brings all back. */
static const char *const unseen[ADSM_N_STATES][EVENTS] = {
	[ADSM_INVALID]   = ROW("<D", "<D", "D", "I",  "I",  "I",  "I", "<D"),
	[ADSM_READ_ONLY] = ROW("R",  "D",  "D", "R",  "R",  "I",  "I", "D"),
	[ADSM_DIRTY]     = ROW("D",  "D",  "D", ">R", ">R", ">I", "I", "D"),
};

static void table(const struct adsm_protocol *protocol, const char *const wanted[ADSM_N_STATES][EVENTS])
{
	for (int state = 0; state < ADSM_N_STATES; state++)
		for (int event = 0; event < EVENTS; event++) {
			struct adsm_step step = protocol->steps[state][event];
			char got[3] = { 0 }, *p = got;

			if (step.transfer != ADSM_NO_TRANSFER)
				*p++ = step.transfer == ADSM_TO_HOST ? '<' : '>';
			CHECK(step.next < ADSM_N_STATES);
			*p = states[step.next][0];
			if (strcmp(got, wanted[state][event])) {
				fprintf(stderr, "%s: %s in %s gives %s, not %s\n", protocol->name, events[event],
					states[state], got, wanted[state][event]);
				exit(1);
			}
		}
}

static const struct adsm_protocol *const all[] = { ADSM_PROTOCOLS };

static void tables(void)
{
	CHECK(ADSM_N_EVENTS == EVENTS);
	table(&adsm_protocol_batch, unseen);
	table(&adsm_protocol_lazy, on_access);
	table(&adsm_protocol_rolling, on_access);

	CHECK(adsm_protocol_batch.initial == ADSM_DIRTY);
	CHECK(adsm_protocol_lazy.initial == ADSM_READ_ONLY && adsm_protocol_rolling.initial == ADSM_READ_ONLY);
	CHECK(adsm_protocol_batch.whole_object && adsm_protocol_lazy.whole_object);
	CHECK(!adsm_protocol_rolling.whole_object);
	CHECK(!adsm_protocol_detects(&adsm_protocol_batch) && adsm_protocol_detects(&adsm_protocol_lazy));
	CHECK(adsm_protocol_detects(&adsm_protocol_rolling));
	CHECK(!adsm_protocol_find("") && !adsm_protocol_find("Rolling") && !adsm_protocol_find("rollin"));
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		const struct adsm_protocol *protocol = all[i];

		CHECK(adsm_protocol_find(protocol->name) == protocol);
		CHECK(protocol->version == ADSM_PROTOCOL_VERSION && protocol->init && protocol->object &&
		      protocol->object_dirty && protocol->dirtied && protocol->cleaned && protocol->victim &&
		      protocol->window && protocol->touched && protocol->written && protocol->expected &&
		      protocol->synced);
		CHECK(!adsm_protocol_broken(protocol) && adsm_protocol_add(protocol) == -EEXIST);
	}
}

/* ---- the contract: one rule broken at a time */

static void breaks(struct adsm_protocol protocol, const char *wanted)
{
	const char *broken = adsm_protocol_broken(&protocol);

	if (!broken || strcmp(broken, wanted)) {
		fprintf(stderr, "found: %s; not: %s\n", broken, wanted);
		exit(1);
	}
	CHECK(adsm_protocol_add(&protocol) == -EINVAL);
}

#define BREAKS_OF(protocol, what, wanted) do { \
	struct adsm_protocol p = adsm_protocol_##protocol; \
	p.what; \
	breaks(p, wanted); \
} while (0)
#define BREAKS(what, wanted) BREAKS_OF(rolling, what, wanted)

static void contract(void)
{
	const struct adsm_step syncs_back = ADSM_STEP_AFTER(ADSM_DIRTY, ADSM_TO_HOST, ADSM_WAIT_USERS);
	const struct adsm_step reads_dirty = ADSM_STEP_AFTER(ADSM_READ_ONLY, ADSM_TO_DEVICE, ADSM_WAIT_NONE);
	const struct adsm_step stays = ADSM_STEP(ADSM_INVALID);
	struct adsm_protocol closed = adsm_protocol_rolling;

	BREAKS(version = 2, "it has another version");
	BREAKS(n_states = 5, "it has too many states, or its policy is too large");
	BREAKS(policy_size = ADSM_POLICY_SIZE + 1, "it has too many states, or its policy is too large");
	BREAKS(steps[ADSM_DIRTY][ADSM_EVENT_SYNC].next = 3, "a step has an invalid field");
	BREAKS(steps[ADSM_DIRTY][ADSM_EVENT_SEND].result = ADSM_RESULT_REFUSE,
	       "an event that is not an access of the CPU is refused");
	BREAKS(steps[ADSM_INVALID][ADSM_EVENT_WRITE].wait = ADSM_WAIT_WRITERS,
	       "a block becomes Dirty without a wait for the calls that use it");
	BREAKS(steps[ADSM_READ_ONLY][ADSM_EVENT_OVERWRITE].wait = ADSM_WAIT_NONE,
	       "a block becomes Dirty without a wait for the calls that use it");
	BREAKS(steps[ADSM_INVALID][ADSM_EVENT_READ].wait = ADSM_WAIT_NONE,
	       "a fetch does not wait for the calls that write the block");
	BREAKS(steps[ADSM_DIRTY][ADSM_EVENT_SYNC] = syncs_back,
	       "a fetch overwrites current bytes of the CPU");
	BREAKS(steps[ADSM_READ_ONLY][ADSM_EVENT_CALL_IN].transfer = ADSM_TO_DEVICE,
	       "a step sends bytes that are not newer than the device's");
	BREAKS(steps[ADSM_INVALID][ADSM_EVENT_WRITE].transfer = ADSM_NO_TRANSFER,
	       "missing bytes are not fetched");
	BREAKS(steps[ADSM_DIRTY][ADSM_EVENT_CALL_IN].transfer = ADSM_NO_TRANSFER,
	       "bytes that only the CPU has are lost");
	BREAKS(steps[ADSM_READ_ONLY][ADSM_EVENT_CALL_INOUT].next = ADSM_READ_ONLY,
	       "the state after a call that may write does not lack the bytes");
	BREAKS(steps[ADSM_DIRTY][ADSM_EVENT_READ] = reads_dirty,
	       "an access or a sync sends");
	BREAKS(steps[ADSM_READ_ONLY][ADSM_EVENT_CALL_IN].wait = ADSM_WAIT_WRITERS, "a call or a send waits");
	BREAKS(steps[ADSM_READ_ONLY][ADSM_EVENT_SYNC].wait = ADSM_WAIT_UNIT,
	       "a sync waits for calls that do not use the block");
	BREAKS(steps[ADSM_DIRTY][ADSM_EVENT_SEND].next = ADSM_INVALID, "after a send the bytes are not on both sides");
	BREAKS(steps[ADSM_READ_ONLY][ADSM_EVENT_SYNC].next = ADSM_INVALID,
	       "the next state does not permit the open view");
	BREAKS(initial = ADSM_INVALID, "its initial state does not permit reads");
	closed.initial = ADSM_DIRTY;
	closed.permits[ADSM_READ_ONLY] = ADSM_PERMIT_NONE;
	breaks(closed, "the state after a read does not permit reads");
	BREAKS_OF(batch, permits[ADSM_READ_ONLY] = ADSM_PERMIT_READ,
		  "the protocol detects accesses in some states only");
	BREAKS_OF(batch, steps[ADSM_INVALID][ADSM_EVENT_SYNC] = stays,
		  "a sync does not fetch, and the protocol does not detect accesses");
	BREAKS(permits[ADSM_INVALID] = ADSM_PERMIT_READ, "a state that lacks the current bytes permits accesses");
	BREAKS(permits[ADSM_READ_ONLY] = ADSM_PERMIT_WRITE, "a state that does not send permits writes");
	BREAKS(permits[ADSM_DIRTY] = ADSM_PERMIT_READ,
	       "the state after a write does not send, or does not permit writes");
}

/* ---- queues */

static void check_queue(const struct adsm_queue *queue, struct adsm_block *const *wanted, size_t n)
{
	struct adsm_block *block = queue->oldest;

	CHECK(queue->n == n);
	for (size_t i = 0; i < n; i++, block = block->newer) {
		CHECK(block == wanted[i]);
		CHECK(block->older == (i ? wanted[i - 1] : NULL));
	}
	CHECK(!block && queue->newest == (n ? wanted[n - 1] : NULL));
}

static void queues(void)
{
	struct adsm_block b[16] = { 0 }, *model[16] = { 0 };
	struct adsm_queue queue = { 0 };
	uint64_t seed = 1;
	size_t n = 0;

	check_queue(&queue, model, 0);
	for (int round = 0; round < 5000; round++) {
		struct adsm_block *block;
		size_t at = 0;

		seed = seed * 6364136223846793005u + 1442695040888963407u;
		block = &b[seed >> 60];
		while (at < n && model[at] != block)
			at++;
		if (at < n) {
			adsm_queue_remove(&queue, block);
			CHECK(!block->older && !block->newer);
			memmove(&model[at], &model[at + 1], (--n - at) * sizeof(model[0]));
		} else {
			adsm_queue_push(&queue, block);
			model[n++] = block;
		}
		check_queue(&queue, model, n);
	}
}

/* ---- rolling */

#define BLOCK ((size_t)65536)
static const struct adsm_protocol *const rolling = &adsm_protocol_rolling;
static struct adsm_policies policies;
static struct adsm_notes notes;

/* A fresh policy; as in the paper's mode but for what is given. */
static void *policy_with(unsigned rolling_size, size_t keep_bytes, size_t batch_bytes)
{
	adsm_protocol_options.rolling_size = rolling_size;
	adsm_protocol_options.fault_ahead = keep_bytes;
	adsm_protocol_options.evict_batch = batch_bytes ? batch_bytes : 1;
	adsm_policies_init(&policies);
	return adsm_policy_of(&policies, rolling);
}

static void dirty(void *policy, struct adsm_block *b, unsigned first, unsigned end)
{
	for (unsigned i = first; i < end; i++)
		rolling->dirtied(policy, &b[i], BLOCK);
}

/* The paper's: two blocks for each live object, from the first one above, oldest first. */
static void adaptive(void)
{
	void *policy = policy_with(ADSM_ROLLING_AUTO, 0, 0);
	struct adsm_block b[10] = { 0 };

	CHECK(rolling->window(policy) == SIZE_MAX);
	CHECK(!rolling->victim(policy, false) && !rolling->victim(policy, true));
	rolling->object(policy, &notes, 1);
	dirty(policy, b, 0, 2);
	CHECK(!rolling->victim(policy, false));
	dirty(policy, b, 2, 3);
	CHECK(rolling->victim(policy, false) == &b[0]);
	/* Each object allows two more; one that goes takes them back. */
	rolling->object(policy, &notes, 1);
	CHECK(!rolling->victim(policy, false));
	dirty(policy, b, 3, 5);
	CHECK(rolling->victim(policy, false) == &b[0]);
	rolling->cleaned(policy, &b[0], BLOCK);
	CHECK(!rolling->victim(policy, true));
	rolling->object(policy, &notes, -1);
	CHECK(rolling->victim(policy, true) == &b[1]);
	rolling->cleaned(policy, &b[2], BLOCK);	/* out of order: its object was called or freed */
	CHECK(rolling->victim(policy, false) == &b[1]);
	rolling->cleaned(policy, &b[1], BLOCK);
	CHECK(!rolling->victim(policy, false));
	/* A block that was sent and is written again is the newest. */
	dirty(policy, b, 1, 2);
	CHECK(rolling->victim(policy, false) == &b[3]);
}

static void fixed(void)
{
	void *policy = policy_with(3, 0, 0);
	struct adsm_block b[10] = { 0 };

	CHECK(rolling->window(policy) == 1);
	for (int i = 0; i < 5; i++)
		rolling->object(policy, &notes, 1);
	dirty(policy, b, 0, 3);
	CHECK(!rolling->victim(policy, false));
	dirty(policy, b, 3, 4);
	CHECK(rolling->victim(policy, false) == &b[0]);
	for (int i = 0; i < 5; i++)
		rolling->object(policy, &notes, -1);
	CHECK(rolling->victim(policy, false) == &b[0]);
	rolling->cleaned(policy, &b[0], BLOCK);
	CHECK(!rolling->victim(policy, false));
}

/* Held blocks stay, whatever their age. */
static void holds(void)
{
	void *policy = policy_with(1, 0, 0);
	struct adsm_block b[4] = { 0 };

	dirty(policy, b, 0, 4);
	b[0].holds = 1;
	CHECK(rolling->victim(policy, false) == &b[1]);
	b[1].holds = 2;
	b[3].holds = 1;
	CHECK(rolling->victim(policy, true) == &b[2]);
	b[2].holds = 1;
	CHECK(!rolling->victim(policy, true) && !rolling->victim(policy, false));
	b[0].holds = 0;
	CHECK(rolling->victim(policy, false) == &b[0]);
}

/* Batches: begun when that amount above the floor is Dirty, ended at the floor; at most 8 for each object that is being
 * written. */
static void floors(void)
{
	void *policy = policy_with(ADSM_ROLLING_AUTO, 6 * BLOCK, 2 * BLOCK);
	struct adsm_block b[64] = { 0 };

	rolling->object(policy, &notes, 1);
	rolling->object_dirty(policy, 1);
	dirty(policy, b, 0, 7);
	CHECK(!rolling->victim(policy, false) && rolling->victim(policy, true) == &b[0]);
	dirty(policy, b, 7, 8);
	CHECK(rolling->victim(policy, false) == &b[0]);
	for (int i = 0; i < 2; i++)
		rolling->cleaned(policy, &b[i], BLOCK);
	CHECK(!rolling->victim(policy, true) && !rolling->victim(policy, false));
	/* 20 objects: a floor of 8 times 6 blocks. */
	for (int i = 0; i < 19; i++)
		rolling->object_dirty(policy, 1);
	dirty(policy, b, 8, 50);
	CHECK(!rolling->victim(policy, true));
	dirty(policy, b, 50, 51);
	CHECK(rolling->victim(policy, true) == &b[2] && !rolling->victim(policy, false));
	dirty(policy, b, 51, 52);
	CHECK(rolling->victim(policy, false) == &b[2]);
	/* Five: of 30. */
	for (int i = 0; i < 15; i++)
		rolling->object_dirty(policy, -1);
	for (int i = 2; i < 21; i++)
		rolling->cleaned(policy, &b[i], BLOCK);
	CHECK(rolling->victim(policy, true) && !rolling->victim(policy, false));
	rolling->cleaned(policy, &b[21], BLOCK);
	CHECK(!rolling->victim(policy, true));
}

/* However low the floor, two blocks for each object stay. */
static void floor_below_limit(void)
{
	void *policy = policy_with(ADSM_ROLLING_AUTO, BLOCK, 2 * BLOCK);
	struct adsm_block b[64] = { 0 };

	for (int i = 0; i < 20; i++)
		rolling->object(policy, &notes, 1);
	dirty(policy, b, 0, 40);
	CHECK(!rolling->victim(policy, true) && !rolling->victim(policy, false));
	dirty(policy, b, 40, 41);
	CHECK(rolling->victim(policy, true) == &b[0] && rolling->victim(policy, false) == &b[0]);
}

/* Any protocol's victim will do; those without a policy have none and keep none. */
static void others(void)
{
	struct adsm_policies before;
	struct adsm_block b[2] = { 0 };

	policy_with(1, 0, 0);
	before = policies;
	for (int i = 0; i < 2; i++) {
		const struct adsm_protocol *protocol = i ? &adsm_protocol_lazy : &adsm_protocol_batch;
		void *policy = adsm_policy_of(&policies, protocol);

		protocol->object(policy, &notes, 1);
		protocol->dirtied(policy, &b[0], BLOCK);
		protocol->dirtied(policy, &b[1], BLOCK);
		CHECK(!protocol->victim(policy, true) && protocol->window(policy) == SIZE_MAX);
		protocol->cleaned(policy, &b[0], BLOCK);
		protocol->object(policy, &notes, -1);
		CHECK(!memcmp(&policies, &before, sizeof(policies)));
	}
	CHECK(!adsm_policy_victim(&policies, true));
	dirty(adsm_policy_of(&policies, rolling), b, 0, 2);
	CHECK(adsm_policy_victim(&policies, false) == &b[0]);
}

/* ---- what is read first after each call */

/* A call that may write the object, its sync, and the first access after it, where that faults. Is @b expected? */
static bool expects(void *policy, struct adsm_block *b, bool write, unsigned view)
{
	struct adsm_block *expected = rolling->expected(&notes);
	uint8_t got = ADSM_PERMIT_NONE;

	rolling->written(policy, &notes, true);
	CHECK(rolling->synced(policy, &got) == expected && got == view);
	CHECK(!expected || !rolling->synced(policy, &got));
	if (view == ADSM_PERMIT_NONE)
		rolling->touched(&notes, b, false);
	if (write && view != ADSM_PERMIT_WRITE)
		rolling->touched(&notes, b, true);
	return expected == b;
}

static void expected(void)
{
	void *policy = policy_with(ADSM_ROLLING_AUTO, 0, 0);
	struct adsm_block b = { 0 };
	uint8_t view;

	rolling->object(policy, &notes, 1);
	/* Three times in a row; the next time a fault tells whether that was right. */
	for (int i = 0; i < 4; i++)
		CHECK(!expects(policy, &b, false, ADSM_PERMIT_NONE) || i == 3);
	/* Then it is trusted for a while, and asked again. */
	for (int turn = 0; turn < 2; turn++) {
		for (int i = 0; i < 15; i++)
			CHECK(expects(policy, &b, true, turn || i > 1 ? ADSM_PERMIT_WRITE : ADSM_PERMIT_READ));
		CHECK(expects(policy, &b, true, ADSM_PERMIT_NONE));
	}
	/* A call that may write anything, an object that goes: nothing is fetched. */
	rolling->written(policy, &notes, true);
	rolling->written(policy, NULL, false);
	CHECK(!rolling->synced(policy, &view));
	rolling->touched(&notes, &b, false);
	rolling->written(policy, &notes, true);
	rolling->object(policy, &notes, -1);
	CHECK(!adsm_policy_synced(&policies, &view));
}

int main(void)
{
	tables();
	contract();
	queues();
	adaptive();
	fixed();
	holds();
	floors();
	floor_below_limit();
	others();
	expected();
	return 0;
}
