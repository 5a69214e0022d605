/* SPDX-License-Identifier: MIT */
/*
 * driver.h - the driver double: a libcuda.so.1 for tests whose device is a child process, nastier than a GPU's.
 *
 * Words in TEST_CUDA, separated by commas:
 *   no-device, stub      cuInit fails with 100, 34
 *   old                  11.3: no virtual memory management, and what came later is not supported; the library in
 *                        folder old has not got these symbols at all
 *   no-vmm               no virtual memory management
 *   no-unified           no unified addressing, says the attribute
 *   elsewhere            hints for addresses are refused
 *   memory=BYTES         of the device; 1 GiB without it
 *   low-memory           memory=64M
 *   strict               host pointers that are the device's addresses are refused; without it such copies are silently
 *                        from device to device
 *   late                 pageable sources are read late too; commands wait until the program has asked often enough or
 *                        waits, 2 ms at most
 *   order                commands of independent streams run latest stream first; 100 ms after a command has begun,
 *                        those of earlier streams no longer wait for its end
 *   patient              with order: they wait for its end, however long that takes
 *   fail=NAME:N[:ERROR]  the Nth call of a function fails (with 999)
 *   lost=NAME:N[:ERROR]  the Nth call and all later ones of that context do (719)
 *   readable             device addresses are readable memory of the CPU's
 *   peers                contexts may be given access to each other's memory
 *   poison               fresh and freed memory is full of 0xa5
 *   stays-lost           a kernel's crash is for ever: resetting, releasing and retaining the context says 700, and
 *                        reserved addresses stay reserved
 *   signals              ends the process with status 99 where a function is entered with SIGUSR1 unblocked, or by a
 *                        thread of the program's that can be cancelled
 *   launch=NS            a kernel runs in the thread that launches it, for NS nanoseconds, and does nothing
 *   count=FILE           written when the process ends: "name n" for each function that was called
 *   seed=N               some of elsewhere, no-vmm, strict, late, order, poison; which, goes to stderr
 *
 * While it answers, writing to the caller's memory, it is locked, and every other call waits.
 * Asked about a handle of another kind, a CUkernel that is taken for a CUfunction say, it crashes.
 */
#ifndef TEST_CUDA_DRIVER_H
#define TEST_CUDA_DRIVER_H

#include <stdint.h>

#include "cuda/cu.h"

#define DRIVER_DEVICE_NAME "adsm-cuda-dev"	/* what the child is called in /proc */
#define DRIVER_SIGNALS_STATUS 99
#define DRIVER_DEAD_STATUS 98		/* a stream or an event was used whose context is gone */
#define DRIVER_VERSION 13000
#define DRIVER_OLD_VERSION 11030
#define KiB ((size_t)1 << 10)
#define MiB ((size_t)1 << 20)
#define GiB ((size_t)1 << 30)
#define GRANULE (2 * MiB)
#define PAGE ((size_t)4096)

/* What tests may ask: test_cuda_counts() of the library. */
struct test_cuda_counts {
	uint64_t pinned, pageable;	/* copies whose host side was registered, or not */
	uint64_t device_to_itself;	/* copies whose host side was taken for device memory */
	uint64_t launches;
	uint64_t asked_params;		/* calls of cuFuncGetParamInfo() and cuKernelGetParamInfo() */
	uint64_t calls;			/* of all functions but cuCtxGetCurrent, which only reads what the thread has */
	uint64_t all_calls;		/* of any */
	uint64_t registered;		/* bytes, now */
	int registered_by;		/* the thread that did so last */
	uint64_t used;			/* bytes of device memory, now */
	uint64_t contexts, streams, events, modules;	/* there are now */
	uint64_t left_behind;		/* streams and events that ended with their contexts, so far */
	int device_pid;
};

typedef void test_cuda_counts_fn(struct test_cuda_counts *ret_counts);
/* The driver's own function with a name, past functions that were put in front of it: test_cuda_function(). */
typedef void *test_cuda_function_fn(const char *name);
/* What a driver may do inside, while it is locked: memcpy() and read(). */
typedef void test_cuda_copy_fn(void *dst, const void *src, size_t size);
typedef long test_cuda_read_fn(int fd, void *p, size_t size);

/* ---- what cu.h has no need of */

enum {
	CUDA_ERROR_CONTEXT_ALREADY_IN_USE = 216,
	CUDA_ERROR_ILLEGAL_STATE = 401,
	CUDA_ERROR_STREAM_CAPTURE_UNMATCHED = 903,
};

typedef struct { char reserved[64]; } CUipcMemHandle;
typedef struct { int srcAccessOrder; CUmemLocation srcLocHint, dstLocHint; unsigned flags; } CUmemcpyAttributes;
typedef struct CUlinkState_st *CUlinkState;
#define TEST_CUDA_LINK_TIME 1234	/* the double's first option value, from cuLinkDestroy() on */
typedef struct {
	CUfunction function;
	unsigned grid[3], block[3], shared;
	CUstream stream;
	void **params;
} CUDA_LAUNCH_PARAMS;
typedef struct {
	size_t srcNumBytes, dstNumBytes;
	uint32_t *dstActBytes;
	const void *src;
	void *dst;
	int algo;
	unsigned char padding[20];
} CUmemDecompressParams;
/* As CUDA_MEMCPY3D, with contexts where that has reserved words. */
typedef CUDA_MEMCPY3D CUDA_MEMCPY3D_PEER;
typedef struct { uint64_t flags; CUstream hUploadStream; void *hErrNode_out; int result_out; }
	CUDA_GRAPH_INSTANTIATE_PARAMS;

/* What tests call, and the library does not: as ADSM_CU_FUNCTIONS(). */
#define TEST_CU_FUNCTIONS(F) \
	F(cuDeviceComputeCapability, (int *major, int *minor, CUdevice device)) \
	F(cuDeviceGetMemPool, (CUmemoryPool *pool, CUdevice device)) \
	F(cuDeviceGetUuid_v2, (CUuuid *uuid, CUdevice device)) \
	F(cuDevicePrimaryCtxReset_v2, (CUdevice device)) \
	F(cuCtxAttach, (CUcontext *context, unsigned flags)) \
	F(cuCtxDetach, (CUcontext context)) \
	F(cuCtxCreate_v2, (CUcontext *context, unsigned flags, CUdevice device)) \
	F(cuCtxCreate_v4, (CUcontext *ret, void *params, unsigned flags, CUdevice device)) \
	F(cuCtxDestroy_v2, (CUcontext context)) \
	F(cuCtxEnablePeerAccess, (CUcontext peer, unsigned flags)) \
	F(cuCtxGetStreamPriorityRange, (int *least, int *greatest)) \
	F(cuCtxSetCurrent, (CUcontext context)) \
	F(cuModuleLoadData, (CUmodule *module, const void *image)) \
	F(cuLinkCreate_v2, (unsigned n, int *options, void **values, CUlinkState *state)) \
	F(cuLinkDestroy, (CUlinkState state)) \
	F(cuLibraryEnumerateKernels, (CUkernel *kernels, unsigned n, CUlibrary library)) \
	F(cuLibraryGetKernel, (CUkernel *kernel, CUlibrary library, const char *name)) \
	F(cuLibraryGetModule, (CUmodule *module, CUlibrary library)) \
	F(cuLibraryLoadData, (CUlibrary *library, const void *image, int *options, void **values, unsigned n, \
			      int *library_options, void **library_values, unsigned n_library)) \
	F(cuLibraryUnload, (CUlibrary library)) \
	F(cuKernelGetFunction, (CUfunction *function, CUkernel kernel)) \
	F(cuKernelGetName, (const char **name, CUkernel kernel)) \
	F(cuKernelGetParamInfo, (CUkernel kernel, size_t index, size_t *offset, size_t *size)) \
	F(cuOccupancyMaxActiveBlocksPerMultiprocessor, (int *n, CUfunction function, int threads, size_t shared)) \
	F(cuMemAllocAsync, (CUdeviceptr *p, size_t size, CUstream stream)) \
	F(cuMemAllocFromPoolAsync, (CUdeviceptr *p, size_t size, CUmemoryPool pool, CUstream stream)) \
	F(cuMemAllocManaged, (CUdeviceptr *p, size_t size, unsigned flags)) \
	F(cuMemAllocPitch_v2, (CUdeviceptr *p, size_t *pitch, size_t width, size_t height, unsigned element)) \
	F(cuMemBatchDecompressAsync, (CUmemDecompressParams *list, size_t n, unsigned flags, size_t *failed, \
				      CUstream stream)) \
	F(cuMemPoolCreate, (CUmemoryPool *pool, const void *properties)) \
	F(cuMemPoolSetAccess, (CUmemoryPool pool, const CUmemAccessDesc *access, size_t n)) \
	F(cuMemHostAlloc, (void **p, size_t size, unsigned flags)) \
	F(cuMemFreeAsync, (CUdeviceptr p, CUstream stream)) \
	F(cuMemFreeHost, (void *p)) \
	F(cuMemGetAddressRange_v2, (CUdeviceptr *start, size_t *size, CUdeviceptr p)) \
	F(cuMemcpy, (CUdeviceptr dst, CUdeviceptr src, size_t size)) \
	F(cuMemcpy2D_v2, (const CUDA_MEMCPY2D *copy)) \
	F(cuMemcpy3D_v2, (const CUDA_MEMCPY3D *copy)) \
	F(cuMemcpyBatchAsync_v2, (CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t n, void *attrs, \
				  size_t *indexes, size_t n_attrs, CUstream stream)) \
	F(cuMemcpyDtoD_v2, (CUdeviceptr dst, CUdeviceptr src, size_t size)) \
	F(cuMemcpyDtoH_v2, (void *dst, CUdeviceptr src, size_t size)) \
	F(cuMemcpyHtoDAsync_v2_ptsz, (CUdeviceptr dst, const void *src, size_t size, CUstream stream)) \
	F(cuMemcpyHtoD_v2, (CUdeviceptr dst, const void *src, size_t size)) \
	F(cuMemsetD16_v2, (CUdeviceptr p, unsigned short value, size_t n)) \
	F(cuMemsetD2D32_v2, (CUdeviceptr p, size_t pitch, unsigned value, size_t n, size_t height)) \
	F(cuMemsetD32Async, (CUdeviceptr p, unsigned value, size_t n, CUstream stream)) \
	F(cuStreamWriteValue32_v2, (CUstream stream, CUdeviceptr p, uint32_t value, unsigned flags)) \
	F(cuStreamWaitValue32_v2, (CUstream stream, CUdeviceptr p, uint32_t value, unsigned flags)) \
	F(cuStreamBatchMemOp_v2, (CUstream stream, unsigned n, void *ops, unsigned flags)) \
	F(cuMemsetD32_v2, (CUdeviceptr p, unsigned value, size_t n)) \
	F(cuMemsetD8_v2, (CUdeviceptr p, unsigned char value, size_t n)) \
	F(cuIpcCloseMemHandle, (CUdeviceptr p)) \
	F(cuIpcGetMemHandle, (CUipcMemHandle *handle, CUdeviceptr p)) \
	F(cuIpcOpenMemHandle_v2, (CUdeviceptr *p, CUipcMemHandle handle, unsigned flags)) \
	F(cuPointerGetAttributes, (unsigned n, int *attributes, void **values, CUdeviceptr p)) \
	F(cuStreamAddCallback, (CUstream stream, CUstreamCallback *function, void *data, unsigned flags)) \
	F(cuStreamBeginCapture_v2, (CUstream stream, int mode)) \
	F(cuStreamEndCapture, (CUstream stream, CUgraph *graph)) \
	F(cuStreamGetCaptureInfo_v2, (CUstream stream, int *status, unsigned long long *id, CUgraph *graph, \
				      const void **nodes, size_t *n)) \
	F(cuStreamGetCtx, (CUstream stream, CUcontext *context)) \
	F(cuStreamGetFlags, (CUstream stream, unsigned *flags)) \
	F(cuStreamIsCapturing_ptsz, (CUstream stream, int *status)) \
	F(cuLaunchCooperativeKernelMultiDevice, (CUDA_LAUNCH_PARAMS *list, unsigned n, unsigned flags)) \
	F(cuLaunchHostFunc, (CUstream stream, CUhostFn *function, void *data)) \
	F(cuLaunchKernelEx, (const CUlaunchConfig *config, CUfunction function, void **params, void **extra)) \
	F(cuGraphAddKernelNode, (CUgraphNode *node, CUgraph graph, const CUgraphNode *after, size_t n, \
				 const void *params)) \
	F(cuGraphAddKernelNode_v2, (CUgraphNode *node, CUgraph graph, const CUgraphNode *after, size_t n, \
				    const void *params)) \
	F(cuGraphAddNode, (CUgraphNode *node, CUgraph graph, const CUgraphNode *after, size_t n, void *params)) \
	F(cuGraphCreate, (CUgraph *graph, unsigned flags)) \
	F(cuGraphDestroy, (CUgraph graph)) \
	F(cuGraphExecDestroy, (CUgraphExec exec)) \
	F(cuGraphInstantiateWithFlags, (CUgraphExec *exec, CUgraph graph, unsigned long long flags)) \
	F(cuGraphKernelNodeGetParams_v2, (CUgraphNode node, void *params)) \
	F(cuGraphKernelNodeSetParams_v2, (CUgraphNode node, const void *params)) \
	F(cuGraphLaunch, (CUgraphExec exec, CUstream stream)) \
	F(cuGraphNodeSetParams, (CUgraphNode node, void *params)) \
	F(cuGetExportTable, (const void **table, const CUuuid *id)) \
	F(cuGetProcAddress, (const char *name, void **ret, int version, uint64_t flags)) \
	F(cuGetProcAddress_v2, (const char *symbol, void **function, int version, uint64_t flags, int *status))

#endif
