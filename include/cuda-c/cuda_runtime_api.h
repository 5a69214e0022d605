/* SPDX-License-Identifier: MIT */
/*
 * cuda_runtime_api.h - the functions of CUDA's runtime that programs call on the CPU: declarations, because clang reads
 * the whole source when it compiles the kernels.
 */
#ifndef ADSM_CUDA_RUNTIME_API_H
#define ADSM_CUDA_RUNTIME_API_H

#include "driver_types.h"

extern "C" {

/* Devices. */
cudaError_t cudaGetDeviceCount(int *ret_count);
cudaError_t cudaGetDevice(int *ret_device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaSetDeviceFlags(unsigned int flags);
cudaError_t cudaGetDeviceFlags(unsigned int *ret_flags);
cudaError_t cudaSetValidDevices(int *devices, int n);
cudaError_t cudaChooseDevice(int *ret_device, const struct cudaDeviceProp *wanted);
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *ret_properties, int device);
cudaError_t cudaDeviceGetAttribute(int *ret_value, enum cudaDeviceAttr attribute, int device);
cudaError_t cudaDeviceGetPCIBusId(char *ret_id, int size, int device);
cudaError_t cudaDeviceGetByPCIBusId(int *ret_device, const char *id);
cudaError_t cudaDeviceGetStreamPriorityRange(int *ret_least, int *ret_greatest);
cudaError_t cudaDeviceGetLimit(size_t *ret_value, enum cudaLimit limit);
cudaError_t cudaDeviceSetLimit(enum cudaLimit limit, size_t value);
cudaError_t cudaDeviceGetCacheConfig(enum cudaFuncCache *ret_config);
cudaError_t cudaDeviceSetCacheConfig(enum cudaFuncCache config);
cudaError_t cudaDeviceGetSharedMemConfig(enum cudaSharedMemConfig *ret_config);
cudaError_t cudaDeviceSetSharedMemConfig(enum cudaSharedMemConfig config);
cudaError_t cudaDeviceSynchronize(void);
cudaError_t cudaDeviceReset(void);
cudaError_t cudaThreadSynchronize(void);
cudaError_t cudaThreadExit(void);
cudaError_t cudaDeviceCanAccessPeer(int *ret_can, int device, int peer);
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned int flags);
cudaError_t cudaDeviceDisablePeerAccess(int peer);
cudaError_t cudaDriverGetVersion(int *ret_version);
cudaError_t cudaRuntimeGetVersion(int *ret_version);

/* Errors. */
cudaError_t cudaGetLastError(void);
cudaError_t cudaPeekAtLastError(void);
const char *cudaGetErrorName(cudaError_t error);
const char *cudaGetErrorString(cudaError_t error);

/* Memory. */
cudaError_t cudaMalloc(void **ret_p, size_t size);
cudaError_t cudaMallocHost(void **ret_p, size_t size);
cudaError_t cudaMallocPitch(void **ret_p, size_t *ret_pitch, size_t width, size_t height);
cudaError_t cudaMalloc3D(struct cudaPitchedPtr *ret_p, struct cudaExtent extent);
cudaError_t cudaMallocManaged(void **ret_p, size_t size, unsigned int flags);
cudaError_t cudaMallocAsync(void **ret_p, size_t size, cudaStream_t stream);
cudaError_t cudaFree(void *p);
cudaError_t cudaFreeAsync(void *p, cudaStream_t stream);
cudaError_t cudaFreeHost(void *p);
cudaError_t cudaHostAlloc(void **ret_p, size_t size, unsigned int flags);
cudaError_t cudaHostRegister(void *p, size_t size, unsigned int flags);
cudaError_t cudaHostUnregister(void *p);
cudaError_t cudaHostGetDevicePointer(void **ret_p, void *p, unsigned int flags);
cudaError_t cudaHostGetFlags(unsigned int *ret_flags, void *p);
cudaError_t cudaMemGetInfo(size_t *ret_free, size_t *ret_total);
cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *ret_attributes, const void *p);
cudaError_t cudaMemAdvise(const void *p, size_t size, enum cudaMemoryAdvise advice, int device);

/* Copies and fills. */
cudaError_t cudaMemcpy(void *to, const void *from, size_t size, enum cudaMemcpyKind kind);
cudaError_t cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device, size_t size);
cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
			 enum cudaMemcpyKind kind);
cudaError_t cudaMemcpy3D(const struct cudaMemcpy3DParms *parameters);
cudaError_t cudaMemset(void *p, int value, size_t size);
cudaError_t cudaMemset2D(void *p, size_t pitch, int value, size_t width, size_t height);
cudaError_t cudaMemset3D(struct cudaPitchedPtr p, int value, struct cudaExtent extent);
cudaError_t cudaMemcpyToSymbol(const void *symbol, const void *from, size_t size, size_t offset,
			       enum cudaMemcpyKind kind);
cudaError_t cudaMemcpyFromSymbol(void *to, const void *symbol, size_t size, size_t offset, enum cudaMemcpyKind kind);
cudaError_t cudaGetSymbolAddress(void **ret_p, const void *symbol);
cudaError_t cudaGetSymbolSize(size_t *ret_size, const void *symbol);

/* Arrays and textures. */
struct cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, enum cudaChannelFormatKind kind);
cudaError_t cudaFreeArray(cudaArray_t array);
cudaError_t cudaMemcpyToArray(cudaArray_t array, size_t x, size_t y, const void *from, size_t size,
			      enum cudaMemcpyKind kind);
cudaError_t cudaMemcpyFromArray(void *to, cudaArray_const_t array, size_t x, size_t y, size_t size,
				enum cudaMemcpyKind kind);
cudaError_t cudaMemcpy2DToArray(cudaArray_t array, size_t x, size_t y, const void *from, size_t pitch, size_t width,
				size_t height, enum cudaMemcpyKind kind);
cudaError_t cudaMemcpy2DFromArray(void *to, size_t pitch, cudaArray_const_t array, size_t x, size_t y, size_t width,
				  size_t height, enum cudaMemcpyKind kind);
cudaError_t cudaCreateTextureObject(cudaTextureObject_t *ret_texture, const struct cudaResourceDesc *resource,
				    const struct cudaTextureDesc *texture, const struct cudaResourceViewDesc *view);
cudaError_t cudaDestroyTextureObject(cudaTextureObject_t texture);

/* Streams and events. */
cudaError_t cudaStreamCreate(cudaStream_t *ret_stream);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void *data, unsigned int flags);
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *data);
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *ret_graph);
cudaError_t cudaEventCreate(cudaEvent_t *ret_event);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float *ret_ms, cudaEvent_t from, cudaEvent_t to);
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph);

/* Kernels. clang calls the second function for <<< >>>. */
cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *ret_attributes, const void *function);
cudaError_t cudaFuncSetAttribute(const void *function, enum cudaFuncAttribute attribute, int value);
cudaError_t cudaFuncSetCacheConfig(const void *function, enum cudaFuncCache config);
cudaError_t cudaFuncSetSharedMemConfig(const void *function, enum cudaSharedMemConfig config);
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *ret_blocks, const void *function, int threads,
							  size_t shared);
cudaError_t cudaProfilerStart(void);
cudaError_t cudaProfilerStop(void);

}

/* The default values that CUDA's reference gives are C++. */
extern "C" {
cudaError_t cudaConfigureCall(dim3 grid, dim3 block, size_t shared = 0, cudaStream_t stream = 0);
unsigned int __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared = 0, cudaStream_t stream = 0);
cudaError_t cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **arguments, size_t shared = 0,
			     cudaStream_t stream = 0);
cudaError_t cudaLaunchCooperativeKernel(const void *function, dim3 grid, dim3 block, void **arguments,
					size_t shared = 0, cudaStream_t stream = 0);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t size, enum cudaMemcpyKind kind, cudaStream_t stream = 0);
cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t size,
				cudaStream_t stream = 0);
cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
			      size_t height, enum cudaMemcpyKind kind, cudaStream_t stream = 0);
cudaError_t cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *parameters, cudaStream_t stream = 0);
cudaError_t cudaMemsetAsync(void *p, int value, size_t size, cudaStream_t stream = 0);
cudaError_t cudaMemset2DAsync(void *p, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream = 0);
cudaError_t cudaMemcpyToSymbolAsync(const void *symbol, const void *from, size_t size, size_t offset,
				    enum cudaMemcpyKind kind, cudaStream_t stream = 0);
cudaError_t cudaMemcpyFromSymbolAsync(void *to, const void *symbol, size_t size, size_t offset,
				      enum cudaMemcpyKind kind, cudaStream_t stream = 0);
cudaError_t cudaMemPrefetchAsync(const void *p, size_t size, int device, cudaStream_t stream = 0);
cudaError_t cudaMallocArray(cudaArray_t *ret_array, const struct cudaChannelFormatDesc *format, size_t width,
			    size_t height = 0, unsigned int flags = 0);
cudaError_t cudaMalloc3DArray(cudaArray_t *ret_array, const struct cudaChannelFormatDesc *format,
			      struct cudaExtent extent, unsigned int flags = 0);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *ret_stream, unsigned int flags);
cudaError_t cudaStreamCreateWithPriority(cudaStream_t *ret_stream, unsigned int flags, int priority);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags = 0);
cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void *p, size_t size = 0,
				     unsigned int flags = cudaMemAttachSingle);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *ret_event, unsigned int flags);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = 0);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *ret_exec, cudaGraph_t graph, cudaGraphNode_t *ret_node, char *ret_log,
				 size_t size);
}

/* The forms with the program's own types, as templates. */

#define ADSM_CUDA_HOST_TEMPLATE(parameter) \
	template <typename parameter> static __inline__ __attribute__((host, unused)) cudaError_t

ADSM_CUDA_HOST_TEMPLATE(T) cudaMalloc(T **ret_p, size_t size) { return cudaMalloc((void **)ret_p, size); }
ADSM_CUDA_HOST_TEMPLATE(T) cudaMallocHost(T **ret_p, size_t size, unsigned int = 0)
{
	return cudaMallocHost((void **)ret_p, size);
}
ADSM_CUDA_HOST_TEMPLATE(T) cudaHostAlloc(T **ret_p, size_t size, unsigned int flags)
{
	return cudaHostAlloc((void **)ret_p, size, flags);
}
ADSM_CUDA_HOST_TEMPLATE(T) cudaMallocPitch(T **ret_p, size_t *ret_pitch, size_t width, size_t height)
{
	return cudaMallocPitch((void **)ret_p, ret_pitch, width, height);
}
ADSM_CUDA_HOST_TEMPLATE(T) cudaMallocManaged(T **ret_p, size_t size, unsigned int flags = cudaMemAttachGlobal)
{
	return cudaMallocManaged((void **)ret_p, size, flags);
}
ADSM_CUDA_HOST_TEMPLATE(T) cudaMallocAsync(T **ret_p, size_t size, cudaStream_t stream)
{
	return cudaMallocAsync((void **)ret_p, size, stream);
}
ADSM_CUDA_HOST_TEMPLATE(T) cudaHostGetDevicePointer(T **ret_p, void *p, unsigned int flags)
{
	return cudaHostGetDevicePointer((void **)ret_p, p, flags);
}
ADSM_CUDA_HOST_TEMPLATE(T) cudaMemcpyToSymbol(const T &symbol, const void *from, size_t size, size_t offset = 0,
					      enum cudaMemcpyKind kind = cudaMemcpyHostToDevice)
{
	return cudaMemcpyToSymbol((const void *)&symbol, from, size, offset, kind);
}
ADSM_CUDA_HOST_TEMPLATE(T) cudaMemcpyFromSymbol(void *to, const T &symbol, size_t size, size_t offset = 0,
						enum cudaMemcpyKind kind = cudaMemcpyDeviceToHost)
{
	return cudaMemcpyFromSymbol(to, (const void *)&symbol, size, offset, kind);
}
ADSM_CUDA_HOST_TEMPLATE(T) cudaMemcpyToSymbolAsync(const T &symbol, const void *from, size_t size, size_t offset = 0,
						   enum cudaMemcpyKind kind = cudaMemcpyHostToDevice,
						   cudaStream_t stream = 0)
{
	return cudaMemcpyToSymbolAsync((const void *)&symbol, from, size, offset, kind, stream);
}
ADSM_CUDA_HOST_TEMPLATE(T) cudaMemcpyFromSymbolAsync(void *to, const T &symbol, size_t size, size_t offset = 0,
						     enum cudaMemcpyKind kind = cudaMemcpyDeviceToHost,
						     cudaStream_t stream = 0)
{
	return cudaMemcpyFromSymbolAsync(to, (const void *)&symbol, size, offset, kind, stream);
}
ADSM_CUDA_HOST_TEMPLATE(T) cudaGetSymbolAddress(void **ret_p, const T &symbol)
{
	return cudaGetSymbolAddress(ret_p, (const void *)&symbol);
}
ADSM_CUDA_HOST_TEMPLATE(T) cudaGetSymbolSize(size_t *ret_size, const T &symbol)
{
	return cudaGetSymbolSize(ret_size, (const void *)&symbol);
}
ADSM_CUDA_HOST_TEMPLATE(T) cudaFuncGetAttributes(struct cudaFuncAttributes *ret_attributes, T *function)
{
	return cudaFuncGetAttributes(ret_attributes, (const void *)function);
}
ADSM_CUDA_HOST_TEMPLATE(T) cudaFuncSetAttribute(T *function, enum cudaFuncAttribute attribute, int value)
{
	return cudaFuncSetAttribute((const void *)function, attribute, value);
}
ADSM_CUDA_HOST_TEMPLATE(T) cudaFuncSetCacheConfig(T *function, enum cudaFuncCache config)
{
	return cudaFuncSetCacheConfig((const void *)function, config);
}
ADSM_CUDA_HOST_TEMPLATE(T) cudaLaunchKernel(T *function, dim3 grid, dim3 block, void **arguments, size_t shared = 0,
					    cudaStream_t stream = 0)
{
	return cudaLaunchKernel((const void *)function, grid, block, arguments, shared, stream);
}
ADSM_CUDA_HOST_TEMPLATE(T) cudaLaunchCooperativeKernel(T *function, dim3 grid, dim3 block, void **arguments,
						       size_t shared = 0, cudaStream_t stream = 0)
{
	return cudaLaunchCooperativeKernel((const void *)function, grid, block, arguments, shared, stream);
}
ADSM_CUDA_HOST_TEMPLATE(T) cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *ret_blocks, T function, int threads,
									 size_t shared)
{
	return cudaOccupancyMaxActiveBlocksPerMultiprocessor(ret_blocks, (const void *)function, threads, shared);
}
/* Blocks of 256 threads: no size is better than another for devices without registers to share. */
ADSM_CUDA_HOST_TEMPLATE(T) cudaOccupancyMaxPotentialBlockSize(int *ret_grid, int *ret_block, T, size_t = 0,
							   int limit = 0)
{
	*ret_block = limit && limit < 256 ? limit : 256;
	*ret_grid = 32;
	return cudaSuccess;
}
static __inline__ __attribute__((host, unused)) cudaError_t cudaEventCreate(cudaEvent_t *ret_event, unsigned int flags)
{
	return cudaEventCreateWithFlags(ret_event, flags);
}
/* For the types of textures: texture_indirect_functions.h. */
template <typename T> inline struct cudaChannelFormatDesc cudaCreateChannelDesc(void);
static __inline__ __attribute__((host, device, unused)) struct cudaExtent make_cudaExtent(size_t w, size_t h, size_t d)
{
	return cudaExtent{ w, h, d };
}
static __inline__ __attribute__((host, device, unused)) struct cudaPos make_cudaPos(size_t x, size_t y, size_t z)
{
	return cudaPos{ x, y, z };
}
static __inline__ __attribute__((host, device, unused)) struct cudaPitchedPtr make_cudaPitchedPtr(void *p, size_t pitch,
												  size_t width,
												  size_t height)
{
	return cudaPitchedPtr{ p, pitch, width, height };
}

#endif
