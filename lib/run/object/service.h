/* SPDX-License-Identifier: MIT */
/* service.h - functions of the program that kernels call by name (adsm_service.h). */
#pragma once

#include <stddef.h>

#include "adsm_service.h"

/* Returns 0, -EINVAL, -EEXIST or -ENOMEM, with an error text. */
int adsm_service_register(const char *name, adsmServiceFunction *function, size_t max_in, size_t max_out, void *ctx);
/* Returns 0, -EINVAL, -ENOENT or -EDEADLK, with an error text. */
int adsm_service_unregister(const char *name);
/* Run a service for a backend: this is serve of struct adsm_backend_config. */
int adsm_service_run(const char *name, const void *in, size_t in_size, void *out, size_t out_size);
