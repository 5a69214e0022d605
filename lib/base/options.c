/* SPDX-License-Identifier: MIT */
/* options.c - parses options, and prints them for adsm-info and the manual's table; the rows PAPER and LOG. */
#include "base/options.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/os.h"

#define NAME_SIZE 32			/* of an option's name or a word among its values, with its NUL */

#define EACH(row, owners)								\
	for (struct adsm_option *const *owner_ = (owners); *owner_; owner_++)		\
		for (struct adsm_option *row = *owner_; row->name; row++)

bool adsm_paper;

struct adsm_option adsm_base_rows[] = {
	{ "PAPER", "0", "0, 1",
	  "1: exact behaviour of the papers: fault-ahead 0, eviction batch 1, declared accesses ignored; clusters: "
	  "update threshold, exchange bcast, tracker sigsegv, and locks of tasks that do not stay on nodes; "
	  "scratchpads: no prefetch",
	  ADSM_FIELD(adsm_paper), adsm_parse_index, .class = "general", .expert = true },
	{ "LOG", "warn", "silent, error, warn, info, debug",
	  "which messages the library writes to standard error",
	  ADSM_FIELD(adsm_log_level), adsm_parse_index, .class = "general" },
	{ 0 }
};

/* Guards all values and their texts, and loading. */
static struct adsm_mutex mutex = ADSM_MUTEX_INIT(ADSM_RANK_OPTIONS);

/* ---- parsers */

/* Take the next of the words in "batch, lazy, rolling"; false after the last. */
static bool next_word(const char **list, char ret_word[NAME_SIZE])
{
	size_t n = strcspn(*list, ",");

	if (!n || n >= NAME_SIZE)
		return false;
	memcpy(ret_word, *list, n);
	ret_word[n] = '\0';
	*list += n;
	*list += strspn(*list, ", ");
	return true;
}

int adsm_parse_text(const struct adsm_option *row, const char *text, uint64_t ret_value[2])
{
	ret_value[0] = (uintptr_t)(row->zero && !strcmp(text, row->zero) ? "" : text);
	return 0;
}

int adsm_parse_word(const struct adsm_option *row, const char *text, uint64_t ret_value[2])
{
	return adsm_parse_index(row, text, ret_value) ? -EINVAL : adsm_parse_text(row, text, ret_value);
}

int adsm_parse_index(const struct adsm_option *row, const char *text, uint64_t ret_value[2])
{
	const char *list = row->valid;
	char word[NAME_SIZE];

	for (ret_value[0] = 0; next_word(&list, word); ret_value[0]++)
		if (!strcmp(word, text))
			return 0;
	return -EINVAL;
}

/* strtoull() alone would also take a sign. */
int adsm_scan_digits(const char **text, int base, uint64_t *ret_value)
{
	char *end;
	uint64_t value;

	if (**text < '0' || **text > '9')
		return -EINVAL;
	errno = 0;
	value = strtoull(*text, &end, base);
	if (errno)
		return -EINVAL;
	*text = end;
	*ret_value = value;
	return 0;
}

int adsm_scan_size(const char *text, uint64_t *ret_value)
{
	static const char suffixes[] = "KMG";
	const char *suffix;
	uint64_t value;

	if (adsm_scan_digits(&text, 10, &value))
		return -EINVAL;
	suffix = *text ? strchr(suffixes, adsm_upper(*text)) : NULL;
	if (suffix) {
		unsigned shift = 10 * (unsigned)(suffix - suffixes + 1);

		if (value << shift >> shift != value)
			return -EINVAL;
		value <<= shift;
		text++;
	}
	if (*text)
		return -EINVAL;
	*ret_value = value;
	return 0;
}

int adsm_parse_number(const struct adsm_option *row, const char *text, uint64_t ret_value[2])
{
	uint64_t value = 0;

	if (!(row->zero && !strcmp(text, row->zero)) &&
	    (adsm_scan_size(text, &value) || value < row->min || value > row->max))
		return -EINVAL;
	ret_value[0] = value;
	return 0;
}

/* ---- names that are almost right */

static unsigned distance(const char *a, const char *b)
{
	unsigned cost[NAME_SIZE + 1];
	size_t n = strlen(b);

	for (size_t j = 0; j <= n; j++)
		cost[j] = (unsigned)j;
	for (; *a; a++) {
		unsigned diagonal = cost[0]++;

		for (size_t j = 1; j <= n; j++) {
			unsigned best = diagonal + (adsm_upper(*a) != adsm_upper(b[j - 1]));

			diagonal = cost[j];
			if (best > diagonal + 1)
				best = diagonal + 1;
			if (best > cost[j - 1] + 1)
				best = cost[j - 1] + 1;
			cost[j] = best;
		}
	}
	return cost[n];
}

/* Is @candidate nearer to @text than all before it, and near at all? *best is 0 before the first. */
static bool nearer(const char *text, const char *candidate, unsigned *best)
{
	unsigned d = distance(text, candidate);

	if (!*best)
		*best = (unsigned)strlen(text) / 2 + 1;
	if (d >= *best)
		return false;
	*best = d;
	return true;
}

static const struct adsm_option *nearest_row(struct adsm_option *const *owners, const char *name)
{
	const struct adsm_option *nearest = NULL;
	unsigned best = 0;

	EACH(row, owners)
		if (nearer(name, row->name, &best))
			nearest = row;
	return nearest;
}

static int fail_value(const struct adsm_option *row, const char *text)
{
	const bool words_only = row->parse == adsm_parse_word || row->parse == adsm_parse_index;
	const char *list = words_only ? row->valid : row->words, *file = "";
	char word[NAME_SIZE], near[NAME_SIZE] = "";
	unsigned best = 0;

	if (row->file_word && !strchr(text, ':') && strpbrk(text, "./")) {
		strcpy(near, row->file_word);
		file = text;
	} else if (list) {
		while (next_word(&list, word))
			if (nearer(text, word, &best))
				memcpy(near, word, sizeof(near));
	}
	return adsm_fail(-EINVAL, "ADSM_%s=%s is not valid; valid: %s%s%s%s%s", row->name, text, row->valid,
			 *near ? " (did you mean " : "", near, file, *near ? "?)" : "");
}

/* ---- loading */

static struct adsm_option *option_named(struct adsm_option *const *owners, const char *name)
{
	EACH(row, owners)
		if (!strcmp(row->name, name))
			return row;
	return NULL;
}

/* A variable that only the Python package reads: the library's file. */
static bool is_not_ours(const char *name)
{
	return !strcmp(name, "ADSM_LIBRARY");
}

/* Only once in a process, as the environment is the same at each start. */
static void warn_unknown(struct adsm_option *const *owners)
{
	static bool warned;

	for (char **e = warned ? NULL : environ; e && *e; e++) {
		char *name = strncmp(*e, "ADSM_", 5) ? NULL : strndup(*e, strcspn(*e, "="));

		if (name && !is_not_ours(name) && !option_named(owners, name + 5) && adsm_os_getenv(name)) {
			const struct adsm_option *near = nearest_row(owners, name + 5);

			adsm_warn("%s is not an option%s%s%s", name,
				  near ? " (did you mean ADSM_" : "; adsm-info lists them", near ? near->name : "",
				  near ? "?)" : "");
		}
		free(name);
	}
	warned = true;
}

/* A text that has not changed stays where it is, as the values in force point to it. */
static int keep(char **at, const char *text)
{
	char *copy, *old;

	if (!text == !*at && (!text || !strcmp(text, *at)))
		return 0;
	copy = text ? strdup(text) : NULL;
	if (text && !copy)
		return -ENOMEM;
	old = *at;
	*at = copy;	/* set before free(): the child of a fork in between may free it again */
	free(old);
	return 0;
}

/* The values of words and texts are pointers to them. */
static bool are_same(const struct adsm_option *row, const void *value, const void *other)
{
	const char *texts[2];

	if (row->parse != adsm_parse_word && row->parse != adsm_parse_text)
		return !memcmp(value, other, row->size);
	memcpy(&texts[0], value, sizeof(texts[0]));
	memcpy(&texts[1], other, sizeof(texts[1]));
	return !strcmp(texts[0], texts[1]);
}

/* Read the value of one row, from the program, the environment, ADSM_PAPER or the default. @paper: ADSM_PAPER=1. */
static int load(struct adsm_option *row, bool paper)
{
	char name[sizeof("ADSM_") + NAME_SIZE];
	uint64_t papers[2];
	const char *text;

	adsm_format(name, sizeof(name), "ADSM_%s", row->name);
	text = adsm_os_getenv(name);
	if (keep(&row->environment, text && *text ? text : NULL))
		return adsm_fail(-ENOMEM, "out of memory while reading %s", name);
	text = row->program ? row->program : row->environment;
	row->now = text ? text : paper && row->paper ? row->paper : row->text;
	if (row->parse(row, row->now, row->value))
		return fail_value(row, row->now);
	if (paper && row->paper && text) {
		row->parse(row, row->paper, papers);
		if (!are_same(row, row->value, papers))
			return adsm_fail(-EINVAL, "ADSM_PAPER=1 and %s=%s contradict each other: the paper's value is "
					 "%s", name, text, row->paper);
	}
	return 0;
}

/* Other threads may be reading the value. On both processors the lowest byte of a number comes first. */
static void put_in_force(const struct adsm_option *row)
{
	if (memcmp(row->field, row->value, row->size))
		memcpy(row->field, row->value, row->size);
}

/* The caller holds the mutex. */
static int load_all(struct adsm_option *const *owners)
{
	struct adsm_option *paper = &adsm_base_rows[0], *log = &adsm_base_rows[1];
	int error = load(log, false);

	/* First the log level: it decides which messages appear for the rest. */
	if (!error) {
		put_in_force(log);
		error = load(paper, false);
	}
	EACH(row, owners)
		if (!error)
			error = load(row, paper->value[0]);
	warn_unknown(owners);
	if (error) {
		adsm_error_once();
		return error;
	}
	EACH(row, owners)
		put_in_force(row);
	return 0;
}

int adsm_owners_load(struct adsm_option *const *owners)
{
	int error;

	adsm_mutex_lock(&mutex);
	error = load_all(owners);
	adsm_mutex_unlock(&mutex);
	return error;
}

void adsm_options_child(void)
{
	/* A thread that the child does not have may hold the mutex. */
	adsm_mutex_init(&mutex, ADSM_RANK_OPTIONS);
}

int adsm_owners_set(struct adsm_option *const *owners, const char *name, const char *value)
{
	char upper[NAME_SIZE] = "";
	struct adsm_option *row;
	uint64_t scratch[2];
	int error;

	if (!name)
		return adsm_fail(-EINVAL, "the name of the option is NULL");
	for (size_t i = 0; name[i] && i < sizeof(upper) - 1; i++)
		upper[i] = adsm_upper(name[i]);
	for (char *c; (c = strchr(upper, '-')); )
		*c = '_';
	row = strlen(name) < sizeof(upper) ? option_named(owners, upper) : NULL;
	if (!row) {
		const struct adsm_option *near = nearest_row(owners, upper);

		return adsm_fail(-EINVAL, "%s is not an option%s%s%s", name,
				 near ? " (did you mean " : "; adsm-info lists them", near ? near->name : "",
				 near ? "?)" : "");
	}
	if (value && row->parse(row, value, scratch))
		return fail_value(row, value);
	adsm_mutex_lock(&mutex);
	error = keep(&row->program, value);
	adsm_mutex_unlock(&mutex);
	adsm_error_forget();	/* with this option the same error may be worth a new message */
	return error ? adsm_fail(error, "out of memory while setting %s", row->name) : 0;
}

/* Print the options of a class that are, or are not, for experts. */
static void print_some(struct adsm_option *const *owners, FILE *out, bool markdown, const char *class, bool expert)
{
	EACH(row, owners)
		if (row->expert != expert || (class && strcmp(row->class, class)))
			continue;
		else if (markdown)
			fprintf(out, "| `ADSM_%s` | `%s` | %s | %s |\n", row->name, row->text, row->valid,
				row->help);
		else
			fprintf(out, "ADSM_%-16s %-9s %-9s %s (%s)\n", row->name, row->text,
				row->now ? row->now : row->text, row->help, row->valid);
}

void adsm_owners_print(struct adsm_option *const *owners, FILE *out, enum adsm_options_shown shown)
{
	static const char *const classes[] = { "general", "cpu", "OpenCL", "CUDA", "cluster", "local store" };
	const bool markdown = shown == ADSM_OPTIONS_MARKDOWN;
	const char *head = markdown ? "\n| Variable | Default | Valid | Meaning |\n|---|---|---|---|\n" : "";

	if (!markdown)
		fprintf(out, "%-21s %-9s %-9s %s\n", "option", "default", "now", "meaning (valid)");
	for (size_t i = 0; i < sizeof(classes) / sizeof(*classes); i++) {
		fprintf(out, markdown ? "%s### %s\n%s" : "%s-- %s\n%s", markdown && i ? "\n" : "", classes[i], head);
		print_some(owners, out, markdown, classes[i], false);
	}
	if (shown == ADSM_OPTIONS_COMMON) {
		fprintf(out, "adsm-info(1) says how to show the options for experiments.\n");
		return;
	}
	fprintf(out, markdown ? "\n### For experiments\n%s" : "-- for experiments\n%s", head);
	print_some(owners, out, markdown, NULL, true);
}
