/* SPDX-License-Identifier: MIT */
/*
 * code.h - the modules that a device process has loaded, and their kernels. Each new one gets the lowest free index: if
 * processes get the same requests in the same order, they use the same indexes. One thread at a time may call these
 * functions; a launch may run meanwhile.
 */
#pragma once

#include "pool.h"

#define ADSM_CODE_KERNELS 65536		/* maximum number at the same time */
#define ADSM_CODE_MODULES 4096

/* Load a module; the callee closes @fd. Returns -ENOEXEC, with the loader's error text in @ret_text, if it is no
 * module. */
int adsm_code_load(int fd, uint32_t *ret_index, char ret_text[ADSM_PROCESS_TEXT]);
int adsm_code_unload(uint32_t index);
/* Is any module loaded? */
bool adsm_code_is_loaded(void);
/* Find a kernel by its name. Returns -ENOENT if the module has no such kernel. */
int adsm_code_kernel(uint32_t module, const char *name, uint32_t *ret_index);
/* According to its module, may the kernel do atomics on device memory? */
bool adsm_code_atomics(uint32_t kernel);
/* According to its module, may the kernel call services? */
bool adsm_code_services(uint32_t kernel);
/* Is the kernel a task? */
bool adsm_code_is_task(uint32_t kernel);
/* Does the kernel have parameters that are write-once objects? */
bool adsm_code_onces(uint32_t kernel);
/* Returns the symbol's address in a module or the libraries that it is linked to; NULL if there is no such symbol. */
void *adsm_code_find(uint32_t module, const char *symbol);
/* Returns index + 1 of the module that contains the instruction, and the address in its file; 0: no module. [signal] */
uint32_t adsm_code_locate(uintptr_t instruction, uint64_t *ret_offset);
/* Describe the launch in a slot. @area: the arguments' bytes, if they are not in the slot. */
void adsm_code_launch(const struct adsm_process_slot *slot, const uint8_t *area, struct adsm_pool_launch *ret_launch);
