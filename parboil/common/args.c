/* SPDX-License-Identifier: MIT */
/* args.c - the command line of parboil: one table of commands, one of options. */
#include "args.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ON(command) (1u << (command))

static const char *const commands[] = {
	[PB_LIST] = "list",
	[PB_RUN] = "run",
	[PB_GENERATE] = "generate",
	[PB_TABLE] = "table",
};
#define N_COMMANDS (sizeof(commands) / sizeof(commands[0]))

static const struct {
	const char *name;
	unsigned commands;		/* ON() of those that take it */
	size_t offset;			/* of its value in struct pb_args */
} options[] = {
	{ "--size", ON(PB_RUN) | ON(PB_GENERATE) | ON(PB_TABLE), offsetof(struct pb_args, size) },
	{ "--variant", ON(PB_RUN), offsetof(struct pb_args, variant) },
	{ "--protocol", ON(PB_RUN), offsetof(struct pb_args, protocol) },
	{ "--block-size", ON(PB_RUN) | ON(PB_TABLE), offsetof(struct pb_args, block_size) },
	{ "--rolling-size", ON(PB_RUN) | ON(PB_TABLE), offsetof(struct pb_args, rolling_size) },
	{ "--backend", ON(PB_RUN) | ON(PB_TABLE), offsetof(struct pb_args, backend) },
	{ "--repeat", ON(PB_RUN) | ON(PB_TABLE), offsetof(struct pb_args, repeat) },
	{ "--input", ON(PB_RUN) | ON(PB_TABLE), offsetof(struct pb_args, input) },
	{ "--output", ON(PB_RUN) | ON(PB_GENERATE), offsetof(struct pb_args, output) },
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
	pb_usage("there is no command \"%s\"; the commands are list, run BENCH, generate BENCH and "
		 "table BENCH", name);
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

void pb_args_parse(struct pb_args *ret_args, int argc, char **argv)
{
	memset(ret_args, 0, sizeof(*ret_args));
	ret_args->command = find_command(argc > 1 ? argv[1] : "");
	for (int i = 2; i < argc; i++) {
		const char *equals = strchr(argv[i], '='), **value;
		size_t option;

		if (argv[i][0] != '-') {
			if (ret_args->command == PB_LIST || ret_args->bench)
				pb_usage("\"%s\" is one argument too many for %s", argv[i],
					 commands[ret_args->command]);
			ret_args->bench = argv[i];
			continue;
		}
		option = find_option(ret_args->command, argv[i],
				     equals ? (size_t)(equals - argv[i]) : strlen(argv[i]));
		value = (const char **)((char *)ret_args + options[option].offset);
		if (value == &ret_args->keep) {
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
	if (ret_args->command != PB_LIST && !ret_args->bench)
		pb_usage("%s needs the name of a benchmark", commands[ret_args->command]);
}
