/* SPDX-License-Identifier: MIT */
/* views.h - what libc copies and fills on views, in an order that does not depend on it. */
#ifndef ADSM_VIEWS_H
#define ADSM_VIEWS_H

#include <stddef.h>

/*
 * Have libc's @libc move or set bytes, any of which may be shared: in the order of their addresses, but where they
 * overlap. Anywhere, in signal handlers too.
 */
void adsm_views_move(char *dst, const char *src, size_t size, void *(*libc)(void *, const void *, size_t));
void adsm_views_set(char *dst, int value, size_t size, void *(*libc)(void *, int, size_t));

#endif
