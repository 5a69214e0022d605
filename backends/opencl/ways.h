/* SPDX-License-Identifier: MIT */
/* ways.h - how objects are kept. */
#ifndef ADSM_OPENCL_WAYS_H
#define ADSM_OPENCL_WAYS_H

#include "device.h"

struct adsm_cl_memory {
	struct adsm_memory base;
	struct adsm_cl_memory *next, **at;	/* of the device's list */
	cl_mem buffer;			/* NULL where memory is a pointer */
	void *pointer;			/* of the driver's; unified: the alias */
	_Atomic bool used;		/* a write has arrived: the driver has found room for it */
	_Atomic bool given;		/* to the program: not to be used again */
};

struct adsm_cl_way {
	const char *name;
	/* 0, 1 where the device cannot do it, or an error with adsm_fail(). */
	int (*init)(struct adsm_cl_device *device);
	int (*alloc)(struct adsm_cl_device *device, struct adsm_cl_memory *memory);
	void (*free)(struct adsm_cl_device *device, struct adsm_cl_memory *memory);
	cl_int (*write)(struct adsm_cl_queue *queue, struct adsm_cl_memory *dst, size_t offset, const void *src,
			size_t size, bool wait, cl_event *ret_event);
	cl_int (*read)(struct adsm_cl_queue *queue, void *dst, struct adsm_cl_memory *src, size_t offset, size_t size,
		       bool wait, cl_event *ret_event);
	/* Ranges that do not overlap. */
	cl_int (*copy)(struct adsm_cl_queue *queue, struct adsm_cl_memory *dst, size_t dst_offset,
		       struct adsm_cl_memory *src, size_t src_offset, size_t size, cl_event *ret_event);
	cl_int (*fill)(struct adsm_cl_queue *queue, struct adsm_cl_memory *dst, size_t offset, uint8_t value,
		       size_t size, cl_event *ret_event);
	/* Set an argument to the start of memory; and, where ways can, to a place in it (else NULL). */
	cl_int (*set_arg)(struct adsm_cl_device *device, cl_kernel kernel, cl_uint index,
			  struct adsm_cl_memory *memory);
	cl_int (*set_place)(struct adsm_cl_device *device, cl_kernel kernel, cl_uint index,
			    struct adsm_cl_memory *memory, size_t offset);
	/* Tell a kernel of all memory it may reach through pointers in data, when that has changed. NULL: it can
	 * reach none. */
	cl_int (*set_reachable)(struct adsm_cl_device *device, cl_kernel kernel);
};

/* Choose a way for ADSM_OPENCL_MEMORY: device->way and what depends on it. @wants_buffers: "auto" takes cl_mem. */
int adsm_cl_way_choose(struct adsm_cl_device *device, bool wants_buffers);
/* "auto" takes cl_mem from now on, if memory has not been asked for yet. Signals blocked. */
void adsm_cl_way_with_buffers(struct adsm_cl_device *device);
/* Find out how copies are faster. */
void adsm_cl_measure_copies(struct adsm_cl_device *device);

#endif
