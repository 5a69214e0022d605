/* SPDX-License-Identifier: MIT */
/* args.h - the command line of parboil. */
#ifndef PARBOIL_ARGS_H
#define PARBOIL_ARGS_H

enum pb_command { PB_LIST, PB_RUN, PB_GENERATE, PB_TABLE };

/* An option not given is NULL. Values are checked by whoever knows what is valid. */
struct pb_args {
	enum pb_command command;
	const char *bench;
	const char *size, *variant, *protocol, *block_size, *rolling_size, *backend;
	const char *repeat, *json, *input, *output;
	const char *keep;		/* given: not NULL */
};

/* Reads the command line; ends the program with status 2 and one line where it is not valid. */
void pb_args_parse(struct pb_args *ret_args, int argc, char **argv);
/* One line that says what is wrong with the command line; exit status 2. */
_Noreturn void pb_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
