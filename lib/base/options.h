/* SPDX-License-Identifier: MIT */
/* options.h - options: rows of name, default, help and parser, and the functions that read them. A row and its value
 * are in the room that uses the option; start/options.h has the list of all rows. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct adsm_option {
	const char *name;		/* after ADSM_ */
	const char *text;		/* the default */
	const char *valid;		/* valid values, as a text; if only words are valid, a list of them */
	const char *help;
	void *field;			/* the variable of the value, valid after all options were loaded: */
	size_t size;			/* a bool, a number of 4 or 8 bytes, a text, or two numbers of 8 bytes */
	/* Returns 0, or -EINVAL for an invalid text, which the caller reports. */
	int (*parse)(const struct adsm_option *row, const char *text, uint64_t ret_value[2]);
	uint64_t min, max;		/* of a number */
	const char *zero;		/* the word for 0, or for no text */
	const char *paper;		/* the value with ADSM_PAPER=1 */
	const char *words;		/* if not only words are valid: words to propose instead of an invalid text, */
	const char *file_word;		/* and the prefix to propose for a file's name */
	const char *class;		/* "general", "cpu", "OpenCL", "CUDA", "cluster" or "local store" */
	bool expert;			/* for tests, papers and own paths: not in the short list of options */
	/* The texts that the program and the environment have set. The values point into them. */
	char *program, *environment;
	const char *now;		/* the text in force; NULL: not loaded yet */
	uint64_t value[2];		/* not yet in its field */
};

#define ADSM_FIELD(f) .field = &(f), .size = sizeof(f)

/* PAPER and LOG. A row without a name ends this array, and every other array of rows. */
extern struct adsm_option adsm_base_rows[];
extern bool adsm_paper;			/* ADSM_PAPER: fault_ahead 0, evict_batch 1, accesses ignored */

/* @owners, of the functions below: the arrays of all options, including adsm_base_rows. NULL ends the list. */

/* Read defaults, then the environment, then the values of adsm_owners_set(). The first invalid value is logged and
 * recorded, and the result is -EINVAL. The function warns of unknown ADSM_ variables and proposes the nearest name. */
int adsm_owners_load(struct adsm_option *const *owners);
/* adsmOption() before the start: check name and value now, and keep the value for adsm_owners_load(). */
int adsm_owners_set(struct adsm_option *const *owners, const char *name, const char *value);
enum adsm_options_shown { ADSM_OPTIONS_COMMON, ADSM_OPTIONS_ALL, ADSM_OPTIONS_MARKDOWN };

/* For tools: print options by class, each as a line of name, default, current value and help; or all as Markdown
 * tables. */
void adsm_owners_print(struct adsm_option *const *owners, FILE *out, enum adsm_options_shown shown);
/* Call this first in the child of a fork: another thread of the parent may have been changing the options. */
void adsm_options_child(void);

/* ---- parsers */

int adsm_parse_text(const struct adsm_option *row, const char *text, uint64_t ret_value[2]);
/* One of the words in valid, as a text; or its index in the list, for enums in the order of the words. */
int adsm_parse_word(const struct adsm_option *row, const char *text, uint64_t ret_value[2]);
int adsm_parse_index(const struct adsm_option *row, const char *text, uint64_t ret_value[2]);
/* A number of bytes or other units, optionally with K, M or G. */
int adsm_parse_number(const struct adsm_option *row, const char *text, uint64_t ret_value[2]);

/* For other parsers. The first one reads digits, and moves *text behind them. */
int adsm_scan_digits(const char **text, int base, uint64_t *ret_value);
int adsm_scan_size(const char *text, uint64_t *ret_value);
