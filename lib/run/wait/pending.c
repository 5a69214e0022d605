/* SPDX-License-Identifier: MIT */
/* pending.c - see pending.h. */
#include "run/wait/pending.h"

#include <string.h>

struct adsm_pending adsm_pendings[ADSM_MAX_DEVICES];

static int query(struct adsm_home *home, uint64_t seq, int *ret_status)
{
	return home->device->backend->event_query(home->device, adsm_pending_call(home, seq)->event, ret_status);
}

bool adsm_outcome_get(struct adsm_home *home, uint64_t seq, struct adsm_outcome *ret_outcome)
{
	struct adsm_sigset old;

	adsm_home_lock(home, &old);
	*ret_outcome = adsm_pending_of(home)->outcomes[seq % ADSM_OUTCOMES];
	adsm_home_unlock(home, &old);
	return ret_outcome->seq == seq;
}

void adsm_pending_init(struct adsm_home *home)
{
	memset(adsm_pending_of(home), 0, sizeof(struct adsm_pending));
	adsm_call_query = query;
}
