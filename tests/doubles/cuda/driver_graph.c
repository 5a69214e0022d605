/* SPDX-License-Identifier: MIT */
/* driver_graph.c - graphs: lines of commands, which captures give, or a program makes itself, of kernels. */
#include "driver_own.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* ---- lines of commands */

struct CUgraphExec_st {
	struct CUgraph_st graph;
};

CUresult graph_append(struct CUgraph_st *graph, struct op template)
{
	if (graph->broken) {
		free(template.data);
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	}
	if (graph->n == graph->max) {
		size_t max = graph->max ? 2 * graph->max : 16;
		struct op *more = realloc(graph->ops, max * sizeof(*more));

		if (!more) {
			free(template.data);
			return CUDA_ERROR_OUT_OF_MEMORY;
		}
		graph->ops = more;
		graph->max = max;
	}
	graph->ops[graph->n++] = template;
	return 0;
}

void graph_free(struct CUgraph_st *graph)
{
	for (size_t i = 0; i < graph->n; i++)
		free(graph->ops[i].data);
	free(graph->ops);
	graph->ops = NULL;
	graph->n = 0;
}

static CUresult graph_copy(struct CUgraphExec_st **ret, const struct CUgraph_st *graph)
{
	struct CUgraphExec_st *exec;

	if (!graph || !ret)
		return CUDA_ERROR_INVALID_VALUE;
	exec = calloc(1, sizeof(*exec));
	if (!exec)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (size_t i = 0; i < graph->n; i++) {
		struct op op = graph->ops[i];

		if (op.data) {
			op.data = malloc(op.data_size);
			if (op.data)
				memcpy(op.data, graph->ops[i].data, op.data_size);
		}
		graph_append(&exec->graph, op);
	}
	*ret = exec;
	return 0;
}

static CUresult graph_launch(struct context *ctx, struct CUgraphExec_st *exec, CUstream stream, bool per_thread)
{
	CUresult error = exec ? 0 : CUDA_ERROR_INVALID_VALUE;

	for (size_t i = 0; !error && i < exec->graph.n; i++) {
		struct op op = exec->graph.ops[i];

		if (op.data) {
			op.data = malloc(op.data_size);
			if (!op.data)
				return CUDA_ERROR_OUT_OF_MEMORY;
			memcpy(op.data, exec->graph.ops[i].data, op.data_size);
		}
		error = stream_submit(ctx, stream, per_thread, op, false);
	}
	return error;
}

static CUresult graph_destroy(struct CUgraph_st *graph)
{
	if (!graph)
		return CUDA_ERROR_INVALID_VALUE;
	graph_free(graph);
	free(graph);
	return 0;
}

static CUresult exec_destroy(struct CUgraphExec_st *exec)
{
	if (!exec)
		return CUDA_ERROR_INVALID_VALUE;
	graph_free(&exec->graph);
	free(exec);
	return 0;
}

CU_IN(cuGraphInstantiate, (CUgraphExec *ret, CUgraph graph, void *node, char *text, size_t size),
      graph_copy(ret, graph))
CU_IN(cuGraphInstantiate_v2, (CUgraphExec *ret, CUgraph graph, void *node, char *text, size_t size),
      graph_copy(ret, graph))
CU_IN(cuGraphInstantiateWithFlags, (CUgraphExec *ret, CUgraph graph, unsigned long long flags),
      graph_copy(ret, graph))
CU_TWO(cuGraphInstantiateWithParams, _ptsz, (CUgraphExec *ret, CUgraph graph,
					     CUDA_GRAPH_INSTANTIATE_PARAMS *params),
       (params->result_out = 0, graph_copy(ret, graph)))
CU_TWO(cuGraphUpload, _ptsz, (CUgraphExec exec, CUstream stream), 0)
CU_TWO(cuGraphLaunch, _ptsz, (CUgraphExec exec, CUstream stream), graph_launch(ctx, exec, stream, per_thread))
CU_IN(cuGraphDestroy, (CUgraph graph), graph_destroy(graph))
CU_IN(cuGraphExecDestroy, (CUgraphExec exec), exec_destroy(exec))

/* ---- graphs of kernels: one comes after the other, whatever it names */

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

/* The graph keeps the values that arguments have when it gets them. */
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

/* As the driver's type for nodes of any kind, of which the double has kernels. */
struct any_params {
	int type, reserved[3];
	struct params kernel;
	char rest[256 - 16 - PARAMS_V2];
};

static CUresult add_any(struct context *ctx, struct CUgraphNode_st **ret, struct CUgraph_st *graph,
			struct CUgraphNode_st *const *after, size_t n, const struct any_params *given)
{
	return given->type ? CUDA_ERROR_NOT_SUPPORTED : add(ctx, ret, graph, after, n, &given->kernel, PARAMS_V2);
}

CU_IN(cuGraphAddNode, (CUgraphNode *ret, CUgraph graph, const CUgraphNode *after, size_t n, void *params),
      add_any(ctx, ret, graph, after, n, params))
CU_IN(cuGraphNodeSetParams, (CUgraphNode node, void *params),
      set(ctx, node, &((const struct any_params *)params)->kernel, PARAMS_V2))
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
