/* SPDX-License-Identifier: MIT */
/* observe/options.c - rows of the options of reports, traces and advice. */
#include "observe/options.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"

struct adsm_observe_options adsm_observe_options;

/* A word without a prefix is invalid. As a file's name it would only be a mistake. */
static int parse_stats(const struct adsm_option *row, const char *text, uint64_t ret_value[2])
{
	bool file = (!strncmp(text, "text:", 5) || !strncmp(text, "json:", 5)) && text[5];

	return file || !strcmp(text, "text") || !strcmp(text, row->zero) ? adsm_parse_text(row, text, ret_value) :
		-EINVAL;
}

/* Many processes may choose at the same time, so this creates the file. If that fails, the code that writes it reports
 * the error. */
static bool is_taken(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return errno == EEXIST;
	close(fd);
	return false;
}

void adsm_observe_choose(const char *wanted, int *n_taken, char ret_path[PATH_MAX])
{
	for (;; ++*n_taken) {
		adsm_format(ret_path, PATH_MAX, *n_taken > 1 ? "%s.%d.%d" : *n_taken ? "%s.%d" : "%s", wanted, getpid(),
			    *n_taken - 1);
		if (!adsm_observe_options.files_new || *n_taken >= 1000 || !is_taken(ret_path))
			return;
	}
}

struct adsm_option adsm_observe_rows[] = {
	{ "STATS", "off", "off, text, text:FILE or json:FILE",
	  "report of what the library moved and why, written when the program ends; text: on standard error; "
	  "text:FILE: text in a file; json:FILE: JSON in a file",
	  ADSM_FIELD(adsm_observe_options.stats), parse_stats, .zero = "off",
	  .words = "off, text, text:FILE, json:FILE", .file_word = "json:", .class = "general" },
	{ "TRACE", "off", "off, or a file",
	  "file for a timeline in Chrome's trace-event format, which Perfetto shows",
	  ADSM_FIELD(adsm_observe_options.trace), adsm_parse_text, .zero = "off", .class = "general" },
	{ "RECORD", "off", "off, or a file",
	  "file for a recording of what the program does with its objects, which adsm-replay replays with other "
	  "settings; the program runs slower",
	  ADSM_FIELD(adsm_observe_options.record), adsm_parse_text, .zero = "off", .class = "general" },
	{ "ADVISE", "0", "0, 1",
	  "1: the library detects which pages the CPU uses, and the report lists what would help and by how much; the "
	  "program runs slower",
	  ADSM_FIELD(adsm_observe_options.advice), adsm_parse_index, .class = "general" },
	{ "FILES", "replace", "replace, new",
	  "what the library does if the file of a report, trace or recording exists; replace: it replaces the file; "
	  "new: it writes another file, with the process ID appended to the name",
	  ADSM_FIELD(adsm_observe_options.files_new), adsm_parse_index, .class = "general" },
	{ 0 }
};
