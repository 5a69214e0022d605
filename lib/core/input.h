/* SPDX-License-Identifier: MIT */
/*
 * input.h - inputs in progress: bytes of objects that a system call, or other code, is writing through the alias. All
 * with the lock of the object's home.
 *
 * An input is an entry in its object's list, and the bytes may be written until the entry is removed. A fetch of their
 * block leaves them out; the block then has holes, which sends leave out too. So nothing has to wait for an input,
 * which itself may take any time.
 */
#pragma once

#include "core/object.h"

struct adsm_input {
	struct adsm_input *next;	/* the next one of the same object; or the next free one */
	struct adsm_input *next_of_io, *prev_of_io, *next_of_thread;
	_Atomic uint64_t serial;	/* a different number for each adsm_io_begin_input(); 0 while free */
	/* address of a copy of serial in the frame of the function that made it; 0: none */
	uintptr_t frame;
	uintptr_t stack_end;		/* end of its thread's own stack, if the frame is on that; else 0 */
	int thread;			/* thread id; 0: no thread's own, so any thread may end it */
	struct adsm_home *home;
	struct adsm_object *object;	/* NULL: it was freed, or another thread has ended the input */
	bool ending;			/* a thread is ending it: others wait before they use its bytes */
	bool taken;			/* another thread has ended it */
	uint32_t number;		/* counts the inputs of the object */
	size_t offset, size;
	size_t wanted;			/* its size when it began */
	size_t position;		/* bytes of its struct adsm_io before it */
};

/* A new entry; NULL: no memory. Entries are never given back to the system, so a stale pointer can be read. Signals are
 * blocked. */
struct adsm_input *adsm_input_new(void);
void adsm_input_free(struct adsm_input *input);
void adsm_input_link(struct adsm_object *object, struct adsm_input *input);
void adsm_input_unlink(struct adsm_input *input);
/* The object ends: its inputs have no object any more. */
void adsm_inputs_drop(struct adsm_object *object);

/* Did the fetch of @block leave out @input? If the input began later, the fetch brought its bytes like all others. */
static inline bool adsm_input_left_hole(const struct adsm_block *block, const struct adsm_input *input)
{
	return (block->flags & ADSM_BLOCK_HOLED) && (int32_t)(input->number - block->holes_until) <= 0;
}

/* The bytes that a transfer leaves out: those of inputs other than @except; if @holed is not NULL, only the holes of
 * that block. */
struct adsm_around {
	const struct adsm_input *except;
	const struct adsm_block *holed;
};

/* The next bytes from *@at on, and before @end, that the transfer may move; false: none are left. */
bool adsm_input_gap(const struct adsm_object *object, const struct adsm_around *around, size_t *at, size_t end,
		    size_t *ret_size);
static inline bool adsm_input_next_gap(const struct adsm_object *object, const struct adsm_around *around, size_t *at,
				       size_t end, size_t *ret_size)
{
	if (object->inputs)
		return adsm_input_gap(object, around, at, end, ret_size);
	*ret_size = end - *at;
	return *at < end;
}

/* Does any input have bytes in a block? */
bool adsm_input_is_in(const struct adsm_object *object, uint32_t b);
/* Does this input have bytes in [@start, @end)? */
static inline bool adsm_input_overlaps(const struct adsm_input *input, size_t start, size_t end)
{
	return input->size && input->offset < end && input->offset + input->size > start;
}
/* Of the @n blocks from @b on, how many come before the first one where an input has bytes. */
uint32_t adsm_inputs_after(const struct adsm_object *object, uint32_t b, uint32_t n);

/* An input has let go of these bytes: blocks where no other input has bytes have no holes any more. */
void adsm_input_closed(struct adsm_object *object, size_t offset, size_t size);
