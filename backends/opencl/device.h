/* SPDX-License-Identifier: MIT */
/*
 * device.h - an OpenCL device with its queues, and what the driver's errors mean for it.
 *
 * No driver is called with asynchronous signals open: a handler of the application that interrupted one, and waits
 * for shared memory, would wait for a driver's lock of its own thread.
 */
#ifndef ADSM_OPENCL_DEVICE_H
#define ADSM_OPENCL_DEVICE_H

#include "cl.h"
#include "driven.h"

#define ADSM_CL_DEFERRED 8		/* operations that nobody waits for, of a device at a time */

struct adsm_cl_device;
struct adsm_cl_memory;

/* Completion is told by the driver's callbacks, so nobody waits inside the driver. */
struct adsm_cl_slot {
	struct adsm_cl_queue *queue;
	uint64_t seq;			/* the operation that has the slot */
	cl_event timed;			/* the command whose time counts; NULL: the last one */
	_Atomic uint64_t ended;		/* seq, once base.ends has how it ended */
};

struct adsm_cl_queue {
	struct adsm_driven_queue base;
	struct adsm_cl_device *device;
	cl_command_queue cl;
	bool profiles;			/* events know times */
	cl_event timed;			/* of the operation being submitted: see the slot's */
	_Atomic uint64_t told;		/* callbacks that have returned */
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

/* A small write, or a fill, that has been given to the device and that nobody waits for; see memory.c. */
struct adsm_cl_deferred {
	cl_event event;			/* NULL: free */
	char *bytes;			/* of a write; kept for the next write */
	unsigned n_users;		/* threads that wait for the event, or make a command wait */
};

/* The read behind the last launch; see behind.c. */
struct adsm_cl_behind {
	struct adsm_lock lock;
	_Atomic(struct adsm_cl_memory *) memory;	/* whose bytes are good; NULL: none */
	cl_event event;			/* of the last read */
	const struct adsm_cl_memory *reads;	/* what is being read; NULL: the read has ended */
	char *bytes;
	size_t offset, size;
	uint64_t seq;			/* of the launch */
};

struct adsm_cl_device {
	struct adsm_driven base;
	cl_platform_id platform;
	cl_device_id id;
	cl_context context;
	unsigned version;		/* of OpenCL, 10 * major + minor */
	const struct adsm_cl_way *way;	/* how memory is kept */
	struct adsm_cl_queue queues[ADSM_N_QUEUES];
	const char *alias_base;		/* unified: the CPU's side of memory */
	uintptr_t arena_base;
	uint64_t max_alloc;		/* bytes of one allocation */
	size_t sub_buffer_align;
	_Atomic uint64_t memory_used;
	bool write_mapped, read_mapped;	/* copies are faster by mapping than by the driver: measured */

	struct adsm_lock memories_lock;	/* of what follows, up to kept_size */
	bool way_stays;			/* memory has been asked for */
	struct adsm_cl_memory *memories;
	struct adsm_cl_memory *kept;	/* freed, for the next objects of their size */
	size_t kept_size, keep;		/* bytes; keep: the most */
	_Atomic uint64_t memories_changed;	/* counts changes of the list memories */

	struct adsm_lock deferred_lock;
	struct adsm_cl_deferred deferred[ADSM_CL_DEFERRED];	/* a ring */
	unsigned next_deferred;
	_Atomic bool defers;		/* nobody has waited for the youngest yet */
	struct adsm_cl_behind behind;

	/* functions of extensions, where the way needs them */
	adsm_cl_usm_alloc *usm_alloc;
	adsm_cl_usm_free *usm_free;
	adsm_cl_pointer_memcpy *pointer_memcpy;
	adsm_cl_pointer_fill *pointer_fill;
	adsm_cl_pointer_set_arg *pointer_set_arg;
	adsm_cl_address_set_arg *address_set_arg;
};

/* From now on the device is lost: @what failed. */
void adsm_cl_lose(struct adsm_cl_device *device, cl_int error, const char *what);
/* An errno for a driver's error, with one sentence of @what failed; marks the device lost where it is. 0 for 0. */
int adsm_cl_error(struct adsm_cl_device *device, cl_int error, const char *what);
/* The same for threads that may keep no sentence: it is logged. */
int adsm_cl_errno(struct adsm_cl_device *device, cl_int error, const char *what);
/* The same for copies and enqueued commands: -EIO where memory was short, which the caller cannot mend. */
int adsm_cl_moved(struct adsm_cl_device *device, cl_int error, const char *what);
/* An information of a device as text; "" where there is none. */
void adsm_cl_device_text(cl_device_id device, cl_device_info what, char *ret_text, size_t size);

#endif
