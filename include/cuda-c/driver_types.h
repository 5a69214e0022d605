/* SPDX-License-Identifier: MIT */
/* driver_types.h - types and constants of CUDA's runtime, with the values that its reference gives. */
#ifndef ADSM_CUDA_DRIVER_TYPES_H
#define ADSM_CUDA_DRIVER_TYPES_H
/* Programs ask for this one. */
#define __DRIVER_TYPES_H__

#include "vector_types.h"

#include <stddef.h>

/* X(name, value): the errors. */
#define ADSM_CUDA_ERRORS(X) \
	X(Success, 0) X(ErrorInvalidValue, 1) X(ErrorMemoryAllocation, 2) X(ErrorInitializationError, 3) \
	X(ErrorCudartUnloading, 4) X(ErrorProfilerDisabled, 5) X(ErrorInvalidConfiguration, 9) \
	X(ErrorInvalidPitchValue, 12) X(ErrorInvalidSymbol, 13) X(ErrorInvalidHostPointer, 16) \
	X(ErrorInvalidDevicePointer, 17) X(ErrorInvalidTexture, 18) X(ErrorInvalidTextureBinding, 19) \
	X(ErrorInvalidChannelDescriptor, 20) X(ErrorInvalidMemcpyDirection, 21) X(ErrorInsufficientDriver, 35) \
	X(ErrorMissingConfiguration, 52) X(ErrorInvalidDeviceFunction, 98) X(ErrorNoDevice, 100) \
	X(ErrorInvalidDevice, 101) X(ErrorInvalidKernelImage, 200) X(ErrorMapBufferObjectFailed, 205) \
	X(ErrorNoKernelImageForDevice, 209) X(ErrorECCUncorrectable, 214) X(ErrorUnsupportedLimit, 215) \
	X(ErrorPeerAccessUnsupported, 217) X(ErrorInvalidPtx, 218) X(ErrorInvalidSource, 300) \
	X(ErrorFileNotFound, 301) X(ErrorOperatingSystem, 304) X(ErrorInvalidResourceHandle, 400) \
	X(ErrorSymbolNotFound, 500) X(ErrorNotReady, 600) X(ErrorIllegalAddress, 700) \
	X(ErrorLaunchOutOfResources, 701) X(ErrorLaunchTimeout, 702) X(ErrorPeerAccessAlreadyEnabled, 704) \
	X(ErrorPeerAccessNotEnabled, 705) X(ErrorContextIsDestroyed, 709) X(ErrorAssert, 710) \
	X(ErrorHostMemoryAlreadyRegistered, 712) X(ErrorHostMemoryNotRegistered, 713) \
	X(ErrorMisalignedAddress, 716) X(ErrorLaunchFailure, 719) X(ErrorCooperativeLaunchTooLarge, 720) \
	X(ErrorProfilerNotInitialized, 6) X(ErrorProfilerAlreadyStarted, 7) X(ErrorProfilerAlreadyStopped, 8) \
	X(ErrorAddressOfConstant, 22) X(ErrorTextureFetchFailed, 23) X(ErrorTextureNotBound, 24) \
	X(ErrorSynchronizationError, 25) X(ErrorInvalidFilterSetting, 26) X(ErrorInvalidNormSetting, 27) \
	X(ErrorMixedDeviceExecution, 28) X(ErrorNotYetImplemented, 31) X(ErrorMemoryValueTooLarge, 32) \
	X(ErrorStubLibrary, 34) X(ErrorCallRequiresNewerDriver, 36) X(ErrorInvalidSurface, 37) \
	X(ErrorDuplicateVariableName, 43) X(ErrorDuplicateTextureName, 44) X(ErrorDuplicateSurfaceName, 45) \
	X(ErrorDevicesUnavailable, 46) X(ErrorIncompatibleDriverContext, 49) X(ErrorPriorLaunchFailure, 53) \
	X(ErrorLaunchMaxDepthExceeded, 65) X(ErrorLaunchFileScopedTex, 66) X(ErrorLaunchFileScopedSurf, 67) \
	X(ErrorSyncDepthExceeded, 68) X(ErrorLaunchPendingCountExceeded, 69) X(ErrorStartupFailure, 127) \
	X(ErrorDeviceUninitialized, 201) X(ErrorUnmapBufferObjectFailed, 206) X(ErrorArrayIsMapped, 207) \
	X(ErrorAlreadyMapped, 208) X(ErrorAlreadyAcquired, 210) X(ErrorNotMapped, 211) X(ErrorDeviceAlreadyInUse, 216) \
	X(ErrorInvalidGraphicsContext, 219) X(ErrorNvlinkUncorrectable, 220) X(ErrorJitCompilerNotFound, 221) \
	X(ErrorSharedObjectSymbolNotFound, 302) X(ErrorSharedObjectInitFailed, 303) X(ErrorIllegalState, 401) \
	X(ErrorLaunchIncompatibleTexturing, 703) X(ErrorSetOnActiveProcess, 708) X(ErrorTooManyPeers, 711) \
	X(ErrorHardwareStackError, 714) X(ErrorIllegalInstruction, 715) X(ErrorInvalidAddressSpace, 717) \
	X(ErrorInvalidPc, 718) X(ErrorSystemNotReady, 802) X(ErrorSystemDriverMismatch, 803) \
	X(ErrorCompatNotSupportedOnDevice, 804) X(ErrorStreamCaptureInvalidated, 901) X(ErrorStreamCaptureMerge, 902) \
	X(ErrorStreamCaptureUnmatched, 903) X(ErrorStreamCaptureUnjoined, 904) X(ErrorStreamCaptureIsolation, 905) \
	X(ErrorStreamCaptureImplicit, 906) X(ErrorCapturedEvent, 907) X(ErrorStreamCaptureWrongThread, 908) \
	X(ErrorGraphExecUpdateFailure, 910) X(ErrorApiFailureBase, 10000) \
	X(ErrorNotPermitted, 800) X(ErrorNotSupported, 801) X(ErrorStreamCaptureUnsupported, 900) \
	X(ErrorTimeout, 909) X(ErrorUnknown, 999)

enum cudaError {
#define ADSM_CUDA_ERROR(name, value) cuda##name = value,
	ADSM_CUDA_ERRORS(ADSM_CUDA_ERROR)
#undef ADSM_CUDA_ERROR
};
typedef enum cudaError cudaError_t;

typedef struct CUstream_st *cudaStream_t;
typedef struct CUevent_st *cudaEvent_t;
typedef struct CUgraph_st *cudaGraph_t;
typedef struct CUgraphNode_st *cudaGraphNode_t;
typedef struct CUgraphExec_st *cudaGraphExec_t;
typedef struct CUmemPoolHandle_st *cudaMemPool_t;
typedef struct CUfunc_st *cudaFunction_t;
typedef struct cudaArray *cudaArray_t;
typedef const struct cudaArray *cudaArray_const_t;
typedef struct cudaMipmappedArray *cudaMipmappedArray_t;
typedef unsigned long long cudaTextureObject_t;
typedef unsigned long long cudaSurfaceObject_t;
typedef void (*cudaHostFn_t)(void *data);
typedef void (*cudaStreamCallback_t)(cudaStream_t stream, cudaError_t status, void *data);

#define cudaStreamLegacy ((cudaStream_t)1)
#define cudaStreamPerThread ((cudaStream_t)2)
#define cudaStreamDefault 0
#define cudaStreamNonBlocking 1
#define cudaEventDefault 0
#define cudaEventBlockingSync 1
#define cudaEventDisableTiming 2
#define cudaEventInterprocess 4
#define cudaHostAllocDefault 0
#define cudaHostAllocPortable 1
#define cudaHostAllocMapped 2
#define cudaHostAllocWriteCombined 4
#define cudaHostRegisterDefault 0
#define cudaHostRegisterPortable 1
#define cudaHostRegisterMapped 2
#define cudaHostRegisterIoMemory 4
#define cudaHostRegisterReadOnly 8
#define cudaMemAttachGlobal 1
#define cudaMemAttachHost 2
#define cudaMemAttachSingle 4
#define cudaDeviceScheduleAuto 0
#define cudaDeviceScheduleSpin 1
#define cudaDeviceScheduleYield 2
#define cudaDeviceScheduleBlockingSync 4
#define cudaDeviceBlockingSync 4
#define cudaDeviceMapHost 8
#define cudaDeviceLmemResizeToMax 16
#define cudaPeerAccessDefault 0
#define cudaArrayDefault 0
#define cudaArrayLayered 1
#define cudaArraySurfaceLoadStore 2
#define cudaArrayCubemap 4
#define cudaArrayTextureGather 8
#define cudaOccupancyDefault 0
#define cudaOccupancyDisableCachingOverride 1
#define cudaCpuDeviceId ((int)-1)
#define cudaInvalidDeviceId ((int)-2)

enum cudaMemcpyKind {
	cudaMemcpyHostToHost, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice,
	cudaMemcpyDefault
};
enum cudaMemoryType {
	cudaMemoryTypeUnregistered, cudaMemoryTypeHost, cudaMemoryTypeDevice, cudaMemoryTypeManaged
};
enum cudaFuncCache {
	cudaFuncCachePreferNone, cudaFuncCachePreferShared, cudaFuncCachePreferL1, cudaFuncCachePreferEqual
};
enum cudaSharedMemConfig {
	cudaSharedMemBankSizeDefault, cudaSharedMemBankSizeFourByte, cudaSharedMemBankSizeEightByte
};
enum cudaFuncAttribute {
	cudaFuncAttributeMaxDynamicSharedMemorySize = 8, cudaFuncAttributePreferredSharedMemoryCarveout
};
enum cudaSharedCarveout {
	cudaSharedmemCarveoutDefault = -1, cudaSharedmemCarveoutMaxL1 = 0, cudaSharedmemCarveoutMaxShared = 100
};
enum cudaLimit {
	cudaLimitStackSize, cudaLimitPrintfFifoSize, cudaLimitMallocHeapSize, cudaLimitDevRuntimeSyncDepth,
	cudaLimitDevRuntimePendingLaunchCount, cudaLimitMaxL2FetchGranularity, cudaLimitPersistingL2CacheSize
};
enum cudaMemoryAdvise {
	cudaMemAdviseSetReadMostly = 1, cudaMemAdviseUnsetReadMostly, cudaMemAdviseSetPreferredLocation,
	cudaMemAdviseUnsetPreferredLocation, cudaMemAdviseSetAccessedBy, cudaMemAdviseUnsetAccessedBy
};
enum cudaComputeMode {
	cudaComputeModeDefault, cudaComputeModeExclusive, cudaComputeModeProhibited, cudaComputeModeExclusiveProcess
};
enum cudaStreamCaptureMode {
	cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal, cudaStreamCaptureModeRelaxed
};

enum cudaDeviceAttr {
	cudaDevAttrMaxThreadsPerBlock = 1, cudaDevAttrMaxBlockDimX, cudaDevAttrMaxBlockDimY, cudaDevAttrMaxBlockDimZ,
	cudaDevAttrMaxGridDimX, cudaDevAttrMaxGridDimY, cudaDevAttrMaxGridDimZ, cudaDevAttrMaxSharedMemoryPerBlock,
	cudaDevAttrTotalConstantMemory, cudaDevAttrWarpSize, cudaDevAttrMaxPitch, cudaDevAttrMaxRegistersPerBlock,
	cudaDevAttrClockRate, cudaDevAttrTextureAlignment, cudaDevAttrGpuOverlap, cudaDevAttrMultiProcessorCount,
	cudaDevAttrKernelExecTimeout, cudaDevAttrIntegrated, cudaDevAttrCanMapHostMemory, cudaDevAttrComputeMode,
	cudaDevAttrMaxTexture1DWidth, cudaDevAttrMaxTexture2DWidth, cudaDevAttrMaxTexture2DHeight,
	cudaDevAttrMaxTexture3DWidth, cudaDevAttrMaxTexture3DHeight, cudaDevAttrMaxTexture3DDepth,
	cudaDevAttrMaxTexture2DLayeredWidth, cudaDevAttrMaxTexture2DLayeredHeight,
	cudaDevAttrMaxTexture2DLayeredLayers, cudaDevAttrSurfaceAlignment, cudaDevAttrConcurrentKernels,
	cudaDevAttrEccEnabled, cudaDevAttrPciBusId, cudaDevAttrPciDeviceId, cudaDevAttrTccDriver,
	cudaDevAttrMemoryClockRate, cudaDevAttrGlobalMemoryBusWidth, cudaDevAttrL2CacheSize,
	cudaDevAttrMaxThreadsPerMultiProcessor, cudaDevAttrAsyncEngineCount, cudaDevAttrUnifiedAddressing,
	cudaDevAttrMaxTexture1DLayeredWidth, cudaDevAttrMaxTexture1DLayeredLayers, cudaDevAttrPciDomainId = 50,
	cudaDevAttrTexturePitchAlignment, cudaDevAttrComputeCapabilityMajor = 75, cudaDevAttrComputeCapabilityMinor,
	cudaDevAttrStreamPrioritiesSupported = 78, cudaDevAttrGlobalL1CacheSupported,
	cudaDevAttrLocalL1CacheSupported, cudaDevAttrMaxSharedMemoryPerMultiprocessor,
	cudaDevAttrMaxRegistersPerMultiprocessor, cudaDevAttrManagedMemory, cudaDevAttrIsMultiGpuBoard,
	cudaDevAttrMultiGpuBoardGroupID, cudaDevAttrHostNativeAtomicSupported,
	cudaDevAttrSingleToDoublePrecisionPerfRatio, cudaDevAttrPageableMemoryAccess,
	cudaDevAttrConcurrentManagedAccess, cudaDevAttrComputePreemptionSupported,
	cudaDevAttrCanUseHostPointerForRegisteredMem, cudaDevAttrCooperativeLaunch = 95,
	cudaDevAttrCooperativeMultiDeviceLaunch, cudaDevAttrMaxSharedMemoryPerBlockOptin,
	cudaDevAttrCanFlushRemoteWrites, cudaDevAttrHostRegisterSupported,
	cudaDevAttrPageableMemoryAccessUsesHostPageTables, cudaDevAttrDirectManagedMemAccessFromHost,
	cudaDevAttrMaxBlocksPerMultiprocessor = 106, cudaDevAttrMaxPersistingL2CacheSize = 108,
	cudaDevAttrMaxAccessPolicyWindowSize, cudaDevAttrReservedSharedMemoryPerBlock = 111,
	cudaDevAttrSparseCudaArraySupported, cudaDevAttrHostRegisterReadOnlySupported,
	cudaDevAttrTimelineSemaphoreInteropSupported, cudaDevAttrMemoryPoolsSupported,
	cudaDevAttrGPUDirectRDMASupported, cudaDevAttrGPUDirectRDMAFlushWritesOptions,
	cudaDevAttrGPUDirectRDMAWritesOrdering, cudaDevAttrMemoryPoolSupportedHandleTypes, cudaDevAttrClusterLaunch,
	cudaDevAttrDeferredMappingCudaArraySupported
};

typedef struct CUuuid_st {
	char bytes[16];
} cudaUUID_t;

struct cudaDeviceProp {
	char name[256];
	cudaUUID_t uuid;
	size_t totalGlobalMem, sharedMemPerBlock;
	int regsPerBlock, warpSize;
	size_t memPitch;
	int maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3];
	int clockRate;
	size_t totalConstMem;
	int major, minor;
	size_t textureAlignment, texturePitchAlignment;
	int deviceOverlap, multiProcessorCount, kernelExecTimeoutEnabled, integrated, canMapHostMemory, computeMode;
	int maxTexture1D, maxTexture1DMipmap, maxTexture1DLinear, maxTexture2D[2], maxTexture2DMipmap[2];
	int maxTexture2DLinear[3], maxTexture2DGather[2], maxTexture3D[3], maxTexture3DAlt[3], maxTextureCubemap;
	int maxTexture1DLayered[2], maxTexture2DLayered[3], maxTextureCubemapLayered[2];
	int maxSurface1D, maxSurface2D[2], maxSurface3D[3], maxSurface1DLayered[2], maxSurface2DLayered[3];
	int maxSurfaceCubemap, maxSurfaceCubemapLayered[2];
	size_t surfaceAlignment;
	int concurrentKernels, ECCEnabled, pciBusID, pciDeviceID, pciDomainID, tccDriver, asyncEngineCount;
	int unifiedAddressing, memoryClockRate, memoryBusWidth, l2CacheSize, persistingL2CacheMaxSize;
	int maxThreadsPerMultiProcessor, streamPrioritiesSupported, globalL1CacheSupported, localL1CacheSupported;
	size_t sharedMemPerMultiprocessor;
	int regsPerMultiprocessor, managedMemory, isMultiGpuBoard, multiGpuBoardGroupID, hostNativeAtomicSupported;
	int singleToDoublePrecisionPerfRatio, pageableMemoryAccess, concurrentManagedAccess, computePreemptionSupported;
	int canUseHostPointerForRegisteredMem, cooperativeLaunch, cooperativeMultiDeviceLaunch;
	size_t sharedMemPerBlockOptin;
	int pageableMemoryAccessUsesHostPageTables, directManagedMemAccessFromHost, maxBlocksPerMultiProcessor;
	int accessPolicyMaxWindowSize;
	size_t reservedSharedMemPerBlock;
};

struct cudaPointerAttributes {
	enum cudaMemoryType type;
	int device;
	void *devicePointer, *hostPointer;
};

struct cudaFuncAttributes {
	size_t sharedSizeBytes, constSizeBytes, localSizeBytes;
	int maxThreadsPerBlock, numRegs, ptxVersion, binaryVersion, cacheModeCA, maxDynamicSharedSizeBytes;
	int preferredShmemCarveout;
};

/* ---- Arrays and textures ------------------------------------------------------------------ */

enum cudaChannelFormatKind {
	cudaChannelFormatKindSigned, cudaChannelFormatKindUnsigned, cudaChannelFormatKindFloat,
	cudaChannelFormatKindNone
};
struct cudaChannelFormatDesc {
	int x, y, z, w;
	enum cudaChannelFormatKind f;
};
struct cudaPitchedPtr {
	void *ptr;
	size_t pitch, xsize, ysize;
};
struct cudaExtent {
	size_t width, height, depth;
};
struct cudaPos {
	size_t x, y, z;
};
struct cudaMemcpy3DParms {
	cudaArray_t srcArray;
	struct cudaPos srcPos;
	struct cudaPitchedPtr srcPtr;
	cudaArray_t dstArray;
	struct cudaPos dstPos;
	struct cudaPitchedPtr dstPtr;
	struct cudaExtent extent;
	enum cudaMemcpyKind kind;
};
enum cudaResourceType {
	cudaResourceTypeArray, cudaResourceTypeMipmappedArray, cudaResourceTypeLinear, cudaResourceTypePitch2D
};
struct cudaResourceDesc {
	enum cudaResourceType resType;
	union {
		struct { cudaArray_t array; } array;
		struct { cudaMipmappedArray_t mipmap; } mipmap;
		struct {
			void *devPtr;
			struct cudaChannelFormatDesc desc;
			size_t sizeInBytes;
		} linear;
		struct {
			void *devPtr;
			struct cudaChannelFormatDesc desc;
			size_t width, height, pitchInBytes;
		} pitch2D;
	} res;
};
enum cudaTextureAddressMode {
	cudaAddressModeWrap, cudaAddressModeClamp, cudaAddressModeMirror, cudaAddressModeBorder
};
enum cudaTextureFilterMode {
	cudaFilterModePoint, cudaFilterModeLinear
};
enum cudaTextureReadMode {
	cudaReadModeElementType, cudaReadModeNormalizedFloat
};
struct cudaTextureDesc {
	enum cudaTextureAddressMode addressMode[3];
	enum cudaTextureFilterMode filterMode;
	enum cudaTextureReadMode readMode;
	int sRGB;
	float borderColor[4];
	int normalizedCoords;
	unsigned int maxAnisotropy;
	enum cudaTextureFilterMode mipmapFilterMode;
	float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp;
	int disableTrilinearOptimization;
};
struct cudaResourceViewDesc;

/* The types of elements, of libraries. */
typedef enum cudaDataType_t {
	CUDA_R_32F, CUDA_R_64F, CUDA_R_16F, CUDA_R_8I, CUDA_C_32F, CUDA_C_64F, CUDA_C_16F, CUDA_C_8I, CUDA_R_8U,
	CUDA_C_8U, CUDA_R_32I, CUDA_C_32I, CUDA_R_32U, CUDA_C_32U, CUDA_R_16BF, CUDA_C_16BF
} cudaDataType;

#endif
