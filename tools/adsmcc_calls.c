/* SPDX-License-Identifier: MIT */
/*
 * adsmcc_calls.c - how often functions call each other. Without any notes, each call in the code counts once. The pass
 * over the bitcode estimates how often a call runs in one run of its caller, by the loops around it. The notes of a run
 * have the number of calls.
 */
#include "adsmcc_link.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct call {
	uint32_t from, to;		/* sections */
	double n;
};

struct calls {
	struct call *v;
	size_t n;
	bool *noted;			/* by section: the notes have it */
};

/* The section of the function; 0: the object has no such function. */
static uint32_t section_of(const struct link *link, const char *name)
{
	for (size_t i = 0; i < link->object.n_symbols; i++)
		if (link->object.symbols[i].function && !strcmp(link->object.symbols[i].name, name))
			return link->object.symbols[i].section;
	return 0;
}

static void add_call(struct calls *calls, uint32_t from, uint32_t to, double n)
{
	calls->v = grow(calls->v, (calls->n + 1) * sizeof(*calls->v));
	calls->v[calls->n++] = (struct call) { from, to, n };
}

/* Each line has a caller, a called function and a number. */
static void read_lines(const struct link *link, struct calls *calls, const struct text *lines)
{
	char from[1024], to[1024];
	double n;

	for (const char *line = lines->bytes; line && *line; line = strchr(line, '\n') + 1) {
		if (sscanf(line, "%1023s %1023s %lf", from, to, &n) == 3) {
			const uint32_t one = section_of(link, from), other = section_of(link, to);

			calls->noted[one] = calls->noted[other] = true;
			if (one && other && one != other)
				add_call(calls, one, other, n);
		}
		if (!strchr(line, '\n'))
			return;
	}
}

/* One for each call in the code. */
static void read_code(const struct link *link, struct calls *calls)
{
	for (uint32_t i = 0; i < link->object.n_sections; i++) {
		const struct object_section *code = &link->object.sections[i];

		for (size_t k = 0; link->reached[i] && code->code && k < code->n_relocations; k++) {
			uint32_t to;
			int64_t offset;

			if (link_reference(link, i, &code->relocations[k], &to, &offset) == REFERENCE_BRANCH && to &&
			    to != i)
				add_call(calls, i, to, 1);
		}
	}
}

/* How often a function runs: the sum over its calls. */
struct runs {
	const struct calls *calls;
	double *n;			/* by section */
	bool *entered, *known;
};

static double find_runs(struct runs *runs, uint32_t section)
{
	if (runs->known[section] || runs->entered[section])
		return runs->n[section];
	runs->entered[section] = true;
	for (size_t i = 0; i < runs->calls->n; i++)
		if (runs->calls->v[i].to == section)
			runs->n[section] += runs->calls->v[i].n * find_runs(runs, runs->calls->v[i].from);
	runs->entered[section] = false;
	runs->known[section] = true;
	return runs->n[section];
}

/* Estimates are for one run of the caller: multiply them by the runs of the caller, from kernels on. */
static void estimate(const struct link *link, struct calls *calls)
{
	const size_t n = link->object.n_sections;
	struct runs runs = { calls, grow(NULL, n * sizeof(double)), grow(NULL, n), grow(NULL, n) };

	memset(runs.entered, 0, n);
	memset(runs.known, 0, n);
	for (size_t i = 0; i < n; i++)
		runs.n[i] = 0;
	for (size_t i = 0; i < link->object.n_symbols; i++)
		if (link->object.symbols[i].exported)
			runs.n[link->object.symbols[i].section] = 1;
	for (uint32_t i = 0; i < n; i++)
		find_runs(&runs, i);
	for (size_t i = 0; i < calls->n; i++)
		calls->v[i].n *= runs.n[calls->v[i].from];
}

static struct calls no_calls(const struct link *link)
{
	struct calls calls = { .noted = grow(NULL, link->object.n_sections) };

	memset(calls.noted, 0, link->object.n_sections);
	return calls;
}

double *weigh_calls(const struct link *link, const struct partition_options *options)
{
	const size_t n = link->object.n_sections;
	double *weights = grow(NULL, n * n * sizeof(*weights));
	struct calls guessed = no_calls(link), counted = no_calls(link);

	for (size_t i = 0; i < n * n; i++)
		weights[i] = 0;
	read_lines(link, &counted, &options->profile);
	if (options->calls.bytes) {
		read_lines(link, &guessed, &options->calls);
		estimate(link, &guessed);
	} else {
		read_code(link, &guessed);
	}
	/* A function that the notes do not have did not run, or was divided in another way. */
	for (size_t i = 0; i < guessed.n; i++)
		if (!counted.noted[guessed.v[i].from] || !counted.noted[guessed.v[i].to])
			add_call(&counted, guessed.v[i].from, guessed.v[i].to,
				 options->profile.bytes ? guessed.v[i].n * 1e-9 : guessed.v[i].n);
	for (size_t i = 0; i < counted.n; i++) {
		weights[counted.v[i].from * n + counted.v[i].to] += counted.v[i].n;
		weights[counted.v[i].to * n + counted.v[i].from] += counted.v[i].n;
	}
	return weights;
}

void check_profile(const struct text *profile, const char *path)
{
	char from[1024], to[1024];
	double n;

	for (const char *line = profile->bytes; line && *line; line = strchr(line, '\n') + 1) {
		if (sscanf(line, "%1023s %1023s %lf", from, to, &n) != 3)
			die("--partition profile:%s: the file has no notes of ADSM_SCRATCHPAD_NOTES", path);
		if (!strcmp(from, "*") || !strcmp(to, "*"))
			die("--partition profile:%s: the notes are of partitions with several functions: note a run of "
			    "a module that was made with --partition each", path);
		if (!strchr(line, '\n'))
			return;
	}
	if (!profile->size)
		die("--partition profile:%s: the file is empty: no kernel has run in partitions", path);
}
