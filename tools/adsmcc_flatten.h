/* SPDX-License-Identifier: MIT */
/* adsmcc_flatten.h - makes one text without includes of a source file and all that it includes. */
#ifndef ADSMCC_FLATTEN_H
#define ADSMCC_FLATTEN_H

#include "adsmcc_text.h"

extern const char *kernel_header;	/* set by the caller: the path of adsm_kernel.h */
extern struct list include_dirs;	/* set by the caller: the folders of -I */
extern struct list inputs;		/* every file that was read, for -MF */

/* Append @contents, the contents of the file @path, with its includes replaced by the included files. */
void flatten_file(struct text *out, const char *path, const char *contents);
/* If the line at @p is the preprocessor directive @name, the text behind the name; else NULL. */
const char *directive(const char *p, const char *name);

#endif
