/* SPDX-License-Identifier: MIT */
/* report.c - results as JSON and as a table. */
#include "report.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

const char *const pb_part_names[PB_N_PARTS] = {
	[PB_KERNEL] = "kernel", [PB_H2D] = "h2d", [PB_D2H] = "d2h",
	[PB_FAULT] = "fault", [PB_IO] = "io", [PB_CPU] = "cpu",
};

void pb_report_parts(double ret_seconds[PB_N_PARTS], const struct pb_result *result)
{
	const adsmStats *stats = &result->stats;
	double others = 0;

	ret_seconds[PB_KERNEL] = (double)stats->kernel_ns * 1e-9;
	ret_seconds[PB_H2D] = (double)stats->h2d_ns * 1e-9;
	ret_seconds[PB_D2H] = (double)stats->d2h_ns * 1e-9;
	ret_seconds[PB_FAULT] = (double)stats->fault_ns * 1e-9;
	ret_seconds[PB_IO] = (double)result->io_ns * 1e-9;
	for (int i = 0; i < PB_CPU; i++)
		others += ret_seconds[i];
	ret_seconds[PB_CPU] = fmax(0, (double)result->total_ns * 1e-9 - others);
}

void pb_report_flush(void)
{
	if (fflush(stdout))
		pb_die("standard output: %s", strerror(errno));
}

/* A rolling size in words. */
static const char *rolling_size(const struct pb_setup *setup)
{
	static char text[32];

	snprintf(text, sizeof(text), "%lu", setup->rolling_size);
	return setup->rolling_size ? text : "auto";
}

void pb_report_json(FILE *out, const struct pb_run *run, const struct pb_setup *setup)
{
	const struct pb_result *result = &run->result;
	const adsmStats *stats = &result->stats;
	const char *quote = setup->rolling_size ? "" : "\"";
	double parts[PB_N_PARTS];

	fprintf(out, "{\"bench\": \"%s\", \"size\": \"%s\", \"variant\": \"%s\", \"backend\": \"%s\", "
		"\"protocol\": \"%s\", \"block_size\": %zu, \"rolling_size\": %s%s%s, \"link\": \"%s\", ",
		run->bench->name, run->bench->sizes[run->size], pb_variant_names[setup->variant],
		setup->backend, setup->protocol, setup->block_size, quote, rolling_size(setup), quote,
		setup->link);
	fprintf(out, "\"calls\": %" PRIu64 ", \"h2d_bytes\": %" PRIu64 ", \"d2h_bytes\": %" PRIu64 ", "
		"\"const_bytes\": %" PRIu64 ", \"h2d_transfers\": %" PRIu64 ", \"d2h_transfers\": %" PRIu64 ", "
		"\"read_faults\": %" PRIu64 ", \"write_faults\": %" PRIu64 ", \"signals\": %" PRIu64 ", "
		"\"ahead_blocks\": %" PRIu64 ", \"evictions\": %" PRIu64 ", \"moved\": %" PRIu64 ", "
		"\"moved_bytes\": %" PRIu64 ", ",
		stats->calls, stats->h2d_bytes, stats->d2h_bytes, stats->const_bytes, stats->h2d_transfers,
		stats->d2h_transfers, stats->read_faults, stats->write_faults, stats->signals,
		stats->ahead_blocks, stats->evictions, stats->moved, stats->moved_bytes);
	fprintf(out, "\"seconds\": {\"total\": %.9f", (double)result->total_ns * 1e-9);
	pb_report_parts(parts, result);
	for (int i = 0; i < PB_N_PARTS; i++)
		fprintf(out, ", \"%s\": %.9f", pb_part_names[i], parts[i]);
	/* JSON has no infinities. */
	if (isfinite(result->max_error))
		fprintf(out, "}, \"max_error\": %.6g, ", result->max_error);
	else
		fprintf(out, "}, \"max_error\": null, ");
	fprintf(out, "\"verified\": %s}\n", pb_verified(result) ? "true" : "false");
}

void pb_report_title(const struct pb_run *run, const struct pb_setup *setup)
{
	printf("%s %s on %s: %" PRIu64 " kernel calls", run->bench->name, run->bench->sizes[run->size],
	       setup->backend, run->result.stats.calls);
	/* Not where the library is not used. */
	if (setup->block_size)
		printf("; rolling: blocks of %zu bytes, rolling size %s", setup->block_size, rolling_size(setup));
	putchar('\n');
	printf("%-10s%12s%14s%7s%15s%7s%13s%14s%9s%11s%14s%10s\n", "variant", "seconds", "sent bytes", "times",
	       "fetched bytes", "times", "read faults", "write faults", "signals", "evictions", "max error",
	       "verified");
}

void pb_report_row(const struct pb_run *run, const struct pb_setup *setup)
{
	const adsmStats *stats = &run->result.stats;

	printf("%-10s%12.6f%14" PRIu64 "%7" PRIu64 "%15" PRIu64 "%7" PRIu64 "%13" PRIu64 "%14" PRIu64
	       "%9" PRIu64 "%11" PRIu64 "%14.6g%10s\n",
	       setup->variant == PB_ADSM ? setup->protocol : pb_variant_names[setup->variant],
	       (double)run->result.total_ns * 1e-9, stats->h2d_bytes, stats->h2d_transfers, stats->d2h_bytes,
	       stats->d2h_transfers, stats->read_faults, stats->write_faults, stats->signals,
	       stats->evictions, run->result.max_error, pb_verified(&run->result) ? "true" : "false");
	pb_report_flush();
}

void pb_report_seconds(const struct pb_run *run)
{
	double parts[PB_N_PARTS];

	pb_report_parts(parts, &run->result);
	if (run->result.stats.moved)
		printf("moved between devices: %" PRIu64 " objects, for which %" PRIu64 " bytes were fetched\n",
		       run->result.stats.moved, run->result.stats.moved_bytes);
	printf("seconds:");
	for (int i = 0; i < PB_N_PARTS; i++)
		printf(" %s %.9f", pb_part_names[i], parts[i]);
	putchar('\n');
}
