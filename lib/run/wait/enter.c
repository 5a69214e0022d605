/* SPDX-License-Identifier: MIT */
/* enter.c - from an address to its object, locked. */
#include "run/wait/enter.h"

#include <errno.h>

#include "base/log.h"
#include "core/life.h"
#include "once/once.h"

struct adsm_object *adsm_object_enter(const void *p, struct adsm_sigset *ret_old)
{
	struct adsm_object *object;

	adsm_os_signals_block(ret_old);
	object = adsm_is_child() ? NULL : adsm_object_lock((uintptr_t)p);
	if (!object)
		adsm_os_signals_restore(ret_old);
	return object;
}

struct adsm_object *adsm_enter_range(const void *p, size_t size, struct adsm_sigset *ret_old)
{
	struct adsm_object *object = adsm_object_enter(p, ret_old);
	bool inside = object && !object->device_only && !object->freeing && size &&
		(uintptr_t)p - object->start < object->size &&
		size <= object->size - ((uintptr_t)p - object->start);
	bool device_only;

	if (inside)
		return object;
	device_only = object && object->device_only;
	if (object)
		adsm_home_unlock(object->home, ret_old);
	if (device_only)
		adsm_fail(-EINVAL, "%p is device-only memory: the CPU has no copy of it", p);
	else if (adsm_once_at((uintptr_t)p))
		adsm_fail(-EINVAL, "%p is in a write-once object: its units move when they are set and read", p);
	else
		adsm_fail(-EINVAL, "%zu bytes at %p are not inside one live object", size, p);
	return NULL;
}
