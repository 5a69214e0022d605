/* SPDX-License-Identifier: MIT */
/* shape.c - see shape.h. */
#include "shape.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MOST_BLOCKS 2000
#define NONE UINT32_MAX

/* Edges, sorted by where they begin: those of a node are to[first[node]] to to[first[node + 1]]. */
struct edges {
	uint32_t *first, *to;
};

struct graph {
	uint32_t n;			/* nodes */
	struct edges next, previous;
	uint32_t *order, n_order;	/* what is reached, each node after all that it leads to, but by a way back */
	uint32_t *number;		/* by node: its index in order */
};

static void visit_edges(const struct adsm_ptx_blocks *blocks,
			void (*visit)(struct graph *graph, uint32_t from, uint32_t to), struct graph *graph)
{
	for (uint32_t i = 0; i < blocks->n; i++) {
		const struct adsm_ptx_block *block = &blocks->blocks[i];

		if (!block->reached)
			continue;
		for (uint32_t j = 0; j < block->n_next; j++)
			visit(graph, i, block->next[j]);
		if (block->end == ADSM_PTX_LEAVE)
			visit(graph, i, blocks->n);
	}
}

static void count_edge(struct graph *graph, uint32_t from, uint32_t to)
{
	graph->next.first[from + 1]++;
	graph->previous.first[to + 1]++;
}

/* first[node] is where the node's next edge goes; afterwards it is where the edges of the node after it begin. */
static void put_edge(struct graph *graph, uint32_t from, uint32_t to)
{
	graph->next.to[graph->next.first[from]++] = to;
	graph->previous.to[graph->previous.first[to]++] = from;
}

static void graph_finish(struct graph *graph)
{
	free(graph->next.first);
	free(graph->next.to);
	free(graph->previous.first);
	free(graph->previous.to);
	free(graph->order);
	free(graph->number);
}

static int graph_init(struct graph *graph, const struct adsm_ptx_blocks *blocks)
{
	const uint32_t n = blocks->n + 1;
	uint32_t edges;

	*graph = (struct graph){ .n = n };
	graph->next.first = calloc(n + 1, sizeof(uint32_t));
	graph->previous.first = calloc(n + 1, sizeof(uint32_t));
	graph->order = calloc(n, sizeof(uint32_t));
	graph->number = calloc(n, sizeof(uint32_t));
	if (!graph->next.first || !graph->previous.first || !graph->order || !graph->number)
		return -ENOMEM;
	visit_edges(blocks, count_edge, graph);
	for (uint32_t i = 0; i < n; i++) {
		graph->next.first[i + 1] += graph->next.first[i];
		graph->previous.first[i + 1] += graph->previous.first[i];
	}
	edges = graph->next.first[n];
	graph->next.to = calloc((size_t)edges + 1, sizeof(uint32_t));
	graph->previous.to = calloc((size_t)edges + 1, sizeof(uint32_t));
	if (!graph->next.to || !graph->previous.to)
		return -ENOMEM;
	visit_edges(blocks, put_edge, graph);
	memmove(graph->next.first + 1, graph->next.first, n * sizeof(uint32_t));
	memmove(graph->previous.first + 1, graph->previous.first, n * sizeof(uint32_t));
	graph->next.first[0] = graph->previous.first[0] = 0;
	return 0;
}

/* ---- What is on all ways ------------------------------------------------------------------ */

/* Find the order of the nodes that @root leads to. @work: room for two numbers for each node. */
static void find_order(struct graph *graph, const struct edges *next, uint32_t root, uint32_t *work)
{
	uint32_t *stack = work, *at = work + graph->n, depth = 1;

	memcpy(at, next->first, graph->n * sizeof(*at));
	memset(graph->number, 0xff, graph->n * sizeof(*graph->number));
	graph->n_order = 0;
	stack[0] = root;
	graph->number[root] = 0;
	while (depth) {
		const uint32_t node = stack[depth - 1];

		if (at[node] == next->first[node + 1]) {
			graph->number[node] = graph->n_order;
			graph->order[graph->n_order++] = node;
			depth--;
		} else {
			const uint32_t to = next->to[at[node]++];

			if (graph->number[to] != NONE)
				continue;
			graph->number[to] = 0;
			stack[depth++] = to;
		}
	}
}

static uint32_t meet(const struct graph *graph, const uint32_t *above, uint32_t a, uint32_t b)
{
	while (a != b) {
		while (graph->number[a] < graph->number[b])
			a = above[a];
		while (graph->number[b] < graph->number[a])
			b = above[b];
	}
	return a;
}

static void find_above(const struct graph *graph, const struct edges *previous, uint32_t root, uint32_t *above)
{
	bool changed = true;

	memset(above, 0xff, graph->n * sizeof(*above));
	above[root] = root;
	while (changed) {
		changed = false;
		for (uint32_t i = graph->n_order - 1; i-- > 0;) {
			const uint32_t node = graph->order[i];
			uint32_t found = NONE;

			for (uint32_t j = previous->first[node]; j < previous->first[node + 1]; j++) {
				const uint32_t from = previous->to[j];

				if (above[from] == NONE)
					continue;
				found = found == NONE ? from : meet(graph, above, from, found);
			}
			changed |= above[node] != found;
			above[node] = found;
		}
	}
}

/* Number the nodes so that each part of the tree has numbers that follow each other. @at: room for each node. */
static void number_tree(const struct graph *graph, struct adsm_ptx_tree *tree, uint32_t root, uint32_t *at)
{
	for (uint32_t i = 0; i < graph->n; i++)
		tree->size[i] = 1;
	for (uint32_t i = 0; i + 1 < graph->n_order; i++)
		tree->size[tree->above[graph->order[i]]] += tree->size[graph->order[i]];
	tree->from[root] = 0;
	at[root] = 1;
	for (uint32_t i = graph->n_order - 1; i-- > 0;) {
		const uint32_t node = graph->order[i], above = tree->above[node];

		tree->from[node] = at[above];
		at[above] += tree->size[node];
		at[node] = tree->from[node] + 1;
	}
}

static int find_tree(struct graph *graph, const struct edges *next, const struct edges *previous, uint32_t root,
		     struct adsm_ptx_tree *tree)
{
	uint32_t *work = calloc((size_t)graph->n * 2, sizeof(*work));

	tree->above = calloc(graph->n, sizeof(*tree->above));
	tree->from = calloc(graph->n, sizeof(*tree->from));
	tree->size = calloc(graph->n, sizeof(*tree->size));
	if (!work || !tree->above || !tree->from || !tree->size) {
		free(work);
		return -ENOMEM;
	}
	find_order(graph, next, root, work);
	find_above(graph, previous, root, tree->above);
	number_tree(graph, tree, root, work);
	free(work);
	return 0;
}

/* Is there a way back to a block that control need not pass? The order is that of the ways from block 0. */
static bool has_loop_with_two_entries(const struct graph *graph, const struct adsm_ptx_tree *before)
{
	for (uint32_t i = 0; i < graph->n; i++) {
		for (uint32_t j = graph->next.first[i]; j < graph->next.first[i + 1]; j++) {
			const uint32_t to = graph->next.to[j];

			if (graph->number[to] >= graph->number[i] && !adsm_ptx_is_above(before, to, i))
				return true;
		}
	}
	return false;
}

/* ---- Loops -------------------------------------------------------------------------------- */

/* Add the blocks from which control gets to a block without the header. @stack: room for all edges and nodes. */
static void add_blocks(const struct graph *graph, struct adsm_ptx_loop *loop, uint32_t block, uint32_t *stack)
{
	uint32_t n = 0;

	stack[n++] = block;
	while (n) {
		const uint32_t node = stack[--n];

		if (adsm_ptx_bit(loop->blocks, node))
			continue;
		adsm_ptx_set_bit(loop->blocks, node);
		loop->n++;
		for (uint32_t j = graph->previous.first[node]; j < graph->previous.first[node + 1]; j++) {
			if (!adsm_ptx_bit(loop->blocks, graph->previous.to[j]))
				stack[n++] = graph->previous.to[j];
		}
	}
}

static bool is_header(const struct adsm_ptx_shape *shape, const struct graph *graph, uint32_t node)
{
	for (uint32_t j = graph->previous.first[node]; j < graph->previous.first[node + 1]; j++) {
		if (adsm_ptx_is_above(&shape->before, node, graph->previous.to[j]))
			return true;
	}
	return false;
}

static int find_loop(struct adsm_ptx_shape *shape, const struct graph *graph, uint32_t header)
{
	struct adsm_ptx_loop *loop = &shape->loops[shape->n_loops];
	uint32_t *stack = calloc((size_t)graph->next.first[graph->n] + graph->n, sizeof(*stack));

	loop->blocks = calloc(graph->n / 64 + 1, sizeof(*loop->blocks));
	shape->n_loops++;
	if (!stack || !loop->blocks) {
		free(stack);
		return -ENOMEM;
	}
	loop->header = header;
	loop->n = 1;
	adsm_ptx_set_bit(loop->blocks, header);
	for (uint32_t j = graph->previous.first[header]; j < graph->previous.first[header + 1]; j++) {
		if (adsm_ptx_is_above(&shape->before, header, graph->previous.to[j]))
			add_blocks(graph, loop, graph->previous.to[j], stack);
	}
	free(stack);
	return 0;
}

/* The smallest loop that has a block, but not one that is as small as @than. */
static uint32_t smallest(const struct adsm_ptx_shape *shape, uint32_t block, uint32_t than)
{
	uint32_t found = ADSM_PTX_NO_LOOP;

	for (uint32_t i = 0; i < shape->n_loops; i++) {
		if (i != than && adsm_ptx_in_loop(shape, i, block) &&
		    (than == ADSM_PTX_NO_LOOP || shape->loops[i].n > shape->loops[than].n) &&
		    (found == ADSM_PTX_NO_LOOP || shape->loops[i].n < shape->loops[found].n))
			found = i;
	}
	return found;
}

static int find_loops(struct adsm_ptx_shape *shape, const struct graph *graph)
{
	int error = 0;

	shape->n_loops = 0;
	shape->loops = calloc(graph->n, sizeof(*shape->loops));
	shape->loop_of = calloc(graph->n, sizeof(*shape->loop_of));
	if (!shape->loops || !shape->loop_of)
		return -ENOMEM;
	for (uint32_t i = 0; !error && i + 1 < graph->n; i++) {
		if (is_header(shape, graph, i))
			error = find_loop(shape, graph, i);
	}
	for (uint32_t i = 0; !error && i + 1 < graph->n; i++)
		shape->loop_of[i] = smallest(shape, i, ADSM_PTX_NO_LOOP);
	for (uint32_t i = 0; !error && i < shape->n_loops; i++)
		shape->loops[i].outer = smallest(shape, shape->loops[i].header, i);
	return error;
}

bool adsm_ptx_shape_leads(const struct adsm_ptx_shape *shape, uint32_t loop, uint32_t from, uint32_t to)
{
	const struct adsm_ptx_block *blocks = shape->blocks->blocks;
	uint32_t n = 0;

	memset(shape->seen, 0, (shape->blocks->n / 64 + 1) * sizeof(*shape->seen));
	for (uint32_t j = 0; j < blocks[from].n_next; j++)
		shape->stack[n++] = blocks[from].next[j];
	while (n) {
		const uint32_t at = shape->stack[--n];

		if (at == shape->loops[loop].header || !adsm_ptx_in_loop(shape, loop, at) ||
		    adsm_ptx_bit(shape->seen, at))
			continue;
		if (at == to)
			return true;
		adsm_ptx_set_bit(shape->seen, at);
		for (uint32_t j = 0; j < blocks[at].n_next; j++)
			shape->stack[n++] = blocks[at].next[j];
	}
	return false;
}

/* ---- All of it ---------------------------------------------------------------------------- */

static int find_block_of(struct adsm_ptx_shape *shape)
{
	const struct adsm_ptx_blocks *blocks = shape->blocks;

	shape->block_of = calloc((size_t)blocks->function->n + 1, sizeof(*shape->block_of));
	if (!shape->block_of)
		return -ENOMEM;
	for (uint32_t i = 0; i < blocks->n; i++) {
		const struct adsm_ptx_block *block = &blocks->blocks[i];
		const bool own = block->by >= blocks->function->instructions &&
				 block->by < blocks->function->instructions + blocks->function->n;

		for (uint32_t j = 0; j < block->n + (block->by && own); j++)
			shape->block_of[block->first + j] = i;
	}
	return 0;
}

int adsm_ptx_shape_find(const struct adsm_ptx_blocks *blocks, struct adsm_ptx_shape *ret_shape)
{
	struct graph graph = { .n = 0 };
	size_t n_edges = 1;
	int error;

	*ret_shape = (struct adsm_ptx_shape){ .blocks = blocks };
	if (blocks->n > MOST_BLOCKS)
		return -E2BIG;
	for (uint32_t i = 0; i < blocks->n; i++)
		n_edges += blocks->blocks[i].n_next;
	ret_shape->stack = calloc(n_edges, sizeof(*ret_shape->stack));
	ret_shape->seen = calloc(blocks->n / 64 + 1, sizeof(*ret_shape->seen));
	if (!ret_shape->stack || !ret_shape->seen)
		return -ENOMEM;
	error = graph_init(&graph, blocks);
	if (!error)
		error = find_tree(&graph, &graph.next, &graph.previous, 0, &ret_shape->before);
	if (!error && has_loop_with_two_entries(&graph, &ret_shape->before))
		error = -E2BIG;
	if (!error)
		error = find_tree(&graph, &graph.previous, &graph.next, blocks->n, &ret_shape->after);
	if (!error)
		error = find_loops(ret_shape, &graph);
	if (!error)
		error = find_block_of(ret_shape);
	graph_finish(&graph);
	return error;
}

void adsm_ptx_shape_destroy(struct adsm_ptx_shape *shape)
{
	for (uint32_t i = 0; i < shape->n_loops; i++)
		free(shape->loops[i].blocks);
	free(shape->loops);
	free(shape->loop_of);
	free(shape->stack);
	free(shape->seen);
	free(shape->block_of);
	free(shape->before.above);
	free(shape->before.from);
	free(shape->before.size);
	free(shape->after.above);
	free(shape->after.from);
	free(shape->after.size);
	*shape = (struct adsm_ptx_shape){ 0 };
}
