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
