/* SPDX-License-Identifier: MIT */
/* spaces_flow.c - see spaces_flow.h. */
#include "spaces_flow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *spaces_array(size_t n, size_t size)
{
	void *p = calloc(n + 1, size);

	if (!p) {
		fprintf(stderr, "adsmcc-spaces: not enough memory\n");
		exit(1);
	}
	return p;
}

/* Accesses to device memory become a search in the cache; functions of the store are the same. */
#define ACCESS 12

static bool is_far(LLVMValueRef value)
{
	LLVMTypeRef type = LLVMTypeOf(value);

	return LLVMGetTypeKind(type) == LLVMPointerTypeKind && LLVMGetPointerAddressSpace(type);
}

static double cost_of_call(LLVMValueRef call)
{
	LLVMValueRef called = LLVMGetCalledValue(call);
	size_t size;
	const char *name = LLVMIsAFunction(called) ? LLVMGetValueName2(called, &size) : "";

	if (!strncmp(name, "llvm.dbg.", 9) || !strncmp(name, "llvm.lifetime.", 14))
		return 0;
	return strncmp(name, "adsm_store_", 11) ? 1 + LLVMGetNumArgOperands(call) : ACCESS;
}

double flow_cost(LLVMValueRef instruction)
{
	switch (LLVMGetInstructionOpcode(instruction)) {
	case LLVMLoad:
		return is_far(LLVMGetOperand(instruction, 0)) ? ACCESS : 1;
	case LLVMStore:
		return is_far(LLVMGetOperand(instruction, 1)) ? ACCESS : 1;
	case LLVMCall:
		return cost_of_call(instruction);
	case LLVMSwitch:
		return LLVMGetNumOperands(instruction);
	case LLVMBitCast: case LLVMPtrToInt: case LLVMIntToPtr: case LLVMAlloca:
		return 0;
	default:
		return 1;
	}
}

static unsigned index_of(const struct flow *flow, LLVMBasicBlockRef block)
{
	unsigned i = 0;

	while (i < flow->n && flow->blocks[i] != block)
		i++;
	return i;
}

static void find_edges(struct flow *flow)
{
	unsigned most = 0;

	for (unsigned i = 0; i < flow->n; i++)
		most += LLVMGetNumSuccessors(LLVMGetBasicBlockTerminator(flow->blocks[i]));
	flow->edges = spaces_array(most, sizeof(*flow->edges));
	for (unsigned i = 0; i < flow->n; i++) {
		LLVMValueRef end = LLVMGetBasicBlockTerminator(flow->blocks[i]);

		for (unsigned k = 0; k < LLVMGetNumSuccessors(end); k++)
			flow->edges[flow->n_edges++] =
				(struct flow_edge){ i, index_of(flow, LLVMGetSuccessor(end, k)) };
	}
}

/* All blocks dominate a block at first, except the entry. Each edge into a block then removes those that do not
 * dominate its beginning, until nothing changes. */
static void find_dominators(struct flow *flow)
{
	bool changed = true;

	flow->words = (flow->n + 63) / 64;
	flow->dominators = spaces_array((size_t)flow->n * flow->words, sizeof(uint64_t));
	memset(flow->dominators, 0xff, (size_t)flow->n * flow->words * sizeof(uint64_t));
	memset(flow->dominators, 0, flow->words * sizeof(uint64_t));
	flow->dominators[0] = 1;
	while (changed) {
		changed = false;
		for (unsigned i = 0; i < flow->n_edges; i++) {
			const unsigned to = flow->edges[i].to;
			const uint64_t *from = flow->dominators + (size_t)flow->edges[i].from * flow->words;
			uint64_t *row = flow->dominators + (size_t)to * flow->words;

			for (unsigned k = 0; k < flow->words; k++) {
				const uint64_t own = to / 64 == k ? UINT64_C(1) << to % 64 : 0;

				changed |= (row[k] & (from[k] | own)) != row[k];
				row[k] &= from[k] | own;
			}
		}
	}
}

bool flow_dominates(const struct flow *flow, unsigned one, unsigned other)
{
	return flow->dominators[(size_t)other * flow->words + one / 64] >> one % 64 & 1;
}

/* The loop of @head: the blocks from which an edge back to it is reached without passing it. */
static void mark_loop(struct flow *flow, unsigned head)
{
	bool *in = spaces_array(flow->n, sizeof(bool)), changed = false;

	for (unsigned i = 0; i < flow->n_edges; i++)
		if (flow->edges[i].to == head && flow_dominates(flow, head, flow->edges[i].from))
			in[flow->edges[i].from] = in[head] = changed = true;
	while (changed) {
		changed = false;
		for (unsigned i = 0; i < flow->n_edges; i++) {
			const struct flow_edge *edge = &flow->edges[i];

			if (edge->to != head && in[edge->to] && !in[edge->from])
				in[edge->from] = changed = true;
		}
	}
	for (unsigned i = 0; i < flow->n; i++)
		flow->depth[i] += in[i];
	free(in);
}

struct flow flow_of(LLVMValueRef function)
{
	struct flow flow = { .n = LLVMCountBasicBlocks(function) };

	flow.blocks = spaces_array(flow.n, sizeof(*flow.blocks));
	flow.depth = spaces_array(flow.n, sizeof(*flow.depth));
	flow.cost = spaces_array(flow.n, sizeof(*flow.cost));
	LLVMGetBasicBlocks(function, flow.blocks);
	find_edges(&flow);
	find_dominators(&flow);
	for (unsigned i = 0; i < flow.n; i++) {
		mark_loop(&flow, i);
		for (LLVMValueRef at = LLVMGetFirstInstruction(flow.blocks[i]); at; at = LLVMGetNextInstruction(at))
			flow.cost[i] += flow_cost(at);
	}
	return flow;
}
