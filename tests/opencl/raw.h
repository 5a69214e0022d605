/* SPDX-License-Identifier: MIT */
/* raw.h - OpenCL by hand, as a program does that does not know the library. */
#ifndef RAW_H
#define RAW_H

#include <CL/cl.h>

#include "conform.h"

/* A call of OpenCL's that must succeed. */
#define CL(call) do { \
	cl_int error_ = (call); \
	if (error_) \
		FAIL("%s returned error %d of OpenCL", #call, error_); \
} while (0)

struct raw {
	cl_platform_id platform;
	cl_device_id device;
	cl_context context;
	cl_command_queue queue;
};

/* The first device there is; without one, the test is skipped. */
void raw_find(struct raw *raw);
/* With a context and a queue of its own. */
void raw_open(struct raw *raw);
/* What the library uses, and its queue. */
void raw_take(struct raw *raw);
cl_program raw_program(const struct raw *raw, const char *source, const char *options);
cl_kernel raw_kernel(cl_program program, const char *name);
cl_mem raw_buffer(const struct raw *raw, size_t size);
/* The alignment of an address in a buffer that is to be an address of its own, in bytes. */
size_t raw_align(const struct raw *raw);

#endif
