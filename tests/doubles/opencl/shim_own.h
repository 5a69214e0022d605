/* SPDX-License-Identifier: MIT */
/*
 * shim_own.h - what the files of the shim share: shim (the words, and what each function begins with), shim_device
 * (platforms, devices, contexts, queues), shim_event (commands, events, callbacks), shim_memory (buffers, SVM, USM),
 * shim_kernel (programs, kernels, functions by name).
 */
#ifndef TEST_OPENCL_SHIM_OWN_H
#define TEST_OPENCL_SHIM_OWN_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* OpenCL's functions are exported, whatever else is hidden. */
#pragma GCC visibility push(default)
#include "opencl/cl.h"
#pragma GCC visibility pop

#define MEM_DEVICE_PRIVATE_ADDRESS 0x5000
#define MEM_DEVICE_ADDRESS 0x5001
#define KERNEL_EXEC_INFO_DEVICE_PTRS 0x5002
#define ADDRESS_EXTENSION "cl_ext_buffer_device_address"
#define USM_EXTENSION "cl_intel_unified_shared_memory"

#define EXTENSIONS_FUNCTIONS(X) X(clSetKernelArgDevicePointerEXT) X(clDeviceMemAllocINTEL) X(clMemFreeINTEL) \
	X(clEnqueueMemcpyINTEL) X(clEnqueueMemFillINTEL) X(clSetKernelArgMemPointerINTEL)
#define FUNCTIONS(X) ADSM_CL_FUNCTIONS(X) ADSM_CL_LATER_FUNCTIONS(X) EXTENSIONS_FUNCTIONS(X)

enum function {
#define ID(name) F_##name,
	FUNCTIONS(ID)
#undef ID
	N_FUNCTIONS,
	FIRST_LATER = F_clCreateCommandQueueWithProperties,
};

/* By enum function. */
extern const char *const names[];

/* The driver's functions. */
extern struct adsm_cl real;
extern cl_int (CL_API_CALL *real_retain_event)(cl_event);
extern cl_int (CL_API_CALL *real_set_destructor)(cl_mem, void (CL_CALLBACK *)(cl_mem, void *), void *);

/* ---- shim.c: the plan, and what each function begins with */

#define MAX_RULES 16

struct rule {
	bool of_event;
	enum function function;
	cl_int code;
	uint64_t nth, n_calls;
};

struct plan {
	bool no_platform, no_device, gpu, old, no_svm, address, usm, strict, threads, count, late;
	uint64_t lost, devices, small, group, align, seed, hits;
	struct rule rules[MAX_RULES];
	size_t n_rules;
};

extern struct plan plan;

/* It guards what follows, and the lists of all files; no driver is called, and no callback, with it held. */
extern pthread_mutex_t lock;
extern bool lost;

/* References handed out and released, of each kind. */
enum kind { BUFFERS, KERNELS, PROGRAMS, EVENTS, N_KINDS };
struct references {
	uint64_t created, released;
};
extern struct references counts[N_KINDS];
void handed_out(enum kind kind);
void given_back(enum kind kind);

__attribute__((noreturn, format(printf, 2, 3)))
void end_process(int status, const char *format, ...);
#define die(...) end_process(0, __VA_ARGS__)
void *allocated(size_t size);
bool begins(const char *text, const char *with);

/* Each function begins with it: 0, or the error it has to fail with. */
cl_int enter(enum function f);
/* What the plan says of this call; with the lock. */
cl_int planned(bool of_event, enum function f);
/* Is this thread in a callback of ours? */
extern _Thread_local bool in_callback;

/* The result of a function that returns a handle, when it has failed. */
void *none(cl_int error, cl_int *ret_error);
/* That of one that returns a value. */
cl_int answer(const void *value, size_t value_size, size_t size, void *ret, size_t *ret_size);

#define FORWARD(name, params, args) \
	cl_int CL_API_CALL name params \
	{ \
		cl_int error = enter(F_##name); \
		return error ? error : real.name args; \
	}

/* ---- shim_device.c */

/* The driver's handle. */
cl_device_id below(cl_device_id device);
/* The device of a context, where that is the shim's own; NULL: the driver's. */
cl_device_id context_device(cl_context handle);

/* ---- shim_event.c */

/* Before a command: 0, or its error; *ret_failure is what its event will end with. */
cl_int command_begin(enum function f, cl_uint n_waits, const cl_event *waits, cl_int *ret_failure);
/* And after it, with what the driver returned. */
cl_int command_end(cl_command_queue queue, bool blocking, cl_int failure, cl_int error, cl_event *ret_event);

#define ENQUEUE(name, blocking, params, args) \
	cl_int CL_API_CALL name params \
	{ \
		cl_int failure, error = command_begin(F_##name, n_waits, waits, &failure); \
		return error ? error : command_end(queue, blocking, failure, real.name args, event); \
	}
#define WAITS cl_uint n_waits, const cl_event *waits, cl_event *event

/* ---- shim_memory.c */

struct memory {
	struct memory *next;
	const void *handle;		/* a buffer, or SVM */
	size_t size;
	cl_ulong address;		/* 0: none */
};

extern struct memory *memories;
/* With the lock: the memory that has this address. */
struct memory *memory_at(cl_ulong address);

/* Of cl_intel_unified_shared_memory. */
void *CL_API_CALL usm_alloc(cl_context context, cl_device_id device, const cl_ulong *properties, size_t size,
			    cl_uint alignment, cl_int *ret_error);
cl_int CL_API_CALL usm_free(cl_context context, void *svm);
cl_int CL_API_CALL usm_memcpy(cl_command_queue queue, cl_bool block, void *dst, const void *src, size_t size, WAITS);
cl_int CL_API_CALL usm_fill(cl_command_queue queue, void *dst, const void *pattern, size_t pattern_size, size_t size,
			    WAITS);
cl_int CL_API_CALL usm_set_arg(cl_kernel kernel, cl_uint index, const void *pointer);

#endif
