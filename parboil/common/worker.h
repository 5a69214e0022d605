/* SPDX-License-Identifier: MIT */
/* worker.h - variants that take turns, each in a process of its own with its own library and device. */
#ifndef PARBOIL_WORKER_H
#define PARBOIL_WORKER_H

#include <sys/types.h>

#include "job.h"

struct pb_worker {
	pid_t pid;
	int to, from;			/* pipes */
	struct pb_setup setup;
};

/* Start a process for one variant of a prepared run, whose library is not started. False, after a message,
 * where it cannot do its work. */
bool pb_worker_start(struct pb_worker *ret_worker, struct pb_run *run, const struct pb_config *config);
/* Let it run once. False where it died, after a message. */
bool pb_worker_run(struct pb_worker *worker, struct pb_result *ret_result);
/* End it; of several, the last one started first, as it holds the pipes to those before it open. One that was
 * not started, all zero, is left alone. */
void pb_worker_stop(struct pb_worker *worker);

#endif
