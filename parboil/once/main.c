/* SPDX-License-Identifier: MIT */
/* main.c - once-pipelines: pipelines of the CPU and two devices over write-once objects, and over others. */
#include "pipelines.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SCAN = 1, MATRIX = 2, FILES = 4, ALL = 7 };

static const struct pipeline {
	const char *name;
	int number;
	unsigned long most;		/* blocks */
	void (*run)(const struct settings *settings);
} pipelines[] = {
	{ "scan", SCAN, 500000, pipeline_scan },	/* whose sums fit an int */
	{ "matrix", MATRIX, 64, pipeline_matrix },
	{ "file", FILES, 500000, pipeline_file },
};
#define N_PIPELINES (sizeof(pipelines) / sizeof(pipelines[0]))

static _Noreturn void usage(const char *problem, const char *what)
{
	fprintf(stderr, "once-pipelines: %s%s\n"
		"usage: once-pipelines scan | matrix | file [OPTION]...\n"
		"  --form F      threads, once, calls or copies; may be repeated (default: all, in turn)\n"
		"  --blocks N    scan: blocks, up to 500000 (default: 50, 100, 200, 400, 500 and 1000)\n"
		"                matrix: tiles in each direction, up to 64 (default: 8)\n"
		"                file: units of 16 KiB, up to 500000 (default: 400)\n"
		"  --repeat N    measured runs of each form, up to 1000 (default: 1), after one that is not measured\n"
		"  --adds N      scan: additions of the CPU for each block (default: 50000)\n"
		"  --work N      scan: additions of each device for each block (default: 0)\n"
		"  --csv FILE    scan: append rows to FILE\n"
		"  --in FILE     file: the input (default: generated text)\n"
		"  --out FILE    file: the output (default: a temporary file)\n", problem, what);
	exit(2);
}

static unsigned long number(const char *option, const char *text, unsigned long least, unsigned long most)
{
	unsigned long value;
	char *end, problem[80];

	errno = 0;
	value = strtoul(text, &end, 10);
	if (*text >= '0' && *text <= '9' && !*end && !errno && value >= least && value <= most)
		return value;
	snprintf(problem, sizeof(problem), "%s takes a number from %lu to %lu, not ", option, least, most);
	usage(problem, text);
}

static void take_form(struct settings *settings, const char *name)
{
	int f = 0;

	while (f < N_FORMS && strcmp(name, form_names[f]))
		f++;
	if (f == N_FORMS)
		usage("the forms are threads, once, calls and copies, not ", name);
	settings->forms[f] = true;
}

/* Of options that not all pipelines have. */
static bool is(const struct pipeline *pipeline, const char *option, const char *name, int whose)
{
	char problem[80];

	if (strcmp(option, name))
		return false;
	if (pipeline->number & whose)
		return true;
	snprintf(problem, sizeof(problem), "the pipeline '%s' has no option ", pipeline->name);
	usage(problem, option);
}

static void take(const struct pipeline *pipeline, struct settings *settings, const char *option, const char *value)
{
	if (is(pipeline, option, "--form", ALL))
		take_form(settings, value);
	else if (is(pipeline, option, "--blocks", ALL))
		settings->n = number(option, value, 1, pipeline->most);
	else if (is(pipeline, option, "--repeat", ALL))
		settings->repeat = (int)number(option, value, 1, MAX_REPEAT);
	else if (is(pipeline, option, "--adds", SCAN))
		settings->adds = (unsigned)number(option, value, 0, 1000000000);
	else if (is(pipeline, option, "--work", SCAN))
		settings->work = (unsigned)number(option, value, 0, 1000000000);
	else if (is(pipeline, option, "--csv", SCAN))
		settings->csv = value;
	else if (is(pipeline, option, "--in", FILES))
		settings->in = value;
	else if (is(pipeline, option, "--out", FILES))
		settings->out = value;
	else
		usage("unknown option: ", option);
}

int main(int argc, char **argv)
{
	struct settings settings = { .adds = 50000, .repeat = 1 };
	const struct pipeline *pipeline = pipelines;
	bool chosen = false, kernels = false;

	while (argc < 2 || strcmp(argv[1], pipeline->name))
		if (++pipeline == pipelines + N_PIPELINES)
			usage("unknown pipeline: ", argc > 1 ? argv[1] : "");
	for (int i = 2; i < argc; i += 2) {
		if (i + 1 == argc)
			usage("the option is unknown, or its value is missing: ", argv[i]);
		take(pipeline, &settings, argv[i], argv[i + 1]);
	}
	if (settings.in && settings.n)
		usage("--blocks cannot be combined with --in ", settings.in);
	for (int f = 0; f < N_FORMS; f++)
		chosen |= settings.forms[f];
	for (int f = 0; f < N_FORMS; f++) {
		settings.forms[f] |= !chosen;
		kernels |= settings.forms[f] && f != FORM_THREADS;
	}
	if (kernels)
		start_devices();
	pipeline->run(&settings);
	stop_devices();
	return 0;
}
