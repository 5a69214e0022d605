/* SPDX-License-Identifier: MIT */
/* args.h - the command line of parboil. */
#ifndef PARBOIL_ARGS_H
#define PARBOIL_ARGS_H

#include <stddef.h>

enum pb_command { PB_LIST, PB_RUN, PB_GENERATE, PB_TABLE, PB_COMPARE, PB_FIGURES, PB_TABLE3 };

/* An option not given is NULL. Values are checked by whoever knows what is valid. */
struct pb_args {
	enum pb_command command;
	const char **names;		/* of benchmarks, or the numbers of figures; free() it */
	size_t n_names;
	const char **inputs;		/* --input FILE... */
	size_t n_inputs;
	const char *size, *variant, *protocol, *block_size, *rolling_size, *backend, *link, *devices;
	const char *repeat, *pairs, *rivals, *json, *output, *out, *points, *nodes;
	const char *keep;		/* given: not NULL */
};

/* Reads the command line; ends the program with status 2 and one line where it is not valid. */
void pb_args_parse(struct pb_args *ret_args, int argc, char **argv);
/* One line that says what is wrong with the command line; exit status 2. */
_Noreturn void pb_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The number an option was given, @fallback where it was not. */
unsigned pb_args_number(const char *option, const char *text, unsigned fallback, unsigned min, unsigned max);

#endif
