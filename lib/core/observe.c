/* SPDX-License-Identifier: MIT */
/* observe.c - what the points need of their own: who observes, and what each thread does and has spent. */
#include "core/observe.h"

#include <string.h>

unsigned adsm_observing;
const struct adsm_observer *adsm_observer;
uint64_t adsm_start_ns;
_Thread_local struct adsm_cause adsm_cause;
_Thread_local struct adsm_spent adsm_spent;
_Atomic uint64_t adsm_most_spent_ns;

void adsm_set_cause(enum adsm_why why, const void *where, const char *name)
{
	adsm_cause.why = why;
	adsm_cause.in_libc = false;
	adsm_cause.where = (uintptr_t)where;
	memset(adsm_cause.name, 0, sizeof(adsm_cause.name));
	for (size_t i = 0; name[i] && i < sizeof(adsm_cause.name) - 1; i++)
		adsm_cause.name[i] = name[i];
}
