/* SPDX-License-Identifier: MIT */
/*
 * lines.h - lines of PTX and lines of the source that it was made of, as its directives .loc and .file say.
 *
 * A module of CUDA C has its PTX in the section adsm_ptx. The debug information of its code names lines of the PTX, or,
 * if it was compiled with -g, lines of the source.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Find the source line of a line of PTX. @ret_file: not NUL-terminated. False: the PTX does not say it. */
bool adsm_lines_source(const char *ptx, int line, const char **ret_file, size_t *ret_size, int *ret_line);
/*
 * Describe the lines of PTX that were made of a source line: "line 40", or "lines 40-42, 50". @file: only the name
 * without folders counts. The text is "" if there are none.
 */
void adsm_lines_ptx(const char *ptx, const char *file, int source_line, char *ret_text, size_t size);
