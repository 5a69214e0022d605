/* SPDX-License-Identifier: MIT */
/*
 * translate.h - kernels in CUDA C whose module has PTX and no code: the code of one kernel. It is kept in a cache, by
 * the PTX, the compiler, its options, and this library.
 */
#pragma once

#include "base/module.h"
#include "base/sha256.h"

/* What is translated. */
struct adsm_translate_order {
	const struct adsm_module_info *info;
	const struct adsm_kernel_info *kernel;	/* of info */
	const uint8_t *hash;		/* adsm_sha256() of info->ptx */
	unsigned levels;		/* what all processors that run the kernel have (base/processor.h) */
	const char *options;		/* more options for the compiler; may be "" */
};

/*
 * Get a module with the code of this kernel alone. The caller waits for the compiler, unless the code is in the cache.
 *
 * @ret_module, @ret_size: the module's bytes, which the caller frees.
 *
 * Returns 0 or a negative errno with a sentence:
 *   -ENOEXEC  the kernel cannot be translated, or the compiler does not accept the text, or there is no compiler
 *   -ENOMEM
 */
int adsm_translate(const struct adsm_translate_order *order, void **ret_module, size_t *ret_size);
