/* SPDX-License-Identifier: MIT */
/* report.h - the report (ADSM_STATS, ADSM_ADVISE): what moved, for each object and in total, when, why, and what would
 * help. It is written when the program ends; before that it is written repeatedly if the file can be replaced. */
#pragma once

#include <stdbool.h>

/* Open the report's file as the options say. Returns 0, or a negative errno with an error text: there will be no
 * report. @n_taken: as for adsm_observe_choose(). */
int adsm_report_open(int *n_taken);
bool adsm_report_wanted(void);
/* The work of the reporter's thread. */
void adsm_report_run(void *arg);
/* Write the report. @final: the program ends; otherwise the report says that it is incomplete. A reader of the file
 * always finds a whole report. */
void adsm_report_write(bool final);
