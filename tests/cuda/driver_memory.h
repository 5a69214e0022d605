/* SPDX-License-Identifier: MIT */
/* driver_memory.h - how much address space the driver double's device has. */
#ifndef TEST_CUDA_DRIVER_MEMORY_H
#define TEST_CUDA_DRIVER_MEMORY_H

#define MEMORY_FILE ((size_t)32 << 30)	/* sparse; the device has plan.memory of it at once */
#define POOL_SIZE ((size_t)32 << 30)	/* of cuMemAlloc's addresses */
#define ASYNC_POOL_SIZE ((size_t)8 << 30)
#define VMM_POOL_SIZE ((size_t)8 << 30)	/* of reservations too small for a mapping of their own */
#define VMM_OWN ((size_t)64 << 30)	/* from there on hints are honoured */
#define OWN_MAPPING ((size_t)32 << 20)	/* allocations from there on have one */

#endif
