/* SPDX-License-Identifier: MIT */
/* launch.h - the command that starts a cluster's nodes, and its environment. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "hosts.h"

/* The kind of launch command, which determines its flags. */
enum adsm_cluster_launcher {
	ADSM_CLUSTER_OTHER,		/* takes -n only */
	ADSM_CLUSTER_OPEN_MPI_4,
	ADSM_CLUSTER_OPEN_MPI_5,
	ADSM_CLUSTER_HYDRA,		/* of MPICH, and of MPIs that are based on it */
	ADSM_CLUSTER_SRUN,
};

/* Detected from the output of "COMMAND --version". */
enum adsm_cluster_launcher adsm_cluster_launcher(const char *version);

/*
 * Split a command into words, which are separated by blanks outside of quotes. The list ends with NULL, and the caller
 * frees it by adsm_cluster_words_free(). Returns NULL if there is no memory, or with EINVAL if a quote is not closed.
 */
char **adsm_cluster_words(const char *text);
void adsm_cluster_words_free(char **words);

/* Does the launch command start all nodes on this machine, if it gets no list of hosts? False if the command names
 * hosts itself, or in an allocation of a batch system. */
bool adsm_cluster_is_local(const char *launch);

/*
 * Make the words of the command. @launch is a template, or a command that gets the flags of @launcher. In a template,
 * %n is the number of nodes, %h are their hosts ("a,b"), %p is @program (a list of words), and %% is a percent sign.
 * The caller frees the list as above. Returns NULL if there is no memory, or with EINVAL if another letter follows %.
 */
char **adsm_cluster_command(const char *launch, enum adsm_cluster_launcher launcher, unsigned n_nodes,
			    const struct adsm_cluster_hosts *hosts, char *const *program);

/* Remove variables that would make nodes part of another job, or load libraries into them: those of the preload, of
 * this library, and of an MPI job that the application may be part of. Set those that nodes need before they start. */
void adsm_cluster_clean_environment(void);

/* The variables that select MPI's transports, "UCX_TLS=tcp, FI_PROVIDER=shm", which nodes get, too; "" if none is
 * set. */
void adsm_cluster_transports(char *ret_text, size_t size);
