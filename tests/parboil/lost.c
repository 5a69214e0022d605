/* SPDX-License-Identifier: MIT */
/*
 * lost.c - for a benchmark, before the library, before OpenCL, or in place of CUDA's driver: its calls and its fetches.
 * One call or one fetch is lost, but returns success.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "adsm.h"

static unsigned n_calls, n_fetches;

static bool is_lost(unsigned number, const char *variable)
{
	const char *lost = getenv(variable);

	return number == (lost ? strtoul(lost, NULL, 10) : 0);
}

/* Is the call that begins now the lost one? */
static bool loses(void)
{
	return is_lost(++n_calls, "TEST_LOST");
}

static bool loses_fetch(void)
{
	return is_lost(++n_fetches, "TEST_LOST_FETCH");
}

__attribute__((visibility("default")))
int adsmCallArgs(adsmKernel *kernel, adsmDim grid, adsmDim block, const adsmArg *args, size_t n_args)
{
	static int (*call)(adsmKernel *kernel, adsmDim grid, adsmDim block, const adsmArg *args, size_t n_args);

	if (!call)
		*(void **)&call = dlsym(RTLD_NEXT, "adsmCallArgs");
	return loses() ? 0 : call(kernel, grid, block, args, n_args);
}

__attribute__((visibility("default")))
int adsmCopyToHost(void *host_dst, const void *device_src, size_t size)
{
	static int (*copy)(void *host_dst, const void *device_src, size_t size);

	if (!copy)
		*(void **)&copy = dlsym(RTLD_NEXT, "adsmCopyToHost");
	return loses_fetch() ? 0 : copy(host_dst, device_src, size);
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

int clEnqueueReadBuffer(void *queue, void *buffer, unsigned blocking, size_t offset, size_t size, void *dst,
			unsigned n_events, void *const *events, void **ret_event);

__attribute__((visibility("default")))
int clEnqueueReadBuffer(void *queue, void *buffer, unsigned blocking, size_t offset, size_t size, void *dst,
			unsigned n_events, void *const *events, void **ret_event)
{
	static int (*enqueue)(void *, void *, unsigned, size_t, size_t, void *, unsigned, void *const *, void **);

	if (!enqueue)
		*(void **)&enqueue = dlsym(RTLD_NEXT, "clEnqueueReadBuffer");
	return loses_fetch() ? 0 : enqueue(queue, buffer, blocking, offset, size, dst, n_events, events, ret_event);
}

#ifdef LOST_DRIVER
/* Linkers leave out a library that is not used. */
int cuInit(unsigned flags);
int (*const lost_driver)(unsigned flags) = cuInit;
#endif

int cuMemcpyDtoHAsync_v2(void *dst, uint64_t src, size_t size, void *stream);

__attribute__((visibility("default")))
int cuMemcpyDtoHAsync_v2(void *dst, uint64_t src, size_t size, void *stream)
{
	static int (*enqueue)(void *dst, uint64_t src, size_t size, void *stream);

	if (!enqueue)
		*(void **)&enqueue = dlsym(RTLD_NEXT, "cuMemcpyDtoHAsync_v2");
	return loses_fetch() ? 0 : enqueue(dst, src, size, stream);
}

__attribute__((destructor))
static void tell(void)
{
	fprintf(stderr, "%u calls\n%u fetches\n", n_calls, n_fetches);
}
