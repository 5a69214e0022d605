/* SPDX-License-Identifier: MIT */
/* input.c - entries of inputs in progress, and the gaps between their bytes. */
#include "core/input.h"

#define N_NEW 256			/* entries made at a time */

static struct adsm_lock free_lock = ADSM_LOCK_INIT(ADSM_RANK_INPUTS);	/* innermost */
static struct adsm_input *free_inputs;

struct adsm_input *adsm_input_new(void)
{
	struct adsm_input *input;

	adsm_lock(&free_lock);
	if (!free_inputs) {
		struct adsm_input *more = adsm_os_table(N_NEW * sizeof(*more));

		for (size_t i = 0; more && i < N_NEW; i++) {
			more[i].next = free_inputs;
			free_inputs = &more[i];
		}
	}
	input = free_inputs;
	if (input)
		free_inputs = input->next;
	adsm_unlock(&free_lock);
	return input;
}

void adsm_input_free(struct adsm_input *input)
{
	atomic_store(&input->serial, 0);
	input->object = NULL;
	adsm_lock(&free_lock);
	input->next = free_inputs;
	free_inputs = input;
	adsm_unlock(&free_lock);
}

void adsm_input_link(struct adsm_object *object, struct adsm_input *input)
{
	input->home = object->home;
	input->object = object;
	input->ending = input->taken = false;
	input->number = ++object->last_input;
	input->next = object->inputs;
	object->inputs = input;
}

void adsm_input_unlink(struct adsm_input *input)
{
	struct adsm_input **at = &input->object->inputs;

	while (*at != input)
		at = &(*at)->next;
	*at = input->next;
}

void adsm_inputs_drop(struct adsm_object *object)
{
	for (struct adsm_input *input = object->inputs; input; input = input->next)
		input->object = NULL;
	object->inputs = NULL;
}

static bool is_around(const struct adsm_around *around, const struct adsm_input *input)
{
	return input->size && input != around->except && (!around->holed || adsm_input_left_hole(around->holed, input));
}

bool adsm_input_gap(const struct adsm_object *object, const struct adsm_around *around, size_t *at, size_t end,
		    size_t *ret_size)
{
	const struct adsm_input *input = object->inputs;
	size_t gap_end = end;

	while (input) {
		if (is_around(around, input) && input->offset <= *at && *at - input->offset < input->size) {
			*at = input->offset + input->size;
			input = object->inputs;	/* another input may begin where this one ends */
		} else {
			input = input->next;
		}
	}
	for (input = object->inputs; input; input = input->next)
		if (is_around(around, input) && input->offset > *at && input->offset < gap_end)
			gap_end = input->offset;
	*ret_size = gap_end - *at;
	return *at < end;
}

bool adsm_input_is_in(const struct adsm_object *object, uint32_t b)
{
	size_t start = (size_t)b << object->blocks.shift;

	for (const struct adsm_input *input = object->inputs; input; input = input->next)
		if (adsm_input_overlaps(input, start, start + adsm_block_size(object)))
			return true;
	return false;
}

uint32_t adsm_inputs_after(const struct adsm_object *object, uint32_t b, uint32_t n)
{
	uint32_t free = object->inputs ? 0 : n;

	while (free < n && !adsm_input_is_in(object, b + free))
		free++;
	return free;
}

void adsm_input_closed(struct adsm_object *object, size_t offset, size_t size)
{
	uint32_t last = (uint32_t)((offset + size - 1) >> object->blocks.shift);

	for (uint32_t b = (uint32_t)(offset >> object->blocks.shift); size && b <= last; b++)
		if ((object->blocks.at[b].flags & ADSM_BLOCK_HOLED) && !adsm_input_is_in(object, b))
			object->blocks.at[b].flags &= ~ADSM_BLOCK_HOLED;
}
