/* SPDX-License-Identifier: MIT */
/*
 * backend.h - the contract between the library and an accelerator.
 *
 * A backend knows bytes, kernels and events; never objects, blocks or coherence. It is one struct of
 * functions, with another for programs that use its driver, too. No slot is NULL: what a backend cannot do
 * returns -ENOTSUP with adsm_fail(), as stubs.h does. All functions return 0 or a negative errno unless said
 * otherwise, set their ret_ outputs only on success, log a foreign error code once, and may be called by any
 * thread at once. A failed operation has changed nothing and may be repeated.
 *
 * Queues. Operations on one queue run in the order they were given; queues are not ordered among each
 * other: the library waits where it needs an order. An event is a value: a queue and a sequence number
 * that counts the queue's operations, from 1. A NULL event makes the operation synchronous: it returns when the
 * bytes have moved, or when the caller cannot tell that they have not: the caller's memory is free again, and
 * all that the device is asked for from then on finds the bytes moved. Synchronous copies wait for no queue, but for
 * earlier ones that were put off in that way.
 */
#ifndef ADSM_BACKEND_H
#define ADSM_BACKEND_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/module.h"

#define ADSM_BACKEND_VERSION 11

/* What else is assumed of devices: docs/architecture.md. */
#define ADSM_MAX_DEVICES 8

enum { ADSM_QUEUE_COMPUTE, ADSM_QUEUE_TO_DEVICE, ADSM_QUEUE_TO_HOST, ADSM_N_QUEUES };

struct adsm_device_event {
	uint32_t queue;
	uint64_t seq;
};

/* What a device can do, as data. */
struct adsm_device_caps {
	bool given_address;	/* alloc() takes the wanted address: one address on both sides */
	bool dictates_address;	/* alloc() returns an address the CPU's view has to take */
	bool has_address;	/* device memory has addresses at all */
	bool signal_safe;	/* synchronous copies and event waits may run in the fault handler */
	bool unified;		/* device memory is the arena's file itself: copies may be left out */
	bool survives;		/* device memory stays readable after the device was lost */
	bool keeps;		/* alloc() and free() take long: freed memory is kept for new objects */
	bool cuda_code;		/* module_load() takes code of CUDA devices, which others may not survive */
	bool once;		/* kernels use write-once objects: struct adsm_once_ops */
	bool services;		/* kernels may call services: config.serve */
	bool ends_at_exit;	/* the driver ends in exit(), before handlers that were registered before it started */
	char memory[16];	/* how memory is kept, in one word, for people */
	uint64_t memory_size;	/* bytes */
	unsigned compute_units;
	unsigned max_pending;	/* launches that may be outstanding */
	unsigned max_workers;	/* of a task, which run all at once; 0: it runs no tasks */
	const char *workers_option;	/* what sets that */
	size_t max_arg_bytes;	/* of one launch, values and constants together */
};

/* Embedded first in each backend's own. */
struct adsm_device {
	const struct adsm_backend *backend;
	struct adsm_device_caps caps;
	char name[64];
	char made_of[256];		/* a sentence on its parts; "": it is one thing */
	_Atomic(const char *) lost;	/* how the device was lost, in a sentence that stays; NULL: it is not */
	_Atomic(const char *) failed;	/* the same of the last launch that has failed; NULL: none has said why */
};

struct adsm_memory {			/* device memory */
	struct adsm_device *device;
	uint64_t address;		/* the device's; 0 where it has none */
	size_t size;			/* bytes, whole pages */
};

enum adsm_image_kind { ADSM_IMAGE_MODULE, ADSM_IMAGE_SOURCE, ADSM_IMAGE_SPIRV, ADSM_IMAGE_BINARY };

/* The bytes that a module is made of; they stay while the module is loaded. */
struct adsm_image {
	enum adsm_image_kind kind;
	const void *data;		/* as adsmcc wrote it; or in a language, or made by a compiler, of the device */
	size_t size;
	const char *text;		/* of a module of adsmcc's: its source, "" where it has none */
	const char *options;		/* for the device's compiler; never NULL */
};

struct adsm_code {			/* a module loaded on a device */
	struct adsm_device *device;
};

struct adsm_entry {			/* a kernel of a module, owned by the code */
	struct adsm_code *code;
};

/* Where the CPU's side lives: for backends that map it. */
struct adsm_backend_config {
	int arena_fd;			/* the file of all objects, during open(); -1 for devices that come later */
	uintptr_t arena_base;		/* the file's first byte as applications see it: a closed mapping */
	size_t arena_size;
	void *alias_base;		/* the always-writable mapping of the same file in this process */
	size_t keep;			/* bytes of freed memory that the device may keep for new */
	void (*leave_arena)(void);	/* to be called where the driver does not give the arena's range back */
	void (*lost)(void);		/* to be called when a device has been lost, and says so */
	/*
	 * A kernel calls the service @name, in a thread of the backend's that may run code of the program's: so many
	 * bytes that it wrote to @out, or a negative errno. Until it returns the kernel waits, and with it the launch.
	 * NULL: there are none.
	 */
	int (*serve)(const char *name, const void *in, size_t in_size, void *out, size_t out_size);
};

enum adsm_launch_arg_kind { ADSM_LAUNCH_POINTER, ADSM_LAUNCH_VALUE, ADSM_LAUNCH_CONST, ADSM_LAUNCH_LOCAL };

struct adsm_launch_arg {
	enum adsm_launch_arg_kind kind;
	struct adsm_memory *memory;	/* pointer: NULL is the null pointer */
	size_t offset;			/* pointer: from the start of memory */
	const void *data;		/* value, const: the bytes, copied by launch() */
	size_t size;			/* value, const; local: bytes of memory for each block of the grid */
	/* Pointer: what the launch does with memory, by all that name it: ADSM_ACCESS_*; 0: not known. */
	unsigned access;
};

/* What the driver calls a device and its parts; NULL where there is no such thing. */
struct adsm_native {
	void *platform, *device, *context;
	void *queues[ADSM_N_QUEUES];
};

struct adsm_launch {
	const char *name;		/* the kernel's, for messages */
	uint32_t grid[3], block[3];	/* no component is 0 */
	uint64_t first_block, n_blocks;	/* the interval of the grid to run, linear, x fastest */
	bool counted;			/* somebody will ask what it has cost: struct adsm_cost_ops */
	bool traced;			/* and when what of it was: of_moves(); counted, too */
	bool advised;			/* and what would have cost less: advise(); counted, too */
	size_t n_args;
	const struct adsm_launch_arg *args;
	/* A hint: after the launch the host is likely to fetch this. No memory: nothing. */
	struct {
		struct adsm_memory *memory;
		size_t offset, size;
	} expected;
};

/* Slots that only programs need which use the device's driver, too. */
struct adsm_driver_ops {
	/*
	 * The driver is about to end, or the program to end the context that the device is in: the device is lost, for
	 * the reason @why (which stays), and no thread begins a call of the driver any more. @wait: what is under way
	 * ends before, and the device's queues and their threads are gone when this returns.
	 */
	void (*end)(struct adsm_device *device, const char *why, bool wait);

	int (*native)(struct adsm_device *device, struct adsm_native *ret_native);
	int (*native_memory)(struct adsm_memory *memory, void **ret_handle);
	/* A code of one kernel, which the program made (and the code retains); NULL: one that does nothing. */
	int (*kernel_adopt)(struct adsm_device *device, void *kernel, struct adsm_code **ret_code);
	/* From the next probe on: the program's context, and its device there as the only one; NULL: none. While a
	 * device is open a backend may take further ones: they follow those there are, and probe() counts them. */
	int (*use_context)(void *context, void *device);
	/* Memory that the program allocated with the driver: free() leaves it alone. Its pages are the driver's, so
	 * the address is what the CPU's view takes. */
	int (*memory_adopt)(struct adsm_device *device, uint64_t address, size_t size, uint64_t wanted,
			    struct adsm_memory **ret_memory);
	/* Queues of the program's own. follow: what it enqueues there from now on runs after the launches that the
	 * library made. join: an event on ADSM_QUEUE_COMPUTE, complete when all that these queues have now is; -EAGAIN
	 * where one of them is in no state to tell. */
	int (*queue_follow)(struct adsm_device *device, void *queue);
	int (*queue_join)(struct adsm_device *device, void *const *queues, size_t n,
			  struct adsm_device_event *ret_event);
};

/* ---- what a launch costs inside of a device, where that is more than how long it ran */

#define ADSM_COSTS_MAX 48
#define ADSM_PART_NAME 96		/* bytes, terminator included */

/* Something that a device counts. Where the name ends with _ns it is nanoseconds, where it begins with "bytes" that. */
struct adsm_cost {
	const char *name, *help;
	bool peak;			/* of several launches the largest counts, not the sum */
	bool quiet;			/* reports that are read by people leave it out where it is 0 */
	const char *of;			/* by name, an earlier one of which it is a share; NULL: none */
};

/* By adsm_os_now_ns(). */
struct adsm_span { uint64_t start_ns, ns; };

/* What a part of a device did in a launch: it ran blocks, and brought its memory to what others have. */
struct adsm_part_times { struct adsm_span before, work, after; };

/* And what it waited for meanwhile, in words. */
struct adsm_part_wait {
	unsigned part;
	struct adsm_span span;
	char what[24];
};

/* What a part of a device brought into its own memory in a launch: several of a kind that followed each other. */
struct adsm_part_moves {
	unsigned part;			/* whose track has them; none has those of two kinds */
	bool code;			/* pieces of code; else of data, for accesses that missed them */
	struct adsm_span span;		/* from the first one's beginning to the last one's end */
	uint64_t count, bytes;
};

/* All calls of a kernel. */
struct adsm_kernel_costs {
	uint64_t calls, kernel_ns;	/* how long they ran, by event_elapsed() */
	uint64_t values[ADSM_COSTS_MAX];	/* in the order of the counters */
};

/*
 * Of launches that were to be counted and are complete, the last caps.max_pending at least; of others -EINVAL, without
 * a sentence. Like event_elapsed(), these are called in the fault handler, too: all but part_name() and advise().
 */
struct adsm_cost_ops {
	const struct adsm_cost *counters;	/* ADSM_COSTS_MAX at most, then one without a name */
	/* A value for each counter, which are added up over launches, but for peaks; and when it began. */
	int (*of_launch)(struct adsm_device *device, struct adsm_device_event event, uint64_t *ret_values,
			 uint64_t *ret_start_ns);
	/* -EINVAL also where there is no part @i; they count from 0. */
	int (*of_part)(struct adsm_device *device, struct adsm_device_event event, unsigned i,
		       struct adsm_part_times *ret_times);
	/* -EINVAL also where it knows of no @i waits of its parts; they count from 0. */
	int (*of_wait)(struct adsm_device *device, struct adsm_device_event event, unsigned i,
		       struct adsm_part_wait *ret_wait);
	/* Where the launch was traced, from @i = 0 on, each part's in their order; -EINVAL: that was all. */
	int (*of_moves)(struct adsm_device *device, struct adsm_device_event event, unsigned i,
			struct adsm_part_moves *ret_moves);
	bool (*part_name)(struct adsm_device *device, unsigned i, char ret_name[ADSM_PART_NAME]);
	/* Why a kernel costs more than it has to and what would help, with figures: in a sentence, "" for nothing. */
	void (*advise)(struct adsm_device *device, const char *kernel, const struct adsm_kernel_costs *costs,
		       char *ret_text, size_t size);
};

/* ---- write-once objects (adsm_once.h), which threads and kernels of several devices use at once: caps.once */

/* Where an object is, and its flags. */
struct adsm_once_map {
	uint64_t address;		/* of the data, in kernels too: in the arena's range */
	size_t size;			/* of the data, bytes in whole pages */
	uint64_t unit, count;		/* bytes of a unit; units */
	int flags_fd;			/* a file with what base/once.h calls shared */
	size_t flags_size;		/* bytes of it, whole pages */
};

struct adsm_once_ops {
	/* Before the first object of the device: the table of those who wait, and the number by which it is told. */
	int (*start)(struct adsm_device *device, int index, int table_fd, size_t size);
	/* A file with so many bytes of the device's memory, whole pages, all 0: it may be mapped anywhere. The caller
	 * closes it, and gives the bytes back when nobody has them mapped. -ENOMEM: the device is full. */
	int (*memory)(struct adsm_device *device, size_t size, int *ret_fd);
	void (*memory_free)(struct adsm_device *device, size_t size);
	/* Kernels have these bytes of a file at the address, in the arena's range, until remove(). */
	int (*map)(struct adsm_device *device, uint64_t address, size_t size, int fd, size_t offset);
	/* A whole object is mapped: kernels may be given its address, as a value where they take ADSM_ARG_ONCE. */
	int (*add)(struct adsm_device *device, const struct adsm_once_map *map);
	/* Forget it, also where only a part was mapped; no kernel uses it. */
	void (*remove)(struct adsm_device *device, uint64_t address, size_t size);
};

struct adsm_backend {
	uint32_t version;		/* ADSM_BACKEND_VERSION */
	bool by_name_only;		/* "auto" leaves it out */
	const char *name;
	const struct adsm_driver_ops *driver;	/* never NULL: adsm_no_driver */
	const struct adsm_cost_ops *costs;	/* never NULL: adsm_no_costs */
	const struct adsm_once_ops *once;	/* never NULL: adsm_no_once */
	/* How many devices there are: 0 or more; a negative errno with adsm_fail() where the backend cannot run. */
	int (*probe)(void);
	int (*open)(int index, const struct adsm_backend_config *config, struct adsm_device **ret_device);
	/* Launches that still run are ended, or waited for where they cannot be. */
	void (*close)(struct adsm_device *device);

	/* @wanted: where the object's bytes are in the arena (0: nowhere, or not before its address is known), which
	 * with caps.given_address is its address for both sides. With caps.dictates_address the CPU's view goes to
	 * memory->address, and the range is inaccessible again when free() is called. -ENOMEM when the device is
	 * full. */
	int (*alloc)(struct adsm_device *device, size_t size, uint64_t wanted, struct adsm_memory **ret_memory);
	void (*free)(struct adsm_memory *memory);
	uint64_t (*memory_free)(struct adsm_device *device);

	int (*to_device)(struct adsm_memory *dst, size_t offset, const void *src, size_t size,
			 struct adsm_device_event *ret_event);
	int (*to_host)(void *dst, struct adsm_memory *src, size_t offset, size_t size,
		       struct adsm_device_event *ret_event);
	/* Device to device; the ranges may overlap. Runs like to_device. */
	int (*copy)(struct adsm_memory *dst, size_t dst_offset, struct adsm_memory *src, size_t src_offset,
		    size_t size, struct adsm_device_event *ret_event);
	int (*fill)(struct adsm_memory *dst, size_t offset, uint8_t value, size_t size,
		    struct adsm_device_event *ret_event);

	/* -ENOEXEC, with the sentence of the device's compiler, where the device cannot take the image. */
	int (*module_load)(struct adsm_device *device, const struct adsm_image *image, struct adsm_code **ret_code);
	void (*module_unload)(struct adsm_code *code);
	int (*kernel_get)(struct adsm_code *code, const char *name, struct adsm_entry **ret_entry);
	/* Modules of adsmcc's describe themselves; of others the driver may know something. The kernels' names,
	 * each ended by NUL, then an empty one; the caller frees them. */
	int (*module_names)(struct adsm_code *code, char **ret_names);
	/* How many parameters, and of the first @max what is known: kind ADSM_ARG_NONE, size 0 where it is not. */
	int (*kernel_params)(struct adsm_entry *entry, struct adsm_param *ret_params, size_t max);
	/* On ADSM_QUEUE_COMPUTE. Never blocks while fewer than caps.max_pending launches are outstanding. */
	int (*launch)(struct adsm_entry *entry, const struct adsm_launch *launch,
		      struct adsm_device_event *ret_event);

	/* 1: complete, *ret_status is 0 or the operation's own error; 0: not yet; negative: could not tell.
	 * When the device is lost every outstanding operation completes with status -ENODEV. */
	int (*event_query)(struct adsm_device *device, struct adsm_device_event event, int *ret_status);
	/* Sleep until complete: 0 with *ret_status, or negative: -EINTR after a signal handler ran, else
	 * could not wait. */
	int (*event_wait)(struct adsm_device *device, struct adsm_device_event event, int *ret_status);
	/* How long a completed launch ran. Known for at least the last caps.max_pending launches. */
	int (*event_elapsed)(struct adsm_device *device, struct adsm_device_event event, uint64_t *ret_ns);

	/* 0, or -ENODEV once the device is lost. */
	int (*status)(struct adsm_device *device);
};

struct adsm_backend_options {
	const char *name;		/* ADSM_BACKEND: auto, or one of list.h */
	const char *wrap;		/* ADSM_WRAP: "" or the plan of the wrapper (wrap/plan.h) */
	unsigned task_workers;		/* ADSM_TASK_WORKERS: caps.max_workers of devices that run tasks */
};

extern struct adsm_backend_options adsm_backend_options;

/* How a backend breaks the contract, as far as that can be seen; NULL: it does not. */
const char *adsm_backend_broken(const struct adsm_backend *backend);

/* A backend by its name, unwrapped; NULL where this library has none of that name. */
const struct adsm_backend *adsm_backend_named(const char *name);

/* The backend for a name ("auto" tries them in order), wrapped where adsm_backend_options.wrap says so, and the
 * number of its devices; -ENODEV, or -EINVAL, with adsm_fail(). */
int adsm_backend_find(const char *name, const struct adsm_backend **ret_backend, int *ret_n_devices);

#endif
