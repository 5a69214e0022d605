/* SPDX-License-Identifier: MIT */
/* task_text.c - see task_text.h. */
#include "task_text.h"

#include <stdio.h>

#define TOLD 4				/* maximum number of waits for locks, and for flags, that the text lists */

/* Count the workers that are in this state, and find the first one. */
static uint32_t count_waiting(uint32_t n, struct adsm_task_state (*state_of)(uint32_t worker), uint32_t what,
			      uint32_t *ret_first)
{
	uint32_t n_found = 0;

	for (uint32_t i = n; i-- > 0; ) {
		if (state_of(i).waits_for == what) {
			*ret_first = i;
			n_found++;
		}
	}
	return n_found;
}

/* Append to the text, which has @n characters, the workers that wait for flags. Returns the number of characters. */
static int describe_flags(uint32_t n_workers, struct adsm_task_state (*state_of)(uint32_t worker), char *text, int n)
{
	uint32_t n_flags = 0;
	const int before = n;

	for (uint32_t i = 0; i < n_workers; i++) {
		const uint32_t what = state_of(i).waits_for;

		if (!(what & ADSM_TASK_FLAG))
			continue;
		if (n_flags++ < TOLD)
			n += snprintf(text + n, ADSM_PROCESS_TEXT - (size_t)n, "%sworker %u waits for flag %u",
				      n ? ", " : "", i, what & (ADSM_TASK_FLAGS_MAX - 1));
	}
	if (n_flags > TOLD)
		n += snprintf(text + n, ADSM_PROCESS_TEXT - (size_t)n, ", %u more wait for flags", n_flags - TOLD);
	return n - before;
}

void adsm_task_describe_stopped(uint32_t n_workers, struct adsm_task_state (*state_of)(uint32_t worker),
				char text[ADSM_PROCESS_TEXT])
{
	uint32_t n_locks = 0, told = 0, n_found, first;
	int n = 0;

	*text = '\0';
	for (uint32_t i = 0; i < n_workers; i++) {
		const struct adsm_task_state state = state_of(i);

		if (state.waits_for >= ADSM_TASK_LOCKS_MAX)
			continue;
		n_locks++;
		if (!state.holder || told == TOLD)
			continue;
		n += snprintf(text + n, ADSM_PROCESS_TEXT - (size_t)n,
			      "%sworker %u waits for lock %u, which worker %u holds", told ? ", " : "", i,
			      state.waits_for, state.holder - 1);
		told++;
	}
	if (n_locks > told)
		n += snprintf(text + n, ADSM_PROCESS_TEXT - (size_t)n, "%s%u more wait for locks", n ? ", " : "",
			      n_locks - told);
	n += describe_flags(n_workers, state_of, text, n);
	n_found = count_waiting(n_workers, state_of, ADSM_TASK_AT_BARRIER, &first);
	if (n_found)
		n += snprintf(text + n, ADSM_PROCESS_TEXT - (size_t)n, "%sworker %u%s at the barrier", n ? ", " : "",
			      first, n_found > 1 ? " and others wait" : " waits");
	n_found = count_waiting(n_workers, state_of, ADSM_TASK_ENDED, &first);
	if (n_found)
		snprintf(text + n, ADSM_PROCESS_TEXT - (size_t)n, "%s%u of %u have ended", n ? ", " : "", n_found,
			 n_workers);
}

void adsm_task_describe_barrier(uint32_t n_workers, struct adsm_task_state (*state_of)(uint32_t worker),
				char text[ADSM_PROCESS_TEXT])
{
	uint32_t waits = 0, ended = 0;
	const uint32_t n = count_waiting(n_workers, state_of, ADSM_TASK_AT_BARRIER, &waits);

	count_waiting(n_workers, state_of, ADSM_TASK_ENDED, &ended);
	snprintf(text, ADSM_PROCESS_TEXT, "worker %u%s at the barrier, %u of %u in all, but worker %u has ended and "
		 "will not reach it", waits, n > 1 ? " and others wait" : " waits", n, n_workers, ended);
}
