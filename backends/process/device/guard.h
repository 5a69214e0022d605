/* SPDX-License-Identifier: MIT */
/* device/guard.h - lets kernels access only live memory. Device memory is mapped closed; a fault in live memory opens
 * it, and freed memory is closed before the next launch. Any other fault is a crash, which is explained. */
#pragma once

#include "process/live.h"

/* @memory: the device memory of kernels, @size bytes that are mapped closed. Call this after adsm_crash_start(). */
void adsm_guard_start(struct adsm_live_shared *shared, void *memory, size_t size);
/* Is device memory guarded in this process? Otherwise it is mapped open. */
bool adsm_guard_is_on(void);
/*
 * May a kernel access @size bytes at an address? @of: 0, or an address in the object that they must be in. Returns 0 if
 * not: the text says where they are. Memory that is not device memory is not known, and counts as permitted.
 */
int adsm_guard_inside(uint64_t address, size_t size, uint64_t of, char *ret_text, size_t text_size);
/* Close freed memory. Call this before each launch, and before anything else is mapped there. */
void adsm_guard_close(void);
/* Explain an access at @address to device memory at @base: ": a store …", a text that follows that of the crash.
 * [signal] */
void adsm_guard_say(const struct adsm_live *live, uint64_t base, uint64_t address, const char *access, char *ret_text,
		    size_t size);
