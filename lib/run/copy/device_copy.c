/* SPDX-License-Identifier: MIT */
/* device_copy.c - see device_copy.h. */
#include "run/copy/device_copy.h"

#include <errno.h>

#include "base/log.h"
#include "core/block.h"
#include "core/observe.h"
#include "core/resident.h"
#include "run/wait/enter.h"
#include "run/wait/wait.h"

struct device_write {
	struct adsm_object *dst, *src;
	const char *host;		/* the source if it is not an object; NULL and no src: a fill */
	size_t dst_offset, src_offset, size;
	uint8_t value;
};

static int device_write(void *arg)
{
	const struct device_write *w = arg;
	const struct adsm_backend *backend = w->dst->home->device->backend;
	uint64_t start = adsm_os_now_ns();
	int error;

	if (w->host) {
		error = backend->to_device(w->dst->memory, w->dst_offset, w->host, w->size, NULL);
		if (!error)
			adsm_note_transfer(w->dst, ADSM_TO_DEVICE, w->dst_offset, w->size, start,
					   adsm_os_now_ns() - start);
		return error;
	}
	return w->src ? backend->copy(w->dst->memory, w->dst_offset, w->src->memory, w->src_offset, w->size, NULL) :
		backend->fill(w->dst->memory, w->dst_offset, w->value, w->size, NULL);
}

/*
 * Wait until no call uses these blocks, no transfer of them runs, and no call may write the source. Lock held; it may
 * be given back meanwhile.
 */
static int quiet(struct adsm_object *object, const struct adsm_object *source, uint32_t first, uint32_t n,
		 struct adsm_sigset *old)
{
	struct adsm_home *home = object->home;
	uint64_t generation = object->generation, source_generation = source ? source->generation : 0;
	int error = 0;

	for (;;) {
		uint64_t seq;
		bool busy;

		/* A call has moved one of them. */
		if (!adsm_object_is_at(object, home) || (source && !adsm_object_is_at(source, home)))
			return -ESTALE;
		seq = adsm_object_user(object);
		busy = home->gate || object->blocks.n_sending;
		if (!object->live || object->freeing || object->generation != generation ||
		    (source && (!source->live || source->freeing || source->generation != source_generation)))
			return adsm_fail(-EINVAL, "the object was freed meanwhile");
		for (uint32_t b = first; b < first + n && !busy; b++)
			busy = object->blocks.at[b].flags & ADSM_BLOCK_BUSY;
		if (!seq && source)
			seq = adsm_object_writer(source);
		if (busy) {
			if (!adsm_send_queued(home))
				adsm_home_wait(home);
		} else if (seq) {
			error = adsm_wait_unlocked(home, seq, old);
			if (error)
				return error;
		} else {
			return 0;
		}
	}
}

/*
 * The CPU copies objects whose accesses are not detected, and all objects after a loss of the device. Ask again after
 * each wait: it may show a loss.
 */
static bool may_take(const struct adsm_object *object)
{
	return object->blocks.detects && !object->home->lost_seq;
}

/* Does the library know everything that the CPU has written? */
static bool is_known(struct adsm_object *object)
{
	uint64_t seq;

	return adsm_object_collect(object, &seq) >= 0 && !seq;
}

/* Does the device have the current bytes of the whole range? */
static bool device_has(const struct adsm_object *object, size_t offset, size_t size)
{
	uint32_t last = (uint32_t)((offset + size - 1) >> object->blocks.shift);

	for (uint32_t b = (uint32_t)(offset >> object->blocks.shift); b <= last; b++)
		if (adsm_blocks_unsent(&object->blocks, b) ||
		    (object->blocks.at[b].flags & (ADSM_BLOCK_BUSY | ADSM_BLOCK_QUEUED | ADSM_BLOCK_SENDING)))
			return false;
	return true;
}

/*
 * Can the device write the bytes of @w in block @b? It can write a part of a block only if the CPU did not write the
 * rest.
 */
static bool can_write(const struct device_write *w, uint32_t b)
{
	const struct adsm_object *dst = w->dst;
	size_t start = (size_t)b << dst->blocks.shift, end = start + adsm_run_size(dst, b, 1);
	size_t from = w->dst_offset > start ? w->dst_offset : start;
	size_t to = w->dst_offset + w->size < end ? w->dst_offset + w->size : end;

	if (dst->blocks.at[b].holds || (adsm_blocks_unsent(&dst->blocks, b) && (from > start || to < end)))
		return false;
	return !w->src || device_has(w->src, w->src_offset + (from - w->dst_offset), to - from);
}

/*
 * How many of @n blocks from @first on the device can write; or, if it cannot write the first, how many of them it
 * cannot write. *w is reduced to these blocks.
 */
static uint32_t same_way(struct device_write *w, uint32_t first, uint32_t n, bool *ret_device)
{
	unsigned shift = w->dst->blocks.shift;
	uint32_t count = 0;
	size_t end;

	for (; count < n; count++) {
		bool device = can_write(w, first + count);

		if (count && (device != *ret_device || (!device && (size_t)count << shift >= ADSM_COPY_STEP)))
			break;
		*ret_device = device;
	}
	end = (size_t)(first + count) << shift;
	if (w->size > end - w->dst_offset)
		w->size = end - w->dst_offset;
	return count;
}

/* Do @w on @n blocks from @first on. @head: bytes of the part before them. Returns like adsm_copy_on_device(). */
static long write_blocks(struct device_write *w, struct adsm_part *part, size_t head, uint32_t first, uint32_t n)
{
	bool device = false;
	uint32_t same = same_way(w, first, n, &device);
	int error;

	if (!device && same < n)
		part->size = head + w->size;
	else if (device && head)
		part->size = head;
	if (!device || head)
		return 0;
	if (w->src)
		w->src->blocks.n_busy++;	/* no call begins and no thread frees it meanwhile */
	error = adsm_blocks_device_write(w->dst, first, same, device_write, w);
	if (w->src) {
		w->src->blocks.n_busy--;
		adsm_home_notify(w->dst->home);
	}
	if (!error)
		return (long)w->size;
	/* The device was lost, or the CPU wrote a block, which was not known before. The CPU then does the part. */
	return error == -ENODEV || error == -EAGAIN ? 0 :
		adsm_copy_failed(error, w->host || w->src ? "copy" : "fill", w->size);
}

long adsm_copy_on_device(const struct adsm_copy *copy, struct adsm_part *part)
{
	struct adsm_sigset old;
	struct adsm_object *object = adsm_object_enter(copy->dst, &old);
	struct adsm_home *home = object ? object->home : NULL;
	struct device_write w = { .dst = object, .value = (uint8_t)copy->value };
	size_t offset, head, end;
	uint32_t first, n;
	long result = 0;

	if (!object)
		return copy->in_handler ? -EINVAL : adsm_fail(-EINVAL, "the object was freed meanwhile");
	adsm_in_fault += copy->in_handler;
	offset = (uintptr_t)copy->dst - object->start;
	head = copy->direct ? 0 : -offset & (adsm_block_size(object) - 1);
	end = offset + part->size;
	if (object != part->to || head >= part->size || !may_take(object))
		goto unlock;
	if (copy->direct || end == object->size)
		end += adsm_block_size(object) - 1;	/* and a part of the next block */
	first = (uint32_t)((offset + head) >> object->blocks.shift);
	n = (uint32_t)(end >> object->blocks.shift) - first;
	/* If the device has no room, the CPU copies. */
	if (!n || !adsm_object_place_for_copy(object))
		goto unlock;
	if (!copy->fill && !part->from) {
		w.host = copy->src;
	} else if (!copy->fill) {
		/* Either both are on one device, and one lock covers both, or the source is not found here. */
		w.src = adsm_object_find_locked(home, (uintptr_t)copy->src);
		if (!w.src || w.src != part->from || !w.src->memory)
			goto unlock;
		w.src_offset = (uintptr_t)copy->src + head - w.src->start;
	}
	adsm_retire(home);
	result = quiet(object, w.src, first, n, &old);
	if (result == -ESTALE) {
		result = 0;	/* the CPU copies */
		goto unlock;
	}
	/* A call may have taken the memory away meanwhile. */
	if (result || !may_take(object) || !object->memory || (w.src && !w.src->memory) || !is_known(object) ||
	    (w.src && !is_known(w.src)))
		goto unlock;
	w.dst_offset = offset + head;
	w.size = part->size - head;
	result = write_blocks(&w, part, head, first, n);
unlock:
	adsm_in_fault -= copy->in_handler;
	adsm_home_unlock(home, &old);
	return result;
}
