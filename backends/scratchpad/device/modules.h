/* SPDX-License-Identifier: MIT */
/* modules.h - modules of a scratchpad device: their code, and what their kernels need of a local store. */
#pragma once

#include "overlay.h"
#include "process/device/code.h"
#include "store/layout.h"

/* Call this first. The sizes are limits for kernels. @always: kernels run in partitions if their module has any. */
void adsm_modules_start(const struct adsm_scratchpad_geometry *geometry, const struct adsm_scratchpad_layout *layout,
			bool always);
/* Closes @fd, a file of a whole module. -ENOEXEC with a text: no module, or without code for this device. */
int adsm_modules_load(int fd, uint32_t *ret_index, char ret_text[ADSM_PROCESS_TEXT]);
int adsm_modules_unload(uint32_t index);
/* -ENOENT: no such kernel. -ENOSPC, with all sizes: it does not fit, not even in partitions. */
int adsm_modules_kernel(uint32_t module, const char *name, uint32_t *ret_index, char ret_text[ADSM_PROCESS_TEXT]);
/* How the kernel runs: in these partitions; NULL: in one piece. */
struct adsm_overlay *adsm_modules_overlay(uint32_t kernel);
/* Bytes of stack that it needs, including its data; 0: unknown. */
uint64_t adsm_modules_stack(uint32_t kernel);
/* Bytes of the code buffer that it uses. */
uint64_t adsm_modules_code(uint32_t kernel);
/* The addresses of the tables in the kernel's module. */
void adsm_modules_tables(uint32_t kernel, uint64_t *ret_begin, uint64_t *ret_end);
/* Those of its variables. */
void adsm_modules_variables(uint32_t kernel, uint64_t *ret_begin, uint64_t *ret_end);
