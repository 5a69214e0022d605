/* SPDX-License-Identifier: MIT */
/* base/source.h - finds the line of a source file for an address of code. libdw reads the debug information, if it is
 * installed. Not in signal handlers. The functions below adsm_source_lock() need the mutex. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

extern struct adsm_mutex adsm_source_mutex;

/*
 * Open libdw, unless that was tried before. This waits for the loader's lock, which a thread of the program may hold
 * while it waits for the library: in a constructor, for example. So it is never called under the mutex, nor in a thread
 * that others wait for without a time limit.
 */
void adsm_source_open(void);
/* The same, and then take the mutex. */
void adsm_source_lock(void);

bool adsm_source_is_open(void);
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
