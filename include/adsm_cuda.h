/* SPDX-License-Identifier: MIT */
/*
 * adsm_cuda.h - for programs that use CUDA themselves, and move to shared memory array by array.
 *
 * With the backend "cuda" an object is memory of the device, at the address that the CPU uses too where the device
 * allows it (adsmDeviceProps.same_address; else adsmSafe() tells the other one): kernels of the program's own take it.
 *
 * Kernels that are launched with <<<>>>, cudaLaunchKernel() or cuLaunchKernel() need nothing of what is here: where the
 * program links the library, or it is preloaded, CUDA's calls go through it, and objects are released to launches and
 * come back after them by themselves. adsmCudaRelease() is for programs whose calls of the driver do not go through
 * the library (docs/cuda.md).
 *
 * The types are those of cuda.h, which need not be included; a cudaStream_t is a CUstream. Conventions as in adsm.h;
 * where the library runs on another backend: ENOTSUP.
 */
#ifndef ADSM_CUDA_H
#define ADSM_CUDA_H

#include "adsm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What cuda.h calls CUcontext, CUstream and CUfunction points to these. */
struct CUctx_st;
struct CUstream_st;
struct CUfunc_st;

/**
 * Have the library work in a context of the program's, instead of the device's primary one. Chooses the backend "cuda"
 * too. Only before adsmInit(); the context has to live until adsmShutdown(), or another call of this function.
 * @context: NULL: contexts of its own choice again. @device: the one it is of, as cuCtxGetDevice() has it.
 * Returns 0; -EINVAL where the device is not the context's; -EBUSY once the library has started; -ENODEV where there is
 * no CUDA.
 */
ADSM_API int adsmCudaUse(struct CUctx_st *context, int device);

/** What the library uses on a device; owned by it, valid until adsmShutdown(). */
typedef struct adsmCudaHandles {
	size_t struct_size;		/* sizeof(adsmCudaHandles), set by the caller */
	struct CUctx_st *context;
	int device;			/* CUDA's number of it */
	struct CUstream_st *compute;	/* where calls run, in order */
	struct CUstream_st *to_device, *to_host;
} adsmCudaHandles;

/** Of device @device (0 … count-1, or ADSM_DEVICE_CURRENT). Returns 0, -EINVAL or -ENOTSUP. */
ADSM_API int adsmCudaGet(int device, adsmCudaHandles *ret_handles);

/**
 * Release objects to commands that the program enqueues itself on a stream: what is newer on the CPU is sent; what the
 * commands may write will be fetched. As adsmCall() of a kernel that does nothing would; what is enqueued on @stream
 * from now on runs after the calls before it.
 * The program waits for its commands (cudaStreamSynchronize) before the CPU touches what they write or writes what they
 * read, and before a call or adsmFree() of these objects; with the protocol "batch" it then calls adsmSync().
 * @uses: @n of adsmIn(), adsmOut(), adsmInOut(), adsmPtr() (which is adsmInOut() here) of addresses in objects.
 * @stream: of the context that the library uses; NULL: the default one.
 * Returns 0, or as adsmCall().
 */
ADSM_API int adsmCudaRelease(const adsmArg *uses, size_t n, struct CUstream_st *stream);

/**
 * A kernel of the program's own, to be called with adsmCall(): of the context that the device @device works in, whose
 * module stays loaded until adsmCudaKernelFree(). adsmIn() and its sisters for addresses in objects, adsmVal() for
 * values, device pointers of the program's own among them, adsmConst() for pointers to constant bytes, and at the end
 * adsmLocal() for dynamic shared memory. The driver tells the sizes of parameters from CUDA 12.4 on.
 * Returns the kernel; NULL with errno EINVAL (no kernel of this context), ENOEXEC (more than 32 parameters, or a name
 * longer than 63 characters), ENODEV, ENOMEM, ENOTSUP.
 */
ADSM_API adsmKernel *adsmCudaKernel(int device, struct CUfunc_st *function);

/**
 * Give such a kernel back; waits for its calls. NULL is allowed.
 * Returns 0 or -EINVAL; -EBUSY where a call of it (adsmOnceCall) might wait for ever.
 */
ADSM_API int adsmCudaKernelFree(adsmKernel *kernel);

#ifdef __cplusplus
}
#endif

#endif
