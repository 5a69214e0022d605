/* SPDX-License-Identifier: MIT */
/*
 * residency.h - device memory for the objects of a call. If the device has no room for them, the call displaces other
 * objects: first kept memory is freed, then the objects that calls have not used for the longest time move to the host
 * (core/resident.h).
 */
#pragma once

#include "run/call/bind.h"

/* Returns the bytes that the host has available for objects; tests replace it. */
extern uint64_t (*adsm_residency_available)(void);

/*
 * Find the objects of the pointers, as adsm_bind_objects() does, and get them device memory. The caller has the home's
 * call mutex, so no other call takes the memory away. @old: the signal mask from taking the lock, which may be given
 * back.
 *
 * Returns 0, the errors of adsm_bind_objects(), or:
 *   -EAGAIN   without a sentence, only if bound->yields: a call between adsm_moves_begin() and adsm_moves_end() keeps
 *             the memory until then
 *   -ENOMEM   the objects of the call do not fit, and nothing has changed; or the host has no memory for an object that
 *             should move there
 *   -EIO, -ENODEV  an object could not be moved to the host
 */
int adsm_bind_resident(struct adsm_bound *bound, struct adsm_sigset *old);

#define ADSM_RESIDENCY_PIECE ((size_t)16 << 20)

/*
 * One step of moving an object to the host. The caller has the home's lock, and its call mutex if no call may begin
 * meanwhile. The lock may be given back; @old: the signal mask from taking it. @seq: a call that the step has to wait
 * for; 0: none. @piece: the most bytes of one fetch, if a block is not larger: other threads can use the object between
 * two. *@fetched grows by the bytes that were fetched.
 *
 * Returns 0 if the caller must look again, because the lock was given back; 1 if the host has all bytes, no transfer
 * uses the object, and @seq is 0; or:
 *   -ENOMEM        the host has no memory for the object
 *   -EIO, -ENODEV  the object could not be fetched
 */
int adsm_residency_step(struct adsm_object *object, uint64_t seq, size_t piece, size_t *fetched,
			struct adsm_sigset *old);

/*
 * Could @home get memory for @size bytes of objects from elsewhere, and for the call's objects that are there? No lock
 * is held. @waits: the answer is exact, but the thread may wait until other threads have taken or freed memory, as long
 * as a kernel runs on @home. Otherwise such memory counts as free.
 */
bool adsm_residency_could_fit(const struct adsm_bound *bound, struct adsm_home *home, uint64_t size, bool waits);
