/* SPDX-License-Identifier: MIT */
/*
 * node/task/images.h - modules of a node whose tasks run on cores with a local store: of each the code for processors
 * is loaded, which kernels are, and that for such cores, which tasks are.
 */
#ifndef ADSM_CLUSTER_IMAGES_H
#define ADSM_CLUSTER_IMAGES_H

#include "process/shared.h"
#include "store/layout.h"

/* Before the first request: what a store has for tasks, with pages of so many bytes. */
void adsm_images_start(const struct adsm_scratchpad_layout *layout, uint32_t page);
/* As adsm_serve_answer(), which it asks for all but that. Started or not. */
int adsm_images_answer(const struct adsm_process_request *request, const int *fds, struct adsm_process_reply *reply);
/* The constants of a task, which it may read. */
void adsm_images_tables(uint32_t kernel, uint64_t *ret_begin, uint64_t *ret_end);

#endif
