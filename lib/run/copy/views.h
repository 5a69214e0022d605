/* SPDX-License-Identifier: MIT */
/* views.h - copies and fills by libc on views, in an order that does not depend on libc. */
#pragma once

#include <stddef.h>

/*
 * Copy or fill by @libc. All ranges may be shared memory. The order is that of the addresses, except for ranges that
 * overlap. These functions may be called anywhere, also in signal handlers.
 */
void adsm_views_move(char *dst, const char *src, size_t size, void *(*libc)(void *, const void *, size_t));
void adsm_views_set(char *dst, int value, size_t size, void *(*libc)(void *, int, size_t));
