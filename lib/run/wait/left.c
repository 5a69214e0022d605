/* SPDX-License-Identifier: MIT */
/* left.c - see left.h. */
#include "run/wait/left.h"

#include <errno.h>

#include "base/log.h"
#include "core/block.h"
#include "core/frame.h"

/* No two inputs have the same serial. The frame contains the input's serial while the input exists. */
static struct adsm_frame frame_of(const struct adsm_input *input)
{
	return (struct adsm_frame){ input->frame, input->stack_end, atomic_load(&input->serial) };
}

bool adsm_left_here(const struct adsm_input *input, uintptr_t stack)
{
	const struct adsm_frame frame = frame_of(input);

	return adsm_frame_is_left(&frame, stack);
}

static bool is_left_there(const struct adsm_input *input)
{
	const struct adsm_frame frame = frame_of(input);
	uintptr_t stack;
	int error;

	if (adsm_frame_is_overwritten(&frame))
		return true;
	error = adsm_os_stack_of(input->thread, &stack);
	/* A thread that ends usually reports this itself: see io.c. */
	return error ? error == -ESRCH : input->frame < stack && stack <= input->stack_end;
}

bool adsm_left_by_jump(const struct adsm_input *input, uintptr_t stack, bool may_return)
{
	const struct adsm_frame frame = frame_of(input);

	return adsm_frame_is_left_by_jump(&frame, stack, may_return);
}

/*
 * If the CPU has the whole block, the bytes that have come are in it, and from now on they count as written by the CPU.
 * If that would have to wait for a call, the device's bytes stay.
 */
static void keep_what_came(struct adsm_object *object, const struct adsm_input *input)
{
	const uint32_t end = (uint32_t)((input->offset + input->size - 1) >> object->blocks.shift) + 1;
	uint32_t b = (uint32_t)(input->offset >> object->blocks.shift);

	while (input->object == object && input->size && b < end) {
		/* Wait for a send in progress: it may leave out bytes that have come meanwhile. */
		if (adsm_block_blocked(object, b)) {
			adsm_home_wait(object->home);
			continue;
		}
		if (!adsm_blocks_lack(&object->blocks, b) && !adsm_blocks_unsent(&object->blocks, b) &&
		    !adsm_input_left_hole(&object->blocks.at[b], input)) {
			if (adsm_block_must_wait(object, b, ADSM_EVENT_WRITE))
				adsm_block_give_back(object, b);
			else
				adsm_blocks_access(object, b, 1, ADSM_EVENT_WRITE, false);
		}
		b++;
	}
}

/*
 * In a block that was fetched around the input, old bytes of the host are beside the bytes that have come. They cannot
 * be told apart, so the device's bytes are fetched.
 */
void adsm_left_end(struct adsm_object *object, struct adsm_input *input)
{
	size_t offset = input->offset, size = input->size;
	int error;

	input->ending = true;
	keep_what_came(object, input);
	error = input->object == object ? adsm_input_let_go(object, input, 0) : 0;
	if (error)
		adsm_error("%zu bytes at %p could not be fetched after a jump out of the call that should fill them: "
			   "error %d", size, (void *)(object->start + offset), error);
	/* The object may have been freed while the lock was given back. */
	if (input->object == object) {
		adsm_input_unlink(input);
		adsm_input_closed(object, input->offset, input->size);
	}
	input->ending = false;
	adsm_home_notify(input->home);
}

/* The entry stays in its thread's list, without an object, until that thread calls adsm_io_look_back(). */
static __attribute__((noinline)) bool end_left_there(struct adsm_object *object, size_t start, size_t end, bool fetches)
{
	const int self = adsm_os_thread_id();
	struct adsm_input *input, *left = NULL;

	for (input = object->inputs; input; input = input->next) {
		if (!adsm_input_overlaps(input, start, end))
			continue;
		/* The thread that ends it gives the lock back meanwhile.
		 * Until it is done, nothing may use the bytes. */
		if (input->ending) {
			adsm_home_wait(object->home);
			return true;
		}
		if (fetches && !left && input->thread && input->thread != self && is_left_there(input))
			left = input;
	}
	if (!left)
		return false;
	adsm_left_end(object, left);
	left->taken = true;
	left->object = NULL;
	return true;
}

bool adsm_left_by_others(struct adsm_object *object, uint32_t first, uint32_t n)
{
	const size_t start = (size_t)first << object->blocks.shift;
	const bool holed = object->blocks.at[first].flags & ADSM_BLOCK_HOLED;

	return object->inputs && end_left_there(object, start, start + adsm_run_size(object, first, n),
						holed || adsm_blocks_lack(&object->blocks, first));
}
