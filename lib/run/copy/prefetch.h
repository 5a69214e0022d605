/* SPDX-License-Identifier: MIT */
/* prefetch.h - what a prefetch does to blocks. prefetcher.h has the threads that do it. */
#pragma once

#include "core/object.h"

#define ADSM_PREFETCH_PIECE ((size_t)4 << 20)	/* most bytes of one transfer; a larger block is one piece */

/*
 * Move an object to another home, after the calls up to @last_seq that use it. The caller holds no lock, and signals
 * are blocked.
 *
 * Returns 1; 0 if a later call uses it, it was freed, or it cannot move at the moment; or a negative errno.
 */
typedef int adsm_mover(struct adsm_object *object, uint64_t generation, struct adsm_home *from, struct adsm_home *to,
		       uint64_t last_seq);

/* Bytes that the program wants on one side before it needs them there. */
struct adsm_prefetch {
	struct adsm_prefetch *next;
	struct adsm_object *object;
	struct adsm_home *home;		/* its home; if that has changed, nothing is done */
	struct adsm_home *to;		/* the device that it moves to before; NULL: none */
	adsm_mover *mover;
	uint64_t generation;		/* of the object; if it has changed, the object was freed */
	enum adsm_direction direction;
	size_t offset, size;		/* bytes in the object; size is not 0 */
	/* The last call before the prefetch. A fetch waits for calls up to here. A later call that writes the object
	 * ends the prefetch: what is fetched before it would be old after it. */
	uint64_t last_seq;
	struct adsm_cause cause;
};

/*
 * Send the range's Dirty blocks, after the object has moved if its home is not prefetch->to; or fetch its Invalid
 * blocks and open their views for reading. Blocks that are held are not sent. Only for the library's own threads:
 * signals are blocked. The caller holds no lock.
 *
 * Returns 0 or:
 *   -EINVAL   the object was freed
 *   -ENODEV and others  a transfer or a wait for a call failed
 */
int adsm_prefetch_run(struct adsm_prefetch *prefetch);
