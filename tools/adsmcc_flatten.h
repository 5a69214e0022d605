/* SPDX-License-Identifier: MIT */
/* adsmcc_flatten.h - a source file and what it includes become one text without includes. */
#ifndef ADSMCC_FLATTEN_H
#define ADSMCC_FLATTEN_H

#include "adsmcc_text.h"

extern const char *kernel_header;	/* set before: the path of adsm_kernel.h */
extern struct list include_dirs;	/* set before: -I */
extern struct list inputs;		/* every file read, for -MF */

/* Append @contents, what @path has, with its includes in place. */
void flatten_file(struct text *out, const char *path, const char *contents);
/* If the line at @p is the preprocessor's @name, what follows the name; else NULL. */
const char *directive(const char *p, const char *name);

#endif
