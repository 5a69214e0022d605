/* SPDX-License-Identifier: MIT */
/*
 * cuda.h - the CUDA backend's own structures. Its files: cu (the driver's functions), cuda (devices, errors), queue
 * (order and events), address (where objects lie), memory (objects and copies), pin, module (images and kernels),
 * launch, nvrtc (compiling).
 *
 * No driver is called with asynchronous signals open, nor in the fault handler: a handler of the application that
 * interrupted one would wait for a driver's lock of its own thread. Every use of the driver is between
 * adsm_cuda_enter() and adsm_cuda_leave(), which leave the thread's own current context alone.
 */
#ifndef ADSM_CUDA_BACKEND_H
#define ADSM_CUDA_BACKEND_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "backend.h"
#include "cu.h"
#include "base/os.h"

#define ADSM_CUDA_PENDING 256		/* operations on a queue that may be outstanding */
#define ADSM_CUDA_TEXT 256		/* a device's own sentence */
#define ADSM_CUDA_NOW 32		/* events kept for operations that are waited for at once */

struct adsm_cuda_device;
struct adsm_cuda_mem;

/* ---- queue.c: order and events. A thread for each queue waits in the driver; everybody else waits for it. */

struct adsm_cuda_slot {
	CUevent begin, timed_end;	/* of launches of the library's own; these and the next are made once */
	CUevent end;			/* of others, whose time nobody asks for */
	CUevent joined;			/* recorded on streams of the program's */
	bool timed;
	bool recorded;			/* the end is; else it was waited for */
	char name[48];			/* of the kernel; "" where there is none */
	_Atomic int status;		/* how it ended */
	_Atomic uint64_t elapsed_ns;
};

struct adsm_cuda_queue {
	struct adsm_cuda_device *device;
	CUstream stream;
	struct adsm_lock lock;		/* of submitting */
	struct adsm_lock end_lock;	/* of telling that operations are done */
	_Atomic uint64_t submitted, done;	/* operations; done: all up to it */
	_Atomic uint32_t tick, n_waiting;	/* futex: done has grown; those asleep on it */
	_Atomic uint32_t work;		/* futex: submitted has grown; the queue's thread sleeps on it */
	_Atomic bool stop;
	bool has_thread;
	struct adsm_thread thread;
	_Atomic uint64_t last_failed;	/* an operation; 0: none did */
	_Atomic int failure;		/* how */
	_Atomic uint64_t last_launch;	/* the last operation that was the library's own launch */
	struct adsm_cuda_slot slots[ADSM_CUDA_PENDING];
	CUevent now[ADSM_CUDA_NOW];	/* made at first use */
	_Atomic uint32_t now_used;	/* a bit for each */
};

/* Both with the device's context current. */
int adsm_cuda_queue_create(struct adsm_cuda_device *device, struct adsm_cuda_queue *queue);
/* Waits for what is on it; of a lost device nothing is waited for. */
void adsm_cuda_queue_destroy(struct adsm_cuda_queue *queue);
/* The two halves of that: its thread, which may be waiting in the driver; then what is the driver's. */
void adsm_cuda_queue_stop(struct adsm_cuda_queue *queue);
void adsm_cuda_queue_drop(struct adsm_cuda_queue *queue);
/* The device was lost: nobody waits on. */
void adsm_cuda_queues_wake(struct adsm_cuda_device *device);

/*
 * One operation: begin (room, lock, context; -ENODEV when the device is lost), enqueue commands on queue->stream, end.
 * @timed: a launch of the library's own. @error: what enqueueing returned; on failure nothing was submitted, and the
 * value is its errno.
 */
struct adsm_cuda_scope { struct adsm_sigset old; int capture; struct adsm_cuda_device *device; };
int adsm_cuda_queue_begin(struct adsm_cuda_queue *queue, bool timed, struct adsm_cuda_scope *scope);
/* In between: what it is, for messages. */
void adsm_cuda_queue_name(struct adsm_cuda_queue *queue, const char *kernel);
int adsm_cuda_queue_end(struct adsm_cuda_queue *queue, struct adsm_cuda_scope *scope, CUresult error, const char *what,
			uint64_t *ret_seq);
/* Wait for what @enqueue puts on the queue's stream, without numbering it; any thread, several at once. */
int adsm_cuda_queue_now(struct adsm_cuda_queue *queue, CUresult (*enqueue)(void *arg, CUstream stream), void *arg,
			const char *what);
int adsm_cuda_event_query(struct adsm_device *device, struct adsm_device_event event, int *ret_status);
int adsm_cuda_event_wait(struct adsm_device *device, struct adsm_device_event event, int *ret_status);
int adsm_cuda_event_elapsed(struct adsm_device *device, struct adsm_device_event event, uint64_t *ret_ns);
int adsm_cuda_queue_follow(struct adsm_device *device, void *stream);
int adsm_cuda_queue_join(struct adsm_device *device, void *const *streams, size_t n,
			 struct adsm_device_event *ret_event);

/* ---- cuda.c: devices */

struct adsm_cuda_pinner {		/* pin.c */
	struct adsm_lock lock;
	struct adsm_cuda_mem *first, *now;	/* to be pinned, the latest first; being pinned */
	_Atomic uint32_t work, done;	/* futexes: first, and now, have changed */
	_Atomic bool stop;
	bool has_thread;
	struct adsm_thread thread;
};

struct adsm_cuda_device {
	struct adsm_device base;
	CUdevice id;
	int index;			/* among the backend's */
	CUcontext context;
	bool retained;			/* the context is the device's primary one, and the library has a share in it */
	int capability;			/* 10 * major + minor */
	int max_threads, max_block[3], max_grid[3];
	const struct adsm_cuda_way *way;	/* where objects lie */
	struct adsm_cuda_queue queues[ADSM_N_QUEUES];
	char *alias_base;		/* the CPU's side of objects, for pinning */
	uintptr_t arena_base;
	size_t arena_size;
	_Atomic uint64_t memory_used;	/* by the library */
	_Atomic uint64_t pinned;	/* bytes of the CPU's side, those that are to be included */
	struct adsm_cuda_pinner pinner;

	_Atomic bool lost;		/* base.lost and lost_text are written before, under lost_lock */
	_Atomic uint32_t n_inside;	/* futex: threads between enter and leave */
	struct adsm_lock lost_lock;
	char lost_text[ADSM_CUDA_TEXT];
};

/* Block signals and make the device's context current, with calls that the program's captures do not mind; on failure
 * neither. Back: nothing after a failure. */
CUresult adsm_cuda_enter(struct adsm_cuda_device *device, struct adsm_cuda_scope *scope);
void adsm_cuda_leave(struct adsm_cuda_scope *scope);
/* An errno for a driver's error, with one sentence of @what failed; marks the device lost where it is (the errors that
 * stick to a context). 0 for 0. */
int adsm_cuda_error(struct adsm_cuda_device *device, CUresult error, const char *what);
/* The same without the sentence, which it logs: where none may be kept. */
int adsm_cuda_errno(struct adsm_cuda_device *device, CUresult error, const char *what);
int adsm_cuda_status(struct adsm_device *device);

/* ---- address.c: where objects lie */

struct adsm_cuda_mem {
	struct adsm_memory base;
	CUdeviceptr allocated;		/* what the driver gave; base.address is the first whole page in it */
	char *alias;			/* of the object on the CPU's side; NULL where it is not known */
	bool adopted;			/* the program's */
	_Atomic uint64_t moved;		/* bytes copied so far: what is used much gets pinned */
	_Atomic int pinned;		/* ADSM_CUDA_PIN_… */
	struct adsm_cuda_mem *next_to_pin;
};

/*
 *	arena		in a range that the driver reserved where the library's arena is: the same address
 *	view		where the driver allocated it, and the CPU's view over it: the same address
 *	separate	wherever the driver puts it: adsmSafe()
 */
struct adsm_cuda_way {
	const char *name;
	bool given_address, dictates_address;
	/* All with the device's context current. 0, 1 where the device cannot do it (and why), or an error with
	 * adsm_fail(). */
	int (*init)(struct adsm_cuda_device *device, const char **ret_reason);
	void (*end)(struct adsm_cuda_device *device);
	CUresult (*alloc)(struct adsm_cuda_device *device, struct adsm_cuda_mem *memory, uint64_t wanted);
	void (*free)(struct adsm_cuda_device *device, struct adsm_cuda_mem *memory);
};

/* Choose a way for ADSM_CUDA_MEMORY: device->way and what depends on it. */
int adsm_cuda_way_choose(struct adsm_cuda_device *device);

/* ---- pin.c */

/* Not so far; on the list, or somebody is at it; yes; it cannot be. */
enum { ADSM_CUDA_PIN_NOT, ADSM_CUDA_PIN_WANTED, ADSM_CUDA_PINNED, ADSM_CUDA_PIN_NEVER };

/* So many bytes of it have been copied. */
void adsm_cuda_moved(struct adsm_cuda_device *device, struct adsm_cuda_mem *memory, size_t size);
/* Nobody copies it any more. */
CUresult adsm_cuda_unpin(struct adsm_cuda_device *device, struct adsm_cuda_mem *memory);
void adsm_cuda_pinner_end(struct adsm_cuda_device *device);

/* ---- memory.c */

int adsm_cuda_alloc(struct adsm_device *device, size_t size, uint64_t wanted, struct adsm_memory **ret_memory);
int adsm_cuda_memory_adopt(struct adsm_device *device, uint64_t address, size_t size, uint64_t wanted,
			   struct adsm_memory **ret_memory);
void adsm_cuda_free(struct adsm_memory *memory);
uint64_t adsm_cuda_memory_free(struct adsm_device *device);
int adsm_cuda_to_device(struct adsm_memory *dst, size_t offset, const void *src, size_t size,
			struct adsm_device_event *ret_event);
int adsm_cuda_to_host(void *dst, struct adsm_memory *src, size_t offset, size_t size,
		      struct adsm_device_event *ret_event);
int adsm_cuda_copy(struct adsm_memory *dst, size_t dst_offset, struct adsm_memory *src, size_t src_offset, size_t size,
		   struct adsm_device_event *ret_event);
int adsm_cuda_fill(struct adsm_memory *dst, size_t offset, uint8_t value, size_t size,
		   struct adsm_device_event *ret_event);
int adsm_cuda_native_memory(struct adsm_memory *memory, void **ret_handle);

/* ---- module.c: images and kernels */

struct adsm_cuda_entry {
	struct adsm_entry base;
	struct adsm_cuda_entry *next;
	CUfunction function;		/* NULL: does nothing */
	bool dialect;			/* of adsmcc */
	int max_threads;		/* in a block */
};

struct adsm_cuda_code {
	struct adsm_code base;
	CUmodule module;		/* NULL: an adopted kernel, or one that does nothing */
	CUfunction adopted;
	bool dialect;
	struct adsm_mutex lock;		/* of entries */
	struct adsm_cuda_entry *entries;
	struct adsm_cuda_constants *constants;	/* of launches: launch.c; the compute queue's lock */
};

int adsm_cuda_module_load(struct adsm_device *device, const struct adsm_image *image, struct adsm_code **ret_code);
void adsm_cuda_module_unload(struct adsm_code *code);
int adsm_cuda_kernel_get(struct adsm_code *code, const char *name, struct adsm_entry **ret_entry);
int adsm_cuda_module_names(struct adsm_code *code, char **ret_names);
int adsm_cuda_kernel_params(struct adsm_entry *entry, struct adsm_param *ret_params, size_t max);
int adsm_cuda_kernel_adopt(struct adsm_device *device, void *kernel, struct adsm_code **ret_code);

/* ---- nvrtc.c: CUDA C to a device's code, by the toolkit's compiler where it is found (ADSM_CUDA_COMPILER) */

/* @capability: 10 * major + minor. -ENOEXEC with its log in adsm_fail(); -ENOTSUP where there is no compiler. The
 * caller frees *ret_image. */
int adsm_cuda_compile(const char *text, const char *options, int capability, char **ret_image, size_t *ret_size);

/* ---- launch.c */

/* Of a module that is unloaded: none of its launches is outstanding. */
void adsm_cuda_constants_destroy(struct adsm_cuda_code *code);
int adsm_cuda_launch(struct adsm_entry *entry, const struct adsm_launch *launch, struct adsm_device_event *ret_event);

#endif
