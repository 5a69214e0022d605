/* SPDX-License-Identifier: MIT */
/* job.h - processes of a cluster on this machine: started, listened to, and ended, with all that came of them. */
#ifndef ADSM_CLUSTER_JOB_H
#define ADSM_CLUSTER_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define ADSM_CLUSTER_TAIL 8192

struct adsm_cluster_job {
	pid_t pid;
	int output;			/* what it prints; does not block */
	size_t n;			/* bytes of the tail: the last that it printed */
	char tail[ADSM_CLUSTER_TAIL];	/* with NUL behind them */
};

/*
 * Start a command, /dev/null being its standard input; it is told to end (SIGTERM) when this process ends. A negative
 * errno: it could not be run.
 */
int adsm_cluster_job_start(struct adsm_cluster_job *job, char *const *argv);
/* Take what it has printed. False: there will be no more. */
bool adsm_cluster_job_listen(struct adsm_cluster_job *job);
/*
 * The most telling sentence of what it has printed: a node's own, or of its paragraphs the first or the one that
 * names a process. "": it was silent.
 */
void adsm_cluster_job_said(const struct adsm_cluster_job *job, char *ret_text, size_t size);
/* Has it said that one of its processes has failed? Then it ends; Open MPI's does not always, early in a job's life. */
bool adsm_cluster_job_gave_up(const struct adsm_cluster_job *job);
/* "has exited with status 1", "was killed by signal 9 (Killed)" */
void adsm_cluster_how_ended(int status, char *ret_text, size_t size);

/* Wait for its end, at most so long. False: it has not ended. */
bool adsm_cluster_job_await(const struct adsm_cluster_job *job, int ms);
/*
 * End all processes that are below this one, which has to be their subreaper: they have @patience_ms to end by
 * themselves. It waits for each.
 */
void adsm_cluster_end_all(int patience_ms);

#endif
