/* SPDX-License-Identifier: MIT */
/* copy.h - bulk copies and fills of shared memory. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* @where: the caller's code address. */
int adsm_memcpy(void *dst, const void *src, size_t size, const void *where);
int adsm_memset(void *dst, int value, size_t size, const void *where);
/*
 * The same for a caller that would otherwise have the device do the work. The device gets the bytes now, unless the CPU
 * was the last to write their block. If a copy needs a part of a block that only the device has, only that part is
 * fetched.
 */
int adsm_copy_direct(void *dst, const void *src, size_t size);
int adsm_fill_direct(void *dst, int value, size_t size);
/*
 * The same with the semantics of libc's function: ranges may overlap, and any thread and signal handler may call it.
 * What the library cannot do, or need not do, @libc does on the views. It then may fault like any access.
 */
void adsm_move_shared(void *dst, const void *src, size_t size, void *(*libc)(void *, const void *, size_t),
		      const void *where);
void adsm_set_shared(void *dst, int value, size_t size, void *(*libc)(void *, int, size_t), const void *where);
/*
 * Copy between ordinary memory and shared memory, for small arguments. Like adsmMemcpy(), but also where the backend
 * may not be called, and without an error text. Returns 0 or a negative errno. -EINVAL: a range is not inside live
 * objects.
 */
int adsm_io_copy(void *dst, const void *src, size_t size);
/* The same for a fill. Both return -EFAULT if the program itself has closed a part of the range by mprotect(). */
int adsm_io_fill(void *dst, int value, size_t size);

/*
 * Copy a string from shared memory, up to and including its NUL, at most @size bytes. Returns the number of bytes, or a
 * negative errno.
 */
long adsm_io_copy_string(char *buffer, const char *s, size_t size);
