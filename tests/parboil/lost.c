/* SPDX-License-Identifier: MIT */
/* lost.c - for a benchmark, before the library: its calls. One call is lost, but returns success. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "adsm.h"

static unsigned n_calls;

__attribute__((visibility("default")))
int adsmCallArgs(adsmKernel *kernel, adsmDim grid, adsmDim block, const adsmArg *args, size_t n_args)
{
	static int (*call)(adsmKernel *kernel, adsmDim grid, adsmDim block, const adsmArg *args, size_t n_args);
	const char *lost = getenv("TEST_LOST");

	if (!call)
		*(void **)&call = dlsym(RTLD_NEXT, "adsmCallArgs");
	return ++n_calls == (lost ? strtoul(lost, NULL, 10) : 0) ? 0 : call(kernel, grid, block, args, n_args);
}

__attribute__((destructor))
static void tell(void)
{
	fprintf(stderr, "%u calls\n", n_calls);
}
