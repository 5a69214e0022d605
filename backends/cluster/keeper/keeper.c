/* SPDX-License-Identifier: MIT */
/*
 * keeper.c - the program that the application starts for a cluster, adsm-cluster-keeper. It does not use MPI. It runs
 * the command that starts the nodes. When node 0 connects to its socket, it passes the application's descriptors to
 * node 0. It stays until the job or the application ends. Then it ends the remaining processes on this machine, and
 * removes their files.
 *
 * The program consists of two processes: the keeper, which does all this, and its parent, the guard, which the
 * application started. Each is a subreaper of its descendants, and cleans up if the other one is killed.
 */
#include "base/log.h"
#include "base/os.h"
#include "cluster/keeper/door.h"
#include "cluster/keeper/folder.h"
#include "cluster/keeper/job.h"
#include "cluster/keeper/launch.h"
#include "cluster/keeper/shield.h"
#include "cluster/keeper/start.h"
#include "cluster/shared.h"
#include "process/ended.h"
#include "process/greet.h"
#include "process/shared.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define STUCK_NS 2000000000		/* how long a launch command may still run after it has reported a failure */
#define LOOKS 16			/* how often node 0 is checked during the time that it may be silent */
#define ORDERLY_MS 500			/* how long a job may take to end by itself */
/* How long a launch command may take after SIGTERM: it has to tell other machines. */
#define PATIENCE_MS 1500
#define TEXT ADSM_PROCESS_TEXT

struct keeper {				/* in memory that both processes share */
	struct adsm_cluster_start start;
	struct adsm_process_shared *shared;
	char folder[ADSM_CLUSTER_FOLDER];
	struct adsm_cluster_door door;
	struct adsm_cluster_job job;
	pid_t guard;
	bool answered;			/* the application's first request was answered, or node 0 will answer it */
	bool running;			/* the launch command runs */
	uint64_t started_ns, oom_kills;
	uint64_t heard_ns, checked_ns;	/* when node 0 was last heard, and when that was last checked */
	int signals;			/* a signalfd */
	int error;			/* why it ends, with the text below; -EEXIST: another start may succeed */
	char why[TEXT];			/* "": the application has ended the cluster */
};

/* ---- the application */

/* The application's first request stays in the socket for node 0. If the keeper answers it, node 0 does not. */
static void answer(struct keeper *keeper)
{
	struct adsm_process_reply reply = { .error = keeper->error };
	struct adsm_process_request request;
	int fds[ADSM_PROCESS_MAX_FDS];

	if (keeper->answered)
		return;
	keeper->answered = true;
	strcpy(reply.text, keeper->why);
	if (!adsm_process_receive(ADSM_PROCESS_SOCKET, &request, sizeof(request), fds))
		adsm_process_send(ADSM_PROCESS_SOCKET, &reply, sizeof(reply), NULL, 0);
}

/* Map the memory that the application and node 0 share. */
static bool map_shared(struct keeper *keeper)
{
	struct stat status;
	size_t needed = sizeof(*keeper->shared) + sizeof(struct adsm_cluster_shared);
	void *p;

	if (fstat(ADSM_PROCESS_KEPT, &status) || (size_t)status.st_size < needed)
		return false;
	p = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, ADSM_PROCESS_KEPT, 0);
	close(ADSM_PROCESS_KEPT);
	keeper->shared = p;
	return p != MAP_FAILED;
}

/* ---- why it ends */

#define END(keeper, code, ...) do {						\
	(keeper)->error = (code);						\
	adsm_format((keeper)->why, sizeof((keeper)->why), __VA_ARGS__);	\
} while (0)

/* Report the reason to the application. A reason that a node reported before has priority. */
static void report_end(struct keeper *keeper)
{
	if (keeper->answered && *keeper->why)
		adsm_process_say_end(keeper->shared, keeper->why);
}

/* Use the record of a node's signal handler, which is more exact than any other reason. Returns false if there is
 * none. */
static bool say_crashed(struct keeper *keeper)
{
	const struct adsm_process_crash *crash = &keeper->shared->crash;
	char how[200];

	if (!atomic_load(&crash->signal))
		return false;
	adsm_process_how_crashed(crash, how, sizeof(how));
	END(keeper, -ENODEV, "%s %s", *crash->place ? crash->place + strlen(" on ") : "node 0", how);
	return true;
}

/* Transports in the user's environment may be the reason: MPI does not start if it lacks one of them. */
static const char *too_early(const struct keeper *keeper)
{
	static char text[240];
	char transports[160];

	if (keeper->answered)
		return "";
	adsm_cluster_transports(transports, sizeof(transports));
	adsm_format(text, sizeof(text), " before its nodes had started%s%s%s", *transports ? ", with " : "", transports,
		    *transports ? " in the environment" : "");
	return text;
}

static void say_job_ended(struct keeper *keeper, int status)
{
	char how[128], said[TEXT - 160];

	keeper->running = false;
	if (say_crashed(keeper))
		return;
	adsm_cluster_job_listen(&keeper->job);
	adsm_cluster_job_said(&keeper->job, said, sizeof(said));
	adsm_process_how_status(status, how, sizeof(how));
	END(keeper, -ENODEV, "'%s' (pid %d) %s%s%s%s", keeper->door.launch, keeper->job.pid, how,
	    too_early(keeper), *said ? ": " : "", said);
}

static void say_sent(struct keeper *keeper, int signal, pid_t sender, uid_t user)
{
	char who[128];

	adsm_process_who_sent(signal, sender, user, who, sizeof(who));
	END(keeper, -ENODEV, "its keeper (pid %d) was ended by %s", getpid(), who);
}

static void say_late(struct keeper *keeper)
{
	char said[TEXT - 200];

	adsm_cluster_job_said(&keeper->job, said, sizeof(said));
	END(keeper, -ENODEV, "%u node%s not started within %u seconds after the start of '%s' "
	    "(ADSM_CLUSTER_TIMEOUT)%s%s", keeper->start.n_nodes, keeper->start.n_nodes == 1 ? " has" : "s have",
	    keeper->start.timeout_s, keeper->door.launch, *said ? "; it printed: " : "", said);
}

static void say_stuck(struct keeper *keeper)
{
	char said[TEXT - 160];

	adsm_cluster_job_said(&keeper->job, said, sizeof(said));
	END(keeper, -ENODEV, "'%s' (pid %d) reported a failure%s: %s", keeper->door.launch, keeper->job.pid,
	    too_early(keeper), said);
}

/* Messages of nodes explain why node 0 ended. */
static void say_node_ended(struct keeper *keeper)
{
	char how[200], said[TEXT - 300] = "";

	if (strstr(keeper->job.tail, ADSM_CLUSTER_SAYS))
		adsm_cluster_job_said(&keeper->job, said, sizeof(said));
	if (say_crashed(keeper))
		return;
	adsm_process_how_ended(keeper->door.node_pid, keeper->door.node, keeper->oom_kills, "ADSM_CLUSTER_MEMORY_SIZE",
			       how, sizeof(how));
	END(keeper, -ENODEV, "node 0 (pid %d) %s%s%s", keeper->door.node_pid, how, *said ? ": " : "", said);
}

static void say_silent(struct keeper *keeper)
{
	const struct adsm_cluster_shared *cluster = (const struct adsm_cluster_shared *)keeper->shared->extra;

	END(keeper, -ENODEV, "node 0 (%s) was silent for %u s (ADSM_CLUSTER_TIMEOUT): its process is stopped",
	    cluster->nodes[0].host, keeper->start.timeout_s);
}

/* ---- watching */

/* Is this a signal whose default action ends a process? */
static bool is_end(int signal)
{
	return signal != SIGCHLD && signal != SIGCONT && signal != SIGURG && signal != SIGWINCH && signal != SIGTSTP &&
		signal != SIGTTIN && signal != SIGTTOU;
}

/* Returns true if the cluster has to end. */
static bool on_signal(struct keeper *keeper)
{
	struct signalfd_siginfo info;
	int status;
	pid_t pid;

	if (read(keeper->signals, &info, sizeof(info)) != sizeof(info))
		return false;
	if (info.ssi_signo == SIGCHLD) {
		while ((pid = waitpid(-1, &status, WNOHANG | __WALL)) > 0)
			if (pid == keeper->job.pid)
				say_job_ended(keeper, status);
		return !keeper->running;
	}
	if (!is_end((int)info.ssi_signo))
		return false;
	if (getppid() != keeper->guard)
		END(keeper, -ENODEV, "its keeper (pid %d) was killed", keeper->guard);
	else if ((pid_t)info.ssi_pid != keeper->guard)		/* otherwise the guard has reported why */
		say_sent(keeper, (int)info.ssi_signo, (pid_t)info.ssi_pid, info.ssi_uid);
	return true;
}

/* Returns true if the cluster has to end. */
static bool on_door(struct keeper *keeper)
{
	static const int fds[2] = { ADSM_PROCESS_SOCKET, ADSM_PROCESS_APPLICATION };
	int ret;
	char why[ADSM_CLUSTER_WHY];

	ret = adsm_cluster_door_answer(&keeper->door, fds, (struct adsm_cluster_shared *)keeper->shared->extra, why);
	if (ret == -EAGAIN)
		return false;
	if (ret) {
		END(keeper, ret, "%s", why);
		return true;
	}
	keeper->answered = true;	/* node 0 answers it */
	adsm_cluster_shield_close(keeper->folder);
	close(keeper->door.sock);
	keeper->door.sock = -1;
	return false;
}

/* Nodes detect that other nodes are silent. If all nodes are silent, or the only one, only the keeper detects that. */
static bool is_silent(struct keeper *keeper)
{
	const struct adsm_cluster_shared *cluster = (const struct adsm_cluster_shared *)keeper->shared->extra;
	const uint64_t timeout_ns = (uint64_t)keeper->start.timeout_s * 1000000000, now = adsm_os_now_ns();
	const uint64_t heard_ns = atomic_load(&cluster->heard_ns);

	/* Checks that come so late mean that this process or the machine was stopped: start the time again. */
	if (now - keeper->checked_ns > timeout_ns / 2)
		keeper->heard_ns = now;
	keeper->checked_ns = now;
	if (heard_ns > keeper->heard_ns)
		keeper->heard_ns = heard_ns;
	return heard_ns && now > keeper->heard_ns && now - keeper->heard_ns > timeout_ns;
}

/* The time limit for poll(), in ms. */
static int patience(const struct keeper *keeper, bool gave_up)
{
	const int look_ms = (int)keeper->start.timeout_s * 1000 / LOOKS;

	return keeper->answered && !gave_up ? look_ms : 250;
}

static void watch(struct keeper *keeper)
{
	enum { SIGNALS, APPLICATION, SOCKET, DOOR, OUTPUT, NODE, N };
	struct pollfd polled[N];
	uint64_t until = keeper->started_ns + (uint64_t)keeper->start.timeout_s * 1000000000;
	bool silent = false, gave_up = false, node_ended = false;

	for (;;) {
		polled[SIGNALS] = (struct pollfd) { keeper->signals, POLLIN, 0 };
		polled[APPLICATION] = (struct pollfd) { ADSM_PROCESS_APPLICATION, POLLIN, 0 };
		polled[SOCKET] = (struct pollfd) { ADSM_PROCESS_SOCKET, POLLRDHUP, 0 };
		polled[DOOR] = (struct pollfd) { keeper->door.sock, POLLIN, 0 };
		polled[OUTPUT] = (struct pollfd) { silent ? -1 : keeper->job.output, POLLIN, 0 };
		polled[NODE] = (struct pollfd) { node_ended ? -1 : keeper->door.node, POLLIN, 0 };
		if (poll(polled, N, patience(keeper, gave_up)) < 0 && errno != EINTR)
			return;
		if (polled[OUTPUT].revents)
			silent = !adsm_cluster_job_listen(&keeper->job);
		if (polled[APPLICATION].revents & POLLIN || polled[SOCKET].revents & (POLLRDHUP | POLLHUP))
			return;
		if (polled[DOOR].revents && on_door(keeper))
			return;
		if (polled[SIGNALS].revents && on_signal(keeper))
			return;
		node_ended |= polled[NODE].revents & POLLIN;
		if (is_silent(keeper) && !gave_up && !node_ended) {
			say_silent(keeper);
			return;
		}
		/* A launch command that notices this ends the other nodes, if it can reach their machines: give it
		 * time. */
		if (!gave_up && (node_ended || adsm_cluster_job_gave_up(&keeper->job))) {
			gave_up = true;
			until = adsm_os_now_ns() + STUCK_NS;
		}
		if ((gave_up || !keeper->answered) && adsm_os_now_ns() > until) {
			if (node_ended)
				say_node_ended(keeper);
			else if (gave_up)
				say_stuck(keeper);
			else
				say_late(keeper);
			return;
		}
	}
}

/* ---- the two processes */

static int start_job(struct keeper *keeper)
{
	char **command;
	int ret = adsm_cluster_folder_make(keeper->folder);

	if (!ret)
		ret = adsm_cluster_door_open(&keeper->door, keeper->folder);
	if (ret) {
		END(keeper, -ENODEV, "its folder '%s' cannot be created: %s", keeper->folder, strerror(-ret));
		return ret;
	}
	setenv("TMPDIR", keeper->folder, 1);
	ret = adsm_cluster_start_command(&keeper->start, &keeper->door, keeper->folder, &command, keeper->why,
					 sizeof(keeper->why));
	if (ret)
		return ret;
	ret = adsm_cluster_job_start(&keeper->job, command);
	if (ret)
		END(keeper, -ENODEV, "'%s' cannot be run: %s (ADSM_CLUSTER_LAUNCH)", keeper->door.launch,
		    strerror(-ret));
	keeper->running = !ret;
	return ret;
}

static _Noreturn void run_job(struct keeper *keeper)
{
	sigset_t all;

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	sigfillset(&all);
	keeper->signals = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
	if (keeper->signals < 0)
		END(keeper, -ENODEV, "its keeper cannot wait for signals: %s", strerror(errno));
	keeper->started_ns = adsm_os_now_ns();
	if (keeper->signals >= 0 && getppid() == keeper->guard && !start_job(keeper))
		watch(keeper);
	report_end(keeper);
	/* The application ended the cluster: node 0 detects that, too, and ends the job in an orderly way. */
	if (keeper->running && !*keeper->why)
		keeper->running = !adsm_cluster_job_await(&keeper->job, ORDERLY_MS);
	if (keeper->running)
		kill(keeper->job.pid, SIGTERM);
	adsm_cluster_end_all(keeper->running ? PATIENCE_MS : 0);
	adsm_cluster_folder_remove(keeper->folder);
	answer(keeper);
	_exit(0);
}

/* Wait for the keeper. A signal that would end the guard is passed on to the keeper. */
static int wait_for_keeper(struct keeper *keeper, pid_t pid, const sigset_t *all)
{
	siginfo_t info;
	int status;

	for (;;) {
		if (sigwaitinfo(all, &info) < 0)
			continue;
		if (is_end(info.si_signo)) {
			say_sent(keeper, info.si_signo, info.si_pid, info.si_uid);
			report_end(keeper);
			kill(pid, SIGTERM);
		}
		while (waitpid(pid, &status, WNOHANG) == pid)
			return status;
	}
}

/* Launch commands do not start if the working directory was deleted. */
static void leave_deleted_folder(void)
{
	char *folder = getcwd(NULL, 0);

	if (!folder && errno == ENOENT && chdir("/"))
		adsm_debug("cluster: the working directory has been deleted, and chdir(\"/\") failed");
	free(folder);
}

int main(int argc, char **argv)
{
	struct keeper *keeper = mmap(NULL, sizeof(*keeper), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	char how[128];
	sigset_t all;
	int status = 0;
	pid_t pid;

	/* Before anything that another version may do in another way. */
	adsm_process_greet(ADSM_PROCESS_SOCKET);
	/* No answer: the process that started this one detects that. */
	if (keeper == MAP_FAILED || !adsm_cluster_start_read(&keeper->start, argc, argv) || !map_shared(keeper))
		return 1;
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	/* The launch command must not inherit these: the application waits for their end. */
	fcntl(ADSM_PROCESS_SOCKET, F_SETFD, FD_CLOEXEC);
	fcntl(ADSM_PROCESS_APPLICATION, F_SETFD, FD_CLOEXEC);
	keeper->guard = getpid();
	keeper->oom_kills = adsm_os_oom_kills();
	keeper->error = -ENODEV;
	keeper->door.n_nodes = keeper->start.n_nodes;
	/* The first word of the command. */
	adsm_format(keeper->door.launch, sizeof(keeper->door.launch), "%.*s", (int)strcspn(keeper->start.launch, " \t"),
		    keeper->start.launch);
	if (adsm_cluster_folder_choose(keeper->folder)) {
		END(keeper, -ENODEV, "its keeper cannot create a folder for its files: neither /dev/shm nor TMPDIR nor "
		    "/tmp can be written");
		answer(keeper);
		return 1;
	}
	leave_deleted_folder();
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	pid = fork();
	if (!pid)
		run_job(keeper);
	if (pid > 0)
		status = wait_for_keeper(keeper, pid, &all);
	if (pid > 0 && WIFEXITED(status))
		return 0;
	adsm_process_how_status(status, how, sizeof(how));
	END(keeper, -ENODEV, "its keeper (pid %d) %s", pid, pid < 0 ? "could not be started" : how);
	report_end(keeper);
	/* The launch command has got SIGTERM when the keeper ended. */
	adsm_cluster_end_all(PATIENCE_MS);
	adsm_cluster_folder_remove(keeper->folder);
	answer(keeper);
	return 0;
}
