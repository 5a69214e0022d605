/* SPDX-License-Identifier: MIT */
/*
 * adsm_runtime_more.h - declarations of rarer functions of CUDA's runtime: graphs, pools of memory, memory of other
 * processes. clang reads the whole source when it compiles the kernels.
 */
#ifndef ADSM_CUDA_RUNTIME_MORE_H
#define ADSM_CUDA_RUNTIME_MORE_H

#include "cuda_runtime_api.h"

/* ---- Graphs ------------------------------------------------------------------------------- */

struct cudaKernelNodeParams {
	void *func;
	dim3 gridDim, blockDim;
	unsigned int sharedMemBytes;
	void **kernelParams, **extra;
};
struct cudaMemsetParams {
	void *dst;
	size_t pitch;
	unsigned int value, elementSize;
	size_t width, height;
};
struct cudaHostNodeParams {
	cudaHostFn_t fn;
	void *userData;
};
enum cudaGraphNodeType {
	cudaGraphNodeTypeKernel, cudaGraphNodeTypeMemcpy, cudaGraphNodeTypeMemset, cudaGraphNodeTypeHost,
	cudaGraphNodeTypeGraph, cudaGraphNodeTypeEmpty, cudaGraphNodeTypeWaitEvent, cudaGraphNodeTypeEventRecord,
	cudaGraphNodeTypeMemAlloc = 10, cudaGraphNodeTypeMemFree, cudaGraphNodeTypeConditional = 13
};
enum cudaGraphExecUpdateResult {
	cudaGraphExecUpdateSuccess, cudaGraphExecUpdateError, cudaGraphExecUpdateErrorTopologyChanged
};
enum cudaStreamCaptureStatus {
	cudaStreamCaptureStatusNone, cudaStreamCaptureStatusActive, cudaStreamCaptureStatusInvalidated
};
enum cudaStreamUpdateCaptureDependenciesFlags {
	cudaStreamAddCaptureDependencies, cudaStreamSetCaptureDependencies
};
#define cudaGraphInstantiateFlagAutoFreeOnLaunch 1
struct cudaGraphEdgeData {
	unsigned char from_port, to_port, type, reserved[5];
};

extern "C" {
cudaError_t cudaGraphCreate(cudaGraph_t *ret_graph, unsigned int flags);
cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t *ret_node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t n,
				   const struct cudaKernelNodeParams *parameters);
cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t *ret_node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t n,
				   const struct cudaMemcpy3DParms *parameters);
cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t *ret_node, cudaGraph_t graph, const cudaGraphNode_t *after,
				     size_t n, void *to, const void *from, size_t size, enum cudaMemcpyKind kind);
cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t *ret_node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t n,
				   const struct cudaMemsetParams *parameters);
cudaError_t cudaGraphAddHostNode(cudaGraphNode_t *ret_node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t n,
				 const struct cudaHostNodeParams *parameters);
cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t *ret_node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t n);
cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t *ret_node, cudaGraph_t graph, const cudaGraphNode_t *after,
				       size_t n, cudaGraph_t child);
cudaError_t cudaGraphAddMemFreeNode(cudaGraphNode_t *ret_node, cudaGraph_t graph, const cudaGraphNode_t *after,
				    size_t n, void *p);
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *ret_nodes, size_t *ret_n);
cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, enum cudaGraphNodeType *ret_type);
cudaError_t cudaGraphClone(cudaGraph_t *ret_graph, cudaGraph_t graph);
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *ret_exec, cudaGraph_t graph, unsigned long long flags);
cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream);
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphNode_t *ret_node,
				enum cudaGraphExecUpdateResult *ret_result);
cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
					     const struct cudaKernelNodeParams *parameters);
cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const struct cudaKernelNodeParams *parameters);
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *ret_status);
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus *ret_status,
				     unsigned long long *ret_id = NULL, cudaGraph_t *ret_graph = NULL,
				     const cudaGraphNode_t **ret_after = NULL,
				     const struct cudaGraphEdgeData **ret_edges = NULL, size_t *ret_n = NULL);
cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t *after,
						const struct cudaGraphEdgeData *edges, size_t n,
						unsigned int flags = 0);
}
static __inline__ cudaError_t cudaGraphInstantiate(cudaGraphExec_t *ret_exec, cudaGraph_t graph,
						   unsigned long long flags = 0)
{
	return cudaGraphInstantiateWithFlags(ret_exec, graph, flags);
}

/* Nodes whose body runs while or if a value is set. Only GPUs can set it: other devices refuse kernels that do. */
typedef unsigned long long cudaGraphConditionalHandle;
#define cudaGraphCondAssignDefault 1
enum cudaGraphConditionalNodeType { cudaGraphCondTypeIf, cudaGraphCondTypeWhile, cudaGraphCondTypeSwitch };
struct cudaConditionalNodeParams {
	cudaGraphConditionalHandle handle;
	enum cudaGraphConditionalNodeType type;
	unsigned int size;
	cudaGraph_t *phGraph_out;
};
struct cudaGraphNodeParams {
	enum cudaGraphNodeType type;
	int reserved0[3];
	union {
		long long reserved1[29];
		struct cudaKernelNodeParams kernel;
		struct cudaMemsetParams memset;
		struct cudaHostNodeParams host;
		struct cudaConditionalNodeParams conditional;
	};
};
extern "C" {
cudaError_t cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle *ret_handle, cudaGraph_t graph,
					     unsigned int value = 0, unsigned int flags = 0);
cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t *after,
					  const struct cudaGraphEdgeData *edges, size_t n,
					  enum cudaStreamCaptureMode mode);
cudaError_t cudaGraphAddNode(cudaGraphNode_t *ret_node, cudaGraph_t graph, const cudaGraphNode_t *after,
			     const struct cudaGraphEdgeData *edges, size_t n, struct cudaGraphNodeParams *parameters);
__device__ void cudaGraphSetConditional(cudaGraphConditionalHandle handle, unsigned int value);
}
/* Before CUDA 13 edges had no data. */
static __inline__ cudaError_t cudaGraphAddNode(cudaGraphNode_t *ret_node, cudaGraph_t graph,
					       const cudaGraphNode_t *after, size_t n,
					       struct cudaGraphNodeParams *parameters)
{
	return cudaGraphAddNode(ret_node, graph, after, NULL, n, parameters);
}

/* ---- Pools of memory ---------------------------------------------------------------------- */

enum cudaMemPoolAttr {
	cudaMemPoolReuseFollowEventDependencies = 1, cudaMemPoolReuseAllowOpportunistic,
	cudaMemPoolReuseAllowInternalDependencies, cudaMemPoolAttrReleaseThreshold, cudaMemPoolAttrReservedMemCurrent,
	cudaMemPoolAttrReservedMemHigh, cudaMemPoolAttrUsedMemCurrent, cudaMemPoolAttrUsedMemHigh
};
enum cudaMemLocationType {
	cudaMemLocationTypeInvalid, cudaMemLocationTypeDevice, cudaMemLocationTypeHost
};
struct cudaMemLocation {
	enum cudaMemLocationType type;
	int id;
};
enum cudaMemAllocationType { cudaMemAllocationTypeInvalid, cudaMemAllocationTypePinned };
enum cudaMemAllocationHandleType {
	cudaMemHandleTypeNone, cudaMemHandleTypePosixFileDescriptor, cudaMemHandleTypeWin32
};
enum cudaMemAccessFlags {
	cudaMemAccessFlagsProtNone, cudaMemAccessFlagsProtRead, cudaMemAccessFlagsProtReadWrite = 3
};
struct cudaMemAccessDesc {
	struct cudaMemLocation location;
	enum cudaMemAccessFlags flags;
};
struct cudaMemPoolProps {
	enum cudaMemAllocationType allocType;
	enum cudaMemAllocationHandleType handleTypes;
	struct cudaMemLocation location;
	void *win32SecurityAttributes;
	unsigned char reserved[64];
};
struct cudaMemAllocNodeParams {
	struct cudaMemPoolProps poolProps;
	const struct cudaMemAccessDesc *accessDescs;
	size_t accessDescCount, bytesize;
	void *dptr;
};

extern "C" {
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *ret_pool, int device);
cudaError_t cudaDeviceGetMemPool(cudaMemPool_t *ret_pool, int device);
cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool);
cudaError_t cudaMemPoolCreate(cudaMemPool_t *ret_pool, const struct cudaMemPoolProps *properties);
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool);
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value);
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *ret_value);
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const struct cudaMemAccessDesc *accesses, size_t n);
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t size);
cudaError_t cudaMallocFromPoolAsync(void **ret_p, size_t size, cudaMemPool_t pool, cudaStream_t stream);
cudaError_t cudaGraphAddMemAllocNode(cudaGraphNode_t *ret_node, cudaGraph_t graph, const cudaGraphNode_t *after,
				     size_t n, struct cudaMemAllocNodeParams *parameters);
}

static __inline__ cudaError_t cudaMallocAsync(void **ret_p, size_t size, cudaMemPool_t pool, cudaStream_t stream)
{
	return cudaMallocFromPoolAsync(ret_p, size, pool, stream);
}
template <typename T>
static __inline__ cudaError_t cudaMallocAsync(T **ret_p, size_t size, cudaMemPool_t pool, cudaStream_t stream)
{
	return cudaMallocFromPoolAsync((void **)(void *)ret_p, size, pool, stream);
}

struct cudaMemPoolPtrExportData { unsigned char reserved[64]; };
enum cudaGraphMemAttributeType {
	cudaGraphMemAttrUsedMemCurrent, cudaGraphMemAttrUsedMemHigh, cudaGraphMemAttrReservedMemCurrent,
	cudaGraphMemAttrReservedMemHigh
};
enum cudaDeviceP2PAttr {
	cudaDevP2PAttrPerformanceRank = 1, cudaDevP2PAttrAccessSupported, cudaDevP2PAttrNativeAtomicSupported,
	cudaDevP2PAttrCudaArrayAccessSupported
};

extern "C" {
cudaError_t cudaMemPoolGetAccess(enum cudaMemAccessFlags *ret_flags, cudaMemPool_t pool, struct cudaMemLocation *place);
cudaError_t cudaMemPoolExportToShareableHandle(void *ret_handle, cudaMemPool_t pool,
					       enum cudaMemAllocationHandleType type, unsigned int flags);
cudaError_t cudaMemPoolImportFromShareableHandle(cudaMemPool_t *ret_pool, void *handle,
						 enum cudaMemAllocationHandleType type, unsigned int flags);
cudaError_t cudaMemPoolExportPointer(struct cudaMemPoolPtrExportData *ret_data, void *p);
cudaError_t cudaMemPoolImportPointer(void **ret_p, cudaMemPool_t pool, struct cudaMemPoolPtrExportData *data);
cudaError_t cudaDeviceGetGraphMemAttribute(int device, enum cudaGraphMemAttributeType attribute, void *ret_value);
cudaError_t cudaDeviceSetGraphMemAttribute(int device, enum cudaGraphMemAttributeType attribute, void *value);
cudaError_t cudaDeviceGraphMemTrim(int device);
cudaError_t cudaDeviceGetP2PAttribute(int *ret_value, enum cudaDeviceP2PAttr attribute, int from, int to);
}

/* From CUDA 13 on a place instead of a device. */
static __inline__ cudaError_t cudaMemPrefetchAsync(const void *p, size_t size, struct cudaMemLocation place,
						   unsigned int flags, cudaStream_t stream = 0)
{
	(void)flags;
	return cudaMemPrefetchAsync(p, size, place.id, stream);
}
static __inline__ cudaError_t cudaMemAdvise(const void *p, size_t size, enum cudaMemoryAdvise advice,
					    struct cudaMemLocation place)
{
	return cudaMemAdvise(p, size, advice, place.id);
}

/* ---- Attributes of streams ---------------------------------------------------------------- */

enum cudaAccessProperty {
	cudaAccessPropertyNormal, cudaAccessPropertyStreaming, cudaAccessPropertyPersisting
};
struct cudaAccessPolicyWindow {
	void *base_ptr;
	size_t num_bytes;
	float hitRatio;
	enum cudaAccessProperty hitProp, missProp;
};
typedef enum cudaStreamAttrID {
	cudaStreamAttributeAccessPolicyWindow = 1, cudaStreamAttributeSynchronizationPolicy = 3
} cudaStreamAttrID;
typedef union cudaStreamAttrValue {
	struct cudaAccessPolicyWindow accessPolicyWindow;
	int syncPolicy;
} cudaStreamAttrValue;

extern "C" {
cudaError_t cudaStreamSetAttribute(cudaStream_t stream, cudaStreamAttrID attribute, const cudaStreamAttrValue *value);
cudaError_t cudaStreamGetAttribute(cudaStream_t stream, cudaStreamAttrID attribute, cudaStreamAttrValue *ret_value);
cudaError_t cudaCtxResetPersistingL2Cache(void);
}

/* ---- Memory and events of other processes ------------------------------------------------- */

typedef struct cudaIpcMemHandle_st { char reserved[64]; } cudaIpcMemHandle_t;
typedef struct cudaIpcEventHandle_st { char reserved[64]; } cudaIpcEventHandle_t;
#define cudaIpcMemLazyEnablePeerAccess 1

extern "C" {
cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t *ret_handle, void *p);
cudaError_t cudaIpcOpenMemHandle(void **ret_p, cudaIpcMemHandle_t handle, unsigned int flags);
cudaError_t cudaIpcCloseMemHandle(void *p);
cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t *ret_handle, cudaEvent_t event);
cudaError_t cudaIpcOpenEventHandle(cudaEvent_t *ret_event, cudaIpcEventHandle_t handle);
}

/* ---- Memory of graphics ------------------------------------------------------------------- */

typedef struct cudaGraphicsResource *cudaGraphicsResource_t;
enum cudaGraphicsRegisterFlags {
	cudaGraphicsRegisterFlagsNone, cudaGraphicsRegisterFlagsReadOnly, cudaGraphicsRegisterFlagsWriteDiscard,
	cudaGraphicsRegisterFlagsSurfaceLoadStore = 4, cudaGraphicsRegisterFlagsTextureGather = 8
};
enum cudaGraphicsMapFlags {
	cudaGraphicsMapFlagsNone, cudaGraphicsMapFlagsReadOnly, cudaGraphicsMapFlagsWriteDiscard
};

extern "C" {
cudaError_t cudaGraphicsResourceSetMapFlags(cudaGraphicsResource_t resource, unsigned int flags);
cudaError_t cudaGraphicsMapResources(int n, cudaGraphicsResource_t *resources, cudaStream_t stream = 0);
cudaError_t cudaGraphicsUnmapResources(int n, cudaGraphicsResource_t *resources, cudaStream_t stream = 0);
cudaError_t cudaGraphicsResourceGetMappedPointer(void **ret_p, size_t *ret_size, cudaGraphicsResource_t resource);
cudaError_t cudaGraphicsSubResourceGetMappedArray(cudaArray_t *ret_array, cudaGraphicsResource_t resource,
						  unsigned int index, unsigned int level);
cudaError_t cudaGraphicsUnregisterResource(cudaGraphicsResource_t resource);
}

/* ---- Surfaces ----------------------------------------------------------------------------- */

extern "C" {
cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t *ret_surface, const struct cudaResourceDesc *resource);
cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t surface);
cudaError_t cudaMallocMipmappedArray(cudaMipmappedArray_t *ret_array, const struct cudaChannelFormatDesc *format,
				     struct cudaExtent extent, unsigned int n_levels, unsigned int flags = 0);
cudaError_t cudaGetMipmappedArrayLevel(cudaArray_t *ret_array, cudaMipmappedArray_t from, unsigned int level);
cudaError_t cudaFreeMipmappedArray(cudaMipmappedArray_t array);
cudaError_t cudaArrayGetInfo(struct cudaChannelFormatDesc *ret_format, struct cudaExtent *ret_extent,
			     unsigned int *ret_flags, cudaArray_t array);
}

#endif
