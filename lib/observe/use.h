/* SPDX-License-Identifier: MIT */
/*
 * use.h - how objects are used: the accesses of the CPU and the calls are repeated on simulated objects with other
 * settings. The first of them has the object's own settings. Only if its counters equal the real ones, the counters of
 * the others are exact.
 */
#pragma once

#include "observe/sim.h"

/*
 * The simulated objects. AS_IS: the real settings. INPUT: an input of kernels. Early sends of the real object are
 * repeated on these two. UNEVICTED: without early sends. LAZY: protocol lazy. ROLLING: protocol rolling with several
 * block sizes.
 */
enum {
	ADSM_AS_IS, ADSM_INPUT, ADSM_UNEVICTED, ADSM_LAZY, ADSM_ROLLING, ADSM_N_SIMS = ADSM_ROLLING + 5
};

/* The block size of a ROLLING one. */
static inline size_t adsm_sim_block_size(int i)
{
	return (size_t)4096 << 2 * (i - ADSM_ROLLING);
}

struct adsm_usage {
	struct adsm_home *home;
	_Atomic uint8_t *known;		/* for each page: the CPU's bytes were sent to the device */
	_Atomic unsigned inexact;	/* by bits of the sims: something happened that is not simulated */
	struct adsm_sim *sims[ADSM_N_SIMS];	/* NULL: the same as another, or not possible */
	uint32_t n_dirty;		/* its share of the device's sum */
	uint32_t n_calls[ADSM_N_EVENTS];
	_Atomic uint32_t n_writing;	/* calls that may have written it */
	/* what fetches have shown */
	_Atomic uint32_t last_seen, n_seen;	/* the last call that was followed by a
						   fetch, and the number of such calls */
	_Atomic bool changed, unknown;	/* other bytes than the CPU had; bytes that the CPU never had */
};

/* Sums over the objects that were allocated on a device. One that has moved is used with another home's lock. */
struct adsm_use_sums {
	_Atomic size_t n_dirty, peak;	/* Dirty blocks without early sends: now, and at most */
	/* The most that could be Dirty at the same time if all objects had these settings. */
	_Atomic size_t peaks[ADSM_N_SIMS], peak_bytes[ADSM_N_SIMS];
};

extern struct adsm_use_sums adsm_use_sums[ADSM_MAX_DEVICES];

/* The bulk copy that this thread does. The caller of adsm_use_act() sets it at its begin and end. */
struct adsm_use_copying {
	const struct adsm_object *object;	/* NULL: none */
	size_t offset, size;
	uint16_t done;			/* the simulated objects that have done it already, by bits */
	bool nested;			/* another one had not ended */
	bool differs;			/* pages may be open that are closed in a simulated object */
};

extern _Thread_local struct adsm_use_copying adsm_use_copying;

/* NULL: its view is opened as usual (batch, device-only, no memory). The records are locked, as for the next
 * functions. */
struct adsm_usage *adsm_use_make(const struct adsm_object *object);
void adsm_use_end(struct adsm_usage *use);
/* The object was freed: the results stay. */
void adsm_use_freed(struct adsm_usage *use);
/* Set the counters to 0. */
void adsm_use_reset(struct adsm_usage *use);
/* Do the real counters and those of a simulated object agree, as far as this is known? */
bool adsm_use_exact(const struct adsm_record *record, int sim);

/*
 * ---- functions of the observer (core/observe.h), with the lock of the object's home; object->record->use is not NULL
 */

/* The CPU has used the page of this thread's fault. */
void adsm_use_touch(const struct adsm_object *object);
void adsm_use_act(const struct adsm_act *act);
/* Blocks are sent early. This was in vain if they are written again before the next call. */
void adsm_use_evicted(struct adsm_object *object, uint32_t first, uint32_t n);

/* Around a fetch, as advice_fetch(): has it brought other bytes than the CPU had? */
void *adsm_use_fetch(struct adsm_object *object, void *before, size_t offset, size_t size, int arrived);
