/* SPDX-License-Identifier: MIT */
/* report_text.c - the report as text for people. */
#include "observe/report_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "observe/advice.h"
#include "observe/costs.h"
#include "observe/options.h"
#include "observe/text.h"

/* The JSON report has everything. */
#define OBJECTS_SHOWN 20
#define OBJECTS_EXPLAINED 10	/* with causes */
#define CAUSES_SHOWN 5		/* of one object */
#define ADVICE_SHOWN 10
#define KERNELS_SHOWN 6		/* of a device */

/* ---- numbers and their nouns. No floating-point conversion of printf(): it follows the program's locale. */

static struct adsm_number size_text(uint64_t size)
{
	return adsm_size_text(size, true);
}

static struct adsm_number time_text(uint64_t ns)
{
	static const char *const units[] = { " us", " ms", " s" };
	unsigned unit = 0;

	for (; unit < 2 && ns >= 999950; ns /= 1000)
		unit++;
	return adsm_tenths_text((ns + 50) / 100, units[unit]);
}

static struct adsm_number count_text(uint64_t n, const char *noun)
{
	struct adsm_number number;

	adsm_format(number.text, sizeof(number.text), "%lu %s%s", n, noun, n == 1 ? "" : "s");
	return number;
}

static struct adsm_number percent_text(uint64_t part, uint64_t whole)
{
	return adsm_tenths_text(whole ? (uint64_t)((double)part * 1000 / (double)whole + 0.5) : 0, "%");
}

/* A share in percent, with three places. */
static void put_share(FILE *out, uint64_t part, uint64_t whole)
{
	const uint64_t share = whole ? (uint64_t)((double)part * 100000 / (double)whole + 0.5) : 0;

	fprintf(out, " %4" PRIu64 ".%03" PRIu64 " %%", share / 1000, share % 1000);
}

/* An object's title: its name, or where it was allocated. */
static const char *title(const struct adsm_fact_object *entry, char buffer[2 * ADSM_FACT_SIZE])
{
	const size_t size = (size_t)2 * ADSM_FACT_SIZE;
	char number[32] = "", name[ADSM_NAME_SIZE + 4] = "";

	if (entry->n > 1)
		snprintf(number, sizeof(number), " \303\227%zu", entry->n);
	if (*entry->name)
		snprintf(name, sizeof(name), "\"%s\" ", entry->name);
	for (char *c = name; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
	if (*entry->site)
		snprintf(buffer, size, "%s%s%s", name, entry->site, number);
	else if (*name)
		snprintf(buffer, size, "%.*s%s", (int)strlen(name) - 1, name, number);
	else
		snprintf(buffer, size, "object %u%s", entry->record->id, number);
	return buffer;
}

/* ---- the parts of the report */

static void text_head(FILE *out, const struct adsm_facts *facts)
{
	int n_devices = adsm_n_homes;

	fprintf(out, "adsm: report on %s (process %d), %s, libadsm %d.%d.%d\n", program_invocation_name, getpid(),
		time_text(facts->wall_ns).text, ADSM_VERSION_MAJOR, ADSM_VERSION_MINOR, ADSM_VERSION_PATCH);
	if (!facts->final)
		fprintf(out, "adsm: incomplete: the program had not ended; state after %s\n",
			time_text(facts->wall_ns).text);
	for (int i = 0; i < n_devices; i++)
		fprintf(out, "adsm: device %d: %s (%s)\n", i, adsm_homes[i].device->name,
			adsm_homes[i].device->backend->name);
	fprintf(out, "adsm: protocol: %s", adsm_protocol_options.protocol);
	if (!adsm_protocol_find(adsm_protocol_options.protocol)->whole_object)
		fprintf(out, ", in blocks of %s", size_text(adsm_protocol_options.block_size).text);
	fputc('\n', out);
	if (facts->counted_ns != facts->wall_ns)
		fprintf(out, "adsm: counted since adsmStatsReset(), %s before the end\n",
			time_text(facts->counted_ns).text);
	if (adsm_site_lacks_libdw())
		fprintf(out, "adsm: the report has no lines of source files: they need libdw.so.1 (Debian's package "
			"libdw1)\n");
	if (facts->no_memory)
		fprintf(out, "adsm: no memory to list the objects\n");
}

static void text_time(FILE *out, const struct adsm_facts *facts)
{
	const adsmStats *totals = &facts->totals;
	const struct {
		const char *what;
		uint64_t ns;
	} parts[] = {
		{ "waiting for kernels", totals->wait_ns },
		{ "waiting for units of write-once objects", totals->once_ns },
		{ "sending to devices", totals->h2d_ns },
		{ "fetching from devices", totals->d2h_ns },
		{ "handling faults", totals->fault_ns },
		{ "input and output of shared memory", totals->io_ns },
		{ "the rest: the program's own work", adsm_facts_rest_ns(facts) },
	};
	uint64_t sum = 0;

	fprintf(out, "adsm:\nadsm: where the time went (%s)\n", time_text(facts->counted_ns).text);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (parts[i].ns == 0 && i == 1)
			continue;	/* most programs have no such time */
		sum += parts[i].ns;
		fprintf(out, "adsm: %10s %7s  %s\n", time_text(parts[i].ns).text,
			percent_text(parts[i].ns, facts->counted_ns).text, parts[i].what);
	}
	fprintf(out, "adsm: %10s %7s  kernels, which ran at the same time\n", time_text(totals->kernel_ns).text,
		percent_text(totals->kernel_ns, facts->counted_ns).text);
	if (sum > facts->counted_ns)
		fprintf(out, "adsm: The sum is more than the run time: several threads, early sends beside the "
			"program, and\nadsm: transfers for input and output count in each part.\n");
}

/* Threads and kernels that wait for units of write-once objects now. */
static void text_waiters(FILE *out, const struct adsm_facts *facts)
{
	if (!facts->n_waiters)
		return;
	fprintf(out, "adsm:\nadsm: waits for units of write-once objects\n");
	for (size_t i = 0; i < facts->n_waiters && i < ADSM_FACT_WAITERS; i++) {
		const adsmOnceWaiter *waiter = &facts->waiters[i];

		fprintf(out, "adsm: %10s  %s %d, %s: unit %zu of %p\n", time_text(waiter->waited_ns).text,
			waiter->device < 0 ? "thread" : "device", waiter->device < 0 ? waiter->thread : waiter->device,
			waiter->place, waiter->unit, waiter->address);
	}
	if (facts->n_waiters > ADSM_FACT_WAITERS)
		fprintf(out, "adsm: and %zu more\n", facts->n_waiters - ADSM_FACT_WAITERS);
}

static void text_row(FILE *out, uint64_t size, const adsmStats *stats, const char *object)
{
	fprintf(out, "adsm: %10s %10s %7" PRIu64 " %10s %7" PRIu64 " %8" PRIu64 " %8" PRIu64 " %8" PRIu64 " %7" PRIu64
		" %9s  %s\n", size_text(size).text, size_text(stats->h2d_bytes).text, stats->h2d_transfers,
		size_text(stats->d2h_bytes).text, stats->d2h_transfers, stats->read_faults, stats->write_faults,
		stats->signals, stats->evictions, time_text(stats->h2d_ns + stats->d2h_ns + stats->fault_ns).text,
		object);
}

static void text_table(FILE *out, const struct adsm_fact_object *entries, size_t n)
{
	char object[2 * ADSM_FACT_SIZE];

	if (!n)
		return;
	fputs("adsm:\nadsm: objects, most bytes moved first\n"
	      "adsm: (reads, writes: blocks opened; early: blocks sent before a call; time: of transfers and faults)\n",
	      out);
	fprintf(out, "adsm: %10s %10s %7s %10s %7s %8s %8s %8s %7s %9s  %s\n", "size", "sent", "times", "fetched",
		"times", "reads", "writes", "faults", "early", "time", "object");
	for (size_t i = 0; i < n && i < OBJECTS_SHOWN; i++)
		text_row(out, entries[i].record->size, &entries[i].stats, title(&entries[i], object));
	if (n > OBJECTS_SHOWN) {
		adsmStats sum = { 0 };
		uint64_t size = 0;
		size_t n_more = 0;

		for (size_t i = OBJECTS_SHOWN; i < n; i++) {
			adsm_facts_add_stats(&sum, &entries[i].stats);
			size += entries[i].record->size * entries[i].n;
			n_more += entries[i].n;
		}
		snprintf(object, sizeof(object), "and %zu more object%s", n_more, n_more == 1 ? "" : "s");
		text_row(out, size, &sum, object);
	}
}

/* Why bytes moved, in words. Other causes are written by text_reason(). */
static const char *const reasons[ADSM_N_WHYS] = {
	[ADSM_WHY_OTHER] = "other causes", [ADSM_WHY_COPY] = "a copy (such as memcpy())",
	[ADSM_WHY_FILL] = "a fill (such as memset())", [ADSM_WHY_IO] = "input or output",
	[ADSM_WHY_HOLD] = "adsmHold()", [ADSM_WHY_SYNC] = "adsmSync()", [ADSM_WHY_EVICT] = "early, before a call",
	[ADSM_WHY_ROOM] = "room on the device for other objects",
	[ADSM_WHY_PREFETCH] = "adsmPrefetch()",
	[ADSM_WHY_MOVE] = "a call of another device",
};

static void text_reason(FILE *out, const struct adsm_fact_cause *cause)
{
	bool in_libc = cause->cause.in_libc;

	if (cause->cause.why == ADSM_WHY_READ || cause->cause.why == ADSM_WHY_WRITE)
		fprintf(out, "%s %s%s", in_libc ? "a function of libc" : "the CPU",
			cause->cause.why == ADSM_WHY_READ ? "read" : "wrote",
			in_libc && *cause->where ? ", called" : "");
	else if (cause->cause.why != ADSM_WHY_CALL)
		fputs(reasons[cause->cause.why], out);
	else if (*cause->cause.name)
		fprintf(out, "kernel '%s' called", cause->cause.name);
	else
		fputs("the program's own commands to the driver", out);
	if (*cause->where)
		fprintf(out, " at %s", cause->where);
}

static void text_cause(FILE *out, const struct adsm_fact_cause *cause, uint64_t n_calls)
{
	uint64_t n_opened = cause->opened + cause->opened_writing;
	const char *separator = "";

	fputs("adsm:   ", out);
	for (int d = 0; d < 2; d++)
		if (cause->transfers[d]) {
			fprintf(out, "%s%s %s, %s", separator, d ? "sent" : "fetched",
				cause->transfers[d] == 1 ? "once" : count_text(cause->transfers[d], "time").text,
				size_text(cause->bytes[d]).text);
			separator = "; ";
		}
	if (!*separator && n_opened)
		fprintf(out, "opened %s%s", count_text(n_opened, "block").text, cause->opened ? "" : " to write");
	else if (!*separator)
		fputs("nothing moved", out);
	fputs(": ", out);
	text_reason(out, cause);
	if (cause->faults)
		fprintf(out, ", %s", count_text(cause->faults, "fault").text);
	if (cause->faults && n_calls)
		fprintf(out, " in %s", count_text(n_calls, "call").text);
	if (cause->faults > 1 && cause->place && cause->place != ADSM_MANY_PLACES)
		fprintf(out, ", each at byte %" PRIu64, cause->place - 1);
	fputc('\n', out);
}

static void text_causes(FILE *out, const struct adsm_fact_object *entry)
{
	struct adsm_fact_cause rest = { .cause.why = ADSM_WHY_OTHER };

	for (size_t i = 0; i < entry->n_causes; i++)
		if (i < CAUSES_SHOWN || entry->n_causes == CAUSES_SHOWN + 1)
			text_cause(out, &entry->causes[i], entry->calls);
		else
			adsm_facts_add_cause(&rest, &entry->causes[i]);
	if (entry->n_causes > CAUSES_SHOWN + 1)
		text_cause(out, &rest, entry->calls);
}

static void text_object(FILE *out, const struct adsm_fact_object *entry)
{
	const struct adsm_record *record = entry->record;
	char object[2 * ADSM_FACT_SIZE];

	fprintf(out, "adsm:\nadsm: %s: %s", title(entry, object), size_text(record->size).text);
	if (record->device_only)
		fprintf(out, ", on device %d only", record->device);
	else if (record->n_blocks > 1)
		fprintf(out, ", %s, %s of %s", record->protocol, count_text(record->n_blocks, "block").text,
			size_text(record->block_size).text);
	else
		fprintf(out, ", %s", record->protocol);
	if (record->adopted)
		fputs(", allocated with the driver", out);
	if (entry->calls)
		fprintf(out, ", %s", count_text(entry->calls, "kernel call").text);
	fprintf(out, "; sending took %s, fetching %s, faults %s\n", time_text(entry->stats.h2d_ns).text,
		time_text(entry->stats.d2h_ns).text, time_text(entry->stats.fault_ns).text);
	text_causes(out, entry);
}

/* ---- advice */

struct advice {
	const struct adsm_advice_item *item;
	const struct adsm_fact_object *entry;
	size_t n_alike;			/* objects with about the same advice */
};

static int compare_advice(const void *a, const void *b)
{
	const struct adsm_advice_item *x = ((const struct advice *)a)->item, *y = ((const struct advice *)b)->item;
	int64_t saves_x = (int64_t)(adsm_advice_cost(&x->now) - adsm_advice_cost(&x->then));
	int64_t saves_y = (int64_t)(adsm_advice_cost(&y->now) - adsm_advice_cost(&y->then));

	return saves_x < saves_y ? 1 : saves_x > saves_y ? -1 : 0;
}

static void text_moved(FILE *out, const char *verb, uint64_t bytes, uint64_t n, uint64_t then_bytes, uint64_t then_n)
{
	if (bytes != then_bytes || n != then_n)
		fprintf(out, "; %s %s in %s, then %s in %" PRIu64, verb, size_text(bytes).text,
			count_text(n, "transfer").text, size_text(then_bytes).text, then_n);
}

static void text_one_advice(FILE *out, const struct advice *advice)
{
	const adsmStats *now = &advice->item->now, *then = &advice->item->then;
	char text[2 * ADSM_FACT_SIZE];

	fprintf(out, "%s: %s\n", title(advice->entry, text), advice->item->text);
	fprintf(out, "adsm:    %s, %s", advice->item->setting, advice->item->exact ? "exactly" : "about");
	text_moved(out, "sent", now->h2d_bytes, now->h2d_transfers, then->h2d_bytes, then->h2d_transfers);
	text_moved(out, "fetched", now->d2h_bytes, now->d2h_transfers, then->d2h_bytes, then->d2h_transfers);
	if (now->signals != then->signals)
		fprintf(out, "; %s, then %" PRIu64, count_text(now->signals, "fault").text, then->signals);
	if (advice->n_alike)
		fprintf(out, "; also for %s", count_text(advice->n_alike, "similar object").text);
	fputc('\n', out);
}

static void text_advice(FILE *out, const struct adsm_facts *facts)
{
	struct advice *all;
	size_t n = 0, max = 0, n_shown = 0, n_hidden = 0;

	if (!adsm_observe_options.advice)
		return;
	for (size_t i = 0; i < facts->n_entries; i++)
		max += facts->entries[i].n_advice;
	all = calloc(max + 1, sizeof(*all));
	for (size_t i = 0; all && i < facts->n_entries; i++)
		for (size_t j = 0; j < facts->entries[i].n_advice; j++)
			all[n++] = (struct advice){ &facts->entries[i].advice[j], &facts->entries[i], 0 };
	fprintf(out, "adsm:\nadsm: advice, the best first%s\n", n ? "" : ": none");
	if (n)
		qsort(all, n, sizeof(*all), compare_advice);
	for (size_t i = 0, j; i < n; i++) {
		for (j = 0; j < n_shown; j++)
			if (all[j].item->kind == all[i].item->kind && !adsm_facts_order(all[j].entry, all[i].entry))
				break;
		if (j < n_shown)
			all[j].n_alike++;
		else if (n_shown < ADVICE_SHOWN)
			all[n_shown++] = all[i];
		else
			n_hidden++;
	}
	for (size_t i = 0; i < n_shown; i++) {
		fprintf(out, "adsm: %zu. ", i + 1);
		text_one_advice(out, &all[i]);
	}
	if (n_hidden)
		fprintf(out, "adsm: and %zu more, in JSON (ADSM_STATS=json:FILE)\n", n_hidden);
	free(all);
}

/* ---- kernels, with the costs that their device counts */

/* "1.2 ms", "3.0 MiB", "17". */
static struct adsm_number cost_text(const struct adsm_cost *cost, uint64_t value)
{
	const size_t length = strlen(cost->name);
	struct adsm_number number;

	if (length > 3 && !strcmp(cost->name + length - 3, "_ns"))
		return time_text(value);
	if (!strncmp(cost->name, "bytes", strlen("bytes")))
		return size_text(value);
	adsm_format(number.text, sizeof(number.text), "%lu", value);
	return number;
}

static bool any_has(const struct adsm_fact_kernel *kernels, size_t n, size_t cost)
{
	size_t i = 0;

	while (i < n && !kernels[i].costs.values[cost])
		i++;
	return i < n;
}

/* A line for a cost: its name, its value for each kernel, and its help. If it is a share of another cost, a second line
 * has the percentages. */
static void text_cost(FILE *out, const struct adsm_cost *costs, size_t cost, const struct adsm_fact_kernel *kernels,
		      size_t n)
{
	size_t all = 0;

	fprintf(out, "adsm: %-17s", costs[cost].name);
	for (size_t i = 0; i < n; i++)
		fprintf(out, " %10s", cost_text(&costs[cost], kernels[i].costs.values[cost]).text);
	fprintf(out, "  %s\n", costs[cost].help);
	if (!costs[cost].of)
		return;
	while (strcmp(costs[all].name, costs[cost].of))
		all++;
	fputs("adsm:                  ", out);
	for (size_t i = 0; i < n; i++)
		put_share(out, kernels[i].costs.values[cost], kernels[i].costs.values[all]);
	fprintf(out, "  of %s\n", costs[cost].of);
}

static void text_kernels(FILE *out, const struct adsm_fact_kernel *kernels, size_t n)
{
	const int device = kernels->device;
	const struct adsm_cost *costs = adsm_homes[device].device->backend->costs->counters;
	const size_t n_shown = n < KERNELS_SHOWN ? n : KERNELS_SHOWN;

	fprintf(out, "adsm:\nadsm: kernels on device %d, with the counters of the device, longest first\n", device);
	for (size_t i = 0; i < n_shown; i++)
		fprintf(out, "adsm: %c: '%s', %s, %s\n", 'A' + (int)i, kernels[i].name,
			count_text(kernels[i].costs.calls, "call").text, time_text(kernels[i].costs.kernel_ns).text);
	fputs("adsm:                  ", out);
	for (size_t i = 0; i < n_shown; i++)
		fprintf(out, " %10c", 'A' + (int)i);
	fputc('\n', out);
	for (size_t c = 0; costs[c].name; c++)
		if (!costs[c].quiet || any_has(kernels, n_shown, c))
			text_cost(out, costs, c, kernels, n_shown);
	if (n > n_shown)
		fprintf(out, "adsm: %zu more kernels are in JSON (ADSM_STATS=json:FILE)\n", n - n_shown);
}

static void text_devices_kernels(FILE *out, const struct adsm_facts *facts)
{
	size_t first = 0, end;

	for (; first < facts->n_kernels; first = end) {
		for (end = first; end < facts->n_kernels && facts->kernels[end].device ==
		     facts->kernels[first].device; end++)
			;
		text_kernels(out, &facts->kernels[first], end - first);
	}
}

static void text_kernels_advice(FILE *out, const struct adsm_facts *facts)
{
	size_t n_shown = 0, n = 0;

	for (size_t i = 0; i < facts->n_kernels; i++) {
		const struct adsm_fact_kernel *kernel = &facts->kernels[i];

		if (!*kernel->advice)
			continue;
		if (!n++)
			fputs("adsm:\nadsm: advice on kernels, longest first\n", out);
		if (n_shown < ADVICE_SHOWN)
			fprintf(out, "adsm: %zu. '%s' on device %d, %s: %s\n", ++n_shown, kernel->name, kernel->device,
				count_text(kernel->costs.calls, "call").text, kernel->advice);
	}
	if (n > n_shown)
		fprintf(out, "adsm: and %zu more, in JSON (ADSM_STATS=json:FILE)\n", n - n_shown);
}

/* The calls of each lane, if more than one lane has had calls. A single lane has the numbers of the totals. */
static void text_lanes(FILE *out)
{
	struct adsm_lane_sum sums[ADSM_MAX_DEVICES][ADSM_LANES_MAX];
	const int n_devices = adsm_n_homes;
	unsigned n = 0;

	for (int device = 0; device < n_devices; device++) {
		adsm_costs_lanes(device, sums[device]);
		for (unsigned lane = 0; lane < ADSM_LANES_MAX; lane++)
			n += sums[device][lane].calls != 0;
	}
	if (n < 2)
		return;
	fputs("adsm:\nadsm: calls by lanes of devices\n", out);
	for (int device = 0; device < n_devices; device++)
		for (unsigned lane = 0; lane < ADSM_LANES_MAX; lane++)
			if (sums[device][lane].calls)
				fprintf(out, "adsm: device %d, lane %u: %s, kernels ran for %s\n", device, lane,
					count_text(sums[device][lane].calls, "call").text,
					time_text(sums[device][lane].kernel_ns).text);
}

/* Objects that moved to the host because the device was full. */
static void text_displaced(FILE *out, const struct adsm_facts *facts)
{
	if (!facts->totals.displaced)
		return;
	fprintf(out, "adsm:\nadsm: %s moved to the host to make room on the device, which took %s\n",
		count_text(facts->totals.displaced, "object").text, size_text(facts->totals.displaced_bytes).text);
	if (adsm_observes(ADSM_OBSERVE_ADVICE))
		fputs("adsm: the advice compares without such moves, as if the device had room for all objects\n", out);
}

/* ---- the whole report */

void adsm_report_text(FILE *out, struct adsm_facts *facts)
{
	if (!adsm_n_homes) {
		fprintf(out, "adsm: no report on %s: the library has no devices\n", program_invocation_name);
		return;
	}
	text_head(out, facts);
	text_time(out, facts);
	text_waiters(out, facts);
	text_lanes(out);
	text_displaced(out, facts);
	text_advice(out, facts);
	text_kernels_advice(out, facts);
	adsm_facts_fold(facts);
	text_table(out, facts->entries, facts->n_entries);
	if (facts->n_not_listed)
		fprintf(out, "adsm: %" PRIu64 " objects are not listed, because there were too many\n",
			facts->n_not_listed);
	for (size_t i = 0; i < facts->n_entries && i < OBJECTS_EXPLAINED; i++)
		if (facts->entries[i].n_causes)
			text_object(out, &facts->entries[i]);
	if (facts->n_entries > OBJECTS_EXPLAINED)
		fprintf(out, "adsm:\nadsm: the causes for other objects are in JSON (ADSM_STATS=json:FILE)\n");
	text_devices_kernels(out, facts);
	fprintf(out, "adsm:\nadsm: totals\n");
#define LINE(name, help) fprintf(out, "adsm: %-14s %15" PRIu64 "  %s\n", #name, facts->totals.name, help);
	ADSM_STATS(LINE)
#undef LINE
}
