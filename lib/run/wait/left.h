/* SPDX-License-Identifier: MIT */
/*
 * left.h - has a thread left the function that an input belongs to, by a jump that no wrapper has seen?
 *
 * Such an input must end, or every later fetch leaves its bytes out. But a thread may also be elsewhere while its
 * system call is in progress: in a signal handler, on that handler's own stack, or in another context that the handler
 * has switched to. So an input counts as left only if this is certain: its frame is overwritten or gone, or the thread
 * is further up on the same stack (core/frame.h).
 *
 * These functions may run in signal handlers.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/input.h"

/* Has this thread left the function of its input? @stack: the stack pointer of the code that called the library. */
bool adsm_left_here(const struct adsm_input *input, uintptr_t stack);
/*
 * Does this thread leave the function of @input when it jumps to code whose stack pointer is @stack (UINTPTR_MAX if
 * that is unknown)? @may_return: the present code may run in a context of its own, which may continue later.
 */
bool adsm_left_by_jump(const struct adsm_input *input, uintptr_t stack, bool may_return);
/*
 * End an input whose function was left. It is unknown how much has come. In blocks that the CPU has completely, it
 * stays and counts as written by the CPU. In blocks that only the device had meanwhile, the device's bytes stay. The
 * function waits for no call. Lock held; it is given back meanwhile.
 */
void adsm_left_end(struct adsm_object *object, struct adsm_input *input);
/*
 * Call this before blocks are fetched, or their holes are written: it ends other threads' inputs for their bytes if
 * these were left. If another thread is ending one, it waits for that. Lock held. Returns true if the lock was given
 * back, so that everything may have changed.
 */
bool adsm_left_by_others(struct adsm_object *object, uint32_t first, uint32_t n);
