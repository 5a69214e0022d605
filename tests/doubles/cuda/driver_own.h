/* SPDX-License-Identifier: MIT */
/*
 * driver_own.h - what the files of the driver double share:
 *
 *   driver         the plan, contexts, queries
 *   driver_device  the child; device.c is the child's own file
 *   driver_memory  addresses, allocations
 *   driver_vmm     virtual memory management
 *   driver_host    host memory
 *   driver_stream  order, events, capture
 *   driver_copy    copies, fills, words
 *   driver_graph   graphs
 *   driver_module  images, launches
 *   driver_library kernels of no context
 *   driver_table   cuGetProcAddress
 */
#ifndef TEST_CUDA_DRIVER_OWN_H
#define TEST_CUDA_DRIVER_OWN_H

#include <pthread.h>
#include <stdbool.h>

#include "adsm_kernel.h"
#include "driver.h"

#define DRIVER_PARAMS_MAX 64
#define DRIVER_PARAM_BYTES 4096
#define MEMORY_FILE ((size_t)32 << 30)	/* sparse; the device has plan.memory of it from the start */
#define POOL_SIZE ((size_t)32 << 30)	/* of cuMemAlloc's addresses */
#define ASYNC_POOL_SIZE ((size_t)8 << 30)
#define VMM_POOL_SIZE ((size_t)8 << 30)	/* of reservations too small for a mapping of their own */
#define VMM_OWN ((size_t)64 << 30)	/* from there on hints are honoured */
#define OWN_MAPPING ((size_t)32 << 20)	/* allocations from there on have one */

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
	DRIVER_GLOBAL,			/* index of the image, name; the reply's index is its size. With an address and
					 * an offset it moves there, with its bytes */
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
	bool instant;			/* launch=: kernels do nothing but take time */
	uint64_t launch_ns;
	bool no_device, stub, old, no_vmm, no_unified, elsewhere, strict, late, order, readable, poison, signals,
		peers, stays_lost, patient;
	uint64_t memory, seed;
	const char *count;
};

extern struct plan plan;

/* Of each exported function: made by CU(). */
struct call {
	const char *name;
	void *function;
	uint64_t n;
	bool answers;			/* it writes to the caller's memory; meanwhile no other call enters */
};

enum { ANY, INITIALISED, IN_CONTEXT };

struct context {
	struct context *next;
	bool primary, alive;
	unsigned flags, id;
	unsigned n_attached;		/* by cuCtxCreate() and cuCtxAttach(), which cuCtxDetach() takes back */
	CUresult error;			/* sticky */
	struct CUstream_st *streams, *legacy;
	unsigned n_capturing;
};

extern struct context *contexts;

/* Under the lock: everything, but for copying and running. */
extern pthread_mutex_t lock;
extern pthread_cond_t changed;

/* 0, or the error with which the function has to end. @ret_ctx: the current context, with IN_CONTEXT. */
CUresult driver_enter(struct call *call, int needs, struct context **ret_ctx);
/* From here on until it has answered, where that is what it does. */
bool driver_answers(const struct call *call);
void driver_answered(const bool *answers);
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
void driver_count(uint64_t *n);

/* An exported function: a prototype, its entry in the table, and the head of its definition. */
#define CU(name_, params) \
	__attribute__((visibility("default"))) CUresult name_ params; \
	static struct call call_##name_ __attribute__((section("driver_calls"), used, aligned(8))) = \
		{ #name_, (void *)(uintptr_t)name_, 0, false }; \
	CUresult name_ params

#define ANSWERS(name_) \
	__attribute__((cleanup(driver_answered), unused)) const bool answers_ = driver_answers(&call_##name_)

#define ENTER(name_, needs) \
	CUresult enter_error = driver_enter(&call_##name_, needs, NULL); \
	if (enter_error) \
		return enter_error; \
	ANSWERS(name_)

#define ENTER_CONTEXT(name_) \
	struct context *ctx; \
	CUresult enter_error = driver_enter(&call_##name_, IN_CONTEXT, &ctx); \
	if (enter_error) \
		return enter_error; \
	ANSWERS(name_)

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

/* ---- driver_memory.c. With the lock where the name ends in _locked. */

enum range_kind { RANGE_DEVICE, RANGE_ASYNC, RANGE_VMM, RANGE_MANAGED, RANGE_HOST, RANGE_IPC, RANGE_GLOBAL };

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
/* All of it is memory of the device's that may be used: one allocation, or mappings side by side. */
bool memory_is_device(uint64_t address, size_t size);
void memory_end_context(struct context *ctx);
/* The child is a new one: nothing is left of what it had. */
void memory_reset(void);
/* What cuMemFreeAsync does, at its place in the stream. */
void memory_free_now(uint64_t address);
void memory_free_now_locked(uint64_t address);
CUresult memory_alloc(struct context *ctx, size_t size, enum range_kind kind, CUdeviceptr *ret);
bool memory_is_allocation(uint64_t address);
/* For a variable of a module's: pages of their own, and where they are in the file. */
CUresult memory_alloc_global(struct context *ctx, size_t size, CUdeviceptr *ret, uint64_t *ret_offset);

/* Of the file, and of pools of addresses. */
#define N_FREED 64
struct granules {
	uint64_t base;			/* of addresses; of the file 0 */
	size_t n;
	uint8_t *used;
	struct {
		size_t start, n;
	} freed[N_FREED];		/* the last one freed is the next one used */
	size_t n_freed;
};

/* An address or offset; -1 where there is no room. */
uint64_t granules_take(struct granules *g, size_t size);
void granules_give(struct granules *g, uint64_t at, size_t size);
/* A pool of addresses: where it was before, at @wanted, or anywhere. */
void granules_make(struct granules *g, uint64_t wanted, size_t size);
/* It has any of these addresses, used or not. */
bool granules_have(const struct granules *g, uint64_t address, size_t size);
/* Address space of this process and of the device's: exactly at @wanted; anywhere, aligned; 0: it is not free. */
uint64_t address_reserve_at(uint64_t wanted, size_t size);
uint64_t address_reserve(size_t size, size_t align);
void address_release(uint64_t address, size_t size);
/* With the lock, as all that follows. Bytes of the file, as far as the device has as many. */
bool memory_take(size_t size, uint64_t *ret_offset);
void memory_give(uint64_t offset, size_t size);
bool memory_add_range(struct range range);
void memory_remove_range(uint64_t address);
/* The range that begins there, NULL. */
const struct range *memory_find_start(uint64_t address);
/* What has any of these addresses is the driver's. */
bool memory_is_ours(uint64_t address, size_t size);

static inline size_t round_up(size_t size, size_t to)
{
	return (size + to - 1) / to * to;
}

/* ---- driver_vmm.c and driver_host.c */

/* As memory_reset() and memory_is_ours(), which call them. */
void vmm_reset(void);
bool vmm_has(uint64_t address, size_t size);
/* All of it is registered, or was allocated as host memory. */
bool memory_is_pinned(const void *p, size_t size);

/* ---- driver_stream.c */

struct op {				/* a command */
	struct op *next;		/* on its stream */
	unsigned refs;
	struct CUstream_st *stream;
	struct op **needs;		/* what has to be done before */
	size_t n_needs;
	bool started, done, hurried;
	CUresult error;
	int polls;			/* queries until it is no longer held back */
	uint64_t held_until, started_ns, done_ns;
	CUresult (*run)(struct op *op);
	void *data;			/* freed with it; graphs copy it */
	size_t data_size;
	bool in_callback;		/* run on an error too */
};

/* Takes the data. @wait: until it is done; returns its error then. */
CUresult stream_submit(struct context *ctx, CUstream stream, bool per_thread, struct op op, bool wait);
/* NULL where there is no such stream. With the lock. */
struct CUstream_st *stream_find_locked(struct context *ctx, CUstream stream, bool per_thread);
/* The context whose commands the stream runs: @ctx, the current one, or another one's. */
struct context *stream_context(struct context *ctx, CUstream stream, bool per_thread);
int stream_worker(struct op *op);
void stream_drain(struct context *ctx);
/* A call that may not be made while one captures (@all: not even while it would not mind): 0 or the error. */
CUresult stream_check_capture(struct context *ctx, bool all);
void stream_begin_context(struct context *ctx);
void stream_end_context(struct context *ctx);
bool stream_is_capturing(struct context *ctx, CUstream stream, bool per_thread);

/* ---- driver_graph.c: a graph is a line of commands, each a node */

struct CUgraph_st {
	struct op *ops;			/* as they were submitted: templates */
	size_t n, max;
	bool broken;
};

/* Takes the data. */
CUresult graph_append(struct CUgraph_st *graph, struct op template);
void graph_free(struct CUgraph_st *graph);

/* ---- driver_module.c: modules, each in a context, and their functions */

/* A variable of a module of PTX. */
struct driver_variable {
	CUdeviceptr address;
	size_t size;
	char name[64];
};

struct CUmod_st {
	struct CUmod_st *next;
	struct adsm_module_info *info;	/* of PTX; else NULL */
	struct driver_variable *variables;	/* info->n_symbols of them */
	struct global *globals;		/* those that were asked for */
	struct context *ctx;
	const struct CUlib_st *library;	/* whose it is; NULL: the program's */
	uint32_t index;			/* the device's */
	size_t n;
	struct CUfunc_st **functions;
};

void module_end_context(struct context *ctx);
CUresult module_load(struct context *ctx, struct CUmod_st **ret, const void *image, unsigned n, const int *options,
		     void **values);
/* A file as it is, to be unmapped. */
CUresult module_read(const char *path, void **ret_image, size_t *ret_size);
size_t module_image_size(const void *image);
CUresult module_unload(struct context *ctx, struct CUmod_st *module);
/* One of the library's: that in @ctx, or (NULL) any. */
struct CUmod_st *module_of_library(const struct context *ctx, const struct CUlib_st *library);
CUresult module_global(struct context *ctx, CUdeviceptr *ret, size_t *ret_size, struct CUmod_st *module,
		       const char *name);
/* A kernel as a command. */
CUresult module_launch(struct context *ctx, struct CUfunc_st *function, const unsigned grid[3], const unsigned block[3],
		       unsigned shared, void **params, void **extra, struct op *ret_op);
CUresult function_attribute(int *value, int attribute, const struct CUfunc_st *function);
CUresult function_set_attribute(struct CUfunc_st *function, int attribute, int value);
CUresult function_param(const struct CUfunc_st *function, size_t index, size_t *ret_offset, size_t *ret_size);

/* ---- driver_ptx.c: modules of PTX */

/* The image of a text, to be unmapped, and what describes its kernels: module->n of them. */
CUresult ptx_read(struct context *ctx, struct CUmod_st *module, const char *text, void **ret_image, size_t *ret_size);
/* Describes a kernel of the module; returns its name in the image. */
const char *ptx_name(struct CUmod_st *module, size_t i);
/* With the lock. */
void ptx_free(struct CUmod_st *module);
/* NULL: there is none. */
const struct driver_variable *ptx_variable(const struct CUmod_st *module, const char *name);
/* Add what such a kernel gets besides its parameters. */
void ptx_collect(const struct CUfunc_st *function, unsigned shared, struct driver_message *message);

/* ---- driver_library.c: handles of kernels; libraries, which are of every context, and their kernels */

/* Launches take two kinds of handles alike; other functions do not. One that has ended is reused immediately, as either
 * kind. */
enum handle_kind { ENDED_HANDLE, FUNCTION, KERNEL };

struct CUfunc_st {
	enum handle_kind kind;
	struct CUmod_st *module;
	uint32_t index;			/* the device's */
	int max_shared;
	const struct adsm_kernel_info *kernel;	/* of PTX; else NULL */
	struct adsm_kernel_desc desc;
};

struct CUkern_st {
	enum handle_kind kind;
	struct CUlib_st *library;
	size_t index;			/* in each of its modules */
	char name[64];
};

union kernel_handle {
	enum handle_kind kind;
	struct CUfunc_st function;
	struct CUkern_st kernel;
	struct { enum handle_kind kind; union kernel_handle *next; } free;
};

union kernel_handle *handle_take(enum handle_kind kind);
void handle_give(union kernel_handle *handle);
/* The process crashes where it is none. */
struct CUfunc_st *handle_function(const char *name, CUfunction function);
/* What is to run, of either kind; NULL: it has ended. */
struct CUfunc_st *handle_launched(struct context *ctx, CUfunction function);

#endif
