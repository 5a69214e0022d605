/* SPDX-License-Identifier: MIT */
/* process.h - a device that is a process of its own, as the application has it, and that process. */
#ifndef ADSM_PROCESS_PROCESS_H
#define ADSM_PROCESS_PROCESS_H

#include "backend.h"
#include "base/os.h"
#include "copy.h"
#include "live.h"
#include "shared.h"

struct adsm_process_device;

struct adsm_process_code {		/* a module that is loaded (module.c) */
	struct adsm_code base;
	uint32_t index;
	const struct adsm_image *image;	/* the caller's, as long as it is loaded */
	struct adsm_process_entry *entries;	/* under request_lock, as is the next one */
	struct adsm_process_code *next;
};

/* What the devices of a backend have in common. */
struct adsm_process_kind {
	const char *program;		/* its file's name */
	const char *folder;		/* where that is in a build folder */
	const char *program_option, *memory_option;	/* that name another program, and say how much memory */
	/*
	 * 0: the program is the device. Else it is a keeper, which starts and ends what the device is: so long may it
	 * take to end when that, or the socket, has. It has the shared memory, to say why.
	 */
	int keeper_ms;
	/* Called while its answer to hello is waited for, twice a second, and at the end with 0. NULL: it is quick. */
	void (*waiting)(struct adsm_process_device *device, unsigned ms);
	bool pointers;			/* launches tell of them */
	/* Before a module is loaded: 0, or a negative errno with a sentence. NULL: any will do. */
	int (*check)(struct adsm_process_device *device, const void *image, size_t size);
	/* A kernel is known, and may do atomics on device memory, or not. Under request_lock. NULL: not of interest. */
	void (*found)(struct adsm_process_device *device, const char *kernel, bool atomics);
	/* What becomes of device memory, @offset from the arena's start; NULL: not of interest. written(): the bytes
	 * are there, the event is not yet complete; in the fault handler, too. */
	void (*allocated)(struct adsm_process_device *device, size_t offset, size_t size);
	void (*freed)(struct adsm_process_device *device, size_t offset, size_t size);
	void (*written)(struct adsm_process_device *device, size_t offset, size_t size);
};

/*
 * Embedded first in each backend's own. Up to the copies all is set before the start: of base backend, caps and name;
 * of the rest what is not to be 0.
 */
struct adsm_process_device {
	struct adsm_device base;
	const struct adsm_process_kind *kind;
	char title[32];			/* for messages: "cpu device 0" */
	const char *program;		/* a file, or "": the one installed with the library */
	char *const *argv;		/* NULL: only the program's name */
	int hello_ms;			/* until it has to have answered; 0: 60 s */
	size_t extra;			/* bytes of shared->extra, without what live.h has behind them */
	struct adsm_process_copy_queue copies[2];	/* by queue, from ADSM_QUEUE_TO_DEVICE */
	uint8_t *memory;		/* where this process maps the memory that the device has at arena_base */
	uint8_t *warm;			/* for each piece of memory (memory.c): written since it was allocated */
	uintptr_t arena_base;
	size_t arena_size;
	struct adsm_process_shared *shared;
	struct adsm_live live;		/* which of the memory is somebody's */
	struct adsm_mutex live_lock;	/* who frees */
	struct adsm_process_code *codes;	/* modules that are loaded; under request_lock */
	struct adsm_mutex request_lock;	/* one request and its reply */
	struct adsm_mutex launch_lock;	/* writers of slots */
	struct adsm_thread monitor;
	struct adsm_process_shadow *shadow;	/* serves commands of kernels; NULL: no module has any */
	_Atomic uint32_t served;	/* by it: what a function wrote is there for who sees the launch's end */
	int (*serve)(const char *name, const void *in, size_t in_size, void *out, size_t out_size);
	int pid;
	struct adsm_fd *sock, *pidfd;	/* pidfd: NULL where the system has none */
	uint64_t oom_kills;		/* of this control group, when the process was started */
	_Atomic uint64_t told;		/* the last launch whose failure has been told */
	_Atomic bool closing;
	void (*when_lost)(void);	/* called when the device has been lost */
	_Atomic uint32_t lost;		/* futex; lost_text is written before */
	char lost_text[ADSM_PROCESS_TEXT];
};

/* @chosen: a file, or "". The caller frees the path: it is too large for the stacks that threads may have. */
int adsm_process_find_program(const struct adsm_process_kind *kind, const char *chosen, char **ret_path);
/* Start the process and the thread that watches it; @memory_fd: the file that is the device's memory. */
int adsm_process_start(struct adsm_process_device *device, int memory_fd);
/* End both. False: the process cannot be ended before this one is, and the thread needs the device. */
bool adsm_process_stop(struct adsm_process_device *device);
/* Behind that: nobody uses the shared memory any more. */
void adsm_process_unmap(struct adsm_process_device *device);
/* One request and its reply: 0, the device's error, or -ENODEV when the process ended. */
int adsm_process_ask(struct adsm_process_device *device, struct adsm_process_request *request, const int *fds,
		     int n_fds, struct adsm_process_reply *ret_reply);
int adsm_process_status(struct adsm_device *device);

#endif
