/* SPDX-License-Identifier: MIT */
/* address.h - where objects are. */
#pragma once

#include "device.h"

struct adsm_cuda_mem {
	struct adsm_memory base;
	CUdeviceptr allocated;		/* the driver's address; base.address is the first whole page in it */
	char *alias;			/* the object's address in the alias; NULL: unknown */
	bool adopted;			/* the program allocated it */
	_Atomic uint64_t moved;		/* bytes copied so far: memory that is copied often gets pinned */
	_Atomic int pinned;		/* ADSM_CUDA_PIN_… */
	struct adsm_cuda_mem *next_to_pin;
};

/*
 * The kinds of memory of objects:
 *
 *	arena		in a range that the driver reserved at the arena's addresses: one address
 *	view		where the driver allocates it, with the CPU's view there: one address
 *	separate	where the driver allocates it: adsmSafe() converts addresses
 */
struct adsm_cuda_memory_kind {
	const char *name;
	bool given_address, dictates_address;
	/* All functions are called with the device's context current. Returns 0; 1 if the device cannot do it, with a
	 * reason; or a negative errno with adsm_fail(). init() and end() may be NULL. */
	int (*init)(struct adsm_cuda_device *device, const char **ret_reason);
	void (*end)(struct adsm_cuda_device *device);
	CUresult (*alloc)(struct adsm_cuda_device *device, struct adsm_cuda_mem *memory, uint64_t wanted);
	void (*free)(struct adsm_cuda_device *device, struct adsm_cuda_mem *memory);
};

/* Choose the kind according to ADSM_CUDA_MEMORY. Sets device->memory_kind and what depends on it. */
int adsm_cuda_memory_choose(struct adsm_cuda_device *device);
