/* SPDX-License-Identifier: MIT */
/*
 * mapping.h - the program's own calls that change mappings of shared memory: mprotect() and similar functions.
 *
 * They may be called anywhere, also in signal handlers. errno does not change, and no error text is set.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/os.h"
#include "core/object.h"

enum adsm_mapping {
	ADSM_MAPPING_OTHER,		/* not the library's */
	ADSM_MAPPING_OBJECT,		/* in the view of a live object, also of a write-once object */
	ADSM_MAPPING_CLOSED,		/* the library's, but in no view: for the program there is nothing */
};

/* What is mapped at @start? *size becomes the number of bytes of the same kind and object, at most the given value. */
enum adsm_mapping adsm_mapping_at(uintptr_t start, size_t *size);
/* Is any byte of a range the library's? *ret_object: the first address in the range that is in an object; 0: none. */
bool adsm_mapping_has(uintptr_t start, size_t size, uintptr_t *ret_object);

/* An address of an object in a message: "offset 4096 of the object 'name' at 0x7e8000000000 (8192 bytes)". */
struct adsm_mapping_text {
	char text[ADSM_NAME_SIZE + 112];
};

/* If no object is there any more, the text is "0x7e8000000000". */
struct adsm_mapping_text adsm_mapping_text(uintptr_t address);

/* ---- a range of whole pages in one object, from adsm_mapping_at(); 0 or a negative errno */

/* From now on the program permits only @prot. -ENOMEM: no mappings are left, or the object was freed. */
int adsm_mapping_protect(uintptr_t start, size_t size, enum adsm_prot prot);
/*
 * Open the blocks of a range, so that accesses do not fault. -EINVAL: the program permits less. -EFAULT: not possible.
 */
int adsm_mapping_open(uintptr_t start, size_t size, bool write);
/*
 * For an argument of a system call that may be read or written: has the program itself closed a part of it for writing?
 * Then its readable pages are opened, the system gets the view, and returns EFAULT if it writes.
 */
bool adsm_mapping_stays(const void *p, size_t size);
/* Set all bytes to 0. -EACCES if they may not be written. */
int adsm_mapping_clear(uintptr_t start, size_t size);
/*
 * The address of the memory behind a range, for mlock() and similar calls; NULL: the object was freed. @locks: the
 * memory is to be locked.
 */
void *adsm_mapping_memory(uintptr_t start, size_t size, bool locks);
