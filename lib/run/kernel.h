/* SPDX-License-Identifier: MIT */
/* kernel.h - modules and kernels, loaded on a device when first called there. */
#ifndef ADSM_KERNEL_OBJECT_H
#define ADSM_KERNEL_OBJECT_H

#include "adsm.h"
#include "backend.h"
#include "core/home.h"
#include "base/module.h"

struct adsm_assignment {		/* an object that belongs to a kernel (paper §3.3) */
	struct adsm_assignment *next;
	uintptr_t start;		/* of the object */
	unsigned access;
};

struct adsmKernel {
	adsmModule *module;
	const struct adsm_kernel_info *info;
	struct adsm_entry *entries[ADSM_MAX_DEVICES];
	struct adsm_assignment *assignments;	/* under the modules' mutex */
};

struct adsmModule {
	adsmModule *next;
	struct adsm_module_info *info;
	struct adsm_image image;	/* what devices are given */
	void *data;			/* copies that the image points to, where info has none */
	char *options;
	struct adsm_home *only;		/* the kernel was made elsewhere, for this device; else NULL */
	bool internal;			/* the library's own: see adsm_kernel_nothing() */
	adsmKernel *kernels;		/* info->n_kernels of them */
	struct adsm_code *codes[ADSM_MAX_DEVICES];
};

/* @image: copied. What does not describe itself is loaded on @home at once, and described by the driver. */
int adsm_module_create(const struct adsm_image *image, struct adsm_home *home, adsmModule **ret_module);
/* A module of one kernel, which is the driver's for @handle; NULL: one that does nothing. */
int adsm_module_adopt(struct adsm_home *home, void *handle, adsmModule **ret_module);
/* A device's kernel that does nothing, made when first needed; not among the modules alive. */
int adsm_kernel_nothing(struct adsm_home *home, adsmKernel **ret_kernel);
/* Before the devices are closed: free the library's own modules. */
void adsm_modules_end(void);
/* Waits for the calls of every device; assignments of its kernels go with it. -EINVAL when it is no live module. */
int adsm_module_unload(adsmModule *module);
bool adsm_module_is_live(const adsmModule *module);
size_t adsm_modules_alive(void);

adsmKernel *adsm_kernel_find(adsmModule *module, const char *name);
bool adsm_kernel_is_live(const adsmKernel *kernel);
/* The kernel on a device, loaded there if it was not. */
int adsm_kernel_entry(adsmKernel *kernel, struct adsm_home *home, struct adsm_entry **ret_entry);

/* Assign an object, or (kernel NULL) take all its assignments back. */
int adsm_kernel_assign(adsmKernel *kernel, uintptr_t start, unsigned access);
/* What a kernel was assigned: how many, and the first @max of them. */
size_t adsm_kernel_assignments(adsmKernel *kernel, struct adsm_assignment *ret_list, size_t max);
/* Is an object assigned to any kernel? */
bool adsm_kernel_is_assigned(uintptr_t start);
/* Take one assignment of a module's kernels away: false when there was none. */
bool adsm_module_unassign(adsmModule *module, uintptr_t *ret_start);

/* adsmAssign(): @kernel NULL: no kernel's any more. */
int adsm_assign(void *p, adsmKernel *kernel, int access);

#endif
