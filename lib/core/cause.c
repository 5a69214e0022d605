/* SPDX-License-Identifier: MIT */
/* cause.c - why this thread moves bytes. */
#include "core/cause.h"

#include <string.h>

_Thread_local struct adsm_cause adsm_cause;

void adsm_set_cause(enum adsm_why why, const void *where, const char *name)
{
	adsm_cause.why = why;
	adsm_cause.in_libc = false;
	adsm_cause.where = (uintptr_t)where;
	memset(adsm_cause.name, 0, sizeof(adsm_cause.name));
	for (size_t i = 0; name[i] && i < sizeof(adsm_cause.name) - 1; i++)
		adsm_cause.name[i] = name[i];
}
