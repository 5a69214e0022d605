/* SPDX-License-Identifier: MIT */
/* args.c - the command line of parboil: one table of commands, one of options. */
#include "args.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ON(command) (1u << (command))
#define MEASURES (ON(PB_TABLE) | ON(PB_COMPARE) | ON(PB_FIGURES))

static const char *const commands[] = {
	[PB_LIST] = "list",
	[PB_RUN] = "run",
	[PB_GENERATE] = "generate",
	[PB_TABLE] = "table",
	[PB_COMPARE] = "compare",
	[PB_FIGURES] = "figures",
	[PB_TABLE3] = "table3",
};
#define N_COMMANDS (sizeof(commands) / sizeof(commands[0]))

static const struct {
	const char *name;
	unsigned commands;		/* ON() of those that take it */
	size_t offset;			/* of its value in struct pb_args */
} options[] = {
	{ "--size", ON(PB_RUN) | ON(PB_GENERATE) | ON(PB_TABLE3) | MEASURES, offsetof(struct pb_args, size) },
	{ "--variant", ON(PB_RUN) | ON(PB_TABLE3), offsetof(struct pb_args, variant) },
	{ "--protocol", ON(PB_RUN), offsetof(struct pb_args, protocol) },
	{ "--block-size", ON(PB_RUN) | ON(PB_TABLE) | ON(PB_COMPARE), offsetof(struct pb_args, block_size) },
	{ "--rolling-size", ON(PB_RUN) | ON(PB_TABLE) | ON(PB_COMPARE), offsetof(struct pb_args, rolling_size) },
	{ "--backend", ON(PB_RUN) | MEASURES, offsetof(struct pb_args, backend) },
	{ "--link", ON(PB_RUN) | MEASURES, offsetof(struct pb_args, link) },
	{ "--devices", ON(PB_RUN), offsetof(struct pb_args, devices) },
	{ "--repeat", ON(PB_RUN), offsetof(struct pb_args, repeat) },
	{ "--pairs", ON(PB_COMPARE) | ON(PB_FIGURES), offsetof(struct pb_args, pairs) },
	{ "--rivals", ON(PB_TABLE) | ON(PB_COMPARE), offsetof(struct pb_args, rivals) },
	{ "--base", ON(PB_FIGURES), offsetof(struct pb_args, rivals) },
	{ "--input", ON(PB_RUN) | ON(PB_TABLE) | ON(PB_COMPARE), offsetof(struct pb_args, inputs) },
	{ "--points", ON(PB_RUN) | ON(PB_TABLE) | ON(PB_COMPARE), offsetof(struct pb_args, points) },
	{ "--output", ON(PB_RUN) | ON(PB_GENERATE), offsetof(struct pb_args, output) },
	{ "--out", ON(PB_FIGURES), offsetof(struct pb_args, out) },
	{ "--nodes", ON(PB_TABLE3), offsetof(struct pb_args, nodes) },
	{ "--json", ON(PB_RUN), offsetof(struct pb_args, json) },
	{ "--keep", ON(PB_RUN), offsetof(struct pb_args, keep) },
};
#define N_OPTIONS (sizeof(options) / sizeof(options[0]))

void pb_usage(const char *format, ...)
{
	va_list list;

	fputs("parboil: ", stderr);
	va_start(list, format);
	vfprintf(stderr, format, list);
	va_end(list);
	fputc('\n', stderr);
	exit(2);
}

static enum pb_command find_command(const char *name)
{
	for (size_t i = 0; i < N_COMMANDS; i++)
		if (strcmp(commands[i], name) == 0)
			return i;
	pb_usage("there is no command \"%s\"; the commands are list, run BENCH, generate BENCH, "
		 "table BENCH, compare [BENCH ...], figures [NUMBER ...] and table3", name);
}

static size_t find_option(enum pb_command command, const char *name, size_t length)
{
	char valid[256] = "";

	for (size_t i = 0; i < N_OPTIONS; i++) {
		if (!(options[i].commands & ON(command)))
			continue;
		if (strncmp(options[i].name, name, length) == 0 && !options[i].name[length])
			return i;
		strcat(strcat(valid, " "), options[i].name);
	}
	pb_usage("%s takes no option \"%s\"; its options are%s", commands[command], name,
		 valid[0] ? valid : " none");
}

unsigned pb_args_number(const char *option, const char *text, unsigned fallback, unsigned min, unsigned max)
{
	unsigned long n;
	char *end;

	if (!text)
		return fallback;
	n = strtoul(text, &end, 10);
	if (*end || end == text || n < min || n > max || *text == '+' || *text == '-')
		pb_usage("%s takes a number from %u to %u, not \"%s\"", option, min, max, text);
	return n;
}

/* --input without = takes all arguments up to the next option. How many of the first @n of @argv it is. */
static int take_inputs(struct pb_args *args, char **argv, int n)
{
	int i = 0;

	while (i < n && argv[i][0] != '-')
		args->inputs[args->n_inputs++] = argv[i++];
	return i;
}

void pb_args_parse(struct pb_args *ret_args, int argc, char **argv)
{
	struct pb_args *args = ret_args;
	bool many;

	*args = (struct pb_args){ .command = find_command(argc > 1 ? argv[1] : "") };
	args->names = calloc(2 * (size_t)argc, sizeof(*args->names));
	if (!args->names)
		pb_usage("not enough memory for the command line");
	args->inputs = args->names + argc;
	many = args->command == PB_COMPARE || args->command == PB_FIGURES;
	for (int i = 2; i < argc; i++) {
		const char *equals = strchr(argv[i], '='), **value;
		size_t option;

		if (argv[i][0] != '-') {
			if (args->command == PB_LIST || args->command == PB_TABLE3 || (args->n_names && !many))
				pb_usage("\"%s\" is one argument too many for %s", argv[i],
					 commands[args->command]);
			args->names[args->n_names++] = argv[i];
			continue;
		}
		option = find_option(args->command, argv[i],
				     equals ? (size_t)(equals - argv[i]) : strlen(argv[i]));
		value = (const char **)((char *)args + options[option].offset);
		if (value == (const char **)&args->inputs) {
			size_t before = args->n_inputs;

			if (equals)
				args->inputs[args->n_inputs++] = equals + 1;
			else
				i += take_inputs(args, argv + i + 1, argc - i - 1);
			if (args->n_inputs == before)
				pb_usage("--input needs a value");
		} else if (value == &args->keep) {
			if (equals)
				pb_usage("--keep takes no value");
			*value = argv[i];
		} else if (equals) {
			*value = equals + 1;
		} else if (i + 1 < argc) {
			*value = argv[++i];
		} else {
			pb_usage("%s needs a value", options[option].name);
		}
	}
	if (args->command != PB_LIST && args->command != PB_TABLE3 && !many && !args->n_names)
		pb_usage("%s needs the name of a benchmark", commands[args->command]);
}
