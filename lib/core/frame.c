/* SPDX-License-Identifier: MIT */
/* frame.c - see frame.h. */
#include "core/frame.h"

#include <errno.h>

#include "base/os.h"

bool adsm_frame_is_overwritten(const struct adsm_frame *frame)
{
	uint64_t word;
	int error = adsm_os_peek(frame->at, &word);

	return error == -EFAULT || (!error && word != frame->word);
}

bool adsm_frame_is_left(const struct adsm_frame *frame, uintptr_t stack)
{
	uintptr_t alternate;
	size_t size;
	bool there, here;

	if (adsm_frame_is_overwritten(frame))
		return true;
	adsm_os_alternate_stack(&alternate, &size);
	there = frame->at - alternate < size;
	here = stack - alternate < size;
	/* A thread returns to its own stack only after the handler on the other stack has ended. */
	if (there)
		return here ? frame->at < stack : adsm_os_stack_end(stack) != 0;
	return !here && frame->at < stack && stack <= frame->stack_end;
}

bool adsm_frame_is_left_by_jump(const struct adsm_frame *frame, uintptr_t stack, bool may_return)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0), at = frame->at, alternate;
	size_t size;

	if (stack == UINTPTR_MAX)
		return true;
	if (frame->stack_end)
		return at < stack && stack <= frame->stack_end;
	adsm_os_alternate_stack(&alternate, &size);
	if (at - alternate < size)
		return at < stack || stack - alternate >= size;
	if (may_return)
		return false;
	/* Stacks that the program made may lie anywhere. */
	return here < stack ? at >= here && at < stack : at < stack || at >= here;
}
