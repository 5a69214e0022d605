/* SPDX-License-Identifier: MIT */
/* process/line.h - the source line where a kernel crashed. */
#ifndef ADSM_PROCESS_LINE_H
#define ADSM_PROCESS_LINE_H

#include <stddef.h>
#include <stdint.h>

/*
 * Describe an address in the file of a module: ", at k.c:6"; if no line is known, the address. The caller holds the
 * mutex of base/source.h.
 */
void adsm_process_line(const void *image, size_t image_size, uint64_t address, char *ret_text, size_t size);

#endif
