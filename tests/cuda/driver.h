/* SPDX-License-Identifier: MIT */
/*
 * driver.h - the driver double: a libcuda.so.1 for tests whose device is a child process, nastier than a GPU's.
 *
 * Its files: driver (the plan, contexts, queries), driver_device (the child), driver_memory (addresses, allocations),
 * driver_stream (order, events, capture), driver_copy (copies, fills), driver_module (images, launches), driver_table
 * (cuGetProcAddress), and device.c, the program of the child.
 *
 * Words in TEST_CUDA, separated by commas:
 *   no-device, stub      cuInit fails with 100, 34
 *   old                  11.3: no virtual memory management, and what came later is not supported
 *   no-vmm               no virtual memory management
 *   no-unified           no unified addressing, says the attribute
 *   elsewhere            hints for addresses are refused
 *   memory=BYTES         of the device; 1 GiB without it
 *   low-memory           memory=64M
 *   strict               host pointers that are the device's addresses are refused; without it such copies are silently
 *                        from device to device
 *   late                 pageable sources are read late too; commands wait until somebody asks often enough or waits,
 *                        2 ms at most
 *   order                commands of independent streams run latest stream first
 *   fail=NAME:N[:ERROR]  the Nth call of a function fails (with 999)
 *   lost=NAME:N[:ERROR]  the Nth call and all later ones of that context do (719)
 *   readable             device addresses are readable memory of the CPU's
 *   poison               fresh and freed memory is full of 0xa5
 *   signals              ends the process with status 99 where a function is entered with SIGUSR1 unblocked
 *   count=FILE           written when the process ends: "name n" for each function that was called
 *   seed=N               some of elsewhere, no-vmm, strict, late, order, poison; which, goes to stderr
 */
#ifndef TEST_CUDA_DRIVER_H
#define TEST_CUDA_DRIVER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "cuda/cu.h"

#define DRIVER_DEVICE_NAME "adsm-cuda-dev"	/* what the child is called in /proc */
#define DRIVER_PARAMS_MAX 64
#define DRIVER_PARAM_BYTES 4096
#define DRIVER_SIGNALS_STATUS 99
#define DRIVER_VERSION 13000
#define DRIVER_OLD_VERSION 11030
#define KiB ((size_t)1 << 10)
#define MiB ((size_t)1 << 20)
#define GiB ((size_t)1 << 30)
#define GRANULE (2 * MiB)
#define PAGE ((size_t)4096)

/* What tests may ask: test_cuda_counts() of the library. */
struct test_cuda_counts {
	uint64_t pinned, pageable;	/* copies whose host side was registered, or not */
	uint64_t device_to_itself;	/* copies whose host side was taken for device memory */
	uint64_t launches;
	uint64_t registered;		/* bytes, now */
	uint64_t used;			/* bytes of device memory, now */
	uint64_t contexts, streams, events, modules;	/* there are now */
	int device_pid;
};

typedef void test_cuda_counts_fn(struct test_cuda_counts *ret_counts);

/* ---- what cu.h has no need of */

enum {
	CUDA_ERROR_CONTEXT_ALREADY_IN_USE = 216,
	CUDA_ERROR_ILLEGAL_STATE = 401,
	CUDA_ERROR_STREAM_CAPTURE_UNMATCHED = 903,
	CUDA_ERROR_STREAM_CAPTURE_UNJOINED = 904,
};

typedef struct { char reserved[64]; } CUipcMemHandle;
typedef struct { int srcAccessOrder; CUmemLocation srcLocHint, dstLocHint; unsigned flags; } CUmemcpyAttributes;
/* As CUDA_MEMCPY3D, with contexts where that has reserved words. */
typedef CUDA_MEMCPY3D CUDA_MEMCPY3D_PEER;
typedef struct { uint64_t flags; CUstream hUploadStream; void *hErrNode_out; int result_out; }
	CUDA_GRAPH_INSTANTIATE_PARAMS;

/* ---- messages to the child; one reply each */

enum driver_op {
	DRIVER_HELLO,			/* descriptor: device memory */
	DRIVER_RESERVE,			/* address, size: has to be free there; inaccessible */
	DRIVER_UNRESERVE,
	DRIVER_MAP,			/* address, size, offset; a descriptor where it is not of device memory */
	DRIVER_UNMAP,			/* inaccessible again */
	DRIVER_LOAD,			/* descriptor: an image; the reply's index */
	DRIVER_UNLOAD,			/* index */
	DRIVER_KERNEL,			/* index of the image, name; the reply's index */
	DRIVER_WORKER,			/* descriptor: a socket on which a thread of its own runs launches */
	DRIVER_LAUNCH,
};

struct driver_message {
	uint32_t op, index;
	uint64_t address, size, offset;
	char name[64];
	/* launch */
	uint32_t grid[3], block[3], n_params;
	uint16_t param_offset[DRIVER_PARAMS_MAX];
	uint8_t param_const[DRIVER_PARAMS_MAX];	/* it is a pointer, and the kernel wants the bytes */
	uint8_t params[DRIVER_PARAM_BYTES];
};

struct driver_reply {
	int32_t error;			/* errno, or of a launch a CUresult */
	uint32_t index;
	uint64_t address;		/* of a launch that failed: where */
	char text[192];
};

/* ---- driver.c: the plan, and what each function begins with */

struct plan {
	bool no_device, stub, old, no_vmm, no_unified, elsewhere, strict, late, order, readable, poison, signals;
	uint64_t memory, seed;
	const char *count;
};

extern struct plan plan;

/* Of each exported function: made by CU(). */
struct call {
	const char *name;
	void *function;
	uint64_t n;
};

enum { ANY, INITIALISED, IN_CONTEXT };

struct context {
	struct context *next;
	bool primary, alive;
	unsigned flags, id;
	CUresult error;			/* sticky */
	struct CUstream_st *streams, *legacy;
	unsigned n_capturing;
	bool capture_broken;
};

/* Under the lock: everything, but for copying and running. */
extern pthread_mutex_t lock;
extern pthread_cond_t changed;

/* 0, or the error with which the function has to end. @ret_ctx: the current context, with IN_CONTEXT. */
CUresult driver_enter(struct call *call, int needs, struct context **ret_ctx);
struct call *driver_find(const char *name);
void driver_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Is this thread in a callback of ours? */
extern _Thread_local bool driver_in_callback;
/* The thread's stack of contexts has it on top; NULL: none. */
struct context *driver_current(void);
void driver_fail_context(struct context *ctx, CUresult error);
uint64_t driver_now_ns(void);
uint64_t driver_random(void);
extern struct test_cuda_counts counts;

/* An exported function: a prototype, its entry in the table, and the head of its definition. */
#define CU(name_, params) \
	__attribute__((visibility("default"))) CUresult name_ params; \
	static struct call call_##name_ __attribute__((section("driver_calls"), used, aligned(8))) = \
		{ #name_, (void *)(uintptr_t)name_, 0 }; \
	CUresult name_ params

#define ENTER(name_, needs) do { \
		CUresult error_ = driver_enter(&call_##name_, needs, NULL); \
		if (error_) \
			return error_; \
	} while (0)

#define ENTER_CONTEXT(name_) \
	struct context *ctx; \
	CUresult enter_error = driver_enter(&call_##name_, IN_CONTEXT, &ctx); \
	if (enter_error) \
		return enter_error

/* A function in a context whose body is one expression of ctx. */
#define CU_IN(name_, params, expression) \
	CU(name_, params) { ENTER_CONTEXT(name_); (void)ctx; return expression; }
/* The same in two flavours of the default stream: the expression has `per_thread` too. */
#define CU_TWO(name_, suffix, params, expression) \
	CU(name_, params) { ENTER_CONTEXT(name_); const bool per_thread = false; (void)per_thread; \
		return expression; } \
	CU(name_##suffix, params) { ENTER_CONTEXT(name_##suffix); const bool per_thread = true; (void)per_thread; \
		return expression; }
/* For 32-bit programs. */
#define CU_OBSOLETE(name_) \
	CU(name_, (void)) { ENTER(name_, ANY); driver_say("%s is for 32-bit programs", #name_); \
		return CUDA_ERROR_NOT_SUPPORTED; }

/* ---- driver_device.c. Not under the lock. */

extern int memory_fd;			/* device memory: a sparse file */
extern char *memory_bytes;		/* its mapping here */
/* Start the child, where it does not run. 0 or errno. */
int device_start(void);
bool device_gone(void);
/* One request: 0 or errno (ENODEV: the child is gone). @fd: -1 for none. */
int device_ask(struct driver_message *message, int fd, struct driver_reply *ret_reply);
int device_range(enum driver_op op, uint64_t address, size_t size, uint64_t offset);
/* A thread of the device for launches: a socket, or -1. */
int device_worker(void);
int device_run(int worker, const struct driver_message *message, struct driver_reply *ret_reply);
int driver_send(int sock, const void *data, size_t size, int fd);
int driver_receive(int sock, void *data, size_t size, int *ret_fd);

/* ---- driver_memory.c. With the lock where the name ends in _locked. */

enum range_kind { RANGE_DEVICE, RANGE_ASYNC, RANGE_VMM, RANGE_MANAGED, RANGE_HOST, RANGE_IPC };

struct range {				/* what may be used: an allocation, or a mapping with access */
	uint64_t address;
	size_t size;			/* as asked for */
	char *bytes;			/* here */
	enum range_kind kind;
	struct context *ctx;
	uint64_t id;
};

/* The range that has an address, NULL. */
const struct range *memory_find_locked(uint64_t address);
/* Its place here, and how many bytes go on from there without a gap; NULL: nothing of the device's. */
char *memory_place(uint64_t address, size_t *ret_size);
/* All of it is memory of the device's that may be used. */
bool memory_is_device(uint64_t address, size_t size);
bool memory_is_pinned(const void *p, size_t size);
void memory_end_context(struct context *ctx);
/* The child is a new one: nothing is left of what it had. */
void memory_reset(void);
/* What cuMemFreeAsync does, at its place in the stream. */
void memory_free_now(uint64_t address);
CUresult memory_alloc(struct context *ctx, size_t size, enum range_kind kind, CUdeviceptr *ret);
bool memory_is_allocation(uint64_t address);

/* ---- driver_stream.c */

struct op {				/* a command */
	struct op *next;		/* on its stream */
	unsigned refs;
	struct CUstream_st *stream;
	struct op **needs;		/* what has to be done before */
	size_t n_needs;
	bool started, done, hurried, marker;
	CUresult error;
	int polls;			/* held back so many questions long */
	uint64_t held_until, done_ns;
	CUresult (*run)(struct op *op);
	void (*release)(struct op *op);
	void (*copy)(const struct op *op, struct op *ret_copy);	/* for graphs: what the arguments own */
	void *data;
	size_t data_size;
	bool in_callback;		/* run on an error too */
};

/* Data is copied. @wait: until it is done; returns its error then. */
CUresult stream_submit(struct context *ctx, CUstream stream, bool per_thread, struct op op, bool wait);
/* NULL where there is no such stream. With the lock. */
struct CUstream_st *stream_find_locked(struct context *ctx, CUstream stream, bool per_thread);
int stream_worker(struct op *op);
void stream_drain(struct context *ctx);
/* A call that waits, or that none may make, while one captures: 0 or its error. */
CUresult stream_check_capture(struct context *ctx, bool legacy);
void stream_begin_context(struct context *ctx);
void stream_end_context(struct context *ctx);
bool stream_is_capturing(struct context *ctx, CUstream stream, bool per_thread);

/* ---- driver_module.c */

void module_end_context(struct context *ctx);
void module_reset(void);

#endif
