/* SPDX-License-Identifier: MIT */
/* opencl.h - what the variants in plain OpenCL ask for: memory, transfers and kernels of one device and one queue. */
#ifndef PARBOIL_OPENCL_H
#define PARBOIL_OPENCL_H

#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

#include "harness.h"

/* The queue runs commands in order. As in harness.h, all that can go wrong ends the program. */

void pb_opencl_open(struct pb_run *run, enum pb_variant variant, char *ret_device, size_t size);
void pb_opencl_close(struct pb_run *run);

/* Freed memory is kept for the next run, as programs that allocate the same again keep it. It is spoilt, see
 * pb_free(). */
cl_mem pb_cl_alloc(struct pb_run *run, size_t size);
void *pb_svm_alloc(struct pb_run *run, size_t size);
void pb_cl_free(struct pb_run *run, void *memory);	/* of either */

/* @src must stay as it is until a later command has been waited for. */
void pb_cl_write(struct pb_run *run, cl_mem dst, size_t offset, const void *src, size_t size);
void pb_cl_zero(struct pb_run *run, cl_mem dst, size_t size);
/* Waits, and so for all that was enqueued before. */
void pb_cl_read(struct pb_run *run, void *dst, cl_mem src, size_t offset, size_t size);
/* Let the device begin, while the CPU does something else. */
void pb_cl_flush(struct pb_run *run);

/* Make SVM the CPU's, waiting for it, and the device's again. @flags: CL_MAP_... */
void pb_svm_map(struct pb_run *run, void *p, size_t size, cl_map_flags flags);
void pb_svm_unmap(struct pb_run *run, void *p);
void pb_svm_zero(struct pb_run *run, void *p, size_t size);

/* A parameter of a kernel. In the dialect a pointer is two arguments, the second an offset in bytes. */
struct pb_cl_arg {
	const void *value;
	size_t size;
	bool svm, pointer;
};
#define PB_CL_VALUE(x) { .value = &(x), .size = sizeof(x) }
#define PB_CL_POINTER(buffer) { .value = &(buffer), .size = sizeof(cl_mem), .pointer = true }
#define PB_CL_CONST(buffer) { .value = &(buffer), .size = sizeof(cl_mem) }
#define PB_SVM_POINTER(p) { .value = (p), .svm = true, .pointer = true }
#define PB_SVM_CONST(p) { .value = (p), .svm = true }

cl_kernel pb_cl_kernel(struct pb_run *run, const char *name);
#define pb_cl_call(run, kernel, grid, block, ...) \
	pb_cl_launch(run, kernel, grid, block, (const struct pb_cl_arg[]){ __VA_ARGS__ }, \
		     sizeof((const struct pb_cl_arg[]){ __VA_ARGS__ }) / sizeof(struct pb_cl_arg))
void pb_cl_launch(struct pb_run *run, cl_kernel kernel, adsmDim grid, adsmDim block, const struct pb_cl_arg *args,
		  size_t n_args);

#endif
