/* SPDX-License-Identifier: MIT */
/* replica_end.h - the end of the replicas of an object (core/replica.h), before it is freed or moves. */
#pragma once

#include "core/object.h"

/*
 * End all replicas of an object, after the calls that use them. No new ones are made meanwhile. @mine: calls that are
 * about to begin use them only if they are this thread's. No lock is held. Returns 0, or a negative errno: waiting
 * failed.
 */
int adsm_replicas_end(const struct adsm_object *object, bool mine);
/* Wait for the calls so far that use a replica of the object. No lock is held. Returns like adsm_replicas_end(). */
int adsm_replicas_wait(const struct adsm_object *object);
/* End the replicas of the object. Returns false if a call uses one. No lock is held, and no new ones are made. */
bool adsm_replicas_end_idle(const struct adsm_object *object);
