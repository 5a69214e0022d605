/* SPDX-License-Identifier: MIT */
/*
 * io.h - input and output of others straight from and into shared memory: system calls, bulk copies.
 *
 * They are given the alias instead of the view, all in one call, and nothing is locked, pinned or held
 * while that lasts. Output: what is Invalid is fetched first. Input: the bytes are noted as an input in
 * progress, which no transfer touches; when it ends, what was delivered counts as written by the CPU.
 * Any thread, signal handlers included; errno is untouched.
 */
#ifndef ADSM_IO_H
#define ADSM_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "core/shared.h"

struct adsm_input;

/* Where detached inputs are made: ends those that have completed. Called before a kernel is. */
extern void (*_Atomic adsm_io_finish_detached)(void);

/* One system call's or copy's ranges of memory. Lies on the stack of whoever makes the call. */
struct adsm_io {
	struct iovec *vector;		/* what to give the system instead */
	int n;
	size_t size;			/* of all of it */
	bool refused;			/* it ends with bytes that the program has closed itself, by mprotect() */
	bool detached;			/* set before: not a call of this thread's, any thread may end it */
	bool lends;			/* set before output: the system keeps the pages when the call is over */
	const void *where;		/* set before: who calls the wrapper; NULL: the stack tells, slowly */
	struct adsm_input *inputs;	/* in the order of the vector; theirs while the serial is this */
	uint64_t serial;
	uint64_t start_ns;
	const struct iovec *given;	/* what the caller gave, while that is there */
	struct iovec given_one;		/* where that is one range */
	int n_given;
};

/* Room for what @n ranges may become. */
#define ADSM_IO_ROOM(n) (3 * (size_t)(n))

/*
 * Before output (the system reads the memory) and input (it writes it). @room: ADSM_IO_ROOM(n) entries, which
 * io->vector points into afterwards. What is in no live object stays as it is; so the system answers with
 * EFAULT where it would have. 0, or a negative errno, and a line in the log: make no call then.
 */
int adsm_io_begin_output(struct adsm_io *io, const struct iovec *vector, int n, struct iovec *room);
int adsm_io_begin_input(struct adsm_io *io, const struct iovec *vector, int n, struct iovec *room);
/*
 * After input, on every way out: @delivered bytes have come, in the order of the vector. Negative: they are
 * there, but the rest of their block cannot be had. Nothing to do for output, or a second time.
 */
int adsm_io_end(struct adsm_io *io, size_t delivered);
/*
 * For __attribute__((cleanup)): a wrapper may be left by cancellation or an exception. Nobody knows what has come then:
 * see adsm_io_leave().
 */
void adsm_io_cleanup(struct adsm_io *io);

/* ---- calls that are left by jumps: see left.h */

/*
 * This thread jumps to where its stack pointer is @stack, UINTPTR_MAX where that is not known: the inputs of all
 * functions below end, as adsm_left_end() has it. @may_return: as in left.h.
 */
void adsm_io_leave(uintptr_t stack, bool may_return);

/* This thread. */
struct adsm_io_here {
	struct adsm_input *inputs;	/* the first of each io of its; NULL nearly always */
	int thread;			/* its number, once it has had an input */
	bool alternate_inside;		/* its alternate stack is a piece of its own one: addresses say nothing */
};

extern _Thread_local struct adsm_io_here adsm_io_here;
/* The program calls the library with this stack pointer: inputs that the thread has left end. No lock is held. */
void adsm_io_end_left(uintptr_t stack);
static inline void adsm_io_look_back(uintptr_t stack)
{
	if (__builtin_expect(adsm_io_here.inputs != NULL, 0))
		adsm_io_end_left(stack);
}
/* The stack pointer of whoever calls the function that this stands in. Not in a function that is inlined. */
#define ADSM_STACK() ((uintptr_t)__builtin_dwarf_cfa())

#endif
