/* SPDX-License-Identifier: MIT */
/* print.h - formats the output of a kernel's print. The format and its arguments are bytes that are not trusted. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Format the output of one print.
 * @bytes: @n_args of struct adsm_process_print_arg, then the format and the strings, each with its NUL.
 * The conversions are those of C99's printf except %n, %ls and %lc.
 * @line: if the text does not end with a newline, one is added.
 * Returns the number of bytes of the text, without a NUL.
 * - -EINVAL: invalid conversion, or one whose argument has another type.
 * - -E2BIG: the text is longer than @size bytes.
 */
int adsm_process_format(const uint8_t *bytes, size_t bytes_size, uint64_t n_args, bool line, char *ret_text,
			size_t size);
