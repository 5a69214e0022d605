/* SPDX-License-Identifier: MIT */
/*
 * adsm_opencl.h - for programs that use OpenCL themselves, and move their arrays to shared memory one after the other.
 *
 * With the backend "opencl" an object is a buffer of an OpenCL context. Kernels of the program can use it.
 *
 * The types are those of CL/cl.h, and the program need not include CL/cl.h. The conventions of adsm.h hold. If the
 * library runs on another backend, or was built without OpenCL's headers, the functions fail with ENOTSUP. There are
 * three exceptions: adsmOpenCLUse() fails with -EBUSY if the library has started. adsmOpenCLKernelFree() fails with
 * -EINVAL, and so does adsmOpenCLMem() if @p is not in an object.
 */
#ifndef ADSM_OPENCL_H
#define ADSM_OPENCL_H

#include "adsm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The types cl_platform_id, cl_device_id and so on of CL/cl.h are pointers to these structures. */
struct _cl_platform_id;
struct _cl_device_id;
struct _cl_context;
struct _cl_command_queue;
struct _cl_mem;
struct _cl_kernel;

/**
 * Make the library use one device of a context of the program, instead of contexts of its own. This also selects the
 * backend "opencl". With ADSM_OPENCL_MEMORY=auto objects are then buffers. Call this function before the library
 * starts, that is before the first allocation.
 *
 * @context, @device: the library retains both until the next call of this function. Both NULL: the library makes
 *                    contexts itself again. The backend "opencl" stays selected: adsmOption("backend", NULL) ends this.
 *
 * Returns 0 or:
 *   -EINVAL   @device is not a device of @context, or only one of the two is NULL
 *   -EBUSY    the library has started
 *   -ENODEV   there is no OpenCL
 *   -ENOTSUP  the library was built without OpenCL's headers, or the process is the child of a fork()
 */
ADSM_API int adsmOpenCLUse(struct _cl_context *context, struct _cl_device_id *device);

/** What the library uses on a device. The library owns the context and the queues until adsmShutdown(). */
typedef struct adsmOpenCLHandles {
	size_t struct_size;		/* sizeof(adsmOpenCLHandles); the caller sets it */
	struct _cl_platform_id *platform;
	struct _cl_device_id *device;
	struct _cl_context *context;
	struct _cl_command_queue *compute;	/* calls run on this queue, in order */
	struct _cl_command_queue *to_device, *to_host;
} adsmOpenCLHandles;

/**
 * Return the context and the queues that the library uses on a device.
 *
 * If the program calls this function before the first allocation on the device, and ADSM_OPENCL_MEMORY is auto, the
 * device's objects are buffers, as adsmOpenCLMem() needs them.
 *
 * @device: 0 to adsmDeviceCount() - 1, or ADSM_DEVICE_CURRENT.
 * @ret_handles: gets the context and the queues. The caller sets struct_size before.
 *
 * Returns 0 or:
 *   -EINVAL   there is no such device, or struct_size is invalid
 *   -ENOTSUP  the device is not of the backend "opencl"
 */
ADSM_API int adsmOpenCLGet(int device, adsmOpenCLHandles *ret_handles);

/**
 * Return the buffer of an object. Before the program enqueues commands that use the buffer, it calls
 * adsmOpenCLRelease() for the object.
 *
 * The object keeps its device memory from the first call of this function on.
 *
 * @p: an address in an object, or in device-only memory (adsmDeviceAlloc()).
 * @ret_buffer: gets the buffer, which the library owns. It is valid until the object is freed.
 * @ret_offset: the offset of @p in the buffer, in bytes.
 *
 * Returns 0 or:
 *   -EINVAL   @p is not in an object, or an output is NULL
 *   -ENOTSUP  objects of the device are not separate buffers: ADSM_OPENCL_MEMORY is usm, svm or unified. With auto the
 *             library may choose usm, unless the program calls adsmOpenCLGet() early enough
 *   -ENOMEM   the object has no device memory at present, and the device is full
 */
ADSM_API int adsmOpenCLMem(const void *p, struct _cl_mem **ret_buffer, size_t *ret_offset);

/**
 * Release objects to commands that the program itself enqueues on any queue of the context. The function has the effect
 * of adsmCall() with an empty kernel. It sends the blocks that are newer on the CPU. Later the library fetches the
 * blocks that the commands may write. The function waits for all earlier calls.
 *
 * The program must wait for its commands, for instance by clFinish() or clWaitForEvents():
 * - before the CPU accesses memory that they write;
 * - before the CPU writes memory that they read;
 * - before a call uses the objects, and before adsmFree() of the objects.
 * With the protocol "batch" the program then also calls adsmSync().
 *
 * @uses, @n: addresses in objects, as adsmIn(), adsmOut(), adsmInOut() or adsmPtr(); at most ADSM_ARGS_MAX. adsmPtr()
 *            is the same as adsmInOut() here.
 *
 * Returns 0 or the errors of adsmCallArgs().
 */
ADSM_API int adsmOpenCLRelease(const adsmArg *uses, size_t n);

/**
 * Make a kernel of the program available to adsmCall(). The library sets all arguments at each call:
 * - adsmPtr(), adsmIn(), adsmOut() and adsmInOut() for addresses in objects;
 * - adsmVal(buffer) for a cl_mem of the program;
 * - adsmVal() for other values;
 * - adsmLocal() for local memory.
 *
 * While the library calls the kernel, the program must not set its arguments or enqueue it.
 *
 * @device: the device's index, or ADSM_DEVICE_CURRENT.
 * @kernel: a kernel of the context that the library uses on the device. The library retains it until
 *          adsmOpenCLKernelFree().
 *
 * Returns the kernel, which the caller owns until adsmOpenCLKernelFree(), or NULL with errno:
 *   EINVAL    @kernel is not a kernel of this context
 *   ENOEXEC   the kernel has more than 256 parameters, or its name is longer than 63 characters
 *   ENOTSUP   the device is not of the backend "opencl"
 *   ENODEV, ENOMEM  as in adsm.h
 */
ADSM_API adsmKernel *adsmOpenCLKernel(int device, struct _cl_kernel *kernel);

/**
 * Free a kernel of adsmOpenCLKernel(). The function waits for calls of the kernel.
 *
 * @kernel: NULL has no effect.
 *
 * Returns 0 or:
 *   -EINVAL   @kernel is not a kernel of adsmOpenCLKernel()
 *   -EBUSY    a call of the kernel (adsmOnceCall()) waits for units that no other call will set
 */
ADSM_API int adsmOpenCLKernelFree(adsmKernel *kernel);

#ifdef __cplusplus
}
#endif

#endif
