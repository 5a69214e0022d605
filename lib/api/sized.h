/* SPDX-License-Identifier: MIT */
/* api/sized.h - public structures that grow: their callers may be compiled with an older or a newer header. */
#pragma once

#include <stddef.h>

/* A structure of a public header. A new field goes to the end. A structure has no padding at its end: otherwise an
 * old caller's padding would be a new field's value. */
struct adsm_sized {
	const char *name;
	const char *field;		/* where the caller stores the size: "struct_size", or the parameter "size" */
	size_t first_size;		/* bytes of its first version, the smallest valid size */
	size_t size;			/* bytes of this library's version */
};

/* @last: the last field of the first version. */
#define ADSM_SIZED(type, field, last) { #type, field, offsetof(type, last) + sizeof(((type *)0)->last), sizeof(type) }

/*
 * Take a structure that a caller filled. @own: the library's version, filled with the defaults of all fields. Fields
 * that the caller has replace them. Fields that only the caller has must be 0.
 * Returns 0, or -EINVAL with adsm_fail().
 */
int adsm_sized_take(const struct adsm_sized *sized, void *own, const void *given, size_t given_size);

/* Check that a caller's structure of @room bytes can hold the answer. Returns 0, or -EINVAL with adsm_fail(). */
int adsm_sized_check(const struct adsm_sized *sized, const void *ret, size_t room);

/* Give @own as the answer: cut to @room bytes; fields that only the caller has become 0. */
void adsm_sized_give(const struct adsm_sized *sized, const void *own, void *ret, size_t room);
