/* SPDX-License-Identifier: MIT */
/*
 * opencl.h - the OpenCL backend's own structures. Its files: cl (the driver's functions), opencl (devices), queue
 * (order and events), ways (how objects are kept), memory (objects and copies), program (modules and kernels), launch,
 * behind (reads that follow a launch).
 *
 * No driver is called with asynchronous signals open: a handler of the application that interrupted one, and waits
 * for shared memory, would wait for a driver's lock of its own thread.
 */
#ifndef ADSM_OPENCL_BACKEND_H
#define ADSM_OPENCL_BACKEND_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "backend.h"
#include "cl.h"
#include "base/os.h"

#define ADSM_CL_PENDING 256		/* operations on a queue that may be outstanding */
#define ADSM_CL_TEXT 192		/* a device's own sentence */
#define ADSM_CL_DEFERRED 8		/* operations that nobody waits for, of a device at a time */

struct adsm_cl_device;
struct adsm_cl_memory;

/* ---- queue.c: order and events. Completion is told by the driver's callbacks, so nobody waits inside it. */

struct adsm_cl_slot {
	struct adsm_cl_queue *queue;
	uint64_t seq;			/* the operation that has it */
	int status;			/* how it ended */
	uint64_t elapsed_ns;
	cl_event timed;			/* whose time counts, where it is not the last command's */
	_Atomic uint64_t ended;		/* seq, once these are written */
};

struct adsm_cl_queue {
	struct adsm_cl_device *device;
	cl_command_queue cl;
	bool profiles;			/* events know times */
	cl_event timed;			/* of the operation being submitted: see the slot's */
	struct adsm_lock lock;		/* of submitting */
	_Atomic uint64_t submitted, done;	/* operations; done: all up to it */
	_Atomic uint64_t told;		/* callbacks that have come and gone */
	_Atomic uint32_t tick, n_waiting;	/* futex: done has grown; those asleep on it */
	_Atomic uint64_t last_failed;	/* an operation; 0: none did */
	_Atomic int failure;		/* how */
	struct adsm_cl_slot slots[ADSM_CL_PENDING];
};

int adsm_cl_queue_create(struct adsm_cl_device *device, struct adsm_cl_queue *queue, bool profiles);
/* Waits for what is on it; false: of a lost device callbacks are outstanding, which may still come. */
bool adsm_cl_queue_destroy(struct adsm_cl_queue *queue);
/* Wait for a command, where @error, from enqueueing it, is 0. Releases its event. */
cl_int adsm_cl_settle(struct adsm_cl_queue *queue, cl_int error, cl_event event);
/* The device was lost: nobody waits on. */
void adsm_cl_queues_wake(struct adsm_cl_device *device);

/*
 * Begin an operation: wait for room, take the lock; -ENODEV when the device is lost. Then enqueue one or more
 * commands, the last with an event, and end with it. @error: what enqueueing returned; on failure nothing was
 * submitted. The event is released.
 */
int adsm_cl_queue_begin(struct adsm_cl_queue *queue, struct adsm_sigset *old);
void adsm_cl_queue_abandon(struct adsm_cl_queue *queue, struct adsm_sigset *old);
int adsm_cl_queue_end(struct adsm_cl_queue *queue, struct adsm_sigset *old, cl_int error, cl_event event,
		     const char *what, uint64_t *ret_seq);
int adsm_cl_event_query(struct adsm_device *device, struct adsm_device_event event, int *ret_status);
int adsm_cl_event_wait(struct adsm_device *device, struct adsm_device_event event, int *ret_status);
int adsm_cl_event_elapsed(struct adsm_device *device, struct adsm_device_event event, uint64_t *ret_ns);

/* ---- opencl.c: devices */

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
	char *bytes;			/* of a write, for the next one too */
	unsigned n_users;		/* who wait for the event, or have others do so */
};

/* What a read behind a launch has brought, or will; see behind.c. */
struct adsm_cl_behind {
	struct adsm_lock lock;
	_Atomic(struct adsm_cl_memory *) memory;	/* NULL: good for nothing */
	cl_event event;			/* of the last read */
	const struct adsm_cl_memory *reads;	/* from this; NULL: it has ended */
	char *bytes;
	size_t offset, size;
	uint64_t seq;			/* of the launch */
};

struct adsm_cl_device {
	struct adsm_device base;
	cl_platform_id platform;
	cl_device_id id;
	cl_context context;
	unsigned version;		/* of OpenCL, 10 * major + minor */
	const struct adsm_cl_way *way;	/* how memory is kept */
	struct adsm_cl_queue queues[ADSM_N_QUEUES];
	const char *alias_base;		/* unified: the CPU's side of memory */
	uintptr_t arena_base;
	uint64_t max_alloc;		/* bytes of one allocation */
	size_t max_group, max_group_dims[3];	/* threads in a block */
	size_t sub_buffer_align;
	_Atomic uint64_t memory_used;
	bool write_mapped, read_mapped;	/* copies are faster by mapping than by the driver: measured */

	struct adsm_lock memories_lock;	/* the list of them */
	bool way_stays;			/* memory has been asked for; the same lock */
	struct adsm_cl_memory *memories;
	struct adsm_cl_memory *kept;	/* freed, for the next of their size; the same lock */
	size_t kept_size, keep;		/* bytes; keep: the most */
	_Atomic uint64_t memories_changed;	/* counts changes of the list */

	struct adsm_lock deferred_lock;
	struct adsm_cl_deferred deferred[ADSM_CL_DEFERRED];	/* a ring */
	unsigned next_deferred;
	_Atomic bool defers;		/* nobody has waited for the youngest yet */
	struct adsm_cl_behind behind;

	/* of extensions, where the way needs them */
	adsm_cl_usm_alloc *usm_alloc;
	adsm_cl_usm_free *usm_free;
	adsm_cl_pointer_memcpy *pointer_memcpy;
	adsm_cl_pointer_fill *pointer_fill;
	adsm_cl_pointer_set_arg *pointer_set_arg;
	adsm_cl_address_set_arg *address_set_arg;

	_Atomic bool lost;		/* lost_text is written before, under lost_lock */
	struct adsm_lock lost_lock;
	char lost_text[ADSM_CL_TEXT];
};

/* From now on the device is lost: @what failed. */
void adsm_cl_lose(struct adsm_cl_device *device, cl_int error, const char *what);
/* An errno for a driver's error, with one sentence of @what failed; marks the device lost where it is. 0 for 0. */
int adsm_cl_error(struct adsm_cl_device *device, cl_int error, const char *what);
/* The same without the sentence, which it logs: where none may be kept. */
int adsm_cl_errno(struct adsm_cl_device *device, cl_int error, const char *what);
/* Of a copy, or of what was enqueued: that memory was short is not the caller's to mend. */
int adsm_cl_moved(struct adsm_cl_device *device, cl_int error, const char *what);
int adsm_cl_status(struct adsm_device *device);
/* An information of a device as text; "" where there is none. */
void adsm_cl_device_text(cl_device_id device, cl_device_info what, char *ret_text, size_t size);
/* Does a list of words, as drivers keep their extensions, have this one? */
bool adsm_cl_has_extension(cl_device_id device, const char *name);

/* ---- ways.c: how objects are kept */

struct adsm_cl_memory {
	struct adsm_memory base;
	struct adsm_cl_memory *next, **at;	/* of the device's */
	cl_mem buffer;			/* NULL where memory is a pointer */
	void *pointer;			/* of the driver's; unified: the alias */
	_Atomic bool used;		/* a write has arrived: the driver has found room for it */
	_Atomic bool given;		/* to the program: not to be used again */
};

struct adsm_cl_way {
	const char *name;
	/* 0, 1 where the device cannot do it, or an error with adsm_fail(). */
	int (*init)(struct adsm_cl_device *device);
	int (*alloc)(struct adsm_cl_device *device, struct adsm_cl_memory *memory);
	void (*free)(struct adsm_cl_device *device, struct adsm_cl_memory *memory);
	cl_int (*write)(struct adsm_cl_queue *queue, struct adsm_cl_memory *dst, size_t offset, const void *src,
			size_t size, bool wait, cl_event *ret_event);
	cl_int (*read)(struct adsm_cl_queue *queue, void *dst, struct adsm_cl_memory *src, size_t offset, size_t size,
		       bool wait, cl_event *ret_event);
	/* Ranges that do not overlap. */
	cl_int (*copy)(struct adsm_cl_queue *queue, struct adsm_cl_memory *dst, size_t dst_offset,
		       struct adsm_cl_memory *src, size_t src_offset, size_t size, cl_event *ret_event);
	cl_int (*fill)(struct adsm_cl_queue *queue, struct adsm_cl_memory *dst, size_t offset, uint8_t value,
		       size_t size, cl_event *ret_event);
	/* Set an argument to the start of memory; and, where ways can, to a place in it (else NULL). */
	cl_int (*set_arg)(struct adsm_cl_device *device, cl_kernel kernel, cl_uint index,
			  struct adsm_cl_memory *memory);
	cl_int (*set_place)(struct adsm_cl_device *device, cl_kernel kernel, cl_uint index,
			    struct adsm_cl_memory *memory, size_t offset);
	/* Tell a kernel of all memory it may reach through pointers in data, when that has changed. NULL: it can
	 * reach none. */
	cl_int (*set_reachable)(struct adsm_cl_device *device, cl_kernel kernel);
};

/* Choose a way for ADSM_OPENCL_MEMORY: device->way and what depends on it. @wants_buffers: "auto" is one with them. */
int adsm_cl_way_choose(struct adsm_cl_device *device, bool wants_buffers);
/* "auto" is one with buffers from now on, if memory has not been asked for yet. Signals blocked. */
void adsm_cl_way_with_buffers(struct adsm_cl_device *device);
/* Find out how copies are faster. */
void adsm_cl_measure_copies(struct adsm_cl_device *device);

/* ---- memory.c: objects and copies */

int adsm_cl_alloc(struct adsm_device *device, size_t size, uint64_t wanted, struct adsm_memory **ret_memory);
void adsm_cl_free(struct adsm_memory *memory);
/* Give freed memory back to the driver. */
void adsm_cl_release_kept(struct adsm_cl_device *device);
uint64_t adsm_cl_memory_free(struct adsm_device *device);
int adsm_cl_to_device(struct adsm_memory *dst, size_t offset, const void *src, size_t size,
		     struct adsm_device_event *ret_event);
int adsm_cl_to_host(void *dst, struct adsm_memory *src, size_t offset, size_t size,
		   struct adsm_device_event *ret_event);
int adsm_cl_copy(struct adsm_memory *dst, size_t dst_offset, struct adsm_memory *src, size_t src_offset, size_t size,
		struct adsm_device_event *ret_event);
int adsm_cl_fill(struct adsm_memory *dst, size_t offset, uint8_t value, size_t size,
		struct adsm_device_event *ret_event);
int adsm_cl_native_memory(struct adsm_memory *memory, void **ret_handle);
/* Wait for what nobody has waited for; where it failed the device is lost. Signals blocked. */
int adsm_cl_settle_deferred(struct adsm_cl_device *device);
/* For a command about to be enqueued: what it has to wait for, or NULL; stays until it is given back. @ended: the
 * caller has waited for it. Where one failed the device is lost now. */
struct adsm_cl_deferred *adsm_cl_deferred_use(struct adsm_cl_device *device);
void adsm_cl_deferred_used(struct adsm_cl_device *device, struct adsm_cl_deferred *deferred, bool ended);
/* The queues are gone. False: of a lost device the driver may still read from there. */
bool adsm_cl_deferred_end(struct adsm_cl_device *device);

/* ---- behind.c: all with signals blocked */

/* After a launch, the operation @seq of the queue, whose lock is held: begin to read what is expected. */
void adsm_cl_read_behind(struct adsm_cl_queue *queue, const struct adsm_launch *launch, uint64_t seq);
/* Something is given to the device that may write to @memory (NULL: to any). */
void adsm_cl_behind_forget(struct adsm_cl_device *device, const struct adsm_cl_memory *memory);
/* That is gone as soon as this returns. */
void adsm_cl_behind_settle(struct adsm_cl_device *device, const struct adsm_cl_memory *memory);
/* Take bytes from there; false: they are not. */
bool adsm_cl_behind_take(struct adsm_cl_device *device, const struct adsm_cl_memory *memory, size_t offset, size_t size,
			 void *dst);
/* The queues are gone. False: of a lost device the driver may still write there. */
bool adsm_cl_behind_end(struct adsm_cl_device *device);

/* ---- program.c: modules and kernels */

struct adsm_cl_entry {
	struct adsm_entry base;
	struct adsm_cl_entry *next;
	cl_kernel kernel;		/* NULL: does nothing */
	bool dialect;			/* of adsmcc: a pointer is a buffer and an offset */
	size_t max_group;		/* threads in a block */
	uint64_t told;			/* device->memories_changed when it was told what it may reach */
};

struct adsm_cl_code {
	struct adsm_code base;
	cl_program program;		/* NULL: an adopted kernel */
	cl_kernel adopted;
	bool dialect;
	struct adsm_mutex lock;		/* of entries */
	struct adsm_cl_entry *entries;
};

int adsm_cl_module_load(struct adsm_device *device, const struct adsm_image *image, struct adsm_code **ret_code);
void adsm_cl_module_unload(struct adsm_code *code);
int adsm_cl_kernel_get(struct adsm_code *code, const char *name, struct adsm_entry **ret_entry);
int adsm_cl_module_names(struct adsm_code *code, char **ret_names);
int adsm_cl_kernel_params(struct adsm_entry *entry, struct adsm_param *ret_params, size_t max);
int adsm_cl_kernel_adopt(struct adsm_device *device, void *kernel, struct adsm_code **ret_code);

/* ---- launch.c */

int adsm_cl_launch(struct adsm_entry *entry, const struct adsm_launch *launch, struct adsm_device_event *ret_event);

#endif
