/* SPDX-License-Identifier: MIT */
/* service.h - functions of the program that kernels call by a name (adsm_service.h). */
#ifndef ADSM_SERVICE_INSIDE_H
#define ADSM_SERVICE_INSIDE_H

#include <stddef.h>

#include "adsm_service.h"

/* -EINVAL, -EEXIST, -ENOMEM, with their sentences. */
int adsm_service_register(const char *name, adsmServiceFunction *function, size_t max_in, size_t max_out, void *ctx);
/* -EINVAL, -ENOENT, -EDEADLK. */
int adsm_service_unregister(const char *name);
/* For backends: serve of struct adsm_backend_config. */
int adsm_service_run(const char *name, const void *in, size_t in_size, void *out, size_t out_size);

#endif
