/* SPDX-License-Identifier: MIT */
/* observe/options.h - options of reports, traces and advice. */
#ifndef ADSM_OBSERVE_OPTIONS_H
#define ADSM_OBSERVE_OPTIONS_H

#include <limits.h>

#include "base/options.h"

struct adsm_observe_options {
	const char *stats;		/* ADSM_STATS: "" off, "text" to stderr, text:FILE, json:FILE */
	const char *trace;		/* ADSM_TRACE: "" off, or a file */
	bool advice;			/* ADSM_ADVISE */
	bool files_new;			/* ADSM_FILES: files of these that are there already: replace, new */
};

extern struct adsm_observe_options adsm_observe_options;
extern struct adsm_option adsm_observe_rows[];

/* The file to write instead of @wanted where that has been taken by another process and may not be replaced. */
void adsm_observe_choose(const char *wanted, char ret_path[PATH_MAX]);

#endif
