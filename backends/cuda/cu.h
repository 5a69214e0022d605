/* SPDX-License-Identifier: MIT */
/* cu.h - the part of CUDA's driver interface that the library uses, declared again: neither building nor testing needs
 * the toolkit. Names and numbers are the driver's. Never include this together with <cuda.h>. */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef int CUresult;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUlib_st *CUlibrary;
typedef struct CUkern_st *CUkernel;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUarray_st *CUarray;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphExec_st *CUgraphExec;
typedef struct CUgraphNode_st *CUgraphNode;
typedef struct CUmemPoolHandle_st *CUmemoryPool;
typedef unsigned long long CUmemGenericAllocationHandle;
typedef void CUhostFn(void *data);
typedef void CUstreamCallback(CUstream stream, CUresult status, void *data);
typedef struct { unsigned char bytes[16]; } CUuuid;

enum {
	CUDA_SUCCESS = 0,
	CUDA_ERROR_INVALID_VALUE = 1,
	CUDA_ERROR_OUT_OF_MEMORY = 2,
	CUDA_ERROR_NOT_INITIALIZED = 3,
	CUDA_ERROR_DEINITIALIZED = 4,
	CUDA_ERROR_STUB_LIBRARY = 34,
	CUDA_ERROR_DEVICE_UNAVAILABLE = 46,
	CUDA_ERROR_NO_DEVICE = 100,
	CUDA_ERROR_INVALID_DEVICE = 101,
	CUDA_ERROR_INVALID_IMAGE = 200,
	CUDA_ERROR_INVALID_CONTEXT = 201,
	CUDA_ERROR_NO_BINARY_FOR_GPU = 209,
	CUDA_ERROR_ECC_UNCORRECTABLE = 214,
	CUDA_ERROR_INVALID_PTX = 218,
	CUDA_ERROR_NVLINK_UNCORRECTABLE = 220,
	CUDA_ERROR_JIT_COMPILER_NOT_FOUND = 221,
	CUDA_ERROR_UNSUPPORTED_PTX_VERSION = 222,
	CUDA_ERROR_JIT_COMPILATION_DISABLED = 223,
	CUDA_ERROR_CONTAINED = 226,
	CUDA_ERROR_INVALID_SOURCE = 300,
	CUDA_ERROR_FILE_NOT_FOUND = 301,
	CUDA_ERROR_OPERATING_SYSTEM = 304,
	CUDA_ERROR_INVALID_HANDLE = 400,
	CUDA_ERROR_NOT_FOUND = 500,
	CUDA_ERROR_NOT_READY = 600,
	CUDA_ERROR_ILLEGAL_ADDRESS = 700,
	CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES = 701,
	CUDA_ERROR_LAUNCH_TIMEOUT = 702,
	CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE = 708,
	CUDA_ERROR_CONTEXT_IS_DESTROYED = 709,
	CUDA_ERROR_ASSERT = 710,
	CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED = 712,
	CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED = 713,
	CUDA_ERROR_HARDWARE_STACK_ERROR = 714,
	CUDA_ERROR_ILLEGAL_INSTRUCTION = 715,
	CUDA_ERROR_MISALIGNED_ADDRESS = 716,
	CUDA_ERROR_INVALID_ADDRESS_SPACE = 717,
	CUDA_ERROR_INVALID_PC = 718,
	CUDA_ERROR_LAUNCH_FAILED = 719,
	CUDA_ERROR_TENSOR_MEMORY_LEAK = 721,
	CUDA_ERROR_NOT_PERMITTED = 800,
	CUDA_ERROR_NOT_SUPPORTED = 801,
	CUDA_ERROR_SYSTEM_NOT_READY = 802,
	CUDA_ERROR_SYSTEM_DRIVER_MISMATCH = 803,
	CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900,
	CUDA_ERROR_STREAM_CAPTURE_INVALIDATED = 901,
	CUDA_ERROR_STREAM_CAPTURE_UNJOINED = 904,
	CUDA_ERROR_STREAM_CAPTURE_IMPLICIT = 906,
	CUDA_ERROR_UNKNOWN = 999,
};

enum {
	CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 1,
	CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X = 2,
	CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y = 3,
	CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z = 4,
	CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X = 5,
	CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y = 6,
	CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z = 7,
	CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK = 8,
	CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
	CU_DEVICE_ATTRIBUTE_INTEGRATED = 18,
	CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING = 41,
	CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
	CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
	CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED = 102,
	CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED = 115,
};

enum { CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 0, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8 };
enum { CU_JIT_INFO_LOG_BUFFER = 3, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES = 4, CU_JIT_ERROR_LOG_BUFFER = 5,
       CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6 };
enum { CU_STREAM_DEFAULT = 0, CU_STREAM_NON_BLOCKING = 1 };
#define CU_STREAM_LEGACY ((CUstream)1)
#define CU_STREAM_PER_THREAD ((CUstream)2)
enum { CU_EVENT_DEFAULT = 0, CU_EVENT_BLOCKING_SYNC = 1, CU_EVENT_DISABLE_TIMING = 2 };
enum { CU_MEMHOSTREGISTER_PORTABLE = 1, CU_MEMHOSTREGISTER_DEVICEMAP = 2 };
enum { CU_MEMORYTYPE_HOST = 1, CU_MEMORYTYPE_DEVICE = 2, CU_MEMORYTYPE_ARRAY = 3, CU_MEMORYTYPE_UNIFIED = 4 };
enum { CU_POINTER_ATTRIBUTE_CONTEXT = 1, CU_POINTER_ATTRIBUTE_MEMORY_TYPE = 2, CU_POINTER_ATTRIBUTE_DEVICE_POINTER = 3,
       CU_POINTER_ATTRIBUTE_HOST_POINTER = 4, CU_POINTER_ATTRIBUTE_P2P_TOKENS = 5, CU_POINTER_ATTRIBUTE_IS_MANAGED = 8,
       CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR = 11,
       CU_POINTER_ATTRIBUTE_RANGE_SIZE = 12, CU_POINTER_ATTRIBUTE_MAPPED = 13 };
enum { CU_STREAM_CAPTURE_STATUS_NONE = 0, CU_STREAM_CAPTURE_STATUS_ACTIVE = 1,
       CU_STREAM_CAPTURE_STATUS_INVALIDATED = 2 };
enum { CU_STREAM_CAPTURE_MODE_GLOBAL = 0, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL = 1,
       CU_STREAM_CAPTURE_MODE_RELAXED = 2 };
enum { CU_GET_PROC_ADDRESS_DEFAULT = 0, CU_GET_PROC_ADDRESS_LEGACY_STREAM = 1,
       CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM = 2 };
enum { CU_GET_PROC_ADDRESS_SUCCESS = 0, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND = 1,
       CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT = 2 };

/* ---- virtual memory */

enum { CU_MEM_ALLOCATION_TYPE_PINNED = 1, CU_MEM_LOCATION_TYPE_DEVICE = 1, CU_MEM_ACCESS_FLAGS_PROT_READWRITE = 3,
       CU_MEM_ALLOC_GRANULARITY_MINIMUM = 0, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED = 1 };

typedef struct {
	int type, id;
} CUmemLocation;

typedef struct {
	int type, requestedHandleTypes;
	CUmemLocation location;
	void *win32HandleMetaData;
	struct {
		unsigned char compressionType, gpuDirectRDMACapable;
		unsigned short usage;
		unsigned char reserved[4];
	} allocFlags;
} CUmemAllocationProp;

typedef struct {
	CUmemLocation location;
	int flags;
} CUmemAccessDesc;

/* ---- copies in two and three dimensions, launches with attributes */

typedef struct {
	size_t srcXInBytes, srcY;
	int srcMemoryType;
	const void *srcHost;
	CUdeviceptr srcDevice;
	CUarray srcArray;
	size_t srcPitch;
	size_t dstXInBytes, dstY;
	int dstMemoryType;
	void *dstHost;
	CUdeviceptr dstDevice;
	CUarray dstArray;
	size_t dstPitch;
	size_t WidthInBytes, Height;
} CUDA_MEMCPY2D;

typedef struct {
	size_t srcXInBytes, srcY, srcZ, srcLOD;
	int srcMemoryType;
	const void *srcHost;
	CUdeviceptr srcDevice;
	CUarray srcArray;
	void *reserved0;
	size_t srcPitch, srcHeight;
	size_t dstXInBytes, dstY, dstZ, dstLOD;
	int dstMemoryType;
	void *dstHost;
	CUdeviceptr dstDevice;
	CUarray dstArray;
	void *reserved1;
	size_t dstPitch, dstHeight;
	size_t WidthInBytes, Height, Depth;
} CUDA_MEMCPY3D;

typedef struct {
	unsigned gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
	CUstream hStream;
	void *attrs;
	unsigned numAttrs;
} CUlaunchConfig;

/* ---- functions that the library itself calls, looked up by name in libcuda.so.1 */

#define ADSM_CU_FUNCTIONS(F, OPTIONAL) \
	F(cuInit, (unsigned flags)) \
	F(cuDriverGetVersion, (int *version)) \
	F(cuGetErrorName, (CUresult error, const char **name)) \
	F(cuGetErrorString, (CUresult error, const char **text)) \
	F(cuDeviceGetCount, (int *count)) \
	F(cuDeviceGet, (CUdevice *device, int ordinal)) \
	F(cuDeviceGetName, (char *name, int size, CUdevice device)) \
	F(cuDeviceGetAttribute, (int *value, int attribute, CUdevice device)) \
	F(cuDeviceTotalMem_v2, (size_t *bytes, CUdevice device)) \
	F(cuDevicePrimaryCtxRetain, (CUcontext *context, CUdevice device)) \
	F(cuDevicePrimaryCtxRelease_v2, (CUdevice device)) \
	F(cuDevicePrimaryCtxGetState, (CUdevice device, unsigned *flags, int *active)) \
	F(cuCtxGetCurrent, (CUcontext *context)) \
	F(cuCtxGetDevice, (CUdevice *device)) \
	F(cuCtxPushCurrent_v2, (CUcontext context)) \
	F(cuCtxPopCurrent_v2, (CUcontext *context)) \
	F(cuCtxSynchronize, (void)) \
	F(cuMemGetInfo_v2, (size_t *free, size_t *total)) \
	F(cuMemAlloc_v2, (CUdeviceptr *p, size_t size)) \
	F(cuMemFree_v2, (CUdeviceptr p)) \
	F(cuMemcpyHtoDAsync_v2, (CUdeviceptr dst, const void *src, size_t size, CUstream stream)) \
	F(cuMemcpyDtoHAsync_v2, (void *dst, CUdeviceptr src, size_t size, CUstream stream)) \
	F(cuMemcpyDtoDAsync_v2, (CUdeviceptr dst, CUdeviceptr src, size_t size, CUstream stream)) \
	F(cuMemsetD8Async, (CUdeviceptr p, unsigned char value, size_t n, CUstream stream)) \
	F(cuMemHostRegister_v2, (void *p, size_t size, unsigned flags)) \
	F(cuMemHostUnregister, (void *p)) \
	F(cuStreamCreate, (CUstream *stream, unsigned flags)) \
	F(cuStreamDestroy_v2, (CUstream stream)) \
	F(cuStreamSynchronize, (CUstream stream)) \
	F(cuStreamQuery, (CUstream stream)) \
	F(cuStreamWaitEvent, (CUstream stream, CUevent event, unsigned flags)) \
	F(cuEventCreate, (CUevent *event, unsigned flags)) \
	F(cuEventDestroy_v2, (CUevent event)) \
	F(cuEventRecord, (CUevent event, CUstream stream)) \
	F(cuEventQuery, (CUevent event)) \
	F(cuEventSynchronize, (CUevent event)) \
	F(cuEventElapsedTime, (float *milliseconds, CUevent start, CUevent end)) \
	F(cuModuleLoadDataEx, (CUmodule *module, const void *image, unsigned n, int *options, void **values)) \
	F(cuModuleUnload, (CUmodule module)) \
	F(cuModuleGetGlobal_v2, (CUdeviceptr *address, size_t *size, CUmodule module, const char *name)) \
	F(cuModuleGetFunction, (CUfunction *function, CUmodule module, const char *name)) \
	F(cuFuncGetAttribute, (int *value, int attribute, CUfunction function)) \
	F(cuFuncSetAttribute, (CUfunction function, int attribute, int value)) \
	F(cuLaunchKernel, (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, \
			   unsigned block_y, unsigned block_z, unsigned shared, CUstream stream, void **params, \
			   void **extra)) \
	F(cuPointerGetAttribute, (void *value, int attribute, CUdeviceptr p)) \
	OPTIONAL(cuMemAddressReserve, (CUdeviceptr *p, size_t size, size_t align, CUdeviceptr wanted, \
				       unsigned long long flags)) \
	OPTIONAL(cuMemAddressFree, (CUdeviceptr p, size_t size)) \
	OPTIONAL(cuMemCreate, (CUmemGenericAllocationHandle *handle, size_t size, const CUmemAllocationProp *prop, \
			       unsigned long long flags)) \
	OPTIONAL(cuMemRelease, (CUmemGenericAllocationHandle handle)) \
	OPTIONAL(cuMemMap, (CUdeviceptr p, size_t size, size_t offset, CUmemGenericAllocationHandle handle, \
			    unsigned long long flags)) \
	OPTIONAL(cuMemUnmap, (CUdeviceptr p, size_t size)) \
	OPTIONAL(cuMemSetAccess, (CUdeviceptr p, size_t size, const CUmemAccessDesc *desc, size_t n)) \
	OPTIONAL(cuMemGetAllocationGranularity, (size_t *bytes, const CUmemAllocationProp *prop, int which)) \
	OPTIONAL(cuFuncGetParamInfo, (CUfunction function, size_t index, size_t *offset, size_t *size)) \
	OPTIONAL(cuFuncGetName, (const char **name, CUfunction function)) \
	OPTIONAL(cuFuncGetModule, (CUmodule *module, CUfunction function)) \
	OPTIONAL(cuModuleGetFunctionCount, (unsigned *count, CUmodule module)) \
	OPTIONAL(cuModuleEnumerateFunctions, (CUfunction *functions, unsigned n, CUmodule module)) \
	OPTIONAL(cuStreamIsCapturing, (CUstream stream, int *status)) \
	OPTIONAL(cuThreadExchangeStreamCaptureMode, (int *mode))

/* Optional functions that the driver lacks are NULL. */
struct adsm_cu {
#define ADSM_CU_FIELD(name, params) CUresult (*name) params;
	ADSM_CU_FUNCTIONS(ADSM_CU_FIELD, ADSM_CU_FIELD)
#undef ADSM_CU_FIELD
};

extern struct adsm_cu adsm_cu;

/* Open the driver (ADSM_CUDA_LIBRARY), look up all functions, and call cuInit(): once. Returns 0, or a negative errno
 * with adsm_fail(). */
int adsm_cu_open(void);
/* Returns "CUDA_ERROR_…", or the number as text. The text is static. */
const char *adsm_cu_error_name(CUresult error);
