/* SPDX-License-Identifier: MIT */
/* process/line.h - the source line where a kernel crashed. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct adsm_process_line;

/*
 * Begin to search for the line of an address in the file of a module. The function copies the image. A thread of its
 * own searches, because the loader's lock, which it needs, may be held by a thread that waits for the caller. NULL: it
 * could not begin.
 * @ptx: the PTX that the module was made of; NULL: the module contains it, or there is none.
 */
struct adsm_process_line *adsm_process_line_begin(const void *image, size_t size, const char *ptx, uint64_t address);
/*
 * Wait a few seconds at most for the end of the search: the text is ", at k.c:6", or "" if the line is not known. For
 * CUDA C it is ", at k.cu:6 (line 47 of the PTX)".
 * @line: NULL has no effect.
 */
void adsm_process_line_end(struct adsm_process_line *line, char *ret_text, size_t size);
