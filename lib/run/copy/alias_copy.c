/* SPDX-License-Identifier: MIT */
/* alias_copy.c - see alias_copy.h. */
#include "run/copy/alias_copy.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "core/block.h"
#include "core/copier.h"
#include "core/observe.h"
#include "run/wait/enter.h"
#include "run/copy/io.h"
#include "run/wait/wait.h"

/*
 * The size of one step. A step does not end inside a block of the destination: otherwise the block would be fetched
 * even if the copy covers all of it.
 */
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

/* Functions of io.h set no error text, because signal handlers call them, too. This function sets it. */
static int io_failed(bool in_handler, int error, size_t size, const void *dst)
{
	return in_handler ? error : adsm_fail(error, "%zu bytes could not be copied to %p: %s", size, dst,
					      adsm_error_string(error));
}

/*
 * Is block @b of the source to be read from the device directly into the destination, and not through the alias? @start
 * to @end are the bytes that the copy reads. A block that the CPU has never used goes straight, because it then takes
 * no host memory; other blocks do so only if the copy needs a part of them. Whole blocks are fetched, so that another
 * copy finds them.
 */
static bool goes_straight(const struct adsm_object *object, uint32_t b, size_t start, size_t end)
{
	size_t at = (size_t)b << object->blocks.shift;
	bool whole = at >= start && at + adsm_run_size(object, b, 1) <= end;

	return adsm_blocks_lack(&object->blocks, b) &&
		(!whole || !(object->blocks.at[b].flags & ADSM_BLOCK_BACKED));
}

/*
 * How many of the next bytes of the source are copied in one way: bytes that are read straight from the device (at most
 * @limit), or the bytes before those. The result is only true while the lock is held: states may change after it.
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

/*
 * Of the bytes from @start to @end, how many of the first ones only the device has; or else, in the first block, how
 * many the CPU has.
 */
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

/*
 * Copy bytes of an object to memory that is not a view. Bytes that only the device has come directly from there; the
 * states of blocks do not change. Returns -ESTALE if a call has moved the object to another device meanwhile.
 */
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

		if (!adsm_object_is_at(object, home)) {
			error = -ESTALE;
			break;
		}
		if (!object->live || object->freeing || object->generation != generation) {
			error = -EINVAL;
			break;
		}
		/* Look again each time: another thread may have fetched some of them. */
		r.size = on_one_side(object, at, end, &device);
		if (object->blocks.at[at >> object->blocks.shift].flags & ADSM_BLOCK_BUSY) {
			adsm_home_wait(home);
			continue;
		}
		if (device && adsm_object_writer(object)) {
			error = adsm_wait_unlocked(home, adsm_object_writer(object), &old);
			continue;
		}
		if (device && adsm_object_lost(object)) {
			error = -ENODEV;
			break;
		}
		object->blocks.n_busy++;	/* no call begins and no thread frees it meanwhile */
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
	struct adsm_io output = { .vector = &from, .n = 1, .within = true };
	struct adsm_io input __attribute__((cleanup(adsm_io_cleanup))) = { .vector = &to, .n = 1, .within = true };
	int error = 0;

	/* In this order: if both share a block, the fetch for the output
	 * must come before the input, whose bytes a fetch leaves out. */
	if (part->from && !straight)
		error = adsm_io_begin_output(&output, &from, 1, from_room);
	if (!error && part->to)
		error = adsm_io_begin_input(&input, &to, 1, to_room);
	if (!error && (output.refused || input.refused))
		error = -EFAULT;	/* the object changed after the copy began */
	do
		error = !error && straight ? read_straight(copy, part, input.vector->iov_base, size) : error;
	while (error == -ESTALE && !(error = 0));
	if (!error && !straight)
		adsm_copy_run(copy, input.vector->iov_base, output.vector->iov_base, size);
	if (!error)
		error = adsm_io_end(&input, size);
	return error ? io_failed(copy->in_handler, error, size, copy->dst) : (long)size;
}
