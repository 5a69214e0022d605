/* SPDX-License-Identifier: MIT */
/* site.h - places in the program's code: found on the stack, and told in words, "main.c:88 (fill)". */
#ifndef ADSM_SITE_H
#define ADSM_SITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The return addresses of this thread that lie outside the library, inner ones first. Not in signal handlers. */
unsigned adsm_site_take(uintptr_t *ret_addresses, unsigned n);

/*
 * A code address in words: file:line and function through debug information, where libdw is found; else
 * module+0xoffset. A return address stands for the call before it. Between begin and end; not in signal handlers.
 */
void adsm_site_begin(void);
void adsm_site_text(uintptr_t address, bool is_return, char *ret_text, size_t size);
void adsm_site_end(void);

#endif
