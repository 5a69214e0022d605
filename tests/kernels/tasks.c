/* SPDX-License-Identifier: MIT */
/* tasks.c - tasks that do what they should, and tasks that do not; and a kernel beside them. */
#include <adsm_kernel.h>

#ifdef ADSM_TASKS
#include "../tasks/bank.h"

/* A function that a task calls knows the worker, too. */
ADSM_FUNCTION void add(ADSM_SPACE_GLOBAL int *total, int v)
{
	ADSM_LOCK(7);
	ADSM_WRITE(total, ADSM_READ(total) + v);
	ADSM_UNLOCK(7);
}
#endif

/* A kernel and a task that change the same numbers in turn. */
ADSM_KERNEL(twice, ADSM_INOUT(int, a), ADSM_VAL(int, n))
{
	ADSM_THREADS {
		if (ADSM_GLOBAL_X < n)
			a[ADSM_GLOBAL_X] *= 2;
	}
}

ADSM_TASK(one_more, ADSM_INOUT(int, a), ADSM_VAL(int, n))
{
	for (int i = ADSM_WORKER; i < n; i += ADSM_N_WORKERS)
		ADSM_WRITE(&a[i], ADSM_READ(&a[i]) + 1);
}

ADSM_KERNEL(fill, ADSM_OUT(int, a), ADSM_VAL(int, v), ADSM_VAL(int, n))
{
	ADSM_THREADS {
		if (ADSM_GLOBAL_X < n)
			a[ADSM_GLOBAL_X] = v;
	}
}

ADSM_TASK(sum, ADSM_IN(int, a), ADSM_VAL(int, n), ADSM_INOUT(int, total))
{
	int mine = 0;

	for (int i = ADSM_WORKER; i < n; i += ADSM_N_WORKERS)
		mine += ADSM_READ(&a[i]);
	add(total, mine);
}

/* A bank (tests/tasks/bank.h): each worker moves amounts from accounts of its own. An account has a lock. */
ADSM_TASK(bank, ADSM_INOUT(long, accounts), ADSM_VAL(int, n_transfers), ADSM_VAL(int, abroad))
{
	unsigned seed = bank_seed(ADSM_WORKER);

	for (int i = 0; i < n_transfers; i++) {
		const struct transfer it = bank_next(&seed, ADSM_WORKER, ADSM_N_WORKERS, i % abroad == 0);

		ADSM_LOCK(it.from < it.to ? it.from : it.to);
		ADSM_LOCK(it.from < it.to ? it.to : it.from);
		ADSM_WRITE(&accounts[it.from], ADSM_READ(&accounts[it.from]) - it.amount);
		ADSM_WRITE(&accounts[it.to], ADSM_READ(&accounts[it.to]) + it.amount);
		ADSM_UNLOCK(it.from);
		ADSM_UNLOCK(it.to);
	}
}

/* Takes and releases a lock that no other worker uses. */
ADSM_TASK(laps, ADSM_VAL(int, n))
{
	for (int i = 0; i < n; i++) {
		ADSM_LOCK(1 + ADSM_WORKER);
		ADSM_UNLOCK(1 + ADSM_WORKER);
	}
}

/* Each adds 1 to a number that the lock alone guards. */
ADSM_TASK(count, ADSM_INOUT(int, total), ADSM_VAL(int, rounds))
{
	for (int i = 0; i < rounds; i++)
		add(total, 1);
}

/* The same, one after the other: each finds what the others have added since its last turn. */
ADSM_TASK(turns, ADSM_INOUT(int, total), ADSM_VAL(int, rounds))
{
	for (int i = 0; i < rounds; i++) {
		if (i % ADSM_N_WORKERS == ADSM_WORKER)
			add(total, 1);
		ADSM_ALL_BARRIER;
	}
}

/* Each round reads what its neighbours wrote in the one before. */
ADSM_TASK(rounds, ADSM_INOUT(int, a), ADSM_VAL(int, n_rounds), ADSM_INOUT(int, wrong))
{
	const int next = (ADSM_WORKER + 1) % ADSM_N_WORKERS;

	for (int i = 0; i < n_rounds; i++) {
		ADSM_WRITE(&a[ADSM_WORKER], i);
		ADSM_ALL_BARRIER;
		if (ADSM_READ(&a[next]) != i)
			ADSM_WRITE(&wrong[ADSM_WORKER], 1);
		ADSM_ALL_BARRIER;
	}
}

/* Two accounts each, in the order of their numbers: nested locks without a deadlock. */
ADSM_TASK(transfer, ADSM_INOUT(int, accounts), ADSM_VAL(int, n), ADSM_VAL(int, n_rounds))
{
	unsigned random = 12345u + (unsigned)ADSM_WORKER;

	for (int i = 0; i < n_rounds; i++) {
		int from, to;

		random = random * 1664525u + 1013904223u;
		from = (int)(random >> 8) % n;
		to = (int)(random >> 20) % n;
		if (from == to)
			continue;
		ADSM_LOCK(from < to ? from : to);
		ADSM_LOCK(from < to ? to : from);
		ADSM_WRITE(&accounts[from], ADSM_READ(&accounts[from]) - 1);
		ADSM_WRITE(&accounts[to], ADSM_READ(&accounts[to]) + 1);
		ADSM_UNLOCK(from);
		ADSM_UNLOCK(to);
	}
}

/* The first worker allocates memory that all write. The last one frees it, also if others still read it. */
ADSM_TASK(memory, ADSM_INOUT(int, total), ADSM_INOUT(unsigned long, where))
{
	ADSM_SPACE_GLOBAL int *shared;

	if (!ADSM_WORKER)
		ADSM_WRITE(where, (unsigned long)ADSM_TASK_ALLOC(ADSM_N_WORKERS * sizeof(int)));
	ADSM_ALL_BARRIER;
	shared = (ADSM_SPACE_GLOBAL int *)ADSM_READ(where);
	ADSM_WRITE(&shared[ADSM_WORKER], ADSM_WORKER + 1);
	ADSM_FLUSH(&shared[ADSM_WORKER]);
	ADSM_ALL_BARRIER;
	if (ADSM_WORKER == ADSM_N_WORKERS - 1) {
		int sum = 0;

		for (int i = 0; i < ADSM_N_WORKERS; i++)
			sum += *ADSM_LOCAL(&shared[i]);
		ADSM_WRITE(total, sum);
		ADSM_TASK_FREE(shared);
		ADSM_FLUSH_ALL;
	}
}

/* All have blocks at the same time, of many sizes, again and again; no block belongs to two workers. */
ADSM_TASK(blocks, ADSM_VAL(int, n_rounds), ADSM_INOUT(int, wrong))
{
	ADSM_SPACE_GLOBAL int *blocks[3];
	int n_wrong = 0;

	for (int round = 0; round < n_rounds; round++) {
		for (int i = 0; i < 3; i++) {
			const int n = 1 + (ADSM_WORKER * 7 + i * 50 + round * 13) % 200;

			blocks[i] = ADSM_TASK_ALLOC(n * sizeof(int));
			if (!blocks[i])
				continue;
			for (int k = 0; k < n; k++)
				ADSM_WRITE(&blocks[i][k], ADSM_WORKER * 1000 + round * 10 + i);
		}
		ADSM_ALL_BARRIER;
		for (int i = 0; i < 3; i++) {
			const int n = 1 + (ADSM_WORKER * 7 + i * 50 + round * 13) % 200;

			for (int k = 0; blocks[i] && k < n; k++)
				n_wrong += ADSM_READ(&blocks[i][k]) != ADSM_WORKER * 1000 + round * 10 + i;
			n_wrong += !blocks[i];
			ADSM_TASK_FREE(blocks[i]);
		}
	}
	ADSM_LOCK(3);
	ADSM_WRITE(wrong, ADSM_READ(wrong) + n_wrong);
	ADSM_UNLOCK(3);
}

/* ---- workers with copies of the same pages */

ADSM_TASK(neighbours, ADSM_INOUT(unsigned char, bytes), ADSM_VAL(int, n_rounds), ADSM_INOUT(int, wrong))
{
	const int n = 7 * ADSM_N_WORKERS;

	for (int round = 1; round <= n_rounds; round++) {
		for (int i = ADSM_WORKER; i < n; i += ADSM_N_WORKERS)
			bytes[i] = (unsigned char)(ADSM_WORKER + round);
		ADSM_ALL_BARRIER;
		for (int i = 0; i < n; i++)
			if (bytes[i] != (unsigned char)(i % ADSM_N_WORKERS + round))
				wrong[ADSM_WORKER] = round;
		ADSM_ALL_BARRIER;
	}
}

/* What one lock guards is not released yet when another one is taken, and both lie in one page. */
ADSM_TASK(nested, ADSM_INOUT(int, a), ADSM_VAL(int, n_rounds))
{
	for (int i = 0; i < n_rounds; i++) {
		ADSM_LOCK(0);
		a[0]++;
		ADSM_LOCK(1);
		a[1]++;
		ADSM_UNLOCK(0);
		a[2]++;
		ADSM_UNLOCK(1);
	}
}

/* Beside what each writes there is what all add to, by atomic operations. */
ADSM_TASK(atomics, ADSM_INOUT(int, total), ADSM_VAL(int, n_rounds), ADSM_INOUT(int, a))
{
	for (int i = 0; i < n_rounds; i++) {
		a[ADSM_WORKER] = i;
		ADSM_ATOMIC_ADD(total, 1);
	}
}

/* The first writes numbers, and the second reads the one before them. */
ADSM_TASK(apart, ADSM_INOUT(int, a), ADSM_VAL(int, first), ADSM_VAL(int, n))
{
	volatile int seen;

	for (int i = 0; i < n; i++) {
		if (!ADSM_WORKER)
			ADSM_WRITE(&a[first + i], i);
		ADSM_ALL_BARRIER;
		if (ADSM_WORKER)
			seen = ADSM_READ(a);
		ADSM_ALL_BARRIER;
	}
}

/* Each worker writes to all 4096 bytes of its own range. */
ADSM_TASK(spread, ADSM_INOUT(int, a), ADSM_VAL(int, n))
{
	const int begin = n / ADSM_N_WORKERS * ADSM_WORKER;

	for (int i = begin; i < begin + n / ADSM_N_WORKERS; i += 1024)
		ADSM_WRITE(&a[i], i + 1);
}

/* Worker 1 has read what worker 0 then changes, and frees; it gets that memory, and writes what it has read. */
ADSM_TASK(again, ADSM_INOUT(unsigned long, where), ADSM_INOUT(int, total))
{
	ADSM_SPACE_GLOBAL int *p;

	if (!ADSM_WORKER) {
		p = ADSM_TASK_ALLOC(100);
		p[0] = 0;
		ADSM_WRITE(where, (unsigned long)p);
	}
	ADSM_ALL_BARRIER;
	p = (ADSM_SPACE_GLOBAL int *)ADSM_READ(where);
	/* Whose turn it is, without an acquire. */
	if (!ADSM_WORKER) {
		while (ADSM_ATOMIC_ADD(total, 0) != 1)
			;
		p[0] = 7;
		ADSM_TASK_FREE(p);
		ADSM_ATOMIC_ADD(total, 1);
	} else if (ADSM_WORKER == 1) {
		ADSM_ATOMIC_ADD(total, 1 + p[0]);
		while (ADSM_ATOMIC_ADD(total, 0) != 2)
			;
		p = ADSM_TASK_ALLOC(100);
		p[0] = 0;
		ADSM_WRITE(where, (unsigned long)p);
		ADSM_ATOMIC_ADD(total, -2);
	}
	ADSM_ALL_BARRIER;
	p = (ADSM_SPACE_GLOBAL int *)ADSM_READ(where);
	if (ADSM_WORKER == 2)
		ADSM_ATOMIC_ADD(total, p[0]);
	ADSM_ALL_BARRIER;
	if (!ADSM_WORKER)
		ADSM_TASK_FREE(p);
}

/* ---- errors: the argument is the number of the worker that makes them */

ADSM_TASK(ends_with_lock, ADSM_VAL(int, who))
{
	ADSM_LOCK(100 + ADSM_WORKER);
	if (ADSM_WORKER == who)
		return;
	ADSM_UNLOCK(100 + ADSM_WORKER);
	ADSM_ALL_BARRIER;
}

ADSM_TASK(unlocks, ADSM_VAL(int, who), ADSM_VAL(int, has))
{
	if (ADSM_WORKER == has)
		ADSM_LOCK(5);
	ADSM_ALL_BARRIER;
	if (ADSM_WORKER == who)
		ADSM_UNLOCK(5);
	ADSM_ALL_BARRIER;
}

ADSM_TASK(locks_twice, ADSM_VAL(int, who))
{
	if (ADSM_WORKER == who) {
		ADSM_LOCK(9);
		ADSM_LOCK(9);
	}
	ADSM_ALL_BARRIER;
}

/* All leave at a lock: one because it has it, the others because the task has failed. */
ADSM_TASK(writes_and_fails, ADSM_INOUT(int, a))
{
	ADSM_WRITE(&a[ADSM_WORKER], ADSM_WORKER + 1);
	ADSM_LOCK(9);
	ADSM_LOCK(9);
}

ADSM_TASK(misses_barrier, ADSM_VAL(int, who))
{
	if (ADSM_WORKER != who)
		ADSM_ALL_BARRIER;
}

/* 0 has lock 0 and wants 1, and so on: a circle. */
ADSM_TASK(circle, ADSM_VAL(int, unused))
{
	(void)unused;
	ADSM_LOCK(ADSM_WORKER);
	ADSM_ALL_BARRIER;
	ADSM_LOCK((ADSM_WORKER + 1) % ADSM_N_WORKERS);
}

/* The holder of a lock waits at the barrier, and another worker waits for that lock. */
ADSM_TASK(locks_at_barrier, ADSM_VAL(int, who))
{
	if (ADSM_WORKER == who)
		ADSM_LOCK(3);
	ADSM_ALL_BARRIER;
	if (ADSM_WORKER != who)
		ADSM_LOCK(3);
	ADSM_ALL_BARRIER;
}

/* Two workers have n locks each, and want the last one of each other. */
ADSM_TASK(has_many, ADSM_VAL(int, n))
{
	for (int i = 0; i < n; i++)
		ADSM_LOCK(100 * ADSM_WORKER + i);
	ADSM_ALL_BARRIER;
	ADSM_LOCK(100 * (1 - ADSM_WORKER) + n - 1);
}

/* Two workers make different errors at the same time. */
ADSM_TASK(two_errors, ADSM_VAL(int, unused))
{
	(void)unused;
	ADSM_ALL_BARRIER;
	if (!ADSM_WORKER)
		ADSM_UNLOCK(7);
	else
		ADSM_LOCK(1u << 21);
}

/* All wait for flags that none of them sets, but for one worker, which ends or waits at the barrier. */
ADSM_TASK(no_flag, ADSM_VAL(int, who), ADSM_VAL(int, ends))
{
	if (ADSM_WORKER == who && ends)
		return;
	if (ADSM_WORKER == who)
		ADSM_ALL_BARRIER;
	ADSM_FLAG_WAIT(100 + ADSM_WORKER);
}

/* The first has a lock and waits for a flag; the worker that is to set it waits for the lock. */
ADSM_TASK(flag_and_lock, ADSM_VAL(int, unused))
{
	(void)unused;
	if (!ADSM_WORKER)
		ADSM_LOCK(3);
	ADSM_ALL_BARRIER;
	if (ADSM_WORKER)
		ADSM_LOCK(3);
	else
		ADSM_FLAG_WAIT(8);
	ADSM_FLAG_SET(8);
	ADSM_UNLOCK(3);
}

ADSM_TASK(uses_flag, ADSM_VAL(unsigned, id), ADSM_VAL(int, kind))
{
	if (kind == 0)
		ADSM_FLAG_SET(id);
	if (kind == 1)
		ADSM_FLAG_WAIT(id);
	if (kind == 2)
		ADSM_FLAG_CLEAR(id);
}

/* One crashes, or computes for ever, while all others wait for its flag. */
ADSM_TASK(flag_of_one, ADSM_PTR(int, p), ADSM_VAL(unsigned long, where), ADSM_VAL(int, who))
{
	ADSM_ALL_BARRIER;
	if (ADSM_WORKER == who)
		ADSM_WRITE(&p[where], 1);
	else
		ADSM_FLAG_WAIT(11);
	ADSM_FLAG_SET(11);
}

ADSM_TASK(uses_lock, ADSM_VAL(unsigned, id))
{
	ADSM_LOCK(id);
	ADSM_UNLOCK(id);
}

/* The first has the lock until the others are about to take it, and a while longer; then it passes them. */
ADSM_TASK(holds, ADSM_INOUT(volatile int, here), ADSM_VAL(int, n))
{
	if (!ADSM_WORKER)
		ADSM_LOCK(21);
	ADSM_ALL_BARRIER;
	if (ADSM_WORKER) {
		ADSM_WRITE(&here[ADSM_WORKER], 1);
		ADSM_LOCK(21);
		ADSM_UNLOCK(21);
		return;
	}
	for (int i = 1; i < ADSM_N_WORKERS; i++)
		while (!ADSM_READ(&here[i]))
			;
	for (int i = 0; i < n; i++)
		ADSM_WRITE(here, i);
	for (int i = 0; i < 200; i++) {
		ADSM_UNLOCK(21);
		ADSM_LOCK(21);
	}
	ADSM_UNLOCK(21);
}

/* The same without memory that all see immediately: the others arrive while it computes. */
ADSM_TASK(holds_on, ADSM_VAL(int, n))
{
	if (!ADSM_WORKER)
		ADSM_LOCK(21);
	ADSM_ALL_BARRIER;
	if (ADSM_WORKER)
		ADSM_LOCK(21);
	for (volatile int i = 0; !ADSM_WORKER && i < n; i++)
		;
	ADSM_UNLOCK(21);
}

ADSM_TASK(frees, ADSM_INOUT(int, a))
{
	ADSM_TASK_FREE(a);
}

/* The others wait for what it has. */
ADSM_TASK(crashes, ADSM_PTR(int, p), ADSM_VAL(unsigned long, where), ADSM_VAL(int, who), ADSM_VAL(int, has))
{
	if (ADSM_WORKER == who && has)
		ADSM_LOCK(11);
	ADSM_ALL_BARRIER;
	if (ADSM_WORKER == who)
		ADSM_WRITE(&p[where], 1);
	ADSM_LOCK(11);
	ADSM_UNLOCK(11);
}

/* All free the same memory: one may. */
ADSM_TASK(all_free, ADSM_INOUT(unsigned long, where))
{
	if (!ADSM_WORKER)
		ADSM_WRITE(where, (unsigned long)ADSM_TASK_ALLOC(100));
	ADSM_ALL_BARRIER;
	ADSM_TASK_FREE((void *)ADSM_READ(where));
}

/* A worker computes for ever with a lock that the others want, of whom the first, if it is to, does what it may not. */
ADSM_TASK(stuck, ADSM_VAL(int, holder), ADSM_VAL(int, fails))
{
	if (ADSM_WORKER == holder)
		ADSM_LOCK(21);
	ADSM_ALL_BARRIER;
	if (ADSM_WORKER == holder)
		for (volatile unsigned i = 0; ; i++)
			;
	if (!ADSM_WORKER && fails)
		ADSM_UNLOCK(22);
	ADSM_LOCK(21);
	ADSM_UNLOCK(21);
}

/* The same error after a while. */
ADSM_TASK(unlocks_late, ADSM_VAL(int, n))
{
	for (volatile int i = 0; i < n; i++)
		;
	ADSM_UNLOCK(5);
}

/* One fails while the holder of the lock computes, which from then on only releases locks and computes. */
ADSM_TASK(only_unlocks, ADSM_VAL(int, n))
{
	if (!ADSM_WORKER)
		for (int i = 0; i < 100; i++)
			ADSM_LOCK(i);
	ADSM_ALL_BARRIER;
	if (ADSM_WORKER)
		ADSM_UNLOCK(0);
	for (int i = 0; i < 100; i++) {
		for (volatile int k = 0; k < n; k++)
			;
		ADSM_UNLOCK(i);
	}
	for (volatile unsigned i = 0; ; i++)
		;
}

/* One fails while another computes on, without end. */
ADSM_TASK(computes_on, ADSM_INOUT(volatile int, go))
{
	if (!ADSM_WORKER)
		ADSM_UNLOCK(1);
	while (!ADSM_READ(go))
		;
}
