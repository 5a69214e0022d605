/* SPDX-License-Identifier: MIT */
/*
 * output.h - files that the library writes where an option says: reports, traces. Whoever else may write into the
 * folder cannot lay a link in the way: each is made under a name that nobody knows before, and then renamed.
 */
#ifndef ADSM_OUTPUT_H
#define ADSM_OUTPUT_H

#include <limits.h>
#include <stdbool.h>

#define ADSM_OUTPUT_PATH_SIZE (PATH_MAX + 48)

/* Is @path to be made anew: a regular file, a link, or nothing yet? Else what is there is written to as it is. */
bool adsm_output_is_new(const char *path);
/*
 * A new file beside @path, close-on-exec; the caller's alone in folders where everybody may write. ret_temporary:
 * what to rename to @path or remove, ".part" behind the process's number. The descriptor, lifted, or a negative errno.
 */
int adsm_output_make(const char *path, char ret_temporary[ADSM_OUTPUT_PATH_SIZE]);
/* The same, already called @path. */
int adsm_output_replace(const char *path);

#endif
