/* SPDX-License-Identifier: MIT */
/* launch.c - launches of kernels. Each is an unnamed call: it may use every object of its context, so all of them are
 * released. */
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "handles.h"
#include "home.h"
#include "loan.h"

#define CU_LAUNCH_PARAM_BUFFER_POINTER ((void *)1)
#define CU_LAUNCH_PARAM_BUFFER_SIZE ((void *)2)

/* ---- arguments */

/* What the driver reads during a launch: arguments, and lists of them. If they lie in objects, they are copied before.
 * During the launch, the objects are released to the device, and this thread holds the lock that a touch takes. */
struct arguments {
	void **params, **extra;
	struct copy *copies;
};

struct copy {
	struct copy *next;
	max_align_t bytes[];
};

static bool is_shared(const void *p)
{
	struct adsm_driver_place place;

	return adsm_driver_find(p, &place);
}

/* If there is no memory, nothing is copied. Then the driver's touch fails, and the fault handler reports it. */
static void *copy_of(struct arguments *arguments, const void *p, size_t size)
{
	struct copy *copy = malloc(sizeof(*copy) + size);

	if (!copy)
		return (void *)p;
	copy->next = arguments->copies;
	arguments->copies = copy;
	return memcpy(copy->bytes, p, size);
}

static void *unshared(struct arguments *arguments, void *p, size_t size)
{
	return is_shared(p) ? copy_of(arguments, p, size) : p;
}

static void copy_params(struct arguments *arguments, CUfunction function)
{
	const struct adsm_cuda_layout *layout = adsm_cuda_layout(function);
	bool shared = is_shared(arguments->params);
	void **params;

	if (!layout || !layout->n)
		return;
	for (size_t i = 0; i < layout->n && !shared; i++)
		shared = is_shared(arguments->params[i]);
	if (!shared)
		return;
	params = copy_of(arguments, arguments->params, layout->n * sizeof(*params));
	if (params == arguments->params)
		return;
	for (size_t i = 0; i < layout->n; i++)
		params[i] = unshared(arguments, params[i], layout->params[i].size);
	arguments->params = params;
}

/* The arguments as one buffer with all values. */
static void copy_extra(struct arguments *arguments)
{
	bool shared = is_shared(arguments->extra);
	size_t n = 0, size = 0;
	void **extra;

	for (; arguments->extra[n] == CU_LAUNCH_PARAM_BUFFER_POINTER ||
	     arguments->extra[n] == CU_LAUNCH_PARAM_BUFFER_SIZE; n += 2) {
		shared |= is_shared(arguments->extra[n + 1]);
		if (arguments->extra[n] == CU_LAUNCH_PARAM_BUFFER_SIZE)
			size = *(const size_t *)arguments->extra[n + 1];
	}
	if (!shared)
		return;
	extra = copy_of(arguments, arguments->extra, (n + 1) * sizeof(*extra));
	if (extra == arguments->extra)
		return;
	for (size_t i = 0; i < n; i += 2)
		extra[i + 1] = unshared(arguments, extra[i + 1],
					extra[i] == CU_LAUNCH_PARAM_BUFFER_SIZE ? sizeof(size) : size);
	arguments->extra = extra;
}

static void copy_shared(struct arguments *arguments, CUfunction function)
{
	if (!adsm_driver_active())
		return;
	if (function && arguments->params)
		copy_params(arguments, function);
	if (arguments->extra)
		copy_extra(arguments);
}

static void free_copies(struct arguments *arguments)
{
	while (arguments->copies) {
		struct copy *copy = arguments->copies;

		arguments->copies = copy->next;
		free(copy);
	}
}

/* ---- kernels */

#define LAUNCH CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,	\
	unsigned block_y, unsigned block_z, unsigned shared, CUstream stream, void **params

struct kernel {
	CUresult (*driver)(LAUNCH, void **extra);
	CUresult (*cooperative)(LAUNCH);	/* instead */
	CUresult (*ex)(const CUlaunchConfig *config, CUfunction function, void **params, void **extra);	/* instead */
	const CUlaunchConfig *config;		/* for ex, in place of grid, block and shared */
	CUfunction function;
	unsigned grid[3], block[3], shared;
	CUstream stream;
	struct arguments arguments;
};

static int enqueue_kernel(void *arg)
{
	const struct kernel *k = arg;

	if (k->ex)
		return k->ex(k->config, k->function, k->arguments.params, k->arguments.extra);
	if (k->cooperative)
		return k->cooperative(k->function, k->grid[0], k->grid[1], k->grid[2], k->block[0], k->block[1],
				      k->block[2], k->shared, k->stream, k->arguments.params);
	return k->driver(k->function, k->grid[0], k->grid[1], k->grid[2], k->block[0], k->block[1], k->block[2],
			 k->shared, k->stream, k->arguments.params, k->arguments.extra);
}

static CUresult launch(struct kernel *kernel, bool per_thread)
{
	CUresult result;

	copy_shared(&kernel->arguments, kernel->function);
	result = adsm_cuda_unnamed(adsm_cuda_stream(kernel->stream, per_thread), enqueue_kernel, kernel);
	free_copies(&kernel->arguments);
	return result;
}

#define KERNEL(name, per_thread, which, extra_, ...)								\
	ADSM_CU_WRAPPER(name, (__VA_ARGS__))									\
	{													\
		struct kernel kernel = {									\
			.which = real_cu(name), .function = function, .grid = { grid_x, grid_y, grid_z },	\
			.block = { block_x, block_y, block_z }, .shared = shared, .stream = stream,		\
			.arguments = { params, extra_, NULL }							\
		};												\
														\
		return launch(&kernel, per_thread);								\
	}
KERNEL(cuLaunchKernel, false, driver, extra, LAUNCH, void **extra)
KERNEL(cuLaunchKernel_ptsz, true, driver, extra, LAUNCH, void **extra)
KERNEL(cuLaunchCooperativeKernel, false, cooperative, NULL, LAUNCH)
KERNEL(cuLaunchCooperativeKernel_ptsz, true, cooperative, NULL, LAUNCH)

#define KERNEL_EX(name, per_thread)										\
	ADSM_CU_WRAPPER(name, (const CUlaunchConfig *config, CUfunction function, void **params, void **extra))	\
	{													\
		struct kernel kernel = {									\
			.ex = real_cu(name), .config = config, .function = function,				\
			.stream = config ? config->hStream : NULL, .arguments = { params, extra, NULL }		\
		};												\
														\
		return launch(&kernel, per_thread);								\
	}
KERNEL_EX(cuLaunchKernelEx, false)
KERNEL_EX(cuLaunchKernelEx_ptsz, true)

/* ---- kernel nodes of graphs: the driver reads their arguments when the node is added or changed */

/* CUDA_KERNEL_NODE_PARAMS. The first version ends behind extra. */
struct node {
	CUfunction function;
	unsigned grid[3], block[3], shared;
	void **params, **extra;
	CUkernel kernel;		/* instead */
	CUcontext context;
};
#define NODE offsetof(struct node, kernel)
#define NODE_V2 sizeof(struct node)

static void node_begin(struct node *node, struct arguments *arguments, const void *given, size_t size)
{
	memcpy(memset(node, 0, sizeof(*node)), given, size);
	*arguments = (struct arguments){ node->params, node->extra, NULL };
	copy_shared(arguments, node->function ? node->function : (CUfunction)node->kernel);
	node->params = arguments->params;
	node->extra = arguments->extra;
}

/* @given has @size bytes. The driver's function gets `own` in its place. */
#define KERNEL_NODE(name, size, params_, args, ...)				\
	ADSM_CU_WRAPPER(name, params_)						\
	{									\
		struct arguments arguments = { NULL, NULL, NULL };		\
		struct node node;						\
		const void *own = NULL;						\
		CUresult result;						\
										\
		if (given) {							\
			node_begin(&node, &arguments, given, size);		\
			own = &node;						\
		}								\
		ADSM_LOANS_FOR(result, real_cu(name) args, __VA_ARGS__);	\
		free_copies(&arguments);					\
		return result;							\
	}
#define KERNEL_NODES(name, params_, args, ...)			\
	KERNEL_NODE(name, NODE, params_, args, __VA_ARGS__)	\
	KERNEL_NODE(name##_v2, NODE_V2, params_, args, __VA_ARGS__)

KERNEL_NODES(cuGraphAddKernelNode, (CUgraphNode *ret, CUgraph graph, const CUgraphNode *after, size_t n,
				    const void *given),
	     (ret, graph, after, n, own), ADSM_LOAN(ret, sizeof(*ret)), ADSM_LOAN(after, n * sizeof(*after)))
KERNEL_NODES(cuGraphKernelNodeSetParams, (CUgraphNode of, const void *given), (of, own), ADSM_LOAN(own, 0))
KERNEL_NODES(cuGraphExecKernelNodeSetParams, (CUgraphExec graph, CUgraphNode of, const void *given),
	     (graph, of, own), ADSM_LOAN(own, 0))

/* ---- nodes of any kind. Only kernels have arguments. The driver may write to the parameters of other nodes. */

/* CUgraphNodeParams. */
union any_node {
	struct { int type, reserved[3]; struct node kernel; } is;	/* type 0: a kernel */
	char bytes[256];
};

/* What the driver gets in place of @given: @own if it is a kernel. */
static void *any_node_begin(union any_node *own, struct arguments *arguments, void *given)
{
	if (!given)
		return NULL;
	memcpy(own, given, sizeof(*own));
	if (own->is.type)
		return given;
	node_begin(&own->is.kernel, arguments, &((union any_node *)given)->is.kernel, NODE_V2);
	return own;
}

#define ANY_NODE(name, params_, args, ...)								\
	ADSM_CU_WRAPPER(name, params_)									\
	{												\
		struct arguments arguments = { NULL, NULL, NULL };					\
		union any_node own;									\
		CUresult result;									\
													\
		given = any_node_begin(&own, &arguments, given);					\
		do											\
			ADSM_LOANS_FOR(result, real_cu(name) args, ADSM_LOAN(given, sizeof(own)), __VA_ARGS__); \
		while (result == CUDA_ERROR_OUT_OF_MEMORY && adsm_driver_give_up(NULL));		\
		free_copies(&arguments);								\
		return result;										\
	}
ANY_NODE(cuGraphAddNode, (CUgraphNode *ret, CUgraph graph, const CUgraphNode *after, size_t n, void *given),
	 (ret, graph, after, n, given), ADSM_LOAN(ret, sizeof(*ret)), ADSM_LOAN(after, n * sizeof(*after)))
ANY_NODE(cuGraphAddNode_v2, (CUgraphNode *ret, CUgraph graph, const CUgraphNode *after, const uint64_t *edges, size_t n,
			     void *given),
	 (ret, graph, after, edges, n, given), ADSM_LOAN(ret, sizeof(*ret)), ADSM_LOAN(after, n * sizeof(*after)),
	 ADSM_LOAN(edges, n * sizeof(*edges)))
ANY_NODE(cuGraphNodeSetParams, (CUgraphNode of, void *given), (of, given), ADSM_LOAN(given, 0))
ANY_NODE(cuGraphExecNodeSetParams, (CUgraphExec graph, CUgraphNode of, void *given), (graph, of, given),
	 ADSM_LOAN(given, 0))
