/* SPDX-License-Identifier: MIT */
/* observe/options.h - options of reports, traces and advice. */
#pragma once

#include <limits.h>

#include "base/options.h"

struct adsm_observe_options {
	const char *stats;		/* "": off; "text": to stderr; text:FILE; json:FILE */
	const char *trace;		/* "": off, or a file */
	const char *record;		/* the same */
	bool advice;			/* ADSM_ADVISE */
	bool files_new;			/* ADSM_FILES: what to do if the file exists; false: replace, true: new */
};

extern struct adsm_observe_options adsm_observe_options;
extern struct adsm_option adsm_observe_rows[];

/*
 * Choose the file to write: @wanted, or another name if another process has that file and it must not be replaced.
 * @n_taken: 0 for the first file of a process. Its other files leave out as many names, or more if these are taken.
 */
void adsm_observe_choose(const char *wanted, int *n_taken, char ret_path[PATH_MAX]);
