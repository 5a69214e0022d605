/* SPDX-License-Identifier: MIT */
/*
 * mapping.h - the program's own calls about mappings, where they concern shared memory: mprotect() and its kind.
 *
 * Anywhere, signal handlers included; errno is untouched, and no sentence is set.
 */
#ifndef ADSM_MAPPING_H
#define ADSM_MAPPING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/os.h"

enum adsm_mapping {
	ADSM_MAPPING_OTHER,		/* nothing of the library's */
	ADSM_MAPPING_OBJECT,		/* in the view of a live object, a write-once one too */
	ADSM_MAPPING_CLOSED,		/* the library's, in no view: for the program nothing is there */
};

/* What is mapped at @start; *size: how many bytes are of that kind, and of one object; no more than given. */
enum adsm_mapping adsm_mapping_at(uintptr_t start, size_t *size);
/* Is any byte of a range the library's? *ret_object: the first that is in an object; 0: none is. */
bool adsm_mapping_has(uintptr_t start, size_t size, uintptr_t *ret_object);

/* ---- a range of whole pages in one object, as adsm_mapping_at() told it; 0 or a negative errno */

/* The program permits no more than @prot there. -ENOMEM: no mappings are left, or the object was freed. */
int adsm_mapping_protect(uintptr_t start, size_t size, enum adsm_prot prot);
/* Open the blocks of a range, so that accesses do not fault. -EINVAL: the program permits less; -EFAULT. */
int adsm_mapping_open(uintptr_t start, size_t size, bool write);
/*
 * For an argument of a system call that may be read or written: has the program closed some of it for writing itself?
 * Then the system is given it as it lies, with what may be read open, and says EFAULT where it writes.
 */
bool adsm_mapping_stays(const void *p, size_t size);
/* Have all bytes 0. -EACCES where they may not be written. */
int adsm_mapping_clear(uintptr_t start, size_t size);
/* Where the system finds the memory behind a range, which mlock() keeps there; NULL: the object was freed. */
void *adsm_mapping_memory(uintptr_t start, size_t size, bool locks);

#endif
