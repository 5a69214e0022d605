/* SPDX-License-Identifier: MIT */
/* stats.c - reading, resetting and reporting the counters. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "log.h"
#include "options.h"
#include "stats.h"

struct adsm_counters adsm_total;

void adsm_counters_read(const struct adsm_counters *counters, adsmStats *ret_stats)
{
#define READ(name, help) ret_stats->name = atomic_load_explicit(&counters->name, memory_order_relaxed);
	ADSM_STATS(READ)
#undef READ
}

void adsm_counters_reset(struct adsm_counters *counters)
{
#define RESET(name, help) atomic_store_explicit(&counters->name, 0, memory_order_relaxed);
	ADSM_STATS(RESET)
#undef RESET
}

void adsm_stats_report(void)
{
	const char *where = adsm_options.stats;
	adsmStats stats;
	FILE *file;
	const char *comma = "";

	if (!where || !where[0] || !strcmp(where, "0"))
		return;
	adsm_counters_read(&adsm_total, &stats);
	if (!strcmp(where, "1") || !strcmp(where, "text")) {
#define LINE(name, help) fprintf(stderr, "adsm: %-14s %15" PRIu64 "  %s\n", #name, stats.name, help);
		ADSM_STATS(LINE)
#undef LINE
		return;
	}
	file = fopen(where, "we");
	if (!file) {
		adsm_error("ADSM_STATS=%s: cannot write there: %s", where, strerror(errno));
		return;
	}
	fputs("{", file);
#define FIELD(name, help) fprintf(file, "%s\n\t\"%s\": %" PRIu64, comma, #name, stats.name); comma = ",";
	ADSM_STATS(FIELD)
#undef FIELD
	fputs("\n}\n", file);
	if (fclose(file))
		adsm_error("ADSM_STATS=%s: cannot write there: %s", where, strerror(errno));
}
