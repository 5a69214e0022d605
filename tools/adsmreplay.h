/* SPDX-License-Identifier: MIT */
/* adsmreplay.h - the parts of adsm-replay. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "adsm.h"
#include "observe/recording.h"
#include "protocols/list.h"

/* Print "adsm-replay: …" on standard error. */
#define complain(format, ...) fprintf(stderr, "adsm-replay: " format "\n", ##__VA_ARGS__)

/* ---- a recording (adsmreplay_load.c) */

struct recorded_object {
	char name[ADSM_NAME_SIZE];
	size_t size;
	unsigned flags;			/* ADSM_REC_MADE_* */
	unsigned device, protocol, block_shift;
	bool own;			/* its allocation chose protocol or blocks: they do not follow the settings */
	bool freed;
	adsmStats counted;		/* its real counters */
};

struct recording {
	const char *path;
	void *map;
	size_t map_size;
	const struct adsm_recording_header *header;
	struct adsm_recording_event *events;
	size_t n_events;
	struct recorded_object *objects;	/* by id; the first one is unused */
	uint32_t n_objects;
	unsigned n_threads;		/* their numbers are less */
	uint64_t n_missed;		/* objects without a recording */
	bool ended, reset;
};

/* Read and check a recording. Returns false after an error message. */
bool recording_load(const char *path, struct recording *ret_recording);
void recording_free(struct recording *recording);

/* ---- replays (adsmreplay_run.c) */

struct setting {
	const struct adsm_protocol *protocol;
	struct adsm_protocol_options options;
};

struct result {
	adsmStats stats;
	char about[160];		/* "": the counters are exact; otherwise why they are not */
};

/* Replay with a setting. Returns false after an error message. */
bool replay(const struct recording *recording, const struct setting *setting, struct result *ret_result);
/* The real counters of the recorded run. */
void recording_counted(const struct recording *recording, adsmStats *ret_stats);

/* ---- output (adsmreplay_out.c) */

struct link {
	const char *text;		/* as on the command line; NULL: none */
	uint64_t bandwidth;		/* bytes per second; 0: no limit */
	uint64_t latency_ns;		/* of each transfer */
};

struct row {
	struct setting setting;
	struct link link;
	struct result result;
};

/* Tables on standard output; a CSV file ("-": standard output); a plot by gnuplot. The last two return false after an
 * error message. */
void print_table(const struct recording *recording, const struct row *rows, size_t n);
bool write_csv(const char *path, const struct row *rows, size_t n);
bool draw_plot(const char *path, const struct row *rows, size_t n);
