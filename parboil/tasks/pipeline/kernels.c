/* SPDX-License-Identifier: MIT */
/*
 * pipeline - blocks of numbers pass through stages. Each worker has some of the stages, and gives each block on to the
 * next worker, in one of two places. Of each place of each block a flag says that it is full, and one that it is free.
 */
#include <adsm_kernel.h>

#define STAGES 384
#define PLACES 2
#define NUMBERS 1024			/* of a block: 4 KiB */

#ifdef ADSM_TASKS
#define PLACE(worker, block) (&between[((long)(worker) * PLACES + (block) % PLACES) * NUMBERS])
/* The block of this number is on its way from the worker to the next one; it has left the place there. */
#define FULL(worker, block) (2 * ((worker) * n_blocks + (block)))
#define FREE(worker, block) (FULL(worker, block) + 1)

ADSM_FUNCTION void work(unsigned *numbers, int first, int end)
{
	for (int stage = first; stage < end; stage++)
		for (int i = 0; i < NUMBERS; i++)
			numbers[i] = (numbers[i] ^ numbers[i] >> 15) * (2 * (unsigned)stage + 3) + (unsigned)i;
}
#endif

ADSM_TASK(pipeline, ADSM_IN(unsigned, given), ADSM_OUT(unsigned, made), ADSM_INOUT(unsigned, between),
	  ADSM_VAL(int, n_blocks))
{
	const int me = ADSM_WORKER, last = ADSM_N_WORKERS - 1;
	const int first = STAGES * me / ADSM_N_WORKERS, end = STAGES * (me + 1) / ADSM_N_WORKERS;
	unsigned mine[NUMBERS];

	for (int block = 0; block < n_blocks; block++) {
		const ADSM_SPACE_GLOBAL unsigned *from = &given[(long)block * NUMBERS];
		ADSM_SPACE_GLOBAL unsigned *to = me < last ? PLACE(me, block) : &made[(long)block * NUMBERS];

		if (me) {
			from = PLACE(me - 1, block);
			ADSM_FLAG_WAIT(FULL(me - 1, block));
		}
		for (int i = 0; i < NUMBERS; i++)
			mine[i] = ADSM_READ(&from[i]);
		if (me && block + PLACES < n_blocks)
			ADSM_FLAG_SET(FREE(me - 1, block));
		work(mine, first, end);
		if (me < last && block >= PLACES)
			ADSM_FLAG_WAIT(FREE(me, block - PLACES));
		for (int i = 0; i < NUMBERS; i++)
			ADSM_WRITE(&to[i], mine[i]);
		if (me < last)
			ADSM_FLAG_SET(FULL(me, block));
	}
}
