/* SPDX-License-Identifier: MIT */
/* lost.c - for a benchmark, before the library, or before OpenCL: its calls. One call is lost, but returns success. */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "adsm.h"

static unsigned n_calls;

/* Is the call that begins now the lost one? */
static bool loses(void)
{
	const char *lost = getenv("TEST_LOST");

	return ++n_calls == (lost ? strtoul(lost, NULL, 10) : 0);
}

__attribute__((visibility("default")))
int adsmCallArgs(adsmKernel *kernel, adsmDim grid, adsmDim block, const adsmArg *args, size_t n_args)
{
	static int (*call)(adsmKernel *kernel, adsmDim grid, adsmDim block, const adsmArg *args, size_t n_args);

	if (!call)
		*(void **)&call = dlsym(RTLD_NEXT, "adsmCallArgs");
	return loses() ? 0 : call(kernel, grid, block, args, n_args);
}

/* With OpenCL's handles as pointers: its headers may be missing. */
int clEnqueueNDRangeKernel(void *queue, void *kernel, unsigned n_dimensions, const size_t *offset, const size_t *global,
			   const size_t *local, unsigned n_events, void *const *events, void **ret_event);

__attribute__((visibility("default")))
int clEnqueueNDRangeKernel(void *queue, void *kernel, unsigned n_dimensions, const size_t *offset, const size_t *global,
			   const size_t *local, unsigned n_events, void *const *events, void **ret_event)
{
	static int (*enqueue)(void *, void *, unsigned, const size_t *, const size_t *, const size_t *, unsigned,
			      void *const *, void **);

	if (!enqueue)
		*(void **)&enqueue = dlsym(RTLD_NEXT, "clEnqueueNDRangeKernel");
	return loses() ? 0 : enqueue(queue, kernel, n_dimensions, offset, global, local, n_events, events, ret_event);
}

__attribute__((destructor))
static void tell(void)
{
	fprintf(stderr, "%u calls\n", n_calls);
}
