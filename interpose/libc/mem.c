/* SPDX-License-Identifier: MIT */
/*
 * mem.c - bulk memory: memcpy() and similar functions.
 *
 * All copies use libc's memmove(). It is the same code as libc's memcpy(), and programs older than glibc 2.14 depend on
 * that. These functions are called before any code of the library has run, and also while symbols are looked up. So
 * until libc's functions are known, the bytes are copied one by one.
 */
#include <string.h>

#include "real.h"
#include "core/shared.h"
#include "run/copy/copy.h"
#include "run/copy/io.h"

ADSM_REALS(memmove, memset)

void *__mempcpy(void *dst, const void *src, size_t size);
void *__memcpy_chk(void *dst, const void *src, size_t size, size_t room);
void *__memmove_chk(void *dst, const void *src, size_t size, size_t room);
void *__mempcpy_chk(void *dst, const void *src, size_t size, size_t room);
void *__memset_chk(void *dst, int value, size_t size, size_t room);
void __explicit_bzero_chk(void *dst, size_t size, size_t room);

ADSM_REALS(__memcpy_chk, __memmove_chk, __mempcpy_chk, __memset_chk, __explicit_bzero_chk)

/* volatile: without it, the compiler would replace these loops by calls of memmove() and memset(). */
static void *early_move(void *dst, const void *src, size_t size)
{
	volatile char *to = dst;
	const char *from = src;

	if ((uintptr_t)dst - (uintptr_t)src < size)
		while (size--)
			to[size] = from[size];
	else
		for (size_t i = 0; i < size; i++)
			to[i] = from[i];
	return dst;
}

static void *early_set(void *dst, int value, size_t size)
{
	volatile char *to = dst;

	for (size_t i = 0; i < size; i++)
		to[i] = (char)value;
	return dst;
}

/* Not inlined: these call functions and return. The wrappers themselves then only jump, and need no stack. */
static __attribute__((noinline)) void *move_slowly(void *dst, const void *src, size_t size, const void *where)
{
	__typeof__(&memmove) libc = atomic_load_explicit(&real_memmove.function, memory_order_relaxed);

	if (!adsm_may_be_shared(dst, size) && !adsm_may_be_shared(src, size))
		return libc ? libc(dst, src, size) : early_move(dst, src, size);
	adsm_io_look_back(ADSM_STACK());
	adsm_move_shared(dst, src, size, real(memmove), where);
	return dst;
}

static __attribute__((noinline)) void *set_slowly(void *dst, int value, size_t size, const void *where)
{
	__typeof__(&memset) libc = atomic_load_explicit(&real_memset.function, memory_order_relaxed);

	if (!adsm_may_be_shared(dst, size))
		return libc ? libc(dst, value, size) : early_set(dst, value, size);
	adsm_io_look_back(ADSM_STACK());
	adsm_set_shared(dst, value, size, real(memset), where);
	return dst;
}

/* Inlined into the wrappers, so that the return address is in the program. */
static inline __attribute__((always_inline)) void *move(void *dst, const void *src, size_t size)
{
	__typeof__(&memmove) libc = atomic_load_explicit(&real_memmove.function, memory_order_relaxed);

	if (__builtin_expect(!libc, 0) || adsm_are_within(dst, src, size))
		return move_slowly(dst, src, size, __builtin_return_address(0));
	return libc(dst, src, size);
}

static inline __attribute__((always_inline)) void *set(void *dst, int value, size_t size)
{
	__typeof__(&memset) libc = atomic_load_explicit(&real_memset.function, memory_order_relaxed);

	if (__builtin_expect(!libc, 0) || adsm_are_within(dst, dst, size))
		return set_slowly(dst, value, size, __builtin_return_address(0));
	return libc(dst, value, size);
}

#define MOVE(type, name, params, body) ADSM_WRAPPER type name params { body; }
MOVE(void *, memcpy, (void *dst, const void *src, size_t size), return move(dst, src, size))
MOVE(void *, memmove, (void *dst, const void *src, size_t size), return move(dst, src, size))
MOVE(void *, mempcpy, (void *dst, const void *src, size_t size), return (char *)move(dst, src, size) + size)
MOVE(void *, __mempcpy, (void *dst, const void *src, size_t size), return (char *)move(dst, src, size) + size)
MOVE(void, bcopy, (const void *src, void *dst, size_t size), move(dst, src, size))
MOVE(void *, memset, (void *dst, int value, size_t size), return set(dst, value, size))
MOVE(void, bzero, (void *dst, size_t size), set(dst, 0, size))
MOVE(void, explicit_bzero, (void *dst, size_t size), set(dst, 0, size))

/* The compiler calls these if it knows the room at @dst. libc's own function reports an overflow. */
MOVE(void *, __memcpy_chk, (void *dst, const void *src, size_t size, size_t room),
     return size > room ? real(__memcpy_chk)(dst, src, size, room) : move(dst, src, size))
MOVE(void *, __memmove_chk, (void *dst, const void *src, size_t size, size_t room),
     return size > room ? real(__memmove_chk)(dst, src, size, room) : move(dst, src, size))
MOVE(void *, __mempcpy_chk, (void *dst, const void *src, size_t size, size_t room),
     return size > room ? real(__mempcpy_chk)(dst, src, size, room) : (char *)move(dst, src, size) + size)
MOVE(void *, __memset_chk, (void *dst, int value, size_t size, size_t room),
     return size > room ? real(__memset_chk)(dst, value, size, room) : set(dst, value, size))
MOVE(void, __explicit_bzero_chk, (void *dst, size_t size, size_t room),
     size > room ? real(__explicit_bzero_chk)(dst, size, room) : (void)set(dst, 0, size))
