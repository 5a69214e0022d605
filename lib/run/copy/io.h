/* SPDX-License-Identifier: MIT */
/*
 * io.h - system calls and bulk copies that read or write shared memory directly.
 *
 * They get the alias instead of the view, for the whole range in one call. Nothing is locked, pinned or held meanwhile.
 * Output (memory is read): Invalid blocks are fetched first. Input (memory is written): the bytes are noted as an
 * input, which no transfer touches; when it ends, the bytes that have come count as written by the CPU. Any thread may
 * call these functions, also from signal handlers. errno does not change.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "core/shared.h"

struct adsm_input;

/* Set by the file that makes detached inputs. It ends those that have completed. Called before each kernel call. */
extern void (*_Atomic adsm_io_finish_detached)(void);

/* The memory ranges of one system call or copy. It lies on the stack of the function that makes the call. */
struct adsm_io {
	struct iovec *vector;		/* the ranges to give to the system instead */
	int n;
	size_t size;			/* of all ranges */
	bool refused;			/* the last range is one that the program itself has closed by mprotect() */
	bool detached;			/* set by the caller: not a call of this thread; any thread may end it */
	bool lends;			/* set by the caller before output: the system keeps the pages after the call */
	bool within;			/* set by the caller: a part of a copy, whose cause stays */
	const void *where;		/* set by the caller: code that called the
					   wrapper; NULL: found by the stack, slowly */
	struct adsm_input *inputs;	/* in the order of the vector; they belong
					   to this io while their serial is this one */
	uint64_t serial;
	uint64_t start_ns;
	const struct iovec *given;	/* the caller's ranges; valid until the call ends */
	struct iovec given_one;		/* a copy, if it is one range */
	int n_given;
};

/* The number of ranges that @n ranges may be split into. */
#define ADSM_IO_ROOM(n) (3 * (size_t)(n))

/*
 * Call this before output (the system reads the memory) or input (it writes it). @room: ADSM_IO_ROOM(n) entries;
 * io->vector points into it afterwards. Ranges that are in no live object do not change, so that the system returns the
 * same EFAULT as without the library. Returns 0, or a negative errno and a line in the log: the caller then makes no
 * call.
 */
int adsm_io_begin_output(struct adsm_io *io, const struct iovec *vector, int n, struct iovec *room);
int adsm_io_begin_input(struct adsm_io *io, const struct iovec *vector, int n, struct iovec *room);
/*
 * Call this after input, on every way out: @delivered bytes have come, in the order of the vector. Returns 0, or a
 * negative errno: the rest of a block could not be fetched. The bytes are there, unless a second fetch of their block
 * failed too. After output, or a second time, it does nothing.
 */
int adsm_io_end(struct adsm_io *io, size_t delivered);
/*
 * Wait for the calls that a write into the range has to wait for. If no call begins afterwards, adsm_io_end() of an
 * input into the range does not wait. There need be no input, and signal handlers may leave this function by a jump.
 */
void adsm_io_wait(const void *p, size_t size);
/*
 * For __attribute__((cleanup)): a wrapper may be left by cancellation or by an exception. It is then unknown how many
 * bytes have come: see adsm_io_leave().
 */
void adsm_io_cleanup(struct adsm_io *io);

/* ---- calls that are left by jumps: see left.h */

/*
 * This thread jumps to code whose stack pointer is @stack, or UINTPTR_MAX if that is unknown. The inputs of all
 * functions below it end, as with adsm_left_end(). @may_return: as in left.h.
 */
void adsm_io_leave(uintptr_t stack, bool may_return);

/* The state of this thread. */
struct adsm_io_here {
	struct adsm_input *inputs;	/* the first input of each io of this thread; nearly always NULL */
	int thread;			/* its number, set at its first input */
	bool alternate_inside;		/* its alternate stack lies within its own stack,
					   so that addresses do not tell them apart */
};

extern _Thread_local struct adsm_io_here adsm_io_here;
/*
 * The program calls the library with this stack pointer: end the inputs of functions that the thread has left. The
 * caller holds no lock.
 */
void adsm_io_end_left(uintptr_t stack);
static inline void adsm_io_look_back(uintptr_t stack)
{
	if (__builtin_expect(adsm_io_here.inputs != NULL, 0))
		adsm_io_end_left(stack);
}
/* The stack pointer of the caller of the function that contains this. Not for inlined functions. */
#define ADSM_STACK() ((uintptr_t)__builtin_dwarf_cfa())
