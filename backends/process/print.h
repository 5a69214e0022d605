/* SPDX-License-Identifier: MIT */
/* print.h - what a kernel prints, as text: its format and its arguments come as bytes, and are not trusted. */
#ifndef ADSM_PROCESS_PRINT_H
#define ADSM_PROCESS_PRINT_H

#include <stddef.h>
#include <stdint.h>

/*
 * @bytes: @n_args of struct adsm_process_print_arg, the format with its NUL, strings with theirs. Conversions are those
 * of C99's printf, but for %n, %ls and %lc. A line that has no end gets one.
 * Returns the bytes of the text, without a NUL; -EINVAL: a conversion that there is not, or that its argument is not
 * for; -E2BIG: the text has not room in @size bytes.
 */
int adsm_process_format(const uint8_t *bytes, size_t bytes_size, uint64_t n_args, char *ret_text, size_t size);

#endif
