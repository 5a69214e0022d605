/* SPDX-License-Identifier: MIT */
/*
 * runtime.h - as much of CUDA's runtime interface as runtime.c has and the programs use, declared anew. Names and
 * numbers are the runtime's; what begins with __ is what a compiler's host stubs call.
 */
#ifndef TEST_CUDA_RUNTIME_H
#define TEST_CUDA_RUNTIME_H

#include <stddef.h>

#define CUDART_API __attribute__((visibility("default")))

typedef int cudaError_t;
typedef struct CUstream_st *cudaStream_t;
typedef struct CUevent_st *cudaEvent_t;
typedef struct CUgraph_st *cudaGraph_t;
typedef struct CUgraphExec_st *cudaGraphExec_t;
typedef void cudaHostFn_t(void *data);
typedef void cudaStreamCallback_t(cudaStream_t stream, cudaError_t status, void *data);
typedef struct { unsigned x, y, z; } dim3;
typedef struct { char reserved[64]; } cudaIpcMemHandle_t;
typedef struct {
	dim3 gridDim, blockDim;
	size_t dynamicSmemBytes;
	cudaStream_t stream;
	void *attrs;
	unsigned numAttrs;
} cudaLaunchConfig_t;
typedef struct CUkern_st *cudaKernel_t;
struct cudaFuncAttributes {
	size_t sharedSizeBytes, constSizeBytes, localSizeBytes;
	int maxThreadsPerBlock, numRegs, ptxVersion, binaryVersion, cacheModeCA, maxDynamicSharedSizeBytes;
	int preferredShmemCarveout, clusterDimMustBeSet, requiredClusterWidth, requiredClusterHeight;
	int requiredClusterDepth, clusterSchedulingPolicyAllowed, nonPortableClusterSizeAllowed, reserved[16];
};
struct cudaDeviceProp {			/* of version 13 */
	char name[256], uuid[16], luid[8];
	unsigned luidDeviceNodeMask;
	size_t totalGlobalMem, sharedMemPerBlock;
	int regsPerBlock, warpSize;
	size_t memPitch;
	int maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3];
	size_t totalConstMem;
	int major, minor;
	size_t textureAlignment, texturePitchAlignment;
	int multiProcessorCount, integrated, canMapHostMemory;
	int textures[39];		/* and surfaces: sizes */
	size_t surfaceAlignment;
	int concurrentKernels, ECCEnabled, pciBusID, pciDeviceID, pciDomainID, tccDriver, asyncEngineCount;
	int unifiedAddressing, memoryBusWidth, l2CacheSize, persistingL2CacheMaxSize, maxThreadsPerMultiProcessor;
	int streamPrioritiesSupported, globalL1CacheSupported, localL1CacheSupported;
	size_t sharedMemPerMultiprocessor;
	int regsPerMultiprocessor, managedMemory;
	char more[368];
};
struct cudaPointerAttributes {
	int type, device;
	void *devicePointer, *hostPointer;
	long reserved[8];
};

enum {
	cudaSuccess = 0,
	cudaErrorInvalidValue = 1,
	cudaErrorMemoryAllocation = 2,
	cudaErrorInvalidPitchValue = 12,
	cudaErrorInvalidSymbol = 13,
	cudaErrorInvalidMemcpyDirection = 21,
	cudaErrorInsufficientDriver = 35,
	cudaErrorMissingConfiguration = 52,
	cudaErrorInvalidDeviceFunction = 98,
	cudaErrorNoDevice = 100,
	cudaErrorInvalidDevice = 101,
	cudaErrorSymbolNotFound = 500,
	cudaErrorNotReady = 600,
	cudaErrorNotSupported = 801,
};
enum { cudaMemcpyHostToHost, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice,
       cudaMemcpyDefault };
enum { cudaStreamDefault = 0, cudaStreamNonBlocking = 1 };
enum { cudaEventDefault = 0, cudaEventBlockingSync = 1, cudaEventDisableTiming = 2 };
enum { cudaMemAttachGlobal = 1 };
enum { cudaMemoryTypeUnregistered, cudaMemoryTypeHost, cudaMemoryTypeDevice, cudaMemoryTypeManaged };

CUDART_API void **__cudaRegisterFatBinary(void *wrapper);
CUDART_API void __cudaRegisterFatBinaryEnd(void **binary);
CUDART_API void __cudaUnregisterFatBinary(void **binary);
CUDART_API void __cudaRegisterFunction(void **binary, const char *host, char *device, const char *name, int threads,
				       void *tid, void *bid, dim3 *block, dim3 *grid, int *warp);
CUDART_API void __cudaRegisterVar(void **binary, char *host, char *device, const char *name, int ext, size_t size,
				  int constant, int global);
CUDART_API char __cudaInitModule(void **binary);
CUDART_API unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, cudaStream_t stream);
CUDART_API cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream);

CUDART_API cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *function);
CUDART_API cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **args, size_t shared,
					  cudaStream_t stream);

CUDART_API cudaError_t cudaGetLastError(void);
CUDART_API cudaError_t cudaPeekAtLastError(void);
CUDART_API const char *cudaGetErrorName(cudaError_t error);
CUDART_API const char *cudaGetErrorString(cudaError_t error);
CUDART_API cudaError_t cudaDriverGetVersion(int *version);
CUDART_API cudaError_t cudaRuntimeGetVersion(int *version);
CUDART_API cudaError_t cudaGetDeviceCount(int *count);
CUDART_API cudaError_t cudaGetDevice(int *device);
CUDART_API cudaError_t cudaSetDevice(int device);
CUDART_API cudaError_t cudaDeviceGetAttribute(int *value, int attribute, int device);
CUDART_API cudaError_t cudaSetDeviceFlags(unsigned flags);
CUDART_API cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device);
CUDART_API cudaError_t cudaProfilerStart(void);
CUDART_API cudaError_t cudaProfilerStop(void);
CUDART_API cudaError_t cudaDeviceSynchronize(void);
CUDART_API cudaError_t cudaDeviceReset(void);

CUDART_API cudaError_t cudaMalloc(void **p, size_t size);
CUDART_API cudaError_t cudaMallocPitch(void **p, size_t *pitch, size_t width, size_t height);
CUDART_API cudaError_t cudaFree(void *p);
CUDART_API cudaError_t cudaMallocAsync(void **p, size_t size, cudaStream_t stream);
CUDART_API cudaError_t cudaFreeAsync(void *p, cudaStream_t stream);
CUDART_API cudaError_t cudaHostAlloc(void **p, size_t size, unsigned flags);
CUDART_API cudaError_t cudaMallocHost(void **p, size_t size);
CUDART_API cudaError_t cudaFreeHost(void *p);
CUDART_API cudaError_t cudaHostRegister(void *p, size_t size, unsigned flags);
CUDART_API cudaError_t cudaHostUnregister(void *p);
CUDART_API cudaError_t cudaHostGetDevicePointer(void **device, void *p, unsigned flags);
CUDART_API cudaError_t cudaMallocManaged(void **p, size_t size, unsigned flags);
CUDART_API cudaError_t cudaGetSymbolAddress(void **p, const void *symbol);
CUDART_API cudaError_t cudaGetSymbolSize(size_t *size, const void *symbol);
CUDART_API cudaError_t cudaMemcpyToSymbol(const void *symbol, const void *src, size_t size, size_t offset, int kind);
CUDART_API cudaError_t cudaMemcpyFromSymbol(void *dst, const void *symbol, size_t size, size_t offset, int kind);
CUDART_API cudaError_t cudaMemGetInfo(size_t *free, size_t *total);
CUDART_API cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *p);
CUDART_API cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t *handle, void *p);

CUDART_API cudaError_t cudaMemcpy(void *dst, const void *src, size_t size, int kind);
CUDART_API cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t size, int kind, cudaStream_t stream);
CUDART_API cudaError_t cudaMemcpy2D(void *dst, size_t dst_pitch, const void *src, size_t src_pitch, size_t width,
				    size_t height, int kind);
CUDART_API cudaError_t cudaMemcpy2DAsync(void *dst, size_t dst_pitch, const void *src, size_t src_pitch, size_t width,
					 size_t height, int kind, cudaStream_t stream);
CUDART_API cudaError_t cudaMemset(void *p, int value, size_t n);
CUDART_API cudaError_t cudaMemsetAsync(void *p, int value, size_t n, cudaStream_t stream);
CUDART_API cudaError_t cudaMemset2D(void *p, size_t pitch, int value, size_t width, size_t height);

CUDART_API cudaError_t cudaStreamCreate(cudaStream_t *stream);
CUDART_API cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags);
CUDART_API cudaError_t cudaStreamDestroy(cudaStream_t stream);
CUDART_API cudaError_t cudaStreamSynchronize(cudaStream_t stream);
CUDART_API cudaError_t cudaStreamQuery(cudaStream_t stream);
CUDART_API cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags);
CUDART_API cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t *function, void *data,
					     unsigned flags);
CUDART_API cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t *function, void *data);
CUDART_API cudaError_t cudaEventCreate(cudaEvent_t *event);
CUDART_API cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags);
CUDART_API cudaError_t cudaEventDestroy(cudaEvent_t event);
CUDART_API cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
CUDART_API cudaError_t cudaEventQuery(cudaEvent_t event);
CUDART_API cudaError_t cudaEventSynchronize(cudaEvent_t event);
CUDART_API cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t start, cudaEvent_t end);

CUDART_API cudaError_t cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **args, size_t shared,
					cudaStream_t stream);
CUDART_API cudaError_t cudaLaunchCooperativeKernel(const void *function, dim3 grid, dim3 block, void **args,
						   size_t shared, cudaStream_t stream);
CUDART_API cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *function, void **args);
CUDART_API cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *function);
CUDART_API cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *n, const void *function, int threads,
									      size_t shared, unsigned flags);
CUDART_API cudaError_t cudaStreamBeginCapture(cudaStream_t stream, int mode);
CUDART_API cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph);
CUDART_API cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags);
CUDART_API cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream);
CUDART_API cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec);
CUDART_API cudaError_t cudaGraphDestroy(cudaGraph_t graph);

#endif
