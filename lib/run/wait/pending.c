/* SPDX-License-Identifier: MIT */
/* pending.c - see pending.h. */
#include "run/wait/pending.h"

#include <string.h>

#include "base/log.h"

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

void adsm_failure_copy(char ret_text[ADSM_FAILURE_TEXT], const char *text)
{
	const size_t length = strnlen(text, ADSM_FAILURE_TEXT - 1);

	memcpy(ret_text, text, length);
	ret_text[length] = 0;
}

void adsm_failure_add(struct adsm_home *home, uint64_t seq, const char *text)
{
	struct adsm_pending *pending = adsm_pending_of(home);
	struct adsm_failure *failure = &pending->failures[pending->n_failures++ % ADSM_FAILURES];

	failure->seq = seq;
	adsm_failure_copy(failure->text, text);
}

void adsm_failure_get(struct adsm_home *home, uint64_t seq, char ret_text[ADSM_FAILURE_TEXT])
{
	const struct adsm_pending *pending = adsm_pending_of(home);
	struct adsm_sigset old;

	ret_text[0] = 0;
	adsm_home_lock(home, &old);
	for (unsigned i = 0; i < ADSM_FAILURES; i++)
		if (pending->failures[i].seq == seq)
			adsm_failure_copy(ret_text, pending->failures[i].text);
	adsm_home_unlock(home, &old);
}

int adsm_failure_tell(const struct adsm_home *home, const char *why, int status)
{
	/* The device's own sentence is the best one. */
	return adsm_fail(status, "a call on device %d failed: %s", home->index,
			 *why ? why : adsm_home_reason(home, status));
}

void adsm_pending_init(struct adsm_home *home)
{
	memset(adsm_pending_of(home), 0, sizeof(struct adsm_pending));
	adsm_call_query = query;
}
