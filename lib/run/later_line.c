/* SPDX-License-Identifier: MIT */
/* later_line.c - see later_line.h. */
#include "run/later_line.h"

struct adsm_later_line adsm_later_lines[ADSM_MAX_DEVICES];
struct adsm_mutex adsm_later_mutex = ADSM_MUTEX_INIT(ADSM_RANK_LATER);
_Atomic uint32_t adsm_later_ended;

static bool sets(const struct adsm_later *call, const struct adsm_once_object *object, size_t unit)
{
	for (size_t i = 0; i < call->n_ranges && !call->failed; i++)
		if (call->ranges[i].sets && call->ranges[i].object == object &&
		    unit - call->ranges[i].first < call->ranges[i].count)
			return true;
	return false;
}

bool adsm_later_comes(const struct adsm_once_object *object, size_t unit, bool goes_on)
{
	for (int i = 0; i < ADSM_MAX_DEVICES; i++)
		for (const struct adsm_later *call = adsm_later_lines[i].first; call; call = call->next)
			if ((call->goes_on || !goes_on) && sets(call, object, unit))
				return true;
	return false;
}
