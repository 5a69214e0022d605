/* SPDX-License-Identifier: MIT */
/* device/once.h - write-once objects in a device process: mapped where the application requests, and passed to kernels,
 * whose threads wait for units like threads of the application. */
#pragma once

#include "base/once.h"
#include "process/device/pool.h"

/* A process of a device that consists of several processes. */
struct adsm_device_once_node {
	int number;			/* the number in struct adsm_once_note */
	const char *place;		/* for messages: " on node 2 (host)" */
	/* Map the device's own memory there again. Until adsm_device_once_settle() objects are not yet mapped for
	 * kernels. */
	int (*restore)(uint64_t address, size_t size);
	/* If table and flags are this process's own, which the application does not see: called by threads that run
	 * kernels, to report to other processes. NULL: the application sees table and flags. */
	const struct adsm_device_once_hooks {
		void (*set)(const struct adsm_kernel_once *once, uint64_t unit);
		void (*waits)(void);		/* a thread waits: its note is in the table */
		/* Units that are not set yet will not be set. */
		void (*failed)(const struct adsm_kernel_once *once, int error);
		void (*refused)(const char *text) __attribute__((noreturn));
	} *hooks;
};

/*
 * @memory_fd: the file of device memory, which the callee owns from now on; it is mapped again when an object is
 * removed.
 */
void adsm_device_once_start(int memory_fd, uint64_t base, struct adsm_process_shared *shared);
/* The same for a process of a device with several. @shared: NULL if ->hooks is set. */
void adsm_device_once_join(const struct adsm_device_once_node *node, struct adsm_process_shared *shared);
/* Serve one of the ADSM_PROCESS_ONCE_… requests; the callee closes @fd. */
int adsm_device_once_answer(const struct adsm_process_request *request, int fd);
/* The argument that a kernel gets for an address: the object; for an unknown address, an object without units. */
const struct adsm_kernel_once *adsm_device_once_find(uint64_t address);
/* The flags of an object that has units; the table, NULL before it exists, and the number of this device in it. */
struct adsm_once_shared *adsm_device_once_shared(const struct adsm_kernel_once *once);
struct adsm_once_table *adsm_device_once_table(void);
int adsm_device_once_number(void);
/* For a device with several processes: a launch begins, and no other one runs. Maps the objects that were requested,
 * and clears the errors of earlier calls. */
int adsm_device_once_settle(void);
/* A launch has failed: wake the threads that wait for units that it was to set, which get the error, and its own. */
void adsm_device_once_failed(const struct adsm_pool_launch *launch, int error);
