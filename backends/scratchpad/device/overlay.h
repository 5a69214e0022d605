/* SPDX-License-Identifier: MIT */
/*
 * overlay.h - a module's code in partitions on the cores of this device: a manager (partition.h) for each core. A core
 * has one code buffer: whatever ran last has it, and what was in it of another module is gone.
 */
#ifndef ADSM_SCRATCHPAD_OVERLAY_H
#define ADSM_SCRATCHPAD_OVERLAY_H

#include "adsm_kernel.h"
#include "partition_types.h"
#include "process/shared.h"
#include "scratchpad/shared.h"
#include "store/layout.h"

struct adsm_overlay;

/* Before all else. */
void adsm_overlay_start(struct adsm_process_shared *shared, const struct adsm_scratchpad_overlays *how,
			const struct adsm_scratchpad_layout *layout, unsigned n_cores);
/*
 * Of an image, which is copied; nothing is loaded yet. -ENOEXEC and -ENOTSUP with a sentence, -ENOMEM.
 */
int adsm_overlay_create(const void *image, size_t size, struct adsm_overlay **ret_overlay,
			char ret_text[ADSM_PROCESS_TEXT]);
/* NULL is fine. None of its code runs. */
void adsm_overlay_destroy(struct adsm_overlay *overlay);
/*
 * Be ready to run: with as many sub-buffers as how->buffers says, or, where that is 0, as there is room for.
 * @module: of the code (code.h) that has what the image has not. Errors of adsm_partition_create(). Ready already: 0.
 */
int adsm_overlay_ready(struct adsm_overlay *overlay, uint32_t module, char ret_text[ADSM_PROCESS_TEXT]);
/*
 * What runs on this core from now on: the kernel of that name, by the core's manager. NULL, as a name and an overlay:
 * what was in the code buffer is overwritten by something else.
 */
adsm_kernel_run *adsm_overlay_enter(struct adsm_overlay *overlay, unsigned core, const char *kernel);
/* From now on, while it runs there, it is noted when partitions are loaded; NULL: it is not. */
void adsm_overlay_watch(struct adsm_overlay *overlay, unsigned core, struct adsm_spans *spans);
/* For advice, before the core enters it: what it would have loaded by other settings is found out, from now on. */
void adsm_overlay_record(struct adsm_overlay *overlay, unsigned core);
/* What it would have since the core entered it is added to what is known of the kernel. */
void adsm_overlay_replayed(struct adsm_overlay *overlay, unsigned core, struct adsm_scratchpad_replayed *replayed);
/* Since when the core entered it. */
struct adsm_partition_counters adsm_overlay_counters(const struct adsm_overlay *overlay, unsigned core);

#endif
