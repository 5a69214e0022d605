/* SPDX-License-Identifier: MIT */
/* driven_code.h - modules that a vendor's driver has loaded, and their kernels. */
#pragma once

#include "driven.h"

/* Both are embedded first in each backend's own. */
struct adsm_driven_entry {
	struct adsm_entry base;
	struct adsm_driven_entry *next;
	bool dialect;			/* of adsmcc */
	size_t max_threads;		/* in a block */
};

struct adsm_driven_code {
	struct adsm_code base;
	bool dialect;
	struct adsm_mutex lock;		/* of entries */
	struct adsm_driven_entry *entries;
};

/* @size: bytes of the backend's structure, which is cleared. Returns NULL if out of memory. */
struct adsm_driven_code *adsm_driven_code_create(struct adsm_device *device, size_t size);
/* Free the memory of the code and of its kernels. The driver's handles must be released before. */
void adsm_driven_code_destroy(struct adsm_driven_code *code);

/* Slots of struct adsm_backend. @load fills the backend's part of a code, in a thread for compilers. @get fills that of
 * a kernel, with signals blocked. If they fail, they leave no handles of the driver. */
int adsm_driven_module_load(struct adsm_device *device, const struct adsm_image *image, size_t size,
			    int (*load)(struct adsm_driven_code *code, const struct adsm_image *image),
			    struct adsm_code **ret_code);
int adsm_driven_kernel_get(struct adsm_code *code, const char *name, size_t size,
			   int (*get)(struct adsm_driven_entry *entry, const char *name),
			   struct adsm_entry **ret_entry);
