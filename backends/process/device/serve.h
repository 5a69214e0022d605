/* SPDX-License-Identifier: MIT */
/* serve.h - what a device process does for the application: it answers requests, and runs launches in their order. */
#ifndef ADSM_PROCESS_SERVE_H
#define ADSM_PROCESS_SERVE_H

#include "process/shared.h"

/* Both return 0 or a negative errno, with a sentence in the reply where there is more to say. */
struct adsm_server {
	/* Hello: take the device's memory, by its descriptor, and begin to run what comes in shared->queue. */
	int (*start)(const struct adsm_process_request *hello, int memory_fd, struct adsm_process_shared *shared,
		     struct adsm_process_reply *reply);
	/* What else is asked for. */
	int (*answer)(const struct adsm_process_request *request, const int *fds, struct adsm_process_reply *reply);
};

/* Answer requests until the application is gone. Kernels may still run then: only _exit() is safe. */
void adsm_serve(const struct adsm_server *server);
/* The answer of this process alone: modules and kernels. */
int adsm_serve_answer(const struct adsm_process_request *request, const int *fds, struct adsm_process_reply *reply);
/* Run launches of the queue, each with all of so many threads, in a thread that is one of them. */
int adsm_serve_launches(struct adsm_process_shared *shared, unsigned n_threads);

#endif
