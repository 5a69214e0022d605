/* SPDX-License-Identifier: MIT */
/* hold.c - ranges that stay accessible. An object with such a range cannot be used by a call. */
#include "run/touch/hold.h"

#include <errno.h>
#include <stdlib.h>

#include "base/log.h"
#include "core/block.h"
#include "core/limits.h"
#include "core/observe.h"
#include "run/wait/enter.h"
#include "run/wait/wait.h"

struct adsm_hold {
	struct adsm_hold *next;
	uintptr_t start;
	size_t size;
};

static void drop_holds(struct adsm_object *object, uint32_t first, uint32_t end)
{
	for (uint32_t b = first; b < end; b++)
		if (!--object->blocks.at[b].holds && adsm_is_paged(object))
			adsm_observer->advice_hold(object, b, false);
	object->blocks.n_holds--;
	adsm_evict_now(object->home);
}

static int hold_blocks(struct adsm_object *object, size_t offset, size_t size, unsigned access,
		       struct adsm_sigset *old)
{
	uint32_t first = (uint32_t)(offset >> object->blocks.shift);
	uint32_t last = (uint32_t)((offset + size - 1) >> object->blocks.shift);

	object->blocks.n_holds++;	/* from here on no call can use the object */
	/* The limit is one less than the type's maximum: an access itself holds the blocks that it opens. */
	for (uint32_t b = first; b <= last; b++) {
		size_t start = (size_t)b << object->blocks.shift;
		bool covered = offset <= start && offset + size >= start + adsm_run_size(object, b, 1);
		enum adsm_block_event event = access == ADSM_ACCESS_IN ? ADSM_EVENT_READ :
			access == ADSM_ACCESS_OUT && covered ? ADSM_EVENT_OVERWRITE : ADSM_EVENT_WRITE;
		int error = object->blocks.at[b].holds >= UINT16_MAX - 1 ?
			adsm_fail(-EBUSY, "block %u of %s has too many holds", b, ADSM_THE_OBJECT(object)) :
			adsm_blocks_ready(object, b, 1, event, true, old);

		if (!error && adsm_is_paged(object) && adsm_observer->advice_hold(object, b, true))
			error = adsm_fail(-ENOMEM, "block %u of %s: the process has no memory mappings "
					  "left (vm.max_map_count)", b, ADSM_THE_OBJECT(object));
		if (error) {
			drop_holds(object, first, b);
			return error;
		}
		object->blocks.at[b].holds++;
	}
	return 0;
}

/* The program itself may have closed pages. */
static int check_limits(const struct adsm_object *object, size_t offset, size_t size, unsigned access)
{
	const enum adsm_prot needed = access == ADSM_ACCESS_IN ? ADSM_PROT_READ : ADSM_PROT_RW;
	const size_t allowed = adsm_is_limited(object) ? adsm_limits_allow(object, offset, size, needed) : size;

	return allowed >= size ? 0 : adsm_fail(-EFAULT, "the program has closed %p by mprotect()",
					       (void *)(object->start + offset + allowed));
}

int adsm_hold(const void *p, size_t size, unsigned access, const void *where)
{
	struct adsm_hold *hold;
	struct adsm_object *object;
	struct adsm_sigset old;
	int error;

	if (access < ADSM_ACCESS_IN || access > ADSM_ACCESS_INOUT)
		return adsm_fail(-EINVAL, "access %u is not ADSM_ACCESS_IN, ADSM_ACCESS_OUT or ADSM_ACCESS_INOUT",
				 access);
	hold = malloc(sizeof(*hold));
	if (!hold)
		return -ENOMEM;
	object = adsm_enter_range(p, size, &old);
	if (!object) {
		free(hold);
		return -EINVAL;
	}
	adsm_because(ADSM_WHY_HOLD, where, "");
	error = check_limits(object, (uintptr_t)p - object->start, size, access);
	if (!error)
		error = hold_blocks(object, (uintptr_t)p - object->start, size, access, &old);
	adsm_because(ADSM_WHY_OTHER, NULL, "");
	if (!error) {
		*hold = (struct adsm_hold){ object->holds, (uintptr_t)p, size };
		object->holds = hold;
	}
	adsm_home_unlock(object->home, &old);
	if (error)
		free(hold);
	return error;
}

int adsm_unhold(const void *p, size_t size)
{
	struct adsm_object *object;
	struct adsm_hold **at, *hold;
	struct adsm_sigset old;

	object = adsm_enter_range(p, size, &old);
	if (!object)
		return -EINVAL;
	at = &object->holds;
	while (*at && ((*at)->start != (uintptr_t)p || (*at)->size != size))
		at = &(*at)->next;
	hold = *at;
	if (hold) {
		size_t offset = (uintptr_t)p - object->start;

		*at = hold->next;
		drop_holds(object, (uint32_t)(offset >> object->blocks.shift),
			   (uint32_t)((offset + size - 1) >> object->blocks.shift) + 1);
	}
	adsm_home_unlock(object->home, &old);
	free(hold);
	return hold ? 0 : adsm_fail(-EINVAL, "%zu bytes at %p are not held", size, p);
}
