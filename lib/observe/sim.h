/* SPDX-License-Identifier: MIT */
/*
 * sim.h - simulated objects: what an object's counters would be with other settings. Their blocks use core/blocks.h,
 * which is driven here as core and run drive it. In the library the caller has the lock of the home of the real object.
 * adsm-replay uses this file, too. Only adsm_sim_make() allocates memory.
 */
#pragma once

#include "core/blocks.h"
#include "core/observe.h"

/* A device with simulated objects that share its policies, so that they are sent early as on a real one. */
struct adsm_sim_home {
	struct adsm_policies policies;
	struct adsm_sends sends;
	/* Blocks were sent early. @arg: as here. NULL: not called. */
	void (*evicted)(void *arg, const struct adsm_blocks *blocks, uint32_t first, uint32_t n);
	void *arg;
};

/* What a simulated object is made like. */
struct adsm_sim_shape {
	size_t size;			/* bytes that the program asked for */
	bool unified;
	bool populated;			/* its view is readable from the beginning */
};

struct adsm_sim {
	struct adsm_blocks blocks;
	struct adsm_sim_home *home;	/* NULL: nothing is sent early */
	/* Its own: these blocks are never in a queue of the library's. */
	struct adsm_sends sends;
	_Alignas(16) unsigned char policy[ADSM_POLICY_SIZE];
	uint32_t id;			/* the caller's */
	bool unified;			/* the device uses the CPU's memory */
	_Atomic uint8_t *known;		/* for each page: it was sent; NULL: not noted */
	adsmStats stats;
	size_t peak_bytes;
	uint32_t peak;			/* the largest number of Dirty blocks */
};

/* Make a simulated object. @home: NULL: it has a policy of its own, which has no limits until its init(). NULL: no
 * memory, or the object is too large. */
struct adsm_sim *adsm_sim_make(const struct adsm_sim_shape *shape, const struct adsm_protocol *protocol,
			       size_t block_size, struct adsm_sim_home *home);
/* Free its blocks; its counters stay. */
void adsm_sim_forget(struct adsm_sim *sim);
void adsm_sim_end(struct adsm_sim *sim);

/* The number of Dirty bytes. */
size_t adsm_sim_dirty_bytes(const struct adsm_sim *sim);

/* The CPU accesses a page. */
void adsm_sim_touch(struct adsm_sim *sim, size_t offset, bool write);
/* The CPU may access all of these bytes, with or without faults. */
void adsm_sim_access(struct adsm_sim *sim, size_t at, size_t end, enum adsm_block_event event);
/* Bytes of an input have come, or an output will read bytes. */
void adsm_sim_range(struct adsm_sim *sim, bool input, size_t at, size_t end);
/* Would a bulk copy be left to libc? *ret_open: it would not fault. */
bool adsm_bulk_for_libc(const struct adsm_blocks *blocks, const struct adsm_bulk *bulk, bool *ret_open);
/* Simulate a bulk copy: the first function one that is left to libc, the second any other. In the latter the device
 * fills whole blocks, and everything else is input or output. */
void adsm_sim_touch_all(struct adsm_sim *sim, const struct adsm_bulk *bulk);
void adsm_sim_copy(struct adsm_sim *sim, const struct adsm_bulk *bulk);
/* The device writes these bytes, in whole blocks. */
void adsm_sim_device_write(struct adsm_sim *sim, size_t at, size_t end);
/* Dirty blocks of a range are sent. */
void adsm_sim_send(struct adsm_sim *sim, uint32_t first, uint32_t n);
void adsm_sim_call(struct adsm_sim *sim, enum adsm_block_event event);
/* The calls that may write it have ended. */
void adsm_sim_sync(struct adsm_sim *sim);
