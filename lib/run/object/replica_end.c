/* SPDX-License-Identifier: MIT */
/* replica_end.c - see replica_end.h. */
#include "run/object/replica_end.h"

#include "core/replica.h"
#include "run/wait/wait.h"

static int end_on(struct adsm_home *home, const struct adsm_object *object, bool mine)
{
	struct adsm_replica *replica;
	struct adsm_sigset old;
	int error = 0;

	adsm_home_lock(home, &old);
	adsm_retire(home);
	while (!error && home->replicas && (replica = adsm_replica_find(home, object))) {
		const uint64_t seq = adsm_replica_user(home, replica);

		if (replica->wanted && !mine) {
			adsm_home_wait(home);
		} else if (seq) {
			error = adsm_wait_call_unlocked(home, seq, &old);
		} else {
			adsm_replica_end(home, replica);
		}
	}
	adsm_home_unlock(home, &old);
	return error;
}

int adsm_replicas_end(const struct adsm_object *object, bool mine)
{
	int error = 0;

	for (int i = 0; i < adsm_n_homes && !error; i++)
		error = end_on(&adsm_homes[i], object, mine);
	return error;
}

static int wait_on(struct adsm_home *home, const struct adsm_object *object)
{
	const struct adsm_replica *replica;
	struct adsm_sigset old;
	uint64_t last, seq = 0;
	int error = 0;

	adsm_home_lock(home, &old);
	adsm_retire(home);
	last = home->last_seq;
	do {
		if (seq)
			error = adsm_wait_call_unlocked(home, seq, &old);
		replica = error ? NULL : adsm_replica_find(home, object);
		seq = replica ? adsm_replica_user(home, replica) : 0;
	} while (seq && seq <= last);
	adsm_home_unlock(home, &old);
	return error;
}

int adsm_replicas_wait(const struct adsm_object *object)
{
	int error = 0;

	for (int i = 0; i < adsm_n_homes && !error; i++)
		error = wait_on(&adsm_homes[i], object);
	return error;
}

bool adsm_replicas_end_idle(const struct adsm_object *object)
{
	bool used = false;

	for (int i = 0; i < adsm_n_homes && !used; i++) {
		struct adsm_home *home = &adsm_homes[i];
		struct adsm_replica *replica;
		struct adsm_sigset old;

		adsm_home_lock(home, &old);
		adsm_retire(home);
		while (!used && (replica = adsm_replica_find(home, object))) {
			used = adsm_replica_user(home, replica);
			if (!used)
				adsm_replica_end(home, replica);
		}
		adsm_home_unlock(home, &old);
	}
	return !used;
}
