/* SPDX-License-Identifier: MIT */
/*
 * args.h - wrappers of functions that take paths and small structures: a row makes one for each of its names.
 *
 * The function gets copies of the memory that its arguments mean, and its changes in the copies go back. So a row
 * says of each pointer how much memory is meant, not which way it goes. Functions that the CPU runs by itself, like
 * realpath(), need no row.
 *
 * All these functions take at most six integers and pointers and return one. On x86-64 and aarch64 Linux those
 * go in registers, variadic or not, and nobody looks at more of them than there are: one type serves for all.
 * The wrappers get libc's names as assembler names, so that no header's prototype is in their way.
 */
#pragma once

#include "args_sized.h"
#include "range.h"

#define N_ARGS 6

typedef long function(long, long, long, long, long, long);

enum meaning {
	VALUE,
	TEXT,		/* up to its NUL */
	STRUCT,		/* @size bytes */
	ARRAY,		/* as many of @size bytes as argument @n says, a size_t */
	INT_ARRAY,	/* an int or a socklen_t */
	BUFFER,		/* bytes for a result, as many as argument @n says; it may be offered less */
	BITS,		/* argument @n, an int, of them */
	COUNTED,	/* @size bytes, and what the 32 bits say that argument @n points to */
	SIZED,		/* as another argument @n says, by rule @size: args_sized.h */
};

struct parameter {
	unsigned char meaning, n;
	unsigned short size;
};

struct shape {
	struct adsm_real *real;
	enum { INTEGER, POINTER, ERROR } result;	/* how it fails: -1, NULL, or an errno as its result */
	struct parameter parameters[N_ARGS];
};

/* A call with something shared among its arguments, or the first one. */
long adsm_args_call(long a, long b, long c, long d, long e, long f, const struct shape *shape);

/* A wrapper for each name: the check, and libc's function. */
#define ROW(result, parameters, ...) ADSM_EACH(ROW_OF, (result, { INSIDE parameters }), __VA_ARGS__)
#define ROW_OF(of, name)							\
	ADSM_REAL(name);							\
	static const struct shape shape_##name = { &real_##name, INSIDE of };	\
	ADSM_WRAPPER function adsm_args_##name __asm__(#name);			\
	long adsm_args_##name(long a, long b, long c, long d, long e, long f)	\
	{									\
		return call(&shape_##name, a, b, c, d, e, f);			\
	}
#define INSIDE(...) __VA_ARGS__

static inline __attribute__((always_inline)) bool is_meant(const struct parameter *parameter, long arg)
{
	return parameter->meaning != VALUE && adsm_may_be_shared((const void *)arg, 1);
}

static inline __attribute__((always_inline)) long call(const struct shape *shape, long a, long b, long c, long d,
						       long e, long f)
{
	function *libc = atomic_load_explicit(&shape->real->function, memory_order_relaxed);
	const struct parameter *are = shape->parameters;

	if (!libc || is_meant(&are[0], a) || is_meant(&are[1], b) || is_meant(&are[2], c) ||
	    is_meant(&are[3], d) || is_meant(&are[4], e) || is_meant(&are[5], f))
		return adsm_args_call(a, b, c, d, e, f, shape);
	return libc(a, b, c, d, e, f);
}

#define V { VALUE, 0, 0 }
#define S { TEXT, 0, 0 }
#define P(type) { STRUCT, 0, sizeof(type) }
#define A(n, type) { ARRAY, n, sizeof(type) }
#define I(n, type) { INT_ARRAY, n, sizeof(type) }
#define B(n) { BUFFER, n, 1 }
#define R(n, rule) { SIZED, n, rule }
