/* SPDX-License-Identifier: MIT */
/*
 * options.h - options: rows of name, default, help and parser, and the functions that read them. A row and its value
 * are in the room that uses the option; start/options.h has the list of all rows.
 */
#ifndef ADSM_OPTIONS_H
#define ADSM_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct adsm_option {
	const char *name;		/* after ADSM_ */
	const char *text;		/* the default */
	const char *valid;		/* for people; the words themselves where only words are valid */
	const char *help;
	void *field;			/* of the value, valid once all were loaded: */
	size_t size;			/* a bool, a number of 4 or 8 bytes, a text, or two numbers of 8 bytes */
	/* 0, or -EINVAL for a text that is not valid; the caller says so. */
	int (*parse)(const struct adsm_option *row, const char *text, uint64_t ret_value[2]);
	uint64_t min, max;		/* of a number */
	const char *zero;		/* the word that stands for 0, or for no text */
	const char *paper;		/* what ADSM_PAPER=1 makes of it */
	const char *words;		/* those that may have been meant, where not only words are valid */
	const char *file_word;		/* and what is missing before a file's name */
	const char *class;		/* "general", "cpu", "OpenCL", "CUDA", "cluster" or "local store" */
	bool expert;			/* for tests, papers and own paths: not in the short list of options */
	/* The texts that the program and the environment have set. The values point into them. */
	char *program, *environment;
	const char *now;		/* the text in force; NULL: not loaded yet */
	uint64_t value[2];		/* not yet in its field */
};

#define ADSM_FIELD(f) .field = &(f), .size = sizeof(f)

/* About all the others, and about what is said. Ended, as each owner's, by a row without a name. */
extern struct adsm_option adsm_base_rows[];
extern bool adsm_paper;			/* ADSM_PAPER: fault_ahead 0, evict_batch 1, accesses ignored */

/* @owners: all options, adsm_base_rows among them, ended by NULL. */

/* Read defaults, then the environment, then what adsm_owners_set() was told. Logs and records the
 * first value that is not valid: -EINVAL. Warns about unknown ADSM_ variables, with the nearest name. */
int adsm_owners_load(struct adsm_option *const *owners);
/* adsmOption() before start: checks name and value now, remembers it for adsm_owners_load(). */
int adsm_owners_set(struct adsm_option *const *owners, const char *name, const char *value);
/* For tools: each option as a line of name, default, current value and help; or as a Markdown table. */
void adsm_owners_print(struct adsm_option *const *owners, FILE *out, bool markdown);
/* In the child of a fork, before anything else: whoever was here may have been changing them. */
void adsm_options_child(void);

/* ---- parsers */

int adsm_parse_text(const struct adsm_option *row, const char *text, uint64_t ret_value[2]);
/* One of the words, as text; or its index among them, for enums in the order of their words. */
int adsm_parse_word(const struct adsm_option *row, const char *text, uint64_t ret_value[2]);
int adsm_parse_index(const struct adsm_option *row, const char *text, uint64_t ret_value[2]);
/* A whole number of bytes, or of things, with K, M or G. */
int adsm_parse_number(const struct adsm_option *row, const char *text, uint64_t ret_value[2]);

/* The same for parsers of more than that. Digits only, which *text is then behind. */
int adsm_scan_digits(const char **text, int base, uint64_t *ret_value);
int adsm_scan_size(const char *text, uint64_t *ret_value);

#endif
