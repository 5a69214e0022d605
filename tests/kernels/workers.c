/* SPDX-License-Identifier: MIT */
/*
 * workers.c - what tests/tasks/random.c and litmus.c have workers do, on any device that has tasks: an interpreter of
 * programs, and small tasks that go wrong where memory is not as consistent as is promised.
 */
#include <adsm_kernel.h>

#include "../tasks/random.h"

#ifdef ADSM_TASKS
typedef ADSM_SPACE_GLOBAL signed char *bytes;

/* A cell: its place and its type. All types can hold its numbers. */
#define AS(type) ((ADSM_SPACE_GLOBAL type *)(memory + (cell & RANDOM_OFFSET)))

ADSM_FUNCTION int get(bytes memory, int cell)
{
	switch (cell >> RANDOM_TYPE) {
	case RANDOM_CHAR: return ADSM_READ(AS(char));
	case RANDOM_SHORT: return ADSM_READ(AS(short));
	case RANDOM_LONG: return (int)ADSM_READ(AS(long));
	case RANDOM_FLOAT: return (int)ADSM_READ(AS(float));
	case RANDOM_DOUBLE: return (int)ADSM_READ(AS(double));
	default: return ADSM_READ(AS(int));
	}
}

ADSM_FUNCTION void put(bytes memory, int cell, int v)
{
	switch (cell >> RANDOM_TYPE) {
	case RANDOM_CHAR: ADSM_WRITE(AS(char), (char)v); break;
	case RANDOM_SHORT: ADSM_WRITE(AS(short), (short)v); break;
	case RANDOM_LONG: ADSM_WRITE(AS(long), (long)v); break;
	case RANDOM_FLOAT: ADSM_WRITE(AS(float), (float)v); break;
	case RANDOM_DOUBLE: ADSM_WRITE(AS(double), (double)v); break;
	default: ADSM_WRITE(AS(int), v); break;
	}
}

/* Until another worker has passed something on by this flag. */
ADSM_FUNCTION void await(ADSM_SPACE_GLOBAL int *flag, int lock)
{
	for (int seen = 0; !seen; ) {
		ADSM_LOCK(lock);
		seen = ADSM_READ(flag);
		ADSM_UNLOCK(lock);
	}
}

ADSM_FUNCTION void post(ADSM_SPACE_GLOBAL int *flag, int lock)
{
	ADSM_LOCK(lock);
	ADSM_WRITE(flag, 1);
	ADSM_UNLOCK(lock);
}
#endif

/* The programs one after the other: each worker runs its own list of operations, and tells what it has read. */
ADSM_TASK(interpret, ADSM_IN(int, code), ADSM_IN(int, starts), ADSM_INOUT(signed char, memory),
	  ADSM_INOUT(int, flags), ADSM_INOUT(int, results), ADSM_VAL(int, n_programs))
{
	for (int p = 0; p < n_programs; p++) {
		const int me = p * ADSM_N_WORKERS + ADSM_WORKER;
		unsigned read = 0;
		int at = ADSM_READ(&starts[me]), op;

		while ((op = ADSM_READ(&code[at])) != RANDOM_END) {
			const int a = ADSM_READ(&code[at + 1]), b = ADSM_READ(&code[at + 2]);

			at += RANDOM_OP;
			switch (op) {
			case RANDOM_READ: read = read * 31 + (unsigned)get(memory, a); break;
			case RANDOM_WRITE: put(memory, a, b); break;
			case RANDOM_COPY: put(memory, a, get(memory, b)); break;
			case RANDOM_ADD: put(memory, a, (get(memory, a) + b) & RANDOM_VALUE); break;
			case RANDOM_LOCK: ADSM_LOCK(a); break;
			case RANDOM_UNLOCK: ADSM_UNLOCK(a); break;
			case RANDOM_POST: post(&flags[a], b); break;
			case RANDOM_AWAIT: await(&flags[a], b); break;
			case RANDOM_SET: ADSM_FLAG_SET(a); break;
			case RANDOM_WAIT: ADSM_FLAG_WAIT(a); break;
			case RANDOM_CLEAR: ADSM_FLAG_CLEAR(a); break;
			case RANDOM_BARRIER: ADSM_ALL_BARRIER; break;
			case RANDOM_FLUSH: ADSM_FLUSH(memory + (a & RANDOM_OFFSET)); break;
			case RANDOM_FLUSH_ALL: ADSM_FLUSH_ALL; break;
			}
		}
		ADSM_WRITE(&results[me], (int)read);
		ADSM_ALL_BARRIER;
	}
}

/* ---- litmus tests: *wrong counts what may not be, by the lock WRONG */

#define FAR 8192			/* ints: on another page, wherever pages are up to 32 KiB */
#define WRONG 99

#ifdef ADSM_TASKS
ADSM_FUNCTION void is_wrong(ADSM_SPACE_GLOBAL int *wrong, int is)
{
	if (!is)
		return;
	ADSM_LOCK(WRONG);
	ADSM_WRITE(wrong, ADSM_READ(wrong) + 1);
	ADSM_UNLOCK(WRONG);
}
#endif

/* Release order: what was written before a release of a lock, on the flag's page and on others, is visible to the next
 * holder. Each worker passes it on to the next, round by round, with its own part added. */
ADSM_TASK(release_order, ADSM_INOUT(int, a), ADSM_VAL(int, n_rounds), ADSM_INOUT(int, wrong))
{
	for (int i = 0; i < n_rounds; i++) {
		const int turn = i * ADSM_N_WORKERS + ADSM_WORKER;
		int now;

		do {
			ADSM_LOCK(1);
			now = ADSM_READ(&a[0]);
			ADSM_UNLOCK(1);
		} while (now != turn);
		is_wrong(wrong, ADSM_READ(&a[1]) != turn || ADSM_READ(&a[FAR]) != 2 * turn ||
			 ADSM_READ(&a[2 * FAR + 1]) != 3 * turn);
		ADSM_WRITE(&a[1], turn + 1);
		ADSM_WRITE(&a[FAR], 2 * turn + 2);
		ADSM_WRITE(&a[2 * FAR + 1], 3 * turn + 3);
		ADSM_LOCK(1);
		ADSM_WRITE(&a[0], turn + 1);
		ADSM_UNLOCK(1);
	}
}

/* A stale read after an acquire: what was read under the lock before, others have changed under it since. */
ADSM_TASK(stale_read, ADSM_INOUT(int, a), ADSM_VAL(int, n_rounds), ADSM_INOUT(int, wrong))
{
	int last = 0;

	for (int i = 0; i < n_rounds; i++) {
		int x, y;

		ADSM_LOCK(2);
		x = ADSM_READ(&a[0]);
		y = ADSM_READ(&a[FAR]);
		is_wrong(wrong, x != y || x < last);
		last = x + 1;
		ADSM_WRITE(&a[0], x + 1);
		ADSM_WRITE(&a[FAR], y + 1);
		ADSM_UNLOCK(2);
	}
}

/* Workers that write to the same line, a byte each: no byte is lost. The first worker reads all of them. */
ADSM_TASK(one_line, ADSM_INOUT(char, a), ADSM_VAL(int, n_rounds), ADSM_INOUT(int, wrong))
{
	for (int i = 0; i < n_rounds; i++) {
		ADSM_WRITE(&a[ADSM_WORKER], (char)((i + ADSM_WORKER) % 100));
		ADSM_ALL_BARRIER;
		for (int w = 0; w < ADSM_N_WORKERS; w++)
			is_wrong(wrong, ADSM_READ(&a[w]) != (i + w) % 100);
		ADSM_ALL_BARRIER;
	}
}

/* Two locks, and what they guard beside each other. */
ADSM_TASK(two_locks, ADSM_INOUT(int, a), ADSM_VAL(int, n_rounds))
{
	const int which = ADSM_WORKER % 2;

	for (int i = 0; i < n_rounds; i++) {
		ADSM_LOCK(3 + which);
		ADSM_WRITE(&a[which], ADSM_READ(&a[which]) + 1);
		ADSM_UNLOCK(3 + which);
	}
}

/* What was written leaves a worker's cache because there is no room, and under the lock comes back to all. */
ADSM_TASK(eviction, ADSM_INOUT(int, a), ADSM_VAL(int, n), ADSM_VAL(int, stride), ADSM_INOUT(int, wrong))
{
	for (int w = 0; w < ADSM_N_WORKERS; w++) {
		ADSM_LOCK(5);
		for (int i = 0; i < n; i++)
			ADSM_WRITE(&a[i * stride], ADSM_READ(&a[i * stride]) + 1);
		ADSM_UNLOCK(5);
	}
	ADSM_ALL_BARRIER;
	for (int i = 0; i < n; i++)
		is_wrong(wrong, ADSM_READ(&a[i * stride]) != ADSM_N_WORKERS * ADSM_N_WORKERS);
}

/* Flags in a ring: what was written before a flag was set is visible to the worker that waited for it, and what others
 * wrote before that, too. Each worker clears its flag before it passes the turn on. */
ADSM_TASK(ring, ADSM_INOUT(int, a), ADSM_VAL(int, n_rounds), ADSM_INOUT(int, wrong))
{
	const int me = ADSM_WORKER, n = ADSM_N_WORKERS;

	for (int i = 0; i < n_rounds; i++) {
		const int turn = i * n + me;

		if (turn)
			ADSM_FLAG_WAIT(me);
		ADSM_FLAG_CLEAR(me);
		is_wrong(wrong, ADSM_READ(&a[0]) != turn || ADSM_READ(&a[1 + me]) != i ||
			 ADSM_READ(&a[1 + (me + n - 1) % n]) != i + (me > 0) || ADSM_READ(&a[FAR]) != 2 * turn);
		ADSM_WRITE(&a[0], turn + 1);
		ADSM_WRITE(&a[1 + me], i + 1);
		ADSM_WRITE(&a[FAR], 2 * turn + 2);
		ADSM_FLAG_SET((me + 1) % n);
	}
}

/* One flag for all: each waits for a flag of its own from all others, without a barrier. A flag stays set. */
ADSM_TASK(all_flags, ADSM_INOUT(int, a), ADSM_VAL(int, n_rounds), ADSM_INOUT(int, wrong))
{
	const int me = ADSM_WORKER, n = ADSM_N_WORKERS;

	for (int i = 0; i < n_rounds; i++) {
		ADSM_WRITE(&a[me], i + 1);
		ADSM_FLAG_SET(i * n + me);
		for (int w = 0; w < n; w++) {
			ADSM_FLAG_WAIT(i * n + (me + w) % n);
			is_wrong(wrong, ADSM_READ(&a[(me + w) % n]) < i + 1);
		}
	}
}

/* Numbers through places of which each has two flags: it is full, it is free. */
ADSM_TASK(pipe, ADSM_INOUT(int, a), ADSM_VAL(int, n_items), ADSM_INOUT(int, wrong))
{
	const int me = ADSM_WORKER, last = ADSM_N_WORKERS - 1, places = 3;

	for (int i = 0; i < n_items; i++) {
		const int place = i % places;
		int v = i;

		if (me) {
			const int full = 2 * ((me - 1) * places + place);

			ADSM_FLAG_WAIT(full);
			ADSM_FLAG_CLEAR(full);
			v = ADSM_READ(&a[(me - 1) * places + place]);
			is_wrong(wrong, v != i + me - 1);
			ADSM_FLAG_SET(full + 1);
			v++;
		}
		if (me < last) {
			const int full = 2 * (me * places + place);

			if (i >= places) {
				ADSM_FLAG_WAIT(full + 1);
				ADSM_FLAG_CLEAR(full + 1);
			}
			ADSM_WRITE(&a[me * places + place], v);
			ADSM_FLAG_SET(full);
		}
	}
}

/* No worker starves: all take the lock until the total and each worker's share are reached. If one never gets the lock,
 * the task does not end. */
ADSM_TASK(fairness, ADSM_INOUT(int, got), ADSM_VAL(int, n_acquires), ADSM_VAL(int, n_each))
{
	int mine = 0, over;

	do {
		int n, n_done;

		ADSM_LOCK(6);
		n = ADSM_READ(&got[0]) + 1;
		ADSM_WRITE(&got[0], n);
		n_done = ADSM_READ(&got[1]) + (++mine == n_each);
		ADSM_WRITE(&got[1], n_done);
		ADSM_WRITE(&got[2 + ADSM_WORKER], mine);
		over = n >= n_acquires && n_done == ADSM_N_WORKERS;
		ADSM_UNLOCK(6);
	} while (!over);
}
