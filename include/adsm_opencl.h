/* SPDX-License-Identifier: MIT */
/*
 * adsm_opencl.h - for programs that use OpenCL themselves, and move to shared memory array by array.
 *
 * With the backend "opencl" an object is a buffer of an OpenCL context, so kernels of the program's own can use it.
 * The types are those of CL/cl.h, which need not be included. Conventions as in adsm.h; where the library runs on
 * another backend, or was built without OpenCL's headers: ENOTSUP.
 */
#ifndef ADSM_OPENCL_H
#define ADSM_OPENCL_H

#include "adsm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What CL/cl.h calls cl_platform_id, cl_device_id and so on points to these. */
struct _cl_platform_id;
struct _cl_device_id;
struct _cl_context;
struct _cl_command_queue;
struct _cl_mem;
struct _cl_kernel;

/**
 * Have the library work in a context of the program's, instead of one of its own, on one device of it. Chooses the
 * backend "opencl" too, and, with ADSM_OPENCL_MEMORY=auto, objects that are buffers. Only before adsmInit(), which
 * the first allocation implies; both are retained until another call of this function.
 * @context, @device: NULL, NULL: contexts of its own again.
 * Returns 0; -EINVAL where the device is not one of the context's; -EBUSY once the library has started; -ENODEV where
 * there is no OpenCL.
 */
ADSM_API int adsmOpenCLUse(struct _cl_context *context, struct _cl_device_id *device);

/** What the library uses on a device; owned by it, valid until adsmShutdown(). */
typedef struct adsmOpenCLHandles {
	size_t struct_size;		/* sizeof(adsmOpenCLHandles), set by the caller */
	struct _cl_platform_id *platform;
	struct _cl_device_id *device;
	struct _cl_context *context;
	struct _cl_command_queue *compute;	/* where calls run, in order */
	struct _cl_command_queue *to_device, *to_host;
} adsmOpenCLHandles;

/**
 * Of device @device (0 … count-1, or ADSM_DEVICE_CURRENT). Before the first allocation on the device: with
 * ADSM_OPENCL_MEMORY=auto its objects will be buffers, for adsmOpenCLMem(). Returns 0, -EINVAL or -ENOTSUP.
 */
ADSM_API int adsmOpenCLGet(int device, adsmOpenCLHandles *ret_handles);

/**
 * The buffer behind an address in an object, or in device-only memory, and where in the buffer it is.
 * Owned by the library, valid until the object is freed. Commands of the program's own that use it come after an
 * adsmOpenCLRelease() of the object.
 * Returns 0; -EINVAL where @p is in no live object; -ENOTSUP where objects are no buffers of their own
 * (ADSM_OPENCL_MEMORY=usm, svm, unified; usm chosen by auto, where the library's own context was asked for too late).
 */
ADSM_API int adsmOpenCLMem(const void *p, struct _cl_mem **ret_buffer, size_t *ret_offset);

/**
 * Release objects to commands that the program enqueues itself, on any queue of the context: what is newer on the
 * CPU is sent; what the commands may write will be fetched. As adsmCall() of a kernel that does nothing would, and
 * waits for the calls before it.
 * The program waits for its commands (clFinish, clWaitForEvents) before the CPU touches what they write or writes what
 * they read, and before a call or adsmFree() of these objects; with the protocol "batch" it then calls adsmSync().
 * @uses: @n of adsmIn(), adsmOut(), adsmInOut(), adsmPtr() (which is adsmInOut() here) of addresses in objects.
 * Returns 0, or as adsmCall().
 */
ADSM_API int adsmOpenCLRelease(const adsmArg *uses, size_t n);

/**
 * A kernel of the program's own, to be called with adsmCall(): of the context of the device @device, retained until
 * adsmOpenCLKernelFree(). Arguments are set at each call, all of them: adsmIn() and its sisters for addresses in
 * objects, adsmVal(buffer) for a cl_mem of the program's, adsmVal() for values, adsmLocal() for local memory.
 * The program may not set arguments of it or enqueue it while the library calls it.
 * Returns the kernel; NULL with errno EINVAL (no kernel of this context), ENOEXEC (more than 32 parameters, or a name
 * longer than 63 characters), ENODEV, ENOMEM, ENOTSUP.
 */
ADSM_API adsmKernel *adsmOpenCLKernel(int device, struct _cl_kernel *kernel);

/**
 * Give such a kernel back; waits for its calls. NULL is allowed.
 * Returns 0 or -EINVAL; -EBUSY where a call of it (adsmOnceCall) might wait for ever.
 */
ADSM_API int adsmOpenCLKernelFree(adsmKernel *kernel);

#ifdef __cplusplus
}
#endif

#endif
