/* SPDX-License-Identifier: MIT */
/*
 * driver_table.c - which symbol a name means for which version of the interface: cuGetProcAddress, which gives the very
 * symbols that are exported.
 */
#include "driver_own.h"

#include <stdio.h>
#include <string.h>

static const struct {
	int since;
	const char *name, *suffix;	/* of the symbol */
	const char *per_thread;		/* its suffix in that flavour; "": it has none */
} table[] = {
	{ 2000, "cuCtxAttach", "", "" },
	{ 2000, "cuCtxCreate", "", "" },
	{ 3020, "cuCtxCreate", "_v2", "" },
	{ 11040, "cuCtxCreate", "_v3", "" },
	{ 12050, "cuCtxCreate", "_v4", "" },
	{ 2000, "cuCtxDestroy", "", "" },
	{ 4000, "cuCtxDestroy", "_v2", "" },
	{ 2000, "cuCtxDetach", "", "" },
	{ 4000, "cuCtxEnablePeerAccess", "", "" },
	{ 3020, "cuCtxGetApiVersion", "", "" },
	{ 3020, "cuCtxGetCacheConfig", "", "" },
	{ 4000, "cuCtxGetCurrent", "", "" },
	{ 2000, "cuCtxGetDevice", "", "" },
	{ 13000, "cuCtxGetDevice", "_v2", "" },
	{ 7000, "cuCtxGetFlags", "", "" },
	{ 12000, "cuCtxGetId", "", "" },
	{ 3010, "cuCtxGetLimit", "", "" },
	{ 5050, "cuCtxGetStreamPriorityRange", "", "" },
	{ 2000, "cuCtxPopCurrent", "", "" },
	{ 4000, "cuCtxPopCurrent", "_v2", "" },
	{ 2000, "cuCtxPushCurrent", "", "" },
	{ 4000, "cuCtxPushCurrent", "_v2", "" },
	{ 3020, "cuCtxSetCacheConfig", "", "" },
	{ 4000, "cuCtxSetCurrent", "", "" },
	{ 3010, "cuCtxSetLimit", "", "" },
	{ 2000, "cuCtxSynchronize", "", "" },
	{ 13000, "cuCtxSynchronize", "_v2", "" },
	{ 4000, "cuDeviceCanAccessPeer", "", "" },
	{ 2000, "cuDeviceComputeCapability", "", "" },
	{ 2000, "cuDeviceGet", "", "" },
	{ 2000, "cuDeviceGetAttribute", "", "" },
	{ 2000, "cuDeviceGetCount", "", "" },
	{ 11020, "cuDeviceGetDefaultMemPool", "", "" },
	{ 11020, "cuDeviceGetMemPool", "", "" },
	{ 2000, "cuDeviceGetName", "", "" },
	{ 4010, "cuDeviceGetPCIBusId", "", "" },
	{ 9020, "cuDeviceGetUuid", "", "" },
	{ 11040, "cuDeviceGetUuid", "_v2", "" },
	{ 7000, "cuDevicePrimaryCtxGetState", "", "" },
	{ 7000, "cuDevicePrimaryCtxRelease", "", "" },
	{ 11000, "cuDevicePrimaryCtxRelease", "_v2", "" },
	{ 7000, "cuDevicePrimaryCtxReset", "", "" },
	{ 11000, "cuDevicePrimaryCtxReset", "_v2", "" },
	{ 7000, "cuDevicePrimaryCtxRetain", "", "" },
	{ 7000, "cuDevicePrimaryCtxSetFlags", "", "" },
	{ 11000, "cuDevicePrimaryCtxSetFlags", "_v2", "" },
	{ 2000, "cuDeviceTotalMem", "", "" },
	{ 3020, "cuDeviceTotalMem", "_v2", "" },
	{ 2020, "cuDriverGetVersion", "", "" },
	{ 2000, "cuEventCreate", "", "" },
	{ 2000, "cuEventDestroy", "", "" },
	{ 4000, "cuEventDestroy", "_v2", "" },
	{ 2000, "cuEventElapsedTime", "", "" },
	{ 12080, "cuEventElapsedTime", "_v2", "" },
	{ 2000, "cuEventQuery", "", "" },
	{ 2000, "cuEventRecord", "", "_ptsz" },
	{ 11010, "cuEventRecordWithFlags", "", "_ptsz" },
	{ 2000, "cuEventSynchronize", "", "" },
	{ 2020, "cuFuncGetAttribute", "", "" },
	{ 11000, "cuFuncGetModule", "", "" },
	{ 12030, "cuFuncGetName", "", "" },
	{ 12040, "cuFuncGetParamInfo", "", "" },
	{ 12040, "cuFuncIsLoaded", "", "" },
	{ 12040, "cuFuncLoad", "", "" },
	{ 9000, "cuFuncSetAttribute", "", "" },
	{ 3000, "cuFuncSetCacheConfig", "", "" },
	{ 4020, "cuFuncSetSharedMemConfig", "", "" },
	{ 6000, "cuGetErrorName", "", "" },
	{ 6000, "cuGetErrorString", "", "" },
	{ 3000, "cuGetExportTable", "", "" },
	{ 11030, "cuGetProcAddress", "", "" },
	{ 12000, "cuGetProcAddress", "_v2", "" },
	{ 10000, "cuGraphAddKernelNode", "", "" },
	{ 12000, "cuGraphAddKernelNode", "_v2", "" },
	{ 12020, "cuGraphAddNode", "", "" },
	{ 10000, "cuGraphCreate", "", "" },
	{ 10000, "cuGraphDestroy", "", "" },
	{ 10000, "cuGraphExecDestroy", "", "" },
	{ 10000, "cuGraphInstantiate", "", "" },
	{ 11000, "cuGraphInstantiate", "_v2", "" },
	{ 11040, "cuGraphInstantiateWithFlags", "", "" },
	{ 12000, "cuGraphInstantiateWithParams", "", "_ptsz" },
	{ 10000, "cuGraphKernelNodeGetParams", "", "" },
	{ 12000, "cuGraphKernelNodeGetParams", "_v2", "" },
	{ 10000, "cuGraphKernelNodeSetParams", "", "" },
	{ 12000, "cuGraphKernelNodeSetParams", "_v2", "" },
	{ 12020, "cuGraphNodeSetParams", "", "" },
	{ 10000, "cuGraphLaunch", "", "_ptsz" },
	{ 11010, "cuGraphUpload", "", "_ptsz" },
	{ 2000, "cuInit", "", "" },
	{ 4010, "cuIpcCloseMemHandle", "", "" },
	{ 4010, "cuIpcGetMemHandle", "", "" },
	{ 4010, "cuIpcOpenMemHandle", "", "" },
	{ 11000, "cuIpcOpenMemHandle", "_v2", "" },
	{ 12000, "cuKernelGetAttribute", "", "" },
	{ 12000, "cuKernelGetFunction", "", "" },
	{ 12030, "cuKernelGetName", "", "" },
	{ 12040, "cuKernelGetParamInfo", "", "" },
	{ 12000, "cuKernelSetAttribute", "", "" },
	{ 2000, "cuLaunch", "", "" },
	{ 9000, "cuLaunchCooperativeKernel", "", "_ptsz" },
	{ 9000, "cuLaunchCooperativeKernelMultiDevice", "", "" },
	{ 2000, "cuLaunchGrid", "", "" },
	{ 2000, "cuLaunchGridAsync", "", "" },
	{ 10000, "cuLaunchHostFunc", "", "_ptsz" },
	{ 4000, "cuLaunchKernel", "", "_ptsz" },
	{ 11060, "cuLaunchKernelEx", "", "_ptsz" },
	{ 12040, "cuLibraryEnumerateKernels", "", "" },
	{ 12000, "cuLibraryGetGlobal", "", "" },
	{ 12000, "cuLibraryGetKernel", "", "" },
	{ 12040, "cuLibraryGetKernelCount", "", "" },
	{ 12000, "cuLibraryGetManaged", "", "" },
	{ 12000, "cuLibraryGetModule", "", "" },
	{ 12000, "cuLibraryLoadData", "", "" },
	{ 12000, "cuLibraryLoadFromFile", "", "" },
	{ 12000, "cuLibraryUnload", "", "" },
	{ 6050, "cuLinkCreate", "_v2", "" },
	{ 5050, "cuLinkDestroy", "", "" },
	{ 10020, "cuMemAddressFree", "", "" },
	{ 10020, "cuMemAddressReserve", "", "" },
	{ 8000, "cuMemAdvise", "", "" },
	{ 12020, "cuMemAdvise", "_v2", "" },
	{ 2000, "cuMemAlloc", "", "" },
	{ 3020, "cuMemAlloc", "_v2", "" },
	{ 11020, "cuMemAllocAsync", "", "_ptsz" },
	{ 11020, "cuMemAllocFromPoolAsync", "", "_ptsz" },
	{ 2000, "cuMemAllocHost", "", "" },
	{ 3020, "cuMemAllocHost", "_v2", "" },
	{ 6000, "cuMemAllocManaged", "", "" },
	{ 2000, "cuMemAllocPitch", "", "" },
	{ 3020, "cuMemAllocPitch", "_v2", "" },
	{ 12060, "cuMemBatchDecompressAsync", "", "_ptsz" },
	{ 10020, "cuMemCreate", "", "" },
	{ 10020, "cuMemExportToShareableHandle", "", "" },
	{ 2000, "cuMemFree", "", "" },
	{ 3020, "cuMemFree", "_v2", "" },
	{ 11020, "cuMemFreeAsync", "", "_ptsz" },
	{ 2000, "cuMemFreeHost", "", "" },
	{ 10020, "cuMemGetAccess", "", "" },
	{ 2000, "cuMemGetAddressRange", "", "" },
	{ 3020, "cuMemGetAddressRange", "_v2", "" },
	{ 10020, "cuMemGetAllocationGranularity", "", "" },
	{ 11070, "cuMemGetHandleForAddressRange", "", "" },
	{ 2000, "cuMemGetInfo", "", "" },
	{ 3020, "cuMemGetInfo", "_v2", "" },
	{ 2020, "cuMemHostAlloc", "", "" },
	{ 2020, "cuMemHostGetDevicePointer", "", "" },
	{ 3020, "cuMemHostGetDevicePointer", "_v2", "" },
	{ 2030, "cuMemHostGetFlags", "", "" },
	{ 4000, "cuMemHostRegister", "", "" },
	{ 6050, "cuMemHostRegister", "_v2", "" },
	{ 4000, "cuMemHostUnregister", "", "" },
	{ 10020, "cuMemMap", "", "" },
	{ 11010, "cuMemMapArrayAsync", "", "_ptsz" },
	{ 11020, "cuMemPoolCreate", "", "" },
	{ 11020, "cuMemPoolDestroy", "", "" },
	{ 11020, "cuMemPoolGetAttribute", "", "" },
	{ 11020, "cuMemPoolSetAccess", "", "" },
	{ 11020, "cuMemPoolSetAttribute", "", "" },
	{ 11020, "cuMemPoolTrimTo", "", "" },
	{ 8000, "cuMemPrefetchAsync", "", "_ptsz" },
	{ 12020, "cuMemPrefetchAsync", "_v2", "_ptsz" },
	{ 10020, "cuMemRelease", "", "" },
	{ 11000, "cuMemRetainAllocationHandle", "", "" },
	{ 10020, "cuMemSetAccess", "", "" },
	{ 10020, "cuMemUnmap", "", "" },
	{ 4000, "cuMemcpy", "", "_ptds" },
	{ 2000, "cuMemcpy2D", "", "" },
	{ 3020, "cuMemcpy2D", "_v2", "_ptds" },
	{ 2000, "cuMemcpy2DAsync", "", "" },
	{ 3020, "cuMemcpy2DAsync", "_v2", "_ptsz" },
	{ 2000, "cuMemcpy2DUnaligned", "", "" },
	{ 3020, "cuMemcpy2DUnaligned", "_v2", "_ptds" },
	{ 2000, "cuMemcpy3D", "", "" },
	{ 3020, "cuMemcpy3D", "_v2", "_ptds" },
	{ 2000, "cuMemcpy3DAsync", "", "" },
	{ 3020, "cuMemcpy3DAsync", "_v2", "_ptsz" },
	{ 12080, "cuMemcpy3DBatchAsync", "", "_ptsz" },
	{ 13000, "cuMemcpy3DBatchAsync", "_v2", "_ptsz" },
	{ 4000, "cuMemcpy3DPeer", "", "_ptds" },
	{ 4000, "cuMemcpy3DPeerAsync", "", "_ptsz" },
	{ 4000, "cuMemcpyAsync", "", "_ptsz" },
	{ 2000, "cuMemcpyAtoA", "", "" },
	{ 3020, "cuMemcpyAtoA", "_v2", "_ptds" },
	{ 2000, "cuMemcpyAtoD", "", "" },
	{ 3020, "cuMemcpyAtoD", "_v2", "_ptds" },
	{ 2000, "cuMemcpyAtoH", "", "" },
	{ 3020, "cuMemcpyAtoH", "_v2", "_ptds" },
	{ 2000, "cuMemcpyAtoHAsync", "", "" },
	{ 3020, "cuMemcpyAtoHAsync", "_v2", "_ptsz" },
	{ 12080, "cuMemcpyBatchAsync", "", "_ptsz" },
	{ 13000, "cuMemcpyBatchAsync", "_v2", "_ptsz" },
	{ 2000, "cuMemcpyDtoA", "", "" },
	{ 3020, "cuMemcpyDtoA", "_v2", "_ptds" },
	{ 2000, "cuMemcpyDtoD", "", "" },
	{ 3020, "cuMemcpyDtoD", "_v2", "_ptds" },
	{ 3000, "cuMemcpyDtoDAsync", "", "" },
	{ 3020, "cuMemcpyDtoDAsync", "_v2", "_ptsz" },
	{ 2000, "cuMemcpyDtoH", "", "" },
	{ 3020, "cuMemcpyDtoH", "_v2", "_ptds" },
	{ 2000, "cuMemcpyDtoHAsync", "", "" },
	{ 3020, "cuMemcpyDtoHAsync", "_v2", "_ptsz" },
	{ 2000, "cuMemcpyHtoA", "", "" },
	{ 3020, "cuMemcpyHtoA", "_v2", "_ptds" },
	{ 2000, "cuMemcpyHtoAAsync", "", "" },
	{ 3020, "cuMemcpyHtoAAsync", "_v2", "_ptsz" },
	{ 2000, "cuMemcpyHtoD", "", "" },
	{ 3020, "cuMemcpyHtoD", "_v2", "_ptds" },
	{ 2000, "cuMemcpyHtoDAsync", "", "" },
	{ 3020, "cuMemcpyHtoDAsync", "_v2", "_ptsz" },
	{ 4000, "cuMemcpyPeer", "", "_ptds" },
	{ 4000, "cuMemcpyPeerAsync", "", "_ptsz" },
	{ 2000, "cuMemsetD16", "", "" },
	{ 3020, "cuMemsetD16", "_v2", "_ptds" },
	{ 3020, "cuMemsetD16Async", "", "_ptsz" },
	{ 2000, "cuMemsetD2D16", "", "" },
	{ 3020, "cuMemsetD2D16", "_v2", "_ptds" },
	{ 3020, "cuMemsetD2D16Async", "", "_ptsz" },
	{ 2000, "cuMemsetD2D32", "", "" },
	{ 3020, "cuMemsetD2D32", "_v2", "_ptds" },
	{ 3020, "cuMemsetD2D32Async", "", "_ptsz" },
	{ 2000, "cuMemsetD2D8", "", "" },
	{ 3020, "cuMemsetD2D8", "_v2", "_ptds" },
	{ 3020, "cuMemsetD2D8Async", "", "_ptsz" },
	{ 2000, "cuMemsetD32", "", "" },
	{ 3020, "cuMemsetD32", "_v2", "_ptds" },
	{ 3020, "cuMemsetD32Async", "", "_ptsz" },
	{ 2000, "cuMemsetD8", "", "" },
	{ 3020, "cuMemsetD8", "_v2", "_ptds" },
	{ 3020, "cuMemsetD8Async", "", "_ptsz" },
	{ 12040, "cuModuleEnumerateFunctions", "", "" },
	{ 2000, "cuModuleGetFunction", "", "" },
	{ 12040, "cuModuleGetFunctionCount", "", "" },
	{ 2000, "cuModuleGetGlobal", "", "" },
	{ 3020, "cuModuleGetGlobal", "_v2", "" },
	{ 11070, "cuModuleGetLoadingMode", "", "" },
	{ 3000, "cuModuleGetSurfRef", "", "" },
	{ 2000, "cuModuleGetTexRef", "", "" },
	{ 2000, "cuModuleLoad", "", "" },
	{ 2000, "cuModuleLoadData", "", "" },
	{ 2010, "cuModuleLoadDataEx", "", "" },
	{ 2000, "cuModuleLoadFatBinary", "", "" },
	{ 2000, "cuModuleUnload", "", "" },
	{ 6050, "cuOccupancyMaxActiveBlocksPerMultiprocessor", "", "" },
	{ 7000, "cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", "", "" },
	{ 4000, "cuPointerGetAttribute", "", "" },
	{ 7000, "cuPointerGetAttributes", "", "" },
	{ 6000, "cuPointerSetAttribute", "", "" },
	{ 5000, "cuStreamAddCallback", "", "_ptsz" },
	{ 6000, "cuStreamAttachMemAsync", "", "_ptsz" },
	{ 8000, "cuStreamBatchMemOp", "", "_ptsz" },
	{ 11070, "cuStreamBatchMemOp", "_v2", "_ptsz" },
	{ 10000, "cuStreamBeginCapture", "", "_ptsz" },
	{ 10010, "cuStreamBeginCapture", "_v2", "_ptsz" },
	{ 12030, "cuStreamBeginCaptureToGraph", "", "_ptsz" },
	{ 2000, "cuStreamCreate", "", "" },
	{ 5050, "cuStreamCreateWithPriority", "", "" },
	{ 2000, "cuStreamDestroy", "", "" },
	{ 4000, "cuStreamDestroy", "_v2", "" },
	{ 10000, "cuStreamEndCapture", "", "_ptsz" },
	{ 10010, "cuStreamGetCaptureInfo", "", "_ptsz" },
	{ 11030, "cuStreamGetCaptureInfo", "_v2", "_ptsz" },
	{ 12030, "cuStreamGetCaptureInfo", "_v3", "_ptsz" },
	{ 9020, "cuStreamGetCtx", "", "_ptsz" },
	{ 12080, "cuStreamGetDevice", "", "_ptsz" },
	{ 5050, "cuStreamGetFlags", "", "_ptsz" },
	{ 12000, "cuStreamGetId", "", "_ptsz" },
	{ 5050, "cuStreamGetPriority", "", "_ptsz" },
	{ 10000, "cuStreamIsCapturing", "", "_ptsz" },
	{ 2000, "cuStreamQuery", "", "_ptsz" },
	{ 2000, "cuStreamSynchronize", "", "_ptsz" },
	{ 3020, "cuStreamWaitEvent", "", "_ptsz" },
	{ 8000, "cuStreamWaitValue32", "", "_ptsz" },
	{ 11070, "cuStreamWaitValue32", "_v2", "_ptsz" },
	{ 9000, "cuStreamWaitValue64", "", "_ptsz" },
	{ 11070, "cuStreamWaitValue64", "_v2", "_ptsz" },
	{ 8000, "cuStreamWriteValue32", "", "_ptsz" },
	{ 11070, "cuStreamWriteValue32", "_v2", "_ptsz" },
	{ 9000, "cuStreamWriteValue64", "", "_ptsz" },
	{ 11070, "cuStreamWriteValue64", "_v2", "_ptsz" },
	{ 10010, "cuThreadExchangeStreamCaptureMode", "", "" },
	{ 4000, "cuProfilerStart", "", "" },
	{ 4000, "cuProfilerStop", "", "" },
};

/* What an old driver has not got, of a version or at all. */
static bool is_missing(int since, const char *name)
{
	static const char *const vmm[] = {
		"cuMemAddressReserve", "cuMemAddressFree", "cuMemCreate", "cuMemRelease", "cuMemMap", "cuMemUnmap",
		"cuMemSetAccess", "cuMemGetAccess", "cuMemGetAllocationGranularity", "cuMemRetainAllocationHandle",
	};

	if (!plan.old)
		return false;
	for (size_t i = 0; i < sizeof(vmm) / sizeof(vmm[0]); i++) {
		if (!strcmp(vmm[i], name))
			return true;
	}
	return since > DRIVER_OLD_VERSION;
}

static CUresult get(const char *name, void **ret, int version, uint64_t flags, int *ret_status)
{
	int status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND, best = 0;
	char symbol[128] = "";
	struct call *call;

	if (!name || !ret || flags > CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = NULL;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		if (strcmp(table[i].name, name) || is_missing(table[i].since, name))
			continue;
		if (table[i].since > version) {
			if (!best)
				status = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
		} else if (table[i].since > best) {
			best = table[i].since;
			status = CU_GET_PROC_ADDRESS_SUCCESS;
			snprintf(symbol, sizeof(symbol), "%s%s%s", name, table[i].suffix,
				 flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM ? table[i].per_thread : "");
		}
	}
	if (ret_status)
		*ret_status = status;
	call = best ? driver_find(symbol) : NULL;
	if (!call)
		return CUDA_ERROR_NOT_FOUND;
	*ret = call->function;
	return 0;
}

CU(cuGetProcAddress, (const char *name, void **ret, int version, uint64_t flags))
{
	ENTER(cuGetProcAddress, ANY);
	return get(name, ret, version, flags, NULL);
}

CU(cuGetProcAddress_v2, (const char *name, void **ret, int version, uint64_t flags, int *ret_status))
{
	ENTER(cuGetProcAddress_v2, ANY);
	return get(name, ret, version, flags, ret_status);
}
