/* SPDX-License-Identifier: MIT */
/*
 * left.h - has a thread left the function that an input belongs to, by a jump that no wrapper saw?
 *
 * Such an input must end, or every later fetch leaves its bytes out. But a thread may also be elsewhere while its
 * system call is in progress: in a signal handler, on that handler's own stack, or in another context that the handler
 * has switched to. So an input counts as left only where that is certain: its frame is overwritten or gone, or the
 * thread is further up on the same stack (core/frame.h).
 *
 * May run in signal handlers.
 */
#ifndef ADSM_LEFT_H
#define ADSM_LEFT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/input.h"

/* An input of this thread's, whose stack pointer is @stack in the code that called the library. */
bool adsm_left_here(const struct adsm_input *input, uintptr_t stack);
/*
 * This thread jumps to where its stack pointer is @stack, UINTPTR_MAX where nobody knows: does it leave the function of
 * @input? @may_return: where it comes from may be a context of its own, which goes on later.
 */
bool adsm_left_by_jump(const struct adsm_input *input, uintptr_t stack, bool may_return);
/*
 * End an input whose function was left. Nobody knows how much has come. In blocks that the CPU has all of, it stays, as
 * written by the CPU; in blocks that only the device had meanwhile, the device's bytes stay. Waits for no call. Lock
 * held; it is away for a while.
 */
void adsm_left_end(struct adsm_object *object, struct adsm_input *input);
/*
 * Before blocks are fetched, or their holes are written: other threads' inputs for bytes of them end, where they were
 * left. Where somebody is ending one, this waits. Lock held; true: it was away, and all may be different now.
 */
bool adsm_left_by_others(struct adsm_object *object, uint32_t first, uint32_t n);

#endif
