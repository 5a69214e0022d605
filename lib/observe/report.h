/* SPDX-License-Identifier: MIT */
/*
 * report.h - the report (ADSM_STATS, ADSM_ADVISE): what moved, per object and in total, when, why, and what would
 * help. It is written when the program ends, and before that again and again, where it can be replaced.
 */
#ifndef ADSM_REPORT_H
#define ADSM_REPORT_H

#include <stdbool.h>

/* As the options say. 0, or a negative errno and its sentence: there will be none. */
int adsm_report_open(void);
bool adsm_report_wanted(void);
/* Then the reporter's thread. */
void adsm_report_run(void *arg);
/* @final: the program ends; else this is the state so far, and the report says so. Whoever reads the file finds a
 * whole report. */
void adsm_report_write(bool final);

#endif
