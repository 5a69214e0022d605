/* SPDX-License-Identifier: MIT */
/* adsmrun_files.c - the reports and traces of a run. It chooses the files for the library. After the program has ended,
 * it completes files that the program could not complete, and prints them. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "adsmrun.h"
#include "adsmrun_html.h"
#include "base/output.h"
#include "observe/options.h"

#define TAIL_SIZE ((off_t)65536)	/* bytes at the end of a trace, where the end of the last full line must be */

/* Files of one kind. The first process writes FILE, and others write FILE.PID or FILE.PID.N. */
struct output {
	bool wanted, json, print;
	char copy_to[PATH_MAX];		/* the file to print to; "": standard error */
	char path[PATH_MAX], folder[PATH_MAX], *name;	/* of FILE */
	char old[PATH_MAX + 48];	/* the name of the old FILE until all is prepared; "": there is none */
	struct dirent **before;		/* the folder's entries before the run */
	int n_before;
};

static struct output report, trace, recording;
static struct output page;		/* only its path is used */
static char temporary[PATH_MAX];	/* the folder of files that do not stay; "": none */

/* ---- before the run */

static bool in_folder(struct dirent **list, int n, const char *name)
{
	for (int i = 0; i < n; i++)
		if (!strcmp(list[i]->d_name, name))
			return true;
	return false;
}

static void free_list(struct dirent **list, int n)
{
	while (n > 0)
		free(list[--n]);
	free(list);
}

static void set_file(struct output *output, const char *path)
{
	snprintf(output->path, sizeof(output->path), "%s", path);
	strcpy(output->folder, output->path);
	output->name = strrchr(output->folder, '/');
	*output->name++ = '\0';
	output->wanted = true;
}

/* Put an output into a folder that is removed at the end. */
static int set_temporary(struct output *output)
{
	const char *folder = getenv("TMPDIR"), *name = output == &trace ? "/trace" : "/report";
	char path[PATH_MAX];

	if (!*temporary) {
		snprintf(temporary, sizeof(temporary), "%s/adsmrun.XXXXXX", folder && *folder ? folder : "/tmp");
		if (!mkdtemp(temporary)) {
			complain("cannot create the folder %s: %s", temporary, strerror(errno));
			*temporary = '\0';
			return RUN_FAILED;
		}
	}
	if (!realpath(temporary, path) || strlen(path) + strlen(name) >= sizeof(path)) {
		complain("%s: %s", temporary, strerror(errno));
		return RUN_FAILED;
	}
	set_file(output, strcat(path, name));
	return 0;
}

/* Check a file of the command line: it must be possible to create it. An old file stays. */
static int choose(struct output *output, const char *wanted, const char *option)
{
	char path[PATH_MAX], folder[PATH_MAX], temporary_path[ADSM_OUTPUT_PATH_SIZE];
	const char *name = strrchr(wanted, '/') ? strrchr(wanted, '/') + 1 : wanted;
	struct stat status;
	int fd;

	if (!adsm_output_is_new(wanted)) {
		/* A file in the place of a closed /dev/stdout would replace this link. */
		if (stat(wanted, &status)) {
			complain("--%s: cannot write to %s: %s", option, wanted, strerror(errno));
			return RUN_USAGE;
		}
		/* A report can be printed to a device or pipe. A trace must be a regular file, to be completed. So
		 * must a recording, to be mapped. */
		if (output != &report || S_ISDIR(status.st_mode)) {
			complain("--%s: %s is not a regular file", option, wanted);
			return RUN_USAGE;
		}
		snprintf(output->copy_to, sizeof(output->copy_to), "%s", wanted);
		output->print = true;
		return set_temporary(output);
	}
	/* Only the folder is resolved: if the file is a link, the link itself is replaced. */
	snprintf(path, sizeof(path), "%.*s", (int)(name - wanted), wanted);
	errno = ENAMETOOLONG;
	if (!realpath(name == wanted ? "." : path, folder) ||
	    snprintf(path, sizeof(path), "%s/%s", strcmp(folder, "/") ? folder : "", name) >= (int)sizeof(path))
		fd = -errno;
	else
		fd = adsm_output_make(path, temporary_path);
	if (fd < 0 || close(fd) || unlink(temporary_path)) {
		complain("--%s: cannot write to %s: %s", option, wanted, strerror(fd < 0 ? -fd : errno));
		return RUN_USAGE;
	}
	set_file(output, path);
	return 0;
}

static int set_variable(const char *variable, const char *before, const struct output *output)
{
	char value[2 * PATH_MAX];

	snprintf(value, sizeof(value), "%s%s", before, output->path);
	if (!setenv(variable, value, 1))
		return 0;
	complain("cannot set %s: %s", variable, strerror(errno));
	return RUN_FAILED;
}

static int choose_report(void)
{
	const char *stats = adsm_observe_options.stats;

	report.json = page.wanted || (*stats && strncmp(stats, "text", 4) != 0);
	if (page.wanted && !strncmp(stats, "text", 4)) {
		complain("--html already shows the report; to have it in a file, too, use --stats=json:FILE");
		return RUN_USAGE;
	}
	if (*stats && strcmp(stats, "text") != 0)
		return choose(&report, stats + 5, "stats");
	if (!*stats && !adsm_observe_options.advice && !page.wanted)
		return 0;
	report.print = !page.wanted;
	return set_temporary(&report);
}

static const struct { struct output *output; const char *option; } outputs[] = {
	{ &report, "--stats" }, { &trace, "--trace" }, { &recording, "--record" }, { &page, "--html" },
};
#define N_OUTPUTS (sizeof(outputs) / sizeof(outputs[0]))

/* Is the file neither the program nor another output? Returns 0 or a status. */
static int check_output(size_t i, const struct program *program)
{
	const struct output *output = outputs[i].output;

	if (!output->wanted)
		return 0;
	if (same_file(output->path, program->path) || same_file(output->path, program->elf)) {
		complain("%s names the program", outputs[i].option);
		return RUN_USAGE;
	}
	for (size_t j = i + 1; j < N_OUTPUTS; j++)
		if (outputs[j].output->wanted && !strcmp(output->path, outputs[j].output->path)) {
			complain("%s and %s name the same file", outputs[i].option, outputs[j].option);
			return RUN_USAGE;
		}
	return 0;
}

/* Give the old FILE another name, and read its folder. Returns 0 or a status. */
static int begin(struct output *output, const char *option)
{
	if (!output->wanted)
		return 0;
	snprintf(output->old, sizeof(output->old), "%.*s.%d.part", PATH_MAX, output->path, getpid());
	if (rename(output->path, output->old)) {
		*output->old = '\0';
		if (errno != ENOENT) {
			complain("%s: cannot write to %s: %s", option, output->path, strerror(errno));
			return RUN_USAGE;
		}
	}
	output->n_before = scandir(*output->folder ? output->folder : "/", &output->before, NULL, alphasort);
	if (output->n_before >= 0)
		return 0;
	complain("cannot read %s: %s", output->folder, strerror(errno));
	return RUN_FAILED;
}

/* Remove the old FILE, or put it back if the program will not run. */
static void end_old(const struct output *output, int status)
{
	if (*output->old && (status ? rename(output->old, output->path) : unlink(output->old)))
		complain("cannot %s %s: %s", status ? "put back" : "remove", output->old, strerror(errno));
}

int files_prepare(const char *html, const struct program *program)
{
	int status = html ? choose(&page, html, "html") : 0;

	if (!status)
		status = choose_report();
	if (!status && *adsm_observe_options.trace)
		status = choose(&trace, adsm_observe_options.trace, "trace");
	else if (!status && html)
		status = set_temporary(&trace);
	if (!status && *adsm_observe_options.record)
		status = choose(&recording, adsm_observe_options.record, "record");
	for (size_t i = 0; i < N_OUTPUTS && !status; i++)
		status = check_output(i, program);
	for (size_t i = 0; i < N_OUTPUTS && !status; i++)
		status = begin(outputs[i].output, outputs[i].option);
	if (!status && report.wanted)
		status = set_variable("ADSM_STATS", report.json ? "json:" : "text:", &report);
	if (!status && trace.wanted)
		status = set_variable("ADSM_TRACE", "", &trace);
	if (!status && recording.wanted)
		status = set_variable("ADSM_RECORD", "", &recording);
	if (!status && setenv("ADSM_FILES", "new", 1))
		status = RUN_FAILED;
	for (size_t i = 0; i < N_OUTPUTS; i++)
		end_old(outputs[i].output, status);
	if (status)
		files_discard();
	return status;
}

void files_discard(void)
{
	if (*temporary)
		rmdir(temporary);
}

/* ---- after the run: one file */

struct piece {
	const struct output *output;
	char path[2 * PATH_MAX];
	pid_t pid;		/* of the process that wrote it; 0: not known */
	char why[400];		/* why it ended early, as a text */
};

/* The file's text, up to a NUL; NULL with errno if it cannot be read. */
static char *read_all(const char *path)
{
	FILE *file = fopen(path, "re");
	char *text = NULL;
	size_t size = 0;

	if (!file)
		return NULL;
	if (getdelim(&text, &size, '\0', file) < 0) {
		free(text);
		text = ferror(file) ? NULL : strdup("");
	}
	fclose(file);
	return text;
}

static bool is_running(pid_t pid)
{
	const char *state;
	char path[64], *text;
	bool running;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	text = read_all(path);
	state = text ? strrchr(text, ')') : NULL;
	running = state && state[1] && !strchr("ZX", state[2]);
	free(text);
	return running;
}

/* Has any other process the file open? If so, a lease cannot be taken. */
static bool is_open(int fd)
{
	if (!fcntl(fd, F_SETLEASE, F_WRLCK)) {
		fcntl(fd, F_SETLEASE, F_UNLCK);
		return false;
	}
	return errno == EAGAIN;
}

static void explain(struct piece *piece, const struct outcome *outcome, const char *what)
{
	struct timespec now;
	struct stat status;
	double before = 0;
	int n = 0;

	clock_gettime(CLOCK_REALTIME, &now);
	if (what && !stat(piece->path, &status))
		before = (double)(now.tv_sec - status.st_mtim.tv_sec) +
			1e-9 * (double)(now.tv_nsec - status.st_mtim.tv_nsec);
	if (piece->pid && piece->pid != outcome->pid)
		n = snprintf(piece->why, sizeof(piece->why),
			     "process %d was killed, or ended by _exit() or became another program", piece->pid);
	else if (WIFSIGNALED(outcome->status))
		n = snprintf(piece->why, sizeof(piece->why), "killed by signal %d (%s) after %.1f s",
			     WTERMSIG(outcome->status), strsignal(WTERMSIG(outcome->status)), outcome->seconds);
	else
		n = snprintf(piece->why, sizeof(piece->why),
			     "%sended by _exit() or became another program; the run's status was %d, after %.1f s",
			     piece->pid ? "" : "its process was killed, or ", WEXITSTATUS(outcome->status),
			     outcome->seconds);
	if (what)
		snprintf(piece->why + n, sizeof(piece->why) - (size_t)n, "; the %s was written %.1f s before that",
			 what, before > 0 ? before : 0);
	else
		snprintf(piece->why + n, sizeof(piece->why) - (size_t)n, ", before the first report");
}

/* The number behind the first @key in a text, or 0. */
static pid_t number_after(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at ? (pid_t)strtol(at + strlen(key), NULL, 10) : 0;
}

static bool is_final(const char *text, bool json)
{
	if (json)
		return strstr(text, "\"final\": true");
	return *text && !strstr(text, "\nadsm: incomplete:");
}

static void print_report(const struct piece *piece, const char *text)
{
	FILE *out = *piece->output->copy_to ? fopen(piece->output->copy_to, "ae") : stderr;

	if (!out) {
		complain("--stats: cannot write to %s: %s", piece->output->copy_to, strerror(errno));
		return;
	}
	fputs(text, out);
	if (ferror(out) | (out == stderr ? fflush(out) : fclose(out)))
		complain("--stats: cannot write all of the report: %s", strerror(errno));
}

/* Replace a report that is not final by @text, which has the reason. */
static void rewrite(const struct piece *piece, const char *text)
{
	char path[ADSM_OUTPUT_PATH_SIZE];
	int fd = adsm_output_make(piece->path, path);
	FILE *out = fd < 0 ? NULL : fdopen(fd, "w");
	bool failed = !out || fputs(text, out) < 0;

	failed |= out && fclose(out);
	if (failed || rename(path, piece->path)) {
		complain("cannot write to %s: %s", piece->path, strerror(fd < 0 ? -fd : errno));
		if (fd >= 0)
			unlink(path);
	}
}

static void finish_report(struct piece *piece, const struct outcome *outcome)
{
	char *text = read_all(piece->path), *whole = NULL;
	const char *rest;
	bool json = piece->output->json, stays = false;

	if (!text) {
		complain("cannot read %s: %s", piece->path, strerror(errno));
		return;
	}
	if (*text)
		piece->pid = number_after(text, json ? "\"pid\": " : "(process ");
	if (is_final(text, json)) {
		/* The process has completed it. Its id may belong to another process by now. */
	} else if (piece->pid && piece->pid != outcome->pid && is_running(piece->pid)) {
		complain("%s: process %d still runs and will replace this report", piece->path, piece->pid);
		stays = true;
	} else {
		explain(piece, outcome, *text ? "report" : NULL);
		rest = strchr(text, '\n') ? strchr(text, '\n') + 1 : "";
		if ((json ? *text ? asprintf(&whole, "{\n\t\"ended\": \"%s\",\n%s", piece->why, rest) :
				asprintf(&whole, "{\n\t\"ended\": \"%s\",\n\t\"final\": false\n}\n", piece->why) :
		     asprintf(&whole, "%sadsmrun: %s: %s\n", text, outcome->name, piece->why)) < 0)
			whole = NULL;
		else if (!piece->output->print)
			rewrite(piece, whole);
	}
	if (piece->output->print)
		print_report(piece, whole ? whole : text);
	/* A printed report is temporary. The folder goes later. */
	if (piece->output->print && !stays)
		unlink(piece->path);
	free(text);
	free(whole);
}

/* Complete a trace that its process could not complete: cut off a partial last line, and add a line with the reason. */
static void finish_trace(struct piece *piece, const struct outcome *outcome)
{
	int fd = open(piece->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	char tail[TAIL_SIZE + 1], end[sizeof(piece->why) + 200];
	struct stat status;
	off_t start;
	ssize_t n = -1;

	if (fd < 0 || fstat(fd, &status))
		goto failed;
	start = status.st_size > TAIL_SIZE ? status.st_size - TAIL_SIZE : 0;
	n = pread(fd, tail, TAIL_SIZE, start);
	if (n < 0)
		goto failed;
	if (n >= 2 && !memcmp(tail + n - 2, "]\n", 2) && (n == 2 || tail[n - 3] == '\n'))
		goto close;
	if (piece->pid != outcome->pid && is_open(fd)) {
		complain("%s: a process still writes to it", piece->path);
		goto close;
	}
	explain(piece, outcome, "trace");
	while (n && tail[n - 1] != '\n')
		n--;
	if (!n && start) {
		errno = EBADMSG;
		goto failed;
	}
	snprintf(end, sizeof(end), "%s{\"ph\":\"M\",\"pid\":1,\"tid\":0,\"name\":\"trace_end\","
		 "\"args\":{\"complete\":false,\"why\":\"%s\"}}\n]\n", start + n ? "" : "[\n", piece->why);
	/* The last event was written, and only the closing bracket is missing. */
	if (n > 2 && tail[n - 2] == '}')
		strcpy(end, "]\n");
	if (ftruncate(fd, start + n) || pwrite(fd, end, strlen(end), start + n) != (ssize_t)strlen(end))
		goto failed;
	goto close;
failed:
	complain("cannot complete %s: %s", piece->path, strerror(errno));
close:
	if (fd >= 0)
		close(fd);
}

/* ---- after the run: all files */

/* Is @name FILE, or FILE with numbers behind dots? *ret_part: it is an unfinished report. *ret_pid: 0 for FILE. */
static bool is_of(const struct output *output, const char *name, bool *ret_part, pid_t *ret_pid)
{
	size_t n = strlen(output->name);
	unsigned n_numbers = 0;
	pid_t first = 0, last = 0;

	if (strncmp(name, output->name, n))
		return false;
	for (name += n; name[0] == '.' && isdigit((unsigned char)name[1]); n_numbers++) {
		last = (pid_t)strtol(name + 1, (char **)&name, 10);
		first = n_numbers ? first : last;
	}
	*ret_part = n_numbers && !strcmp(name, ".part");
	*ret_pid = *ret_part ? last : first;
	return *ret_part ? n_numbers <= 4 : n_numbers <= 2 && !*name;
}

/* Complete all files of an output. Returns their number. */
static unsigned finish(const struct output *output, const struct outcome *outcome)
{
	const char *folder = *output->folder ? output->folder : "/";
	struct piece piece = { .output = output };
	struct dirent **list = NULL;
	int n_list = scandir(folder, &list, NULL, alphasort);
	struct stat status;
	unsigned n = 0;

	for (int i = 0; i < n_list; i++) {
		bool part;

		if (!is_of(output, list[i]->d_name, &part, &piece.pid) ||
		    in_folder(output->before, output->n_before, list[i]->d_name))
			continue;
		snprintf(piece.path, sizeof(piece.path), "%s/%s", output->folder, list[i]->d_name);
		/* Another user may have put a file or a link there. */
		if (lstat(piece.path, &status) || !S_ISREG(status.st_mode) || status.st_uid != geteuid())
			continue;
		n += !part;
		if (part && !is_running(piece.pid))
			unlink(piece.path);
		else if (!part && output == &trace)
			finish_trace(&piece, outcome);
		else if (!part && output == &report)
			finish_report(&piece, outcome);
	}
	free_list(list, n_list);
	return n;
}

/* ---- the page */

/* Add each report to the page, with the trace whose name has the same numbers at its end. Returns 0 or an errno. */
static int add_reports(FILE *out)
{
	struct dirent **list = NULL;
	int n_list = scandir(*report.folder ? report.folder : "/", &list, NULL, alphasort), error = 0;

	for (int i = 0; i < n_list && !error; i++) {
		const char *name = list[i]->d_name;
		char path[2 * PATH_MAX], *text;
		struct stat status;
		pid_t pid;
		bool part;

		if (!is_of(&report, name, &part, &pid) || part || in_folder(report.before, report.n_before, name))
			continue;
		snprintf(path, sizeof(path), "%s/%s", report.folder, name);
		if (lstat(path, &status) || !S_ISREG(status.st_mode) || status.st_uid != geteuid())
			continue;
		text = read_all(path);
		snprintf(path, sizeof(path), "%s/%s%s", trace.folder, trace.name, name + strlen(report.name));
		if (text && *text)
			error = html_add(out, text, html_is_foreign(text, path) ? NULL : path);
		free(text);
	}
	free_list(list, n_list);
	return error;
}

static void write_page(void)
{
	char path[2 * PATH_MAX], new_path[ADSM_OUTPUT_PATH_SIZE];
	FILE *out = NULL;
	int fd, error;

	snprintf(path, sizeof(path), "%s/%s", page.folder, page.name);
	fd = adsm_output_make(path, new_path);
	error = fd < 0 ? -fd : 0;
	if (!error)
		out = fdopen(fd, "w");
	if (!error && !out) {
		error = errno;
		close(fd);
	}
	if (!error)
		error = html_begin(out);
	if (!error)
		error = add_reports(out);
	if (!error)
		error = html_end(out);
	if (out && fclose(out) && !error)
		error = errno;
	if (!error && rename(new_path, path))
		error = errno;
	if (!error)
		return;
	complain("--html: cannot write to %s: %s", path, strerror(error));
	if (fd >= 0)
		unlink(new_path);
}

/* Remove the temporary folder, except for files of a process that still runs. */
static void remove_temporary(void)
{
	const struct output *const outputs[] = { &report, &trace };
	struct dirent **list = NULL;
	int n = scandir(temporary, &list, NULL, alphasort);

	for (int i = 0; i < n; i++) {
		for (size_t j = 0; page.wanted && j < sizeof(outputs) / sizeof(outputs[0]); j++) {
			char path[2 * PATH_MAX];
			pid_t pid;
			bool part;

			snprintf(path, sizeof(path), "%s/%s", temporary, list[i]->d_name);
			if (is_of(outputs[j], list[i]->d_name, &part, &pid) && !(pid && is_running(pid)))
				unlink(path);
		}
	}
	free_list(list, n);
	rmdir(temporary);
}

void files_finish(const struct outcome *outcome)
{
	unsigned n = trace.wanted ? finish(&trace, outcome) : 0;

	n += report.wanted ? finish(&report, outcome) : 0;
	/* A recording is whole at each moment. */
	n += recording.wanted ? finish(&recording, outcome) : 0;
	if (!n)
		complain("%s used no shared memory", outcome->name);
	if (page.wanted)
		write_page();
	if (*temporary)
		remove_temporary();
	free_list(report.before, report.n_before);
	free_list(trace.before, trace.n_before);
	free_list(recording.before, recording.n_before);
	free_list(page.before, page.n_before);
}
