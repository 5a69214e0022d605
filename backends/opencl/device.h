/* SPDX-License-Identifier: MIT */
/*
 * device.h - an OpenCL device with its queues, and the conversion of errors.
 *
 * The library calls the driver only with asynchronous signals blocked. Otherwise a signal handler of the application
 * that interrupts the driver, and waits for shared memory, could wait for a lock that its own thread holds.
 */
#pragma once

#include "cl.h"
#include "driven.h"

#define ADSM_CL_DEFERRED 8		/* maximum number of deferred operations of a device */

struct adsm_cl_device;
struct adsm_cl_memory;
struct adsm_cl_once_launch;
struct adsm_cl_once_object;

/* The driver's callbacks report that operations are complete, so no thread waits inside the driver. */
struct adsm_cl_slot {
	struct adsm_cl_queue *queue;
	uint64_t seq;			/* the operation that has the slot */
	cl_event timed;			/* the command whose time is measured; NULL: the last one */
	struct adsm_cl_once_launch *once;	/* of a launch with write-once objects; else NULL */
	_Atomic uint64_t ended;		/* seq, after base.ends has its result */
};

struct adsm_cl_queue {
	struct adsm_driven_queue base;
	struct adsm_cl_device *device;
	cl_command_queue cl;
	bool profiles;			/* events record times */
	cl_event timed;			/* of the operation that is being submitted, as in the slot */
	struct adsm_cl_once_launch *once;	/* the same */
	_Atomic uint64_t n_callbacks;		/* number of callbacks that have returned */
	struct adsm_cl_slot slots[ADSM_DRIVEN_PENDING];
};

typedef void *CL_API_CALL adsm_cl_usm_alloc(cl_context, cl_device_id, const cl_ulong *, size_t, cl_uint, cl_int *);
typedef cl_int CL_API_CALL adsm_cl_usm_free(cl_context, void *);
typedef cl_int CL_API_CALL adsm_cl_pointer_memcpy(cl_command_queue, cl_bool, void *, const void *, size_t, cl_uint,
					     const cl_event *, cl_event *);
typedef cl_int CL_API_CALL adsm_cl_pointer_fill(cl_command_queue, void *, const void *, size_t, size_t, cl_uint,
					   const cl_event *, cl_event *);
typedef cl_int CL_API_CALL adsm_cl_pointer_set_arg(cl_kernel, cl_uint, const void *);
typedef cl_int CL_API_CALL adsm_cl_address_set_arg(cl_kernel, cl_uint, cl_ulong);

/* A small write or a fill that was enqueued, and for which no thread waits (memory.c). */
struct adsm_cl_deferred {
	cl_event event;			/* NULL: free */
	char *bytes;			/* of a write; the memory is kept for the next write */
	unsigned n_users;		/* threads that wait for the event, or let a command wait for it */
};

/* The read that follows the last launch (behind.c). */
struct adsm_cl_behind {
	struct adsm_lock lock;
	_Atomic(struct adsm_cl_memory *) memory;	/* the memory whose bytes are valid here; NULL: none */
	cl_event event;			/* of the last read */
	const struct adsm_cl_memory *reads;	/* the memory that is being read; NULL: the read has ended */
	char *bytes;
	size_t offset, size;
	const struct adsm_driven_queue *queue;	/* of the launch, and its number there */
	uint64_t seq;
};

struct adsm_cl_device {
	struct adsm_driven base;
	cl_platform_id platform;
	cl_device_id id;
	cl_context context;
	unsigned version;		/* of OpenCL, 10 * major + minor */
	const struct adsm_cl_memory_kind *memory_kind;	/* how objects are stored */
	struct adsm_cl_queue queues[ADSM_DRIVEN_QUEUES];
	struct adsm_lock launch_lock;	/* from the first argument of a kernel until it is enqueued */
	struct adsm_cl_memory *nothing;	/* a page for lists of memory that must not be empty; with launch_lock */
	const char *alias_base;		/* unified: the CPU's side of memory */
	uintptr_t arena_base;
	uint64_t max_alloc;		/* bytes of one allocation */
	size_t sub_buffer_align;
	_Atomic uint64_t memory_used;
	bool write_mapped, read_mapped;	/* measured: copies through a mapping are faster */

	struct adsm_lock memories_lock;	/* for the next members, up to kept_size */
	bool memory_kind_fixed;		/* memory was allocated: the kind does not change any more */
	struct adsm_cl_memory *memories;
	struct adsm_cl_memory *kept;	/* freed, for the next objects of their size */
	struct adsm_cl_memory *left;	/* freed after the device was lost: kernels may still use it */
	size_t kept_size, keep;		/* bytes; keep: the maximum */
	_Atomic uint64_t memories_changed;	/* counts changes of the list memories */

	struct adsm_lock deferred_lock;
	struct adsm_cl_deferred deferred[ADSM_CL_DEFERRED];	/* a ring */
	unsigned next_deferred;
	_Atomic bool defers;		/* no thread has waited for the latest one yet */
	struct adsm_cl_behind behind;

	/* Called when the device was lost; NULL: not. */
	void (*when_lost)(struct adsm_cl_device *device);
	struct {
		bool works;			/* kernels see what the host stores while they run */
		bool is_lost;			/* the library knows that the device is lost */
		int index;			/* the device's number in the table */
		struct adsm_once_table *table;	/* NULL: the device has had no objects yet */
		size_t table_size;
		struct adsm_cl_once_object *objects;
	} once;

	/* functions of extensions, if the kind needs them */
	adsm_cl_usm_alloc *usm_alloc;
	adsm_cl_usm_free *usm_free;
	adsm_cl_pointer_memcpy *pointer_memcpy;
	adsm_cl_pointer_fill *pointer_fill;
	adsm_cl_pointer_set_arg *pointer_set_arg;
	adsm_cl_address_set_arg *address_set_arg;
};

/* Mark the device as lost: @what failed. */
void adsm_cl_lose(struct adsm_cl_device *device, cl_int error, const char *what);
/* Convert a driver's error to an errno, with a sentence that @what failed. It may mark the device as lost. 0 for 0. */
int adsm_cl_error(struct adsm_cl_device *device, cl_int error, const char *what);
/* The same for threads that cannot store a sentence: it is logged. */
int adsm_cl_errno(struct adsm_cl_device *device, cl_int error, const char *what);
/* The same for copies and enqueued commands: -EIO instead of -ENOMEM, because the caller cannot free memory. */
int adsm_cl_moved(struct adsm_cl_device *device, cl_int error, const char *what);
/* Get a property of a device as text; "" if the device does not have it. */
void adsm_cl_device_text(cl_device_id device, cl_device_info what, char *ret_text, size_t size);
/* Count bytes of the device's memory. Returns -ENOMEM with adsm_fail() if the device is full. */
int adsm_cl_reserve(struct adsm_cl_device *device, size_t size);
void adsm_cl_unreserve(struct adsm_cl_device *device, size_t size);
