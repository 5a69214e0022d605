/* SPDX-License-Identifier: MIT */
/*
 * backend.h - the contract between the library and an accelerator.
 *
 * A backend knows bytes, kernels and events; never objects, blocks or coherence. It is one struct of
 * functions with no NULL slots: what a backend cannot do returns -ENOTSUP. All functions return 0 or a
 * negative errno unless said otherwise, set their ret_ outputs only on success, log a foreign error code
 * once, and may be called by any thread at once. A failed operation has changed nothing and may be
 * repeated.
 *
 * Queues. Operations on one queue run in the order they were given; queues are not ordered among each
 * other: the library waits where it needs an order. An event is a value: a queue and a sequence number
 * that counts the operations given to it, from 1. A NULL event makes the operation synchronous: it
 * returns when the bytes have moved; such copies wait for no queue.
 */
#ifndef ADSM_BACKEND_H
#define ADSM_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ADSM_BACKEND_VERSION 1

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
	uint64_t memory_size;	/* bytes */
	unsigned compute_units;
	unsigned max_pending;	/* launches that may be outstanding */
	size_t max_arg_bytes;	/* of one launch, values and constants together */
};

/* Embedded first in each backend's own. */
struct adsm_device {
	const struct adsm_backend *backend;
	struct adsm_device_caps caps;
	char name[64];
};

struct adsm_memory {			/* device memory */
	struct adsm_device *device;
	uint64_t address;		/* the device's; 0 where it has none */
	size_t size;			/* bytes, whole pages */
};

struct adsm_code {			/* a module loaded on a device */
	struct adsm_device *device;
};

struct adsm_entry {			/* a kernel of it, owned by the code */
	struct adsm_code *code;
};

/* Where the CPU's side lives: for backends that map it. */
struct adsm_backend_config {
	int arena_fd;			/* the file of all objects; the backend may dup() it */
	uintptr_t arena_base;		/* address of its first byte as applications see it */
	size_t arena_size;
	void *alias_base;		/* the always-writable mapping of the same file in this process */
};

enum adsm_launch_arg_kind { ADSM_LAUNCH_POINTER, ADSM_LAUNCH_VALUE, ADSM_LAUNCH_CONST };

struct adsm_launch_arg {
	enum adsm_launch_arg_kind kind;
	struct adsm_memory *memory;	/* pointer: NULL is the null pointer */
	size_t offset;			/* pointer: from the start of memory */
	const void *data;		/* value, const: the bytes, copied by launch() */
	size_t size;
};

struct adsm_launch {
	const char *name;		/* the kernel's, for messages */
	uint32_t grid[3], block[3];	/* no component is 0 */
	uint64_t first_block, n_blocks;	/* the interval of the grid to run, linear, x fastest */
	size_t n_args;
	const struct adsm_launch_arg *args;
};

struct adsm_backend {
	uint32_t version;		/* ADSM_BACKEND_VERSION */
	const char *name;
	/* How many devices there are: 0 or more; a negative errno with adsm_fail() where the backend cannot run. */
	int (*probe)(void);
	int (*open)(int index, const struct adsm_backend_config *config, struct adsm_device **ret_device);
	/* Waits for nothing: what still runs is ended. */
	void (*close)(struct adsm_device *device);

	/* @wanted: the address the CPU uses (0: none). -ENOMEM when the device is full. */
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

	/* @image: a whole module as adsmcc wrote it. */
	int (*module_load)(struct adsm_device *device, const void *image, size_t size, struct adsm_code **ret_code);
	void (*module_unload)(struct adsm_code *code);
	int (*kernel_get)(struct adsm_code *code, const char *name, struct adsm_entry **ret_entry);
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

/* The backend for a name ("auto" tries them in order), wrapped where adsm_options.wrap says so, and the
 * number of its devices; -ENODEV with adsm_fail(). */
int adsm_backend_find(const char *name, const struct adsm_backend **ret_backend, int *ret_n_devices);

#endif
