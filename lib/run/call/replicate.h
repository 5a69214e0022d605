/* SPDX-License-Identifier: MIT */
/*
 * replicate.h - makes replicas (core/replica.h): copies of objects on the device of a call that only reads them. The
 * thread is between adsm_moves_begin() and adsm_moves_end().
 */
#pragma once

#include "core/object.h"

struct adsm_range {
	size_t offset, size;		/* bytes of an object */
};

/* A replica for a part of a call that writes the object (split.h). No other call uses its bytes. */
struct adsm_rows {
	const struct adsm_range *ranges;	/* what the part writes, and all that it may read */
	size_t n;
	bool sends;			/* it needs their bytes */
	struct adsm_memory *memory;	/* the result: the replica's */
};

/* Can calls on @to use a replica of the object? Otherwise it moves. The caller holds the lock of the object's home. */
bool adsm_replicate_can(const struct adsm_object *object, const struct adsm_home *to);
/*
 * Make a replica on @to with the object's bytes, or find the one that has them. From now on it is wanted. @from: the
 * object's home. @rows: it is written; NULL: it is only read. No lock is held.
 *
 * Returns 0; 1 if the object must move instead, or was freed; or:
 *   -EBUSY         a range of the object is held, or a system call or a loan is writing it
 *   -ENOMEM        the host has no memory
 *   -EIO, -ENODEV  the bytes could not be copied
 */
int adsm_replicate(struct adsm_object *object, uint64_t generation, struct adsm_home *from, struct adsm_home *to,
		   struct adsm_rows *rows);
/* Has @home a replica with the object's bytes, as far as is known? No lock is held. */
bool adsm_replicate_has(struct adsm_home *home, struct adsm_object *object);
