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
 *	cuda-pinned-cold	the same, allocated and pinned anew in each run
 *	cuda-pipeline		as cuda-pinned, with a stream of its own for copies, and files read and written in
 *				pieces, each on its way while the CPU has the next
 *	managed			one piece that the driver moves, page by page, when either side touches it; send does
 *				nothing, fetch waits
 *	managed-prefetch	the same, moved by send and fetch, and the driver is told that it belongs on the device
 *	zerocopy		one piece, pinned memory of the CPU that the device reads and writes over the link; send
 *				does nothing, fetch waits
 */
struct pb_array {
	void *host;			/* for the CPU; NULL: it is the device's alone */
	uint64_t device;		/* for kernels */
	size_t size;
};

/* Commands run in order. As in harness.h, all that can go wrong ends the program. */

void pb_cuda_open(struct pb_run *run, enum pb_variant variant, char *ret_device, size_t size);
void pb_cuda_close(struct pb_run *run);

/* Freed memory is kept for the next run, as programs that allocate the same again keep it. It is spoilt, see
 * pb_free(). */
struct pb_array pb_cu_alloc(struct pb_run *run, size_t size);
struct pb_array pb_cu_alloc_device(struct pb_run *run, size_t size);
void pb_cu_free(struct pb_run *run, struct pb_array array);

/* What the CPU wrote is there for kernels that are launched from now on; it stays as it is until the next fetch. No
 * kernel may use that part since the last one. */
void pb_cu_send(struct pb_run *run, struct pb_array array, size_t offset, size_t size);
/* What kernels launched before wrote is there for the CPU. Waits. */
void pb_cu_fetch(struct pb_run *run, struct pb_array array, size_t offset, size_t size);
/* All of an array, from a file and to one. */
void pb_cu_read(struct pb_run *run, FILE *in, const char *path, struct pb_array array);
void pb_cu_write(struct pb_run *run, FILE *out, struct pb_array array);
/* The device's memory, by its address, into that of the CPU. 0, as all else ends the program. */
int pb_cu_copy_out(void *dst, const void *src, size_t size);
/* The device's side. */
void pb_cu_zero(struct pb_run *run, struct pb_array array);

void *pb_cu_kernel(struct pb_run *run, const char *name);
/* The arguments are addresses of values; a pointer is an array's device. */
#define pb_cu_call(run, kernel, grid, block, ...) \
	pb_cu_launch(run, kernel, grid, block, (void *[]){ __VA_ARGS__ })
void pb_cu_launch(struct pb_run *run, void *kernel, adsmDim grid, adsmDim block, void **args);

#endif
