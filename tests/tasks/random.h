/* SPDX-License-Identifier: MIT */
/* random.h - the programs that random.c makes and the task interpret (tests/kernels/workers.c) runs. */
#ifndef TEST_TASKS_RANDOM_H
#define TEST_TASKS_RANDOM_H

#define RANDOM_OP 3			/* words of an operation: what, a, b */
#define RANDOM_VALUE 127		/* numbers are below; all types have them */

/* A cell is its offset, and above that its type. */
#define RANDOM_TYPE 24
#define RANDOM_OFFSET ((1 << RANDOM_TYPE) - 1)
enum { RANDOM_CHAR, RANDOM_SHORT, RANDOM_INT, RANDOM_LONG, RANDOM_FLOAT, RANDOM_DOUBLE, RANDOM_N_TYPES };

enum {
	RANDOM_END,
	RANDOM_READ,			/* cell */
	RANDOM_WRITE,			/* cell, number */
	RANDOM_COPY,			/* cell, cell it is from */
	RANDOM_ADD,			/* cell, number; with the cell's lock */
	RANDOM_LOCK, RANDOM_UNLOCK,	/* lock */
	RANDOM_POST, RANDOM_AWAIT,	/* flag in memory, lock */
	RANDOM_SET, RANDOM_WAIT, RANDOM_CLEAR,	/* flag of the task */
	RANDOM_BARRIER,
	RANDOM_FLUSH,			/* cell */
	RANDOM_FLUSH_ALL,
};

#endif
