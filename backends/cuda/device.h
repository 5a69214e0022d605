/* SPDX-License-Identifier: MIT */
/*
 * device.h - a CUDA device with its queues, functions that enter and leave its context, and the conversion of errors.
 *
 * The library calls the driver only with asynchronous signals blocked, and never in the fault handler. Otherwise a
 * signal handler of the application that interrupts the driver could wait for a lock that its own thread holds. Each
 * use of the driver is between adsm_cuda_enter() and adsm_cuda_leave(), which keep the thread's own current context.
 */
#pragma once

#include "cu.h"
#include "driven.h"

#define ADSM_CUDA_NOW 32		/* events that are kept for operations with an immediate wait */

struct adsm_cuda_device;
struct adsm_cuda_mem;

/* Each queue has a thread that waits in the driver. All other threads wait for this thread. */
struct adsm_cuda_slot {
	CUevent begin, timed_end;	/* of the library's own launches; each event is created once */
	CUevent end;			/* of other operations, whose time is not measured */
	CUevent joined;			/* recorded on streams of the program */
	bool timed;
	bool recorded;			/* the end was recorded; otherwise the library waited for the operation */
	char name[48];			/* of the kernel; "": the operation is no launch */
};

struct adsm_cuda_queue {
	struct adsm_driven_queue base;
	struct adsm_cuda_device *device;
	CUstream stream;
	uint64_t timed_end_ns;		/* the end of the last launch with times; with the device's end_lock */
	_Atomic uint32_t work;		/* futex: submitted has grown; the queue's thread sleeps on it */
	_Atomic bool stop;
	bool has_thread;
	struct adsm_thread thread;
	_Atomic uint64_t last_launch;	/* the last operation that was the library's own launch */
	struct adsm_cuda_slot slots[ADSM_DRIVEN_PENDING];
	CUevent now[ADSM_CUDA_NOW];	/* created at their first use */
	_Atomic uint32_t now_used;	/* a bit for each */
};

/* The last launch with times, in any lane, and its end. queue NULL: there was none. */
struct adsm_cuda_clock {
	struct adsm_cuda_queue *queue;
	uint64_t seq, end_ns;
};

struct adsm_cuda_pinner {		/* pin.c */
	struct adsm_lock lock;
	struct adsm_cuda_mem *first, *now;	/* memory to pin, the latest first; memory that is being pinned */
	_Atomic uint32_t work, done;	/* futexes: first has changed; now has changed */
	_Atomic bool stop;
	bool has_thread;
	struct adsm_thread thread;
};

struct adsm_cuda_device {
	struct adsm_driven base;
	CUdevice id;
	int index;			/* among the backend's */
	CUcontext context;
	bool retained;			/* the context is the device's primary one, and the library has retained it */
	int capability;			/* 10 * major + minor */
	const struct adsm_cuda_memory_kind *memory_kind;	/* where objects are */
	struct adsm_cuda_queue queues[ADSM_DRIVEN_QUEUES];
	struct adsm_lock constants_lock;	/* for the memory of constants, which all lanes use (launch.c) */
	struct adsm_lock end_lock;	/* held while operations are marked as done */
	struct adsm_cuda_clock clock;	/* with end_lock */
	char *alias_base;		/* the CPU's side of objects, for pinning */
	uintptr_t arena_base;
	size_t arena_size;
	void (*leave_arena)(void);
	_Atomic uint64_t memory_used;	/* by the library */
	_Atomic uint64_t pinned;	/* bytes of the CPU's side that are pinned, or will be */
	struct adsm_cuda_pinner pinner;
	_Atomic uint32_t n_inside;	/* futex: threads between enter and leave */
};

/* What adsm_cuda_leave() undoes. */
struct adsm_cuda_scope { struct adsm_sigset old; int capture; struct adsm_cuda_device *device; };

/* Block signals, make the device's context current, and set a capture mode in which captures of the program allow all
 * calls. After a failure nothing is changed, and adsm_cuda_leave() does nothing. */
CUresult adsm_cuda_enter(struct adsm_cuda_device *device, struct adsm_cuda_scope *scope);
void adsm_cuda_leave(struct adsm_cuda_scope *scope);
/* Convert a driver's error to an errno, and store a sentence that @what failed. After an error that makes the context
 * unusable, the device is marked as lost. Returns 0 for 0. */
int adsm_cuda_error(struct adsm_cuda_device *device, CUresult error, const char *what);
/* The same for threads that cannot store a sentence: it is logged. */
int adsm_cuda_errno(struct adsm_cuda_device *device, CUresult error, const char *what);
/* A description of an error after which each call with the context fails; NULL for other errors. */
const char *adsm_cuda_loss(CUresult error);
