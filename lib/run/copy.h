/* SPDX-License-Identifier: MIT */
/* copy.h - bulk copies and fills of shared memory. */
#ifndef ADSM_COPY_H
#define ADSM_COPY_H

#include <stdbool.h>
#include <stddef.h>

/* @where: code address of who asks. */
int adsm_memcpy(void *dst, const void *src, size_t size, const void *where);
int adsm_memset(void *dst, int value, size_t size, const void *where);
/* The same for who would have had the device do it: it gets the bytes now, unless the CPU wrote their block last; and
 * of a block that only the device has, but is not wanted whole, no more than that is fetched. */
int adsm_copy_direct(void *dst, const void *src, size_t size);
int adsm_fill_direct(void *dst, int value, size_t size);
/*
 * The same for who takes them for libc's: any overlap, any thread, signal handlers too. What this cannot do, or has no
 * reason to do, @libc does on the views, with all that may happen there.
 */
void adsm_move_shared(void *dst, const void *src, size_t size, void *(*libc)(void *, const void *, size_t),
		      const void *where);
void adsm_set_shared(void *dst, int value, size_t size, void *(*libc)(void *, int, size_t), const void *where);
/*
 * Copy between ordinary memory and shared memory, for arguments that are small. Like adsmMemcpy(), but also
 * where the backend may not be called; no sentence is set. 0 or a negative errno; -EINVAL: not inside live objects.
 */
int adsm_io_copy(void *dst, const void *src, size_t size);
/* The same for a fill. Both: -EFAULT, the program has closed some of it itself, by mprotect(). */
int adsm_io_fill(void *dst, int value, size_t size);

/* Copy a string from shared memory: up to and with its NUL, at most @size bytes. How many, or a negative errno. */
long adsm_io_copy_string(char *buffer, const char *s, size_t size);

#endif
