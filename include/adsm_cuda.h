/* SPDX-License-Identifier: MIT */
/*
 * adsm_cuda.h - for programs that use CUDA themselves, and move their arrays to shared memory one after the other.
 *
 * With the backend "cuda" an object is memory of the device. Kernels of the program can use it. If
 * adsmDeviceProps.same_address is 1, the CPU and the device use the same address. Otherwise adsmSafe() returns the
 * device's address.
 *
 * If the program links the library, or preloads it, the library intercepts CUDA's functions. The library then releases
 * objects before each launch by <<<>>>, cudaLaunchKernel() or cuLaunchKernel(), and acquires them when the kernel has
 * ended. Such launches need no function of this header. adsmCudaRelease() is for programs whose calls of the driver the
 * library does not intercept (docs/cuda.md).
 *
 * The types are those of cuda.h, and the program need not include cuda.h. A cudaStream_t is a CUstream. The conventions
 * of adsm.h hold. If the library runs on another backend, the functions fail with ENOTSUP, except adsmCudaUse()
 * (-EBUSY) and adsmCudaKernelFree() (-EINVAL).
 */
#ifndef ADSM_CUDA_H
#define ADSM_CUDA_H

#include "adsm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The types CUcontext, CUstream and CUfunction of cuda.h are pointers to these structures. */
struct CUctx_st;
struct CUstream_st;
struct CUfunc_st;

/**
 * Make the library use a context of the program instead of the device's primary context. This also selects the backend
 * "cuda". Call this function before the library starts.
 *
 * @context: must exist until adsmShutdown() or the next call of this function. NULL: the library chooses contexts
 *           itself again. The backend "cuda" stays selected: adsmOption("backend", NULL) ends this.
 * @device: the context's device, as cuCtxGetDevice() returns it.
 *
 * Returns 0 or:
 *   -EINVAL   @device is not the device of @context
 *   -EBUSY    the library has started
 *   -ENODEV   there is no CUDA driver
 *   -ENOTSUP  the library was built without CUDA, or the process is the child of a fork()
 */
ADSM_API int adsmCudaUse(struct CUctx_st *context, int device);

/** What the library uses on a device. The library owns the context and the streams until adsmShutdown(). */
typedef struct adsmCudaHandles {
	size_t struct_size;		/* sizeof(adsmCudaHandles); the caller sets it */
	struct CUctx_st *context;
	int device;			/* the device's number in CUDA */
	struct CUstream_st *compute;	/* calls run on this stream, in order */
	struct CUstream_st *to_device, *to_host;
} adsmCudaHandles;

/**
 * Return the context and the streams that the library uses on a device.
 *
 * @device: 0 to adsmDeviceCount() - 1, or ADSM_DEVICE_CURRENT.
 * @ret_handles: gets the context and the streams. The caller sets struct_size before.
 *
 * Returns 0 or:
 *   -EINVAL   there is no such device, or struct_size is invalid
 *   -ENOTSUP  the device is not of the backend "cuda"
 */
ADSM_API int adsmCudaGet(int device, adsmCudaHandles *ret_handles);

/**
 * Release objects to commands that the program itself enqueues on a stream. The function has the effect of adsmCall()
 * with an empty kernel. It sends the blocks that are newer on the CPU. Later the library fetches the blocks that the
 * commands may write. Commands that the program enqueues on @stream after this function run after all earlier calls.
 *
 * The program must wait for its commands, for instance by cudaStreamSynchronize():
 * - before the CPU accesses memory that they write;
 * - before the CPU writes memory that they read;
 * - before a call uses the objects, and before adsmFree() of the objects.
 * With the protocol "batch" the program then also calls adsmSync().
 *
 * @uses, @n: addresses in objects, as adsmIn(), adsmOut(), adsmInOut() or adsmPtr(); at most ADSM_ARGS_MAX. adsmPtr()
 *            is the same as adsmInOut() here.
 * @stream: a stream of the context that the library uses; NULL: the default stream.
 *
 * Returns 0 or the errors of adsmCallArgs().
 */
ADSM_API int adsmCudaRelease(const adsmArg *uses, size_t n, struct CUstream_st *stream);

/**
 * Make a kernel of the program available to adsmCall(). Its arguments are:
 * - adsmPtr(), adsmIn(), adsmOut() and adsmInOut() for addresses in objects;
 * - adsmVal() for values, also for device pointers of the program;
 * - adsmConst() for pointers to constant bytes;
 * - adsmLocal() for dynamic shared memory, after all other arguments.
 *
 * @device: the device's index, or ADSM_DEVICE_CURRENT.
 * @function: a kernel of the context that the library uses on the device. Its module must stay loaded until
 *            adsmCudaKernelFree().
 *
 * Returns the kernel, which the caller owns until adsmCudaKernelFree(), or NULL with errno:
 *   EINVAL    @function is not a kernel of this context
 *   ENOEXEC   the kernel has more than 256 parameters, or its name is longer than 63 characters
 *   ENOTSUP   the driver is older than CUDA 12.4, and does not report parameters; or the backend is not "cuda"
 *   ENODEV, ENOMEM  as in adsm.h
 */
ADSM_API adsmKernel *adsmCudaKernel(int device, struct CUfunc_st *function);

/**
 * Free a kernel of adsmCudaKernel(). The function waits for calls of the kernel.
 *
 * @kernel: NULL has no effect.
 *
 * Returns 0 or:
 *   -EINVAL   @kernel is not a kernel of adsmCudaKernel()
 *   -EBUSY    a call of the kernel (adsmOnceCall()) waits for units that no other call will set
 */
ADSM_API int adsmCudaKernelFree(adsmKernel *kernel);

#ifdef __cplusplus
}
#endif

#endif
