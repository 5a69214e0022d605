/* SPDX-License-Identifier: MIT */
/* once.c - kernels that use write-once objects: stages of a scan, random units, and what no kernel may do. */
#include "adsm_kernel.h"

#define UNIT 256

/* Block b: the exclusive scan of unit b, and its sum. */
ADSM_KERNEL(scan_units, ADSM_ONCE_IN(int, input), ADSM_ONCE(int, partial), ADSM_ONCE(int, sums))
{
	const ADSM_SPACE_GLOBAL int *in = ADSM_GET(input, ADSM_BLOCK_X);
	ADSM_SPACE_GLOBAL int *out = ADSM_FRESH(partial, ADSM_BLOCK_X);
	ADSM_SPACE_GLOBAL int *sum = ADSM_FRESH(sums, ADSM_BLOCK_X);

	ADSM_THREADS {
		int s = 0;

		if (ADSM_THREAD)
			continue;
		for (int i = 0; i < UNIT; i++) {
			out[i] = s;
			s += in[i];
		}
		*sum = s;
	}
	ADSM_BARRIER;
	ADSM_SET(sums, ADSM_BLOCK_X);
	ADSM_SET(partial, ADSM_BLOCK_X);
}

ADSM_KERNEL(add_units, ADSM_ONCE_IN(int, partial), ADSM_ONCE_IN(int, scanned), ADSM_ONCE(int, result))
{
	const ADSM_SPACE_GLOBAL int *in = ADSM_GET(partial, ADSM_BLOCK_X);
	const ADSM_SPACE_GLOBAL int *sum = ADSM_GET(scanned, ADSM_BLOCK_X);
	ADSM_SPACE_GLOBAL int *out = ADSM_FRESH(result, ADSM_BLOCK_X);

	ADSM_THREADS {
		out[ADSM_THREAD] = in[ADSM_THREAD] + *sum;
	}
	ADSM_BARRIER;
	ADSM_SET(result, ADSM_BLOCK_X);
}

/* Each block waits for the one before it: only blocks that begin in their order end. */
ADSM_KERNEL(chain, ADSM_ONCE(int, units))
{
	int before = ADSM_BLOCK_X ? *ADSM_GET(units, ADSM_BLOCK_X - 1) : 0;
	ADSM_SPACE_GLOBAL int *own = ADSM_FRESH(units, ADSM_BLOCK_X);

	ADSM_THREADS {
		if (!ADSM_THREAD)
			*own = before + 1;
	}
	ADSM_BARRIER;
	ADSM_SET(units, ADSM_BLOCK_X);
}

/* All wait for the last block, which computes that number of additions first. It begins only if other threads run
 * it. */
ADSM_KERNEL(wait_for_last, ADSM_ONCE(unsigned, units), ADSM_VAL(unsigned, additions))
{
	int last = ADSM_GRID_DIM_X - 1;
	volatile unsigned value = 0;
	ADSM_SPACE_GLOBAL unsigned *own;

	if (ADSM_BLOCK_X == last)
		while (value < additions)
			value++;
	else
		value = *ADSM_GET(units, last);
	own = ADSM_FRESH(units, ADSM_BLOCK_X);
	ADSM_THREADS {
		if (!ADSM_THREAD)
			*own = value;
	}
	ADSM_BARRIER;
	ADSM_SET(units, ADSM_BLOCK_X);
}

/* splitmix64, as tests/once/once.h has it. */
ADSM_FUNCTION unsigned long next_number(unsigned long state)
{
	unsigned long z = state;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ul;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebul;
	return z ^ (z >> 31);
}

/* Block b computes unit first + b * stride, of up to three units before it. */
ADSM_KERNEL(random_units, ADSM_ONCE(unsigned, units), ADSM_VAL(unsigned, first), ADSM_VAL(unsigned, stride))
{
	unsigned long unit = first + (unsigned long)ADSM_BLOCK_X * stride;
	unsigned long state = unit * 0x5851f42d4c957f2dul + 42;
	unsigned value = (unsigned)unit * 2654435761u + 1;
	ADSM_SPACE_GLOBAL unsigned *own = ADSM_FRESH(units, unit);

	for (int i = 0; i < 3 && unit; i++) {
		state += 0x9e3779b97f4a7c15ul;
		value = value * 31 + *ADSM_GET(units, next_number(state) % unit);
	}
	ADSM_THREADS {
		if (!ADSM_THREAD)
			*own = value;
	}
	ADSM_BARRIER;
	ADSM_SET(units, unit);
}

/* A unit waits for another, and is one more. */
ADSM_KERNEL(follow, ADSM_ONCE_IN(int, from), ADSM_VAL(int, other), ADSM_ONCE(int, to), ADSM_VAL(int, unit))
{
	int value = *ADSM_GET(from, other);
	ADSM_SPACE_GLOBAL int *own = ADSM_FRESH(to, unit);

	ADSM_THREADS {
		if (!ADSM_THREAD)
			*own = value + 1;
	}
	ADSM_BARRIER;
	ADSM_SET(to, unit);
}

/* All wait for a unit of @gate: block 0 for the second, the others for the first. Then block 0 waits for unit @lost,
 * and the others for the unit that block 0 sets after that. */
ADSM_KERNEL(give_up, ADSM_ONCE_IN(int, from), ADSM_VAL(int, lost), ADSM_ONCE(int, gate), ADSM_ONCE(int, to))
{
	int value = *ADSM_GET(gate, !ADSM_BLOCK_X);
	ADSM_SPACE_GLOBAL int *own;

	if (ADSM_BLOCK_X)
		value += *ADSM_GET(to, 0);
	else
		value += *ADSM_GET(from, lost);
	own = ADSM_FRESH(to, ADSM_BLOCK_X);
	ADSM_THREADS {
		if (!ADSM_THREAD)
			*own = value;
	}
	ADSM_BARRIER;
	ADSM_SET(to, ADSM_BLOCK_X);
}

/*
 * @what: 0: set twice; 1: set without a fresh one; 2, 3, 4: get, write, set beyond the end; 5: write what is set;
 * 6: that, and set it; 7, 8: block 0 empties a set unit, or waits for room in it; 9: write 64 bytes behind a page.
 */
ADSM_KERNEL(misuse, ADSM_ONCE(int, units), ADSM_VAL(int, what), ADSM_VAL(int, unit))
{
	if (what == 0) {
		ADSM_SPACE_GLOBAL int *own = ADSM_FRESH(units, unit);

		ADSM_THREADS {
			if (!ADSM_THREAD)
				*own = 1;
		}
		ADSM_BARRIER;
		ADSM_SET(units, unit);
		ADSM_SET(units, unit);
	}
	if (what == 1 || what == 4)
		ADSM_SET(units, unit);
	if (what == 2 && *ADSM_GET(units, unit))
		ADSM_SET(units, 0);
	if (what == 3 || what == 5 || what == 6) {
		ADSM_SPACE_GLOBAL int *own = ADSM_FRESH(units, unit);

		ADSM_THREADS {
			if (!ADSM_THREAD)
				*own = 1;
		}
		ADSM_BARRIER;
		if (what == 6)
			ADSM_SET(units, unit);
	}
	if (what == 9) {
		ADSM_SPACE_GLOBAL int *own = ADSM_FRESH(units, unit);

		ADSM_THREADS {
			if (!ADSM_THREAD)
				own[(4096 + 64) / 4] = 1;
		}
	}
	if ((what == 7 || what == 8) && !ADSM_BLOCK_X && *ADSM_GET(units, unit)) {
		if (what == 7)
			ADSM_EMPTY(units, unit);
		else
			(void)ADSM_ROOM(units, unit);
	}
}

/* Unit @unit is one more than @total, which becomes that, too. */
ADSM_KERNEL(add_to_total, ADSM_INOUT(int, total), ADSM_ONCE(int, units), ADSM_VAL(int, unit))
{
	ADSM_SPACE_GLOBAL int *own = ADSM_FRESH(units, unit);

	ADSM_THREADS {
		if (!ADSM_THREAD)
			*own = ++*total;
	}
	ADSM_BARRIER;
	ADSM_SET(units, unit);
}

/* It empties unit 0 of @from, and computes until the bytes behind that unit are not 0. Then it sets unit 0 of @to. */
ADSM_KERNEL(linger, ADSM_ONCE(int, from), ADSM_ONCE(int, to))
{
	const volatile ADSM_SPACE_GLOBAL int *in = ADSM_GET(from, 0);
	ADSM_SPACE_GLOBAL int *out = ADSM_FRESH(to, 0);

	ADSM_EMPTY(from, 0);
	ADSM_THREADS {
		while (!ADSM_THREAD && !in[UNIT])
			*out = 7;
	}
	ADSM_BARRIER;
	ADSM_SET(to, 0);
}

/* It would set units, if it came to that. */
ADSM_KERNEL(crash_after, ADSM_ONCE_IN(int, trigger), ADSM_VAL(int, unit), ADSM_ONCE(int, units))
{
	int value = *ADSM_GET(trigger, unit);
	volatile ADSM_SPACE_GLOBAL int *nowhere = (volatile ADSM_SPACE_GLOBAL int *)(unsigned long)(value + 8);

	ADSM_THREADS {
		if (!ADSM_THREAD)
			*nowhere = value;
	}
}

#ifdef ADSM_TASKS

/* Unit u of @to is unit u of @from plus unit u - 1 of @to, which another worker sets. All units are counted. */
ADSM_TASK(relay, ADSM_ONCE_IN(int, from), ADSM_ONCE(int, to), ADSM_VAL(int, n), ADSM_INOUT(int, counted))
{
	int done = 0;

	for (int unit = ADSM_WORKER; unit < n; unit += ADSM_N_WORKERS, done++) {
		int value = *ADSM_GET(from, unit) + (unit ? *ADSM_GET(to, unit - 1) : 0);

		*ADSM_FRESH(to, unit) = value;
		ADSM_SET(to, unit);
	}
	ADSM_LOCK(0);
	ADSM_WRITE(counted, ADSM_READ(counted) + done);
	ADSM_UNLOCK(0);
	ADSM_ALL_BARRIER;
	if (ADSM_READ(counted) != n)
		ADSM_UNLOCK(1);
}

/*
 * Worker 0 waits for unit 0 with lock 5. Worker 1 does what @what says. Worker 2 waits for lock 5, the others at the
 * barrier. @what: 0: wait for unit 1; 1: release a lock that it does not hold; 2: set a unit twice; 3: pass a lock to
 * and fro with worker 2, and then set unit 0.
 */
ADSM_TASK(stand, ADSM_ONCE(int, units), ADSM_VAL(int, what), ADSM_VAL(int, n_rounds))
{
	volatile int work = 0;

	if (!ADSM_WORKER)
		ADSM_LOCK(5);
	ADSM_ALL_BARRIER;
	if (!ADSM_WORKER) {
		if (*ADSM_GET(units, 0) < 0)
			return;
		ADSM_UNLOCK(5);
	} else if (ADSM_WORKER == 1 && !what) {
		if (*ADSM_GET(units, 1) < 0)
			return;
	} else if (ADSM_WORKER == 1 && what == 1) {
		ADSM_UNLOCK(6);
	} else if (ADSM_WORKER == 1 && what == 2) {
		*ADSM_FRESH(units, 1) = 1;
		ADSM_SET(units, 1);
		ADSM_SET(units, 1);
	}
	for (int i = 0; what == 3 && ADSM_WORKER && ADSM_WORKER < 3 && i < n_rounds; i++) {
		ADSM_LOCK(6);
		for (int k = 0; k < 1000; k++)
			work += k;
		ADSM_UNLOCK(6);
	}
	if (ADSM_WORKER == 1 && what == 3) {
		*ADSM_FRESH(units, 0) = work >= 0;
		ADSM_SET(units, 0);
	}
	if (ADSM_WORKER == 2) {
		ADSM_LOCK(5);
		ADSM_UNLOCK(5);
	}
	ADSM_ALL_BARRIER;
}
#endif

/* Block b: a number more than in unit first + b, counted around, which is emptied for the next generation. */
ADSM_KERNEL(pass_on, ADSM_ONCE(int, from), ADSM_ONCE(int, to), ADSM_VAL(int, first))
{
	const int unit = (first + ADSM_BLOCK_X) % 1000;
	const ADSM_SPACE_GLOBAL int *in = ADSM_GET(from, unit);
	ADSM_SPACE_GLOBAL int *out = ADSM_ROOM(to, unit);

	ADSM_THREADS {
		out[ADSM_THREAD] = in[ADSM_THREAD] + 1;
	}
	ADSM_BARRIER;
	ADSM_EMPTY(from, unit);
	ADSM_SET(to, unit);
}
