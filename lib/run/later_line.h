/* SPDX-License-Identifier: MIT */
/* later_line.h - calls by ranges, as later.c enters and makes them, and later_end.c looks at them. */
#ifndef ADSM_LATER_LINE_H
#define ADSM_LATER_LINE_H

#include "core/home.h"
#include "once/once.h"
#include "run/kernel.h"

#define ADSM_LATER_AT_ONCE 3	/* calls of a line: one copies what it reads, one computes, one is brought back */

struct adsm_later_range {
	struct adsm_once_object *object;	/* taken */
	size_t first, count;		/* units */
	bool sets;
	adsmArg *arg;			/* what the kernel gets for it */
	void *buffer;			/* the device's, while the call runs */
};

/* What the calls of a line do in their order, one at a time. */
enum adsm_later_turn { ADSM_LATER_MEMORY, ADSM_LATER_START, ADSM_LATER_END, ADSM_LATER_TURNS };

struct adsm_later {
	struct adsm_later *next;
	uint64_t number;		/* in its line, from 0 */
	bool held, goes_on;		/* held: it waits for its turn; goes_on: while who asks has the lock */
	bool failed;			/* it sets nothing any more */
	enum adsm_later_turn waits_for;
	adsmKernel *kernel;
	adsmDim grid, block;
	const void *where;
	adsmArg args[ADSM_ARGS_MAX];
	size_t n_args, n_ranges;
	struct adsm_later_range ranges[ADSM_ARGS_MAX];
	char bytes[];			/* copies of values and constants */
};

/* The calls of a device. Each thread takes one, and goes with it from its wait for units to their being set. */
struct adsm_later_line {
	struct adsm_thread threads[ADSM_LATER_AT_ONCE];
	unsigned n_threads;
	bool stop;
	_Atomic uint32_t word;		/* futex: changes with what follows, and for stop */
	struct adsm_later *first, *last;
	struct adsm_later *next;	/* the first that no thread has taken */
	uint64_t n_entered;
	uint64_t turns[ADSM_LATER_TURNS];	/* the number of the call whose turn it is */
};

extern struct adsm_later_line adsm_later_lines[ADSM_MAX_DEVICES];
extern struct adsm_mutex adsm_later_mutex;	/* of all lines */
extern _Atomic uint32_t adsm_later_ended;	/* futex: changes when a call has ended */

/* Is there a call that may set it, or one of those that go on? Lock held. */
bool adsm_later_comes(const struct adsm_once_object *object, size_t unit, bool goes_on);

#endif
