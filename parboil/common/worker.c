/* SPDX-License-Identifier: MIT */
/* worker.c - variants that take turns, each in a process of its own with its own library and device. */
#include "worker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process.h"

/* All of @p, or false at the end of the other side. */
static bool receive(int fd, void *p, size_t size)
{
	for (size_t done = 0; done < size; ) {
		ssize_t n = read(fd, (char *)p + done, size - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		done += (size_t)n;
	}
	return true;
}

/* A write to a pipe of this size is whole. */
static bool send_all(int fd, const void *p, size_t size)
{
	ssize_t n;

	do {
		n = write(fd, p, size);
	} while (n < 0 && errno == EINTR);
	return n == (ssize_t)size;
}

/* The child: says what its settings came to, then one result for each byte it is sent. */
_Noreturn static void work(struct pb_run *run, const struct pb_config *config, int from, int to)
{
	struct pb_setup setup;
	char turn;

	pb_job_open(run, config, &setup);
	if (!send_all(to, &setup, sizeof(setup)))
		exit(1);
	while (receive(from, &turn, 1)) {
		pb_job_run(run, config->variant);
		if (!send_all(to, &run->result, sizeof(run->result)))
			exit(1);
	}
	pb_job_close(run);
	exit(0);
}

/* One that does not answer has said why, or could not: then it is said here. An end that was asked for is none. */
static bool answers(const struct pb_worker *worker, bool ok)
{
	siginfo_t info = { .si_status = 0 };

	if (ok)
		return true;
	while (waitid(P_PID, (id_t)worker->pid, &info, WEXITED | WNOWAIT) && errno == EINTR)
		;
	if (info.si_code != CLD_EXITED && info.si_status != SIGHUP && info.si_status != SIGINT &&
	    info.si_status != SIGTERM)
		fprintf(stderr, "parboil: %s: its process was ended by signal %d (%s)\n", pb_process_name,
			info.si_status, strsignal(info.si_status));
	return false;
}

bool pb_worker_start(struct pb_worker *ret_worker, struct pb_run *run, const struct pb_config *config)
{
	struct pb_worker *worker = ret_worker;
	pid_t parent = getpid();
	int to[2], from[2];

	fflush(NULL);
	if (pipe2(to, O_CLOEXEC) || pipe2(from, O_CLOEXEC) || (worker->pid = fork()) < 0)
		pb_die("cannot start a run: %s", strerror(errno));
	if (!worker->pid) {
		pb_files_forget();
		/* Nobody else would end a run that nobody waits for. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
		close(to[1]);
		close(from[0]);
		work(run, config, to[0], from[1]);
	}
	close(to[0]);
	close(from[1]);
	worker->to = to[1];
	worker->from = from[0];
	return answers(worker, receive(worker->from, &worker->setup, sizeof(worker->setup)));
}

bool pb_worker_run(struct pb_worker *worker, struct pb_result *ret_result)
{
	return answers(worker, send_all(worker->to, "", 1) &&
		       receive(worker->from, ret_result, sizeof(*ret_result)));
}

void pb_worker_stop(struct pb_worker *worker)
{
	if (!worker->pid)
		return;
	close(worker->to);
	close(worker->from);
	while (waitpid(worker->pid, NULL, 0) < 0 && errno == EINTR)
		;
	worker->pid = 0;
}
