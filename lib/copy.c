/* SPDX-License-Identifier: MIT */
/*
 * copy.c - bulk copies and fills of shared memory, and explicit copies of device-only memory.
 *
 * The CPU's side of a bulk copy goes through a small buffer on the stack: ordinary memory is touched with
 * no lock held (it may be anything: a bad address, another library's lazily mapped file), shared memory
 * through the alias with the lock held, so that no call can come in between.
 */
#include <errno.h>
#include <string.h>

#include "arena.h"
#include "log.h"
#include "manager.h"
#include "transfer.h"

#define BOUNCE ((size_t)32 << 10)

/* A piece of a range: inside one block of one object, or ordinary memory up to the next object. */
struct piece {
	bool shared;
	size_t size;
};

/* How many bytes from @p on belong together, and to what; @size at most. Errors for device-only memory. */
static int piece_at(const void *p, size_t size, struct piece *ret_piece)
{
	struct adsm_object *object;
	struct adsm_sigset old;
	int error = 0;

	ret_piece->shared = false;
	ret_piece->size = size;
	object = adsm_object_enter(p, &old);
	if (!object) {
		uintptr_t a = (uintptr_t)p;

		/* Ordinary memory ends where the arena begins; inside it there are only objects. */
		if (a >= adsm_arena.base && a - adsm_arena.base < adsm_arena.size)
			return adsm_fail(-EINVAL, "%p is in no live object", p);
		if (a < adsm_arena.base && size > adsm_arena.base - a)
			ret_piece->size = adsm_arena.base - a;
		return 0;
	}
	if (object->device_only || object->freeing || (uintptr_t)p - object->start >= object->size) {
		error = adsm_fail(-EINVAL, "%p is not in a live shared object", p);
	} else {
		size_t offset = (uintptr_t)p - object->start;
		uint32_t b = (uint32_t)(offset >> object->block_shift);
		size_t rest = ((size_t)b << object->block_shift) + adsm_run_size(object, b, 1) - offset;

		ret_piece->shared = true;
		ret_piece->size = rest < size ? rest : size;
	}
	adsm_home_unlock(object->home, &old);
	return error;
}

/* The block of an address, ready for an event, lock held. NULL: error set, nothing held. */
static struct adsm_object *ready(const void *p, size_t size, enum adsm_block_event event,
				 struct adsm_sigset *ret_old, int *ret_error)
{
	struct adsm_object *object = adsm_enter_range(p, size, ret_old);
	uint64_t birth;
	uint32_t b;

	if (!object) {
		*ret_error = -EINVAL;
		return NULL;
	}
	birth = object->birth;
	b = (uint32_t)(((uintptr_t)p - object->start) >> object->block_shift);
	*ret_error = adsm_block_ready(object, b, event, false, ret_old);
	/* Unlike a program's own store, which goes on under a send, this one can as well come after it. */
	while (!*ret_error && event != ADSM_EVENT_READ && (object->blocks[b].flags & ADSM_BLOCK_SENDING)) {
		adsm_home_wait(object->home);
		*ret_error = object->birth != birth ? adsm_fail(-EINVAL, "the object was freed meanwhile") :
			adsm_block_ready(object, b, event, false, ret_old);
	}
	if (!*ret_error)
		return object;
	adsm_home_unlock(object->home, ret_old);
	return NULL;
}

static int load(void *buffer, const char *src, size_t size, bool shared)
{
	struct adsm_object *object;
	struct adsm_sigset old;
	int error;

	if (!shared) {
		memcpy(buffer, src, size);
		return 0;
	}
	object = ready(src, size, ADSM_EVENT_READ, &old, &error);
	if (!object)
		return error;
	memcpy(buffer, adsm_arena_alias((uintptr_t)src), size);
	adsm_home_unlock(object->home, &old);
	return 0;
}

/* @whole: these bytes are all of their block. */
static int store(char *dst, const void *buffer, size_t size, bool shared, bool whole)
{
	struct adsm_object *object;
	struct adsm_sigset old;
	int error;

	if (!shared) {
		memcpy(dst, buffer, size);
		return 0;
	}
	object = ready(dst, size, whole ? ADSM_EVENT_OVERWRITE : ADSM_EVENT_WRITE, &old, &error);
	if (!object)
		return error;
	memcpy(adsm_arena_alias((uintptr_t)dst), buffer, size);
	adsm_home_unlock(object->home, &old);
	return 0;
}

static int device_failed(int error, const char *what, size_t size)
{
	return error ? adsm_fail(error, "the device could not %s %zu bytes: %s", what, size,
				 adsmErrorString(error)) : 0;
}

/* ---- whole blocks on the device */

struct device_write {
	struct adsm_object *dst, *src;
	size_t dst_offset, src_offset, size;
	uint8_t value;
};

static int device_fill(void *arg)
{
	struct device_write *w = arg;

	return w->dst->home->device->backend->fill(w->dst->memory, w->dst_offset, w->value, w->size, NULL);
}

static int device_copy(void *arg)
{
	struct device_write *w = arg;

	return w->dst->home->device->backend->copy(w->dst->memory, w->dst_offset, w->src->memory, w->src_offset,
						   w->size, NULL);
}

/* Wait until no call uses and nothing moves these blocks. Lock held; it may be dropped meanwhile. */
static int quiet(struct adsm_object *object, uint32_t first, uint32_t n, struct adsm_sigset *old)
{
	struct adsm_home *home = object->home;
	uint64_t birth = object->birth;
	int error = 0;

	for (;;) {
		uint64_t seq;
		bool busy = home->gate || object->n_sending;

		if (!object->live || object->freeing || object->birth != birth)
			return adsm_fail(-EINVAL, "the object was freed meanwhile");
		for (uint32_t b = first; b < first + n && !busy; b++)
			busy = object->blocks[b].flags & ADSM_BLOCK_BUSY;
		seq = adsm_object_use_seq(object);
		if (busy) {
			if (!adsm_send_queued(home))
				adsm_home_wait(home);
		} else if (seq > atomic_load(&home->completed)) {
			error = adsm_wait_unlocked(home, seq, old);
			if (error)
				return error;
		} else {
			return 0;
		}
	}
}

/* The run of whole blocks that starts at @p and lies in @size bytes; 0 blocks when there is none. Lock held. */
static uint32_t whole_blocks(const struct adsm_object *object, const void *p, size_t size, uint32_t *ret_first)
{
	size_t offset = (uintptr_t)p - object->start;
	uint32_t first = (uint32_t)(offset >> object->block_shift);
	size_t end = offset + size < object->size ? offset + size : object->size;

	*ret_first = first;
	if (offset & (adsm_block_size(object) - 1))
		return 0;
	if (end == object->size)
		return object->n_blocks - first;
	return (uint32_t)((end >> object->block_shift) - first);
}

static bool any_held(const struct adsm_object *object, uint32_t first, uint32_t n)
{
	for (uint32_t b = first; b < first + n; b++)
		if (object->blocks[b].holds)
			return true;
	return false;
}

/* What the protocol cannot take from the CPU unseen stays there; and with a lost device, all does. Ask once
 * more after waiting: that is when a loss shows. */
static bool may_take(const struct adsm_object *object)
{
	return object->protocol->detects && !object->home->lost_seq;
}

/* Fill whole blocks on the device, where the protocol lets it have them. The bytes done, or an error. */
static long fill_blocks(char *dst, int value, size_t size)
{
	struct adsm_sigset old;
	struct adsm_object *object = adsm_object_enter(dst, &old);
	struct device_write w = { .value = (uint8_t)value };
	uint32_t first, n;
	long result = 0;

	if (!object)
		return adsm_fail(-EINVAL, "%p is in no live object", (void *)dst);
	n = whole_blocks(object, dst, size, &first);
	if (n && may_take(object)) {
		result = quiet(object, first, n, &old);
		if (!result && may_take(object) && !any_held(object, first, n)) {
			w.dst = object;
			w.dst_offset = (size_t)first << object->block_shift;
			w.size = adsm_run_size(object, first, n);
			result = device_failed(adsm_blocks_device_write(object, first, n, device_fill, &w),
					       "fill", w.size);
			if (!result)
				result = (long)w.size;
		}
	}
	adsm_home_unlock(object->home, &old);
	return result;
}

/* Does the device have the current bytes of the whole run? */
static bool device_has(const struct adsm_object *object, size_t offset, size_t size)
{
	uint32_t first = (uint32_t)(offset >> object->block_shift);
	uint32_t last = (uint32_t)((offset + size - 1) >> object->block_shift);

	for (uint32_t b = first; b <= last; b++)
		if (object->blocks[b].state == ADSM_DIRTY ||
		    (object->blocks[b].flags & (ADSM_BLOCK_BUSY | ADSM_BLOCK_QUEUED)))
			return false;
	return !object->n_sending;
}

/* Copy whole blocks from object to object on one device. The bytes done (0: not possible here), or an error. */
static long copy_blocks(char *dst, const char *src, size_t size)
{
	struct adsm_sigset old;
	struct adsm_object *object = adsm_object_enter(dst, &old), *source;
	struct device_write w;
	uint32_t first, n;
	long result = 0;

	if (!object)
		return adsm_fail(-EINVAL, "%p is in no live object", (void *)dst);
	adsm_retire(object->home);
	n = whole_blocks(object, dst, size, &first);
	if (n && may_take(object))
		result = quiet(object, first, n, &old);
	else
		n = 0;
	if (result || !n || !may_take(object) || any_held(object, first, n))
		goto unlock;
	w.size = adsm_run_size(object, first, n);
	/* Both live under one lock, or not on one device. */
	source = adsm_object_find_locked(object->home, (uintptr_t)src);
	if (!source || source == object || source->device_only || source->freeing ||
	    (uintptr_t)src - source->start + w.size > source->size ||
	    adsm_object_use_seq(source) > atomic_load(&object->home->completed) ||
	    !device_has(source, (uintptr_t)src - source->start, w.size))
		goto unlock;
	w.dst = object;
	w.src = source;
	w.dst_offset = (size_t)first << object->block_shift;
	w.src_offset = (uintptr_t)src - source->start;
	source->n_busy++;	/* no call and no free comes in between */
	result = device_failed(adsm_blocks_device_write(object, first, n, device_copy, &w), "copy", w.size);
	source->n_busy--;
	adsm_home_notify(object->home);
	if (!result)
		result = (long)w.size;
unlock:
	adsm_home_unlock(object->home, &old);
	return result;
}

/* ---- the public copies */

/* Does a piece begin and end where its block does? Any answer is right while nobody frees the object. */
static bool is_whole(const char *dst, size_t size)
{
	struct adsm_sigset old;
	struct adsm_object *object = adsm_object_enter(dst, &old);
	uint32_t first;
	bool whole;

	if (!object)
		return false;
	whole = whole_blocks(object, dst, size, &first) >= 1;
	adsm_home_unlock(object->home, &old);
	return whole;
}

int adsm_memcpy(void *to, const void *from, size_t size)
{
	char buffer[BOUNCE];
	const char *src = from;
	char *dst = to;

	while (size) {
		struct piece d, s;
		size_t part;
		bool whole;
		int error = piece_at(dst, size, &d);

		if (!error)
			error = piece_at(src, size, &s);
		if (error)
			return error;
		if (d.shared && s.shared) {
			long done = copy_blocks(dst, src, size);

			if (done < 0)
				return (int)done;
			if (done) {
				dst += done;
				src += done;
				size -= (size_t)done;
				continue;
			}
		}
		if (!d.shared && !s.shared) {
			part = d.size < s.size ? d.size : s.size;
			memcpy(dst, src, part);
			dst += part;
			src += part;
			size -= part;
			continue;
		}
		part = d.size < s.size ? d.size : s.size;
		/* A block longer than the buffer is Dirty after its first part: only then may nothing be fetched. */
		whole = d.shared && is_whole(dst, size < d.size ? size : d.size);
		for (size_t at = 0; at < part; at += BOUNCE) {
			size_t n = part - at < BOUNCE ? part - at : BOUNCE;

			error = load(buffer, src + at, n, s.shared);
			if (!error)
				error = store(dst + at, buffer, n, d.shared, whole && part == d.size);
			if (error)
				return error;
		}
		dst += part;
		src += part;
		size -= part;
	}
	return 0;
}

int adsm_memset(void *to, int value, size_t size)
{
	char buffer[BOUNCE];
	char *dst = to;

	memset(buffer, value, size < BOUNCE ? size : BOUNCE);
	while (size) {
		struct piece d;
		size_t part;
		bool whole;
		int error = piece_at(dst, size, &d);

		if (error)
			return error;
		part = d.size;
		if (!d.shared) {
			memset(dst, value, part);
		} else {
			long done = fill_blocks(dst, value, size);

			if (done < 0)
				return (int)done;
			whole = !done && is_whole(dst, part);
			for (size_t at = 0; at < part && !done; at += BOUNCE) {
				size_t n = part - at < BOUNCE ? part - at : BOUNCE;

				error = store(dst + at, buffer, n, true, whole);
				if (error)
					return error;
			}
			if (done)
				part = (size_t)done;
		}
		dst += part;
		size -= part;
	}
	return 0;
}

/* ---- device-only memory */

/* A range of device-only memory, every call that uses it ended. Nothing is held on return. */
static int device_range(const void *p, size_t size, struct adsm_object **ret_object, size_t *ret_offset)
{
	struct adsm_sigset old;
	struct adsm_object *object = adsm_object_enter(p, &old);
	uint64_t seq;
	bool inside;

	if (!object)
		return adsm_fail(-EINVAL, "%p is not in device-only memory", p);
	*ret_offset = (uintptr_t)p - object->start;
	inside = object->device_only && !object->freeing && *ret_offset <= object->size &&
		size <= object->size - *ret_offset;
	seq = adsm_object_use_seq(object);
	adsm_home_unlock(object->home, &old);
	if (!inside)
		return adsm_fail(-EINVAL, "%zu bytes at %p are not inside one device-only allocation", size, p);
	*ret_object = object;
	return adsm_wait_call(object->home, seq);
}

/* Wait for the last asynchronous copy of a queue; its own error is told to whoever waits for its event. */
static int wait_queue(struct adsm_home *home, uint32_t queue)
{
	struct adsm_device_event event = { queue, atomic_load(&home->async_seq[queue]) };
	int status, error = event.seq ? -EINTR : 0;

	while (error == -EINTR)
		error = home->device->backend->event_wait(home->device, event, &status);
	return error ? adsm_fail(error, "cannot wait for an asynchronous copy") : 0;
}

int adsm_wait_copies(struct adsm_home *home)
{
	int error = 0;

	for (uint32_t q = 0; q < ADSM_N_QUEUES && !error; q++)
		error = wait_queue(home, q);
	return error;
}

static void note_copy(struct adsm_home *home, struct adsm_device_event event)
{
	_Atomic uint64_t *last = &home->async_seq[event.queue];
	uint64_t seq = atomic_load(last);

	while (seq < event.seq && !atomic_compare_exchange_weak(last, &seq, event.seq))
		;
}

static bool is_shared(const void *p)
{
	struct adsm_sigset old;
	struct adsm_object *object = adsm_object_enter(p, &old);

	if (object)
		adsm_home_unlock(object->home, &old);
	return object;
}

/* The host's side is shared memory: no backend may touch its view, so by way of a buffer. */
static int copy_shared(char *dst, const char *src, size_t size, enum adsm_direction direction)
{
	char buffer[BOUNCE];
	int error = 0;

	for (size_t at = 0; at < size && !error; at += BOUNCE) {
		size_t n = size - at < BOUNCE ? size - at : BOUNCE;

		if (direction == ADSM_TO_DEVICE) {
			error = adsm_memcpy(buffer, src + at, n);
			if (!error)
				error = adsm_copy_explicit(dst + at, buffer, n, direction, NULL);
		} else {
			error = adsm_copy_explicit(buffer, src + at, n, direction, NULL);
			if (!error)
				error = adsm_memcpy(dst + at, buffer, n);
		}
	}
	return error;
}

int adsm_copy_explicit(void *dst, const void *src, size_t size, enum adsm_direction direction,
		       adsmEvent *ret_event)
{
	const void *device = direction == ADSM_TO_DEVICE ? dst : src;
	const struct adsm_backend *backend;
	struct adsm_device_event event;
	struct adsm_object *object;
	uint64_t start;
	size_t offset;
	int error;

	error = device_range(device, size, &object, &offset);
	if (error || !size)
		return error;
	if (is_shared(direction == ADSM_TO_DEVICE ? src : dst)) {
		if (!ret_event)
			return copy_shared(dst, src, size, direction);
		return adsm_fail(-EINVAL, "%p is in a shared object: asynchronous copies take ordinary memory",
				 direction == ADSM_TO_DEVICE ? src : dst);
	}
	backend = object->home->device->backend;
	start = adsm_os_now_ns();
	/* On one queue they come in order; what is on another comes before this one too. */
	for (uint32_t q = 0; q < ADSM_N_QUEUES && !error; q++)
		if (!ret_event || q != (direction == ADSM_TO_DEVICE ? ADSM_QUEUE_TO_DEVICE : ADSM_QUEUE_TO_HOST))
			error = wait_queue(object->home, q);
	if (error)
		return error;
	error = direction == ADSM_TO_DEVICE ?
		backend->to_device(object->memory, offset, src, size, ret_event ? &event : NULL) :
		backend->to_host(dst, object->memory, offset, size, ret_event ? &event : NULL);
	if (error)
		return adsm_fail(error, "copying %zu bytes failed: %s", size, adsmErrorString(error));
	if (ret_event) {
		*ret_event = (adsmEvent){ (uint64_t)object->home->index, event.queue, event.seq };
		note_copy(object->home, event);
	}
	if (direction == ADSM_TO_DEVICE) {
		adsm_count(&object->counters, h2d_bytes, size);
		adsm_count(&object->counters, h2d_transfers, 1);
		adsm_count(&object->counters, h2d_ns, adsm_os_now_ns() - start);
	} else {
		adsm_count(&object->counters, d2h_bytes, size);
		adsm_count(&object->counters, d2h_transfers, 1);
		adsm_count(&object->counters, d2h_ns, adsm_os_now_ns() - start);
	}
	return 0;
}

int adsm_copy_device(void *dst, const void *src, size_t size)
{
	struct adsm_object *to, *from;
	size_t to_offset, from_offset;
	int error;

	error = device_range(dst, size, &to, &to_offset);
	if (!error)
		error = device_range(src, size, &from, &from_offset);
	if (error || !size)
		return error;
	if (to->home != from->home)
		return adsm_fail(-EINVAL, "%p and %p are on two devices", dst, src);
	error = adsm_wait_copies(to->home);
	if (error)
		return error;
	return device_failed(to->home->device->backend->copy(to->memory, to_offset, from->memory, from_offset,
							     size, NULL), "copy", size);
}

int adsm_fill_device(void *dst, int value, size_t size)
{
	struct adsm_object *object;
	size_t offset;
	int error = device_range(dst, size, &object, &offset);

	if (error || !size)
		return error;
	error = adsm_wait_copies(object->home);
	if (error)
		return error;
	return device_failed(object->home->device->backend->fill(object->memory, offset, (uint8_t)value, size,
								 NULL), "fill", size);
}

int adsm_event_wait(adsmEvent event)
{
	struct adsm_device_event e = { (uint32_t)event.queue, event.seq };
	struct adsm_home *home;
	int status = 0, error;

	if (event.queue >= ADSM_N_QUEUES || !event.seq || event.device > INT32_MAX)
		return adsm_fail(-EINVAL, "not an event of an asynchronous copy");
	error = adsm_home_get((int)event.device, &home);
	if (error)
		return error;
	do
		error = home->device->backend->event_wait(home->device, e, &status);
	while (error == -EINTR);
	if (!error)
		error = status;
	return error ? adsm_fail(error, "an asynchronous copy failed: %s", adsmErrorString(error)) : 0;
}
