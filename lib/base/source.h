/* SPDX-License-Identifier: MIT */
/*
 * base/source.h - finds the line of a source file for an address of code. libdw reads the debug information, if it is
 * installed. All functions: with the mutex held, and not in signal handlers.
 */
#ifndef ADSM_SOURCE_H
#define ADSM_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

extern struct adsm_mutex adsm_source_mutex;

/* Is libdw available? Opens it. */
bool adsm_source_open(void);
/* A session, which keeps files open until adsm_source_end(); NULL: libdw is not available. */
void *adsm_source_begin(void);
void adsm_source_end(void *session);
/* The file of the session that contains an address; NULL: none that was added. */
void *adsm_source_find(void *session, uint64_t address);
/* Add a file whose code is loaded @bias above the addresses in it, and which takes over the descriptor; then like
 * adsm_source_find(). */
void *adsm_source_add(void *session, const char *name, int fd, uint64_t bias, uint64_t address);
/* The name of the source file, and the number of the line; NULL: not known. */
const char *adsm_source_line(void *file, uint64_t address, int *ret_number);
const char *adsm_source_function(void *file, uint64_t address);

#endif
