/* SPDX-License-Identifier: MIT */
/* notes.h - a file with the number of calls between functions in partitions, for adsmcc --partition profile:FILE. The
 * file has a line for each pair: the caller, the called function, and the number. The caller is "-" if it is in no
 * partition. A name is "*" if its partition has several functions. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/image.h"

/* Call this first. @path: the file; "": there is none. */
void adsm_notes_start(const char *path);
bool adsm_notes_wanted(void);
/* Add calls between partitions of the image, and set them to 0. @calls: (n_partitions + 1)² numbers, by caller, then by
 * called partition. */
void adsm_notes_add(const struct adsm_image *image, uint64_t *calls);
/* There is no memory to count calls: from now on the file is incomplete. Any thread may call this. */
void adsm_notes_miss(void);
/* Write the file. Returns 0, or a negative error number with a text. */
int adsm_notes_write(char *ret_text, size_t size);
