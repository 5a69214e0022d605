/* SPDX-License-Identifier: MIT */
/*
 * report.c - the report, as text for people and as JSON for programs. What is known is copied under the records' lock;
 * words for places are looked for after that, so that nobody waits for it.
 */
#include "observe/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "observe/advice.h"
#include "base/log.h"
#include "observe/observe.h"
#include "protocols/list.h"
#include "observe/options.h"
#include "observe/site.h"
#include "base/stats.h"

#define TEXT_SIZE 192		/* of a place in words, or of a number and its noun */
/* In the text; JSON has all. */
#define OBJECTS_SHOWN 20
#define OBJECTS_EXPLAINED 10	/* with their causes */
#define CAUSES_SHOWN 5		/* of one object */
#define ADVICE_SHOWN 10
#define ADVICE_MAX 8		/* of one object, that there may be */

enum { TO_HOST, TO_DEVICE };	/* in a cause's counts */

static const char *const why_words[ADSM_N_WHYS] = {
	[ADSM_WHY_OTHER] = "other", [ADSM_WHY_READ] = "read", [ADSM_WHY_WRITE] = "write", [ADSM_WHY_COPY] = "copy",
	[ADSM_WHY_FILL] = "fill", [ADSM_WHY_IO] = "io", [ADSM_WHY_HOLD] = "hold", [ADSM_WHY_CALL] = "call",
	[ADSM_WHY_SYNC] = "sync", [ADSM_WHY_EVICT] = "evict",
};

struct cause {
	struct adsm_cause cause;
	char where[TEXT_SIZE];		/* ""; not known */
	uint64_t opened, opened_writing, faults, transfers[2], bytes[2], place;
};

/* All that a cause counts. */
#define COUNTS(X) X(opened) X(opened_writing) X(faults) X(transfers[0]) X(transfers[1]) X(bytes[0]) X(bytes[1])

/* One object, or in the text several that are alike. */
struct entry {
	const struct adsm_record *record;
	size_t n;
	char name[ADSM_NAME_SIZE];
	uint64_t freed_ns;
	uint64_t calls;			/* several: 0 */
	adsmStats stats;
	struct cause *causes;
	size_t n_causes;
	struct adsm_advice_item *advice;
	size_t n_advice;
	char site[TEXT_SIZE];
};

struct state {
	bool final, no_memory;
	uint64_t wall_ns, counted_ns;	/* since the start; since the counters were 0 */
	adsmStats totals;
	struct entry *entries;		/* largest traffic first */
	size_t n_entries;
	uint64_t n_not_listed;
};

/* ---- what is known */

static uint64_t traffic(const adsmStats *stats)
{
	return stats->h2d_bytes + stats->d2h_bytes;
}

static int compare(uint64_t a, uint64_t b)
{
	return a < b ? 1 : a > b ? -1 : 0;
}

static int compare_entries(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int order = compare(traffic(&x->stats), traffic(&y->stats));

	if (!order)
		order = compare(x->stats.read_faults + x->stats.write_faults,
				y->stats.read_faults + y->stats.write_faults);
	return order ? order : compare(y->record->id, x->record->id);
}

static int compare_causes(const void *a, const void *b)
{
	const struct cause *x = a, *y = b;
	int order = compare(x->bytes[0] + x->bytes[1], y->bytes[0] + y->bytes[1]);

	if (!order)
		order = compare(x->opened + x->opened_writing, y->opened + y->opened_writing);
	if (!order)
		order = compare(x->faults, y->faults);
	return order ? order : compare(y->cause.where, x->cause.where);
}

static void add_stats(adsmStats *sum, const adsmStats *stats)
{
#define ADD(name, help) sum->name += stats->name;
	ADSM_STATS(ADD)
#undef ADD
}

static void add_cause(struct cause *sum, const struct cause *cause)
{
#define ADD(count) sum->count += cause->count;
	COUNTS(ADD)
#undef ADD
	if (!sum->place)
		sum->place = cause->place;
	else if (cause->place && cause->place != sum->place)
		sum->place = ADSM_MANY_PLACES;
}

/* One loop has several instructions on a line, and objects that are alike have causes that are. */
static void fold_causes(struct entry *entry)
{
	size_t n = 0;

	for (size_t i = 0; i < entry->n_causes; i++) {
		struct cause *cause = &entry->causes[i];
		size_t j = 0;

		while (j < n && (entry->causes[j].cause.why != cause->cause.why ||
				 entry->causes[j].cause.in_libc != cause->cause.in_libc ||
				 strcmp(entry->causes[j].where, cause->where) ||
				 strcmp(entry->causes[j].cause.name, cause->cause.name)))
			j++;
		if (j < n)
			add_cause(&entry->causes[j], cause);
		else
			entry->causes[n++] = *cause;
	}
	entry->n_causes = n;
	if (n)
		qsort(entry->causes, n, sizeof(*entry->causes), compare_causes);
}

/* NULL where there is nothing or no memory; the latter is said in @no_memory. */
static void *duplicate(const void *items, size_t n, size_t size, bool *no_memory)
{
	void *copy = n ? malloc(n * size) : NULL;

	if (copy)
		memcpy(copy, items, n * size);
	else if (n)
		*no_memory = true;
	return copy;
}

/* Under the records' lock. */
static bool copy_record(const struct adsm_record *record, struct entry *entry)
{
	struct adsm_advice_item items[ADVICE_MAX];
	struct cause causes[ADSM_CAUSES_MAX];
	bool no_memory = false;
	size_t n = 0, n_advice;

	entry->record = record;
	entry->n = 1;
	memcpy(entry->name, record->name, sizeof(entry->name));
	entry->freed_ns = record->freed_ns;
	entry->calls = atomic_load(&record->calls);
	adsm_record_stats(record, &entry->stats);
	n_advice = record->advice ? adsm_advice_list(record, items, ADVICE_MAX) : 0;
	for (int i = 0; i < ADSM_CAUSES_MAX; i++) {
		const struct adsm_cause_count *from = &record->causes[i];
		struct cause *to = &causes[n];
		uint64_t any = 0;

		if (!atomic_load(&from->complete))
			continue;
		*to = (struct cause){ .cause = from->cause };
		to->place = atomic_load_explicit(&from->place, memory_order_relaxed);
#define COPY(count) any |= to->count = atomic_load_explicit(&from->count, memory_order_relaxed);
		COUNTS(COPY)
#undef COPY
		n += any != 0;
	}
	entry->advice = duplicate(items, n_advice, sizeof(*items), &no_memory);
	entry->n_advice = entry->advice ? n_advice : 0;
	entry->causes = duplicate(causes, n, sizeof(*causes), &no_memory);
	entry->n_causes = entry->causes ? n : 0;
	return !no_memory;
}

/*
 * Where an object was allocated. Inner frames without lines, in a module that has some, are those of a runtime that was
 * linked in.
 */
static void find_site(struct entry *entry)
{
	const struct adsm_record *record = entry->record;
	char text[TEXT_SIZE];

	for (unsigned i = 0; i < record->n_site; i++) {
		bool has_line;

		if (i && !adsm_site_same_module(record->site[0], record->site[i]))
			return;
		has_line = adsm_site_text(record->site[i], true, text, sizeof(text));
		if (!i || has_line)
			memcpy(entry->site, text, sizeof(text));
		if (has_line)
			return;
	}
}

static void find_where(struct cause *cause)
{
	uintptr_t where = cause->cause.where;
	bool faulted = cause->cause.why == ADSM_WHY_READ || cause->cause.why == ADSM_WHY_WRITE;

	if (where && (!cause->cause.in_libc || adsm_site_follows_call(where)))
		adsm_site_text(where, cause->cause.in_libc || !faulted, cause->where, sizeof(cause->where));
}

static void forget(struct state *state)
{
	for (size_t i = 0; i < state->n_entries; i++) {
		free(state->entries[i].causes);
		free(state->entries[i].advice);
	}
	free(state->entries);
}

static void take(struct state *state, bool final)
{
	const struct adsm_record *record, *first;
	size_t n = 0;

	*state = (struct state){ .final = final };
	first = adsm_records_lock(&state->n_not_listed);
	for (record = first; record; record = record->next)
		n++;
	state->entries = calloc(n + 1, sizeof(*state->entries));
	if (!state->entries)
		n = 0;
	state->no_memory = !state->entries;
	for (record = first; record && n && !state->no_memory; record = record->next)
		state->no_memory = !copy_record(record, &state->entries[state->n_entries++]);
	adsm_counters_read(&adsm_total, &state->totals);
	state->wall_ns = adsm_os_now_ns() - adsm_start_ns;
	state->counted_ns = state->wall_ns;
	if (adsm_counted_ns)
		state->counted_ns = adsm_start_ns + state->wall_ns - adsm_counted_ns;
	adsm_records_unlock();
	for (size_t i = 0; i < state->n_entries; i++) {
		struct entry *entry = &state->entries[i];

		find_site(entry);
		for (size_t j = 0; j < entry->n_causes; j++)
			find_where(&entry->causes[j]);
		fold_causes(entry);
	}
	if (state->n_entries)
		qsort(state->entries, state->n_entries, sizeof(*state->entries), compare_entries);
}

/*
 * The paper's break-down (Figure 10), as the program's threads see it: what they waited for, and the rest, in which
 * they worked. Kernels run beside that.
 */
static uint64_t rest_ns(const struct state *state)
{
	const adsmStats *totals = &state->totals;
	uint64_t sum = totals->wait_ns + totals->h2d_ns + totals->d2h_ns + totals->fault_ns + totals->io_ns;

	return sum < state->counted_ns ? state->counted_ns - sum : 0;
}

/* ---- text: numbers and their nouns, in a buffer of TEXT_SIZE. No printf("%f"): the program's locale is not ours. */

static const char *size_text(uint64_t size, char *buffer)
{
	static const char *const units[] = { "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	unsigned unit = 0;
	uint64_t tenths;

	if (size < 1024) {
		snprintf(buffer, TEXT_SIZE, "%" PRIu64 " B", size);
		return buffer;
	}
	for (; size >> 10 >= 1024; size >>= 10)
		unit++;
	tenths = (size * 10 + 512) >> 10;
	if (tenths >= 10240 && unit < 5) {
		tenths = 10;
		unit++;
	}
	snprintf(buffer, TEXT_SIZE, "%" PRIu64 ".%" PRIu64 " %s", tenths / 10, tenths % 10, units[unit]);
	return buffer;
}

static const char *time_text(uint64_t ns, char *buffer)
{
	static const char *const units[] = { "us", "ms", "s" };
	unsigned unit = 0;
	uint64_t tenths;

	for (; unit < 2 && ns >= 999950; ns /= 1000)
		unit++;
	tenths = (ns + 50) / 100;
	snprintf(buffer, TEXT_SIZE, "%" PRIu64 ".%" PRIu64 " %s", tenths / 10, tenths % 10, units[unit]);
	return buffer;
}

static const char *count_text(uint64_t n, const char *noun, char *buffer)
{
	snprintf(buffer, TEXT_SIZE, "%" PRIu64 " %s%s", n, noun, n == 1 ? "" : "s");
	return buffer;
}

static const char *times_text(uint64_t n, char *buffer)
{
	return n == 1 ? "once" : count_text(n, "time", buffer);
}

static const char *percent_text(uint64_t part, uint64_t whole, char *buffer)
{
	uint64_t tenths = whole ? (uint64_t)((double)part * 1000 / (double)whole + 0.5) : 0;

	snprintf(buffer, TEXT_SIZE, "%" PRIu64 ".%" PRIu64 "%%", tenths / 10, tenths % 10);
	return buffer;
}

/* What an object is called: its name, or where it was allocated. */
static const char *title(const struct entry *entry, char buffer[2 * TEXT_SIZE])
{
	const size_t size = (size_t)2 * TEXT_SIZE;
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

/* ---- text: the parts of the report */

static void text_head(FILE *out, const struct state *state)
{
	char time[TEXT_SIZE], size[TEXT_SIZE];
	int n_devices = adsm_n_homes;

	fprintf(out, "adsm: report on %s (process %d), %s, libadsm %d.%d.%d\n", program_invocation_name, getpid(),
		time_text(state->wall_ns, time), ADSM_VERSION_MAJOR, ADSM_VERSION_MINOR, ADSM_VERSION_PATCH);
	if (!state->final)
		fprintf(out, "adsm: incomplete: the program had not ended; state after %s\n", time);
	for (int i = 0; i < n_devices; i++)
		fprintf(out, "adsm: device %d: %s (%s)\n", i, adsm_homes[i].device->name,
			adsm_homes[i].device->backend->name);
	if (!strcmp(adsm_protocol_options.protocol, "rolling"))
		fprintf(out, "adsm: protocol: rolling, in blocks of %s\n",
			size_text(adsm_protocol_options.block_size, size));
	else
		fprintf(out, "adsm: protocol: %s\n", adsm_protocol_options.protocol);
	if (state->counted_ns != state->wall_ns)
		fprintf(out, "adsm: counted since adsmStatsReset(), %s before the end\n",
			time_text(state->counted_ns, time));
	if (adsm_site_lacks_libdw())
		fprintf(out, "adsm: lines of source files cannot be told without libdw.so.1 (Debian's libdw1)\n");
	if (state->no_memory)
		fprintf(out, "adsm: no memory to list the objects\n");
}

static void text_time(FILE *out, const struct state *state)
{
	const adsmStats *totals = &state->totals;
	const struct {
		const char *what;
		uint64_t ns;
	} parts[] = {
		{ "waiting for kernels", totals->wait_ns },
		{ "sending to devices", totals->h2d_ns },
		{ "fetching from devices", totals->d2h_ns },
		{ "handling faults", totals->fault_ns },
		{ "input and output of shared memory", totals->io_ns },
		{ "the rest: the program's own work", rest_ns(state) },
	};
	char time[TEXT_SIZE], percent[TEXT_SIZE];
	uint64_t sum = 0;

	fprintf(out, "adsm:\nadsm: where the time went (%s)\n", time_text(state->counted_ns, time));
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		sum += parts[i].ns;
		fprintf(out, "adsm: %10s %7s  %s\n", time_text(parts[i].ns, time),
			percent_text(parts[i].ns, state->counted_ns, percent), parts[i].what);
	}
	fprintf(out, "adsm: %10s %7s  kernels ran, beside that\n", time_text(totals->kernel_ns, time),
		percent_text(totals->kernel_ns, state->counted_ns, percent));
	if (sum > state->counted_ns)
		fprintf(out, "adsm: More than all of it: several threads, early sends beside the program, and\n"
			"adsm: transfers for input and output count in each part.\n");
}

static void text_row(FILE *out, uint64_t size, const adsmStats *stats, const char *object)
{
	char sizes[3][TEXT_SIZE], time[TEXT_SIZE];

	fprintf(out, "adsm: %10s %10s %7" PRIu64 " %10s %7" PRIu64 " %8" PRIu64 " %8" PRIu64 " %8" PRIu64 " %7" PRIu64
		" %9s  %s\n", size_text(size, sizes[0]), size_text(stats->h2d_bytes, sizes[1]), stats->h2d_transfers,
		size_text(stats->d2h_bytes, sizes[2]), stats->d2h_transfers, stats->read_faults, stats->write_faults,
		stats->signals, stats->evictions, time_text(stats->h2d_ns + stats->d2h_ns + stats->fault_ns, time),
		object);
}

static void text_table(FILE *out, const struct entry *entries, size_t n)
{
	char object[2 * TEXT_SIZE];

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
			add_stats(&sum, &entries[i].stats);
			size += entries[i].record->size * entries[i].n;
			n_more += entries[i].n;
		}
		snprintf(object, sizeof(object), "and %zu more object%s", n_more, n_more == 1 ? "" : "s");
		text_row(out, size, &sum, object);
	}
}

/* Why bytes moved, in words; the others have some of their own. */
static const char *const reasons[ADSM_N_WHYS] = {
	[ADSM_WHY_OTHER] = "other causes", [ADSM_WHY_COPY] = "a copy (memcpy() or the like)",
	[ADSM_WHY_FILL] = "a fill (memset() or the like)", [ADSM_WHY_IO] = "input or output",
	[ADSM_WHY_HOLD] = "adsmHold()", [ADSM_WHY_SYNC] = "adsmSync()", [ADSM_WHY_EVICT] = "early, before a call",
};

static void text_reason(FILE *out, const struct cause *cause)
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
		fputs("commands that the program gave its driver itself", out);
	if (*cause->where)
		fprintf(out, " at %s", cause->where);
}

static void text_cause(FILE *out, const struct cause *cause, uint64_t n_calls)
{
	uint64_t n_opened = cause->opened + cause->opened_writing;
	const char *separator = "";
	char text[2][TEXT_SIZE];

	fputs("adsm:   ", out);
	for (int d = 0; d < 2; d++)
		if (cause->transfers[d]) {
			fprintf(out, "%s%s %s, %s", separator, d == TO_DEVICE ? "sent" : "fetched",
				times_text(cause->transfers[d], text[0]), size_text(cause->bytes[d], text[1]));
			separator = "; ";
		}
	if (!*separator && n_opened)
		fprintf(out, "opened %s%s", count_text(n_opened, "block", text[0]), cause->opened ? "" : " to write");
	else if (!*separator)
		fputs("nothing moved", out);
	fputs(": ", out);
	text_reason(out, cause);
	if (cause->faults)
		fprintf(out, ", %s", count_text(cause->faults, "fault", text[0]));
	if (cause->faults && n_calls)
		fprintf(out, " in %s", count_text(n_calls, "call", text[0]));
	if (cause->faults > 1 && cause->place && cause->place != ADSM_MANY_PLACES)
		fprintf(out, ", each at byte %" PRIu64, cause->place - 1);
	fputc('\n', out);
}

static void text_causes(FILE *out, const struct entry *entry)
{
	struct cause rest = { .cause.why = ADSM_WHY_OTHER };

	for (size_t i = 0; i < entry->n_causes; i++)
		if (i < CAUSES_SHOWN || entry->n_causes == CAUSES_SHOWN + 1)
			text_cause(out, &entry->causes[i], entry->calls);
		else
			add_cause(&rest, &entry->causes[i]);
	if (entry->n_causes > CAUSES_SHOWN + 1)
		text_cause(out, &rest, entry->calls);
}

static void text_object(FILE *out, const struct entry *entry)
{
	const struct adsm_record *record = entry->record;
	char object[2 * TEXT_SIZE], sizes[2][TEXT_SIZE], times[3][TEXT_SIZE], count[TEXT_SIZE];

	fprintf(out, "adsm:\nadsm: %s: %s", title(entry, object), size_text(record->size, sizes[0]));
	if (record->device_only)
		fprintf(out, ", on device %d only", record->device);
	else if (record->n_blocks > 1)
		fprintf(out, ", %s, %s of %s", record->protocol, count_text(record->n_blocks, "block", count),
			size_text(record->block_size, sizes[1]));
	else
		fprintf(out, ", %s", record->protocol);
	if (record->adopted)
		fputs(", the program's own", out);
	if (entry->calls)
		fprintf(out, ", %s", count_text(entry->calls, "kernel call", count));
	fprintf(out, "; sending took %s, fetching %s, faults %s\n", time_text(entry->stats.h2d_ns, times[0]),
		time_text(entry->stats.d2h_ns, times[1]), time_text(entry->stats.fault_ns, times[2]));
	text_causes(out, entry);
}

/* ---- text: advice */

/* Objects that are told as one are equal here. */
static int compare_kinds(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	const struct adsm_record *p = x->record, *q = y->record;
	int order = strcmp(x->site, y->site);

	if (!order)
		order = strcmp(x->name, y->name);
	if (!order)
		order = strcmp(p->protocol, q->protocol);
	if (!order)
		order = compare(p->size, q->size);
	if (!order)
		order = compare(p->block_size, q->block_size);
	if (!order)
		order = compare((uint64_t)p->device << 1 | p->adopted, (uint64_t)q->device << 1 | q->adopted);
	return order;
}

struct advice {
	const struct adsm_advice_item *item;
	const struct entry *entry;
	size_t n_alike;			/* objects that are told the same, more or less */
};

/* To compare advice about different objects: a transfer costs like so many bytes more, and so does a fault. */
static uint64_t cost(const adsmStats *stats)
{
	return traffic(stats) + (stats->h2d_transfers + stats->d2h_transfers + stats->signals) * 16384;
}

static int compare_advice(const void *a, const void *b)
{
	const struct adsm_advice_item *x = ((const struct advice *)a)->item, *y = ((const struct advice *)b)->item;
	int64_t saves_x = (int64_t)(cost(&x->now) - cost(&x->then));
	int64_t saves_y = (int64_t)(cost(&y->now) - cost(&y->then));

	return saves_x < saves_y ? 1 : saves_x > saves_y ? -1 : 0;
}

static void text_moved(FILE *out, const char *verb, uint64_t bytes, uint64_t n, uint64_t then_bytes, uint64_t then_n)
{
	char texts[2][TEXT_SIZE], count[TEXT_SIZE];

	if (bytes != then_bytes || n != then_n)
		fprintf(out, "; %s %s in %s, then %s in %" PRIu64, verb, size_text(bytes, texts[0]),
			count_text(n, "transfer", count), size_text(then_bytes, texts[1]), then_n);
}

static void text_one_advice(FILE *out, const struct advice *advice)
{
	const adsmStats *now = &advice->item->now, *then = &advice->item->then;
	char text[2 * TEXT_SIZE];

	fprintf(out, "%s: %s\n", title(advice->entry, text), advice->item->text);
	fprintf(out, "adsm:    %s, %s", advice->item->setting, advice->item->exact ? "exactly" : "about");
	text_moved(out, "sent", now->h2d_bytes, now->h2d_transfers, then->h2d_bytes, then->h2d_transfers);
	text_moved(out, "fetched", now->d2h_bytes, now->d2h_transfers, then->d2h_bytes, then->d2h_transfers);
	if (now->signals != then->signals)
		fprintf(out, "; %s, then %" PRIu64, count_text(now->signals, "fault", text), then->signals);
	if (advice->n_alike)
		fprintf(out, "; the same for %s like it", count_text(advice->n_alike, "object", text));
	fputc('\n', out);
}

static void text_advice(FILE *out, const struct state *state)
{
	struct advice *all;
	size_t n = 0, max = 0, n_shown = 0, n_hidden = 0;

	if (!adsm_observe_options.advise)
		return;
	for (size_t i = 0; i < state->n_entries; i++)
		max += state->entries[i].n_advice;
	all = calloc(max + 1, sizeof(*all));
	for (size_t i = 0; all && i < state->n_entries; i++)
		for (size_t j = 0; j < state->entries[i].n_advice; j++)
			all[n++] = (struct advice){ &state->entries[i].advice[j], &state->entries[i], 0 };
	fprintf(out, "adsm:\nadsm: advice, the best first%s\n", n ? "" : ": none");
	if (n)
		qsort(all, n, sizeof(*all), compare_advice);
	for (size_t i = 0, j; i < n; i++) {
		for (j = 0; j < n_shown; j++)
			if (all[j].item->kind == all[i].item->kind && !compare_kinds(all[j].entry, all[i].entry))
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

/* ---- text: all of it */

static bool join(struct entry *sum, struct entry *entry)
{
	size_t n = sum->n_causes + entry->n_causes;
	struct cause *causes = realloc(sum->causes, (n + 1) * sizeof(*causes));

	if (!causes)
		return false;
	if (entry->n_causes)
		memcpy(causes + sum->n_causes, entry->causes, entry->n_causes * sizeof(*causes));
	sum->causes = causes;
	sum->n_causes = n;
	sum->n++;
	sum->calls = 0;		/* they may share some */
	add_stats(&sum->stats, &entry->stats);
	free(entry->causes);
	return true;
}

/* Objects that are alike into one entry. */
static void fold(struct state *state)
{
	struct entry *entries = state->entries;
	size_t n = 0;

	if (!state->n_entries)
		return;
	qsort(entries, state->n_entries, sizeof(*entries), compare_kinds);
	for (size_t i = 0; i < state->n_entries; i++) {
		free(entries[i].advice);	/* it has been told */
		entries[i].advice = NULL;
		if (!n || !*entries[i].site || compare_kinds(&entries[n - 1], &entries[i]) ||
		    !join(&entries[n - 1], &entries[i]))
			entries[n++] = entries[i];
	}
	for (size_t i = 0; i < n; i++)
		fold_causes(&entries[i]);
	qsort(entries, n, sizeof(*entries), compare_entries);
	state->n_entries = n;
}

void adsm_report_text(FILE *out, bool final)
{
	struct state state;

	if (!adsm_n_homes) {
		fprintf(out, "adsm: no report on %s: the library has no devices\n", program_invocation_name);
		return;
	}
	take(&state, final);
	text_head(out, &state);
	text_time(out, &state);
	text_advice(out, &state);
	fold(&state);
	text_table(out, state.entries, state.n_entries);
	if (state.n_not_listed)
		fprintf(out, "adsm: %" PRIu64 " objects are not listed, because there were too many\n",
			state.n_not_listed);
	for (size_t i = 0; i < state.n_entries && i < OBJECTS_EXPLAINED; i++)
		if (state.entries[i].n_causes)
			text_object(out, &state.entries[i]);
	if (state.n_entries > OBJECTS_EXPLAINED)
		fprintf(out, "adsm:\nadsm: why others moved is in JSON (ADSM_STATS=json:FILE)\n");
	fprintf(out, "adsm:\nadsm: totals\n");
#define LINE(name, help) fprintf(out, "adsm: %-14s %15" PRIu64 "  %s\n", #name, state.totals.name, help);
	ADSM_STATS(LINE)
#undef LINE
	forget(&state);
	adsm_site_end();
}

/* ---- JSON */

static void json_string(FILE *out, const char *text)
{
	unsigned n;

	fputc('"', out);
	for (; *text; text += n ? n : 1) {
		n = adsm_utf8_length(text);
		if (!n)
			fputs("\\ufffd", out);
		else if (*text == '"' || *text == '\\')
			fprintf(out, "\\%c", *text);
		else if (n == 1 && (*text < ' ' || *text == 0x7f))
			fprintf(out, "\\u%04x", *text);
		else
			fwrite(text, 1, n, out);
	}
	fputc('"', out);
}

/* "" is told as null. */
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

static void json_cause(FILE *out, const struct cause *cause)
{
	fprintf(out, "{\"why\": \"%s\", ", why_words[cause->cause.why]);
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
		cause->transfers[TO_DEVICE], cause->bytes[TO_DEVICE]);
	fprintf(out, ", \"to_host\": {\"transfers\": %" PRIu64 ", \"bytes\": %" PRIu64 "}}",
		cause->transfers[TO_HOST], cause->bytes[TO_HOST]);
}

/* What advice promises. */
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

static void json_object(FILE *out, const struct entry *entry)
{
	const struct adsm_record *record = entry->record;
	char text[TEXT_SIZE];

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

static void json_time(FILE *out, const struct state *state)
{
	const adsmStats *totals = &state->totals;

	fprintf(out, "\t\"time\": {\"counted_ns\": %" PRIu64 ", \"wait_ns\": %" PRIu64 ", \"to_device_ns\": %" PRIu64
		", \"to_host_ns\": %" PRIu64 ", \"fault_ns\": %" PRIu64 ", \"io_ns\": %" PRIu64 ", \"cpu_ns\": %" PRIu64
		", \"kernel_ns\": %" PRIu64 "},\n", state->counted_ns, totals->wait_ns, totals->h2d_ns, totals->d2h_ns,
		totals->fault_ns, totals->io_ns, rest_ns(state), totals->kernel_ns);
}

void adsm_report_json(FILE *out, bool final)
{
	struct state state;

	take(&state, final);
	fprintf(out, "{\n\t\"adsm\": \"%d.%d.%d\",\n\t\"final\": %s,\n\t\"program\": ", ADSM_VERSION_MAJOR,
		ADSM_VERSION_MINOR, ADSM_VERSION_PATCH, final ? "true" : "false");
	json_string(out, program_invocation_name);
	fprintf(out, ",\n\t\"pid\": %d,\n\t\"wall_ns\": %" PRIu64 ",\n", getpid(), state.wall_ns);
	fprintf(out, "\t\"protocol\": \"%s\",\n\t\"block_size\": %zu,\n", adsm_protocol_options.protocol,
		adsm_protocol_options.block_size);
	json_devices(out);
	fputs("\t\"totals\": ", out);
	json_stats(out, &state.totals);
	fputs(",\n", out);
	json_time(out, &state);
	fputs("\t\"objects\": [", out);
	for (size_t i = 0; i < state.n_entries; i++) {
		fputs(i ? ",\n\t\t" : "\n\t\t", out);
		json_object(out, &state.entries[i]);
	}
	fprintf(out, "],\n\t\"objects_not_listed\": %" PRIu64 "\n}\n", state.n_not_listed);
	forget(&state);
	adsm_site_end();
}
