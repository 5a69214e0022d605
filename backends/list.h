/* SPDX-License-Identifier: MIT */
/* list.h - the backends there are, each with its options; and the wrapper around any of them. */
#ifndef ADSM_BACKEND_LIST_H
#define ADSM_BACKEND_LIST_H

#include "backend.h"
#include "base/options.h"

extern const struct adsm_backend adsm_backend_cluster, adsm_backend_cpu, adsm_backend_cuda, adsm_backend_opencl,
	adsm_backend_scratchpad;
extern struct adsm_option adsm_cluster_rows[], adsm_cpu_rows[], adsm_cuda_rows[], adsm_opencl_rows[],
	adsm_scratchpad_rows[], adsm_store_rows[];
extern struct adsm_option adsm_backend_rows[], adsm_wrap_rows[];	/* of options.c */

#ifdef ADSM_HAVE_OPENCL
#define ADSM_BACKEND_OPENCL &adsm_backend_opencl,
#else
#define ADSM_BACKEND_OPENCL
#endif

/*
 * In the order in which "auto" tries them, of which the last has devices or says why not; then those that are only used
 * by name. All names, of those too that this library was built without; all options.
 */
#define ADSM_BACKENDS &adsm_backend_cuda, ADSM_BACKEND_OPENCL &adsm_backend_cpu, &adsm_backend_cluster, \
	&adsm_backend_scratchpad
#define ADSM_BACKEND_NAMES "cuda, opencl, cpu, cluster, scratchpad"
/* Those whose devices have what others lack, for sentences of errors: caps.max_workers, caps.services. */
#define ADSM_BACKENDS_WITH_TASKS "'cpu', 'scratchpad', and 'cluster' with ADSM_CLUSTER_NODE=scratchpad"
#define ADSM_BACKENDS_WITH_SERVICES "'cpu', 'scratchpad'"
#define ADSM_BACKEND_ROWS adsm_cpu_rows, adsm_cluster_rows, adsm_scratchpad_rows, adsm_store_rows, \
	adsm_opencl_rows, adsm_cuda_rows

/*
 * Put the wrapper around @inner: it traces each operation, and makes some fail, late or impossible, by a
 * plan of words separated by commas (wrap/plan.h lists them). One at a time. -EINVAL with adsm_fail().
 */
int adsm_wrap(const struct adsm_backend *inner, const char *plan, const struct adsm_backend **ret_backend);

/* For the plan "unsafe": how many operations were called in the fault handler that may not be. */
extern _Atomic unsigned adsm_wrap_unsafe_calls;

#endif
