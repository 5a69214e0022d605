/* SPDX-License-Identifier: MIT */
/* report_text.h - the report as text for people. */
#pragma once

#include <stdio.h>

#include "observe/facts.h"

/* Write the report. This folds the facts. */
void adsm_report_text(FILE *out, struct adsm_facts *facts);
