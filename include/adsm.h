/* SPDX-License-Identifier: MIT */
/* adsm.h - one pointer for CPU and accelerator: the public interface of libadsm. */
#ifndef ADSM_H
#define ADSM_H

#include <stddef.h>
#include <stdint.h>

#include "adsm_copy.h"	/* device-only memory, explicit copies, events */
#include "adsm_export.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Conventions
 *
 * - Functions that return int return 0 on success, or a negative errno value. Functions that return a pointer return
 *   NULL on failure and set errno. adsmLastError() then returns a sentence about the failure.
 * - Every function may return -ENOMEM, and -ENODEV if no device could be opened or the device was lost.
 * - The child of a fork() must not access objects before it calls exec. Functions that need the library fail there with
 *   -ENOTSUP.
 * - Sizes are in bytes. Names that end in _ns are times in nanoseconds.
 * - Any thread may call any function at any time, except adsmShutdown(). A thread with asynchronous cancellation must
 *   not call the library. A signal handler may call only adsmHandleFault(), adsmIsShared() (adsm_lend.h), and
 *   adsmOnceGet(), adsmOnceTry(), adsmOnceWait(), adsmOnceFresh() and adsmOnceSet() (adsm_once.h).
 * - The library starts by itself at the first call that needs it. A function that starts the library may also return
 *   the errors of adsmInit().
 * - A function that a service calls (adsm_service.h) may return -EDEADLK.
 * - A structure with struct_size may get new fields at its end in a later version. The caller sets struct_size to the
 *   structure's sizeof. The library accepts the sizes of older and newer versions:
 *   - Older caller: fields that its structure lacks have their defaults.
 *   - Newer caller: fields that the library does not know must be 0, or the function fails with -EINVAL. If the library
 *     fills the structure, the library sets such fields to 0.
 *   - A size that is smaller than the structure's first version, or larger than 4096, is invalid (-EINVAL).
 *   The same holds for a structure whose size is a parameter of the function, such as adsmStats.
 * - Parameters named ret_... are outputs. The library writes them only on success.
 * - The documents that these headers name as docs/... are installed in share/doc/libadsm.
 *
 * "The paper" is Gelado et al., An Asymmetric Distributed Shared Memory Model for Heterogeneous Parallel Systems,
 * ASPLOS 2010.
 */

#define ADSM_VERSION_MAJOR 0
#define ADSM_VERSION_MINOR 2
#define ADSM_VERSION_PATCH 0
#define ADSM_VERSION (ADSM_VERSION_MAJOR * 10000 + ADSM_VERSION_MINOR * 100 + ADSM_VERSION_PATCH)

/** Return the version of the library at run time, encoded like ADSM_VERSION. */
ADSM_API int adsmVersion(void);

/* ---- starting, stopping, options --------------------------------------------------------- */

/**
 * Start the library: read the options, reserve the address range for objects, open the devices.
 *
 * A program need not call this function, because the first call that needs the library starts it. If the library is
 * running, nothing happens. After a failure the next call that needs the library tries again.
 *
 * Returns 0 or one of these errors, which the library also writes to its log:
 *   -EINVAL   an option has an invalid value
 *   -ENODEV   no device could be opened
 *   -ENOMEM   there is not enough memory or address space
 *   -ENOTSUP  the process is the child of a fork(), or runs under valgrind; or a device lacks what an option asks for
 *   -EAGAIN   the library could not start a thread
 *   others    the file of a report, a trace or a recording cannot be written (ADSM_STATS, ADSM_TRACE, ADSM_RECORD): for
 *             example -EACCES
 */
ADSM_API int adsmInit(void);

/**
 * Stop the library and release its devices, memory and helper threads.
 *
 * The library then writes its report and trace (ADSM_STATS, ADSM_TRACE), which it otherwise writes when the program
 * ends. adsmInit() may start the library again. No other thread may be in a function of the library. Earlier
 * events are then invalid. Queues (adsm_queue.h) stay valid.
 *
 * Returns 0, also if the library was not running, or:
 *   -EBUSY    an object, device-only memory or a module still exists
 */
ADSM_API int adsmShutdown(void);

/**
 * Set an option. It has the same effect as the environment variable ADSM_<name>, and takes precedence over it.
 *
 * Call this function before the library starts.
 *
 * @name: the option's name without the prefix, in upper or lower case: "protocol", "block_size". The command
 *        adsm-info --options-all lists them.
 * @value: the text that the environment variable would have. NULL: the program's value is removed, and the environment
 *         variable or the default has effect again.
 *
 * Returns 0 or:
 *   -EINVAL   @name is NULL, or there is no such option, or @value is invalid; adsmLastError() lists the valid values
 *   -EBUSY    the library is already running
 */
ADSM_API int adsmOption(const char *name, const char *value);

/**
 * Return a description of an error code.
 *
 * @error: 0 or a negative errno value, as functions of the library return it.
 *
 * Returns a static string, never NULL.
 */
ADSM_API const char *adsmErrorString(int error);

/**
 * Return one sentence about the calling thread's last failed call: what is wrong and what would be right.
 *
 * Returns "" if no call of this thread has failed. The string is valid until the thread's next failing call.
 */
ADSM_API const char *adsmLastError(void);

/* ---- shared memory ----------------------------------------------------------------------- */

/**
 * Allocate shared memory (paper, section 3.3 and Table 1). The caller passes the returned address to kernels. If
 * same_address (adsmDeviceProps) is 0, the kernel gets another address.
 *
 * @size: bytes, more than 0. The library rounds it up to whole pages.
 *
 * The contents are undefined. adsmAllocWith() with ADSM_ALLOC_ZERO allocates zeros. The caller owns the memory until
 * adsmFree().
 *
 * The object gets device memory when a call or a copy first needs it. Later calls may need this memory for other
 * objects; the library then moves the object to the host (docs/oversubscription.md). Therefore the objects of a device
 * may together be larger than the device's memory. With ADSM_OVERSUBSCRIBE=off, and where the driver chooses the
 * address, the function itself allocates the device memory, and the object keeps it.
 *
 * Returns the address, which is page aligned, or NULL with errno:
 *   EINVAL    @size is 0
 *   ENODEV    there is no device, or the device was lost
 *   ENOMEM    @size is more than the device's memory, or there is not enough memory on the host. If the function
 *             allocates device memory also: the device is full
 *   EAGAIN    the library could not start a thread
 */
ADSM_API void *adsmAlloc(size_t size);

#define ADSM_DEVICE_CURRENT (-1)	/* the calling thread's device: adsmDeviceSet() */
#define ADSM_DEVICE_ANY (-3)		/* only for adsmDeviceSet(): the library chooses the device of each call */

/* Flags of adsmAllocOptions. */
#define ADSM_ALLOC_POPULATE 1u		/* allocate the host's pages now, not at the first access */
#define ADSM_ALLOC_ZERO 2u		/* the device fills the object with zeros; only then EIO is possible */

/** Options of adsmAllocWith(). Initialize them with ADSM_ALLOC_OPTIONS_INIT. */
typedef struct adsmAllocOptions {
	size_t struct_size;		/* sizeof(adsmAllocOptions) */
	const char *protocol;		/* "batch", "lazy" or "rolling"; NULL: the option ADSM_PROTOCOL */
	size_t block_size;		/* bytes, a power of two from one page to 1 GiB; 0: the option ADSM_BLOCK_SIZE;
					   batch and lazy use the whole object as one block */
	int device;			/* a device's index, or ADSM_DEVICE_CURRENT */
	unsigned flags;			/* ADSM_ALLOC_* */
} adsmAllocOptions;

#define ADSM_ALLOC_OPTIONS_INIT { sizeof(adsmAllocOptions), NULL, 0, ADSM_DEVICE_CURRENT, 0 }

/**
 * Allocate shared memory with options.
 *
 * @size: as for adsmAlloc().
 * @options: NULL for the defaults.
 *
 * Returns the address, as adsmAlloc() does, or NULL with errno:
 *   EINVAL    @size is 0, @size / block_size is more than 4294967295 blocks, or a field of @options is invalid;
 *             adsmLastError() names it
 *   ENODEV    there is no device, or the device was lost
 *   ENOMEM    the device or the host has not enough memory
 *   EAGAIN    the library could not start a thread
 *   EIO       only with ADSM_ALLOC_ZERO: the device could not fill the object with zeros
 */
ADSM_API void *adsmAllocWith(size_t size, const adsmAllocOptions *options);

/**
 * Free an object. The function waits for calls that may use the object and for its transfers. The caller must
 * end loans of the object before (adsmLoanEnd()): their addresses are invalid afterwards.
 *
 * @p: an address that adsmAlloc(), adsmAllocWith() or adsmSafeAlloc() returned; NULL has no effect.
 *
 * Returns 0 or:
 *   -EINVAL   @p is not such an address; if it lies inside an object, adsmLastError() names the object. Variables of
 *             modules (adsmModuleGlobal()) are freed by adsmModuleUnload()
 *   -EBUSY    a range of the object is held (adsmHold()); or a call by adsmOnceCall() that uses the object waits for
 *             units which no other call sets
 */
ADSM_API int adsmFree(void *p);

/**
 * The same as adsmAlloc(); the paper (section 4.2) has both. With this library every object may have another device
 * address: see adsmSafe().
 */
ADSM_API void *adsmSafeAlloc(size_t size);

/**
 * Return the device address of a byte of an object (paper, section 4.2).
 *
 * If same_address (adsmDeviceProps) is 0, call this function for each pointer that the program stores in memory for a
 * kernel. Store the result in place of the pointer. Name the target with adsmUse() in each call, because the library
 * does not see pointers in data. The library translates pointers that are arguments.
 *
 * @p: an address in an object.
 *
 * The address stays valid until adsmFree(), because after the first call of this function the object keeps its device
 * memory.
 *
 * Returns the address, or 0 with errno:
 *   EINVAL    @p is not in an object
 *   ENOTSUP   memory of this device has no addresses
 *   ENOMEM    the object has no device memory at present, and the device is full
 */
ADSM_API uint64_t adsmSafe(const void *p);

/**
 * Copy memory. Each range may be shared memory or ordinary memory. The library copies on the side, CPU or device, that
 * needs fewer transfers.
 *
 * @dst, @src: ranges that do not overlap.
 * @size: bytes to copy; 0 has no effect.
 *
 * Returns 0 or:
 *   -EINVAL   a range begins in an object and ends outside of it, or @size is too large; nothing was copied
 *   -EFAULT   the program has closed a page of an object by mprotect(); nothing was copied
 *   -EIO      a transfer failed
 *   -ENODEV   the device was lost
 */
ADSM_API int adsmMemcpy(void *dst, const void *src, size_t size);

/**
 * Fill shared or ordinary memory with a byte. The device fills whole blocks of an object.
 *
 * @dst: the first byte of the range.
 * @value: the byte, converted to unsigned char.
 * @size: bytes to fill; 0 has no effect.
 *
 * Returns like adsmMemcpy().
 */
ADSM_API int adsmMemset(void *dst, int value, size_t size);

/* How a kernel accesses an object; how other code accesses a range (adsmHold(), adsmLend()). */
#define ADSM_ACCESS_IN 1u		/* only reads */
#define ADSM_ACCESS_OUT 2u		/* only writes. The kernel overwrites the whole object, also if the pointer is
					   inside it, and does not read it. Bytes that it does not write are undefined
					   afterwards. For a range see adsmHold() and adsmLend() */
#define ADSM_ACCESS_INOUT 3u		/* reads and writes */

/**
 * Make a range accessible and keep it accessible, for accesses that the library cannot detect: io_uring, RDMA, system
 * calls of a statically linked program.
 *
 * While a range is held, kernel calls that may use the object return -EBUSY, and so does adsmFree(). The library counts
 * holds: each one needs its own adsmUnhold(). The function waits for calls that may write the object. If @access is not
 * ADSM_ACCESS_IN, it also waits for calls that may read the object.
 *
 * For io_uring, hold the range from the submission of a request to its completion.
 *
 * @p, @size: a range in one object.
 * @access: ADSM_ACCESS_IN: the range is current and readable.
 *          ADSM_ACCESS_INOUT: the range is current, readable and writable.
 *          ADSM_ACCESS_OUT: the range is writable, and the caller overwrites all of it. The library fetches no block
 *          that lies completely in the range.
 *
 * Returns 0 or:
 *   -EINVAL   the range is not inside one object, or @access is invalid
 *   -EFAULT   the program has closed a page of the range by mprotect()
 *   -EBUSY    a block of the range has 65534 holds already
 *   -EIO, -ENODEV  a transfer failed, or the device was lost
 */
ADSM_API int adsmHold(const void *p, size_t size, unsigned access);

/**
 * End a hold.
 *
 * @p, @size: the same range as in adsmHold().
 *
 * Returns 0, or -EINVAL if there is no hold of exactly this range.
 */
ADSM_API int adsmUnhold(const void *p, size_t size);

/**
 * Handle a fault on a shared object, for programs whose own SIGSEGV handler runs before the library's. That handler
 * calls this function before anything else.
 *
 * Most programs do not need this function. A handler that the program installs through libc runs after the library's
 * handler, and gets only faults that are not the library's. A handler runs before the library's in two cases:
 * - A runtime installs it by a raw system call after the library has started.
 * - The program installs it after the library has started, and the library replaces no functions of libc, for example
 *   because dlopen() opened it (docs/programs.md).
 *
 * Example:
 *
 *	static void handler(int sig, siginfo_t *info, void *context)
 *	{
 *		if (adsmHandleFault(sig, info, context))
 *			return;
 *		... the program's own faults ...
 *	}
 *
 * @sig, @info, @context: the arguments of the signal handler.
 *
 * Returns 1 if the library handled the fault. The handler must then return, and the instruction runs again. If the
 * access cannot succeed, the thread then gets SIGBUS. Returns 0 if the fault is not the library's, if another process
 * sent the signal, or if the library is not running.
 *
 * Any thread may call this function in a signal handler. The function preserves errno, and may wait for a kernel.
 */
ADSM_API int adsmHandleFault(int sig, void *info, void *context);

/* ---- modules, kernels, calls ------------------------------------------------------------- */

typedef struct { unsigned x, y, z; } adsmDim;	/* dimensions; 0 means 1 */

/* Return an adsmDim. In arguments of the macro adsmCall() a compound literal does not work because of its commas. */
static inline adsmDim adsmDim3(unsigned x, unsigned y, unsigned z)
{
	adsmDim dim;

	dim.x = x;
	dim.y = y;
	dim.z = z;
	return dim;
}

typedef struct adsmModule adsmModule;
typedef struct adsmKernel adsmKernel;

/**
 * Load a module of kernels from a file.
 *
 * A module in the dialect (adsm_kernel.h) runs on cpu, cluster, OpenCL and CUDA devices. For the backend scratchpad,
 * compile it with adsmcc --scratchpad. A module in CUDA C runs on cpu, cluster and CUDA devices. Each device compiles
 * or loads a module of adsmcc at the first call of one of its kernels there.
 *
 * Other images run on one kind of device, and are compiled now: OpenCL C, CUDA C++ or PTX source, SPIR-V, and CUDA
 * binaries. The library detects the kind from the contents. See adsmModuleLoadWith().
 *
 * @file: the file's path.
 *
 * Returns the module, which the caller owns until adsmModuleUnload(), or NULL with errno:
 *   EINVAL    @file is NULL
 *   ENOENT and others  the file cannot be read
 *   ENOEXEC   @file is not a regular file, or not a module; or it is an image of another kind, and the device's
 *             compiler rejected it. adsmLastError() has the compiler's messages
 */
ADSM_API adsmModule *adsmModuleLoad(const char *file);

/**
 * Load a module from memory. The library copies the image.
 *
 * @image, @size: the contents of a file for adsmModuleLoad().
 *
 * Returns like adsmModuleLoad().
 */
ADSM_API adsmModule *adsmModuleLoadMemory(const void *image, size_t size);

/* Kinds of images. A module of kind ADSM_MODULE_ADSM can contain code for several backends. Each other kind is for one
 * backend. */
enum {
	ADSM_MODULE_AUTO,		/* the library detects the kind from the contents */
	ADSM_MODULE_ADSM,		/* a module made by adsmcc */
	ADSM_MODULE_SOURCE,		/* source in the device's language: OpenCL C, CUDA C++ or PTX */
	ADSM_MODULE_SPIRV,		/* SPIR-V, if the device supports it */
	ADSM_MODULE_BINARY		/* output of the device's compiler: CL_PROGRAM_BINARIES, cubin, fatbin */
};

/** Options of adsmModuleLoadWith(). Initialize them with ADSM_MODULE_OPTIONS_INIT. */
typedef struct adsmModuleOptions {
	size_t struct_size;		/* sizeof(adsmModuleOptions) */
	int kind;			/* ADSM_MODULE_* */
	int device;			/* a device's index, or ADSM_DEVICE_CURRENT: the device that compiles the image
					   now. Other devices compile it at the first call of one of its kernels */
	const char *build_options;	/* options of the device's compiler, separated by blanks; NULL: none */
} adsmModuleOptions;

#define ADSM_MODULE_OPTIONS_INIT { sizeof(adsmModuleOptions), ADSM_MODULE_AUTO, ADSM_DEVICE_CURRENT, NULL }

/**
 * Load a module from memory with options.
 *
 * Modules of adsmcc describe the parameters of their kernels. For other images the library knows what the driver
 * reports, and checks arguments against that:
 * - OpenCL: a pointer to const data is ADSM_ACCESS_IN. Other pointers have no declared access.
 * - CUDA: only the sizes of parameters are known. C++ names are mangled: declare kernels extern "C".
 *
 * Modules of adsmcc compute the same floating-point results on every device. Therefore the library compiles them for
 * CUDA with --fmad=false and for OpenCL without contraction, unless @options contains an fmad option or
 * -cl-fast-relaxed-math.
 *
 * @image, @size: the image. The library copies it.
 * @options: NULL for the defaults.
 *
 * Returns like adsmModuleLoad(), and also:
 *   EINVAL    an option is invalid
 *   ENOEXEC   the device does not support images of this kind
 */
ADSM_API adsmModule *adsmModuleLoadWith(const void *image, size_t size, const adsmModuleOptions *options);

/**
 * Unload a module and its kernels. The function waits for calls of these kernels.
 *
 * @module: NULL has no effect.
 *
 * Returns 0 or:
 *   -EINVAL   @module is invalid
 *   -EBUSY    a range of one of its variables (adsmModuleGlobal()) is held (adsmHold()); or a call of a kernel
 *             (adsmOnceCall()) waits for units that no other call will set. The module stays loaded
 */
ADSM_API int adsmModuleUnload(adsmModule *module);

/**
 * Return a kernel of a module. The module owns the kernel, which is valid until adsmModuleUnload().
 *
 * @module: a loaded module.
 * @name: the kernel's name. A kernel in CUDA C also has a mangled name, of up to 1,024 characters.
 *
 * Returns the kernel, or NULL with errno:
 *   ENOENT    the module has no kernel of this name; adsmLastError() lists its kernels
 *   EINVAL    @module or @name is invalid
 */
ADSM_API adsmKernel *adsmKernelGet(adsmModule *module, const char *name);

/**
 * Return the address of a variable of a module: __device__ or __constant__ of CUDA C (docs/cuda-c.md). Each device has
 * its own copy. The variable is a shared object, like those of adsmAlloc(). The module owns it until
 * adsmModuleUnload(), and adsmFree() refuses it. Calls of kernels of the module need no argument for the variable.
 *
 * @module: a loaded module.
 * @device: the device's index, or ADSM_DEVICE_CURRENT.
 * @name: the variable's name. In C++ it is mangled if the variable is in a namespace.
 * @ret_size: gets the variable's size in bytes; NULL: not needed.
 *
 * Returns the address, or NULL with errno:
 *   ENOENT    the module has no variable of this name; adsmLastError() lists its variables
 *   ENOTSUP   the device does not support variables of modules
 *   EINVAL    @module, @device or @name is invalid
 *   ENOMEM    the device or the host has not enough memory
 */
ADSM_API void *adsmModuleGlobal(adsmModule *module, int device, const char *name, size_t *ret_size);

/** One argument of a call. Use adsmPtr() and the related functions to create it. */
typedef struct adsmArg {
	uint32_t kind;			/* ADSM_ARG_* */
	uint32_t access;		/* ADSM_ACCESS_*; 0: as the kernel declares it */
	const void *data;		/* the pointer argument, or the address of the value */
	size_t size;			/* bytes of the value */
} adsmArg;

enum { ADSM_ARG_NONE, ADSM_ARG_POINTER, ADSM_ARG_VALUE, ADSM_ARG_CONST, ADSM_ARG_USE, ADSM_ARG_LOCAL,
       ADSM_ARG_ONCE };			/* kinds of arguments and parameters. ADSM_ARG_ONCE as an argument: units for
					   adsmOnceCall(). For a write-once parameter of adsmCall(), pass
					   adsmPtr(once->address) */

#define ADSM_CONST_MAX ((size_t)64 << 10)	/* maximum size of one adsmConst() argument */
#define ADSM_ARGS_MAX 256			/* maximum number of arguments of one call. Entries of adsmUse() do
						   not count. All pointers together: 640 */

/**
 * Call a kernel (paper, section 3.3): release the objects that it uses, and start it. The function does not wait for
 * its kernel: adsmSync() does. It may wait for earlier calls, asynchronous copies and transfers. Calls on a device
 * begin in order, unless they are in different queues (adsm_queue.h).
 *
 * If all objects of the call are on one device, the call runs there, unless ADSM_DEVICE_ANY is set. A call without
 * objects runs on the thread's device. If the objects are on several devices, the call runs on the thread's device. The
 * objects of other devices move there first, or are copied if the call only reads them (docs/howto-devices.md).
 *
 * If the CPU accesses an object that the kernel may write, or writes an object that it reads, the access waits until
 * the kernel has ended. A read then sees the results. There are two exceptions. With ADSM_TOUCH=error the thread gets
 * SIGBUS. With the protocol batch the access does not wait: call adsmSync() first.
 *
 * The macro adsmCall() is easier to use, because it counts the arguments.
 *
 * @grid: the number of blocks in each dimension.
 * @block: the number of threads of a block in each dimension.
 * @args, @n: the arguments in the kernel's order. The library skips entries of kind ADSM_ARG_NONE, and copies values
 *            before it returns.
 *
 * Returns 0 or:
 *   -EINVAL   the arguments do not match the kernel, a pointer is not in an object, or an object is on another device
 *             and cannot move; adsmLastError() names the argument. Kernels in CUDA C take any pointer
 *             (docs/cuda-c-access.md)
 *   -EBUSY    a range of an object that the kernel uses is held (adsmHold()); or an object would move, and a system
 *             call or a loan is writing it
 *   -ENODEV   the device was lost
 *   -ENOTSUP  the device does not support what the kernel needs: tasks, services, write-once objects; or kernels of
 *             the module change variables, and the device is a cluster (docs/cluster.md)
 *   -ENOEXEC  the device has no code for the kernel, or a compiler rejected the module or the kernel, or is missing.
 *             The device compiles a module at the first call of one of its kernels
 *   -ENOSPC   the kernel does not fit into a local store (docs/scratchpad-reference.md, also for other errors)
 *   -EIO      a transfer failed
 *   -ENOMEM   the objects that the kernel uses do not fit on the device together, or the host has no memory for the
 *             objects that would make room for them; adsmLastError() has the numbers (docs/oversubscription.md)
 * A call that fails changes no contents, and the caller may repeat it. There is one exception: if the call overwrites
 * an object (ADSM_OUT) that has to move to its device, the contents of that object may be lost.
 */
ADSM_API int adsmCallArgs(adsmKernel *kernel, adsmDim grid, adsmDim block, const adsmArg *args,
			  size_t n);

/**
 * Wait for the calls that the thread has made since its last adsmSync(), on all devices. Acquire what their kernels
 * wrote (paper, section 3.3). The function does not wait for calls by adsmOnceCall().
 *
 * Returns 0 or the first error of these calls. Each error is returned once: the next adsmSync() does not repeat it.
 */
ADSM_API int adsmSync(void);

/**
 * Assign an object to a kernel (paper, section 3.3). All calls of this kernel then use the object. An object may be
 * assigned to several kernels. A call of any other kernel uses it only if an argument of the call points to it.
 *
 * A call is unnamed if a pointer has no known access, if adsmUseAll() is passed, or if a CUDA C kernel follows pointers
 * in memory. With ADSM_PAPER=1 every call is unnamed. An unnamed call uses all objects of the device, except objects
 * that are assigned to other kernels only. Therefore unnamed calls of other kernels do not use @p.
 *
 * @p: the object's address.
 * @kernel: the kernel; NULL removes all assignments of the object.
 * @access: how the kernel accesses the object: ADSM_ACCESS_IN, ADSM_ACCESS_OUT or ADSM_ACCESS_INOUT.
 *
 * Returns 0, or -EINVAL if an argument is invalid.
 */
ADSM_API int adsmAssign(void *p, adsmKernel *kernel, unsigned access);

/* ---- devices ----------------------------------------------------------------------------- */

/** Properties of a device. The caller sets struct_size before it calls adsmDeviceInfo(). */
typedef struct adsmDeviceProps {
	size_t struct_size;
	char name[64];
	char backend[16];
	uint64_t memory_size;		/* total bytes */
	uint64_t memory_free;		/* bytes available now */
	unsigned compute_units;		/* threads, cores or multiprocessors that run blocks at the same time */
	unsigned same_address;		/* 1: an object has the same address on the CPU and the device */
	unsigned unified;		/* 1: CPU and device share physical memory, and nothing is copied */
	unsigned signal_safe;		/* 1: the thread that faults makes the transfer itself; 0: a thread of the
					   library makes it */
	unsigned lost;			/* 1: the device was lost, and all its calls fail */
	unsigned max_workers;		/* maximum number of workers of a task; 0: the device does not support tasks */
	char memory[16];		/* kind of device memory: "discrete", "unified", "buffer", "usm", ... */
	char made_of[256];		/* parts of the device, such as the nodes of a cluster; "" if it has none */
} adsmDeviceProps;

/** Return the number of devices, or a negative errno value if the library cannot start. */
ADSM_API int adsmDeviceCount(void);

/**
 * Describe a device.
 *
 * @device: 0 to adsmDeviceCount() - 1, or ADSM_DEVICE_CURRENT.
 * @ret_props: gets the properties.
 *
 * Returns 0, or -EINVAL if there is no such device or struct_size is invalid.
 */
ADSM_API int adsmDeviceInfo(int device, adsmDeviceProps *ret_props);

/**
 * Set the device of the calling thread: of its later allocations, and of its later calls that use objects of several
 * devices. A thread starts with device 0.
 *
 * With ADSM_DEVICE_ANY the library chooses the device of each later call of this thread: the device where it expects
 * the call to begin first. The library compares the time of the transfers, at the rates that it has measured, and how
 * long the earlier calls will still run. The objects move to the chosen device (docs/howto-devices.md). Allocations
 * still use the device that the thread had before. adsmDeviceSet() with a device's index ends this.
 *
 * @device: 0 to adsmDeviceCount() - 1, or ADSM_DEVICE_ANY.
 *
 * Returns 0, or -EINVAL if there is no such device.
 */
ADSM_API int adsmDeviceSet(int device);

/* ---- looking inside ---------------------------------------------------------------------- */

/** Properties of an object. The caller sets struct_size before it calls adsmObjectInfo(). */
typedef struct adsmObjectProps {
	size_t struct_size;
	void *address;			/* address of the first byte */
	size_t size;			/* bytes, as passed to adsmAlloc() */
	size_t block_size;		/* bytes; with batch and lazy the object's size in whole pages */
	size_t n_blocks;
	size_t n_invalid, n_read_only, n_dirty;	/* number of blocks in each state */
	char protocol[16];
	int device;			/* the device's index */
	uint64_t device_address;	/* 0: the device has none, or chooses one only with device memory */
} adsmObjectProps;

#define ADSM_NAME_SIZE 32		/* maximum size of an object's name, with the terminating NUL */

/**
 * Name an object. Reports, traces and messages show the name.
 *
 * @p: an address in the object.
 * @name: the library copies at most ADSM_NAME_SIZE - 1 bytes; NULL or "" removes the name.
 *
 * Returns 0, or -EINVAL if @p is not in an object.
 */
ADSM_API int adsmSetName(const void *p, const char *name);

/**
 * Describe the object that contains an address. The description says how many blocks are in each state. No function
 * returns the state of a single block.
 *
 * @p: an address in the object.
 * @ret_props: gets the properties.
 *
 * Returns 0, or -EINVAL if @p is not in an object or struct_size is invalid.
 */
ADSM_API int adsmObjectInfo(const void *p, adsmObjectProps *ret_props);

/**
 * Counters since the start or adsmStatsReset(). Byte counts are exact and contain no padding. read_faults counts blocks
 * that leave the state Invalid for a read. write_faults counts blocks that become Dirty. Loads and stores of the CPU,
 * system calls and copies cause both. The counters of freed objects stay in the totals.
 */
#define ADSM_STATS(X) \
	X(h2d_bytes, "bytes sent to the device") \
	X(d2h_bytes, "bytes fetched from the device") \
	X(h2d_transfers, "transfers to the device") \
	X(d2h_transfers, "transfers from the device") \
	X(const_bytes, "bytes of adsmConst() arguments") \
	X(read_faults, "blocks that left Invalid for reading") \
	X(write_faults, "blocks that became Dirty") \
	X(signals, "entries of the fault handler") \
	X(ahead_blocks, "blocks opened by fault-ahead") \
	X(evictions, "blocks sent early by the rolling protocol") \
	X(calls, "kernel calls") \
	X(kernel_ns, "time in kernels") \
	X(h2d_ns, "time sending") \
	X(d2h_ns, "time fetching") \
	X(fault_ns, "time handling faults, without transfers and waits") \
	X(io_ns, "time in interposed I/O") \
	X(wait_ns, "time waiting for calls") \
	X(once_waits, "waits for units of write-once objects") \
	X(once_ns, "time waiting for units of write-once objects") \
	X(displaced, "objects moved to the host for room on the device") \
	X(displaced_bytes, "bytes fetched to displace objects") \
	X(moved, "objects moved to another device for a call") \
	X(moved_bytes, "bytes fetched to move objects")

typedef struct adsmStats {
#define ADSM_STATS_FIELD(name, help) uint64_t name;
	ADSM_STATS(ADSM_STATS_FIELD)
#undef ADSM_STATS_FIELD
} adsmStats;

/**
 * Read the counters of the whole library.
 *
 * @ret_stats: gets the counters.
 * @size: sizeof(adsmStats).
 *
 * Returns 0, or -EINVAL if an argument is invalid.
 */
ADSM_API int adsmStatsGet(adsmStats *ret_stats, size_t size);

/**
 * Read the counters of one object. Calls and kernel times are counted for the whole library only.
 *
 * @p: an address in the object.
 * @ret_stats: gets the counters.
 * @size: sizeof(adsmStats).
 *
 * Returns 0, or -EINVAL if @p is not in an object or an argument is invalid.
 */
ADSM_API int adsmObjectStatsGet(const void *p, adsmStats *ret_stats, size_t size);

/** Set all counters to 0. A report then covers the time from this call on. Returns 0. */
ADSM_API int adsmStatsReset(void);

/* ---- making arguments -------------------------------------------------------------------- */

static inline adsmArg adsmArgMake_(uint32_t kind, uint32_t access, const void *data, size_t size)
{
	adsmArg arg;

	arg.kind = kind;
	arg.access = access;
	arg.data = data;
	arg.size = size;
	return arg;
}

/*
 * A pointer into an object; NULL is allowed. adsmPtr(): the kernel declares the access. adsmIn(), adsmOut() and
 * adsmInOut() replace the declared access for this call. The library does not check whether the two agree.
 */
static inline adsmArg adsmPtr(const volatile void *p)
{
	return adsmArgMake_(ADSM_ARG_POINTER, 0, (const void *)p, 0);
}

static inline adsmArg adsmIn(const volatile void *p)
{
	return adsmArgMake_(ADSM_ARG_POINTER, ADSM_ACCESS_IN, (const void *)p, 0);
}

static inline adsmArg adsmOut(volatile void *p)
{
	return adsmArgMake_(ADSM_ARG_POINTER, ADSM_ACCESS_OUT, (const void *)p, 0);
}

static inline adsmArg adsmInOut(volatile void *p)
{
	return adsmArgMake_(ADSM_ARG_POINTER, ADSM_ACCESS_INOUT, (const void *)p, 0);
}

/* Constant bytes. The library copies them at the call, and all threads of the kernel can read them. @size: at most
 * ADSM_CONST_MAX. */
static inline adsmArg adsmConst(const void *p, size_t size)
{
	return adsmArgMake_(ADSM_ARG_CONST, ADSM_ACCESS_IN, p, size);
}

/*
 * @size bytes of memory that the threads of a block share, for kernels in the device's own language. In OpenCL C it is
 * a __local parameter. In CUDA it is extern __shared__, and follows the other arguments.
 */
static inline adsmArg adsmLocal(size_t size)
{
	return adsmArgMake_(ADSM_ARG_LOCAL, 0, NULL, size);
}

/*
 * An object that the kernel reaches through pointers in memory. It is not an argument of the kernel.
 *
 * @p: an address in the object.
 * @access: ADSM_ACCESS_*. If it is 0, the call is unnamed.
 */
static inline adsmArg adsmUse(const volatile void *p, unsigned access)
{
	return adsmArgMake_(ADSM_ARG_USE, access, (const void *)p, 0);
}

/*
 * The kernel reaches objects that no argument names: the call is unnamed (adsmAssign()), and the library releases all
 * objects of the device. It is not an argument of the kernel.
 */
static inline adsmArg adsmUseAll(void)
{
	return adsmArgMake_(ADSM_ARG_USE, 0, NULL, 1);
}

#ifdef __cplusplus
}

/* A value of the type that the kernel declares. The argument keeps the address of @value. If @value is a temporary, the
 * argument is valid only until the end of the full expression. */
template<typename T> inline adsmArg adsmVal(const T &value)
{
	return adsmArgMake_(ADSM_ARG_VALUE, ADSM_ACCESS_IN, &value, sizeof(T));
}

/** Call a kernel, as the macro adsmCall() of C does. */
template<typename... Args>
inline int adsmCall(adsmKernel *kernel, adsmDim grid, adsmDim block, const Args &...args)
{
	const adsmArg list[] = { adsmArgMake_(ADSM_ARG_NONE, 0, NULL, 0), args... };

	return adsmCallArgs(kernel, grid, block, list, sizeof(list) / sizeof(list[0]));
}
#else
/*
 * A value of the type that the kernel declares: a number or a structure. The argument is valid until the end of the
 * enclosing block of C. In C++ it keeps the address of @x. If @x is a temporary, the argument is valid only until the
 * end of the full expression.
 */
#define adsmVal(x) adsmArgMake_(ADSM_ARG_VALUE, ADSM_ACCESS_IN, \
	&(const struct { __typeof__(x) value; }){ x }, sizeof(x))

/**
 * Call a kernel, and return before it has ended. adsmSync() waits for the kernel, and returns its error.
 *
 * Returns 0 or a negative errno value, like adsmCallArgs().
 *
 *	adsmCall(kernel, adsmDim3(n / 256, 1, 1), adsmDim3(256, 1, 1), adsmIn(a), adsmOut(b), adsmVal(n));
 */
#define adsmCall(kernel, grid, block, ...) adsmCallArgs(kernel, grid, block, \
	(const adsmArg[]){ { 0, 0, NULL, 0 }, __VA_ARGS__ }, \
	sizeof((const adsmArg[]){ { 0, 0, NULL, 0 }, __VA_ARGS__ }) / sizeof(adsmArg))
#endif

#endif
