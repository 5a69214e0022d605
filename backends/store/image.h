/* SPDX-License-Identifier: MIT */
/* image.h - the code of a kernel module for cores with a local store, and whether a task fits into a local store. */
#pragma once

#include "adsm_scratchpad.h"
#include "base/module.h"
#include "layout.h"

/*
 * Read a module's file. Returns its description, which the caller destroys, and the code for cores with a local store
 * as a file of its own. Returns 0, or a negative errno with a text of at most ADSM_STORE_TEXT bytes. -ENOEXEC: it has
 * no such code, or is no module.
 */
#define ADSM_STORE_TEXT 512
int adsm_store_image(int fd, struct adsm_module_info **ret_info, int *ret_code, char *ret_text);
/* Where the loader has put that file, which it opened as "/proc/self/fd/N". *ret_begin is UINT64_MAX if it is not
 * loaded. */
void adsm_store_image_place(int code, uint64_t *ret_begin, uint64_t *ret_end);
/* The part of it that kernels may write: the module's variables. Both are 0 if there is none. */
void adsm_store_image_variables(int code, uint64_t *ret_begin, uint64_t *ret_end);
/* Does the task fit into the layout for tasks, with pages of @page bytes? If not, @ret_text says why. */
bool adsm_store_task_fits(const struct adsm_scratchpad_layout *layout, uint32_t page,
			  const struct adsm_store_needs *needs, char *ret_text);
