/* SPDX-License-Identifier: MIT */
/*
 * base/source.h - lines of source files for addresses of code, from debug information, which libdw reads where there is
 * one. All of it with the mutex, and not in signal handlers.
 */
#ifndef ADSM_SOURCE_H
#define ADSM_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

extern struct adsm_mutex adsm_source_mutex;

/* Is there a libdw? */
bool adsm_source_open(void);
/* Files that are looked at, until the end; NULL: there is no libdw. */
void *adsm_source_begin(void);
void adsm_source_end(void *session);
/* The file that has an address; NULL: none that was added. */
void *adsm_source_find(void *session, uint64_t address);
/* Add a file, whose addresses lie @bias higher than it says, and take its descriptor; then as above. */
void *adsm_source_add(void *session, const char *name, int fd, uint64_t bias, uint64_t address);
/* The name of the source file, and the line's number; NULL: not known. */
const char *adsm_source_line(void *file, uint64_t address, int *ret_number);
const char *adsm_source_function(void *file, uint64_t address);

#endif
