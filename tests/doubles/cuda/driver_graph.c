/* SPDX-License-Identifier: MIT */
/* driver_graph.c - graphs that a program makes itself, of kernels: one comes after the other, whatever it names. */
#include "driver_own.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct params {
	CUfunction function;
	unsigned grid[3], block[3], shared;
	void **params, **extra;
	CUkernel kernel;		/* instead: from the second version on */
	CUcontext context;
};
#define PARAMS offsetof(struct params, kernel)
#define PARAMS_V2 sizeof(struct params)

struct CUgraphNode_st {
	struct CUgraph_st *graph;
	size_t i;
	struct params params;
};

static CUresult create(struct CUgraph_st **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : CUDA_ERROR_OUT_OF_MEMORY;
}

/* What the arguments are when the graph is told of them, they stay. */
static CUresult read_params(struct context *ctx, struct params *params, const void *given, size_t size,
			    struct op *ret_op)
{
	if (!given)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(memset(params, 0, sizeof(*params)), given, size);
	return module_launch(ctx, params->function ? params->function : (CUfunction)params->kernel, params->grid,
			     params->block, params->shared, params->params, params->extra, ret_op);
}

static CUresult add(struct context *ctx, struct CUgraphNode_st **ret, struct CUgraph_st *graph,
		    struct CUgraphNode_st *const *after, size_t n, const void *given, size_t size)
{
	struct CUgraphNode_st *node = calloc(1, sizeof(*node));
	CUresult error;
	struct op op;

	for (size_t i = 0; i < n; i++) {
		if (after[i]->graph != graph)
			return CUDA_ERROR_INVALID_VALUE;
	}
	error = read_params(ctx, &node->params, given, size, &op);
	if (!error)
		error = graph_append(graph, op);
	if (error) {
		free(node);
		return error;
	}
	node->graph = graph;
	node->i = graph->n - 1;
	*ret = node;
	return 0;
}

static CUresult set(struct context *ctx, struct CUgraphNode_st *node, const void *given, size_t size)
{
	struct op op;
	CUresult error = read_params(ctx, &node->params, given, size, &op);

	if (error)
		return error;
	free(node->graph->ops[node->i].data);
	node->graph->ops[node->i] = op;
	return 0;
}

CU_IN(cuGraphCreate, (CUgraph *ret, unsigned flags), create(ret))
CU_IN(cuGraphAddKernelNode, (CUgraphNode *ret, CUgraph graph, const CUgraphNode *after, size_t n, const void *params),
      add(ctx, ret, graph, after, n, params, PARAMS))
CU_IN(cuGraphAddKernelNode_v2, (CUgraphNode *ret, CUgraph graph, const CUgraphNode *after, size_t n,
				const void *params),
      add(ctx, ret, graph, after, n, params, PARAMS_V2))
CU_IN(cuGraphKernelNodeGetParams, (CUgraphNode node, void *params), (memcpy(params, &node->params, PARAMS), 0))
CU_IN(cuGraphKernelNodeGetParams_v2, (CUgraphNode node, void *params), (memcpy(params, &node->params, PARAMS_V2), 0))
CU_IN(cuGraphKernelNodeSetParams, (CUgraphNode node, const void *params), set(ctx, node, params, PARAMS))
CU_IN(cuGraphKernelNodeSetParams_v2, (CUgraphNode node, const void *params), set(ctx, node, params, PARAMS_V2))
