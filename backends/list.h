/* SPDX-License-Identifier: MIT */
/* list.h - the backends of this library, with their options, and the wrapper around any of them. */
#pragma once

#include "backend.h"
#include "base/options.h"

extern const struct adsm_backend adsm_backend_cluster, adsm_backend_cpu, adsm_backend_cuda, adsm_backend_opencl,
	adsm_backend_scratchpad;
extern struct adsm_option adsm_cluster_rows[], adsm_cpu_rows[], adsm_cuda_rows[], adsm_opencl_rows[],
	adsm_scratchpad_rows[], adsm_store_rows[], adsm_translate_rows[];
extern struct adsm_option adsm_backend_rows[], adsm_wrap_rows[];	/* in options.c */

#ifdef ADSM_HAVE_OPENCL
#define ADSM_BACKEND_OPENCL &adsm_backend_opencl,
#else
#define ADSM_BACKEND_OPENCL
#endif

/*
 * All backends. "auto" tries them in this order. It skips the backends that have by_name_only set, which come last. The
 * last backend that "auto" tries has devices, or reports why it has none.
 *
 * ADSM_BACKEND_NAMES also has the names of backends that this library was built without.
 */
#define ADSM_BACKENDS &adsm_backend_cuda, ADSM_BACKEND_OPENCL &adsm_backend_cpu, &adsm_backend_cluster, \
	&adsm_backend_scratchpad
#define ADSM_BACKEND_NAMES "cuda, opencl, cpu, cluster, scratchpad"
/* For error messages: the backends whose devices support tasks (caps.max_workers), and services (caps.services). */
#define ADSM_BACKENDS_WITH_TASKS "'cpu', 'scratchpad', and 'cluster' with ADSM_CLUSTER_NODE=scratchpad"
#define ADSM_BACKENDS_WITH_SERVICES "'cpu', 'scratchpad', and 'cluster' for kernels that are not tasks"
#define ADSM_BACKEND_ROWS adsm_cpu_rows, adsm_translate_rows, adsm_cluster_rows, adsm_scratchpad_rows, \
	adsm_store_rows, adsm_opencl_rows, adsm_cuda_rows

/*
 * Put the wrapper around a backend. It traces operations, makes them fail, or delays them. There is one wrapper in a
 * process at a time.
 *
 * @inner: the backend.
 * @plan: words separated by commas; wrap/plan.h lists them.
 *
 * Returns 0 or:
 *   -EINVAL   @plan is invalid; adsm_fail() says why
 */
int adsm_wrap(const struct adsm_backend *inner, const char *plan, const struct adsm_backend **ret_backend);

/* For the plan "unsafe": the number of operations that were called in the fault handler and must not be. */
extern _Atomic unsigned adsm_wrap_unsafe_calls;
