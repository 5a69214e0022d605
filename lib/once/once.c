/* SPDX-License-Identifier: MIT */
/* once.c - see once.h. */
#include "once/once.h"

#include <errno.h>

#include "base/log.h"

_Atomic(struct adsm_once_object *) adsm_once_objects;
_Atomic(struct adsm_once_table *) adsm_once_table;
_Atomic uint32_t adsm_once_busy, adsm_once_in_calls[ADSM_MAX_DEVICES];
struct adsm_mutex adsm_once_mutex = ADSM_MUTEX_INIT(ADSM_RANK_ONCE);

struct adsm_once_object *adsm_once_of(const adsmOnce *once)
{
	struct adsm_once_object *object = once ? adsm_once_at((uintptr_t)once->address) : NULL;

	if (object && object->handle.flags == once->flags && atomic_load(&object->live))
		return object;
	adsm_fail(-EINVAL, "%p is not a write-once object, or it was freed", (const void *)once);
	return NULL;
}

struct adsm_once_object *adsm_once_of_reader(uintptr_t address)
{
	struct adsm_once_object *object = atomic_load(&adsm_once_objects);

	while (object && !(atomic_load(&object->live) &&
			   address - (uintptr_t)object->handle.data < object->stand_in.span))
		object = object->next;
	return object;
}

struct adsm_once_object *adsm_once_take(uintptr_t address)
{
	struct adsm_once_object *object = adsm_once_at(address);

	if (!object || object->stand_in.start != address)
		return NULL;
	atomic_fetch_add(&object->users, 1);
	if (atomic_load(&object->live) && !atomic_load(&object->closing))
		return object;
	adsm_once_give(object);
	return NULL;
}

void adsm_once_child(void)
{
	for (struct adsm_once_object *o = atomic_load(&adsm_once_objects); o; o = o->next) {
		void *p;

		if (!atomic_load(&o->live))
			continue;
		adsm_os_reserve((uintptr_t)o->handle.data, 2 * o->stand_in.span, &p);
		if (!adsm_os_reserve((uintptr_t)o->shared, o->shared_size, &p))
			adsm_os_protect(p, o->shared_size, ADSM_PROT_RW);
	}
}
