/* SPDX-License-Identifier: MIT */
/*
 * code.h - the modules that a device process has loaded, and their kernels. Each has the lowest index that is free:
 * processes that are told the same in the same order give the same indexes. One caller at a time, beside a launch.
 */
#ifndef ADSM_PROCESS_CODE_H
#define ADSM_PROCESS_CODE_H

#include "pool.h"

#define ADSM_CODE_KERNELS 65536		/* at most, at once */
#define ADSM_CODE_MODULES 4096

/* Takes the descriptor. -ENOEXEC, with the loader's sentence in @ret_text, where it is no module. */
int adsm_code_load(int fd, uint32_t *ret_index, char ret_text[ADSM_PROCESS_TEXT]);
int adsm_code_unload(uint32_t index);
/* A kernel of a module, by its name: -ENOENT where the module has none. */
int adsm_code_kernel(uint32_t module, const char *name, uint32_t *ret_index);
/* May the kernel of this index do atomics on memory of the device, as far as its module says? */
bool adsm_code_atomics(uint32_t kernel);
/* Is it a task? */
bool adsm_code_is_task(uint32_t kernel);
/* Does it take write-once objects? */
bool adsm_code_onces(uint32_t kernel);
/* What a module, or what it is linked to, has by this name; NULL: there is none. */
void *adsm_code_find(uint32_t module, const char *symbol);
/* Which module's code that is, its index and 1, and the address in its file; 0: none's. [signal] */
uint32_t adsm_code_locate(uintptr_t instruction, uint64_t *ret_offset);
/* A launch as the application asked for it. @area: its arguments, where they are not in the slot. */
void adsm_code_launch(const struct adsm_process_slot *slot, const uint8_t *area, struct adsm_pool_launch *ret_launch);

#endif
