/* SPDX-License-Identifier: MIT */
/* part.h - a bulk copy or fill, and its parts: runs of bytes of which each side is ordinary memory or in one object. */
#ifndef ADSM_PART_H
#define ADSM_PART_H

#include <stdbool.h>
#include <stddef.h>

#include "core/object.h"

/* The CPU's bytes at a time: they are fetched, copied and entered while a cache still has them. */
#define ADSM_COPY_STEP ((size_t)1 << 20)

/* A bulk copy, or a fill; what is left of it. */
struct adsm_copy {
	char *dst;
	const char *src;
	size_t size;
	bool fill;
	int value;
	bool strict;			/* failures are told; else libc goes on on the views, and meets them there */
	bool direct;			/* strict, and see adsm_copy_direct() */
	bool in_handler;		/* of a signal, maybe: no sentences, no backend that is not made for it */
	const void *where;		/* who wants it: a return address; NULL: not known */
	void *(*move)(void *, const void *, size_t);
	void *(*set)(void *, int, size_t);
};

/* The first bytes of it that belong together. */
struct adsm_part {
	struct adsm_object *to, *from;	/* NULL: ordinary */
	size_t size;
};

static inline void adsm_copy_run(const struct adsm_copy *copy, void *dst, const void *src, size_t size)
{
	if (copy->fill)
		copy->set(dst, copy->value, size);
	else
		copy->move(dst, src, size);
}

/* The shared object a byte is in, or NULL. Without a lock: it stays so as long as nobody frees it. */
struct adsm_object *adsm_shared_at(const char *p);
/* How many of the bytes from @p on belong together, and to what; *size at most. Errors for other memory of ours. */
int adsm_copy_part(const char *p, bool in_handler, struct adsm_object **ret_object, size_t *size);
/* Failures begin nothing that they cannot end: no range ends beyond the object that it begins in. */
int adsm_copy_check(const char *start, size_t total, bool in_handler);
/* Where the program itself does not permit the use of some byte: -EFAULT. */
int adsm_copy_permitted(const char *p, size_t size, enum adsm_prot needed, bool in_handler);
/* 0, or a sentence about what the device could not do. */
int adsm_copy_failed(int error, const char *what, size_t size);

#endif
