/* SPDX-License-Identifier: MIT */
/* api/prefetch.c - the public functions of adsm_prefetch.h. */
#include "adsm_prefetch.h"
#include "api/told.h"
#include "run/call/moves.h"
#include "run/copy/discard.h"
#include "run/copy/prefetcher.h"

int adsmPrefetch(const void *p, size_t size, int device, adsmEvent *ret_event)
{
	return ADSM_AFTER_LOOK_BACK(adsm_prefetch(p, size, device, ret_event, adsm_moves_ahead,
						   __builtin_return_address(0)));
}

int adsmDiscard(void *p, size_t size)
{
	return ADSM_AFTER_LOOK_BACK(adsm_discard(p, size));
}

int adsmAdvise(const void *p, size_t size, int advice)
{
	return ADSM_AFTER_START(adsm_advise(p, size, advice));
}
