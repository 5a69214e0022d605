/* SPDX-License-Identifier: MIT */
/* launch.h - the command that starts a cluster's nodes, and the environment that it gets. */
#ifndef ADSM_CLUSTER_LAUNCH_H
#define ADSM_CLUSTER_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>

#include "hosts.h"

/* Whose flags a launch command takes. */
enum adsm_cluster_launcher {
	ADSM_CLUSTER_OTHER,		/* -n alone */
	ADSM_CLUSTER_OPEN_MPI_4,
	ADSM_CLUSTER_OPEN_MPI_5,
	ADSM_CLUSTER_HYDRA,		/* MPICH's and what came of it */
	ADSM_CLUSTER_SRUN,
};

/* By what "COMMAND --version" prints. */
enum adsm_cluster_launcher adsm_cluster_launcher(const char *version);

/*
 * The words of a command, which blanks separate where they are not in quotes. The caller frees the list, which ends
 * with NULL, by adsm_cluster_words_free(). NULL: no memory, or with EINVAL a quote that does not end.
 */
char **adsm_cluster_words(const char *text);
void adsm_cluster_words_free(char **words);

/*
 * Does a launch command, where it is not told any hosts, start all nodes on this machine? Not where it names hosts
 * itself, nor in a batch system's allocation.
 */
bool adsm_cluster_is_local(const char *launch);

/*
 * The command: @launch with %n (how many nodes), %h (their hosts, "a,b"), %p (@program, a list of words) and %% in it,
 * or a command without any of these, which gets what @launcher takes. The same for its words; NULL: no memory, or with
 * EINVAL another letter behind %.
 */
char **adsm_cluster_command(const char *launch, enum adsm_cluster_launcher launcher, unsigned n_nodes,
			    const struct adsm_cluster_hosts *hosts, char *const *program);

/*
 * Take out of the environment what would make nodes part of another job, or load libraries into them: what is of the
 * preload, of this library, and of the MPI job that the application may itself be in.
 */
void adsm_cluster_clean_environment(void);

/* The variables that say by what MPI sends, "UCX_TLS=tcp, FI_PROVIDER=shm", as nodes get them. "": none is set. */
void adsm_cluster_transports(char *ret_text, size_t size);

#endif
