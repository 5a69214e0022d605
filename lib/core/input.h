/* SPDX-License-Identifier: MIT */
/*
 * input.h - bytes of objects that someone else writes through the alias, a system call mostly: which they are, and what
 * a transfer has to go around. With the lock of the object's home.
 *
 * An input in progress is a list entry of its object: the bytes that somebody writes through the alias, and may
 * write until the entry is gone. A fetch of their block goes around them (the block then has holes, and sends
 * leave those out), so that nothing waits for an input, which may wait for anything itself.
 */
#ifndef ADSM_INPUT_H
#define ADSM_INPUT_H

#include "core/object.h"

struct adsm_input {
	struct adsm_input *next;	/* of the same object; of the free ones */
	struct adsm_input *next_of_io, *prev_of_io, *next_of_thread;
	_Atomic uint64_t serial;	/* another for each adsm_io_begin_input(), 0 while free */
	uintptr_t frame;		/* in its function's, where the serial is too; 0: no function's */
	uintptr_t stack_end;		/* of its thread's own stack, if it is on that; else 0 */
	int thread;			/* whose; 0: nobody's, any thread may end it */
	struct adsm_home *home;
	struct adsm_object *object;	/* NULL: freed meanwhile, or ended by another thread */
	bool ending;			/* somebody ends it: others wait before they use its bytes */
	bool taken;			/* another thread has ended it */
	uint32_t number;		/* the object's inputs, counted */
	size_t offset, size;
	size_t wanted;			/* its size at first */
	size_t position;		/* how much of its io comes before it */
};

/* An entry; NULL: no memory. Entries are never given back to the system: a stale pointer can be looked at. Signals are
 * blocked. */
struct adsm_input *adsm_input_new(void);
void adsm_input_free(struct adsm_input *input);
void adsm_input_link(struct adsm_object *object, struct adsm_input *input);
void adsm_input_unlink(struct adsm_input *input);
/* The object goes: its inputs have none any more. */
void adsm_inputs_drop(struct adsm_object *object);

/* Was @input left out when @block was fetched? Bytes of one that began later are as good as the others. */
static inline bool adsm_input_left_hole(const struct adsm_block *block, const struct adsm_input *input)
{
	return (block->flags & ADSM_BLOCK_HOLED) && (int32_t)(input->number - block->holes_until) <= 0;
}

/* What a transfer has to go around: bytes that inputs (but @except) are for; with @holed only its holes. */
struct adsm_around {
	const struct adsm_input *except;
	const struct adsm_block *holed;
};

/* The next bytes from *@at on, below @end, that may be touched; false: none are left. */
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

/* Has any input bytes in a block? */
bool adsm_input_is_in(const struct adsm_object *object, uint32_t b);
/* Has this one, from @start to @end? */
static inline bool adsm_input_overlaps(const struct adsm_input *input, size_t start, size_t end)
{
	return input->size && input->offset < end && input->offset + input->size > start;
}
/* How many of @n blocks from @b on come before the first that any input has bytes in. */
uint32_t adsm_inputs_after(const struct adsm_object *object, uint32_t b, uint32_t n);

/* An input has let go of these bytes: forget the holes that no other has there. */
void adsm_input_closed(struct adsm_object *object, size_t offset, size_t size);

#endif
