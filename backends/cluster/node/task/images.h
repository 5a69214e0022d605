/* SPDX-License-Identifier: MIT */
/* node/task/images.h - modules of a node whose tasks run on cores with a local store. For each module both codes are
 * loaded: that for processors, which runs kernels, and that for cores with a local store, which runs tasks. */
#pragma once

#include "process/shared.h"
#include "store/layout.h"

/* Call this before the first request. @layout: the layout of a local store for tasks. @page: bytes of a page. */
void adsm_images_start(const struct adsm_scratchpad_layout *layout, uint32_t page);
/* As adsm_serve_answer(), which serves all other requests. Works also without adsm_images_start(). */
int adsm_images_answer(const struct adsm_process_request *request, const int *fds, struct adsm_process_reply *reply);
/* The address range of a task's constants, which it may read. */
void adsm_images_tables(uint32_t kernel, uint64_t *ret_begin, uint64_t *ret_end);
