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

#include "cu.h"
#include "driven.h"

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
};

struct adsm_cuda_queue {
	struct adsm_driven_queue base;
	struct adsm_cuda_device *device;
	CUstream stream;
	struct adsm_lock end_lock;	/* of telling that operations are done */
	_Atomic uint32_t work;		/* futex: submitted has grown; the queue's thread sleeps on it */
	_Atomic bool stop;
	bool has_thread;
	struct adsm_thread thread;
	_Atomic uint64_t last_launch;	/* the last operation that was the library's own launch */
	struct adsm_cuda_slot slots[ADSM_DRIVEN_PENDING];
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
	struct adsm_driven base;
	CUdevice id;
	int index;			/* among the backend's */
	CUcontext context;
	bool retained;			/* the context is the device's primary one, and the library has a share in it */
	int capability;			/* 10 * major + minor */
	const struct adsm_cuda_way *way;	/* where objects lie */
	struct adsm_cuda_queue queues[ADSM_N_QUEUES];
	char *alias_base;		/* the CPU's side of objects, for pinning */
	uintptr_t arena_base;
	size_t arena_size;
	void (*leave_arena)(void);
	_Atomic uint64_t memory_used;	/* by the library */
	_Atomic uint64_t pinned;	/* bytes of the CPU's side that are, or are to be */
	struct adsm_cuda_pinner pinner;
	_Atomic uint32_t n_inside;	/* futex: threads between enter and leave */
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
/* What is to be said of an error that a context answers every call with from then on; NULL for others. */
const char *adsm_cuda_loss(CUresult error);

#endif
