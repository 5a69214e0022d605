/* SPDX-License-Identifier: MIT */
/* object.c - the object of an address, and the list of open objects of each home. */
#include "core/object.h"

#include "base/log.h"

struct adsm_object *adsm_object_find_locked(struct adsm_home *home, uintptr_t address)
{
	struct adsm_object *object = adsm_index_find(address);

	if (object && adsm_object_is_at(object, home) && object->live && address - object->start < object->span)
		return object;
	return NULL;
}

struct adsm_object *adsm_object_lock_again(struct adsm_object *object, struct adsm_home *home, uintptr_t address)
{
	for (;;) {
		const bool here = adsm_object_home(object) == home;

		if (here && object->moving) {
			adsm_home_wait(home);
			continue;
		}
		if (here && object->live && address >= object->start && address - object->start < object->span)
			return object;
		adsm_unlock(&home->lock);
		object = here ? NULL : adsm_index_find(address);
		if (!object)
			return NULL;
		home = adsm_object_home(object);
		adsm_lock(&home->lock);
	}
}

void adsm_object_list_open(struct adsm_object *object)
{
	struct adsm_home *home = object->home;

	atomic_store(&home->coalesces, false);
	object->open = true;
	object->open_prev = NULL;
	object->open_next = home->open;
	if (home->open)
		home->open->open_prev = object;
	home->open = object;
}

void adsm_object_mark_closed(struct adsm_object *object)
{
	if (!object->open)
		return;
	object->open = false;
	if (object->open_prev)
		object->open_prev->open_next = object->open_next;
	else
		object->home->open = object->open_next;
	if (object->open_next)
		object->open_next->open_prev = object->open_prev;
}

struct adsm_object_text adsm_object_text(const struct adsm_object *object)
{
	struct adsm_object_text text;

	if (*object->name)
		adsm_format(text.text, sizeof(text.text), "the object '%s' at %p", object->name,
			    (void *)object->start);
	else
		adsm_format(text.text, sizeof(text.text), "the object at %p", (void *)object->start);
	return text;
}
