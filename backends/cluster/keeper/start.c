/* SPDX-License-Identifier: MIT */
/* start.c - makes the launch command line from options. */
#include "start.h"

#include "base/log.h"
#include "base/os.h"
#include "defaults.h"
#include "job.h"
#include "launch.h"
#include "shield.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define VERSION_S 20			/* time limit for a command to print its version */
#define N_OWN 9				/* words of a node's command line before start->rest */

bool adsm_cluster_start_read(struct adsm_cluster_start *start, int argc, char **argv)
{
	int i = 1;

	for (; i + 1 < argc && strcmp(argv[i], "--"); i += 2) {
		if (!strcmp(argv[i], "--launch"))
			start->launch = argv[i + 1];
		else if (!strcmp(argv[i], "--hosts"))
			start->hosts = argv[i + 1];
		else if (!strcmp(argv[i], "--program"))
			start->program = argv[i + 1];
		else if (!strcmp(argv[i], "--arena"))
			start->arena = argv[i + 1];
		else if (!strcmp(argv[i], "--nodes"))
			start->n_nodes = (unsigned)strtoul(argv[i + 1], NULL, 10);
		else if (!strcmp(argv[i], "--timeout"))
			start->timeout_s = (unsigned)strtoul(argv[i + 1], NULL, 10);
		else
			return false;
	}
	start->rest = argv + i + (i < argc);
	return i < argc && start->launch && start->hosts && start->program && start->arena && start->n_nodes &&
		start->timeout_s;
}

/* Read until the end of the output or the time limit: a command that does not know --version may do anything else. */
static void listen_to_version(struct adsm_cluster_job *job, unsigned timeout_s)
{
	const uint64_t until = adsm_os_now_ns() + (timeout_s < VERSION_S ? timeout_s : VERSION_S) * 1000000000ull;
	struct pollfd polled = { .fd = job->output, .events = POLLIN };

	for (uint64_t now; (now = adsm_os_now_ns()) < until;) {
		if (poll(&polled, 1, (int)((until - now) / 1000000) + 1) <= 0 || !adsm_cluster_job_listen(job))
			return;
	}
}

/* Find the kind of launch command from the version that it prints. */
static int find_launcher(const struct adsm_cluster_start *start, enum adsm_cluster_launcher *ret_launcher,
			 char *ret_why, size_t size)
{
	const char *const launch = start->launch;
	char **words = adsm_cluster_words(launch), *word = words ? words[0] : NULL, version[] = "--version";
	char *const command[] = { word, version, NULL };
	int ret = !words ? -errno : word ? 0 : -EINVAL;
	struct adsm_cluster_job *job = calloc(1, sizeof(*job));

	if (!ret && !job)
		ret = -ENOMEM;
	*ret_launcher = ADSM_CLUSTER_OTHER;
	if (job && !ret && !strchr(launch, '%')) {
		ret = adsm_cluster_job_start(job, command);
		if (!ret) {
			listen_to_version(job, start->timeout_s);
			kill(job->pid, SIGKILL);
			waitpid(job->pid, NULL, 0);
			close(job->output);
			*ret_launcher = adsm_cluster_launcher(job->tail);
		}
	}
	if (ret == -EINVAL)
		adsm_format(ret_why, size, "'%s' is not a valid launch command (ADSM_CLUSTER_LAUNCH): it must name a "
			    "command, and quotation marks must be paired", launch);
	else if (ret == -ENOENT)
		adsm_format(ret_why, size, "the launch command '%s' does not exist: install an MPI (Debian's "
			    "openmpi-bin has mpirun), or set ADSM_CLUSTER_LAUNCH to another command", word);
	else if (ret)
		adsm_format(ret_why, size, "'%s' cannot be run: %s (ADSM_CLUSTER_LAUNCH)", launch, strerror(-ret));
	adsm_cluster_words_free(words);
	free(job);
	return ret ? -ENODEV : 0;
}

/* Only for known commands whose flags the keeper chooses. Not for srun: Slurm's own processes, which run as root,
 * connect to srun. */
static bool can_shield(const struct adsm_cluster_start *start, enum adsm_cluster_launcher launcher)
{
	return launcher != ADSM_CLUSTER_OTHER && launcher != ADSM_CLUSTER_SRUN && !strchr(start->launch, '%');
}

/* If the user names no host, mpirun would use this machine or the hosts of its own settings. Then the keeper passes
 * these hosts explicitly. */
static int find_hosts(const struct adsm_cluster_start *start, enum adsm_cluster_launcher launcher,
		      struct adsm_cluster_hosts *ret_hosts, char *ret_why, size_t size)
{
	const bool tells = can_shield(start, launcher) && !*start->hosts && adsm_cluster_is_local(start->launch);
	const bool is_open_mpi = launcher == ADSM_CLUSTER_OPEN_MPI_4 || launcher == ADSM_CLUSTER_OPEN_MPI_5;
	const char *hosts = tells ? "localhost" : start->hosts;
	char text[PATH_MAX], **words;
	bool found;

	if (tells && is_open_mpi) {
		words = adsm_cluster_words(start->launch);
		found = words && *words &&
			adsm_cluster_default_hosts(*words, launcher == ADSM_CLUSTER_OPEN_MPI_5, text, sizeof(text));
		adsm_cluster_words_free(words);
		if (found && !adsm_cluster_hosts(text, start->n_nodes, ret_hosts, ret_why, size))
			return 0;
		/* mpirun may understand this file, or report what is wrong with it. */
		*ret_why = '\0';
		hosts = found ? "" : hosts;
	}
	return adsm_cluster_hosts(hosts, start->n_nodes, ret_hosts, ret_why, size);
}

/* The command line, from the launch command and the node program's. Returns 0, or a negative errno with a text. */
static int make_command(const struct adsm_cluster_start *start, const struct adsm_cluster_door *door,
			enum adsm_cluster_launcher launcher, const struct adsm_cluster_hosts *hosts,
			char ***ret_command, char *ret_why, size_t size)
{
	char **program, n_nodes[16];
	size_t n_rest = 0, n = 0;
	int error = ENOMEM;

	*ret_command = NULL;
	while (start->rest[n_rest])
		n_rest++;
	program = calloc(n_rest + N_OWN + 1, sizeof(*program));
	if (program) {
		const char *const options[] = { start->program, "--connect", door->path, "--token", door->token,
						"--nodes", n_nodes, "--arena", start->arena };

		adsm_format(n_nodes, sizeof(n_nodes), "%u", start->n_nodes);
		for (; n < sizeof(options) / sizeof(options[0]); n++)
			program[n] = (char *)(uintptr_t)options[n];
		memcpy(program + n, start->rest, n_rest * sizeof(*program));
		*ret_command = adsm_cluster_command(start->launch, launcher, start->n_nodes, hosts, program);
		error = errno;
		free(program);
	}
	if (!*ret_command && error == EINVAL)
		adsm_format(ret_why, size, "'%s' is not a valid launch command (ADSM_CLUSTER_LAUNCH): valid after %% "
			    "are n, h, p and %%", start->launch);
	else if (!*ret_command)
		adsm_format(ret_why, size, "the command line for '%s' cannot be prepared: %s", door->launch,
			    strerror(error));
	return *ret_command ? 0 : -ENODEV;
}

int adsm_cluster_start_command(const struct adsm_cluster_start *start, const struct adsm_cluster_door *door,
			       const char *folder, char ***ret_command, char *ret_why, size_t size)
{
	enum adsm_cluster_launcher launcher;
	struct adsm_cluster_hosts hosts;
	int ret;

	adsm_cluster_clean_environment();
	ret = find_launcher(start, &launcher, ret_why, size);
	if (!ret)
		ret = find_hosts(start, launcher, &hosts, ret_why, size);
	if (ret)
		return ret;
	if (can_shield(start, launcher))
		ret = adsm_cluster_shield(folder, adsm_cluster_hosts_here(&hosts));
	if (ret) {
		adsm_format(ret_why, size, "the environment for '%s' cannot be prepared: %s", door->launch,
			    strerror(-ret));
		ret = -ENODEV;
	} else {
		ret = make_command(start, door, launcher, &hosts, ret_command, ret_why, size);
	}
	adsm_cluster_hosts_free(&hosts);
	return ret;
}
