/* SPDX-License-Identifier: MIT */
/* report.c - results as JSON, and the table made of it. */
#include "report.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const pb_variant_names[PB_N_VARIANTS] = {
	[PB_ADSM] = "adsm",
	[PB_EXPLICIT] = "explicit",
};

void pb_report_json(char ret_json[PB_REPORT_SIZE], const struct pb_run *run,
		    const struct pb_setup *setup)
{
	const struct pb_result *result = &run->result;
	const adsmStats *stats = &result->stats;
	uint64_t others = stats->kernel_ns + stats->h2d_ns + stats->d2h_ns + stats->fault_ns +
			  result->io_ns;
	/* Transfers and kernels may overlap with the rest. */
	uint64_t cpu_ns = others < result->total_ns ? result->total_ns - others : 0;
	char max_error[32] = "null";	/* JSON has no infinities */
	char rolling_size[32] = "\"auto\"";

	if (setup->rolling_size)
		snprintf(rolling_size, sizeof(rolling_size), "%lu", setup->rolling_size);
	if (isfinite(result->max_error))
		snprintf(max_error, sizeof(max_error), "%.6g", result->max_error);
	snprintf(ret_json, PB_REPORT_SIZE,
		 "{\"bench\": \"%s\", \"size\": \"%s\", \"variant\": \"%s\", \"backend\": \"%s\", "
		 "\"protocol\": \"%s\", \"block_size\": %zu, \"rolling_size\": %s, "
		 "\"calls\": %" PRIu64 ", \"h2d_bytes\": %" PRIu64 ", \"d2h_bytes\": %" PRIu64 ", "
		 "\"h2d_transfers\": %" PRIu64 ", \"d2h_transfers\": %" PRIu64 ", "
		 "\"read_faults\": %" PRIu64 ", \"write_faults\": %" PRIu64 ", "
		 "\"signals\": %" PRIu64 ", \"ahead_blocks\": %" PRIu64 ", "
		 "\"evictions\": %" PRIu64 ", \"seconds\": {\"total\": %.9f, \"kernel\": %.9f, "
		 "\"h2d\": %.9f, \"d2h\": %.9f, \"fault\": %.9f, \"io\": %.9f, \"cpu\": %.9f}, "
		 "\"max_error\": %s, \"verified\": %s}\n",
		 run->bench->name, run->bench->sizes[run->size], pb_variant_names[setup->variant],
		 setup->backend, setup->protocol, setup->block_size, rolling_size,
		 stats->calls, stats->h2d_bytes, stats->d2h_bytes, stats->h2d_transfers,
		 stats->d2h_transfers, stats->read_faults, stats->write_faults, stats->signals,
		 stats->ahead_blocks, stats->evictions, (double)result->total_ns * 1e-9,
		 (double)stats->kernel_ns * 1e-9, (double)stats->h2d_ns * 1e-9,
		 (double)stats->d2h_ns * 1e-9, (double)stats->fault_ns * 1e-9,
		 (double)result->io_ns * 1e-9, (double)cpu_ns * 1e-9, max_error,
		 result->verified ? "true" : "false");
}

/* The text of a member as pb_report_json() wrote it, quotes left out. The result is static. */
static const char *member(const char *json, const char *name)
{
	static char value[32];
	char key[32];
	size_t length;

	snprintf(key, sizeof(key), "\"%s\": ", name);
	json = strstr(json, key);
	if (!json)
		pb_die("a run reported no \"%s\"", name);
	json += strlen(key);
	json += *json == '"';
	length = strcspn(json, "\",}");
	snprintf(value, sizeof(value), "%.*s", (int)length, json);
	return value;
}

static const struct {
	const char *name, *title;
	int width;
} columns[] = {
	{ "h2d_bytes", "sent bytes", 14 },
	{ "h2d_transfers", "times", 7 },
	{ "d2h_bytes", "fetched bytes", 15 },
	{ "d2h_transfers", "times", 7 },
	{ "read_faults", "read faults", 13 },
	{ "write_faults", "write faults", 14 },
	{ "signals", "signals", 9 },
	{ "evictions", "evictions", 11 },
	{ "max_error", "max error", 14 },
	{ "verified", "verified", 10 },
};
#define N_COLUMNS (sizeof(columns) / sizeof(columns[0]))

void pb_report_title(const char *json)
{
	printf("%s ", member(json, "bench"));
	printf("%s on ", member(json, "size"));
	printf("%s: ", member(json, "backend"));
	printf("%s kernel calls; rolling: blocks of ", member(json, "calls"));
	printf("%s bytes, rolling size ", member(json, "block_size"));
	printf("%s\n%-10s%12s", member(json, "rolling_size"), "variant", "seconds");
	for (size_t i = 0; i < N_COLUMNS; i++)
		printf("%*s", columns[i].width, columns[i].title);
	putchar('\n');
}

void pb_report_row(const char *json)
{
	bool shared = strcmp(member(json, "variant"), pb_variant_names[PB_ADSM]) == 0;

	printf("%-10s", member(json, shared ? "protocol" : "variant"));
	printf("%12.6f", strtod(member(json, "total"), NULL));
	for (size_t i = 0; i < N_COLUMNS; i++)
		printf("%*s", columns[i].width, member(json, columns[i].name));
	putchar('\n');
	fflush(stdout);
}

void pb_report_seconds(const char *json)
{
	static const char *const parts[] = { "kernel", "h2d", "d2h", "fault", "io", "cpu" };

	printf("seconds:");
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		printf(" %s %s", parts[i], member(json, parts[i]));
	putchar('\n');
}
