/* SPDX-License-Identifier: MIT */
/* site.h - places in the program's code: found on the stack, and told in words, "main.c:88 (fill)". */
#ifndef ADSM_SITE_H
#define ADSM_SITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ADSM_SITE_DEPTH 8

/* Before all else, with no lock held. */
void adsm_site_start(void);
/*
 * The return addresses of this thread that lie outside the library, inner ones first, ADSM_SITE_DEPTH at most; outside
 * CUDA's libraries, too, where they are the inner ones. Not in signal handlers.
 */
unsigned adsm_site_take(uintptr_t *ret_addresses, unsigned n);
/* Does a code address lie inside the library? */
bool adsm_site_is_own(uintptr_t address);

/*
 * A code address in words: file:line and function through debug information, where libdw is found; else
 * module+0xoffset. A return address stands for the call before it. True: there is a line. Not in signal handlers, and
 * with no lock held that another thread may need to allocate memory or to load a library.
 */
bool adsm_site_text(uintptr_t address, bool is_return, char *ret_text, size_t size);
/* What has been opened for that is closed, until words are asked for again. */
void adsm_site_end(void);

/* Of return addresses. */
bool adsm_site_same_module(uintptr_t a, uintptr_t b);
/* Does the code before the address look like a call? What is taken for a return address may be anything. */
bool adsm_site_follows_call(uintptr_t address);
/* Lines cannot be told, since there is no libdw. As adsm_site_text(). */
bool adsm_site_lacks_libdw(void);

#endif
