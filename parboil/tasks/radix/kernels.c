/* SPDX-License-Identifier: MIT */
/*
 * radix - numbers are sorted digit by digit. Each worker counts the digits of its part of the numbers. Where each
 * worker's numbers of each digit begin is found in a tree of workers, up and down, by flags: no worker waits for all.
 */
#include <adsm_kernel.h>

#define DIGITS 1024
#define SHIFT 10

#ifdef ADSM_TASKS
/* Workers @worker and the next 2^@level - 1 are a part of the tree, and have a row of counts. */
#define ROW(level, worker) (&counts[((long)(level) * ADSM_N_WORKERS + (worker)) * DIGITS])
#define UP(worker) (worker)
#define DOWN(worker) (ADSM_N_WORKERS + (worker))

ADSM_FUNCTION void count(const ADSM_SPACE_GLOBAL unsigned *from, int first, int end, int shift,
			 ADSM_SPACE_GLOBAL int *row)
{
	int mine[DIGITS];

	for (int d = 0; d < DIGITS; d++)
		mine[d] = 0;
	for (int i = first; i < end; i++)
		mine[ADSM_READ(&from[i]) >> shift & (DIGITS - 1)]++;
	for (int d = 0; d < DIGITS; d++)
		ADSM_WRITE(&row[d], mine[d]);
}

/* Add up the parts that begin with this worker. Returns the level of the largest of them. */
ADSM_FUNCTION int go_up(ADSM_SPACE_GLOBAL int *counts)
{
	const int me = ADSM_WORKER;
	int level = 0;

	for (; 1 << level < ADSM_N_WORKERS && !(me >> level & 1); level++) {
		const int other = me + (1 << level);
		const ADSM_SPACE_GLOBAL int *left = ROW(level, me), *right = ROW(level, other);
		ADSM_SPACE_GLOBAL int *sum = ROW(level + 1, me);

		if (other < ADSM_N_WORKERS) {
			ADSM_FLAG_WAIT(UP(other));
			ADSM_FLAG_CLEAR(UP(other));
		}
		for (int d = 0; d < DIGITS; d++)
			ADSM_WRITE(&sum[d], ADSM_READ(&left[d]) +
				   (other < ADSM_N_WORKERS ? ADSM_READ(&right[d]) : 0));
	}
	if (me)
		ADSM_FLAG_SET(UP(me));
	return level;
}

/* The places of the numbers of all digits: of this worker, in @mine, and of the parts that begin with others. */
ADSM_FUNCTION void go_down(ADSM_SPACE_GLOBAL int *counts, ADSM_SPACE_GLOBAL int *places, int level, int *mine)
{
	const int me = ADSM_WORKER;
	int sum = 0;

	if (me) {
		ADSM_FLAG_WAIT(DOWN(me));
		ADSM_FLAG_CLEAR(DOWN(me));
	}
	for (int d = 0; d < DIGITS; d++) {
		mine[d] = me ? ADSM_READ(&places[(long)me * DIGITS + d]) : sum;
		sum += me ? 0 : ADSM_READ(&ROW(level, 0)[d]);
	}
	while (level-- > 0) {
		const int other = me + (1 << level);

		if (other >= ADSM_N_WORKERS)
			continue;
		for (int d = 0; d < DIGITS; d++)
			ADSM_WRITE(&places[(long)other * DIGITS + d], mine[d] + ADSM_READ(&ROW(level, me)[d]));
		ADSM_FLAG_SET(DOWN(other));
	}
}
#endif

ADSM_TASK(radix, ADSM_INOUT(unsigned, a), ADSM_INOUT(unsigned, b), ADSM_INOUT(int, counts), ADSM_INOUT(int, places),
	  ADSM_VAL(int, n), ADSM_VAL(int, n_digits))
{
	const int first = (int)((long)n * ADSM_WORKER / ADSM_N_WORKERS);
	const int end = (int)((long)n * (ADSM_WORKER + 1) / ADSM_N_WORKERS);

	for (int digit = 0; digit < n_digits; digit++) {
		ADSM_SPACE_GLOBAL unsigned *from = digit % 2 ? b : a, *to = digit % 2 ? a : b;
		int mine[DIGITS];

		count(from, first, end, digit * SHIFT, ROW(0, ADSM_WORKER));
		go_down(counts, places, go_up(counts), mine);
		for (int i = first; i < end; i++) {
			const unsigned v = ADSM_READ(&from[i]);

			ADSM_WRITE(&to[mine[v >> digit * SHIFT & (DIGITS - 1)]++], v);
		}
		ADSM_ALL_BARRIER;
	}
}
