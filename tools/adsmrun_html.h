/* SPDX-License-Identifier: MIT */
/* adsmrun_html.h - a run's reports and traces as one page, which needs nothing else. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

/*
 * The page has the reports as they are, and of each trace what fits into it: all events of a short one; of a longer one
 * the events of a span of time together. Each function returns 0, or an errno of the output.
 */
int html_begin(FILE *out);
/* The report and the trace of one process. @report: its JSON text. @trace: a file, which may be missing. */
int html_add(FILE *out, const char *report, const char *trace);
/* Is the trace not that of the report's process? The process may have had other options. */
bool html_is_foreign(const char *report, const char *trace);
int html_end(FILE *out);
