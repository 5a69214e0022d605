/* SPDX-License-Identifier: MIT */
/* alias_copy.c - see alias_copy.h. */
#include "run/alias_copy.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "core/block.h"
#include "core/copier.h"
#include "core/observe.h"
#include "run/enter.h"
#include "run/io.h"
#include "run/wait.h"

/* So many bytes of a part in one step: no block of the destination in two, or what covers it would fetch it. */
static size_t step_size(const struct adsm_copy *copy, const struct adsm_part *part)
{
	size_t offset, end, mask;

	if (!part->to)
		return part->size < ADSM_COPY_STEP ? part->size : ADSM_COPY_STEP;
	offset = (uintptr_t)copy->dst - part->to->start;
	mask = adsm_block_size(part->to) - 1;
	end = (offset + ADSM_COPY_STEP) & ~mask;
	if (end <= offset)
		end = (offset | mask) + 1;
	return part->size < end - offset ? part->size : end - offset;
}

/* io.h sets no sentences, as signal handlers call it too: the first one is this. */
static int io_failed(bool in_handler, int error, size_t size, const void *dst)
{
	return in_handler ? error : adsm_fail(error, "%zu bytes could not be copied to %p: %s", size, dst,
					      adsm_error_string(error));
}

/*
 * Is block @b, of which the bytes from @start to @end are wanted, read from the device past the alias? What the CPU has
 * never used takes no memory there; of the rest, whole blocks are kept, so that another copy is served there.
 */
static bool goes_straight(const struct adsm_object *object, uint32_t b, size_t start, size_t end)
{
	size_t at = (size_t)b << object->blocks.shift;
	bool whole = at >= start && at + adsm_run_size(object, b, 1) <= end;

	return adsm_blocks_lack(&object->blocks, b) &&
		(!whole || !(object->blocks.at[b].flags & ADSM_BLOCK_BACKED));
}

/*
 * Of the next bytes of the source, how many go together: those that are read straight from the device, up to @limit, or
 * those before such. As it looks now.
 */
static size_t source_step(const struct adsm_copy *copy, const struct adsm_part *part, size_t limit, bool *ret_straight)
{
	size_t step = step_size(copy, part), offset, at, end;
	struct adsm_sigset old;
	struct adsm_object *object = adsm_object_enter(copy->src, &old);

	*ret_straight = false;
	if (!object)
		return step;
	offset = at = (uintptr_t)copy->src - object->start;
	end = offset + part->size;
	if (object == part->from && !object->device_only) {
		*ret_straight = goes_straight(object, (uint32_t)(at >> object->blocks.shift), offset, end);
		step = *ret_straight ? limit : step;
		do
			at = (at | (adsm_block_size(object) - 1)) + 1;
		while (at < offset + step &&
		       goes_straight(object, (uint32_t)(at >> object->blocks.shift), offset, end) == *ret_straight);
		step = at - offset < step ? at - offset : step;
	}
	adsm_home_unlock(object->home, &old);
	return step;
}

struct device_read {
	struct adsm_object *src;
	void *dst;
	size_t offset, size;
};

static int device_read(void *arg)
{
	const struct device_read *r = arg;
	uint64_t start = adsm_os_now_ns();
	int error = r->src->home->device->backend->to_host(r->dst, r->src->memory, r->offset, r->size, NULL);

	if (!error)
		adsm_note_transfer(r->src, ADSM_TO_HOST, r->offset, r->size, start, adsm_os_now_ns() - start);
	return error;
}

/* Of the bytes from @start to @end, how many of the first ones only the device has, or else, of one block, the CPU. */
static size_t on_one_side(const struct adsm_object *object, size_t start, size_t end, bool *ret_device)
{
	size_t at = start;

	*ret_device = adsm_blocks_lack(&object->blocks, (uint32_t)(start >> object->blocks.shift));
	do
		at = (at | (adsm_block_size(object) - 1)) + 1;
	while (*ret_device && at < end && adsm_blocks_lack(&object->blocks, (uint32_t)(at >> object->blocks.shift)) &&
	       !(object->blocks.at[at >> object->blocks.shift].flags & ADSM_BLOCK_BUSY));
	return (at < end ? at : end) - start;
}

/* Bytes of an object, to memory that is no view; what only the device has comes from there, and states stay. */
static int read_straight(const struct adsm_copy *copy, const struct adsm_part *part, char *dst, size_t size)
{
	struct adsm_sigset old;
	struct adsm_object *object = adsm_object_enter(copy->src, &old);
	struct adsm_home *home = object ? object->home : NULL;
	uint64_t generation = object ? object->generation : 0;
	size_t at = object ? (uintptr_t)copy->src - object->start : 0, end = at + size;
	int error = object && object == part->from && !object->device_only ? 0 : -EINVAL;

	while (!error && at < end) {
		struct device_read r = { object, dst, at, 0 };
		bool device;

		if (!object->live || object->freeing || object->generation != generation) {
			error = -EINVAL;
			break;
		}
		/* Or somebody has fetched some meanwhile. */
		r.size = on_one_side(object, at, end, &device);
		if (object->blocks.at[at >> object->blocks.shift].flags & ADSM_BLOCK_BUSY) {
			adsm_home_wait(home);
			continue;
		}
		if (device && adsm_object_write_seq(object) > atomic_load(&home->completed)) {
			error = adsm_wait_unlocked(home, adsm_object_write_seq(object), &old);
			continue;
		}
		if (device && adsm_object_lost(object)) {
			error = -ENODEV;
			break;
		}
		object->blocks.n_busy++;	/* no call and no free comes in between */
		adsm_unlock(&home->lock);
		if (device)
			error = adsm_backend_run(home, device_read, &r);
		else
			memcpy(dst, object->alias + at, r.size);
		adsm_lock(&home->lock);
		object->blocks.n_busy--;
		adsm_home_notify(home);
		at += r.size;
		dst += r.size;
	}
	if (object)
		adsm_home_unlock(home, &old);
	return error;
}

long adsm_copy_by_alias(const struct adsm_copy *copy, const struct adsm_part *part)
{
	bool straight = false;
	size_t size = copy->direct && part->from && part->from != part->to ?
		source_step(copy, part, part->to ? step_size(copy, part) : part->size, &straight) :
		step_size(copy, part);
	struct iovec to = { copy->dst, size }, from = { (char *)copy->src, size };
	struct iovec to_room[ADSM_IO_ROOM(1)], from_room[ADSM_IO_ROOM(1)];
	struct adsm_io output = { .vector = &from, .n = 1 };
	struct adsm_io input __attribute__((cleanup(adsm_io_cleanup))) = { .vector = &to, .n = 1 };
	int error = 0;

	/* In this order: where they share a block, its fetch leaves no hole for the input. */
	if (part->from && !straight)
		error = adsm_io_begin_output(&output, &from, 1, from_room);
	if (!error && part->to)
		error = adsm_io_begin_input(&input, &to, 1, to_room);
	if (!error && (output.refused || input.refused))
		error = -EFAULT;	/* since the copy began */
	if (!error && straight)
		error = read_straight(copy, part, input.vector->iov_base, size);
	else if (!error)
		adsm_copy_run(copy, input.vector->iov_base, output.vector->iov_base, size);
	if (!error)
		error = adsm_io_end(&input, size);
	return error ? io_failed(copy->in_handler, error, size, copy->dst) : (long)size;
}
