/* SPDX-License-Identifier: MIT */
/*
 * use.h - how objects are used: what the CPU accesses and what calls do is played again on simulated objects with other
 * settings. The first of them has the object's own: only where its counters are the true ones are those of the others
 * exact.
 */
#ifndef ADSM_USE_H
#define ADSM_USE_H

#include "observe/sim.h"

/*
 * The simulated objects: as it is, as an input of kernels, from which both is sent early what is of it; without early
 * sends, lazy, rolling by size.
 */
enum {
	ADSM_AS_IS, ADSM_INPUT, ADSM_UNEVICTED, ADSM_LAZY, ADSM_ROLLING, ADSM_N_SIMS = ADSM_ROLLING + 5
};

/* Of the rolling ones. */
static inline size_t adsm_sim_block_size(int i)
{
	return (size_t)4096 << 2 * (i - ADSM_ROLLING);
}

struct adsm_usage {
	struct adsm_home *home;
	_Atomic uint8_t *known;		/* of each page: the device has had it from the CPU */
	_Atomic unsigned inexact;	/* for these, by bits, something happened that is not simulated */
	struct adsm_sim *sims[ADSM_N_SIMS];	/* NULL: the same as another, or no object like that */
	uint32_t n_dirty;		/* of it in the device's sum */
	uint32_t n_calls[ADSM_N_EVENTS];
	_Atomic uint32_t n_writing;	/* calls that may have written it */
	/* what fetches brought */
	_Atomic uint32_t last_seen, n_seen;	/* the last call after which there was one, how many such */
	_Atomic bool changed, unknown;	/* other bytes than the CPU had; something that the CPU never had */
};

/* Sums over the objects of a device. Under its lock. */
struct adsm_use_sums {
	size_t n_dirty, peak;		/* blocks, were none sent early */
	/* What could be Dirty at once, were all objects like this. */
	size_t peaks[ADSM_N_SIMS], peak_bytes[ADSM_N_SIMS];
};

extern struct adsm_use_sums adsm_use_sums[ADSM_MAX_DEVICES];

/* NULL: its views open as always (batch, device-only, out of memory). Records locked, like the others here. */
struct adsm_usage *adsm_use_make(const struct adsm_object *object);
void adsm_use_end(struct adsm_usage *use);
/* The object has been freed: what is known of it stays. */
void adsm_use_freed(struct adsm_usage *use);
/* The counters begin again at 0. */
void adsm_use_reset(struct adsm_usage *use);
/* The true counters and those of a simulated object agree, as far as that is known. */
bool adsm_use_exact(const struct adsm_record *record, int sim);

/* ---- the points (core/observe.h), under the lock of the object's home; object->record->use is not NULL */

/* Where a fault is, before anything else. True: its block is open, now its page is too; that was all. */
bool adsm_use_touch(struct adsm_object *object, uintptr_t address, bool write);
void adsm_use_access(struct adsm_object *object, uint32_t first, uint32_t n, enum adsm_block_event event);
void adsm_use_range(struct adsm_object *object, size_t at, size_t end, bool input);
void adsm_use_bulk(struct adsm_object *object, const struct adsm_bulk *bulk);
void adsm_use_bulk_end(struct adsm_object *object);
void adsm_use_device_wrote(struct adsm_object *object, uint32_t first, uint32_t n);
void adsm_use_inexact(struct adsm_object *object);
void adsm_use_called(struct adsm_object *object, enum adsm_block_event event);
void adsm_use_synced(struct adsm_object *object);
/* Sent early; in vain where they are written again before the next call. */
void adsm_use_evicted(struct adsm_object *object, uint32_t first, uint32_t n);

/* Around a fetch, without the lock: has it brought other bytes than the CPU had? */
void *adsm_use_before_fetch(struct adsm_object *object, size_t offset, size_t size);
void adsm_use_after_fetch(struct adsm_object *object, void *before, size_t offset, size_t size, bool arrived);

#endif
