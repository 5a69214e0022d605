/* SPDX-License-Identifier: MIT */
/*
 * sim.h - simulated objects: what an object's counters would be with other settings. Their blocks are the library's own
 * automaton (core/blocks.h); here it is driven as core and run drive it. Under the lock of the home of the object that
 * they accompany; nothing allocates but make.
 */
#ifndef ADSM_SIM_H
#define ADSM_SIM_H

#include "core/blocks.h"
#include "core/observe.h"

struct adsm_sim {
	struct adsm_blocks blocks;
	/* Its own: no queue of the library's ever has these blocks. */
	struct adsm_sends sends;
	_Alignas(16) unsigned char policy[ADSM_POLICY_SIZE];
	bool unified;			/* the device reads the CPU's memory */
	_Atomic uint8_t *known;		/* of each page: it has been sent; NULL: that is not noted */
	adsmStats stats;
	size_t peak_bytes;
	uint32_t peak;			/* most blocks Dirty at once */
};

/* One for an object, new like that. @limited: by the policy that the options set. NULL: no memory, or too large. */
struct adsm_sim *adsm_sim_make(const struct adsm_object *object, const struct adsm_protocol *protocol,
			       size_t block_size, bool limited);
/* Its counters stay. */
void adsm_sim_forget(struct adsm_sim *sim);
void adsm_sim_end(struct adsm_sim *sim);

/* The bytes that are Dirty. */
size_t adsm_sim_dirty_bytes(const struct adsm_sim *sim);

/* The CPU uses something in a page. */
void adsm_sim_touch(struct adsm_sim *sim, size_t offset, bool write);
/* It may use all of these bytes, and need not fault. */
void adsm_sim_access(struct adsm_sim *sim, size_t at, size_t end, enum adsm_block_event event);
/* Input has come, output will be read. */
void adsm_sim_range(struct adsm_sim *sim, bool input, size_t at, size_t end);
/* A bulk copy: would it be left to libc? *ret_open: nothing of it would fault. */
bool adsm_sim_for_libc(const struct adsm_sim *sim, const struct adsm_bulk *bulk, bool *ret_open);
/* It is; or it is not: whole blocks are filled by the device, all else is input or output. */
void adsm_sim_touch_all(struct adsm_sim *sim, const struct adsm_bulk *bulk);
void adsm_sim_copy(struct adsm_sim *sim, const struct adsm_bulk *bulk);
/* The device writes these bytes, in whole blocks. */
void adsm_sim_device_write(struct adsm_sim *sim, size_t at, size_t end);
/* What is Dirty in a run of blocks is sent. */
void adsm_sim_send(struct adsm_sim *sim, uint32_t first, uint32_t n);
void adsm_sim_call(struct adsm_sim *sim, enum adsm_block_event event);
/* The calls that may write it have ended. */
void adsm_sim_sync(struct adsm_sim *sim);

#endif
