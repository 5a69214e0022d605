/* SPDX-License-Identifier: MIT */
/*
 * report.h - the report (ADSM_STATS, ADSM_ADVISE): what moved, per object and in total, when, why, and what would
 * help.
 */
#ifndef ADSM_REPORT_H
#define ADSM_REPORT_H

#include <stdbool.h>
#include <stdio.h>

/* @final: the program ends; else this is the state so far, and the report says so. */
void adsm_report_text(FILE *out, bool final);
void adsm_report_json(FILE *out, bool final);

#endif
