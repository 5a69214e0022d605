/* SPDX-License-Identifier: MIT */
/* nvrtc.h - CUDA C++ to a device's code, by the toolkit's compiler where it is found (ADSM_CUDA_COMPILER). */
#pragma once

#include <stddef.h>

/* @capability: 10 * major + minor. -ENOEXEC with the compiler's log in adsm_fail(); -ENOTSUP where there is none. The
 * caller frees *ret_image. */
int adsm_cuda_compile(const char *text, const char *options, int capability, char **ret_image, size_t *ret_size);
