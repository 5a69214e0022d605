/* SPDX-License-Identifier: MIT */
/*
 * test_policy.c - what the partition manager decides, against a model that is written as the paper says it (OPELL,
 * section 5): lifetimes that are counted down, ties in turn, a set of those that are waited for. The traces, and random
 * calls and returns; after each step both have the same partition in each sub-buffer, and none has one twice.
 */
#include "../check.h"
#include "traces.h"

#include "scratchpad/device/policy.h"

#define MAX_ID 20u
#define MAX_DEPTH 24

static uint64_t random_state = 42;

static uint32_t random_below(uint32_t n)
{
	uint64_t z = random_state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return (uint32_t)((z ^ z >> 31) >> 32) % n;
}

/* ---- the model */

static struct model {
	int n, lru, victims;
	uint32_t buffer[64];
	int life[64];
	int next, tie;
	bool waited_for[MAX_ID + 1];
	uint32_t victim, current;
	int at;
	uint64_t loads, moves, hits, saves;
} model;

static int model_find(uint32_t id)
{
	for (int i = 0; i < model.n; i++)
		if (model.buffer[i] == id)
			return i;
	return -1;
}

static int model_choose(void)
{
	int least = 0, tied = 0, chosen = 0;

	if (!model.lru)
		return model.next = (model.next + 1) % model.n;
	if (model_find(0) >= 0)
		return model_find(0);
	for (int i = 0; i < model.n; i++)
		least = model.life[i] < least ? model.life[i] : least;
	for (int i = 0; i < model.n; i++)
		tied += model.life[i] == least;
	chosen = tied > 1 ? ++model.tie % tied : 0;
	for (int i = 0; i < model.n; i++)
		if (model.life[i] == least && !chosen--)
			return i;
	FAIL("nothing is the least");
}

static void model_place(uint32_t id, int buffer)
{
	const uint32_t old = model.buffer[buffer];
	const bool save = old && old != id && model.victims && model.waited_for[old];

	if (model_find(id) >= 0) {
		model.buffer[model_find(id)] = 0;
		model.moves++;
	} else if (model.victims && model.victim == id) {
		model.victim = 0;
		model.hits++;
	} else {
		model.loads++;
	}
	if (save) {
		model.victim = old;
		model.saves++;
	}
	model.buffer[buffer] = id;
}

static void model_use(uint32_t id, int buffer)
{
	for (int i = 0; i < model.n; i++)
		model.life[i] -= i != buffer;
	model.life[buffer] = 0;
	model.current = id;
	model.at = buffer;
}

static void model_call(uint32_t id)
{
	int buffer;

	if (model.current)
		model.waited_for[model.current] = true;
	buffer = model_find(id);
	if (buffer < 0) {
		buffer = model_choose();
		model_place(id, buffer);
	}
	model_use(id, buffer);
}

static void model_return(uint32_t id, int buffer)
{
	model.current = 0;
	if (!id)
		return;
	model.waited_for[id] = false;
	if (model.buffer[buffer] != id)
		model_place(id, buffer);
	model_use(id, buffer);
}

/* ---- both, step by step */

static struct adsm_policy policy;
static uint8_t where[MAX_ID + 1];
static struct { uint64_t loads, moves, hits, saves; } done;
static struct { uint32_t id, buffer; } stack[MAX_DEPTH + 1];
static int depth;

static void start(uint32_t n, int lru, int victims)
{
	memset(&model, 0, sizeof(model));
	memset(&done, 0, sizeof(done));
	model.n = (int)n;
	model.lru = lru;
	model.victims = victims;
	model.next = model.tie = -1;
	depth = 0;
	adsm_policy_start(&policy, lru ? ADSM_POLICY_LRU : ADSM_POLICY_MODULUS, victims, n, MAX_ID, where);
}

static void account(const struct adsm_policy_load *load)
{
	done.loads += load->source == ADSM_POLICY_DMA;
	done.moves += load->source == ADSM_POLICY_MOVE;
	done.hits += load->source == ADSM_POLICY_VICTIM;
	done.saves += load->saved != 0;
	CHECK_EQ(policy.buffers[load->buffer].id, load->id);
}

static void compare(void)
{
	CHECK_EQ(policy.current, model.current);
	if (model.current)
		CHECK_EQ(policy.buffer, model.at);
	CHECK_EQ(policy.victim, model.victim);
	for (uint32_t i = 0; i < policy.n_buffers; i++)
		CHECK_AT(policy.buffers[i].id, i, model.buffer[i]);
	for (uint32_t id = 1; id <= MAX_ID; id++) {
		const int buffer = model_find(id);
		const enum adsm_policy_state state = buffer >= 0 ?
			(id == model.current ? ADSM_POLICY_ACTIVE : ADSM_POLICY_INACTIVE) :
			(model.waited_for[id] ? ADSM_POLICY_EWOR : ADSM_POLICY_EVICTED);

		CHECK_AT(where[id], id, buffer + 1);
		CHECK_AT(adsm_policy_state(&policy, id), id, state);
	}
	CHECK_EQ(done.loads, model.loads);
	CHECK_EQ(done.moves, model.moves);
	CHECK_EQ(done.hits, model.hits);
	CHECK_EQ(done.saves, model.saves);
}

static void step_call(uint32_t id)
{
	struct adsm_policy_load load;

	stack[depth].id = policy.current;
	stack[depth++].buffer = policy.buffer;
	if (!adsm_policy_call(&policy, id)) {
		adsm_policy_call_load(&policy, id, &load);
		account(&load);
	}
	model_call(id);
	compare();
}

static void step_return(void)
{
	struct adsm_policy_load load;

	depth--;
	if (!adsm_policy_return(&policy, stack[depth].id, stack[depth].buffer)) {
		adsm_policy_return_load(&policy, stack[depth].id, stack[depth].buffer, &load);
		account(&load);
	}
	model_return(stack[depth].id, (int)stack[depth].buffer);
	compare();
	/* A function that is returned to runs where it called. */
	if (stack[depth].id)
		CHECK_EQ(policy.buffers[stack[depth].buffer].id, stack[depth].id);
}

static void walk(const struct trace_node *node)
{
	for (uint32_t i = 0; i < node->times; i++) {
		for (uint32_t j = 0; j < node->n; j++) {
			step_call(node->calls[j]->who + 1);
			walk(node->calls[j]);
			step_return();
		}
	}
}

static void test_traces(void)
{
	for (size_t i = 0; i < N_TRACES; i++) {
		for (int column = 0; column < TRACE_COLUMNS; column++) {
			start(trace_columns[column].n_buffers, trace_columns[column].lru, trace_columns[column].victim);
			walk(traces[i].root);
			CHECKF(done.loads == traces[i].loads[column], "%s, column %d: %lu", traces[i].name, column,
			       (unsigned long)done.loads);
			/* With one sub-buffer it is the same by either policy. */
			if (trace_columns[column].n_buffers > 1)
				continue;
			start(1, 1, trace_columns[column].victim);
			walk(traces[i].root);
			CHECK_EQ(done.loads, traces[i].loads[column]);
		}
	}
}

/* Calls of few partitions, or of many; deep, or not; and in the midst the victim entry goes and comes. */
static void test_random(uint32_t n, int lru, int victims)
{
	const uint32_t ids = 2 + random_below(MAX_ID - 1), deep = 1 + random_below(MAX_DEPTH);

	start(n, lru, victims);
	for (int i = 0; i < 2000; i++) {
		const uint32_t what = random_below(1000);

		if (what < 3) {
			model.victims = victims && what < 2;
			model.victim = 0;
			adsm_policy_drop_victim(&policy, model.victims);
			compare();
		}
		if (!depth || (depth < (int)deep && what % 2))
			step_call(1 + random_below(ids));
		else
			step_return();
	}
	while (depth)
		step_return();
	adsm_policy_reset(&policy);
	for (uint32_t id = 1; id <= MAX_ID; id++)
		CHECK(adsm_policy_state(&policy, id) == (where[id] ? ADSM_POLICY_INACTIVE : ADSM_POLICY_EVICTED));
}

int main(void)
{
	test_traces();
	for (uint32_t n = 1; n <= 16; n *= 2)
		for (int which = 0; which < 4 * 25; which++)
			test_random(n, which & 1, which >> 1 & 1);
	return 0;
}
