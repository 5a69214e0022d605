/* SPDX-License-Identifier: MIT */
/* process.h - a cpu device as the application has it, and the process that it is. */
#ifndef ADSM_CPU_PROCESS_H
#define ADSM_CPU_PROCESS_H

#include "backend.h"
#include "base/os.h"
#include "copy.h"
#include "shared.h"

struct adsm_cpu_device {
	struct adsm_device base;
	struct adsm_cpu_copy_queue copies[2];	/* by queue, from ADSM_QUEUE_TO_DEVICE */
	uint8_t *memory;		/* where this process maps the memory that the device has at arena_base */
	uint8_t *warm;			/* for each piece of memory (memory.c): written since it was allocated */
	uintptr_t arena_base;
	size_t arena_size;
	_Atomic uint64_t memory_used;
	struct adsm_cpu_shared *shared;
	struct adsm_mutex request_lock;	/* one request and its reply */
	struct adsm_mutex launch_lock;	/* writers of slots */
	struct adsm_thread monitor;
	int index;
	int pid;
	struct adsm_fd *sock, *pidfd;	/* pidfd: NULL where the system has none */
	uint64_t oom_kills;		/* of this control group, when the process was started */
	_Atomic bool closing;
	_Atomic uint32_t lost;		/* futex; lost_text is written before */
	char lost_text[ADSM_CPU_TEXT];
};

/* The caller frees the path: it is too large for the stacks that threads may have. */
int adsm_cpu_find_program(char **ret_path);
/* Start the process and the thread that watches it; @memory_fd: the file that is the device's memory. */
int adsm_cpu_process_start(struct adsm_cpu_device *device, int memory_fd);
/* End both. False: the process cannot be ended before this one is, and the thread needs the device. */
bool adsm_cpu_process_stop(struct adsm_cpu_device *device);
/* One request and its reply: 0, the device's error, or -ENODEV when the process ended. */
int adsm_cpu_ask(struct adsm_cpu_device *device, struct adsm_cpu_request *request, const int *fds, int n_fds,
		 struct adsm_cpu_reply *ret_reply);
int adsm_cpu_status(struct adsm_device *device);

#endif
