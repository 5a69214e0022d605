/* SPDX-License-Identifier: MIT */
/*
 * frame.h - has a thread left a function, whose frame is on one of its stacks? The library knows two stacks: the
 * thread's own, and its alternate one for signal handlers. It knows nothing of stacks that programs make themselves:
 * there a function counts as left only if its frame is overwritten.
 *
 * May run in signal handlers.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct adsm_frame {
	uintptr_t at;			/* address in the function's frame where it keeps @word while it runs */
	uintptr_t stack_end;		/* end of the thread's own stack, if the frame is on that; else 0 */
	uint64_t word;			/* a value that no other function stores */
};

bool adsm_frame_is_overwritten(const struct adsm_frame *frame);
/* For a frame of this thread; @stack: its stack pointer now. */
bool adsm_frame_is_left(const struct adsm_frame *frame, uintptr_t stack);
/*
 * This thread jumps to code whose stack pointer is @stack (UINTPTR_MAX: unknown). Does it leave the function?
 * @may_return: the code that jumps may be a context of its own, which continues later.
 */
bool adsm_frame_is_left_by_jump(const struct adsm_frame *frame, uintptr_t stack, bool may_return);
