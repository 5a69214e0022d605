/* SPDX-License-Identifier: MIT */
/*
 * limits.h - limits: what the program itself permits of an object's pages by mprotect(). The view never permits more.
 *
 * Limits are not part of the protocol: blocks keep their states, and the view of a page permits the lesser of its
 * block's `view` and its limit. An access beyond a limit is the program's own fault (SIGSEGV, or EFAULT of a system
 * call). Few programs use limits; an object without any has no table.
 */
#pragma once

#include "core/object.h"
#include "engine/engine.h"

/* The limit of the page at @offset. */
static inline enum adsm_prot adsm_limit_at(const struct adsm_object *object, size_t offset)
{
	const _Atomic uint8_t *limits = atomic_load_explicit(&object->limits, memory_order_acquire);

	return limits ? ADSM_PROT_RW - atomic_load(&limits[offset / ADSM_PAGE_SIZE]) : ADSM_PROT_RW;
}

/* Does the object have a table of limits? */
static inline bool adsm_is_limited(const struct adsm_object *object)
{
	return atomic_load_explicit(&object->limits, memory_order_relaxed) != NULL;
}

/* ---- with the lock of the object's home; for a write-once object without any lock */

/* How many of the @size bytes from @offset on, which are in the object, the program lets the CPU access with
 * @needed. */
size_t adsm_limits_allow(const struct adsm_object *object, size_t offset, size_t size, enum adsm_prot needed);
/* From @offset on, and before @end: the number of bytes in whole pages that have the same limit. */
size_t adsm_limits_run(const struct adsm_object *object, size_t offset, size_t end, enum adsm_prot *ret_limit);
/* Like permit() of the object's engine, but no page gets more than its limit. */
int adsm_limits_permit(const struct adsm_object *object, size_t offset, size_t size, enum adsm_prot was,
		       enum adsm_prot now);

/* Make the table that adsm_limits_set() needs; -ENOMEM. */
int adsm_limits_make(struct adsm_object *object);
/* Set the limit of whole pages; the caller changes their view. */
void adsm_limits_set(struct adsm_object *object, size_t offset, size_t size, enum adsm_prot limit);
/* Drop a table that limits nothing. Not for a write-once object, whose table other threads may be reading. */
void adsm_limits_tidy(struct adsm_object *object);
/* The object ends. */
void adsm_limits_drop(struct adsm_object *object);

/* ---- permit() of the object's engine, within the limits */

static inline int adsm_permit(const struct adsm_object *object, size_t offset, size_t size, enum adsm_prot was,
			      enum adsm_prot now)
{
	if (__builtin_expect(now != ADSM_PROT_NONE && adsm_is_limited(object), 0))
		return adsm_limits_permit(object, offset, size, was, now);
	return object->engine->permit((char *)object->start + offset, size, was, now);
}
