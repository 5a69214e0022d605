/* SPDX-License-Identifier: MIT */
/*
 * query.c - questions to the driver: shared memory into which it is to write an answer, or where it reads the question,
 * is lent to it (loan.h). Where there is no room for what a function makes, memory that is kept (kept.h) is given up,
 * and the driver asked again.
 *
 * A row for each function that does no more than ask: how many parameters it has, which of them (a, b, …) are pointers,
 * and to how many bytes.
 */
#include "driver/driver.h"
#include "hook.h"
#include "words.h"
#include "core/life.h"

#define FABRIC 8	/* a kind of handles */

/* Bytes at a pointer. A value is an int or a larger number: its place tells. An array's length is another argument. */
#define OUT(x, size) ADSM_LOAN(x, size)
#define OUTS(x, n, size) OUT(x, (size_t)(unsigned)n * (size))
#define VALUE(x) OUT(x, x % 8 ? 4 : 8)
#define MANY(x, size, n) OUT(x, n ? *(const size_t *)n * (size) : 0)
#define TEXT(x) OUT(x, ADSM_LOAN_TEXT)

#define QUERY(n, name, ...)									\
	ADSM_CU_WRAPPER(name, PARAMS_##n)							\
	{											\
		CUresult result;								\
												\
		do										\
			ADSM_LOANS_FOR(result, real_cu(name)(WORDS_##n), __VA_ARGS__);		\
		while (result == CUDA_ERROR_OUT_OF_MEMORY && adsm_driver_give_up(NULL));	\
		return result;									\
	}
#define QUERY_PTSZ(n, name, ...)		\
	QUERY(n, name, __VA_ARGS__)		\
	QUERY(n, name##_ptsz, __VA_ARGS__)

/* ---- errors */

QUERY(2, cuGetErrorName, OUT(b, 8))
QUERY(2, cuGetErrorString, OUT(b, 8))
QUERY(1, cuDriverGetVersion, OUT(a, 4))

/* ---- devices */

QUERY(2, cuDeviceGet, OUT(a, 4))
QUERY(1, cuDeviceGetCount, OUT(a, 4))
QUERY(3, cuDeviceGetName, OUT(a, (unsigned)b))
QUERY(2, cuDeviceGetUuid, OUT(a, 16))
QUERY(2, cuDeviceGetUuid_v2, OUT(a, 16))
QUERY(3, cuDeviceGetLuid, OUT(a, 8), OUT(b, 4))
QUERY(2, cuDeviceTotalMem_v2, OUT(a, 8))
QUERY(4, cuDeviceGetTexture1DLinearMaxWidth, OUT(a, 8))
QUERY(3, cuDeviceGetAttribute, OUT(a, 4))
QUERY(2, cuDeviceGetMemPool, OUT(a, 8))
QUERY(2, cuDeviceGetDefaultMemPool, OUT(a, 8))
QUERY(3, cuDeviceGetExecAffinitySupport, OUT(a, 4))
QUERY(3, cuDeviceComputeCapability, OUT(a, 4), OUT(b, 4))
QUERY(2, cuDeviceGetProperties, OUT(a, 56))
QUERY(3, cuDevicePrimaryCtxGetState, OUT(b, 4), OUT(c, 4))
QUERY(3, cuDeviceCanAccessPeer, OUT(a, 4))
QUERY(4, cuDeviceGetP2PAttribute, OUT(a, 4))
QUERY(2, cuDeviceGetByPCIBusId, OUT(a, 4), TEXT(b))
QUERY(3, cuDeviceGetPCIBusId, OUT(a, (unsigned)b))

/* ---- contexts */

QUERY(3, cuCtxCreate_v2, OUT(a, 8))
QUERY(5, cuCtxCreate_v3, OUT(a, 8), OUTS(b, c, 8))
QUERY(4, cuCtxCreate_v4, OUT(a, 8), OUT(b, 24))
QUERY(1, cuCtxPopCurrent_v2, OUT(a, 8))
QUERY(1, cuCtxGetCurrent, OUT(a, 8))
QUERY(1, cuCtxGetDevice, OUT(a, 4))
QUERY(2, cuCtxGetDevice_v2, OUT(a, 4))
QUERY(1, cuCtxGetFlags, OUT(a, 4))
QUERY(2, cuCtxGetId, OUT(b, 8))
QUERY(2, cuCtxGetLimit, OUT(a, 8))
QUERY(1, cuCtxGetCacheConfig, OUT(a, 4))
QUERY(2, cuCtxGetApiVersion, OUT(b, 4))
QUERY(2, cuCtxGetStreamPriorityRange, OUT(a, 4), OUT(b, 4))
QUERY(1, cuCtxGetSharedMemConfig, OUT(a, 4))
QUERY(2, cuCtxGetExecAffinity, OUT(a, 8))

/* ---- modules */

QUERY(2, cuModuleLoad, OUT(a, 8), TEXT(b))
QUERY(2, cuModuleLoadData, OUT(a, 8))
QUERY(5, cuModuleLoadDataEx, OUT(a, 8), OUTS(d, c, 4), OUTS(e, c, 8))
QUERY(2, cuModuleLoadFatBinary, OUT(a, 8))
QUERY(1, cuModuleGetLoadingMode, OUT(a, 4))
QUERY(2, cuModuleGetFunctionCount, OUT(a, 4))
QUERY(4, cuModuleGetGlobal_v2, OUT(a, 8), OUT(b, 8), TEXT(d))
QUERY(3, cuModuleGetTexRef, OUT(a, 8), TEXT(c))
QUERY(3, cuModuleGetSurfRef, OUT(a, 8), TEXT(c))
/* The driver writes to the values (c) until cuLinkDestroy(), so they cannot be lent. */
QUERY(4, cuLinkCreate_v2, OUTS(b, a, 4), OUT(d, 8))
QUERY(3, cuLinkComplete, OUT(b, 8), OUT(c, 8))

/* ---- libraries */

QUERY(8, cuLibraryLoadData, OUT(a, 8), OUTS(c, e, 4), OUTS(d, e, 8), OUTS(f, h, 4),
      OUTS(g, h, 8))
QUERY(8, cuLibraryLoadFromFile, OUT(a, 8), TEXT(b), OUTS(c, e, 4), OUTS(d, e, 8),
      OUTS(f, h, 4), OUTS(g, h, 8))
QUERY(2, cuLibraryGetKernelCount, OUT(a, 4))
QUERY(4, cuLibraryGetGlobal, OUT(a, 8), OUT(b, 8), TEXT(d))
QUERY(4, cuLibraryGetManaged, OUT(a, 8), OUT(b, 8), TEXT(d))
QUERY(3, cuLibraryGetUnifiedFunction, OUT(a, 8), TEXT(c))
QUERY(2, cuKernelGetLibrary, OUT(a, 8))
QUERY(4, cuKernelGetAttribute, OUT(a, 4))
QUERY(2, cuKernelGetName, OUT(a, 8))
QUERY(4, cuKernelGetParamInfo, OUT(c, 8), OUT(d, 8))
QUERY(2, cuKernelGetParamCount, OUT(b, 8))

/* ---- functions */

QUERY(3, cuFuncGetAttribute, OUT(a, 4))
QUERY(2, cuFuncGetName, OUT(a, 8))
QUERY(2, cuFuncGetModule, OUT(a, 8))
QUERY(4, cuFuncGetParamInfo, OUT(c, 8), OUT(d, 8))
QUERY(2, cuFuncGetParamCount, OUT(b, 8))
QUERY(2, cuFuncIsLoaded, OUT(a, 4))

/* ---- memory */

/* What is kept of freed memory counts as free. */
ADSM_CU_WRAPPER(cuMemGetInfo_v2, (size_t *free, size_t *total))
{
	size_t left, all;
	CUdevice device;
	CUresult result;

	if (!free || !total)
		return real_cu(cuMemGetInfo_v2)(free, total);
	result = real_cu(cuMemGetInfo_v2)(&left, &all);
	if (result != CUDA_SUCCESS)
		return result;
	if (adsm_started() && real_cu(cuCtxGetDevice)((word)&device) == CUDA_SUCCESS)
		left += adsm_driver_kept((void *)(intptr_t)device);
	*free = left < all ? left : all;
	*total = all;
	return CUDA_SUCCESS;
}

QUERY(2, cuMemAllocHost_v2, OUT(a, 8))
QUERY(3, cuMemHostAlloc, OUT(a, 8))
QUERY(3, cuMemAllocManaged, OUT(a, 8))
QUERY(3, cuMemHostGetDevicePointer_v2, OUT(a, 8))
QUERY(2, cuMemHostGetFlags, OUT(a, 4))
QUERY(5, cuMemAddressReserve, OUT(a, 8))
QUERY(4, cuMemCreate, OUT(a, 8), OUT(c, 32))
QUERY(4, cuMemSetAccess, OUT(c, d * 12))
QUERY(3, cuMemGetAccess, OUT(a, 8), OUT(b, 8))
QUERY(3, cuMemGetAllocationGranularity, OUT(a, 8), OUT(b, 32))
QUERY(2, cuMemGetAllocationPropertiesFromHandle, OUT(a, 32))
QUERY(2, cuMemRetainAllocationHandle, OUT(a, 8))
QUERY(2, cuMemPoolCreate, OUT(a, 8), OUT(b, 88))
QUERY(3, cuMemPoolGetAccess, OUT(a, 4), OUT(c, 8))
QUERY(3, cuMemPoolGetAttribute, VALUE(c))
QUERY(3, cuMemPoolSetAttribute, VALUE(c))
QUERY(5, cuMemRangeGetAttribute, OUT(a, b))
QUERY(3, cuMemGetDefaultMemPool, OUT(a, 8), OUT(b, 8))
QUERY(3, cuMemGetMemPool, OUT(a, 8), OUT(b, 8))
QUERY(3, cuPointerSetAttribute, VALUE(a))
QUERY(2, cuIpcGetEventHandle, OUT(a, 64))
QUERY(4, cuMemExportToShareableHandle, OUT(a, (unsigned)c == FABRIC ? 64 : 4))
QUERY(3, cuMemImportFromShareableHandle, OUT(a, 8), OUT(b, (unsigned)c == FABRIC ? 64 : 0))

/* ---- arrays */

QUERY(2, cuArrayCreate_v2, OUT(a, 8), OUT(b, 24))
QUERY(2, cuArrayGetDescriptor_v2, OUT(a, 24))
QUERY(2, cuArray3DCreate_v2, OUT(a, 8), OUT(b, 40))
QUERY(2, cuArray3DGetDescriptor_v2, OUT(a, 40))
QUERY(3, cuMipmappedArrayCreate, OUT(a, 8), OUT(b, 40))

/* ---- streams */

QUERY(2, cuStreamCreate, OUT(a, 8))
QUERY(3, cuStreamCreateWithPriority, OUT(a, 8))
QUERY_PTSZ(2, cuStreamGetPriority, OUT(b, 4))
QUERY_PTSZ(2, cuStreamGetFlags, OUT(b, 4))
QUERY_PTSZ(2, cuStreamGetId, OUT(b, 8))
QUERY_PTSZ(2, cuStreamGetCtx, OUT(b, 8))
QUERY_PTSZ(3, cuStreamGetCtx_v2, OUT(b, 8), OUT(c, 8))
QUERY_PTSZ(2, cuStreamGetDevice, OUT(b, 4))
QUERY_PTSZ(2, cuStreamIsCapturing, OUT(b, 4))
QUERY_PTSZ(3, cuStreamGetCaptureInfo, OUT(b, 4), OUT(c, 8))
QUERY_PTSZ(6, cuStreamGetCaptureInfo_v2, OUT(b, 4), OUT(c, 8), OUT(d, 8), OUT(e, 8), OUT(f, 8))
QUERY_PTSZ(7, cuStreamGetCaptureInfo_v3, OUT(b, 4), OUT(c, 8), OUT(d, 8), OUT(e, 8), OUT(f, 8), OUT(g, 8))
QUERY_PTSZ(3, cuStreamGetAttribute, OUT(c, 64))
QUERY_PTSZ(3, cuStreamSetAttribute, OUT(c, 64))
QUERY(1, cuThreadExchangeStreamCaptureMode, OUT(a, 4))

/* ---- events */

QUERY(2, cuEventCreate, OUT(a, 8))
QUERY(3, cuEventElapsedTime, OUT(a, 4))
QUERY(3, cuEventElapsedTime_v2, OUT(a, 4))

/* ---- graphs */

QUERY(2, cuGraphCreate, OUT(a, 8))
QUERY(2, cuGraphClone, OUT(a, 8))
QUERY(5, cuGraphInstantiate, OUT(a, 8), OUT(c, 8), OUT(d, e))
QUERY(5, cuGraphInstantiate_v2, OUT(a, 8), OUT(c, 8), OUT(d, e))
QUERY(3, cuGraphInstantiateWithFlags, OUT(a, 8))
QUERY_PTSZ(3, cuGraphInstantiateWithParams, OUT(a, 8), OUT(c, 32))
QUERY(2, cuGraphExecGetFlags, OUT(b, 8))
QUERY(4, cuGraphExecUpdate, OUT(c, 8), OUT(d, 4))
QUERY(3, cuGraphExecUpdate_v2, OUT(c, 24))
QUERY(3, cuGraphGetNodes, MANY(b, 8, c), OUT(c, 8))
QUERY(3, cuGraphGetRootNodes, MANY(b, 8, c), OUT(c, 8))
QUERY(4, cuGraphGetEdges, MANY(b, 8, d), MANY(c, 8, d), OUT(d, 8))
QUERY(5, cuGraphGetEdges_v2, MANY(b, 8, e), MANY(c, 8, e), MANY(d, 8, e), OUT(e, 8))
QUERY(2, cuGraphNodeGetType, OUT(b, 4))
QUERY(3, cuGraphNodeGetDependencies, MANY(b, 8, c), OUT(c, 8))
QUERY(4, cuGraphNodeGetDependencies_v2, MANY(b, 8, d), MANY(c, 8, d), OUT(d, 8))
QUERY(3, cuGraphNodeGetDependentNodes, MANY(b, 8, c), OUT(c, 8))
QUERY(4, cuGraphNodeGetDependentNodes_v2, MANY(b, 8, d), MANY(c, 8, d), OUT(d, 8))
QUERY(3, cuGraphNodeFindInClone, OUT(a, 8))
QUERY(3, cuGraphNodeGetEnabled, OUT(c, 4))
QUERY(2, cuGraphChildGraphNodeGetGraph, OUT(b, 8))
QUERY(2, cuGraphEventRecordNodeGetEvent, OUT(b, 8))
QUERY(2, cuGraphEventWaitNodeGetEvent, OUT(b, 8))

/* ---- nodes of kernels */

QUERY(2, cuGraphKernelNodeGetParams, OUT(b, 56))
QUERY(2, cuGraphKernelNodeGetParams_v2, OUT(b, 72))
QUERY(3, cuGraphKernelNodeGetAttribute, OUT(c, 64))
QUERY(3, cuGraphKernelNodeSetAttribute, OUT(c, 64))

/* ---- other nodes */

QUERY(6, cuGraphAddMemcpyNode, OUT(a, 8), OUT(c, d * 8), OUT(e, 200))
QUERY(2, cuGraphMemcpyNodeGetParams, OUT(b, 200))
QUERY(2, cuGraphMemcpyNodeSetParams, OUT(b, 200))
QUERY(4, cuGraphExecMemcpyNodeSetParams, OUT(c, 200))
QUERY(6, cuGraphAddMemsetNode, OUT(a, 8), OUT(c, d * 8), OUT(e, 40))
QUERY(2, cuGraphMemsetNodeGetParams, OUT(b, 40))
QUERY(2, cuGraphMemsetNodeSetParams, OUT(b, 40))
QUERY(4, cuGraphExecMemsetNodeSetParams, OUT(c, 40))
QUERY(5, cuGraphAddHostNode, OUT(a, 8), OUT(c, d * 8), OUT(e, 16))
QUERY(2, cuGraphHostNodeGetParams, OUT(b, 16))
QUERY(2, cuGraphHostNodeSetParams, OUT(b, 16))
QUERY(3, cuGraphExecHostNodeSetParams, OUT(c, 16))
QUERY(5, cuGraphAddChildGraphNode, OUT(a, 8), OUT(c, d * 8))
QUERY(4, cuGraphAddEmptyNode, OUT(a, 8), OUT(c, d * 8))
QUERY(5, cuGraphAddEventRecordNode, OUT(a, 8), OUT(c, d * 8))
QUERY(5, cuGraphAddEventWaitNode, OUT(a, 8), OUT(c, d * 8))
QUERY(5, cuGraphAddMemAllocNode, OUT(a, 8), OUT(c, d * 8), OUT(e, 120))
QUERY(2, cuGraphMemAllocNodeGetParams, OUT(b, 120))
QUERY(5, cuGraphAddMemFreeNode, OUT(a, 8), OUT(c, d * 8))
QUERY(2, cuGraphMemFreeNodeGetParams, OUT(b, 8))
QUERY(4, cuGraphAddDependencies, OUT(b, d * 8), OUT(c, d * 8))
QUERY(5, cuGraphAddDependencies_v2, OUT(b, e * 8), OUT(c, e * 8), OUT(d, e * 8))
QUERY(4, cuGraphRemoveDependencies, OUT(b, d * 8), OUT(c, d * 8))
QUERY(5, cuGraphRemoveDependencies_v2, OUT(b, e * 8), OUT(c, e * 8), OUT(d, e * 8))
QUERY(3, cuDeviceGetGraphMemAttribute, VALUE(c))
QUERY(3, cuDeviceSetGraphMemAttribute, VALUE(c))

/* ---- the rest */

QUERY(5, cuUserObjectCreate, OUT(a, 8))

/* ---- occupancy */

QUERY(4, cuOccupancyMaxActiveBlocksPerMultiprocessor, OUT(a, 4))
QUERY(5, cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, OUT(a, 4))
QUERY(6, cuOccupancyMaxPotentialBlockSize, OUT(a, 4), OUT(b, 4))
QUERY(7, cuOccupancyMaxPotentialBlockSizeWithFlags, OUT(a, 4), OUT(b, 4))
QUERY(4, cuOccupancyAvailableDynamicSMemPerBlock, OUT(a, 8))
QUERY(3, cuOccupancyMaxPotentialClusterSize, OUT(a, 4), OUT(c, 56))
QUERY(3, cuOccupancyMaxActiveClusters, OUT(a, 4), OUT(c, 56))
