/* SPDX-License-Identifier: MIT */
/* shut.h - an object whose next touch faults, and what handlers of such faults need. */
#ifndef INTERPOSE_SHUT_H
#define INTERPOSE_SHUT_H

#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>

#include "../sanitizers.h"
#include "conform.h"

#define N 20000u
#define WILD ((volatile unsigned *)0x5eed0)	/* where nothing is */
#define STACK_SIZE 65536

static char *stack;		/* an alternate one */
static sigjmp_buf left;

static unsigned *object;
static unsigned rounds;

static inline void shut(void)
{
	CALL("increment", N, adsmPtr(object), adsmVal(N));
	SYNC();
	rounds++;
}

static inline void open_object(void)
{
	object = words(N, 0);
	rounds = 0;
	shut();
}

static inline void touch_object(void)
{
	CHECK_EQ(object[N - 1], N - 1 + rounds);
}

static inline void use_stack(void)
{
	stack_t alternate = { .ss_size = STACK_SIZE };

	stack = alternate.ss_sp = malloc(STACK_SIZE);
	CHECK(stack && !sigaltstack(&alternate, NULL));
}

/* It has handlers and masks of its own over libc's, and lets handlers run when it likes. */
static inline void not_with_tsan(void)
{
	if (WITH_TSAN)
		skip("ThreadSanitizer takes signals for itself");
}

#endif
