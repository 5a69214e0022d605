/* SPDX-License-Identifier: MIT */
/*
 * device/guard.h - kernels reach live memory and nothing else: device memory is mapped closed, a fault in live memory
 * opens it, and what was freed is closed before the next launch. Any other fault is a crash, which is explained.
 */
#ifndef ADSM_PROCESS_DEVICE_GUARD_H
#define ADSM_PROCESS_DEVICE_GUARD_H

#include "process/live.h"

/* @memory: @size bytes that are mapped closed, where kernels have them. Behind adsm_crash_start(). */
void adsm_guard_start(struct adsm_live_shared *shared, void *memory, size_t size);
/* Is memory guarded here? Else it is mapped open. */
bool adsm_guard_is_on(void);
/* Close what was freed. Before each launch, and before something else is mapped there. */
void adsm_guard_close(void);
/* Of an access at @address in device memory at @base: ": a store …", in words that follow the crash's own. [signal] */
void adsm_guard_say(const struct adsm_live *live, uint64_t base, uint64_t address, const char *access, char *ret_text,
		    size_t size);

#endif
