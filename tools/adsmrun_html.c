/* SPDX-License-Identifier: MIT */
/*
 * adsmrun_html.c - one page from a run's reports and traces. A trace may have millions of events, and the page is to be
 * read in seconds: the events are counted here, and those that nobody could tell apart are put together. The lines of
 * a trace are the library's own (observe/trace.c), one event each, with the keys always in the same order.
 */
#include "adsmrun_html.h"

#include <errno.h>
#include <search.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define EVENTS_WHOLE 60000		/* up to this number all events of a trace are in the page */
#define BINS 20000			/* otherwise spans of time, of all tracks together */
#define MAPS 256			/* objects with a map of their own: those that moved most */
#define ROWS 48				/* of a map, parts of the object */
#define COLUMNS 120			/* of a map, parts of the time */
#define CATEGORIES 16

/* What happened in a part of an object in a part of the time. */
struct cell {
	double to_device, to_host;	/* bytes; a transfer's are spread over its cells */
	uint64_t opened;		/* blocks */
};

struct map {
	uint64_t size, block_size;
	unsigned rows;
	struct cell cells[ROWS][COLUMNS];
};

/* Events of one track and category that begin in the same span of time. */
struct bundle {
	double start, end, busy;	/* µs */
	uint64_t n, bytes;
	size_t name;
};

struct track {
	long pid, tid;			/* of the trace, not of the system: the key */
	size_t index;
	char *name;			/* JSON, without quotes; NULL: none yet */
	struct bundle open[CATEGORIES];
};

struct name {
	char *text;			/* JSON, without quotes: the key */
	size_t index;
};

struct page {
	FILE *out;
	double end, width;		/* µs; width 0: each event by itself */
	void *tracks, *processes, *names;	/* trees of search.h */
	size_t n_tracks, n_names, n_events;
	struct track **track_list;
	struct name **name_list;
	char *categories[CATEGORIES];
	struct map **maps;		/* by the id of the object; NULL: none */
	size_t n_maps;
	char *last;			/* the trace's last line, trace_end; NULL: none */
	bool separate;			/* something was written before: a comma is needed */
};

/* ---- text */

/* What is "<" in a report can only be in a string. As "\u003c" it cannot end the script. */
static void put_json(FILE *out, const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (text[i] == '<')
			fputs("\\u003c", out);
		else
			putc(text[i], out);
}

static const char *find_value(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at ? at + strlen(key) : NULL;
}

static double get_number(const char *line, const char *key)
{
	const char *at = find_value(line, key);

	return at ? strtod(at, NULL) : 0;
}

static uint64_t get_count(const char *line, const char *key)
{
	const char *at = find_value(line, key);

	return at ? strtoull(at, NULL, 10) : 0;
}

/* The string after a key, up to its quote. *ret_size: its length; 0: there is none. */
static const char *get_string(const char *line, const char *key, size_t *ret_size)
{
	const char *start = find_value(line, key), *at = start;

	*ret_size = 0;
	while (at && *at && *at != '"')
		at += *at == '\\' && at[1] ? 2 : 1;
	if (at)
		*ret_size = (size_t)(at - start);
	return start;
}

/* ---- tracks, names, categories */

static int compare_tracks(const void *a, const void *b)
{
	const struct track *x = a, *y = b;

	return x->pid != y->pid ? (x->pid < y->pid ? -1 : 1) : (x->tid > y->tid) - (x->tid < y->tid);
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(((const struct name *)a)->text, ((const struct name *)b)->text);
}

/* Make room for one more pointer in a list with @n of them. */
static bool has_room(void *list, size_t n)
{
	void **longer;

	if (n & (n + 1))
		return true;
	longer = realloc(*(void **)list, (2 * n + 2) * sizeof(void *));
	if (longer)
		*(void **)list = longer;
	return longer;
}

static struct track *get_track(struct page *page, long pid, long tid)
{
	struct track key = { .pid = pid, .tid = tid }, **found = tfind(&key, &page->tracks, compare_tracks), *track;

	if (found)
		return *found;
	track = calloc(1, sizeof(*track));
	if (!track || !has_room(&page->track_list, page->n_tracks)) {
		free(track);
		return NULL;
	}
	track->pid = pid;
	track->tid = tid;
	track->index = page->n_tracks;
	if (!tsearch(track, &page->tracks, compare_tracks)) {
		free(track);
		return NULL;
	}
	page->track_list[page->n_tracks++] = track;
	return track;
}

static size_t get_name(struct page *page, const char *text, size_t size)
{
	struct name key = { .text = strndup(text, size) }, **found, *name;

	found = key.text ? tfind(&key, &page->names, compare_names) : NULL;
	name = found || !key.text || !has_room(&page->name_list, page->n_names) ? NULL : malloc(sizeof(*name));
	if (!name || !(*name = key, name->index = page->n_names, tsearch(name, &page->names, compare_names))) {
		free(name);
		free(key.text);
		return found ? (*found)->index : 0;
	}
	page->name_list[page->n_names++] = name;
	return name->index;
}

/* The index of a category; CATEGORIES: there are too many, or no memory. */
static int get_category(struct page *page, const char *text, size_t size)
{
	int i = 0;

	while (i < CATEGORIES && page->categories[i] &&
	       (strlen(page->categories[i]) != size || memcmp(page->categories[i], text, size) != 0))
		i++;
	if (i < CATEGORIES && !page->categories[i])
		page->categories[i] = strndup(text, size);
	return i < CATEGORIES && !page->categories[i] ? CATEGORIES : i;
}

/* ---- maps of objects */

/* The objects of a report are in the order of their bytes, each on a line that begins with its id. */
static void make_maps(struct page *page, const char *report)
{
	const char *at = strstr(report, "\n\t\"objects\": [");

	for (int n = 0; n < MAPS && at && (at = strstr(at, "\n\t\t{\"id\": ")); n++, at++) {
		const uint64_t id = get_count(at, "\"id\": "), n_blocks = get_count(at, "\"n_blocks\": ");
		struct map *map;

		if (id >= page->n_maps) {
			struct map **longer = realloc(page->maps, (id + 1) * sizeof(*longer));

			if (!longer)
				return;
			memset(longer + page->n_maps, 0, (id + 1 - page->n_maps) * sizeof(*longer));
			page->maps = longer;
			page->n_maps = id + 1;
		}
		map = calloc(1, sizeof(*map));
		if (!map)
			return;
		map->size = get_count(at, "\"size\": ");
		map->block_size = get_count(at, "\"block_size\": ");
		map->rows = n_blocks && n_blocks < ROWS ? (unsigned)n_blocks : ROWS;
		free(page->maps[id]);
		page->maps[id] = map;
	}
}

static void note_in_map(struct page *page, const char *line, double start)
{
	const uint64_t id = get_count(line, "\"object\":");
	struct map *map = id < page->n_maps ? page->maps[id] : NULL;
	const uint64_t sent = get_count(line, "\"h2d_bytes\":"), fetched = get_count(line, "\"d2h_bytes\":");
	const uint64_t opened = get_count(line, "\"read_faults\":") + get_count(line, "\"write_faults\":");
	uint64_t offset = get_count(line, "\"offset\":"), size = sent + fetched;
	unsigned column, first, last;

	if (!map || !map->size || !(size + opened))
		return;
	if (opened) {
		offset = get_count(line, "\"first_block\":") * map->block_size;
		size = opened * map->block_size;
	}
	if (offset >= map->size)
		return;
	if (size > map->size - offset)
		size = map->size - offset;
	column = page->end > 0 ? (unsigned)(start / page->end * COLUMNS) : 0;
	column = column < COLUMNS ? column : COLUMNS - 1;
	first = (unsigned)((double)offset / (double)map->size * map->rows);
	last = (unsigned)((double)(offset + size - 1) / (double)map->size * map->rows);
	for (unsigned row = first; row <= last && row < map->rows; row++) {
		struct cell *cell = &map->cells[row][column];

		cell->to_device += (double)sent / (last - first + 1);
		cell->to_host += (double)fetched / (last - first + 1);
		cell->opened += row == first ? opened : 0;
	}
}

static void put_maps(struct page *page)
{
	FILE *out = page->out;
	bool first = true;

	fprintf(out, "],\n\"columns\":%d,\"maps\":[", COLUMNS);
	for (size_t id = 0; id < page->n_maps; id++) {
		const struct map *map = page->maps[id];
		bool none = true;

		for (unsigned row = 0; map && row < map->rows; row++) {
			for (unsigned column = 0; column < COLUMNS; column++) {
				const struct cell *cell = &map->cells[row][column];

				if (cell->to_device == 0 && cell->to_host == 0 && !cell->opened)
					continue;
				if (none)
					fprintf(out, "%s\n{\"object\":%zu,\"rows\":%u,\"cells\":[",
						first ? "" : ",", id, map->rows);
				fprintf(out, "%s%u,%u,%.0f,%.0f,%llu", none ? "" : ",", column, row, cell->to_device,
					cell->to_host, (unsigned long long)cell->opened);
				none = first = false;
			}
		}
		if (!none)
			fputs("]}", out);
	}
	fputc(']', out);
}

/* ---- events */

static void put_bundle(struct page *page, const struct track *track, int category, struct bundle *bundle)
{
	if (!bundle->n)
		return;
	fprintf(page->out, "%s%zu,%.3f,%.3f,%.3f,%d,%zu,%llu,%llu", page->separate ? ",\n" : "", track->index,
		bundle->start, bundle->end - bundle->start, bundle->busy, category, bundle->name,
		(unsigned long long)bundle->n, (unsigned long long)bundle->bytes);
	page->separate = true;
	bundle->n = 0;
}

static void note_event(struct page *page, const char *line, double start)
{
	const double duration = get_number(line, "\"dur\":");
	size_t size;
	const char *text = get_string(line, "\"cat\":\"", &size);
	int category = size ? get_category(page, text, size) : CATEGORIES;
	struct track *track = get_track(page, (long)get_number(line, "\"pid\":"), (long)get_number(line, "\"tid\":"));
	struct bundle *bundle;

	if (!track || category == CATEGORIES)
		return;
	text = get_string(line, "\"name\":\"", &size);
	bundle = &track->open[category];
	if (page->width <= 0 || duration >= page->width ||
	    (bundle->n && (uint64_t)(bundle->start / page->width) != (uint64_t)(start / page->width)))
		put_bundle(page, track, category, bundle);
	if (!bundle->n)
		*bundle = (struct bundle){ .start = start, .end = start,
					   .name = get_name(page, text ? text : "", size) };
	bundle->n++;
	bundle->busy += duration;
	bundle->end = start + duration > bundle->end ? start + duration : bundle->end;
	bundle->bytes += get_count(line, "\"h2d_bytes\":") + get_count(line, "\"d2h_bytes\":") +
		get_count(line, "\"bytes\":");
	if (page->width <= 0 || duration >= page->width)
		put_bundle(page, track, category, bundle);
}

/* A name of a process or of a track. */
static void note_meta(struct page *page, const char *line)
{
	const bool is_process = strstr(line, "\"process_name\"") != NULL;
	struct track *track;
	size_t size;
	const char *args = find_value(line, "\"args\":{"), *text;

	if (strstr(line, "\"trace_end\"")) {
		free(page->last);
		page->last = args ? strndup(args - 1, strcspn(args - 1, "\n")) : NULL;
		return;
	}
	/* A process is a track with the number -1: it has no events. */
	track = get_track(page, (long)get_number(line, "\"pid\":"),
			  is_process ? -1 : (long)get_number(line, "\"tid\":"));
	text = args ? get_string(args, "\"name\":\"", &size) : NULL;
	if (!track || !text)
		return;
	free(track->name);
	track->name = strndup(text, size);
}

/* Read all lines of a trace: first only the times, then the events. */
static void read_lines(struct page *page, FILE *trace, bool only_times)
{
	char *line = NULL;
	size_t room = 0;

	while (getline(&line, &room, trace) > 0) {
		const bool is_event = strstr(line, "\"ph\":\"X\"") || strstr(line, "\"ph\":\"i\"");
		const double start = get_number(line, "\"ts\":");

		if (only_times && is_event) {
			const double end = start + get_number(line, "\"dur\":");

			page->end = end > page->end ? end : page->end;
			page->n_events++;
		} else if (only_times && strstr(line, "\"ph\":\"M\"")) {
			note_meta(page, line);
		} else if (!only_times && is_event) {
			note_in_map(page, line, start);
			note_event(page, line, start);
		}
	}
	free(line);
}

static void put_trace(struct page *page, FILE *trace)
{
	FILE *out = page->out;

	read_lines(page, trace, true);
	if (page->n_events > EVENTS_WHOLE)
		page->width = page->end * (double)(page->n_tracks ? page->n_tracks : 1) / BINS;
	fprintf(out, "{\"n_events\":%zu,\"end_us\":%.3f,\"width_us\":%.3f,\"events\":[\n", page->n_events, page->end,
		page->width);
	rewind(trace);
	read_lines(page, trace, false);
	for (size_t i = 0; i < page->n_tracks; i++)
		for (int c = 0; c < CATEGORIES; c++)
			put_bundle(page, page->track_list[i], c, &page->track_list[i]->open[c]);
	put_maps(page);
	fputs(",\n\"categories\":[", out);
	for (int i = 0; i < CATEGORIES && page->categories[i]; i++)
		fprintf(out, "%s\"%s\"", i ? "," : "", page->categories[i]);
	fputs("],\n\"names\":[", out);
	for (size_t i = 0; i < page->n_names; i++) {
		fputs(i ? ",\"" : "\"", out);
		put_json(out, page->name_list[i]->text, strlen(page->name_list[i]->text));
		fputc('"', out);
	}
	fputs("],\n\"tracks\":[", out);
	for (size_t i = 0; i < page->n_tracks; i++) {
		const struct track *track = page->track_list[i];

		fprintf(out, "%s{\"pid\":%ld,\"tid\":%ld,\"name\":\"", i ? ",\n" : "", track->pid, track->tid);
		put_json(out, track->name ? track->name : "", track->name ? strlen(track->name) : 0);
		fputs("\"}", out);
	}
	fputs("],\n\"end\":", out);
	put_json(out, page->last ? page->last : "null}", page->last ? strlen(page->last) : 5);
}

static void free_page(struct page *page)
{
	for (size_t i = 0; i < page->n_tracks; i++) {
		tdelete(page->track_list[i], &page->tracks, compare_tracks);
		free(page->track_list[i]->name);
		free(page->track_list[i]);
	}
	for (size_t i = 0; i < page->n_names; i++) {
		tdelete(page->name_list[i], &page->names, compare_names);
		free(page->name_list[i]->text);
		free(page->name_list[i]);
	}
	for (size_t i = 0; i < page->n_maps; i++)
		free(page->maps[i]);
	for (int i = 0; i < CATEGORIES; i++)
		free(page->categories[i]);
	free(page->track_list);
	free(page->name_list);
	free(page->maps);
	free(page->last);
}

/* ---- the page */

static const char page_text[] = {
#include "adsmrun_page.inc"
};
static const char marker[] = "@RUNS@";	/* where the data goes */

int html_begin(FILE *out)
{
	const char *at = strstr(page_text, marker);

	fwrite(page_text, 1, (size_t)(at - page_text), out);
	fputc('[', out);
	return ferror(out) ? errno : 0;
}

int html_add(FILE *out, const char *report, const char *trace)
{
	struct page page = { .out = out };
	FILE *lines = trace ? fopen(trace, "re") : NULL;

	fputs("{\"report\":", out);
	put_json(out, report, strlen(report));
	fputs(",\n\"trace\":", out);
	if (lines) {
		make_maps(&page, report);
		put_trace(&page, lines);
		fclose(lines);
	} else {
		fputs("null", out);
	}
	fputs("},\n", out);
	free_page(&page);
	return ferror(out) ? errno : 0;
}

bool html_is_foreign(const char *report, const char *trace)
{
	const uint64_t ours = get_count(report, "\"pid\": ");
	FILE *file = fopen(trace, "re");
	uint64_t traced;
	char head[1024];

	if (!file)
		return false;
	head[fread(head, 1, sizeof(head) - 1, file)] = '\0';
	fclose(file);
	traced = get_count(head, "\"args\":{\"pid\":");
	return ours && traced && ours != traced;
}

int html_end(FILE *out)
{
	const char *at = strstr(page_text, marker) + sizeof(marker) - 1;

	/* The list's last comma is followed by null. */
	fputs("null]", out);
	fputs(at, out);
	return ferror(out) ? errno : 0;
}
