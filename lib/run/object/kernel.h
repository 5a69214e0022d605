/* SPDX-License-Identifier: MIT */
/* kernel.h - modules and kernels. Each is loaded on a device when it is first called there. */
#pragma once

#include <stdatomic.h>

#include "adsm.h"
#include "backend.h"
#include "core/home.h"
#include "base/module.h"

struct adsm_assignment {		/* an object that is assigned to a kernel (paper §3.3) */
	struct adsm_assignment *next;
	uintptr_t start;		/* of the object */
	unsigned access;
};

struct adsmKernel {
	adsmModule *module;
	const struct adsm_kernel_info *info;
	struct adsm_entry *entries[ADSM_MAX_DEVICES];
	struct adsm_assignment *assignments;	/* guarded by the modules' mutex */
};

struct adsmModule {
	adsmModule *next;
	struct adsm_module_info *info;
	struct adsm_image image;	/* what devices load */
	void *data;			/* copies that the image points to, if info has none */
	char *options;
	struct adsm_home *only;		/* the only device of a kernel that was not
					   made from an image; NULL: any device */
	bool internal;			/* made by the library: see adsm_kernel_nothing() */
	adsmKernel *kernels;		/* info->n_kernels of them */
	struct adsm_code *codes[ADSM_MAX_DEVICES];
	void **_Atomic variables[ADSM_MAX_DEVICES];	/* see variable.h */
};

/*
 * Make a module. @image is copied. An image without a description of its kernels is loaded on @home immediately, and
 * the driver describes them.
 */
int adsm_module_create(const struct adsm_image *image, struct adsm_home *home, adsmModule **ret_module);
/* Make a module of one kernel, which is the driver's for @handle; NULL: a kernel that does nothing. */
int adsm_module_adopt(struct adsm_home *home, void *handle, adsmModule **ret_module);
/* Get a device's kernel that does nothing. It is made when first needed, and adsm_modules_alive() does not count it. */
int adsm_kernel_nothing(struct adsm_home *home, adsmKernel **ret_kernel);
/* Free the library's own modules. Call this before the devices are closed. */
void adsm_modules_end(void);
/*
 * Wait for the calls of every device, then unload the module and remove the assignments of its kernels. Returns -EINVAL
 * if it is not a live module.
 */
int adsm_module_unload(adsmModule *module);
bool adsm_module_is_live(const adsmModule *module);
size_t adsm_modules_alive(void);

adsmKernel *adsm_kernel_find(adsmModule *module, const char *name);
bool adsm_kernel_is_live(const adsmKernel *kernel);
/* Get the kernel on a device. It is loaded there if necessary. */
int adsm_kernel_entry(adsmKernel *kernel, struct adsm_home *home, struct adsm_entry **ret_entry);

/* Assign an object to a kernel; if @kernel is NULL, remove all assignments of the object. */
int adsm_kernel_assign(adsmKernel *kernel, uintptr_t start, unsigned access);
/* Get the first @max assignments of a kernel. Returns the number of all. */
size_t adsm_kernel_assignments(adsmKernel *kernel, struct adsm_assignment *ret_list, size_t max);

/* Implements adsmAssign(). If @kernel is NULL, the object is no longer assigned to any kernel. */
int adsm_assign(void *p, adsmKernel *kernel, int access);
