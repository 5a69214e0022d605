/* SPDX-License-Identifier: MIT */
/* image.h - the code in a kernel module that is for cores with a local store, and whether a task has room there. */
#ifndef ADSM_STORE_IMAGE_H
#define ADSM_STORE_IMAGE_H

#include "adsm_scratchpad.h"
#include "base/module.h"
#include "layout.h"

/*
 * Read a module's file: what it says of itself, which the caller destroys, and that code as a file of its own. 0, or a
 * negative errno with a sentence, ADSM_STORE_TEXT bytes at most: -ENOEXEC: it has no such code, or is no module.
 */
#define ADSM_STORE_TEXT 512
int adsm_store_image(int fd, struct adsm_module_info **ret_info, int *ret_code, char *ret_text);
/* Where the loader has put that file, which it has by "/proc/self/fd/N": *ret_begin is UINT64_MAX where it has not. */
void adsm_store_image_place(int code, uint64_t *ret_begin, uint64_t *ret_end);
/* Does the layout of tasks, with pages of so many bytes, have room for this one? Else the sentence of why not. */
bool adsm_store_task_fits(const struct adsm_scratchpad_layout *layout, uint32_t page,
			  const struct adsm_store_needs *needs, char *ret_text);

#endif
