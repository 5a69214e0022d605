/* SPDX-License-Identifier: MIT */
/* process/line.h - where in its source a kernel crashed. */
#ifndef ADSM_PROCESS_LINE_H
#define ADSM_PROCESS_LINE_H

#include <stddef.h>
#include <stdint.h>

/*
 * An address in the file that a module is, in words: ", at k.c:6"; where nothing knows lines, the address. With the
 * mutex of base/source.h.
 */
void adsm_process_line(const void *image, size_t image_size, uint64_t address, char *ret_text, size_t size);

#endif
