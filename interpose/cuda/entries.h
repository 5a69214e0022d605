/* SPDX-License-Identifier: MIT */
/*
 * entries.h - the driver's functions that have a wrapper, with all their variants.
 *
 * Variants whose names end in _ptds or _ptsz are for programs with a default stream per thread. If a function has a _v2
 * with 64-bit addresses, the first version, with 32-bit addresses, has no wrapper.
 */
#ifndef ADSM_CUDA_ENTRIES_H
#define ADSM_CUDA_ENTRIES_H

#include "cuda/cu.h"

typedef struct {
	size_t srcXInBytes, srcY, srcZ, srcLOD;
	int srcMemoryType;
	const void *srcHost;
	CUdeviceptr srcDevice;
	CUarray srcArray;
	CUcontext srcContext;
	size_t srcPitch, srcHeight;
	size_t dstXInBytes, dstY, dstZ, dstLOD;
	int dstMemoryType;
	void *dstHost;
	CUdeviceptr dstDevice;
	CUarray dstArray;
	CUcontext dstContext;
	size_t dstPitch, dstHeight;
	size_t WidthInBytes, Height, Depth;
} CUDA_MEMCPY3D_PEER;

typedef struct { char reserved[64]; } CUipcMemHandle;
/* All operations with an address begin in this way. */
typedef union { struct { int operation; CUdeviceptr address; } any; uint64_t pad[6]; } CUstreamBatchMemOpParams;

/* Both variants: the ordinary one, and the one for a default stream per thread. */
#define ADSM_CU_PTDS(name, params) CUresult name params; CUresult name##_ptds params;
#define ADSM_CU_PTSZ(name, params) CUresult name params; CUresult name##_ptsz params;

/* ---- context.c */

CUresult cuInit(unsigned flags);
CUresult cuCtxDestroy(CUcontext context);
CUresult cuCtxDestroy_v2(CUcontext context);
CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device);
CUresult cuDevicePrimaryCtxRelease(CUdevice device);
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device);
CUresult cuDevicePrimaryCtxReset(CUdevice device);
CUresult cuDevicePrimaryCtxReset_v2(CUdevice device);

/* ---- memory.c */

CUresult cuMemAlloc_v2(CUdeviceptr *p, size_t size);
CUresult cuMemAllocPitch_v2(CUdeviceptr *p, size_t *pitch, size_t width, size_t height, unsigned element);
ADSM_CU_PTSZ(cuMemAllocAsync, (CUdeviceptr *p, size_t size, CUstream stream))
ADSM_CU_PTSZ(cuMemAllocFromPoolAsync, (CUdeviceptr *p, size_t size, CUmemoryPool pool, CUstream stream))
CUresult cuMemFree_v2(CUdeviceptr p);
ADSM_CU_PTSZ(cuMemFreeAsync, (CUdeviceptr p, CUstream stream))
CUresult cuMemGetAddressRange_v2(CUdeviceptr *start, size_t *size, CUdeviceptr p);
CUresult cuPointerGetAttribute(void *value, int attribute, CUdeviceptr p);
CUresult cuPointerGetAttributes(unsigned n, int *attributes, void **values, CUdeviceptr p);
CUresult cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr p);
CUresult cuMemPoolExportPointer(void *data, CUdeviceptr p);
CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *access, size_t n);
CUresult cuMemGetHandleForAddressRange(void *handle, CUdeviceptr p, size_t size, int type, unsigned long long flags);
CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags);

/* ---- copy.c */

ADSM_CU_PTDS(cuMemcpy, (CUdeviceptr dst, CUdeviceptr src, size_t size))
ADSM_CU_PTDS(cuMemcpyHtoD_v2, (CUdeviceptr dst, const void *src, size_t size))
ADSM_CU_PTDS(cuMemcpyDtoH_v2, (void *dst, CUdeviceptr src, size_t size))
ADSM_CU_PTDS(cuMemcpyDtoD_v2, (CUdeviceptr dst, CUdeviceptr src, size_t size))
ADSM_CU_PTDS(cuMemcpyPeer, (CUdeviceptr dst, CUcontext dst_context, CUdeviceptr src, CUcontext src_context,
			    size_t size))
ADSM_CU_PTSZ(cuMemcpyAsync, (CUdeviceptr dst, CUdeviceptr src, size_t size, CUstream stream))
ADSM_CU_PTSZ(cuMemcpyHtoDAsync_v2, (CUdeviceptr dst, const void *src, size_t size, CUstream stream))
ADSM_CU_PTSZ(cuMemcpyDtoHAsync_v2, (void *dst, CUdeviceptr src, size_t size, CUstream stream))
ADSM_CU_PTSZ(cuMemcpyDtoDAsync_v2, (CUdeviceptr dst, CUdeviceptr src, size_t size, CUstream stream))
ADSM_CU_PTSZ(cuMemcpyPeerAsync, (CUdeviceptr dst, CUcontext dst_context, CUdeviceptr src, CUcontext src_context,
				 size_t size, CUstream stream))
ADSM_CU_PTSZ(cuMemcpyBatchAsync, (CUdeviceptr *dst, CUdeviceptr *src, size_t *sizes, size_t n, void *attributes,
				  size_t *indices, size_t n_attributes, size_t *failed, CUstream stream))
ADSM_CU_PTSZ(cuMemcpyBatchAsync_v2, (CUdeviceptr *dst, CUdeviceptr *src, size_t *sizes, size_t n, void *attributes,
				     size_t *indices, size_t n_attributes, CUstream stream))

ADSM_CU_PTDS(cuMemcpy2D_v2, (const CUDA_MEMCPY2D *copy))
ADSM_CU_PTDS(cuMemcpy2DUnaligned_v2, (const CUDA_MEMCPY2D *copy))
ADSM_CU_PTSZ(cuMemcpy2DAsync_v2, (const CUDA_MEMCPY2D *copy, CUstream stream))
ADSM_CU_PTDS(cuMemcpy3D_v2, (const CUDA_MEMCPY3D *copy))
ADSM_CU_PTSZ(cuMemcpy3DAsync_v2, (const CUDA_MEMCPY3D *copy, CUstream stream))
ADSM_CU_PTDS(cuMemcpy3DPeer, (const CUDA_MEMCPY3D_PEER *copy))
ADSM_CU_PTSZ(cuMemcpy3DPeerAsync, (const CUDA_MEMCPY3D_PEER *copy, CUstream stream))
ADSM_CU_PTSZ(cuMemcpy3DBatchAsync, (size_t n, void *copies, size_t *failed, unsigned long long flags, CUstream stream))
ADSM_CU_PTSZ(cuMemcpy3DBatchAsync_v2, (size_t n, void *copies, unsigned long long flags, CUstream stream))

ADSM_CU_PTDS(cuMemcpyDtoA_v2, (CUarray dst, size_t offset, CUdeviceptr src, size_t size))
ADSM_CU_PTDS(cuMemcpyAtoD_v2, (CUdeviceptr dst, CUarray src, size_t offset, size_t size))
ADSM_CU_PTDS(cuMemcpyHtoA_v2, (CUarray dst, size_t offset, const void *src, size_t size))
ADSM_CU_PTDS(cuMemcpyAtoH_v2, (void *dst, CUarray src, size_t offset, size_t size))
ADSM_CU_PTSZ(cuMemcpyHtoAAsync_v2, (CUarray dst, size_t offset, const void *src, size_t size, CUstream stream))
ADSM_CU_PTSZ(cuMemcpyAtoHAsync_v2, (void *dst, CUarray src, size_t offset, size_t size, CUstream stream))

ADSM_CU_PTDS(cuMemsetD8_v2, (CUdeviceptr dst, unsigned char value, size_t n))
ADSM_CU_PTDS(cuMemsetD16_v2, (CUdeviceptr dst, unsigned short value, size_t n))
ADSM_CU_PTDS(cuMemsetD32_v2, (CUdeviceptr dst, unsigned value, size_t n))
ADSM_CU_PTSZ(cuMemsetD8Async, (CUdeviceptr dst, unsigned char value, size_t n, CUstream stream))
ADSM_CU_PTSZ(cuMemsetD16Async, (CUdeviceptr dst, unsigned short value, size_t n, CUstream stream))
ADSM_CU_PTSZ(cuMemsetD32Async, (CUdeviceptr dst, unsigned value, size_t n, CUstream stream))
ADSM_CU_PTDS(cuMemsetD2D8_v2, (CUdeviceptr dst, size_t pitch, unsigned char value, size_t n, size_t height))
ADSM_CU_PTDS(cuMemsetD2D16_v2, (CUdeviceptr dst, size_t pitch, unsigned short value, size_t n, size_t height))
ADSM_CU_PTDS(cuMemsetD2D32_v2, (CUdeviceptr dst, size_t pitch, unsigned value, size_t n, size_t height))
ADSM_CU_PTSZ(cuMemsetD2D8Async, (CUdeviceptr dst, size_t pitch, unsigned char value, size_t n, size_t height,
				 CUstream stream))
ADSM_CU_PTSZ(cuMemsetD2D16Async, (CUdeviceptr dst, size_t pitch, unsigned short value, size_t n, size_t height,
				  CUstream stream))
ADSM_CU_PTSZ(cuMemsetD2D32Async, (CUdeviceptr dst, size_t pitch, unsigned value, size_t n, size_t height,
				  CUstream stream))

ADSM_CU_PTSZ(cuStreamWriteValue32, (CUstream stream, CUdeviceptr dst, uint32_t value, unsigned flags))
ADSM_CU_PTSZ(cuStreamWriteValue32_v2, (CUstream stream, CUdeviceptr dst, uint32_t value, unsigned flags))
ADSM_CU_PTSZ(cuStreamWriteValue64, (CUstream stream, CUdeviceptr dst, uint64_t value, unsigned flags))
ADSM_CU_PTSZ(cuStreamWriteValue64_v2, (CUstream stream, CUdeviceptr dst, uint64_t value, unsigned flags))
ADSM_CU_PTSZ(cuStreamBatchMemOp, (CUstream stream, unsigned n, CUstreamBatchMemOpParams *operations, unsigned flags))
ADSM_CU_PTSZ(cuStreamBatchMemOp_v2, (CUstream stream, unsigned n, CUstreamBatchMemOpParams *operations, unsigned flags))

/* ---- launch.c */

ADSM_CU_PTSZ(cuLaunchKernel, (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
			      unsigned block_y, unsigned block_z, unsigned shared, CUstream stream, void **params,
			      void **extra))
ADSM_CU_PTSZ(cuLaunchCooperativeKernel, (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
					 unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
					 CUstream stream, void **params))
ADSM_CU_PTSZ(cuLaunchKernelEx, (const CUlaunchConfig *config, CUfunction function, void **params, void **extra))
CUresult cuLaunchCooperativeKernelMultiDevice(void *launches, unsigned n, unsigned flags);
CUresult cuLaunch(CUfunction function);
CUresult cuLaunchGrid(CUfunction function, int width, int height);
CUresult cuLaunchGridAsync(CUfunction function, int width, int height, CUstream stream);
ADSM_CU_PTSZ(cuGraphLaunch, (CUgraphExec graph, CUstream stream))
ADSM_CU_PTSZ(cuLaunchHostFunc, (CUstream stream, CUhostFn *function, void *data))
ADSM_CU_PTSZ(cuStreamAddCallback, (CUstream stream, CUstreamCallback *function, void *data, unsigned flags))

/* ---- handles.c */

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name);
CUresult cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name);
CUresult cuLibraryGetModule(CUmodule *module, CUlibrary library);
CUresult cuKernelGetFunction(CUfunction *function, CUkernel kernel);
CUresult cuModuleUnload(CUmodule module);
CUresult cuLibraryUnload(CUlibrary library);
/* Since CUDA 12.4. */
CUresult cuModuleEnumerateFunctions(CUfunction *functions, unsigned n, CUmodule module);
CUresult cuLibraryEnumerateKernels(CUkernel *kernels, unsigned n, CUlibrary library);

/* ---- stream.c */

CUresult cuStreamDestroy(CUstream stream);
CUresult cuStreamDestroy_v2(CUstream stream);
ADSM_CU_PTSZ(cuStreamBeginCapture, (CUstream stream))
ADSM_CU_PTSZ(cuStreamBeginCapture_v2, (CUstream stream, int mode))
ADSM_CU_PTSZ(cuStreamBeginCaptureToGraph, (CUstream stream, CUgraph graph, const void *dependencies, const void *data,
					   size_t n, int mode))
ADSM_CU_PTSZ(cuStreamEndCapture, (CUstream stream, CUgraph *graph))

/* ---- sync.c */

CUresult cuCtxSynchronize(void);
CUresult cuCtxSynchronize_v2(CUcontext context);
ADSM_CU_PTSZ(cuStreamSynchronize, (CUstream stream))
ADSM_CU_PTSZ(cuStreamQuery, (CUstream stream))
CUresult cuEventSynchronize(CUevent event);
CUresult cuEventQuery(CUevent event);

#endif
