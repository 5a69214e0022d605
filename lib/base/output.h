/* SPDX-License-Identifier: MIT */
/* output.h - files that the library writes where an option says: reports, traces. Another user who may write into the
 * folder cannot redirect them by a link: each file is made under an unpredictable name, and then renamed. */
#pragma once

#include <limits.h>
#include <stdbool.h>

#define ADSM_OUTPUT_PATH_SIZE (PATH_MAX + 48)

/* Is a new file to be made at @path? Yes if there is a regular file, a link to one, or nothing yet; else the library
 * writes to what is there. */
bool adsm_output_is_new(const char *path);
/*
 * Make a new file in the folder of @path, close-on-exec, for reading and writing. In folders where all users may
 * write, only this user may read it. @ret_temporary: its name, which the caller renames to @path or removes; it
 * ends with the process id and ".part". Returns the descriptor, with a high number, or a negative errno.
 */
int adsm_output_make(const char *path, char ret_temporary[ADSM_OUTPUT_PATH_SIZE]);
/* The same, but the file is renamed to @path already. */
int adsm_output_replace(const char *path);
