/* SPDX-License-Identifier: MIT */
/* spaces_divide.c - see spaces_divide.h. */
#include "spaces_divide.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <llvm-c/Support.h>
#include <llvm-c/Transforms/PassBuilder.h>

#include "spaces_flow.h"

static const char *name_of(LLVMValueRef value)
{
	size_t size;

	return LLVMGetValueName2(value, &size);
}

/* A function that the module contains, except those of the cache, which are always inlined. */
static bool is_own(LLVMValueRef function)
{
	return LLVMIsAFunction(function) && !LLVMIsDeclaration(function) &&
		strncmp(name_of(function), "adsm_store_", 11);
}

/* The number of @at in the array of @n functions; @n: it is not in it. */
static size_t place_of(LLVMValueRef *functions, size_t n, LLVMValueRef at)
{
	size_t i = 0;

	while (i < n && functions[i] != at)
		i++;
	return i;
}

/* All functions of the module that is_own(). */
static LLVMValueRef *list_functions(LLVMModuleRef module, size_t *ret_n)
{
	LLVMValueRef *functions = NULL;

	*ret_n = 0;
	for (LLVMValueRef at = LLVMGetFirstFunction(module); at; at = LLVMGetNextFunction(at))
		*ret_n += is_own(at);
	functions = spaces_array(*ret_n, sizeof(LLVMValueRef));
	*ret_n = 0;
	for (LLVMValueRef at = LLVMGetFirstFunction(module); at; at = LLVMGetNextFunction(at))
		if (is_own(at))
			functions[(*ret_n)++] = at;
	return functions;
}

/* Do @what for each call of an own function. */
static void each_call(const struct flow *flow,
		      void (*what)(void *context, LLVMValueRef called, unsigned depth), void *context)
{
	for (unsigned i = 0; i < flow->n; i++)
		for (LLVMValueRef at = LLVMGetFirstInstruction(flow->blocks[i]); at; at = LLVMGetNextInstruction(at))
			if (LLVMIsACallInst(at) && is_own(LLVMGetCalledValue(at)))
				what(context, LLVMGetCalledValue(at), flow->depth[i]);
}

/* ---- which functions are inlined */

#define SMALL 24			/* instructions of a function that is inlined */

struct reach {
	LLVMValueRef *functions;
	size_t n;
	bool *seen;
};

static void reach(struct reach *reach, LLVMValueRef function);

static void reach_called(void *context, LLVMValueRef called, unsigned depth)
{
	struct reach *all = context;
	const size_t i = place_of(all->functions, all->n, called);

	(void)depth;
	if (i < all->n && !all->seen[i]) {
		all->seen[i] = true;
		reach(all, called);
	}
}

static void reach(struct reach *all, LLVMValueRef function)
{
	const struct flow flow = flow_of(function);

	each_call(&flow, reach_called, all);
}

static bool is_recursive(LLVMValueRef *functions, size_t n, size_t i)
{
	struct reach all = { functions, n, spaces_array(n, sizeof(bool)) };

	reach(&all, functions[i]);
	return all.seen[i];
}

/* Such a function cannot be inlined. */
static bool is_not_optimised(LLVMValueRef function)
{
	return LLVMGetEnumAttributeAtIndex(function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
					   LLVMGetEnumAttributeKindForName("optnone", strlen("optnone")));
}

static double cost_of(const struct flow *flow)
{
	double cost = 0;

	for (unsigned i = 0; i < flow->n; i++)
		cost += flow->cost[i];
	return cost;
}

static void exchange_attribute(LLVMValueRef function, const char *old, const char *new)
{
	const unsigned from = LLVMGetEnumAttributeKindForName(old, strlen(old));
	const unsigned to = LLVMGetEnumAttributeKindForName(new, strlen(new));
	const LLVMAttributeIndex at = (LLVMAttributeIndex)LLVMAttributeFunctionIndex;

	LLVMRemoveEnumAttributeAtIndex(function, at, from);
	LLVMAddAttributeAtIndex(function, at,
				LLVMCreateEnumAttribute(LLVMGetModuleContext(LLVMGetGlobalParent(function)), to, 0));
}

void divide_inline_small(LLVMModuleRef module)
{
	size_t n;
	LLVMValueRef *functions = list_functions(module, &n);

	for (size_t i = 0; i < n; i++) {
		const struct flow flow = flow_of(functions[i]);
		const char *section = LLVMGetSection(functions[i]);
		const bool local = LLVMGetLinkage(functions[i]) == LLVMInternalLinkage && (!section || !*section);

		if (local && !is_not_optimised(functions[i]) &&
		    cost_of(&flow) <= SMALL && !is_recursive(functions, n, i))
			exchange_attribute(functions[i], "noinline", "alwaysinline");
	}
}

/* ---- blocks that are too large for a part of a function */

/* Can the block be divided before this instruction? */
static bool may_divide(LLVMValueRef at)
{
	LLVMValueRef before = LLVMGetPreviousInstruction(at);

	return before && !LLVMIsAPHINode(at) && !LLVMIsATerminatorInst(at) && !LLVMIsAAllocaInst(at) &&
		!LLVMIsAAllocaInst(before);
}

/* Move the instructions before @at to a new block, which gets all edges into the old one. */
static void divide_block(LLVMValueRef at)
{
	LLVMBasicBlockRef old = LLVMGetInstructionParent(at);
	LLVMContextRef context = LLVMGetModuleContext(LLVMGetGlobalParent(LLVMGetBasicBlockParent(old)));
	LLVMBasicBlockRef new = LLVMInsertBasicBlockInContext(context, old, "");
	LLVMBuilderRef builder = LLVMCreateBuilderInContext(context);
	LLVMValueRef end = LLVMGetBasicBlockTerminator(old), next;

	LLVMPositionBuilderAtEnd(builder, new);
	for (LLVMValueRef move = LLVMGetFirstInstruction(old); move != at; move = next) {
		next = LLVMGetNextInstruction(move);
		LLVMInstructionRemoveFromParent(move);
		LLVMInsertIntoBuilder(builder, move);
	}
	/* Without its terminator the block has no successors, whose phi nodes would be changed, too. */
	LLVMInstructionRemoveFromParent(end);
	LLVMReplaceAllUsesWith(LLVMBasicBlockAsValue(old), LLVMBasicBlockAsValue(new));
	LLVMPositionBuilderAtEnd(builder, old);
	LLVMInsertIntoBuilder(builder, end);
	LLVMPositionBuilderAtEnd(builder, new);
	LLVMBuildBr(builder, old);
	LLVMDisposeBuilder(builder);
}

/* Divide blocks of the function into pieces of @most instructions. */
static void divide_blocks(LLVMValueRef function, double most)
{
	LLVMBasicBlockRef next;

	for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(function); block; block = next) {
		double cost = 0;

		next = LLVMGetNextBasicBlock(block);
		for (LLVMValueRef at = LLVMGetFirstInstruction(block); at; at = LLVMGetNextInstruction(at)) {
			if (cost >= most && may_divide(at)) {
				divide_block(at);
				cost = 0;
			}
			cost += flow_cost(at);
		}
	}
}

/* ---- regions: blocks that are entered by one of them only, and become a function */

#define CALL 12				/* instructions that a call of such a function takes, about */
#define ROUNDS 8			/* how often a loop is assumed to run */

struct division {
	struct flow flow;
	bool *gone;			/* blocks that have become parts of other functions */
	double rest;			/* instructions of the blocks that have not */
	bool *region, *best;
};

/* Of the blocks that @head dominates, those that are entered by it or by each other only. */
static void find_region(struct division *division, unsigned head)
{
	const struct flow *flow = &division->flow;
	bool *in = division->region, changed = true;

	for (unsigned i = 0; i < flow->n; i++)
		in[i] = flow_dominates(flow, head, i) && !division->gone[i];
	while (changed) {
		changed = false;
		for (unsigned i = 0; i < flow->n_edges; i++) {
			const struct flow_edge *edge = &flow->edges[i];

			if (!in[edge->to] || in[edge->from] || edge->to == head)
				continue;
			in[edge->to] = false;
			changed = true;
		}
	}
}

/* Can the blocks be a function? Variables of the stack cannot. */
static bool is_valid(const struct division *division)
{
	for (unsigned i = 0; i < division->flow.n; i++)
		for (LLVMValueRef at = LLVMGetFirstInstruction(division->flow.blocks[i]); division->region[i] && at;
		     at = LLVMGetNextInstruction(at))
			if (LLVMIsAAllocaInst(at))
				return false;
	return true;
}

/* How much is gained: the region's instructions, less if it is called in loops. 0: it is too small or too large. */
static double gain(const struct division *division, unsigned head, double most)
{
	const struct flow *flow = &division->flow;
	unsigned depth = 0;
	double cost = 0;

	for (unsigned i = 0; i < flow->n; i++)
		cost += division->region[i] ? flow->cost[i] : 0;
	if (cost > most || cost < 2 * CALL || !is_valid(division))
		return 0;
	for (unsigned i = 0; i < flow->n_edges; i++)
		if (flow->edges[i].to == head && !division->region[flow->edges[i].from] &&
		    flow->depth[flow->edges[i].from] > depth)
			depth = flow->depth[flow->edges[i].from];
	for (; depth; depth--)
		cost /= ROUNDS;
	return cost;
}

/* Find the best region, and take it away. Returns its head; 0, the entry: there is none. */
static unsigned take_region(struct division *division, double most)
{
	const size_t size = division->flow.n * sizeof(bool);
	unsigned best = 0;
	double best_gain = 0;

	for (unsigned i = 1; i < division->flow.n; i++) {
		double its_gain;

		if (division->gone[i])
			continue;
		find_region(division, i);
		its_gain = gain(division, i, most);
		if (its_gain > best_gain) {
			best = i;
			best_gain = its_gain;
			memcpy(division->best, division->region, size);
		}
	}
	for (unsigned i = 0; best && i < division->flow.n; i++) {
		division->rest -= division->best[i] ? division->flow.cost[i] : 0;
		division->gone[i] |= division->best[i];
	}
	division->rest += CALL;
	return best;
}

static void write_region(const struct division *division, LLVMValueRef function, unsigned head, FILE *groups)
{
	fprintf(groups, "%s %s", name_of(function), LLVMGetBasicBlockName(division->flow.blocks[head]));
	for (unsigned i = 0; i < division->flow.n; i++)
		if (division->best[i] && i != head)
			fprintf(groups, ";%s", LLVMGetBasicBlockName(division->flow.blocks[i]));
	fputc('\n', groups);
}

/* Write the regions of @function that leave it and them at most @share of its instructions. */
static void divide_function(LLVMValueRef function, double share, FILE *groups)
{
	struct division division = { .flow = flow_of(function) };
	double most = cost_of(&division.flow) * share;
	unsigned head;

	divide_blocks(function, most / 4);
	division.flow = flow_of(function);
	division.rest = cost_of(&division.flow);
	division.gone = spaces_array(division.flow.n, sizeof(bool));
	division.region = spaces_array(division.flow.n, sizeof(bool));
	division.best = spaces_array(division.flow.n, sizeof(bool));
	for (unsigned i = 0; i < division.flow.n; i++) {
		char name[32];
		const int size = snprintf(name, sizeof(name), "part%u", i);

		LLVMSetValueName2(LLVMBasicBlockAsValue(division.flow.blocks[i]), name, (size_t)size);
	}
	while (division.rest > most && (head = take_region(&division, most)))
		write_region(&division, function, head, groups);
}

/* Apply "extract-blocks" to the groups of the file. */
static bool extract(LLVMModuleRef module, const char *groups, const char **ret_why)
{
	char option[4200];
	const char *const options[] = { "adsmcc-spaces", option };
	LLVMPassBuilderOptionsRef how = LLVMCreatePassBuilderOptions();
	LLVMErrorRef error;

	snprintf(option, sizeof(option), "-extract-blocks-file=%s", groups);
	LLVMParseCommandLineOptions(2, options, NULL);
	error = LLVMRunPasses(module, "extract-blocks", NULL, how);
	LLVMDisposePassBuilderOptions(how);
	*ret_why = error ? LLVMGetErrorMessage(error) : NULL;
	return !error;
}

bool divide_large(LLVMModuleRef module, const char *sizes, const char *groups, const char **ret_why)
{
	FILE *in = fopen(sizes, "r"), *out = fopen(groups, "w");
	char name[1024];
	double bytes, limit;
	bool any = false;

	*ret_why = in && out ? NULL : "cannot be opened";
	while (!*ret_why && fscanf(in, "%1023s %lf %lf", name, &bytes, &limit) == 3) {
		LLVMValueRef function = LLVMGetNamedFunction(module, name);

		if (function && !LLVMIsDeclaration(function)) {
			divide_function(function, limit / bytes, out);
			any = true;
		}
	}
	if (in)
		fclose(in);
	if (out && fclose(out))
		*ret_why = "cannot be written";
	return !*ret_why && (!any || extract(module, groups, ret_why));
}

/* ---- how often functions call each other */

struct calls {
	FILE *file;
	LLVMValueRef caller;
};

static void write_call(void *context, LLVMValueRef called, unsigned depth)
{
	const struct calls *calls = context;
	double n = 1;

	for (; depth; depth--)
		n *= ROUNDS;
	fprintf(calls->file, "%s %s %.0f\n", name_of(calls->caller), name_of(called), n);
}

bool divide_write_calls(LLVMModuleRef module, const char *path)
{
	struct calls calls = { .file = fopen(path, "w") };
	size_t n;
	LLVMValueRef *functions = list_functions(module, &n);

	for (size_t i = 0; calls.file && i < n; i++) {
		const struct flow flow = flow_of(functions[i]);

		calls.caller = functions[i];
		each_call(&flow, write_call, &calls);
	}
	return calls.file && !fclose(calls.file);
}
