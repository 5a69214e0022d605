/* SPDX-License-Identifier: MIT */
/*
 * device.h - a CUDA device with its queues, entering and leaving its context, and what the driver's errors mean for it.
 *
 * No driver is called with asynchronous signals open, nor in the fault handler: a handler of the application that
 * interrupted one would wait for a driver's lock of its own thread. Every use of the driver is between
 * adsm_cuda_enter() and adsm_cuda_leave(), which leave the thread's own current context alone.
 */
#ifndef ADSM_CUDA_DEVICE_H
#define ADSM_CUDA_DEVICE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "backend.h"
#include "cu.h"
#include "base/log.h"
#include "base/os.h"

#define ADSM_CUDA_PENDING 256		/* operations on a queue that may be outstanding */
#define ADSM_CUDA_TEXT 256		/* a device's own sentence */
#define ADSM_CUDA_NOW 32		/* events kept for operations that are waited for at once */

struct adsm_cuda_device;
struct adsm_cuda_mem;

/* A thread for each queue waits in the driver; everybody else waits for the thread. */
struct adsm_cuda_slot {
	CUevent begin, timed_end;	/* of launches of the library's own; these and the next are made once */
	CUevent end;			/* of other operations, whose time nobody asks for */
	CUevent joined;			/* recorded on streams of the program's */
	bool timed;
	bool recorded;			/* the end; else the operation was waited for */
	char name[48];			/* of the kernel; "" where there is none */
	_Atomic int status;		/* how the operation ended */
	_Atomic uint64_t elapsed_ns;
};

struct adsm_cuda_queue {
	struct adsm_cuda_device *device;
	CUstream stream;
	struct adsm_lock lock;		/* of submitting */
	struct adsm_lock end_lock;	/* of telling that operations are done */
	_Atomic uint64_t submitted, done;	/* operations; done: all up to this one */
	_Atomic uint32_t tick, n_waiting;	/* futex: done has grown; threads asleep on it */
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
	void (*leave_arena)(void);
	_Atomic uint64_t memory_used;	/* by the library */
	_Atomic uint64_t pinned;	/* bytes of the CPU's side that are, or are to be */
	struct adsm_cuda_pinner pinner;

	_Atomic bool lost;		/* base.lost and lost_text are written before, under lost_lock */
	_Atomic uint32_t n_inside;	/* futex: threads between enter and leave */
	struct adsm_lock lost_lock;
	char lost_text[ADSM_CUDA_TEXT];
};

/* What adsm_cuda_leave() undoes. */
struct adsm_cuda_scope { struct adsm_sigset old; int capture; struct adsm_cuda_device *device; };

/* Block signals and make the device's context current, with calls that the program's captures do not mind; on failure
 * neither. Leaving does nothing after a failure. */
CUresult adsm_cuda_enter(struct adsm_cuda_device *device, struct adsm_cuda_scope *scope);
void adsm_cuda_leave(struct adsm_cuda_scope *scope);
/* An errno for a driver's error, with one sentence of @what failed; marks the device lost where it is (the errors that
 * stick to a context). 0 for 0. */
int adsm_cuda_error(struct adsm_cuda_device *device, CUresult error, const char *what);
/* The same for threads that may keep no sentence: it is logged. */
int adsm_cuda_errno(struct adsm_cuda_device *device, CUresult error, const char *what);
int adsm_cuda_status(struct adsm_device *device);
/* The device is lost from now on, for the reason @text; the first one counts. Signals blocked. */
void adsm_cuda_lose(struct adsm_cuda_device *device, enum adsm_log_level level, const char *text);
/* What is to be said of an error that a context answers every call with from then on; NULL for others. */
const char *adsm_cuda_loss(CUresult error);
/* Operations of the queue have ended, or its device was lost: threads that sleep look again. */
void adsm_cuda_queue_wake(struct adsm_cuda_queue *queue);

#endif
