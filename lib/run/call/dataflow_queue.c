/* SPDX-License-Identifier: MIT */
/* dataflow_queue.c - see dataflow_queue.h. */
#include "run/call/dataflow_queue.h"

struct adsm_dataflow_queue adsm_dataflow_queues[ADSM_MAX_DEVICES];
struct adsm_mutex adsm_dataflow_mutex = ADSM_MUTEX_INIT(ADSM_RANK_DATAFLOW);
_Atomic uint32_t adsm_dataflow_ended;

static bool sets(const struct adsm_dataflow_call *call, const struct adsm_once_object *object, size_t unit)
{
	for (size_t i = 0; i < call->n_ranges && !call->failed; i++)
		if (call->ranges[i].sets && call->ranges[i].object == object &&
		    unit - call->ranges[i].first < call->ranges[i].count)
			return true;
	return false;
}

bool adsm_dataflow_comes(const struct adsm_once_object *object, size_t unit, bool goes_on)
{
	for (int i = 0; i < ADSM_MAX_DEVICES; i++)
		for (const struct adsm_dataflow_call *call = adsm_dataflow_queues[i].first; call; call = call->next)
			if ((call->goes_on || !goes_on) && sets(call, object, unit))
				return true;
	return false;
}
