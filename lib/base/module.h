/* SPDX-License-Identifier: MIT */
/*
 * module.h - kernel modules as files: what adsmcc writes, read without running any of it.
 *
 * A module is a shared object. Section "adsm_kernels" is an array of struct adsm_kernel_desc (from
 * adsm_kernel.h: plain bytes, no pointers), section "adsm_text" the source for other compilers, and
 * section "adsm_ptx", where there is one, what a CUDA compiler made of it. Section "adsm_variables", where there
 * is one, names the variables that kernels may change. For cores with a local store there is another shared object
 * in section "adsm_store", in "adsm_needs" an array of struct adsm_store_needs (adsm_scratchpad.h), and in
 * "adsm_partitions", where it was asked for, the same code as an image of partitions.
 */
#ifndef ADSM_MODULE_H
#define ADSM_MODULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "adsm_scratchpad.h"

struct adsm_param {
	char name[32];
	char type[32];			/* as written: "float", "struct atom" */
	uint32_t kind;			/* ADSM_ARG_POINTER, _VALUE, _CONST, _LOCAL, _ONCE; _NONE: not known */
	uint32_t access;		/* pointers: ADSM_ACCESS_*; 0: not declared */
	uint32_t size;			/* value: its bytes; pointer and const: of one element; 0: not known */
};

struct adsm_kernel_info {
	char name[64];
	uint32_t n_params;
	uint32_t max_threads;		/* the largest block the kernel states */
	bool global_atomics;		/* may do atomics on objects, or nobody knows */
	bool task;			/* blocks are workers, which run all at once */
	bool services;			/* may call services (adsm_kernel_services.h) */
	const struct adsm_param *params;
};

struct adsm_module_info {
	void *image;			/* the module's bytes, a copy; NULL where it does not describe itself */
	size_t size;
	size_t n_kernels;
	struct adsm_kernel_info *kernels;
	const char *text;		/* NUL-terminated source, "" where there is none; inside image */
	size_t text_size;
	const char *ptx;		/* the same */
	const char *variables;		/* which ones kernels may change: "a, b"; the same */
	const void *store;		/* code for cores with a local store, inside image */
	size_t store_size;		/* 0: there is none */
	const void *partitions;		/* the same code in partitions (image.h), inside image, aligned to nothing */
	size_t partitions_size;		/* 0: there is none */
	struct adsm_store_needs *needs;	/* of these kernels, as far as the module says */
	size_t n_needs;
};

/* Of @n kernels that the caller describes: kernels[i], and adsm_module_params() of it. -ENOMEM. */
int adsm_module_info_create_empty(size_t n, struct adsm_module_info **ret_info);
/* Room for ADSM_KERNEL_PARAMS_MAX of them. */
struct adsm_param *adsm_module_params(struct adsm_module_info *info, size_t kernel);

/* Check and describe an image; what it says of itself is not trusted. -ENOEXEC with adsm_fail() said
 * why, -ENOMEM. adsm_module_info_destroy() takes NULL. */
int adsm_module_info_create(const void *image, size_t size, struct adsm_module_info **ret_info);
void adsm_module_info_destroy(struct adsm_module_info *info);

/* Of a kernel of a module: its global_atomics; true too where there is no such module or kernel. */
bool adsm_module_atomics(const void *image, size_t size, const char *kernel);

/* Has a module variables that its kernels may change? Their names: "a, b". */
bool adsm_module_variables(const void *image, size_t size, char *ret_names, size_t names_size);

/* Has a module a kernel that may call services? */
bool adsm_module_services(const void *image, size_t size);

/*
 * As adsm_module_atomics(): which parameters are write-once objects, and of which it may set units, by bits; 0: none is
 * known.
 */
uint32_t adsm_module_onces(const void *image, size_t size, const char *kernel, uint32_t *ret_sets);

/* Text in the assembly language of CUDA devices: its first directive is .version. */
bool adsm_module_is_ptx(const void *image, size_t size);
/* A 64-bit ELF file, or a fatbin with code for several CUDA devices, and all of it. */
bool adsm_module_is_binary(const void *image, size_t size);
/* One of CUDA devices. */
bool adsm_module_is_cuda(const void *image, size_t size);

#endif
