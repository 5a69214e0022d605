/* SPDX-License-Identifier: MIT */
/*
 * moves.h - calls that use objects of several devices: the objects move to the device of the call. Those that the call
 * only reads stay where they are, and the call uses copies of them (run/call/replicate.h).
 *
 * An object leaves its device as if the device needed the room (run/call/residency.h). Then its home changes
 * (core/resident.h), and the call sends it like an object that comes back.
 *
 * Homes change only between adsm_moves_begin() and adsm_moves_end(), which one thread at a time is between. So the
 * objects and copies that it has gathered stay until its call has begun.
 */
#pragma once

#include "run/call/bind.h"
#include "run/copy/prefetch.h"

void adsm_moves_begin(void);
/* @home: the home of the call. */
void adsm_moves_end(struct adsm_home *home);

/*
 * Move the objects of the pointers to the home of the call, or copy them there: then bound->replicas is true. @where:
 * the code address of the caller. The thread holds no lock, and is between adsm_moves_begin() and adsm_moves_end().
 *
 * Returns 0 or:
 *   -EINVAL        an object cannot move; none has moved
 *   -EBUSY         the same: the object is held, or a system call or a loan is writing it
 *   -ENOMEM        the objects do not fit on the device of the call, and none has moved; or the host has no memory for
 *                  an object
 *   others         errors of adsm_kernel_entry(); none has moved
 *   -EIO, -ENODEV  an object could not be fetched or copied; or the device of the call was lost
 */
int adsm_moves_gather(struct adsm_bound *bound, const void *where);

/* Does the call only read the object, by all pointers to it? Lock of the object's home held. */
bool adsm_moves_only_reads(const struct adsm_bound *bound, const struct adsm_object *object);

/*
 * Move an object for a prefetch. The thread waits for calls before it is between adsm_moves_begin() and
 * adsm_moves_end(), not meanwhile: a call that the program makes there may be what they wait for.
 */
adsm_mover adsm_moves_ahead;
