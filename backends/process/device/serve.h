/* SPDX-License-Identifier: MIT */
/* serve.h - what a device process does for the application: it answers requests, and runs the launches of each lane in
 * their order. */
#pragma once

#include "process/shared.h"

struct adsm_pool_launch;

/* Both functions return 0 or a negative errno; the reply may contain an error text. */
struct adsm_server {
	/* For hello: map the device's memory from its descriptor, and begin to run the launches in shared->queue. */
	int (*start)(const struct adsm_process_request *hello, int memory_fd, struct adsm_process_shared *shared,
		     struct adsm_process_reply *reply);
	/* For all other requests. */
	int (*answer)(const struct adsm_process_request *request, const int *fds, struct adsm_process_reply *reply);
};

/* Answer requests until the application has ended. Kernels may still run then, so the caller may only call _exit(). */
void adsm_serve(const struct adsm_server *server);
/* Answers the requests that every such process has: modules, kernels, write-once objects. */
int adsm_serve_answer(const struct adsm_process_request *request, const int *fds, struct adsm_process_reply *reply);
/* Run the launches of @lanes queues, each with @n_threads threads. One of these is the new thread that reads the
 * queue. */
int adsm_serve_launches(struct adsm_process_shared *shared, unsigned n_threads, unsigned lanes);
/* The same for one queue, but @run runs each launch. @slot: the index of the launch's slot. @run returns 0, or a
 * negative errno with a message in shared->failures[slot]. */
int adsm_serve_launches_by(struct adsm_process_shared *shared, unsigned n_threads,
			   int (*run)(struct adsm_pool_launch *launch, uint64_t slot));
