/* SPDX-License-Identifier: MIT */
/* memory_kinds.h - how objects are stored on a device. */
#pragma once

#include "device.h"

struct adsm_cl_memory {
	struct adsm_memory base;
	struct adsm_cl_memory *next, **at;	/* in the device's list */
	cl_mem buffer;			/* NULL if memory is a pointer */
	void *pointer;			/* the driver's pointer; with unified memory the alias */
	bool mapped;			/* unified memory: for the CPU (launch.c) */
	_Atomic bool used;		/* a write has ended: the driver has found memory for it */
	_Atomic bool given;		/* the program has got it: not to be reused */
};

struct adsm_cl_memory_kind {
	const char *name;
	/* Returns 0; 1 if the device cannot do it; or a negative errno with adsm_fail(). init() may be NULL. */
	int (*init)(struct adsm_cl_device *device);
	int (*alloc)(struct adsm_cl_device *device, struct adsm_cl_memory *memory);
	void (*free)(struct adsm_cl_device *device, struct adsm_cl_memory *memory);
	cl_int (*write)(struct adsm_cl_queue *queue, struct adsm_cl_memory *dst, size_t offset, const void *src,
			size_t size, bool wait, cl_event *ret_event);
	cl_int (*read)(struct adsm_cl_queue *queue, void *dst, struct adsm_cl_memory *src, size_t offset, size_t size,
		       bool wait, cl_event *ret_event);
	/* The ranges must not overlap. */
	cl_int (*copy)(struct adsm_cl_queue *queue, struct adsm_cl_memory *dst, size_t dst_offset,
		       struct adsm_cl_memory *src, size_t src_offset, size_t size, cl_event *ret_event);
	cl_int (*fill)(struct adsm_cl_queue *queue, struct adsm_cl_memory *dst, size_t offset, uint8_t value,
		       size_t size, cl_event *ret_event);
	/* Set an argument to the start of memory; or to a place in it. set_place is NULL if the kind does not support
	 * it. */
	cl_int (*set_arg)(struct adsm_cl_device *device, cl_kernel kernel, cl_uint index,
			  struct adsm_cl_memory *memory);
	cl_int (*set_place)(struct adsm_cl_device *device, cl_kernel kernel, cl_uint index,
			    struct adsm_cl_memory *memory, size_t offset);
	/* Tell a kernel all memory that it may reach by pointers in data, after that has changed. NULL: it can reach
	 * none. */
	cl_int (*set_reachable)(struct adsm_cl_device *device, cl_kernel kernel);
};

/* Choose the kind according to ADSM_OPENCL_MEMORY. Sets device->memory_kind and what depends on it. @wants_buffers:
 * "auto" chooses cl_mem. */
int adsm_cl_memory_choose(struct adsm_cl_device *device, bool wants_buffers);
/* From now on "auto" chooses cl_mem, if no memory was allocated yet. Signals are blocked. */
void adsm_cl_memory_with_buffers(struct adsm_cl_device *device);
/* Measure which kind of copies is faster. */
void adsm_cl_measure_copies(struct adsm_cl_device *device);
