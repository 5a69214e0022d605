/* SPDX-License-Identifier: MIT */
/* report.c - the report. */
#include <inttypes.h>

#include "report.h"
#include "stats.h"

void adsm_report_text(FILE *out, bool final)
{
	adsmStats stats;

	adsm_counters_read(&adsm_total, &stats);
#define LINE(name, help) fprintf(out, "adsm: %-14s %15" PRIu64 "  %s\n", #name, stats.name, help);
	ADSM_STATS(LINE)
#undef LINE
}

void adsm_report_json(FILE *out, bool final)
{
	const char *comma = "";
	adsmStats stats;

	adsm_counters_read(&adsm_total, &stats);
	fputs("{", out);
#define FIELD(name, help) fprintf(out, "%s\n\t\"%s\": %" PRIu64, comma, #name, stats.name); comma = ",";
	ADSM_STATS(FIELD)
#undef FIELD
	fputs("\n}\n", out);
}
