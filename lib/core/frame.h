/* SPDX-License-Identifier: MIT */
/*
 * frame.h - has a thread left the function that a frame on one of its stacks belongs to? Stacks are told apart by what
 * is known of them: the thread's own, and its alternate one for signals. Of all others, which programs make for
 * themselves, nothing is known; there a function counts as left only where its frame is overwritten.
 *
 * May run in signal handlers.
 */
#ifndef ADSM_FRAME_H
#define ADSM_FRAME_H

#include <stdbool.h>
#include <stdint.h>

struct adsm_frame {
	uintptr_t at;			/* in the function's frame, where it has stored @word for as long as it runs */
	uintptr_t stack_end;		/* of the thread's own stack, if it is on that; else 0 */
	uint64_t word;			/* that no other function stores */
};

bool adsm_frame_is_overwritten(const struct adsm_frame *frame);
/* A frame of this thread's, whose stack pointer is @stack now. */
bool adsm_frame_is_left(const struct adsm_frame *frame, uintptr_t stack);
/*
 * This thread jumps to where its stack pointer is @stack, UINTPTR_MAX where nobody knows: does it leave the function?
 * @may_return: where it comes from may be a context of its own, which goes on later.
 */
bool adsm_frame_is_left_by_jump(const struct adsm_frame *frame, uintptr_t stack, bool may_return);

#endif
