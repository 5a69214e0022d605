/* SPDX-License-Identifier: MIT */
/* api/sized.c - see sized.h. */
#include "api/sized.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"

/* A larger size is an uninitialized number: the library would read behind the caller's structure. */
#define LARGEST_SIZE 4096

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static int check_size(const struct adsm_sized *sized, size_t size)
{
	if (size >= sized->first_size && size <= LARGEST_SIZE)
		return 0;
	return adsm_fail(-EINVAL, "%s: %s is %zu: set it to sizeof(%s), which is %zu in this library and was %zu in "
			 "its first version", sized->name, sized->field, size, sized->name, sized->size,
			 sized->first_size);
}

int adsm_sized_take(const struct adsm_sized *sized, void *own, const void *given, size_t given_size)
{
	int error = check_size(sized, given_size);

	for (size_t i = sized->size; !error && i < given_size; i++)
		if (((const unsigned char *)given)[i])
			error = adsm_fail(-EINVAL, "%s: the caller's header is newer than the library, and the field "
					  "at byte %zu is not 0: this library knows %zu bytes", sized->name, i,
					  sized->size);
	if (!error)
		memcpy(own, given, least(given_size, sized->size));
	return error;
}

int adsm_sized_check(const struct adsm_sized *sized, const void *ret, size_t room)
{
	return ret ? check_size(sized, room) : adsm_fail(-EINVAL, "the pointer to %s is NULL", sized->name);
}

void adsm_sized_give(const struct adsm_sized *sized, const void *own, void *ret, size_t room)
{
	memcpy(ret, own, least(room, sized->size));
	if (room > sized->size)
		memset((char *)ret + sized->size, 0, room - sized->size);
}
