/* SPDX-License-Identifier: MIT */
/* acts.c - passes on what happens to watched objects: to a recording, and to simulated objects. */
#include "observe/acts.h"

#include "base/log.h"
#include "observe/paged.h"
#include "observe/record.h"
#include "observe/recorder.h"
#include "observe/use.h"

static void note_touch(const struct adsm_object *object)
{
	const struct adsm_touch *touched = adsm_paged_touched();

	adsm_recorder_put(ADSM_REC_TOUCH, touched->write, object->record->id, touched->page * ADSM_PAGE_SIZE, 0);
	if (object->record->use)
		adsm_use_touch(object);
}

bool adsm_acts_touch(struct adsm_object *object, uintptr_t address, bool write)
{
	bool opened = adsm_paged_touch(object, address, write);

	if (opened && !object->record->pages->whole)
		note_touch(object);
	return opened;
}

static void pass_on(const struct adsm_act *act)
{
	adsm_recorder_act(act);
	if (act->object && act->object->record->use)
		adsm_use_act(act);
}

static void begin_bulk(const struct adsm_act *act)
{
	adsm_use_copying = (struct adsm_use_copying){
		.object = act->object, .offset = act->bulk->offset, .size = act->bulk->size,
		.nested = adsm_use_copying.object == act->object,
	};
	pass_on(act);
}

/* Pages that the copy has left open may be closed with other settings: detect their next uses, too. */
static void end_bulk(const struct adsm_act *act)
{
	struct adsm_object *object = act->object;
	const struct adsm_use_copying *copying = &adsm_use_copying;
	bool differs = copying->object == object && (copying->differs || adsm_recorder_runs());

	adsm_use_copying.object = NULL;
	pass_on(act);
	if (differs && adsm_paged_watch(object, copying->offset, copying->size))
		pass_on(&(struct adsm_act){ .kind = ADSM_ACT_INEXACT, .home = adsm_object_home(object),
					    .object = object });
}

void adsm_acts_note(const struct adsm_act *act)
{
	if (act->kind == ADSM_ACT_ACCESS && adsm_paged_touched()->in_fault)
		note_touch(act->object);
	else if (act->kind == ADSM_ACT_ACCESS && (adsm_in_fault || act->event == ADSM_EVENT_SYNC))
		return;			/* syncs are acts of their own */
	else if (act->kind == ADSM_ACT_BULK)
		begin_bulk(act);
	else if (act->kind == ADSM_ACT_BULK_END)
		end_bulk(act);
	else
		pass_on(act);
}

void adsm_acts_evicted(struct adsm_object *object, uint32_t first, uint32_t n)
{
	size_t start = (size_t)first << object->blocks.shift;

	adsm_recorder_put(ADSM_REC_EVICTED, 0, object->record->id, start, start + adsm_run_size(object, first, n));
	if (object->record->use)
		adsm_use_evicted(object, first, n);
}
