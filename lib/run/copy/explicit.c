/* SPDX-License-Identifier: MIT */
/* explicit.c - explicit copies of device-only memory. */
#include "run/copy/explicit.h"

#include <errno.h>
#include <sys/uio.h>

#include "base/error.h"
#include "base/log.h"
#include "core/shared.h"
#include "core/observe.h"
#include "run/wait/coalesced.h"
#include "run/wait/enter.h"
#include "run/copy/event.h"
#include "run/copy/io.h"
#include "run/copy/part.h"
#include "run/wait/pending.h"
#include "run/wait/wait.h"

/* Find a range of device-only memory. *@ret_seq is a call that uses it, or 0. No lock is held on return. */
static int find_range(const void *p, size_t size, struct adsm_object **ret_object, size_t *ret_offset,
		      uint64_t *ret_seq)
{
	struct adsm_sigset old;
	struct adsm_object *object = adsm_object_enter(p, &old);
	bool inside;

	if (!object)
		return adsm_fail(-EINVAL, "%p is not in device-only memory", p);
	*ret_offset = (uintptr_t)p - object->start;
	inside = object->device_only && !object->freeing && *ret_offset <= object->size &&
		size <= object->size - *ret_offset;
	*ret_seq = adsm_object_user(object);
	*ret_object = object;
	adsm_home_unlock(object->home, &old);
	if (!inside)
		return adsm_fail(-EINVAL, "%zu bytes at %p are not inside one device-only allocation", size, p);
	return 0;
}

/* The same, and wait for every call that uses the range. */
static int device_range(const void *p, size_t size, struct adsm_object **ret_object, size_t *ret_offset)
{
	uint64_t seq;
	int error;

	do {
		error = find_range(p, size, ret_object, ret_offset, &seq);
		if (!error)
			error = adsm_wait_call((*ret_object)->home, seq);
	} while (!error && seq);
	return error;
}

/* Wait for the last asynchronous copy of a queue. The copy's own error is reported by adsmEventWait(). */
static int wait_queue(struct adsm_home *home, uint32_t queue)
{
	struct adsm_device_event event = { queue, atomic_load(&adsm_pending_of(home)->async_seq[queue]) };
	int status, error = event.seq ? adsm_wait_event(home, event, &status) : 0;

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
	_Atomic uint64_t *last = &adsm_pending_of(home)->async_seq[event.queue];
	uint64_t seq = atomic_load(last);
	struct adsm_sigset old;

	while (seq < event.seq && !atomic_compare_exchange_weak(last, &seq, event.seq))
		;
	/* Later calls wait for the copy, so they cannot join the present one. */
	adsm_home_lock(home, &old);
	adsm_coalesced_close(home);
	adsm_home_unlock(home, &old);
}

/* The host range is shared memory. A backend must not touch its view, so it gets the alias. */
static int copy_shared(char *dst, const char *src, size_t size, enum adsm_direction direction)
{
	bool out = direction == ADSM_TO_DEVICE;
	int error = adsm_copy_check(out ? src : dst, size, false);

	if (!error)
		error = adsm_copy_permitted(out ? src : dst, size, out ? ADSM_PROT_READ : ADSM_PROT_RW, false);
	while (!error && size) {
		struct iovec whole = { out ? (char *)src : dst, size }, room[ADSM_IO_ROOM(1)];
		struct adsm_object *object;
		struct adsm_io io __attribute__((cleanup(adsm_io_cleanup))) = { .vector = &whole, .n = 1 };

		error = adsm_copy_part(whole.iov_base, false, &object, &whole.iov_len);
		if (error)
			return error;
		if (object)
			error = (out ? adsm_io_begin_output : adsm_io_begin_input)(&io, &whole, 1, room);
		/* The permissions have changed since. */
		if (!error && (io.refused || io.vector->iov_len < whole.iov_len))
			error = adsm_fail(-EFAULT, "the program has closed a page of %p by mprotect()", whole.iov_base);
		if (!error) {
			void *host = io.vector->iov_base;
			int ended;

			error = adsm_copy_explicit(out ? dst : host, out ? host : (void *)src, whole.iov_len,
						   direction, NULL);
			ended = adsm_io_end(&io, error ? 0 : whole.iov_len);
			error = error ? error : ended;
		}
		if (error)
			return error;
		dst += whole.iov_len;
		src += whole.iov_len;
		size -= whole.iov_len;
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
	if (adsm_may_be_shared(direction == ADSM_TO_DEVICE ? src : dst, size)) {
		if (!ret_event)
			return copy_shared(dst, src, size, direction);
		return adsm_fail(-EINVAL, "%p is in a shared object: an asynchronous copy needs ordinary memory",
				 direction == ADSM_TO_DEVICE ? src : dst);
	}
	backend = object->home->device->backend;
	start = adsm_os_now_ns();
	/* Copies of one queue are in order. Those of other queues are waited for. */
	for (uint32_t q = 0; q < ADSM_N_QUEUES && !error; q++)
		if (!ret_event || q != (direction == ADSM_TO_DEVICE ? ADSM_QUEUE_TO_DEVICE : ADSM_QUEUE_TO_HOST))
			error = wait_queue(object->home, q);
	if (error)
		return error;
	error = direction == ADSM_TO_DEVICE ?
		backend->to_device(object->memory, offset, src, size, ret_event ? &event : NULL) :
		backend->to_host(dst, object->memory, offset, size, ret_event ? &event : NULL);
	if (error)
		return adsm_fail(error, "copying %zu bytes failed: %s", size, adsm_error_string(error));
	if (ret_event) {
		*ret_event = adsm_event_of_copy(object->home, event);
		note_copy(object->home, event);
	}
	adsm_because(ADSM_WHY_COPY, NULL, "");
	adsm_note_transfer(object, direction, offset, size, start, adsm_os_now_ns() - start);
	adsm_because(ADSM_WHY_OTHER, NULL, "");
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
		return adsm_fail(-EINVAL, "%p and %p are on different devices", dst, src);
	error = adsm_wait_copies(to->home);
	if (error)
		return error;
	return adsm_copy_failed(to->home->device->backend->copy(to->memory, to_offset, from->memory, from_offset,
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
	return adsm_copy_failed(object->home->device->backend->fill(object->memory, offset, (uint8_t)value, size,
								 NULL), "fill", size);
}
