/* SPDX-License-Identifier: MIT */
/*
 * module.h - reads kernel modules, the files that adsmcc writes, without running any of their code.
 *
 * A module is a shared object with these sections:
 * - "adsm_kernels": an array of struct adsm_kernel_desc (adsm_kernel.h: plain bytes, no pointers)
 * - "adsm_text": the source for other compilers
 * - "adsm_ptx", optional: the code that a CUDA compiler made of it
 * - "adsm_variables", optional: names of the variables that kernels may change
 * - "adsm_entries": kernels in CUDA C (entries.h). Such a module has no section adsm_kernels
 * - "adsm_symbols", optional: its variables in device memory (symbols.h)
 * - "adsm_writes", optional: what its kernels certainly write (writes_text.h)
 * - "adsm_store", optional: another shared object, for cores with a local store
 * - "adsm_needs": an array of struct adsm_store_needs (adsm_scratchpad.h), for that
 * - "adsm_partitions", optional: the code of "adsm_store" as an image of partitions
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "adsm_scratchpad.h"
#include "base/kernel.h"

struct adsm_module_info {
	void *image;			/* a copy of the module's bytes; NULL if the caller describes the module */
	size_t size;
	size_t n_kernels;
	struct adsm_kernel_info *kernels;
	struct adsm_param *params;	/* of all kernels */
	const char *text;		/* the source with a NUL, "" if there is none; inside image */
	size_t text_size;
	const char *ptx;		/* the same */
	const char *variables;		/* the variables that kernels may change: "a, b"; the same */
	const char *entries;		/* the section adsm_entries; the same */
	bool only_ptx;			/* its kernels are translated when they are first used */
	unsigned level;			/* of processors that its code needs (processor.h); 0: none */
	const char *symbols;		/* lines of the section adsm_symbols; the same */
	const char *writes;		/* lines of the section adsm_writes; the same */
	uint32_t n_symbols;
	const void *store;		/* code for cores with a local store, inside image */
	size_t store_size;		/* 0: there is none */
	const void *partitions;		/* the same code as partitions (image.h), inside image, not aligned */
	size_t partitions_size;		/* 0: there is none */
	struct adsm_store_needs *needs;	/* needs of its kernels, as far as the module states them */
	size_t n_needs;
};

/* Make the description of a module with @n kernels. The caller fills in kernels[i] and adsm_module_params().
 * -ENOMEM. */
int adsm_module_info_create_empty(size_t n, struct adsm_module_info **ret_info);
/* Memory for the ADSM_PARAMS_MAX parameters of a kernel of such a description. */
struct adsm_param *adsm_module_params(struct adsm_module_info *info, size_t kernel);

/* Check and describe a module. The check does not trust what the module says of itself. -ENOEXEC, with the reason in
 * adsm_fail(); -ENOMEM. adsm_module_info_destroy() takes NULL. */
int adsm_module_info_create(const void *image, size_t size, struct adsm_module_info **ret_info);
void adsm_module_info_destroy(struct adsm_module_info *info);

/* The global_atomics of a kernel of a module; also true if there is no such module or kernel. */
bool adsm_module_atomics(const void *image, size_t size, const char *kernel);

/* Find the kernel with this name, or with this name in its PTX. Returns its index; -1: there is none. */
long adsm_module_find(const struct adsm_module_info *info, const char *name);

/* Does a module have variables that its kernels may change? @ret_names: their names, "a, b". */
bool adsm_module_variables(const void *image, size_t size, char *ret_names, size_t names_size);

/* May a kernel of a module call services? NULL: any of them. */
bool adsm_module_services(const void *image, size_t size, const char *kernel);

/* The parameters of a kernel that are write-once objects, as bits; 0: none is known. */
uint32_t adsm_module_onces(const void *image, size_t size, const char *kernel);

/* Is this assembly text for CUDA devices? Its first directive is .version. */
bool adsm_module_is_ptx(const void *image, size_t size);
/* Is this a complete 64-bit ELF file, or a complete fatbin with code for several CUDA devices? */
bool adsm_module_is_binary(const void *image, size_t size);
/* Is this such a binary for CUDA devices? */
bool adsm_module_is_cuda(const void *image, size_t size);
