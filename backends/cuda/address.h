/* SPDX-License-Identifier: MIT */
/* address.h - where objects lie. */
#ifndef ADSM_CUDA_ADDRESS_H
#define ADSM_CUDA_ADDRESS_H

#include "device.h"

struct adsm_cuda_mem {
	struct adsm_memory base;
	CUdeviceptr allocated;		/* what the driver gave; base.address is the first whole page in it */
	char *alias;			/* of the object on the CPU's side; NULL where it is not known */
	bool adopted;			/* the program's */
	_Atomic uint64_t moved;		/* bytes copied so far: what is used much gets pinned */
	_Atomic int pinned;		/* ADSM_CUDA_PIN_… */
	struct adsm_cuda_mem *next_to_pin;
};

/*
 *	arena		in a range that the driver reserved where the library's arena is: the same address
 *	view		where the driver allocated it, and the CPU's view over it: the same address
 *	separate	wherever the driver puts it: adsmSafe()
 */
struct adsm_cuda_way {
	const char *name;
	bool given_address, dictates_address;
	/* All with the device's context current. 0, 1 where the device cannot do it (and why), or an error with
	 * adsm_fail(). */
	int (*init)(struct adsm_cuda_device *device, const char **ret_reason);
	void (*end)(struct adsm_cuda_device *device);
	CUresult (*alloc)(struct adsm_cuda_device *device, struct adsm_cuda_mem *memory, uint64_t wanted);
	void (*free)(struct adsm_cuda_device *device, struct adsm_cuda_mem *memory);
};

/* Choose a way for ADSM_CUDA_MEMORY: device->way and what depends on it. */
int adsm_cuda_way_choose(struct adsm_cuda_device *device);

#endif
