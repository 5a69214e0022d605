/* SPDX-License-Identifier: MIT */
/* process.h - a device that is a process of its own: that process, and the application's state of it. */
#pragma once

#include "backend.h"
#include "base/os.h"
#include "base/sha256.h"
#include "copy.h"
#include "live.h"
#include "shared.h"

struct adsm_process_device;

struct adsm_process_code {		/* a loaded module (module.c) */
	struct adsm_code base;
	uint32_t index;			/* in the device process, if info is NULL */
	const struct adsm_image *image;	/* the caller's; valid while the module is loaded */
	struct adsm_process_entry *entries;	/* protected by request_lock, and so are next and parts */
	struct adsm_process_code *next;	/* in the device's list, if info is NULL */
	/* A module of PTX without code. The device process gets a module for each kernel that is used. */
	struct adsm_module_info *info;
	struct adsm_process_part *parts;
	uint8_t hash[ADSM_SHA256_SIZE];	/* of its PTX */
	const char *ptx;		/* what the code was made of; NULL: it is in the image, if anywhere */
};

/* What is the same for all devices of a backend. */
struct adsm_process_kind {
	const char *program;		/* the program's file name */
	const char *folder;		/* the program's folder inside a build folder */
	const char *program_option, *memory_option;	/* options: another program; the size of memory */
	/*
	 * 0: the program is the device. Else the program is a keeper, which starts and ends the processes of the
	 * device. This is the time that the keeper may take to end after the device or the socket has ended. The keeper
	 * maps the shared memory, to report why the device ended.
	 */
	int keeper_ms;
	/* Called twice a second while the library waits for the answer to hello, then once with 0. NULL: the answer is
	 * quick. */
	void (*waiting)(struct adsm_process_device *device, unsigned ms);
	bool pointers;			/* launches list their pointer arguments */
	/*
	 * Returns what all processors of the device have in common (base/processor.h). NULL: the device does not run
	 * kernels in CUDA C.
	 */
	unsigned (*levels)(struct adsm_process_device *device);
	/*
	 * Called before a module is loaded: returns 0, or a negative errno with an error text. NULL: every module is
	 * accepted.
	 */
	int (*check)(struct adsm_process_device *device, const void *image, size_t size);
	/*
	 * Called under request_lock when a kernel was looked up. @atomics: may it do atomics on device memory?
	 * @services: may it call services? May be NULL.
	 */
	void (*found)(struct adsm_process_device *device, const char *kernel, bool atomics, bool services);
	/* Called when device memory is allocated, freed or written; @offset is from the arena's start. Each may be
	 * NULL. written() is called when the bytes are there and before the event completes; also in the fault
	 * handler. */
	void (*allocated)(struct adsm_process_device *device, size_t offset, size_t size);
	void (*freed)(struct adsm_process_device *device, size_t offset, size_t size);
	void (*written)(struct adsm_process_device *device, size_t offset, size_t size);
};

/* Embedded first in each backend's own structure. The backend sets the members before `copies` before it starts the
 * process: of base only backend, caps and name; of the others those that are not 0. */
struct adsm_process_device {
	struct adsm_device base;
	const struct adsm_process_kind *kind;
	char title[32];			/* for messages: "cpu device 0" */
	const char *program;		/* a file, or "": the one installed with the library */
	char *const *argv;		/* arguments of the program; NULL: only the program's name */
	int hello_ms;			/* the time limit for the answer to hello; 0: 60 s */
	size_t extra;			/* bytes of shared->extra for the backend; the bits of live.h follow */
	struct adsm_process_copy_queue copies[2];	/* for ADSM_QUEUE_TO_DEVICE and ADSM_QUEUE_TO_HOST */
	uint8_t *memory;		/* this process's mapping of the memory that the device has at arena_base */
	/* One byte for each piece of memory (memory.c): was it written since it was allocated? */
	uint8_t *warm;
	uintptr_t arena_base;
	size_t arena_size;
	struct adsm_process_shared *shared;
	struct adsm_live live;		/* which device memory is allocated */
	struct adsm_mutex live_lock;	/* held by a thread that frees */
	struct adsm_process_code *codes;	/* loaded modules; protected by request_lock */
	struct adsm_mutex request_lock;	/* held for one request and its reply */
	struct adsm_mutex launch_lock;	/* held by a thread that writes a slot */
	_Atomic uint64_t launched;	/* the number of the last launch */
	struct adsm_thread monitor;
	struct adsm_process_shadow *shadow;	/* serves commands of kernels; NULL: no module needs it */
	/* Commands it has served; reading it after the end of a launch makes the writes of services visible. */
	_Atomic uint32_t served;
	/* Of struct adsm_backend_config. */
	int (*serve)(const char *name, const void *in, size_t in_size, void *out, size_t out_size);
	int (*output)(const char *text, size_t size);
	int pid;
	struct adsm_fd *sock, *pidfd;	/* pidfd: NULL if the system has no pidfds */
	uint64_t oom_kills;		/* in this control group, when the process was started */
	_Atomic uint64_t logged[ADSM_PROCESS_SLOTS];	/* of each slot, the last launch whose failure was logged */
	_Atomic bool logged_open;	/* logged: the device does not check accesses any more (live.h) */
	_Atomic bool closing;
	void (*when_lost)(void);	/* called after the device was lost */
	_Atomic uint32_t lost;		/* futex; lost_text is written before it */
	char lost_text[ADSM_PROCESS_TEXT];
};

/* @chosen: a file, or "". The caller frees the path, which is too large for the small stacks that threads may have. */
int adsm_process_find_program(const struct adsm_process_kind *kind, const char *chosen, char **ret_path);
/* The same without the path. */
int adsm_process_check_program(const struct adsm_process_kind *kind, const char *chosen);
/* Start the process, and the thread that watches it. @memory_fd: the file of device memory. */
int adsm_process_start(struct adsm_process_device *device, int memory_fd);
/* End both. Returns false if the process cannot be ended before this one; the thread then still uses the device. */
bool adsm_process_stop(struct adsm_process_device *device);
/* After adsm_process_stop(): no thread uses the shared memory any more. */
void adsm_process_unmap(struct adsm_process_device *device);
/* Send one request and receive its reply. Returns 0, the error of the device, or -ENODEV if the process has ended. */
int adsm_process_ask(struct adsm_process_device *device, struct adsm_process_request *request, const int *fds,
		     int n_fds, struct adsm_process_reply *ret_reply);
int adsm_process_status(struct adsm_device *device);
