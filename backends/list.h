/* SPDX-License-Identifier: MIT */
/* list.h - the backends there are, and the wrapper around any of them. */
#ifndef ADSM_BACKEND_LIST_H
#define ADSM_BACKEND_LIST_H

#include "backend.h"

extern const struct adsm_backend adsm_backend_cpu;
extern const struct adsm_backend adsm_backend_opencl;
extern const struct adsm_backend adsm_backend_cuda;

/*
 * Put the wrapper around @inner: it traces each operation, and makes some fail, late or impossible, by a
 * plan of words separated by commas (wrap/wrap.c lists them). One at a time. -EINVAL with adsm_fail().
 */
int adsm_wrap(const struct adsm_backend *inner, const char *plan, const struct adsm_backend **ret_backend);

/* For the plan "unsafe": how many operations were called in the fault handler that may not be. */
extern _Atomic unsigned adsm_wrap_unsafe_calls;

#endif
