/* SPDX-License-Identifier: MIT */
/* pending.c - see pending.h. */
#include "run/pending.h"

#include <string.h>

struct adsm_pending adsm_pendings[ADSM_MAX_DEVICES];

static int query(struct adsm_home *home, uint64_t seq, int *ret_status)
{
	return home->device->backend->event_query(home->device, adsm_pending_call(home, seq)->event, ret_status);
}

void adsm_pending_init(struct adsm_home *home)
{
	memset(adsm_pending_of(home), 0, sizeof(struct adsm_pending));
	adsm_call_query = query;
}
