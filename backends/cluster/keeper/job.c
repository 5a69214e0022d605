/* SPDX-License-Identifier: MIT */
/* job.c - starts and ends the processes of a cluster. */
#include "job.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/os.h"
#include "cluster/join.h"

#define LOOK_NS 5000000			/* interval of the checks for remaining processes */

/* ---- starting */

static _Noreturn void become(char *const *argv, pid_t parent, int output, int report)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), error;
	sigset_t none;

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(1);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (null >= 0 && dup2(null, 0) >= 0 && dup2(output, 1) >= 0 && dup2(output, 2) >= 0)
		execvp(argv[0], argv);
	error = errno;
	_exit(write(report, &error, sizeof(error)) < 0);
}

int adsm_cluster_job_start(struct adsm_cluster_job *job, char *const *argv)
{
	pid_t self = getpid(), pid = -1;
	int output[2] = { -1, -1 }, report[2] = { -1, -1 }, error = 0;

	if (pipe2(output, O_CLOEXEC) || pipe2(report, O_CLOEXEC) || (pid = fork()) < 0) {
		error = errno;
		for (int i = 0; i < 2; i++) {
			close(output[i]);
			close(report[i]);
		}
		return -error;
	}
	if (!pid)
		become(argv, self, output[1], report[1]);
	/* Not assigned from fork() directly: the child may share this memory. */
	job->pid = pid;
	close(output[1]);
	close(report[1]);
	while (read(report[0], &error, sizeof(error)) < 0 && errno == EINTR)
		;
	close(report[0]);
	fcntl(output[0], F_SETFL, O_NONBLOCK);
	job->output = output[0];
	job->n = 0;
	if (!error)
		return 0;
	waitpid(job->pid, NULL, 0);
	close(job->output);
	return -error;
}

/* ---- listening */

bool adsm_cluster_job_listen(struct adsm_cluster_job *job)
{
	/* Reads more than a pipe holds, but ends if a process prints without end. */
	for (unsigned i = 0; i < 64; i++) {
		ssize_t n;

		if (job->n == sizeof(job->tail) - 1) {
			job->n /= 2;
			memmove(job->tail, job->tail + sizeof(job->tail) - 1 - job->n, job->n);
		}
		n = read(job->output, job->tail + job->n, sizeof(job->tail) - 1 - job->n);
		if (n > 0)
			job->tail[job->n += (size_t)n] = '\0';
		else if (n == 0 || errno != EINTR)
			return n < 0 && errno == EAGAIN;
	}
	return true;
}

/* Does the line contain letters? Others are only decoration. */
static bool is_text(const char *line, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (isalpha((unsigned char)line[i]))
			return true;
	return false;
}

/* UCX warns of each variable that a node sets after UCX has read its own. These warnings would hide why a start
 * fails. */
static bool is_noise(const char *line, size_t length)
{
	static const char warning[] = "UCX  WARN  unused env variable";

	return memmem(line, length, warning, sizeof(warning) - 1);
}

/* Join the lines up to one without text. *at moves behind them. */
static void read_paragraph(const char **at, const char *end, char *ret_text, size_t size)
{
	size_t n = 0;

	ret_text[0] = '\0';
	while (*at < end) {
		const char *line = *at, *newline = memchr(line, '\n', (size_t)(end - line));
		size_t length = (size_t)((newline ? newline : end) - line);

		*at = newline ? newline + 1 : end;
		if (is_noise(line, length))
			continue;
		if (!is_text(line, length)) {
			if (n)
				return;
			continue;
		}
		for (; isspace((unsigned char)*line); line++)
			length--;
		while (length && isspace((unsigned char)line[length - 1]))
			length--;
		if (n + 1 < size) {
			adsm_format(ret_text + n, size - n, "%s%.*s", n ? " " : "", (int)length, line);
			n = strlen(ret_text);
		}
	}
}

/* The text is followed by more, so a dot at its end is removed. */
static bool ends_with_dot(const char *text)
{
	return *text && text[strlen(text) - 1] == '.';
}

void adsm_cluster_job_said(const struct adsm_cluster_job *job, char *ret_text, size_t size)
{
	const char *at = job->tail, *end = at + job->n, *own = strstr(at, ADSM_CLUSTER_SAYS);
	char text[1024];

	ret_text[0] = '\0';
	if (own) {
		own += strlen(ADSM_CLUSTER_SAYS);
		adsm_format(ret_text, size, "%.*s", (int)strcspn(own, "\n"), own);
		return;
	}
	/* Open MPI prints first that a job has failed, and then which of its processes. */
	while (at < end) {
		read_paragraph(&at, end, text, sizeof(text));
		if (*text && (!*ret_text || strstr(text, " noticed that ")))
			adsm_format(ret_text, size, "%.*s", (int)(strlen(text) - ends_with_dot(text)), text);
	}
}

bool adsm_cluster_job_gave_up(const struct adsm_cluster_job *job)
{
	return job->n && (strstr(job->tail, " noticed that process ") || strstr(job->tail, "BAD TERMINATION"));
}

/* ---- ending */

bool adsm_cluster_job_await(const struct adsm_cluster_job *job, int ms)
{
	uint64_t until = adsm_os_now_ns() + (uint64_t)ms * 1000000;

	while (waitpid(job->pid, NULL, WNOHANG) != job->pid) {
		if (adsm_os_now_ns() >= until)
			return false;
		adsm_os_sleep_until_ns(adsm_os_now_ns() + LOOK_NS);
	}
	return true;
}

static void kill_children(void)
{
	DIR *folder = opendir("/proc");
	struct dirent *entry;

	while (folder && (entry = readdir(folder))) {
		char path[300], text[512];
		const char *at;

		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		adsm_format(path, sizeof(path), "/proc/%s/stat", entry->d_name);
		at = strrchr(adsm_os_read_text(path, text, sizeof(text)), ')');
		if (at && strlen(at) > 4 && atoi(at + 4) == getpid())
			kill(atoi(entry->d_name), SIGKILL);
	}
	if (folder)
		closedir(folder);
}

/* Returns true if this process has no children. */
static bool reap(void)
{
	pid_t pid;

	while ((pid = waitpid(-1, NULL, WNOHANG | __WALL)) > 0)
		;
	return pid < 0 && errno == ECHILD;
}

void adsm_cluster_end_all(int patience_ms)
{
	uint64_t until = adsm_os_now_ns() + (uint64_t)patience_ms * 1000000;

	/* When a process is killed, its children become children of this process, and are killed in the next round. */
	while (!reap()) {
		if (adsm_os_now_ns() >= until)
			kill_children();
		adsm_os_sleep_until_ns(adsm_os_now_ns() + LOOK_NS);
	}
}
