/* SPDX-License-Identifier: MIT */
/* adsm.h - one pointer for CPU and accelerator: the public interface of libadsm. */
#ifndef ADSM_H
#define ADSM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Conventions. Functions that return int return 0 or a negative errno value; functions that return
 * a pointer return NULL and set errno. The sentence behind the last failure of the calling thread is
 * adsmLastError(). Sizes are bytes. Unless a declaration says otherwise, any thread may call any
 * function, at any time but inside a signal handler, and the library starts by itself at the first
 * call that needs it. "The paper" is Gelado et al., An Asymmetric Distributed Shared Memory Model
 * for Heterogeneous Parallel Systems, ASPLOS 2010.
 */

#define ADSM_VERSION_MAJOR 0
#define ADSM_VERSION_MINOR 1
#define ADSM_VERSION_PATCH 0
#define ADSM_VERSION (ADSM_VERSION_MAJOR * 10000 + ADSM_VERSION_MINOR * 100 + ADSM_VERSION_PATCH)

/* A program that may run without the library says -DADSM_API="__attribute__((weak))" and looks for adsmInit. */
#if !defined(ADSM_API) && defined(__GNUC__)
#define ADSM_API __attribute__((visibility("default")))
#elif !defined(ADSM_API)
#define ADSM_API
#endif

/** The version of the library at run time, as ADSM_VERSION counts it. */
ADSM_API int adsmVersion(void);

/* ---- starting, stopping, options --------------------------------------------------------- */

/**
 * Start the library: read the options, reserve the arena, open the devices. Implicit at first use;
 * calling it again does nothing. Returns 0; -EINVAL for an option that is not valid; -ENODEV when no
 * accelerator could be opened; -ENOMEM; -ENOTSUP in the child of a fork. A failure is told once in the log, as an
 * error; the next call that needs the library tries again.
 */
ADSM_API int adsmInit(void);

/**
 * Stop the library and give everything back: devices, arena, helper threads. Reports and timelines
 * (ADSM_STATS, ADSM_TRACE) end here, or with the program. Returns 0 (also when it never started), or
 * -EBUSY while objects, device-only memory or modules are alive. adsmInit() may start it again. No
 * other thread may be inside the library.
 */
ADSM_API int adsmShutdown(void);

/**
 * Set an option from the program, as the environment variable ADSM_<name> would; what the program
 * sets wins over the environment. Only before adsmInit().
 * @name: as adsm-info lists it, without the prefix, case ignored: "protocol", "block_size".
 * @value: the text the environment variable would hold.
 * Returns 0; -EINVAL for an unknown name or a value that is not valid (adsmLastError() names the
 * valid ones); -EBUSY once the library has started.
 */
ADSM_API int adsmOption(const char *name, const char *value);

/** A sentence for @error (0 or a negative errno as this library returns it). Never NULL; static. */
ADSM_API const char *adsmErrorString(int error);

/**
 * What the last failed call of this thread had to say, in one sentence; "" if none failed. Valid
 * until the thread's next failing call.
 */
ADSM_API const char *adsmLastError(void);

/* ---- shared memory ----------------------------------------------------------------------- */

/**
 * Allocate shared memory: one address for the CPU and for kernels (paper §3.3, Table 1).
 * @size: bytes, more than 0; rounded up to whole pages. Contents are undefined: see ADSM_ALLOC_ZERO.
 * Returns the address, page aligned, owned by the caller until adsmFree(); NULL with errno EINVAL
 * (size 0), ENODEV (no accelerator) or ENOMEM (device full).
 */
ADSM_API void *adsmAlloc(size_t size);

#define ADSM_DEVICE_CURRENT (-1)	/* the device adsmDeviceSet() chose for this thread */
#define ADSM_ALLOC_POPULATE 1u		/* take the host's pages now, not at first use */
#define ADSM_ALLOC_ZERO 2u		/* contents are zeros, as calloc()'s: filled by the device; also EIO */

/** What adsmAllocWith() may be told; start from ADSM_ALLOC_OPTIONS_INIT. */
typedef struct adsmAllocOptions {
	size_t struct_size;		/* sizeof(adsmAllocOptions) */
	const char *protocol;		/* "batch", "lazy", "rolling"; NULL: ADSM_PROTOCOL */
	size_t block_size;		/* bytes, a power of two, one page to 1 GiB; 0: ADSM_BLOCK_SIZE;
					   batch and lazy always take the whole object as one block */
	int device;			/* index, or ADSM_DEVICE_CURRENT */
	unsigned flags;			/* ADSM_ALLOC_* */
} adsmAllocOptions;

#define ADSM_ALLOC_OPTIONS_INIT { sizeof(adsmAllocOptions), NULL, 0, ADSM_DEVICE_CURRENT, 0 }

/** adsmAlloc() with choices; @options may be NULL. Also EINVAL for an option that is not valid. */
ADSM_API void *adsmAllocWith(size_t size, const adsmAllocOptions *options);

/**
 * Free an object. Waits for the calls that may use it and for its transfers in flight.
 * @p: what adsmAlloc() returned, or NULL (nothing happens).
 * Returns 0; -EINVAL for any other address (an interior pointer names its object); -EBUSY while a
 * part of it is held.
 */
ADSM_API int adsmFree(void *p);

/**
 * Allocate shared memory whose address need not be valid on the accelerator (paper §4.2): for
 * devices that cannot give both sides one address. On devices that can, the same as adsmAlloc().
 */
ADSM_API void *adsmSafeAlloc(size_t size);

/**
 * The accelerator's address for a CPU address inside an object (paper §4.2): for pointers stored in
 * data where the two sides differ. Pointer arguments of a call need no adsmSafe().
 * Returns 0 with errno EINVAL where @p lies in no live object, ENOTSUP where the device has no
 * addresses.
 */
ADSM_API uint64_t adsmSafe(const void *p);

/**
 * memcpy() between any mix of shared and ordinary memory, on whichever side moves fewer bytes.
 * The ranges may not overlap. Returns 0; -EINVAL, with nothing done, where a range does not end in the object that it
 * begins in, or is larger than memory can be; -EIO or -ENODEV when a transfer failed.
 */
ADSM_API int adsmMemcpy(void *dst, const void *src, size_t size);

/** memset() on shared or ordinary memory: whole blocks are filled by the device. As adsmMemcpy(). */
ADSM_API int adsmMemset(void *dst, int value, size_t size);

/* What an argument, a hold or an assignment does with the data it names. */
#define ADSM_ACCESS_IN 1u		/* only reads it */
#define ADSM_ACCESS_OUT 2u		/* overwrites all of it, and reads nothing */
#define ADSM_ACCESS_INOUT 3u		/* reads and writes it */

/**
 * Hold a range open for accesses this library does not see: io_uring, RDMA, static code.
 * @access: ADSM_ACCESS_IN: fetched and readable. ADSM_ACCESS_INOUT: fetched and writable. ADSM_ACCESS_OUT: writable,
 * nothing is fetched where the range covers whole blocks: the caller overwrites all of it.
 * While held the range is neither closed nor evicted; a call that may use the object and adsmFree()
 * return -EBUSY. Holds are counted; each needs its adsmUnhold(). Waits for calls that may write it.
 * Returns 0; -EINVAL where the range is not inside one live object; -EBUSY where a block has too many
 * holds; -EIO, -ENODEV, -ENOMEM.
 */
ADSM_API int adsmHold(void *p, size_t size, int access);

/** End one hold of exactly this range. Returns 0, or -EINVAL where there is none. */
ADSM_API int adsmUnhold(void *p, size_t size);

/**
 * Serve a fault on a shared object, for programs whose own SIGSEGV handler must be the first (a language runtime,
 * say): called by that handler before anything else, with the arguments that the kernel gave it.
 * Returns 1: served, so return from the handler, and the instruction runs again (where the access cannot be served,
 * SIGBUS follows); 0: not the library's, so do what you would have done. Never 1 before the library has started,
 * or for a signal that was sent. Any thread; made for signal handlers; errno is kept. May wait for a kernel.
 */
ADSM_API int adsmHandleFault(int sig, void *info, void *context);

/* ---- modules, kernels, calls ------------------------------------------------------------- */

typedef struct { unsigned x, y, z; } adsmDim;	/* a component of 0 counts as 1 */

/* An adsmDim to write inside adsmCall(), where the commas of a compound literal would not do. */
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
 * Load a kernel module: what adsmcc wrote, for any backend; or, told by its bytes, the device's own: source (OpenCL C,
 * CUDA C++ or PTX), SPIR-V, code of CUDA. adsmModuleLoadWith() takes it from memory, with choices, and has the details.
 * @file: a path. Returns the module, owned by the caller until adsmModuleUnload(); NULL with errno
 * ENOENT and the like, or ENOEXEC where the file is none of these, or the device's compiler refused it.
 */
ADSM_API adsmModule *adsmModuleLoad(const char *file);

/** adsmModuleLoad() from memory; @image is copied. */
ADSM_API adsmModule *adsmModuleLoadMemory(const void *image, size_t size);

/* What an image is. Only ADSM_MODULE_ADSM runs on every backend; the others are the device's own. */
enum {
	ADSM_MODULE_AUTO,		/* told by its bytes: SPIR-V, text, code of CUDA, else a module of adsmcc's */
	ADSM_MODULE_ADSM,		/* as adsmcc writes it */
	ADSM_MODULE_SOURCE,		/* in the device's language: OpenCL C; CUDA C++ or PTX */
	ADSM_MODULE_SPIRV,		/* SPIR-V, where the device takes it */
	ADSM_MODULE_BINARY		/* what its compiler made: CL_PROGRAM_BINARIES of OpenCL; cubin, fatbin */
};

/** What adsmModuleLoadWith() may be told; start from ADSM_MODULE_OPTIONS_INIT. */
typedef struct adsmModuleOptions {
	size_t struct_size;		/* sizeof(adsmModuleOptions) */
	int kind;			/* ADSM_MODULE_* */
	int device;			/* which compiles it first, and says which kernels it has */
	const char *build_options;	/* for the device's compiler, separated by blanks; NULL: none */
} adsmModuleOptions;

#define ADSM_MODULE_OPTIONS_INIT { sizeof(adsmModuleOptions), ADSM_MODULE_AUTO, ADSM_DEVICE_CURRENT, NULL }

/**
 * adsmModuleLoadMemory() with choices; @options may be NULL. Kernels of modules that are not adsmcc's are known as
 * far as the driver tells: arguments are checked against that, a pointer to const data is ADSM_ACCESS_IN, other
 * pointers have no access unless the call names one. CUDA tells the sizes of arguments and nothing else, and names in
 * C++ as compilers do: declare kernels extern "C".
 * Modules of adsmcc's become CUDA code with --fmad=false, and OpenCL code without contraction, for the same numbers as
 * elsewhere, unless @options name fmad, or ask for -cl-fast-relaxed-math.
 * Also ENOEXEC: the device takes no such image, or its compiler refused it, whose log is in adsmLastError().
 */
ADSM_API adsmModule *adsmModuleLoadWith(const void *image, size_t size, const adsmModuleOptions *options);

/**
 * Unload a module and its kernels; waits for calls of them. NULL is allowed. Returns 0; -EINVAL; -EBUSY while a call of
 * theirs (adsmOnceCall() of adsm_once.h) waits for units that no other call is to set.
 */
ADSM_API int adsmModuleUnload(adsmModule *module);

/**
 * A kernel of a module, by name; owned by the module.
 * Returns NULL with errno ENOENT where the module has none of that name (adsmLastError() lists what
 * it has), or EINVAL.
 */
ADSM_API adsmKernel *adsmKernelGet(adsmModule *module, const char *name);

/** One argument of a call; made by adsmPtr() and its sisters, not by hand. */
typedef struct adsmArg {
	uint32_t kind;			/* ADSM_ARG_* */
	uint32_t access;		/* ADSM_ACCESS_*; 0: as the kernel declares */
	const void *data;		/* the pointer, or where the value's bytes are */
	size_t size;			/* of the value */
} adsmArg;

enum { ADSM_ARG_NONE, ADSM_ARG_POINTER, ADSM_ARG_VALUE, ADSM_ARG_CONST, ADSM_ARG_USE, ADSM_ARG_LOCAL,
       ADSM_ARG_ONCE };			/* the last: of parameters; the argument is adsmPtr(once->address) */

#define ADSM_CONST_MAX ((size_t)64 << 10)	/* bytes of one adsmConst() argument */
#define ADSM_ARGS_MAX 32			/* arguments of one call, adsmUse() included */

/**
 * Call a kernel (paper §3.3): release the objects it uses and start it; returns before it has run.
 * @grid, @block: blocks in the grid and threads in a block.
 * @args: @n arguments in the kernel's order, ADSM_ARG_NONE entries skipped; their bytes are copied.
 * Returns 0; -EINVAL for arguments that do not fit the kernel (adsmLastError() names the one), a
 * pointer in no live object, or objects of two devices; -EBUSY where a used object is held; -ENODEV
 * after the device was lost; -ENOTSUP where the device has not what the kernel needs (tasks, services,
 * write-once objects); -EIO, -ENOMEM. A call that fails before its kernel starts has lost nothing and
 * may be repeated.
 * Use adsmCall(), which counts the arguments.
 */
ADSM_API int adsmCallArgs(adsmKernel *kernel, adsmDim grid, adsmDim block, const adsmArg *args,
			  size_t n);

/**
 * Wait for all calls this thread made (paper §3.3) and acquire what they wrote.
 * Returns 0, also when there was none, or the first error of these calls.
 */
ADSM_API int adsmSync(void);

/**
 * Assign an object to a kernel (paper §3.3): an object with assignments is used by those kernels
 * only, so unnamed calls of others leave it alone.
 * @p: the object. @kernel: NULL takes all assignments of the object back.
 * @access: what the kernel does with it: ADSM_ACCESS_IN, ADSM_ACCESS_OUT, ADSM_ACCESS_INOUT.
 * Returns 0, -EINVAL or -ENOMEM.
 */
ADSM_API int adsmAssign(void *p, adsmKernel *kernel, int access);

/* ---- devices ----------------------------------------------------------------------------- */

/** What a device is; @struct_size is set by the caller to sizeof(adsmDeviceProps). */
typedef struct adsmDeviceProps {
	size_t struct_size;
	char name[64];
	char backend[16];
	uint64_t memory_size;		/* bytes in all */
	uint64_t memory_free;		/* bytes now */
	unsigned compute_units;
	unsigned same_address;		/* 1: one address is valid on both sides */
	unsigned unified;		/* 1: both sides share the memory, nothing is copied */
	unsigned signal_safe;		/* 1: transfers run in the faulting thread itself */
	unsigned lost;			/* 1: the device has died */
	char memory[16];		/* how objects are kept there, in one word: "discrete", "buffer", "usm", … */
	char made_of[256];		/* the parts of a device that has some, a cluster's nodes; "" */
} adsmDeviceProps;

/** Number of devices, or a negative errno. */
ADSM_API int adsmDeviceCount(void);

/** Describe device @device (0 … count-1, or ADSM_DEVICE_CURRENT). Returns 0 or -EINVAL. */
ADSM_API int adsmDeviceInfo(int device, adsmDeviceProps *ret_props);

/** Choose the device of this thread's later allocations; every thread starts with 0. 0 or -EINVAL. */
ADSM_API int adsmDeviceSet(int device);

/* ---- explicit copies --------------------------------------------------------------------- */

typedef struct { uint64_t device, queue, seq; } adsmEvent;	/* one asynchronous copy */

/**
 * Allocate memory on the thread's device only, as cudaMalloc() does: the CPU may not touch it.
 * Returns an address for adsmPtr() and the copies below, owned by the caller until adsmDeviceFree();
 * NULL with errno EINVAL, ENODEV or ENOMEM.
 */
ADSM_API void *adsmDeviceAlloc(size_t size);

/** Free device-only memory; waits for calls and copies. NULL is allowed. Returns 0 or -EINVAL. */
ADSM_API int adsmDeviceFree(void *p);

/**
 * Copy to, from and inside device-only memory; return when the bytes have moved. They follow the
 * calls and copies entered before them. The host's side may be shared memory too.
 * Return 0; -EINVAL where a device range is not inside one device-only allocation; -EIO, -ENODEV.
 */
ADSM_API int adsmCopyToDevice(void *device_dst, const void *host_src, size_t size);
ADSM_API int adsmCopyToHost(void *host_dst, const void *device_src, size_t size);
ADSM_API int adsmCopyDevice(void *device_dst, const void *device_src, size_t size);
ADSM_API int adsmDeviceFill(void *device_dst, int value, size_t size);

/**
 * The same, asynchronous: the host buffer, ordinary memory (else -EINVAL), must stay as it is until
 * adsmEventWait() has returned. A
 * later adsmCall() on the device waits for them. @ret_event: the copy, for adsmEventWait().
 */
ADSM_API int adsmCopyToDeviceAsync(void *device_dst, const void *host_src, size_t size,
				   adsmEvent *ret_event);
ADSM_API int adsmCopyToHostAsync(void *host_dst, const void *device_src, size_t size,
				 adsmEvent *ret_event);

/** Wait for an asynchronous copy. Returns 0 or the error it ended with. */
ADSM_API int adsmEventWait(adsmEvent event);

/* ---- looking inside ---------------------------------------------------------------------- */

/** What is known of an object; @struct_size is set by the caller to sizeof(adsmObjectProps). */
typedef struct adsmObjectProps {
	size_t struct_size;
	void *address;			/* its first byte */
	size_t size;			/* as it was allocated */
	size_t block_size;		/* bytes of a block; batch and lazy: the object's, in whole pages */
	size_t n_blocks;
	size_t n_invalid, n_read_only, n_dirty;	/* blocks in each state */
	char protocol[16];
	int device;
	uint64_t device_address;	/* 0: the device has no addresses */
} adsmObjectProps;

#define ADSM_NAME_SIZE 32		/* of an object's name, with its NUL */

/**
 * Give an object a name for reports, traces and messages.
 * @p: in the object. @name: copied, cut to ADSM_NAME_SIZE - 1 bytes; NULL or "" takes the name away.
 * Returns 0, or -EINVAL where there is no object.
 */
ADSM_API int adsmSetName(const void *p, const char *name);

/** Describe the object that contains @p. Returns 0, or -EINVAL where there is none. */
ADSM_API int adsmObjectInfo(const void *p, adsmObjectProps *ret_props);

/**
 * Counters since start or adsmStatsReset(). Bytes are the caller's, never padding; _ns is
 * nanoseconds. A read (write) fault is a block that leaves Invalid for reading (becomes Dirty),
 * whoever caused it. Those of a freed object stay in the totals.
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
	X(fault_ns, "time handling faults, transfers and waits left out") \
	X(io_ns, "time in interposed I/O") \
	X(wait_ns, "time waiting for calls") \
	X(once_waits, "waits for units of write-once objects") \
	X(once_ns, "time waiting for these")

typedef struct adsmStats {
#define ADSM_STATS_FIELD(name, help) uint64_t name;
	ADSM_STATS(ADSM_STATS_FIELD)
#undef ADSM_STATS_FIELD
} adsmStats;

/** Counters of the whole library; @size is sizeof(adsmStats). Returns 0 or -EINVAL. */
ADSM_API int adsmStatsGet(adsmStats *ret_stats, size_t size);

/** Counters of the object that contains @p (calls and kernel time are the whole's only). */
ADSM_API int adsmObjectStatsGet(const void *p, adsmStats *ret_stats, size_t size);

/** Set all counters to 0; a report counts from here. Returns 0. */
ADSM_API int adsmStatsReset(void);

/* ---- making arguments -------------------------------------------------------------------- */

/* A pointer into an object, with the access the kernel declares (adsmPtr) or another. NULL is allowed. */
static inline adsmArg adsmArgMake_(uint32_t kind, uint32_t access, const void *data, size_t size)
{
	adsmArg arg;

	arg.kind = kind;
	arg.access = access;
	arg.data = data;
	arg.size = size;
	return arg;
}

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

/* Bytes copied at the call and read by every thread of the kernel: @size at most ADSM_CONST_MAX. */
static inline adsmArg adsmConst(const void *p, size_t size)
{
	return adsmArgMake_(ADSM_ARG_CONST, ADSM_ACCESS_IN, p, size);
}

/*
 * Of a native kernel: @size bytes of memory that the threads of a block share. __local in OpenCL C; on CUDA, where
 * it is no parameter but extern __shared__, it comes behind the others.
 */
static inline adsmArg adsmLocal(size_t size)
{
	return adsmArgMake_(ADSM_ARG_LOCAL, 0, NULL, size);
}

/* No argument of the kernel: an object it reaches through pointers in data. */
static inline adsmArg adsmUse(const volatile void *p, unsigned access)
{
	return adsmArgMake_(ADSM_ARG_USE, access, (const void *)p, 0);
}

#ifdef __cplusplus
}

template<typename T> inline adsmArg adsmVal(const T &value)
{
	return adsmArgMake_(ADSM_ARG_VALUE, ADSM_ACCESS_IN, &value, sizeof(T));
}

template<typename... Args>
inline int adsmCall(adsmKernel *kernel, adsmDim grid, adsmDim block, const Args &...args)
{
	const adsmArg list[] = { adsmArgMake_(ADSM_ARG_NONE, 0, NULL, 0), args... };

	return adsmCallArgs(kernel, grid, block, list, sizeof(list) / sizeof(list[0]));
}
#else
/* A value, of the type the kernel declares: a number, a struct. Lives as long as the block it is written in. */
#define adsmVal(x) adsmArgMake_(ADSM_ARG_VALUE, ADSM_ACCESS_IN, \
	&(const struct { __typeof__(x) value; }){ x }, sizeof(x))

/** adsmCallArgs() with the arguments written out: adsmCall(k, adsmDim3(n / 256, 1, 1),
 * adsmDim3(256, 1, 1), adsmIn(a), adsmVal(n)). */
#define adsmCall(kernel, grid, block, ...) adsmCallArgs(kernel, grid, block, \
	(const adsmArg[]){ { 0, 0, NULL, 0 }, __VA_ARGS__ }, \
	sizeof((const adsmArg[]){ { 0, 0, NULL, 0 }, __VA_ARGS__ }) / sizeof(adsmArg))
#endif

#endif
