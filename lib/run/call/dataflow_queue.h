/* SPDX-License-Identifier: MIT */
/* dataflow_queue.h - calls by ranges: dataflow.c enters and makes them, dataflow_end.c looks at them. */
#pragma once

#include "core/home.h"
#include "once/once.h"
#include "run/object/kernel.h"

#define ADSM_DATAFLOW_AT_ONCE 3	/* calls of a queue at the same time: one copies its
				   input, one computes, one brings its results back */

struct adsm_dataflow_range {
	struct adsm_once_object *object;	/* with a reference */
	size_t first, count;		/* units */
	bool sets;
	adsmArg *arg;			/* the kernel's argument for it */
	void *buffer;			/* on the device, while the call runs */
};

/* A pointer that the call names, other than those to its ranges. */
struct adsm_dataflow_pointer {
	uintptr_t p;
	bool raw;			/* it may be one past the end of an object (bind.h) */
};

/* What the calls of a queue do one after the other. */
enum adsm_dataflow_turn { ADSM_DATAFLOW_MEMORY, ADSM_DATAFLOW_START, ADSM_DATAFLOW_END, ADSM_DATAFLOW_TURNS };

struct adsm_dataflow_call {
	struct adsm_dataflow_call *next;
	uint64_t number;		/* in its queue, from 0 */
	bool held, goes_on;		/* held: it waits for its turn; goes_on: used
					   by find_stuck() while it has the lock */
	bool failed;			/* it will set no unit */
	enum adsm_dataflow_turn waits_for;
	const struct adsm_home *home;
	adsmKernel *kernel;
	adsmDim grid, block;
	const void *where;
	bool known;			/* the call uses only what it names (bind.h) */
	struct adsm_dataflow_pointer *pointers;
	size_t n_pointers, n_args, n_ranges;
	/* These, and copies of values and constants, are in the memory behind the call. */
	adsmArg *args;			/* adsm_bind() checks how many */
	struct adsm_dataflow_range *ranges;
	char *bytes;
};

/*
 * The calls of a device. A thread takes a call and handles it from the wait for its units until its own units are set.
 */
struct adsm_dataflow_queue {
	struct adsm_thread threads[ADSM_DATAFLOW_AT_ONCE];
	unsigned n_threads;
	bool stop;
	_Atomic uint32_t word;		/* futex: changes with the members below, and when stop is set */
	struct adsm_dataflow_call *first, *last;
	struct adsm_dataflow_call *next;	/* the first call that no thread has taken */
	uint64_t n_entered;
	uint64_t turns[ADSM_DATAFLOW_TURNS];	/* the number of the call whose turn it is */
};

extern struct adsm_dataflow_queue adsm_dataflow_queues[ADSM_MAX_DEVICES];
extern struct adsm_mutex adsm_dataflow_mutex;	/* for all queues */
extern _Atomic uint32_t adsm_dataflow_ended;	/* futex: changes when a call has ended */

/* Is there a call that will set the unit? @goes_on: look only at calls with goes_on set. Lock held. */
bool adsm_dataflow_comes(const struct adsm_once_object *object, size_t unit, bool goes_on);
