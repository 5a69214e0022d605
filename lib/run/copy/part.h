/* SPDX-License-Identifier: MIT */
/* part.h - a bulk copy or fill, and its parts: ranges where each side is ordinary memory or lies in one object. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "core/object.h"

/* The CPU copies this number of bytes in one step, so that they are still in a cache when their state changes. */
#define ADSM_COPY_STEP ((size_t)1 << 20)

/* A bulk copy or fill; it is reduced to what is left to do. */
struct adsm_copy {
	char *dst;
	const char *src;
	size_t size;
	bool fill;
	int value;
	bool strict;			/* report failures; otherwise libc continues
					   on the views, and meets the failures there */
	bool direct;			/* strict, and see adsm_copy_direct() */
	bool in_handler;		/* it may be in a signal handler: no error texts,
					   no call of a backend that is not signal-safe */
	bool io;			/* it moves a small argument of a system call */
	const void *where;		/* the caller's code address; NULL: unknown */
	void *(*move)(void *, const void *, size_t);
	void *(*set)(void *, int, size_t);
};

/* The first bytes of a copy that are handled together. */
struct adsm_part {
	struct adsm_object *to, *from;	/* NULL: ordinary memory */
	size_t size;
};

static inline void adsm_copy_run(const struct adsm_copy *copy, void *dst, const void *src, size_t size)
{
	if (copy->fill)
		copy->set(dst, copy->value, size);
	else
		copy->move(dst, src, size);
}

/*
 * The shared object that contains a byte, or NULL. Without a lock: the result stays true while no thread frees the
 * object.
 */
struct adsm_object *adsm_shared_at(const char *p);
/*
 * Find the object at @p, and how many bytes from there on are in it, or in ordinary memory; at most *size. Returns an
 * error for other memory of the library's.
 */
int adsm_copy_part(const char *p, bool in_handler, struct adsm_object **ret_object, size_t *size);
/* Check that no part of a range ends beyond the object where it begins. So a copy that would fail does not begin. */
int adsm_copy_check(const char *start, size_t total, bool in_handler);
/* Returns -EFAULT if the program itself does not permit the access to some byte. */
int adsm_copy_permitted(const char *p, size_t size, enum adsm_prot needed, bool in_handler);
/* How many bytes from @p on are in live objects, and the program itself permits the access to them. */
size_t adsm_copy_usable(const char *p, size_t size, enum adsm_prot needed);
/* Returns @error; if it is not 0, with an error text about what the device could not do. */
int adsm_copy_failed(int error, const char *what, size_t size);
