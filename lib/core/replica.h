/* SPDX-License-Identifier: MIT */
/*
 * replica.h - replicas: whole copies of objects in the memory of devices that are not their homes, for calls that only
 * read them. run/call/replicate.c makes them.
 *
 * A replica has the version that the object's device bytes had when they were copied. Calls use it while the versions
 * are equal. It ends when its device needs the memory, and when its object is freed or moves.
 *
 * Each home has the list of the replicas on its device. The home's lock guards the list and all fields that say nothing
 * else.
 */
#pragma once

#include "core/object.h"

struct adsm_replica {
	struct adsm_replica *next;	/* a call has used it later */
	const struct adsm_object *object;
	uintptr_t start;		/* the object's, like the sizes */
	size_t size, span;
	struct adsm_memory *memory;	/* NULL: it has none yet */
	bool wanted;			/* a call that is about to begin uses it: it does not end */
	bool placing;			/* a thread is taking its memory */
	bool ending;			/* its memory is being freed */
	/* The object's version, and its last unnamed call, when its bytes were copied. 0: no version. Only the thread
	 * between adsm_moves_begin() and adsm_moves_end() changes them, without a lock. */
	_Atomic uint64_t version, unnamed_seq;
	uint64_t use_seq[ADSM_LANES_MAX];	/* in each lane, the last call that uses it */
};

/* ---- the caller holds the lock of @home, with signals blocked */

/* The replica of a live object, or NULL. Gives the lock away while an earlier one ends. */
struct adsm_replica *adsm_replica_find(struct adsm_home *home, const struct adsm_object *object);
/* The replica that the next call uses and whose pages contain an address, or NULL. */
const struct adsm_replica *adsm_replica_at(const struct adsm_home *home, uintptr_t address);
void adsm_replica_add(struct adsm_home *home, struct adsm_replica *replica);
/* A call that is about to begin uses the replica. */
void adsm_replica_want(struct adsm_home *home, struct adsm_replica *replica);
/* The wanted replica has got memory. */
void adsm_replica_set_memory(struct adsm_home *home, struct adsm_replica *replica, struct adsm_memory *memory);
/* A call that uses the replica and is not known to have ended; 0: there is none. */
uint64_t adsm_replica_user(struct adsm_home *home, const struct adsm_replica *replica);
/* The same for the replicas that are not wanted. */
uint64_t adsm_replicas_user(struct adsm_home *home);
/* Bytes of the memory of replicas that are wanted. */
uint64_t adsm_replicas_wanted(const struct adsm_home *home);
/* The call @seq of @lane has begun, and uses the wanted replicas. */
void adsm_replicas_use(struct adsm_home *home, unsigned lane, uint64_t seq);
/* No call uses the replica. Gives the lock away meanwhile. */
void adsm_replica_end(struct adsm_home *home, struct adsm_replica *replica);

/* ---- no lock is held */

/* The call has begun, or has failed: no replica of the home is wanted any more. */
void adsm_replicas_unwant(struct adsm_home *home);
/* End the replica that calls have not used for the longest time, if no call uses it. False: there is none. Signals are
 * as the caller has them. */
bool adsm_replicas_give_up_oldest(struct adsm_home *home);
/* Bytes of the memory of replicas that are not wanted. */
static inline uint64_t adsm_replicas_size(const struct adsm_home *home)
{
	return atomic_load_explicit(&home->replicas_size, memory_order_relaxed);
}
