/* SPDX-License-Identifier: MIT */
/*
 * backend.h - the contract between the library and an accelerator.
 *
 * A backend knows bytes, kernels and events. It does not know objects, blocks or coherence. It is one struct of
 * functions, struct adsm_backend, with three further structs for parts that only some backends have.
 *
 * - No function pointer is NULL. A function that a backend does not support returns -ENOTSUP with adsm_fail();
 *   stubs.h has such functions.
 * - Functions return 0 or a negative errno unless their comment says otherwise.
 * - Parameters named ret_... are outputs. A function writes them only on success.
 * - A backend logs the error code of a foreign library once, where it turns the code into an errno.
 * - Any thread may call any function at any time, unless the comment says otherwise.
 * - An operation that fails has changed nothing, and the library may repeat it.
 *
 * Queues and events:
 *
 * - Operations on one queue run in the order of their submission. Different queues have no order. The library waits
 *   where it needs an order between queues.
 * - An event is a value: a queue, and a sequence number that counts the queue's operations from 1.
 * - If @ret_event is NULL, the operation is synchronous: it returns when the bytes have moved. It may return earlier if
 *   the caller cannot detect the difference. Then the caller may reuse its memory, and every later operation of the
 *   device sees the bytes.
 * - A synchronous copy waits for no queue, except for earlier synchronous copies that returned before they were done.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/module.h"
#include "base/os.h"

#define ADSM_BACKEND_VERSION 15

/* docs/architecture.md lists what else the core assumes of devices. */
#define ADSM_MAX_DEVICES 8
#define ADSM_LANES_MAX 8			/* orders of launches of one device */

enum { ADSM_QUEUE_COMPUTE, ADSM_QUEUE_TO_DEVICE, ADSM_QUEUE_TO_HOST, ADSM_N_QUEUES };

struct adsm_device_event {
	uint32_t queue;
	uint64_t seq;
};

/* The capabilities of a device, as data. They do not change after open(). */
struct adsm_device_caps {
	bool given_address;	/* alloc() takes the wanted address: one address on both sides */
	bool own_addresses;	/* several devices may have memory at the same wanted address: each has its own */
	bool dictates_address;	/* alloc() returns an address that the CPU's view must take */
	bool has_address;	/* device memory has addresses */
	bool signal_safe;	/* alloc(), synchronous copies and event waits may run in the fault handler */
	bool unified;		/* device memory is the arena's file itself: the library may omit copies */
	bool survives;		/* device memory stays readable after the device was lost */
	bool keeps;		/* alloc() and free() are slow: the library keeps freed memory for new objects */
	bool cuda_code;		/* module_load() accepts code of CUDA devices; other drivers may crash on it */
	bool once;		/* kernels use write-once objects: struct adsm_once_ops */
	bool once_polls;	/* and blocks that wait do not sleep: their threads are those of has_thread() */
	bool once_shown;	/* and a thread of this process shows waits of blocks, and ends them after a loss */
	bool once_travels;	/* and units are copied, so that a unit that was set stays set */
	bool services;		/* kernels may call services: config.serve */
	bool task_services;	/* tasks, too */
	bool intervals;		/* a launch may be an interval of the grid; otherwise it is the whole grid */
	bool variables;		/* a launch gives kernels the addresses of their module's variables */
	bool ends_at_exit;	/* the driver ends in exit(), before handlers that were registered before it started */
	char memory[16];	/* the kind of device memory, in one word, for people */
	uint64_t memory_size;	/* bytes */
	uint64_t alloc_max;	/* bytes: the most that one alloc() can return; 0: memory_size */
	unsigned compute_units;
	unsigned max_pending;	/* maximum number of outstanding launches */
	/* maximum number of launches that run at the same time, each on a lane of its own; 0 means 1 */
	unsigned max_running;
	unsigned max_workers;	/* maximum number of workers of a task; 0: the device does not support tasks */
	const char *workers_option;	/* the option that sets max_workers */
	size_t max_arg_bytes;	/* maximum of one launch: bytes of its values and constants together */
};

/* A device. Each backend embeds this struct first in its own. */
struct adsm_device {
	const struct adsm_backend *backend;
	struct adsm_device_caps caps;
	char name[64];
	char made_of[256];		/* a sentence about the device's parts; "": the device has no parts */
	_Atomic(const char *) lost;	/* how the device was lost: a sentence that stays valid; NULL: it is not lost */
};

struct adsm_memory {			/* device memory */
	struct adsm_device *device;
	uint64_t address;		/* the device's address; 0 if the memory has none */
	size_t size;			/* bytes, whole pages */
};

enum adsm_image_kind { ADSM_IMAGE_MODULE, ADSM_IMAGE_SOURCE, ADSM_IMAGE_SPIRV, ADSM_IMAGE_BINARY };

/* The bytes of a module. They stay in place while the module is loaded. */
struct adsm_image {
	enum adsm_image_kind kind;
	const void *data;		/* MODULE: output of adsmcc; SOURCE: the device's language; others: compiled */
	size_t size;
	const char *text;		/* MODULE: its source, "" if it has none */
	const char *options;		/* for the device's compiler; never NULL */
};

struct adsm_code {			/* a module loaded on a device */
	struct adsm_device *device;
};

struct adsm_entry {			/* a kernel of a module; the code owns it */
	struct adsm_code *code;
};

/* What open() gets: the CPU's side of memory, for backends that map it, and functions that the backend calls. */
struct adsm_backend_config {
	int arena_fd;			/* the file of all objects, during open(); -1 for devices that join later */
	uintptr_t arena_base;		/* the file's first byte as applications see it: a closed mapping */
	size_t arena_size;
	void *alias_base;		/* the always-writable mapping of the same file in this process */
	size_t keep;			/* bytes of freed memory that the device may keep for new objects */
	void (*leave_arena)(void);	/* called if the driver does not give the arena's range back */
	void (*lost)(void);		/* called when a device has been lost and status() says so */
	/*
	 * A kernel calls a service. The backend calls this function in a thread that may run code of the program. The
	 * kernel, and with it the launch, waits until the function returns. NULL: the program has no services.
	 *
	 * @name: the service's name.
	 * @in, @in_size: the kernel's arguments, in bytes.
	 * @out, @out_size: room for the answer, in bytes.
	 *
	 * Returns the number of bytes written to @out, or a negative errno.
	 */
	int (*serve)(const char *name, const void *in, size_t in_size, void *out, size_t out_size);
	/*
	 * A kernel prints @size bytes to the program's standard output. Called like serve. Returns 0 or a negative
	 * errno. NULL: kernels cannot do this.
	 */
	int (*output)(const char *text, size_t size);
};

enum adsm_launch_arg_kind { ADSM_LAUNCH_POINTER, ADSM_LAUNCH_VALUE, ADSM_LAUNCH_CONST, ADSM_LAUNCH_LOCAL };

struct adsm_launch_arg {
	enum adsm_launch_arg_kind kind;
	struct adsm_memory *memory;	/* pointer: NULL: none, so that the pointer is @offset; 0 is the null pointer */
	size_t offset;			/* pointer: from the start of memory */
	const void *data;		/* value, const: the bytes; launch() copies them */
	size_t size;			/* value, const: bytes; local: bytes of memory for each block of the grid */
	/* Pointer: how the launch accesses the memory, over all arguments that name it: ADSM_ACCESS_*; 0: not known. */
	unsigned access;
	bool once;			/* value: the address of a write-once object; access is set */
};

/* The driver's handles of a device and its parts; NULL if the driver has no such handle. */
struct adsm_native {
	void *platform, *device, *context;
	void *queues[ADSM_N_QUEUES];
};

struct adsm_launch {
	const char *name;		/* the kernel's name, for messages */
	uint32_t grid[3], block[3];	/* no component is 0 */
	uint64_t first_block, n_blocks;	/* the interval of the grid to run, linear, x fastest */
	/* Less than caps.max_running, or 0. Launches of one lane run in order. Launches of other lanes may run
	 * meanwhile. */
	unsigned lane;
	bool counted;			/* the library will ask for the costs of the launch: struct adsm_cost_ops */
	bool traced;			/* and for the times of its moves: of_moves(). Implies counted */
	bool advised;			/* and for advice: advise(). Implies counted */
	size_t n_args;
	const struct adsm_launch_arg *args;
	/* A hint: the host will probably fetch this range after the launch. If memory is NULL, there is no hint. */
	struct {
		struct adsm_memory *memory;
		size_t offset, size;
	} expected;
};

/* ---- functions for programs that use the device's driver themselves */

struct adsm_driver_ops {
	/*
	 * The driver is about to end, or the program is about to end the context of the device. The device becomes
	 * lost, and no thread starts a call of the driver any more.
	 *
	 * @why: the reason, a sentence that stays valid.
	 * @wait: true: calls of the driver that have started end first, and the device's queues and their threads have
	 *        ended when the function returns.
	 */
	void (*end)(struct adsm_device *device, const char *why, bool wait);

	/* Return the driver's handles of a device. */
	int (*native)(struct adsm_device *device, struct adsm_native *ret_native);
	/* Return the driver's handle of device memory. */
	int (*native_memory)(struct adsm_memory *memory, void **ret_handle);
	/*
	 * Make a code of one kernel that the program has made with the driver.
	 *
	 * @kernel: the driver's handle, which the code retains; NULL: a kernel that does nothing.
	 */
	int (*kernel_adopt)(struct adsm_device *device, void *kernel, struct adsm_code **ret_code);
	/*
	 * Use a context of the program. From the next probe() on, the context's device is the only device. While a
	 * device is open, a backend may accept further contexts: their devices follow the existing ones, and probe()
	 * counts them.
	 *
	 * @context, @device: the driver's handles; NULL: use no context of the program.
	 */
	int (*use_context)(void *context, void *device);
	/*
	 * Make device memory of memory that the program allocated with the driver. free() does not free it. The driver
	 * owns its pages, and the CPU's view takes its address.
	 *
	 * @address, @size: the driver's allocation, @size in bytes.
	 * @wanted: as for alloc().
	 */
	int (*memory_adopt)(struct adsm_device *device, uint64_t address, size_t size, uint64_t wanted,
			    struct adsm_memory **ret_memory);
	/* Order a queue of the program: all that it submits from now on runs after the launches of the library. */
	int (*queue_follow)(struct adsm_device *device, void *queue);
	/*
	 * Return an event on ADSM_QUEUE_COMPUTE. It completes when all operations that these queues of the program have
	 * now are complete.
	 *
	 * Returns 0 or:
	 *   -EAGAIN   the state of a queue does not allow this now
	 */
	int (*queue_join)(struct adsm_device *device, void *const *queues, size_t n,
			  struct adsm_device_event *ret_event);
};

/* ---- costs of a launch that a device counts itself, in addition to its duration */

#define ADSM_COSTS_MAX 48
#define ADSM_PART_NAME 96		/* bytes, terminator included */

/* A counter of a device. A name that ends with "_ns" is a time in nanoseconds. A name that begins with "bytes" is a
 * number of bytes. */
struct adsm_cost {
	const char *name, *help;
	bool peak;			/* the largest value of several launches counts, not their sum */
	bool quiet;			/* reports for people omit the counter if it is 0 */
	const char *of;			/* this counter is a share of that earlier one, by name; NULL: it is no share */
};

/* What a part of a device did in a launch: it ran blocks (work), and exchanged memory with other parts around that. */
struct adsm_part_times { struct adsm_span before, work, after; };

/* A wait of a part during a launch. */
struct adsm_part_wait {
	unsigned part;
	struct adsm_span span;
	char what[24];			/* what the part waited for, in words */
};

/* Consecutive moves of one kind: what a part of a device brought into its own memory during a launch. */
struct adsm_part_moves {
	unsigned part;			/* the part whose track shows the moves; a part has moves of one kind only */
	bool code;			/* true: pieces of code; false: data, for accesses that missed it */
	struct adsm_span span;		/* from the first move's beginning to the last move's end */
	uint64_t count, bytes;
};

/* The sums over all calls of a kernel. */
struct adsm_kernel_costs {
	uint64_t calls, kernel_ns;	/* kernel_ns: how long they ran, by event_times() */
	uint64_t values[ADSM_COSTS_MAX];	/* in the order of the counters */
};

/*
 * Costs of launches. The functions know launches that had counted set and are complete: at least the last
 * caps.max_pending of them. For other launches they return -EINVAL, without a sentence. Like event_times(), the
 * functions may be called in the fault handler, except part_name() and advise(). Indices @i count from 0.
 */
struct adsm_cost_ops {
	const struct adsm_cost *counters;	/* at most ADSM_COSTS_MAX, then one without a name */
	/* Return a value for each counter, and the start time of the launch. The library adds the values up. */
	int (*of_launch)(struct adsm_device *device, struct adsm_device_event event, uint64_t *ret_values,
			 uint64_t *ret_start_ns);
	/* Return the times of part @i. Returns -EINVAL also if the device has no such part. */
	int (*of_part)(struct adsm_device *device, struct adsm_device_event event, unsigned i,
		       struct adsm_part_times *ret_times);
	/* Return wait @i of the launch, over all parts. Returns -EINVAL also if there is no such wait. */
	int (*of_wait)(struct adsm_device *device, struct adsm_device_event event, unsigned i,
		       struct adsm_part_wait *ret_wait);
	/* Return moves @i of a traced launch, each part's in their order. Returns -EINVAL after the last one. */
	int (*of_moves)(struct adsm_device *device, struct adsm_device_event event, unsigned i,
			struct adsm_part_moves *ret_moves);
	/* Return the name of part @i, or false if the device has no such part. */
	bool (*part_name)(struct adsm_device *device, unsigned i, char ret_name[ADSM_PART_NAME]);
	/*
	 * Write a sentence of advice, with numbers: why the kernel costs more than necessary, and what would help.
	 * Write "" if there is no advice.
	 *
	 * @size: bytes of @ret_text.
	 */
	void (*advise)(struct adsm_device *device, const char *kernel, const struct adsm_kernel_costs *costs,
		       char *ret_text, size_t size);
};

/* ---- write-once objects (adsm_once.h). Threads and kernels of several devices use them at the same time: caps.once */

/* The memory and the flags of an object. */
struct adsm_once_map {
	uint64_t address;		/* of the data, also in kernels: in the arena's range */
	size_t size;			/* of the data, bytes in whole pages */
	uint64_t unit, count;		/* bytes of a unit; number of units */
	int flags_fd;			/* a file that contains a struct adsm_once_shared (base/once.h) */
	size_t flags_size;		/* bytes of the file, whole pages */
};

struct adsm_once_ops {
	/*
	 * Prepare a device. The library calls this before the first object of the device.
	 *
	 * @index: the device's number in the table.
	 * @table_fd, @size: a file with the table of waiting threads, @size in bytes.
	 */
	int (*start)(struct adsm_device *device, int index, int table_fd, size_t size);
	/*
	 * Return a file with bytes of the device's memory. All bytes are 0. The file may be mapped at any address. The
	 * caller closes the file, and calls memory_free() when the file is mapped nowhere any more.
	 *
	 * @size: bytes, whole pages.
	 *
	 * Returns 0 or:
	 *   -ENOMEM   the device is full
	 */
	int (*memory)(struct adsm_device *device, size_t size, int *ret_fd);
	/* Give back bytes of memory(). */
	void (*memory_free)(struct adsm_device *device, size_t size);
	/*
	 * Map a part of a file for kernels, until remove().
	 *
	 * @address: where, in the arena's range.
	 * @size, @offset: the part of @fd, in bytes.
	 */
	int (*map)(struct adsm_device *device, uint64_t address, size_t size, int fd, size_t offset);
	/* Add an object, before map() of its data. Kernels may then get its address as a value (ADSM_ARG_ONCE). */
	int (*add)(struct adsm_device *device, const struct adsm_once_map *map);
	/* Remove an object, also if only a part was mapped. No kernel uses it. */
	void (*remove)(struct adsm_device *device, uint64_t address, size_t size);
	/* With caps.once_polls: is a thread of this process, by its id, one where a driver runs blocks, and no code of
	 * the program? Its signals have to be checked, too: it blocks all of them. */
	bool (*has_thread)(struct adsm_device *device, int thread);
};

/* ---- the backend */

struct adsm_backend {
	uint32_t version;		/* ADSM_BACKEND_VERSION */
	bool by_name_only;		/* "auto" does not try this backend */
	const char *name;
	const struct adsm_driver_ops *driver;	/* never NULL: adsm_no_driver */
	const struct adsm_cost_ops *costs;	/* never NULL: adsm_no_costs */
	const struct adsm_once_ops *once;	/* never NULL: adsm_no_once */
	/* Return the number of devices, 0 or more, or a negative errno with adsm_fail() if the backend cannot run. */
	int (*probe)(void);
	/* Open device @index, from 0 to probe() - 1. */
	int (*open)(int index, const struct adsm_backend_config *config, struct adsm_device **ret_device);
	/* Close a device. The backend ends launches that still run, or waits for them if it cannot end them. */
	void (*close)(struct adsm_device *device);

	/*
	 * Allocate device memory.
	 *
	 * @size: bytes, whole pages.
	 * @wanted: the address of the object's bytes in the arena; 0: the object is not in the arena, or its address is
	 *          not known yet. With caps.given_address it is the object's address on both sides.
	 *
	 * With caps.dictates_address the CPU's view goes to memory->address. The range is inaccessible again when the
	 * library calls free().
	 *
	 * Returns 0 or:
	 *   -ENOMEM   the device is full
	 */
	int (*alloc)(struct adsm_device *device, size_t size, uint64_t wanted, struct adsm_memory **ret_memory);
	void (*free)(struct adsm_memory *memory);
	/* Return the number of bytes that are available now. */
	uint64_t (*memory_free)(struct adsm_device *device);

	/* Copy @size bytes from or to host memory. @offset: from the start of the device memory. */
	int (*to_device)(struct adsm_memory *dst, size_t offset, const void *src, size_t size,
			 struct adsm_device_event *ret_event);
	int (*to_host)(void *dst, struct adsm_memory *src, size_t offset, size_t size,
		       struct adsm_device_event *ret_event);
	/* Copy on the device. The ranges may overlap. Runs on the same queue as to_device(). */
	int (*copy)(struct adsm_memory *dst, size_t dst_offset, struct adsm_memory *src, size_t src_offset,
		    size_t size, struct adsm_device_event *ret_event);
	/* Fill device memory with a byte. */
	int (*fill)(struct adsm_memory *dst, size_t offset, uint8_t value, size_t size,
		    struct adsm_device_event *ret_event);

	/*
	 * Load a module.
	 *
	 * Returns 0 or:
	 *   -ENOEXEC  the device does not accept the image; adsm_fail() has the message of the device's compiler
	 */
	int (*module_load)(struct adsm_device *device, const struct adsm_image *image, struct adsm_code **ret_code);
	void (*module_unload)(struct adsm_code *code);
	int (*kernel_get)(struct adsm_code *code, const char *name, struct adsm_entry **ret_entry);
	/* Return the names of a module's kernels, each terminated by NUL, then an empty name. The caller frees them.
	 * Modules of adsmcc describe themselves; for other images the driver may know the names. */
	int (*module_names)(struct adsm_code *code, char **ret_names);
	/* Return the number of parameters, and describe the first @max of them. If a property is not known, kind is
	 * ADSM_ARG_NONE, and size is 0. */
	int (*kernel_params)(struct adsm_entry *entry, struct adsm_param *ret_params, size_t max);
	/* Launch a kernel on ADSM_QUEUE_COMPUTE. Launches of different lanes may end in any order. The function does
	 * not block while fewer than caps.max_pending launches are outstanding. */
	int (*launch)(struct adsm_entry *entry, const struct adsm_launch *launch,
		      struct adsm_device_event *ret_event);

	/*
	 * Ask whether an operation is complete. When the device is lost, every outstanding operation completes with the
	 * status -ENODEV.
	 *
	 * @ret_status: 0, or the operation's own error.
	 *
	 * Returns 1 if the operation is complete, 0 if it is not, or a negative errno if the backend cannot tell.
	 */
	int (*event_query)(struct adsm_device *device, struct adsm_device_event event, int *ret_status);
	/*
	 * Sleep until an operation is complete. @ret_status: as above.
	 *
	 * Returns 0 or:
	 *   -EINTR    a signal handler ran
	 *   others    the backend cannot wait
	 */
	int (*event_wait)(struct adsm_device *device, struct adsm_device_event event, int *ret_status);
	/*
	 * Return when a completed launch ran, and for how long, on a clock that all launches of the device have.
	 * start_ns is 0 if the device does not report it. The backend knows at least the last caps.max_pending
	 * launches.
	 */
	int (*event_times)(struct adsm_device *device, struct adsm_device_event event, struct adsm_span *ret_span);
	/*
	 * Return why a completed launch has failed: a sentence that stays valid as long as event_times() knows the
	 * launch. NULL: no reason is known, or the launch has not failed.
	 */
	const char *(*event_failure)(struct adsm_device *device, struct adsm_device_event event);

	/* Return 0, or -ENODEV if the device is lost. */
	int (*status)(struct adsm_device *device);
};

struct adsm_backend_options {
	const char *name;		/* ADSM_BACKEND: auto, or a name of list.h */
	const char *wrap;		/* ADSM_WRAP: "" or the plan of the wrapper (wrap/plan.h) */
	unsigned task_workers;		/* ADSM_TASK_WORKERS: caps.max_workers of devices that run tasks */
};

extern struct adsm_backend_options adsm_backend_options;

/* Return a sentence on how a backend breaks the contract, as far as the library can check that, or NULL. */
const char *adsm_backend_broken(const struct adsm_backend *backend);

/* Return a backend by its name, unwrapped, or NULL if this library has no backend of that name. */
const struct adsm_backend *adsm_backend_named(const char *name);

/*
 * Find the backend for a name, and count its devices. If adsm_backend_options.wrap is set, the result is wrapped.
 *
 * @name: a backend's name, or "auto", which tries the backends in the order of list.h.
 *
 * Returns 0, or with adsm_fail():
 *   -ENODEV   no backend with a device was found
 *   -EINVAL   there is no such backend, it breaks the contract, or the plan of the wrapper is invalid
 */
int adsm_backend_find(const char *name, const struct adsm_backend **ret_backend, int *ret_n_devices);
