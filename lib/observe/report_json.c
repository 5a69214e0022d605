/* SPDX-License-Identifier: MIT */
/* report_json.c - the report as JSON for programs. */
#include "observe/report_json.h"

#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

#include "observe/advice.h"
#include "observe/costs.h"
#include "observe/text.h"

#define REPORT_VERSION 2		/* 2: the member lanes */

static void json_string(FILE *out, const char *text)
{
	char room[ADSM_JSON_PIECE_SIZE];
	const char *piece;
	size_t n;

	fputc('"', out);
	while ((n = adsm_json_piece(&text, room, &piece)))
		fwrite(piece, 1, n, out);
	fputc('"', out);
}

/* "" is written as null. */
static void json_member(FILE *out, const char *name, const char *text)
{
	fprintf(out, "\"%s\": ", name);
	if (*text)
		json_string(out, text);
	else
		fputs("null", out);
}

static void json_stats(FILE *out, const adsmStats *stats)
{
	const char *comma = "";

	fputc('{', out);
#define FIELD(name, help) fprintf(out, "%s\"%s\": %" PRIu64, comma, #name, stats->name); comma = ", ";
	ADSM_STATS(FIELD)
#undef FIELD
	fputc('}', out);
}

static void json_cause(FILE *out, const struct adsm_fact_cause *cause)
{
	fprintf(out, "{\"why\": \"%s\", ", adsm_why_words[cause->cause.why]);
	json_member(out, "where", cause->where);
	fprintf(out, ", \"in_libc\": %s, ", cause->cause.in_libc ? "true" : "false");
	json_member(out, "kernel", cause->cause.name);
	fprintf(out, ", \"read_faults\": %" PRIu64 ", \"write_faults\": %" PRIu64 ", \"faults\": %" PRIu64,
		cause->opened, cause->opened_writing, cause->faults);
	if (cause->place && cause->place != ADSM_MANY_PLACES)
		fprintf(out, ", \"offset\": %" PRIu64, cause->place - 1);
	else
		fputs(", \"offset\": null", out);
	fprintf(out, ", \"to_device\": {\"transfers\": %" PRIu64 ", \"bytes\": %" PRIu64 "}",
		cause->transfers[1], cause->bytes[1]);
	fprintf(out, ", \"to_host\": {\"transfers\": %" PRIu64 ", \"bytes\": %" PRIu64 "}}",
		cause->transfers[0], cause->bytes[0]);
}

/* The counters that advice promises. */
static void json_promise(FILE *out, const char *name, const adsmStats *stats)
{
	fprintf(out, ", \"%s\": {\"h2d_bytes\": %" PRIu64 ", \"h2d_transfers\": %" PRIu64 ", \"d2h_bytes\": %" PRIu64
		", \"d2h_transfers\": %" PRIu64 ", \"read_faults\": %" PRIu64 ", \"write_faults\": %" PRIu64
		", \"signals\": %" PRIu64 ", \"evictions\": %" PRIu64 "}", name, stats->h2d_bytes, stats->h2d_transfers,
		stats->d2h_bytes, stats->d2h_transfers, stats->read_faults, stats->write_faults, stats->signals,
		stats->evictions);
}

static void json_advice(FILE *out, const struct adsm_advice_item *item)
{
	static const char *const kinds[] = {
		[ADSM_ADVICE_IN] = "in", [ADSM_ADVICE_BLOCKS] = "blocks", [ADSM_ADVICE_PROTOCOL] = "protocol",
		[ADSM_ADVICE_ROLLING_SIZE] = "rolling_size",
	};

	fprintf(out, "{\"kind\": \"%s\", ", kinds[item->kind]);
	json_member(out, "text", item->text);
	fputs(", ", out);
	json_member(out, "setting", item->setting);
	fprintf(out, ", \"exact\": %s", item->exact ? "true" : "false");
	json_promise(out, "now", &item->now);
	json_promise(out, "then", &item->then);
	fputc('}', out);
}

static void json_object(FILE *out, const struct adsm_fact_object *entry)
{
	const struct adsm_record *record = entry->record;
	char text[ADSM_FACT_SIZE];

	fprintf(out, "{\"id\": %u, ", record->id);
	json_member(out, "name", entry->name);
	fprintf(out, ", \"size\": %zu, ", record->size);
	json_member(out, "protocol", record->protocol);
	fprintf(out, ", \"block_size\": %zu, \"n_blocks\": %u, \"device\": %d, \"kind\": \"%s\", ", record->block_size,
		record->n_blocks, record->device, record->device_only ? "device-only" : record->adopted ? "adopted" :
		"shared");
	json_member(out, "site", entry->site);
	fputs(", \"stack\": [", out);
	for (unsigned i = 0; i < record->n_site; i++) {
		adsm_site_text(record->site[i], true, text, sizeof(text));
		if (i)
			fputs(", ", out);
		json_string(out, text);
	}
	fprintf(out, "], \"made_ns\": %" PRIu64 ", \"freed_ns\": ", record->made_ns - adsm_start_ns);
	if (entry->freed_ns)
		fprintf(out, "%" PRIu64, entry->freed_ns - adsm_start_ns);
	else
		fputs("null", out);
	fprintf(out, ", \"calls\": %" PRIu64 ",\n\t\t\"counters\": ", entry->calls);
	json_stats(out, &entry->stats);
	fputs(",\n\t\t\"causes\": [", out);
	for (size_t i = 0; i < entry->n_causes; i++) {
		fputs(i ? ",\n\t\t\t" : "\n\t\t\t", out);
		json_cause(out, &entry->causes[i]);
	}
	fputs("],\n\t\t\"advice\": [", out);
	for (size_t i = 0; i < entry->n_advice; i++) {
		fputs(i ? ",\n\t\t\t" : "\n\t\t\t", out);
		json_advice(out, &entry->advice[i]);
	}
	fputs("]}", out);
}

static void json_kernel(FILE *out, const struct adsm_fact_kernel *kernel)
{
	const struct adsm_cost *costs = adsm_homes[kernel->device].device->backend->costs->counters;

	fprintf(out, "{\"device\": %d, ", kernel->device);
	json_member(out, "kernel", kernel->name);
	fprintf(out, ", \"calls\": %" PRIu64 ", \"kernel_ns\": %" PRIu64 ", \"counters\": {", kernel->costs.calls,
		kernel->costs.kernel_ns);
	for (size_t i = 0; costs[i].name; i++)
		fprintf(out, "%s\"%s\": %" PRIu64, i ? ", " : "", costs[i].name, kernel->costs.values[i]);
	fputs("}, ", out);
	json_member(out, "advice", kernel->advice);
	fputc('}', out);
}

static void json_devices(FILE *out)
{
	int n_devices = adsm_n_homes;

	fputs("\t\"devices\": [", out);
	for (int i = 0; i < n_devices; i++) {
		fprintf(out, "%s{\"index\": %d, ", i ? ", " : "", i);
		json_member(out, "name", adsm_homes[i].device->name);
		fputs(", ", out);
		json_member(out, "backend", adsm_homes[i].device->backend->name);
		fputc('}', out);
	}
	fputs("],\n", out);
}

static void json_time(FILE *out, const struct adsm_facts *facts)
{
	const adsmStats *totals = &facts->totals;

	fprintf(out, "\t\"time\": {\"counted_ns\": %" PRIu64 ", \"wait_ns\": %" PRIu64 ", \"once_ns\": %" PRIu64
		", \"to_device_ns\": %" PRIu64 ", \"to_host_ns\": %" PRIu64 ", \"fault_ns\": %" PRIu64 ", \"io_ns\": %"
		PRIu64 ", \"cpu_ns\": %" PRIu64 ", \"kernel_ns\": %" PRIu64 "},\n", facts->counted_ns, totals->wait_ns,
		totals->once_ns, totals->h2d_ns, totals->d2h_ns, totals->fault_ns, totals->io_ns,
		adsm_facts_rest_ns(facts), totals->kernel_ns);
}

static void json_waiters(FILE *out, const struct adsm_facts *facts)
{
	fputs("\t\"waiters\": [", out);
	for (size_t i = 0; i < facts->n_waiters && i < ADSM_FACT_WAITERS; i++) {
		const adsmOnceWaiter *waiter = &facts->waiters[i];

		fprintf(out, "%s{\"object\": \"%p\", \"unit\": %zu, \"device\": %d, \"thread\": %d, \"waited_ns\": %"
			PRIu64 ", ", i ? ", " : "", waiter->address, waiter->unit, waiter->device, waiter->thread,
			waiter->waited_ns);
		json_member(out, "where", waiter->place);
		fputc('}', out);
	}
	fputs("],\n", out);
}

/* Only lanes that have had calls. */
static void json_lanes(FILE *out)
{
	struct adsm_lane_sum sums[ADSM_LANES_MAX];
	const char *comma = "";
	int n_devices = adsm_n_homes;

	fputs("\t\"lanes\": [", out);
	for (int device = 0; device < n_devices; device++) {
		adsm_costs_lanes(device, sums);
		for (unsigned i = 0; i < ADSM_LANES_MAX; i++) {
			if (!sums[i].calls)
				continue;
			fprintf(out, "%s{\"device\": %d, \"lane\": %u, \"calls\": %" PRIu64, comma, device, i,
				sums[i].calls);
			fprintf(out, ", \"kernel_ns\": %" PRIu64 "}", sums[i].kernel_ns);
			comma = ", ";
		}
	}
	fputs("],\n", out);
}

void adsm_report_json(FILE *out, const struct adsm_facts *facts)
{
	fprintf(out, "{\n\t\"adsm\": \"%d.%d.%d\",\n\t\"version\": %d,\n\t\"final\": %s,\n\t\"program\": ",
		ADSM_VERSION_MAJOR, ADSM_VERSION_MINOR, ADSM_VERSION_PATCH, REPORT_VERSION,
		facts->final ? "true" : "false");
	json_string(out, program_invocation_name);
	fprintf(out, ",\n\t\"pid\": %d,\n\t\"wall_ns\": %" PRIu64 ",\n", getpid(), facts->wall_ns);
	fprintf(out, "\t\"protocol\": \"%s\",\n\t\"block_size\": %zu,\n", adsm_protocol_options.protocol,
		adsm_protocol_options.block_size);
	json_devices(out);
	fputs("\t\"totals\": ", out);
	json_stats(out, &facts->totals);
	fputs(",\n", out);
	json_time(out, facts);
	json_waiters(out, facts);
	json_lanes(out);
	fputs("\t\"kernels\": [", out);
	for (size_t i = 0; i < facts->n_kernels; i++) {
		fputs(i ? ",\n\t\t" : "\n\t\t", out);
		json_kernel(out, &facts->kernels[i]);
	}
	fputs("],\n\t\"objects\": [", out);
	for (size_t i = 0; i < facts->n_entries; i++) {
		fputs(i ? ",\n\t\t" : "\n\t\t", out);
		json_object(out, &facts->entries[i]);
	}
	fprintf(out, "],\n\t\"objects_not_listed\": %" PRIu64 "\n}\n", facts->n_not_listed);
}
