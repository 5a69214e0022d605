/* SPDX-License-Identifier: MIT */
/* job.h - processes of a cluster on this machine: started, read from, and ended together with all their descendants. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define ADSM_CLUSTER_TAIL 8192

struct adsm_cluster_job {
	pid_t pid;
	int output;			/* its output, a pipe that does not block */
	size_t n;			/* bytes in tail: the end of its output */
	char tail[ADSM_CLUSTER_TAIL];	/* ends with NUL */
};

/* Start a command with /dev/null as its standard input. It gets SIGTERM when this process ends. Returns a negative
 * errno if the command cannot be run. */
int adsm_cluster_job_start(struct adsm_cluster_job *job, char *const *argv);
/* Read its output. Returns false at the end of the output. */
bool adsm_cluster_job_listen(struct adsm_cluster_job *job);
/* Find the most useful sentence of its output: a message of a node; else the paragraph that names a process; else the
 * first paragraph. "" if there is no output. */
void adsm_cluster_job_said(const struct adsm_cluster_job *job, char *ret_text, size_t size);
/* Did it print that one of its processes has failed? Then it should end; Open MPI's does not always, early in a job. */
bool adsm_cluster_job_gave_up(const struct adsm_cluster_job *job);

/* Wait at most @ms for its end. Returns false if it has not ended. */
bool adsm_cluster_job_await(const struct adsm_cluster_job *job, int ms);
/* End all descendants of this process, which must be their subreaper, and wait for each. They have @patience_ms to end
 * by themselves. */
void adsm_cluster_end_all(int patience_ms);
