/* SPDX-License-Identifier: MIT */
/*
 * device/once.h - write-once objects in a device process: mapped where the application says, and given to kernels,
 * whose threads wait for units as the application's do.
 */
#ifndef ADSM_PROCESS_DEVICE_ONCE_H
#define ADSM_PROCESS_DEVICE_ONCE_H

#include "base/once.h"
#include "process/device/pool.h"

/* A process of a device that is several. */
struct adsm_device_once_node {
	int number;			/* as adsm_once_note has it */
	const char *place;		/* for messages: " on node 2 (host)" */
	/* What was mapped over this memory of the device's ends. Nothing is, before adsm_device_once_settle(). */
	int (*restore)(uint64_t address, size_t size);
	/*
	 * Where table and flags are this process's own, as the application does not see it: what others have to be
	 * told. Threads that run kernels call these. NULL: the application sees all.
	 */
	const struct adsm_device_once_told {
		void (*set)(const struct adsm_kernel_once *once, uint64_t unit);
		void (*waits)(void);		/* somebody does: it is in the table */
		/* What is not set of it will not be. */
		void (*failed)(const struct adsm_kernel_once *once, int error);
		void (*refused)(const char *text) __attribute__((noreturn));
	} *told;
};

/* Device memory, whose file is the callee's from here on: what was mapped over it comes back. */
void adsm_device_once_start(int memory_fd, uint64_t base, struct adsm_process_shared *shared);
/* The same of a process of several. @shared: NULL with ->told. */
void adsm_device_once_join(const struct adsm_device_once_node *node, struct adsm_process_shared *shared);
/* One of the ADSM_PROCESS_ONCE_… requests; takes the descriptor. */
int adsm_device_once_answer(const struct adsm_process_request *request, int fd);
/* What a kernel is given for an address: the object; or, for any other, one that has no units. */
const struct adsm_kernel_once *adsm_device_once_find(uint64_t address);
/* Flags of an object that has units; the table, NULL before there is one; the number of the device in it. */
struct adsm_once_shared *adsm_device_once_shared(const struct adsm_kernel_once *once);
struct adsm_once_table *adsm_device_once_table(int *ret_device);
/* Of several: a launch begins, and none runs. What is to be mapped is from here on; errors of others are forgotten. */
int adsm_device_once_settle(void);
/* A launch has ended with an error: who waits for units that it was to set is told that. */
void adsm_device_once_failed(const struct adsm_pool_launch *launch, int error);

#endif
