/* SPDX-License-Identifier: MIT */
/* life.c - the variables of life.h, and what becomes of shared memory in the child of a fork. */
#include "core/life.h"

#include "core/arena.h"
#include "core/objects.h"
#include "core/shared.h"

struct adsm_life adsm_life;
void (*_Atomic adsm_life_child)(void);
_Thread_local bool adsm_serving;

void adsm_become_child(void)
{
	void (*child)(void) = atomic_load(&adsm_life_child);

	atomic_store(&adsm_life.state, ADSM_CHILD);
	atomic_store(&adsm_shared_range.size, 0);
	adsm_arena_child();
	adsm_objects_child();
	if (child)
		child();
}
