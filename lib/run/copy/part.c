/* SPDX-License-Identifier: MIT */
/* part.c - see part.h. */
#include "run/copy/part.h"

#include <errno.h>

#include "base/error.h"
#include "base/log.h"
#include "core/arena.h"
#include "core/index.h"
#include "core/limits.h"
#include "core/shared.h"
#include "run/wait/enter.h"

struct adsm_object *adsm_shared_at(const char *p)
{
	struct adsm_object *object = adsm_index_find((uintptr_t)p);

	return object && object->live && !object->device_only && !object->freeing &&
		(uintptr_t)p - object->start < object->size ? object : NULL;
}

int adsm_copy_part(const char *p, bool in_handler, struct adsm_object **ret_object, size_t *size)
{
	struct adsm_object *object = adsm_shared_at(p);
	uintptr_t a = (uintptr_t)p;
	size_t rest;

	if (object)
		rest = object->start + object->size - a;
	else if (adsm_arena_has(a) || adsm_index_find(a))
		return in_handler ? -EINVAL : adsm_fail(-EINVAL, "%p is not in a live shared object", (void *)a);
	else if (a < adsm_arena.base && *size > adsm_arena.base - a)
		rest = adsm_index_next(a, adsm_arena.base - a) - a;
	else
		rest = adsm_index_next(a, *size) - a;
	*ret_object = object;
	*size = *size < rest ? *size : rest;
	return 0;
}

int adsm_copy_check(const char *start, size_t total, bool in_handler)
{
	const struct adsm_object *inside = NULL;
	const char *p = start;
	size_t left = total, size;

	if (total > PTRDIFF_MAX || (uintptr_t)start > UINTPTR_MAX - total)
		return in_handler ? -EINVAL :
			adsm_fail(-EINVAL, "%zu bytes at %p are more than the address space", total, start);
	if (!adsm_may_be_shared(start, total))
		return 0;
	for (; left; p += size, left -= size) {
		struct adsm_object *object;
		int error;

		size = left;
		error = adsm_copy_part(p, in_handler, &object, &size);
		if (!error && inside && !object)
			error = -EINVAL;
		if (error && inside && !in_handler)
			adsm_fail(error, "%zu bytes at %p are not inside live objects: the one at %p has %zu bytes",
				  total, start, (void *)inside->start, inside->size);
		if (error)
			return error;
		inside = object;
	}
	return 0;
}

/* Count, under the lock, the bytes from @p on that the program permits. */
static size_t allowed_at(const char *p, size_t size, enum adsm_prot needed)
{
	struct adsm_sigset old;
	struct adsm_object *object = adsm_object_enter(p, &old);
	size_t offset, part, allowed = size;

	if (!object)
		return size;
	offset = (uintptr_t)p - object->start;
	part = size < object->span - offset ? size : object->span - offset;
	allowed = adsm_limits_allow(object, offset, part, needed);
	adsm_home_unlock(object->home, &old);
	return allowed < part ? allowed : size;
}

int adsm_copy_permitted(const char *p, size_t size, enum adsm_prot needed, bool in_handler)
{
	while (size && adsm_may_be_shared(p, size)) {
		size_t next = adsm_index_next((uintptr_t)p, size) - (uintptr_t)p, part = next ? next : size, allowed;
		const struct adsm_object *object = adsm_shared_at(p);

		/* This takes no lock unless the object is limited. */
		if (object)
			part = object->start + object->span - (uintptr_t)p;
		part = part < size ? part : size;
		allowed = object && adsm_is_limited(object) ? allowed_at(p, part, needed) : part;
		if (allowed < part)
			return in_handler ? -EFAULT :
				adsm_fail(-EFAULT, "the program has closed %p by mprotect()",
					  (const void *)(p + allowed));
		p += part;
		size -= part;
	}
	return 0;
}

size_t adsm_copy_usable(const char *p, size_t size, enum adsm_prot needed)
{
	size_t usable = 0;

	while (usable < size) {
		const struct adsm_object *object = adsm_shared_at(p + usable);
		size_t part, allowed;

		if (!object)
			break;
		part = object->start + object->size - (uintptr_t)(p + usable);
		part = part < size - usable ? part : size - usable;
		allowed = adsm_is_limited(object) ? allowed_at(p + usable, part, needed) : part;
		usable += allowed;
		if (allowed < part)
			break;
	}
	return usable;
}

int adsm_copy_failed(int error, const char *what, size_t size)
{
	return error ? adsm_fail(error, "the device could not %s %zu bytes: %s", what, size,
				 adsm_error_string(error)) : 0;
}
