/* SPDX-License-Identifier: MIT */
/* overlay.h - a module's code in partitions on the cores of this device, with a manager (partition.h) for each core. A
 * core has one code buffer for all modules: code of another module that was in it before is gone. */
#pragma once

#include "adsm_kernel.h"
#include "partition_types.h"
#include "process/shared.h"
#include "scratchpad/shared.h"
#include "store/layout.h"

struct adsm_overlay;

/* Call this first. */
void adsm_overlay_start(struct adsm_process_shared *shared, const struct adsm_scratchpad_overlays *how,
			const struct adsm_scratchpad_layout *layout, unsigned n_cores);
/* Then this for each core: the beginning of its window, and of its code buffer. */
void adsm_overlay_core(unsigned core, const void *window, void *code);
/* Make an overlay from an image, which is copied; nothing is loaded yet. Returns 0, -ENOEXEC or -ENOTSUP with a text,
 * or -ENOMEM. */
int adsm_overlay_create(const void *image, size_t size, struct adsm_overlay **ret_overlay,
			char ret_text[ADSM_PROCESS_TEXT]);
/* NULL is valid. None of its code may run. */
void adsm_overlay_destroy(struct adsm_overlay *overlay);
/*
 * Get ready to run, with how->buffers sub-buffers, or if that is 0, with as many as fit. @module: the loaded code
 * (code.h) that resolves what the image lacks. @library: bytes of functions of libm, which are in the code buffer, too.
 * Returns 0 if it is ready already, or the errors of adsm_partition_create().
 */
int adsm_overlay_ready(struct adsm_overlay *overlay, uint32_t module, uint64_t library,
		       char ret_text[ADSM_PROCESS_TEXT]);
/* Bytes of the code buffer that it uses, once it is ready. */
uint64_t adsm_overlay_bytes(const struct adsm_overlay *overlay);
/* The core will run this kernel by its manager; returns the kernel's entry. If @overlay is NULL, other code overwrites
 * the code buffer; returns NULL. */
adsm_kernel_run *adsm_overlay_enter(struct adsm_overlay *overlay, unsigned core, const char *kernel);
/* From now on, record when partitions are loaded while it runs on the core; NULL: stop that. */
void adsm_overlay_watch(struct adsm_overlay *overlay, unsigned core, struct adsm_spans *spans);
/* Before the core enters it: from now on, record calls between partitions. @advised: and simulate, for advice, what
 * other settings would load. */
void adsm_overlay_record(struct adsm_overlay *overlay, unsigned core, bool advised);
/* Add the recorded calls of all cores to the notes (notes.h), and write these. No core runs it. Returns 0, or an error
 * of the file with a text. */
int adsm_overlay_note(struct adsm_overlay *overlay, char ret_text[ADSM_PROCESS_TEXT]);
/* Add what other settings would have loaded since the core entered it to the kernel's record. */
void adsm_overlay_replayed(struct adsm_overlay *overlay, unsigned core, struct adsm_scratchpad_replayed *replayed);
/* The counts since the core entered it. */
struct adsm_partition_counters adsm_overlay_counters(const struct adsm_overlay *overlay, unsigned core);
