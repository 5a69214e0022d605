/* SPDX-License-Identifier: MIT */
/* driven.h - what devices of a vendor's driver have in common: the driver's functions, the choice of devices; a device
 * may be lost, operations of a queue are numbered, and a launch has limits. Modules of such devices: driven_code.h. */
#pragma once

#include "backend.h"
#include "base/log.h"
#include "base/os.h"

#define ADSM_DRIVEN_LANES 4		/* caps.max_running: each has a queue of its own */
/* The first lane has ADSM_QUEUE_COMPUTE, the others are behind the other queues. */
#define ADSM_DRIVEN_QUEUES (ADSM_N_QUEUES + ADSM_DRIVEN_LANES - 1)
#define ADSM_DRIVEN_PENDING 256		/* operations on a queue that may be outstanding */
#define ADSM_DRIVEN_ARGS 64		/* of a launch, without malloc() */

/* ---- opening the driver */

struct adsm_driven_function {
	const char *name;
	size_t offset;			/* of its pointer, in the backend's struct of functions */
	bool required;
};

/* Fill the struct of functions; one that is not required may be NULL there. NULL, or the first name that is missing. */
const char *adsm_driven_functions(void *library, const struct adsm_driven_function *functions, size_t n,
				  void *ret_struct);
/* Is the word @part, @length bytes, empty, or the number @index, or contained in @text? Case is ignored. */
bool adsm_driven_matches(const char *part, size_t length, const char *text, unsigned index);

/* ---- devices */

/* How an operation ended. */
struct adsm_driven_end {
	_Atomic int status;
	_Atomic uint64_t start_ns, ns;		/* of a launch; 0: not known */
};

/* Embedded first in each backend's own queue. */
struct adsm_driven_queue {
	const struct adsm_driven *device;
	struct adsm_lock lock;			/* of submitting */
	_Atomic uint64_t submitted, done;	/* operations; done: all up to this one */
	_Atomic uint32_t tick, n_waiting;	/* futex: done has grown; threads asleep on it */
	_Atomic uint64_t last_failed;		/* an operation; 0: none did */
	_Atomic int failure;			/* how */
	struct adsm_driven_end ends[ADSM_DRIVEN_PENDING];
};

/* One operation on memory. Fields that its kind does not need are not set. */
struct adsm_driven_operation {
	enum { ADSM_DRIVEN_WRITE, ADSM_DRIVEN_READ, ADSM_DRIVEN_COPY, ADSM_DRIVEN_FILL } kind;
	struct adsm_memory *dst, *src;
	size_t dst_offset, src_offset, size;	/* inside of memory */
	const void *from;			/* in host memory */
	void *to;
	uint8_t value;
};

/* Embedded first in each backend's own device. */
struct adsm_driven {
	struct adsm_device base;
	int (*run)(struct adsm_device *device, const struct adsm_driven_operation *o,
		   struct adsm_device_event *ret_event);
	struct adsm_driven_queue *queues[ADSM_DRIVEN_QUEUES];	/* NULL before adsm_driven_queue_init() */
	size_t max_threads;			/* in a block */
	size_t max_block[3], max_grid[3];	/* threads and blocks along x, y, z; 0: no limit is known */
	struct adsm_lock lost_lock;
	char lost_text[256];			/* written before base.lost */
};

static inline bool adsm_driven_is_lost(const struct adsm_driven *device)
{
	return atomic_load(&device->base.lost);
}

/* Is operation @seq done, or never will be? */
static inline bool adsm_driven_is_over(const struct adsm_driven_queue *queue, uint64_t seq)
{
	return atomic_load(&queue->done) >= seq || adsm_driven_is_lost(queue->device);
}

/* The number of the queue of a launch. */
static inline unsigned adsm_driven_lane(const struct adsm_device *device, const struct adsm_launch *asked)
{
	return asked->lane && asked->lane < device->caps.max_running ? ADSM_N_QUEUES + asked->lane - 1 :
		ADSM_QUEUE_COMPUTE;
}

/* Does the queue have launches? */
static inline bool adsm_driven_is_lane(unsigned number)
{
	return number == ADSM_QUEUE_COMPUTE || number >= ADSM_N_QUEUES;
}

/* How operation @seq ended: the place is the next one's after ADSM_DRIVEN_PENDING operations. */
static inline struct adsm_driven_end *adsm_driven_end_of(struct adsm_driven_queue *queue, uint64_t seq)
{
	return &queue->ends[seq % ADSM_DRIVEN_PENDING];
}

static inline void adsm_driven_set_times(struct adsm_driven_end *end, struct adsm_span span)
{
	atomic_store(&end->start_ns, span.start_ns);
	atomic_store(&end->ns, span.ns);
}

/* The device is lost from now on, for the reason @text; the first reason counts. */
void adsm_driven_lose(struct adsm_driven *device, enum adsm_log_level level, const char *text);

/* ---- queues */

void adsm_driven_queue_init(struct adsm_driven *device, unsigned number, struct adsm_driven_queue *queue);
/* Take the lock, once there is room for an operation. -ENODEV, without the lock: the device is lost. */
int adsm_driven_enter(struct adsm_driven_queue *queue);
/* Sleep until operation @seq is done, the device is lost, or (-EINTR) a signal handler ran. */
int adsm_driven_wait(struct adsm_driven_queue *queue, uint64_t seq);
/* Operations have ended: threads that sleep look again. */
void adsm_driven_wake(struct adsm_driven_queue *queue);
/* The queue of an event; NULL: no operation has that number. */
struct adsm_driven_queue *adsm_driven_find(struct adsm_device *device, struct adsm_device_event event);

/* ---- slots of struct adsm_backend; wait: without a look at the driver before the thread sleeps */

int adsm_driven_event_query(struct adsm_device *device, struct adsm_device_event event, int *ret_status);
int adsm_driven_event_wait(struct adsm_device *device, struct adsm_device_event event, int *ret_status);
int adsm_driven_event_times(struct adsm_device *device, struct adsm_device_event event, struct adsm_span *ret_span);
int adsm_driven_status(struct adsm_device *device);
int adsm_driven_to_device(struct adsm_memory *dst, size_t offset, const void *src, size_t size,
			  struct adsm_device_event *ret_event);
int adsm_driven_to_host(void *dst, struct adsm_memory *src, size_t offset, size_t size,
			struct adsm_device_event *ret_event);
int adsm_driven_copy(struct adsm_memory *dst, size_t dst_offset, struct adsm_memory *src, size_t src_offset,
		     size_t size, struct adsm_device_event *ret_event);
int adsm_driven_fill(struct adsm_memory *dst, size_t offset, uint8_t value, size_t size,
		     struct adsm_device_event *ret_event);

/* ---- operations on memory */

/* For messages. */
const char *adsm_driven_operation_name(const struct adsm_driven_operation *o);
/* A copy from and to the same bytes? */
bool adsm_driven_overlaps(const struct adsm_driven_operation *o);

/* ---- launches */

uint64_t adsm_driven_threads(const struct adsm_launch *asked);
/* -EINVAL: a block takes @most threads. */
int adsm_driven_too_large(const struct adsm_driven *device, const struct adsm_launch *asked, size_t most);
/* The limits of the device, and of the kernel. @kind: of the device, with its article. */
int adsm_driven_check(const struct adsm_driven *device, const struct adsm_launch *asked, const char *kind, size_t most);
/* The launch is on its way: its event, or wait for it where @ret_event is NULL. */
int adsm_driven_launched(struct adsm_device *device, struct adsm_device_event event,
			 struct adsm_device_event *ret_event);
