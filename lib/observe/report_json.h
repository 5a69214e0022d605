/* SPDX-License-Identifier: MIT */
/* report_json.h - the report as JSON for programs. */
#pragma once

#include <stdio.h>

#include "observe/facts.h"

void adsm_report_json(FILE *out, const struct adsm_facts *facts);
