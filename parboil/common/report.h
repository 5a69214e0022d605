/* SPDX-License-Identifier: MIT */
/* report.h - results as JSON, and the table made of it. */
#ifndef PARBOIL_REPORT_H
#define PARBOIL_REPORT_H

#include "harness.h"

#define PB_REPORT_SIZE 2048

/* How the library was set for a run. */
struct pb_setup {
	enum pb_variant variant;
	char backend[16], protocol[16];
	size_t block_size;
	unsigned long rolling_size;	/* blocks; 0: the library's rule, "auto" */
};

extern const char *const pb_variant_names[PB_N_VARIANTS];

/* One object in one line. */
void pb_report_json(char ret_json[PB_REPORT_SIZE], const struct pb_run *run,
		    const struct pb_setup *setup);
/* A table of such objects: a title made of the first, then a row for each. */
void pb_report_title(const char *json);
void pb_report_row(const char *json);
/* Where the time of one went. */
void pb_report_seconds(const char *json);

#endif
