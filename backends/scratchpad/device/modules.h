/* SPDX-License-Identifier: MIT */
/* modules.h - modules of a scratchpad device: code for it, and what its kernels need of a local store. */
#ifndef ADSM_SCRATCHPAD_MODULES_H
#define ADSM_SCRATCHPAD_MODULES_H

#include "overlay.h"
#include "process/device/code.h"
#include "store/layout.h"

/* Before all else: what kernels have to fit into. @always: they run in partitions, where their module has any. */
void adsm_modules_start(const struct adsm_scratchpad_geometry *geometry, const struct adsm_scratchpad_layout *layout,
			bool always);
/* Takes the descriptor, of a whole module. -ENOEXEC with a sentence, where it has no code for this device, too. */
int adsm_modules_load(int fd, uint32_t *ret_index, char ret_text[ADSM_PROCESS_TEXT]);
int adsm_modules_unload(uint32_t index);
/* -ENOENT where there is no such kernel; -ENOSPC, with all sizes, where it does not fit, not even in partitions. */
int adsm_modules_kernel(uint32_t module, const char *name, uint32_t *ret_index, char ret_text[ADSM_PROCESS_TEXT]);
/* How the kernel runs: in partitions; NULL: in one piece. */
struct adsm_overlay *adsm_modules_overlay(uint32_t kernel);
/* Bytes of stack that it needs, with its data; 0 where nobody knows. */
uint64_t adsm_modules_stack(uint32_t kernel);
/* Where the tables of the kernel's module are. */
void adsm_modules_tables(uint32_t kernel, uint64_t *ret_begin, uint64_t *ret_end);

#endif
