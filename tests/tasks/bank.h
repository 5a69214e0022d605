/* SPDX-License-Identifier: MIT */
/* bank.h - the transfers of a bank: for the task bank (tests/kernels/tasks.c), for bank.c, which computes the same, and
 * for hcrc/test_bank.c. */
#ifndef TEST_TASKS_BANK_H
#define TEST_TASKS_BANK_H

#define BANK_ACCOUNTS 64

struct transfer { int from, to, amount; };

static inline unsigned bank_seed(int worker)
{
	return 12345u + 99991u * (unsigned)worker;
}

static inline int bank_random(unsigned *seed, int n)
{
	*seed = *seed * 1664525u + 1013904223u;
	return (int)((*seed >> 16) % (unsigned)n);
}

/* From an account of the worker to another one of its own; @abroad: to any. Each worker has an equal share. */
static inline struct transfer bank_next(unsigned *seed, int worker, int n_workers, int abroad)
{
	const int n = BANK_ACCOUNTS / n_workers, first = n * worker;
	struct transfer it;

	it.from = first + bank_random(seed, n);
	it.to = abroad ? bank_random(seed, n * n_workers) : first + bank_random(seed, n);
	it.amount = bank_random(seed, 100);
	if (it.to == it.from)
		it.to = (it.to + 1) % (n * n_workers);
	return it;
}

#endif
