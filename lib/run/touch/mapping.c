/* SPDX-License-Identifier: MIT */
/* mapping.c - see mapping.h. */
#include "run/touch/mapping.h"

#include <errno.h>

#include "base/log.h"
#include "core/arena.h"
#include "core/shared.h"
#include "core/view.h"
#include "once/wait.h"
#include "run/copy/copy.h"
#include "run/wait/enter.h"
#include "run/copy/part.h"
#include "run/wait/wait.h"

/* ---- what is mapped where */

/* Without a lock. The result stays true while no thread frees the object. */
__attribute__((no_sanitize("thread")))
static bool has_view(const struct adsm_object *object)
{
	return object->once || (object->live && !object->device_only);
}

enum adsm_mapping adsm_mapping_at(uintptr_t start, size_t *size)
{
	const struct adsm_object *object = adsm_index_find(start);
	size_t rest = adsm_index_next(start, *size) - start;
	enum adsm_mapping mapping = ADSM_MAPPING_OTHER;

	if (object) {
		mapping = has_view(object) ? ADSM_MAPPING_OBJECT : ADSM_MAPPING_CLOSED;
		rest = object->start + object->span - start;
	} else if (adsm_arena_has(start)) {
		mapping = ADSM_MAPPING_CLOSED;
		rest = rest < adsm_arena.base + adsm_arena.size - start ? rest :
			adsm_arena.base + adsm_arena.size - start;
	} else if (start < adsm_arena.base && rest > adsm_arena.base - start) {
		rest = adsm_arena.base - start;
	}
	/* The object is just being freed. */
	rest = rest ? rest : ADSM_PAGE_SIZE;
	*size = *size < rest ? *size : rest;
	return mapping;
}

bool adsm_mapping_has(uintptr_t start, size_t size, uintptr_t *ret_object)
{
	bool any = false;

	*ret_object = 0;
	for (size_t part; size; start += part, size -= part) {
		enum adsm_mapping mapping;

		part = size;
		mapping = adsm_mapping_at(start, &part);
		any |= mapping != ADSM_MAPPING_OTHER;
		if (mapping == ADSM_MAPPING_OBJECT) {
			*ret_object = start;
			return true;
		}
	}
	return any;
}

/*
 * As for a system call (io.c), the caller may be a signal handler. Returns NULL if no object contains the whole range.
 */
static struct adsm_object *enter(uintptr_t start, size_t size, struct adsm_sigset *ret_old)
{
	struct adsm_object *object = adsm_object_enter((void *)start, ret_old);

	if (object && (object->device_only || object->freeing || size > object->start + object->span - start)) {
		adsm_home_unlock(object->home, ret_old);
		object = NULL;
	}
	adsm_in_fault += object != NULL;
	return object;
}

static void leave(struct adsm_home *home, const struct adsm_sigset *old)
{
	adsm_in_fault--;
	adsm_home_unlock(home, old);
}

struct adsm_mapping_text adsm_mapping_text(uintptr_t address)
{
	const struct adsm_once_object *once = adsm_once_at(address);
	struct adsm_mapping_text text;
	struct adsm_object *object;
	struct adsm_sigset old;

	if (once) {
		adsm_format(text.text, sizeof(text.text), "offset %zu of the write-once object at %p (%zu units of %zu "
			    "bytes)", address - once->stand_in.start, (void *)once->stand_in.start,
			    once->handle.count, once->handle.size);
		return text;
	}
	object = enter(address, 1, &old);
	if (object) {
		adsm_format(text.text, sizeof(text.text), "offset %zu of %s (%zu bytes)", address - object->start,
			    ADSM_THE_OBJECT(object), object->size);
		leave(object->home, &old);
	} else {
		adsm_format(text.text, sizeof(text.text), "%p", (void *)address);
	}
	return text;
}

/* ---- */

int adsm_mapping_protect(uintptr_t start, size_t size, enum adsm_prot prot)
{
	struct adsm_once_object *once = adsm_once_at(start);
	struct adsm_object *object;
	struct adsm_sigset old;
	int error;

	if (once)
		return adsm_once_limit(once, start - once->stand_in.start, size, prot);
	object = enter(start, size, &old);
	if (!object)
		return -ENOMEM;
	error = adsm_view_limit(object, start - object->start, size, prot);
	leave(object->home, &old);
	return error;
}

/* Returns -ESTALE if a call has moved the object to another device meanwhile. */
static int open_range(uintptr_t start, size_t size, bool write)
{
	struct adsm_sigset old;
	struct adsm_object *object = enter(start, size, &old);
	size_t offset = object ? start - object->start : 0;
	struct adsm_home *home;
	int error = 0;

	if (!object)
		return -EFAULT;
	home = object->home;
	if (adsm_limits_allow(object, offset, size, write ? ADSM_PROT_RW : ADSM_PROT_READ) < size)
		error = -EINVAL;
	for (size_t at = offset; !error && at < offset + size; at = (at | (adsm_block_size(object) - 1)) + 1) {
		uint32_t b = (uint32_t)(at >> object->blocks.shift);

		error = adsm_blocks_ready(object, b, 1, write ? ADSM_EVENT_WRITE : ADSM_EVENT_READ, true, &old);
		if (error && error != -ESTALE)
			error = -EFAULT;
		/* If advice opens pages one by one, open all of the
		 * block's pages. Accesses to them are then not detected. */
		if (!error && adsm_is_paged(object)) {
			adsm_act_inexact(object);
			error = adsm_observer->advice_hold(object, b, true);
		}
	}
	leave(home, &old);
	return error;
}

int adsm_mapping_open(uintptr_t start, size_t size, bool write)
{
	int error;

	do
		error = open_range(start, size, write);
	while (error == -ESTALE);
	return error;
}

bool adsm_mapping_stays(const void *p, size_t size)
{
	uintptr_t start = (uintptr_t)p & ~(ADSM_PAGE_SIZE - 1), end = (uintptr_t)p + size;

	if (!adsm_copy_permitted(p, size, ADSM_PROT_RW, true))
		return false;
	for (size_t part; start < end; start += part) {
		part = end - start;
		if (adsm_mapping_at(start, &part) == ADSM_MAPPING_OBJECT)
			adsm_mapping_open(start, part, false);
	}
	return true;
}

int adsm_mapping_clear(uintptr_t start, size_t size)
{
	const struct adsm_object *object = adsm_shared_at((const char *)start);
	int error;

	if (!object)
		return adsm_once_at(start) ? -EACCES : -ENOMEM;
	/* After the object's size there is only the rest of a page, which belongs to nothing. */
	if (size > object->start + object->size - start)
		size = object->start + object->size - start;
	error = adsm_io_fill((void *)start, 0, size);
	return error == -EFAULT ? -EACCES : error;
}

void *adsm_mapping_memory(uintptr_t start, size_t size, bool locks)
{
	struct adsm_once_object *once = adsm_once_at(start);
	struct adsm_object *object;
	struct adsm_sigset old;
	char *memory;

	if (once)
		return (char *)(uintptr_t)once->handle.data + (start - once->stand_in.start);
	object = enter(start, size, &old);
	if (!object)
		return NULL;
	memory = object->alias + (start - object->start);
	if (locks)
		atomic_store(&object->locked, true);
	leave(object->home, &old);
	return memory;
}
