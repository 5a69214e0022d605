/* SPDX-License-Identifier: MIT */
/* allocations.h - the table of the program's device memory that became objects. */
#ifndef ADSM_CUDA_ALLOCATIONS_H
#define ADSM_CUDA_ALLOCATIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "cuda/cu.h"

struct adsm_cuda_allocation {
	CUdeviceptr given, driver;	/* to the program; by the driver */
	size_t size;			/* as the program asked for it */
	CUcontext context;
	CUdevice device;
	bool ordered;			/* in a stream's order, from a pool: such memory is not kept */
	CUmemoryPool pool;		/* NULL: that which the device had then */
	bool freed;			/* by the program, and kept: kept.h */
};

/* Is the table empty? Most programs ask about memory that is not here: they do not take the lock. */
bool adsm_cuda_allocation_none(void);
int adsm_cuda_allocation_put(const struct adsm_cuda_allocation *allocation);
/* Take out the allocation that begins at @p. */
bool adsm_cuda_allocation_take(CUdeviceptr p, struct adsm_cuda_allocation *ret_allocation);
/* Take out any allocation of a context. */
bool adsm_cuda_allocation_take_of(CUcontext context, struct adsm_cuda_allocation *ret_allocation);
/* The program frees the allocation that begins at @p. Told is how it was before: one thread only finds it not freed. */
bool adsm_cuda_allocation_free(CUdeviceptr p, struct adsm_cuda_allocation *ret_allocation);
/* Memory that was kept is the program's again. */
void adsm_cuda_allocation_hand_out(CUdeviceptr p, size_t size);
/* The program's allocation that @p is in. */
bool adsm_cuda_allocation_find(CUdeviceptr p, struct adsm_cuda_allocation *ret_allocation);
/* The next allocation that begins above @p, freed or not. */
bool adsm_cuda_allocation_next(CUdeviceptr p, struct adsm_cuda_allocation *ret_allocation);

#endif
