/* SPDX-License-Identifier: MIT */
/* report.c - the report's file, and the thread that writes it repeatedly. */
#include "observe/report.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "base/log.h"
#include "base/output.h"
#include "core/life.h"
#include "observe/writer.h"
#include "observe/options.h"
#include "observe/report_json.h"
#include "observe/report_text.h"

#define FIRST_NS 100000000	/* until the first incomplete report */
#define SNAPSHOT_NS 1000000000	/* between two of them */

enum form { NO_REPORT, TEXT, JSON };

static struct {
	enum form form;
	bool to_file;			/* otherwise to standard error, at the end */
	bool is_new;			/* the library makes and replaces the file;
					   otherwise an existing one is written at the end */
	char path[PATH_MAX];
} report;

static void write_to(FILE *out, bool final)
{
	struct adsm_facts facts;

	adsm_facts_take(&facts, final);
	if (report.form == JSON)
		adsm_report_json(out, &facts);
	else
		adsm_report_text(out, &facts);
	adsm_facts_end(&facts);
	adsm_site_end();
}

/* Open an existing file that is not replaced, such as a pipe. */
static int open_as_is(void)
{
	int fd = open(report.path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY);

	return fd < 0 ? -errno : adsm_fd_lift(fd);
}

/* Not by a stream of the file: the child of a fork() has a copy of its buffer, and would write that at its end. */
static int write_file(int fd, bool final)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	bool failed;
	int error;

	if (!out)
		return -errno;
	write_to(out, final);
	failed = ferror(out);
	failed |= fclose(out) != 0;
	error = failed ? -ENOMEM : adsm_os_write(fd, text, size);
	free(text);
	return error;
}

void adsm_report_write(bool final)
{
	char temporary[ADSM_OUTPUT_PATH_SIZE];
	int fd, error;

	if (report.form == NO_REPORT)
		return;
	if (!report.to_file) {
		if (final)
			write_to(stderr, true);
		return;
	}
	/* Also not while the library is still opening its devices, because there is nothing to report. */
	if (!final && (!report.is_new || !adsm_started()))
		return;
	fd = report.is_new ? adsm_output_make(report.path, temporary) : open_as_is();
	if (fd < 0) {
		adsm_error("ADSM_STATS: cannot write to %s: %s", report.path, strerror(-fd));
		return;
	}
	error = write_file(fd, final);
	if (close(fd) && !error)
		error = -errno;
	if (!error && report.is_new)
		error = rename(temporary, report.path) ? -errno : 0;
	if (!error)
		return;
	adsm_error("ADSM_STATS: cannot write to %s: %s", report.path, strerror(-error));
	if (report.is_new)
		unlink(temporary);
}

/* The program may change its working directory before the report is written. */
static void absolute(const char *path, char ret_path[PATH_MAX])
{
	size_t n = *path != '/' && getcwd(ret_path, PATH_MAX) ? strlen(ret_path) : 0;

	if (n + strlen(path) + 2 > PATH_MAX)
		n = 0;
	adsm_format(ret_path + n, PATH_MAX - n, n ? "/%s" : "%s", path);
}

int adsm_report_open(int *n_taken)
{
	const char *where = adsm_observe_options.stats;
	static char wanted[PATH_MAX];	/* static because stacks may be small; only
					   one thread at a time starts the library */
	struct stat status;
	int fd;

	memset(&report, 0, sizeof(report));
	if (!*where && !adsm_observe_options.advice)
		return 0;
	report.form = TEXT;
	if (!*where || !strcmp(where, "text"))
		return 0;
	report.to_file = true;
	report.form = strncmp(where, "text:", 5) ? JSON : TEXT;
	absolute(where + 5, wanted);
	adsm_observe_choose(wanted, n_taken, report.path);
	report.is_new = adsm_output_is_new(report.path);
	/* A pipe is not opened yet, because its reader would stop at the first close. */
	if (!report.is_new && !stat(report.path, &status) && S_ISFIFO(status.st_mode) && !access(report.path, W_OK))
		return 0;
	fd = report.is_new ? adsm_output_replace(report.path) : open_as_is();
	if (fd < 0) {
		report.form = NO_REPORT;
		return adsm_fail(fd, "ADSM_STATS: cannot write to %s: %s", report.path, strerror(-fd));
	}
	close(fd);
	return 0;
}

bool adsm_report_wanted(void)
{
	return report.form != NO_REPORT;
}

void adsm_report_run(void *arg)
{
	uint64_t wait = report.is_new ? FIRST_NS : 0;
	enum adsm_writer_task task;

	for (; (task = adsm_writer_wait(&adsm_reporter, wait)) != ADSM_WRITER_END;
	     wait = report.is_new ? SNAPSHOT_NS : 0) {
		if (task != ADSM_WRITER_REST)
			adsm_report_write(task == ADSM_WRITER_LEAVE);
		if (task == ADSM_WRITER_LEAVE)
			adsm_writer_left(&adsm_reporter);
	}
	adsm_writer_left(&adsm_reporter);
}
