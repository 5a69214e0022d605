/* SPDX-License-Identifier: MIT */
/*
 * cuda.h - what the variants on CUDA's driver ask for: arrays, transfers and kernels of one device and one stream. The
 * variants differ in the memory they use, and so in what sending and fetching are; a benchmark is written once.
 */
#ifndef PARBOIL_CUDA_H
#define PARBOIL_CUDA_H

#include "harness.h"

/*
 * An array of the program:
 *
 *	cuda, cuda-pinned	two pieces of memory; send and fetch copy. The CPU's is pageable, or pinned.
 *	managed			one piece that the driver moves, page by page, when either side touches it; send does
 *				nothing, fetch waits
 *	managed-prefetch	the same, moved by send and fetch
 *	zerocopy		one piece, pinned memory of the CPU that the device reads and writes over the link; send
 *				does nothing, fetch waits
 */
struct pb_array {
	void *host;			/* for the CPU */
	uint64_t device;		/* for kernels */
	size_t size;
};

/* The stream runs commands in order. As in harness.h, all that can go wrong ends the program. */

void pb_cuda_open(struct pb_run *run, enum pb_variant variant, char *ret_device, size_t size);
void pb_cuda_close(struct pb_run *run);

/* Freed memory is kept for the next run, as programs that allocate the same again keep it. */
struct pb_array pb_cu_alloc(struct pb_run *run, size_t size);
void pb_cu_free(struct pb_run *run, struct pb_array array);

/* What the CPU wrote is there for kernels that are launched from now on; it stays as it is until the next fetch. */
void pb_cu_send(struct pb_run *run, struct pb_array array, size_t offset, size_t size);
/* What kernels launched before wrote is there for the CPU. Waits. */
void pb_cu_fetch(struct pb_run *run, struct pb_array array, size_t offset, size_t size);
/* The device's side. */
void pb_cu_zero(struct pb_run *run, struct pb_array array);

void *pb_cu_kernel(struct pb_run *run, const char *name);
/* The arguments are addresses of values; a pointer is an array's device. */
#define pb_cu_call(run, kernel, grid, block, ...) \
	pb_cu_launch(run, kernel, grid, block, (void *[]){ __VA_ARGS__ })
void pb_cu_launch(struct pb_run *run, void *kernel, adsmDim grid, adsmDim block, void **args);

#endif
