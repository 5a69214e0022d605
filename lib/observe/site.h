/* SPDX-License-Identifier: MIT */
/* site.h - places in the program's code: found on the stack, and described in words such as "main.c:88 (fill)". */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ADSM_SITE_DEPTH 8

/* Call this first, with no lock held. */
void adsm_site_start(void);
/* Get at most @n (up to ADSM_SITE_DEPTH) return addresses of this thread outside the library, inner ones first. Inner
 * addresses in CUDA's libraries are skipped. Not in signal handlers. */
unsigned adsm_site_take(uintptr_t *ret_addresses, unsigned n);
/* Does a code address lie inside the library? */
bool adsm_site_is_own(uintptr_t address);

/*
 * Describe a code address: file:line and function from debug information, if libdw is available; otherwise
 * module+0xoffset. A return address stands for the call before it. Returns true if there is a line. Not in signal
 * handlers, and with no lock held that another thread may need to allocate memory or to load a library.
 */
bool adsm_site_text(uintptr_t address, bool is_return, char *ret_text, size_t size);
/* Close the files that adsm_site_text() has opened. It may be called again afterwards. */
void adsm_site_end(void);

/* Are two return addresses in the same module? */
bool adsm_site_same_module(uintptr_t a, uintptr_t b);
/* Does the code before the address look like a call? A word that is taken for a return address may be anything. */
bool adsm_site_follows_call(uintptr_t address);
/* Is libdw missing, so that there are no lines? The same restrictions as for adsm_site_text(). */
bool adsm_site_lacks_libdw(void);
