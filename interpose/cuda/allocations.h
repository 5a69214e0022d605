/* SPDX-License-Identifier: MIT */
/* allocations.h - the table of the program's device memory that the library has made objects of. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "cuda/cu.h"

struct adsm_cuda_allocation {
	CUdeviceptr given, driver;	/* the program's address; the driver's address */
	size_t size;			/* in bytes, as the program asked for */
	CUcontext context;
	CUdevice device;
	bool ordered;			/* allocated from a pool, in the order of a stream. Such memory is not kept */
	CUmemoryPool pool;		/* NULL: the device's current pool at that time */
	bool freed;			/* the program has freed it, and the library keeps it (core/kept.h) */
};

/* Is the table empty? This avoids the lock in programs that have no memory in the table. */
bool adsm_cuda_allocation_none(void);
int adsm_cuda_allocation_put(const struct adsm_cuda_allocation *allocation);
/* Remove the allocation that begins at @p. */
bool adsm_cuda_allocation_take(CUdeviceptr p, struct adsm_cuda_allocation *ret_allocation);
/* Remove any allocation of a context. */
bool adsm_cuda_allocation_take_of(CUcontext context, struct adsm_cuda_allocation *ret_allocation);
/* Mark the allocation that begins at @p as freed. *ret_allocation is its state before. So if several threads free the
 * same address, only one of them finds freed == false. */
bool adsm_cuda_allocation_free(CUdeviceptr p, struct adsm_cuda_allocation *ret_allocation);
/* The library has given kept memory to the program again. */
void adsm_cuda_allocation_hand_out(CUdeviceptr p, size_t size);
/* The allocation that contains @p, unless it is freed. */
bool adsm_cuda_allocation_find(CUdeviceptr p, struct adsm_cuda_allocation *ret_allocation);
/* The next allocation that begins above @p, freed or not. */
bool adsm_cuda_allocation_next(CUdeviceptr p, struct adsm_cuda_allocation *ret_allocation);
