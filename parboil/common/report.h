/* SPDX-License-Identifier: MIT */
/* report.h - results as JSON and as a table. */
#ifndef PARBOIL_REPORT_H
#define PARBOIL_REPORT_H

#include "job.h"

/* Where the time of a run went; transfers and kernels may overlap with the rest, so it is what is left
 * that is the CPU's. In seconds. */
enum pb_part { PB_KERNEL, PB_H2D, PB_D2H, PB_FAULT, PB_IO, PB_CPU, PB_N_PARTS };
extern const char *const pb_part_names[PB_N_PARTS];
void pb_report_parts(double ret_seconds[PB_N_PARTS], const struct pb_result *result);

/* One object in one line. */
void pb_report_json(FILE *out, const struct pb_run *run, const struct pb_setup *setup);
/* A table: a title, then a row for each variant. */
void pb_report_title(const struct pb_run *run, const struct pb_setup *setup);
void pb_report_row(const struct pb_run *run, const struct pb_setup *setup);
/* What was printed arrives, or the program ends. */
void pb_report_flush(void);
/* Where the time of one went, as a line. */
void pb_report_seconds(const struct pb_run *run);

#endif
