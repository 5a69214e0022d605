/* SPDX-License-Identifier: MIT */
/* driver.c - api.h upon CUDA's driver interface, linked to libcuda.so.1 by the names that <cuda.h> makes of them. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "api.h"
#include "cuda/cu.h"

static const unsigned char module_image[] __attribute__((aligned(64))) = {
#include "module.inc"
};

/* One line for each function as <cuda.h> names it today. */
#define FUNCTIONS(F) \
	F(cuInit, (unsigned flags)) \
	F(cuGetErrorName, (CUresult error, const char **name)) \
	F(cuDeviceGet, (CUdevice *device, int ordinal)) \
	F(cuDevicePrimaryCtxRetain, (CUcontext *context, CUdevice device)) \
	F(cuDevicePrimaryCtxRelease_v2, (CUdevice device)) \
	F(cuDevicePrimaryCtxReset_v2, (CUdevice device)) \
	F(cuCtxGetCurrent, (CUcontext *context)) \
	F(cuCtxSetCurrent, (CUcontext context)) \
	F(cuCtxSynchronize, (void)) \
	F(cuModuleLoadData, (CUmodule *module, const void *image)) \
	F(cuModuleUnload, (CUmodule module)) \
	F(cuModuleGetFunction, (CUfunction *function, CUmodule module, const char *name)) \
	F(cuMemAlloc_v2, (CUdeviceptr *p, size_t size)) \
	F(cuMemAllocPitch_v2, (CUdeviceptr *p, size_t *pitch, size_t width, size_t height, unsigned element)) \
	F(cuMemFree_v2, (CUdeviceptr p)) \
	F(cuMemAllocAsync, (CUdeviceptr *p, size_t size, CUstream stream)) \
	F(cuMemFreeAsync, (CUdeviceptr p, CUstream stream)) \
	F(cuMemHostAlloc, (void **p, size_t size, unsigned flags)) \
	F(cuMemFreeHost, (void *p)) \
	F(cuIpcGetMemHandle, (void *handle, CUdeviceptr p)) \
	F(cuMemcpy, (CUdeviceptr dst, CUdeviceptr src, size_t size)) \
	F(cuMemcpyAsync, (CUdeviceptr dst, CUdeviceptr src, size_t size, CUstream stream)) \
	F(cuMemcpyHtoD_v2, (CUdeviceptr dst, const void *src, size_t size)) \
	F(cuMemcpyDtoH_v2, (void *dst, CUdeviceptr src, size_t size)) \
	F(cuMemcpyDtoD_v2, (CUdeviceptr dst, CUdeviceptr src, size_t size)) \
	F(cuMemcpyHtoDAsync_v2, (CUdeviceptr dst, const void *src, size_t size, CUstream stream)) \
	F(cuMemcpyDtoHAsync_v2, (void *dst, CUdeviceptr src, size_t size, CUstream stream)) \
	F(cuMemcpyDtoDAsync_v2, (CUdeviceptr dst, CUdeviceptr src, size_t size, CUstream stream)) \
	F(cuMemcpy2D_v2, (const CUDA_MEMCPY2D *copy)) \
	F(cuMemsetD8_v2, (CUdeviceptr p, unsigned char value, size_t n)) \
	F(cuMemsetD16_v2, (CUdeviceptr p, unsigned short value, size_t n)) \
	F(cuMemsetD32_v2, (CUdeviceptr p, unsigned value, size_t n)) \
	F(cuMemsetD8Async, (CUdeviceptr p, unsigned char value, size_t n, CUstream stream)) \
	F(cuMemsetD16Async, (CUdeviceptr p, unsigned short value, size_t n, CUstream stream)) \
	F(cuMemsetD32Async, (CUdeviceptr p, unsigned value, size_t n, CUstream stream)) \
	F(cuMemsetD2D8_v2, (CUdeviceptr p, size_t pitch, unsigned char value, size_t width, size_t height)) \
	F(cuStreamCreate, (CUstream *stream, unsigned flags)) \
	F(cuStreamDestroy_v2, (CUstream stream)) \
	F(cuStreamSynchronize, (CUstream stream)) \
	F(cuStreamQuery, (CUstream stream)) \
	F(cuStreamWaitEvent, (CUstream stream, CUevent event, unsigned flags)) \
	F(cuStreamAddCallback, (CUstream stream, CUstreamCallback *function, void *data, unsigned flags)) \
	F(cuLaunchHostFunc, (CUstream stream, CUhostFn *function, void *data)) \
	F(cuStreamBeginCapture_v2, (CUstream stream, int mode)) \
	F(cuStreamEndCapture, (CUstream stream, CUgraph *graph)) \
	F(cuGraphInstantiateWithFlags, (CUgraphExec *exec, CUgraph graph, unsigned long long flags)) \
	F(cuGraphLaunch, (CUgraphExec exec, CUstream stream)) \
	F(cuGraphExecDestroy, (CUgraphExec exec)) \
	F(cuGraphDestroy, (CUgraph graph)) \
	F(cuEventCreate, (CUevent *event, unsigned flags)) \
	F(cuEventDestroy_v2, (CUevent event)) \
	F(cuEventRecord, (CUevent event, CUstream stream)) \
	F(cuEventQuery, (CUevent event)) \
	F(cuEventSynchronize, (CUevent event)) \
	F(cuLaunchKernel, (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, \
			   unsigned block_y, unsigned block_z, unsigned shared, CUstream stream, void **params, \
			   void **extra)) \
	F(cuLaunchCooperativeKernel, (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, \
				      unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared, \
				      CUstream stream, void **params)) \
	F(cuLaunchKernelEx, (const CUlaunchConfig *config, CUfunction function, void **params, void **extra))

#define DECLARE(name, params) CUresult name params;
FUNCTIONS(DECLARE)

const bool api_has_widths = true;

static CUcontext context;
static CUmodule module;
static CUfunction functions[N_KERNELS];

struct graph {
	CUgraph graph;
	CUgraphExec exec;
};

static void check(CUresult error, const char *what)
{
	if (error)
		api_die(what, error);
}
#define TRY(name, ...) check(name(__VA_ARGS__), #name)
#define DEVICE(p) ((CUdeviceptr)(uintptr_t)(p))
#define POINTER(p) ((void *)(uintptr_t)(p))

/* A thread that comes later has no context. */
static void enter(void)
{
	CUcontext now = NULL;

	TRY(cuCtxGetCurrent, &now);
	if (!now)
		TRY(cuCtxSetCurrent, context);
}

void api_die(const char *what, int error)
{
	const char *name = NULL;

	if (error)
		cuGetErrorName(error, &name);
	fprintf(stderr, "%s%s%s\n", what, error ? ": " : "", error ? name ? name : "unknown error" : "");
	exit(1);
}

void api_start(void)
{
	CUdevice device;

	TRY(cuInit, 0);
	TRY(cuDeviceGet, &device, 0);
	TRY(cuDevicePrimaryCtxRetain, &context, device);
	TRY(cuCtxSetCurrent, context);
	TRY(cuModuleLoadData, &module, module_image);
	for (int i = 0; i < N_KERNELS; i++)
		TRY(cuModuleGetFunction, &functions[i], module, api_kernel_names[i]);
}

void api_end(void)
{
	TRY(cuModuleUnload, module);
	TRY(cuCtxSetCurrent, NULL);
	TRY(cuDevicePrimaryCtxRelease_v2, 0);
}

void api_reset(void)
{
	TRY(cuDevicePrimaryCtxReset_v2, 0);
	TRY(cuCtxSetCurrent, NULL);
	TRY(cuDevicePrimaryCtxRelease_v2, 0);
	api_start();
}

void *api_alloc(size_t size)
{
	CUdeviceptr p;

	enter();
	TRY(cuMemAlloc_v2, &p, size);
	return POINTER(p);
}

void *api_alloc_pitch(size_t width, size_t height, size_t *ret_pitch)
{
	CUdeviceptr p;

	TRY(cuMemAllocPitch_v2, &p, ret_pitch, width, height, 4);
	return POINTER(p);
}

void api_free(void *p)
{
	TRY(cuMemFree_v2, DEVICE(p));
}

void *api_alloc_async(size_t size, stream stream)
{
	CUdeviceptr p;

	TRY(cuMemAllocAsync, &p, size, stream);
	return POINTER(p);
}

void api_free_async(void *p, stream stream)
{
	TRY(cuMemFreeAsync, DEVICE(p), stream);
}

void *api_host_alloc(size_t size)
{
	void *p;

	TRY(cuMemHostAlloc, &p, size, 0);
	return p;
}

void api_host_free(void *p)
{
	TRY(cuMemFreeHost, p);
}

int api_ipc_handle(void *p, char handle[64])
{
	return cuIpcGetMemHandle(handle, DEVICE(p));
}

void api_copy(void *dst, const void *src, size_t size, enum kind kind)
{
	enter();
	if (kind == TO_DEVICE)
		TRY(cuMemcpyHtoD_v2, DEVICE(dst), src, size);
	else if (kind == TO_HOST)
		TRY(cuMemcpyDtoH_v2, dst, DEVICE(src), size);
	else if (kind == WITHIN)
		TRY(cuMemcpyDtoD_v2, DEVICE(dst), DEVICE(src), size);
	else
		TRY(cuMemcpy, DEVICE(dst), DEVICE(src), size);
}

void api_copy_async(void *dst, const void *src, size_t size, enum kind kind, stream stream)
{
	enter();
	if (kind == TO_DEVICE)
		TRY(cuMemcpyHtoDAsync_v2, DEVICE(dst), src, size, stream);
	else if (kind == TO_HOST)
		TRY(cuMemcpyDtoHAsync_v2, dst, DEVICE(src), size, stream);
	else if (kind == WITHIN)
		TRY(cuMemcpyDtoDAsync_v2, DEVICE(dst), DEVICE(src), size, stream);
	else
		TRY(cuMemcpyAsync, DEVICE(dst), DEVICE(src), size, stream);
}

void api_copy_2d(void *dst, size_t dst_pitch, const void *src, size_t src_pitch, size_t width, size_t height,
		 enum kind kind)
{
	const CUDA_MEMCPY2D copy = {
		.srcMemoryType = kind == ANY ? CU_MEMORYTYPE_UNIFIED :
			kind == TO_DEVICE ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE,
		.dstMemoryType = kind == ANY ? CU_MEMORYTYPE_UNIFIED :
			kind == TO_HOST ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE,
		.srcHost = src, .srcDevice = DEVICE(src), .srcPitch = src_pitch,
		.dstHost = dst, .dstDevice = DEVICE(dst), .dstPitch = dst_pitch,
		.WidthInBytes = width, .Height = height,
	};

	TRY(cuMemcpy2D_v2, &copy);
}

void api_fill(void *p, unsigned value, size_t n, int width)
{
	if (width == 1)
		TRY(cuMemsetD8_v2, DEVICE(p), (unsigned char)value, n);
	else if (width == 2)
		TRY(cuMemsetD16_v2, DEVICE(p), (unsigned short)value, n);
	else
		TRY(cuMemsetD32_v2, DEVICE(p), value, n);
}

void api_fill_async(void *p, unsigned value, size_t n, int width, stream stream)
{
	if (width == 1)
		TRY(cuMemsetD8Async, DEVICE(p), (unsigned char)value, n, stream);
	else if (width == 2)
		TRY(cuMemsetD16Async, DEVICE(p), (unsigned short)value, n, stream);
	else
		TRY(cuMemsetD32Async, DEVICE(p), value, n, stream);
}

void api_fill_2d(void *p, size_t pitch, unsigned value, size_t width, size_t height)
{
	TRY(cuMemsetD2D8_v2, DEVICE(p), pitch, (unsigned char)value, width, height);
}

stream api_stream(void)
{
	CUstream stream;

	enter();
	TRY(cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
	return stream;
}

void api_stream_free(stream stream)
{
	TRY(cuStreamDestroy_v2, stream);
}

void api_stream_wait(stream stream)
{
	TRY(cuStreamSynchronize, stream);
}

bool api_stream_done(stream stream)
{
	CUresult error = cuStreamQuery(stream);

	if (error != CUDA_ERROR_NOT_READY)
		check(error, "cuStreamQuery");
	return !error;
}

void api_stream_after(stream stream, event event)
{
	TRY(cuStreamWaitEvent, stream, event, 0);
}

void api_host_func(stream stream, void (*function)(void *data), void *data)
{
	TRY(cuLaunchHostFunc, stream, function, data);
}

struct call {
	void (*function)(void *data);
	void *data;
};

static void called(CUstream stream, CUresult status, void *data)
{
	struct call call = *(struct call *)data;

	free(data);
	check(status, "the stream of a callback");
	call.function(call.data);
}

void api_callback(stream stream, void (*function)(void *data), void *data)
{
	struct call *call = malloc(sizeof(*call));

	*call = (struct call){ function, data };
	TRY(cuStreamAddCallback, stream, called, call, 0);
}

event api_event(void)
{
	CUevent event;

	TRY(cuEventCreate, &event, CU_EVENT_DISABLE_TIMING);
	return event;
}

void api_event_free(event event)
{
	TRY(cuEventDestroy_v2, event);
}

void api_event_record(event event, stream stream)
{
	TRY(cuEventRecord, event, stream);
}

void api_event_wait(event event)
{
	TRY(cuEventSynchronize, event);
}

bool api_event_done(event event)
{
	CUresult error = cuEventQuery(event);

	if (error != CUDA_ERROR_NOT_READY)
		check(error, "cuEventQuery");
	return !error;
}

void api_sync(void)
{
	TRY(cuCtxSynchronize);
}

void api_launch(enum kernel kernel, enum how how, unsigned grid, unsigned block, stream stream, void **args)
{
	const CUlaunchConfig config = { grid, 1, 1, block, 1, 1, 0, stream, NULL, 0 };

	enter();
	if (how == EX)
		TRY(cuLaunchKernelEx, &config, functions[kernel], args, NULL);
	else if (how == COOPERATIVE)
		TRY(cuLaunchCooperativeKernel, functions[kernel], grid, 1, 1, block, 1, 1, 0, stream, args);
	else
		TRY(cuLaunchKernel, functions[kernel], grid, 1, 1, block, 1, 1, 0, stream, args, NULL);
}

bool api_launch_packed(enum kernel kernel, unsigned grid, unsigned block, stream stream, void **extra)
{
	TRY(cuLaunchKernel, functions[kernel], grid, 1, 1, block, 1, 1, 0, stream, NULL, extra);
	return true;
}

void api_begin_capture(stream stream)
{
	TRY(cuStreamBeginCapture_v2, stream, 0);
}

graph api_end_capture(stream stream)
{
	graph graph = malloc(sizeof(*graph));

	TRY(cuStreamEndCapture, stream, &graph->graph);
	TRY(cuGraphInstantiateWithFlags, &graph->exec, graph->graph, 0);
	return graph;
}

void api_graph_launch(graph graph, stream stream)
{
	TRY(cuGraphLaunch, graph->exec, stream);
}

void api_graph_free(graph graph)
{
	TRY(cuGraphExecDestroy, graph->exec);
	TRY(cuGraphDestroy, graph->graph);
	free(graph);
}
