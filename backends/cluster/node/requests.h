/* SPDX-License-Identifier: MIT */
/*
 * node/requests.h - what the application asks of node 0 beside launches: modules and kernels, which all nodes load in
 * the same order. A thread reads its requests, the communication thread does what they ask.
 */
#ifndef ADSM_CLUSTER_REQUESTS_H
#define ADSM_CLUSTER_REQUESTS_H

#include "process/shared.h"

#include <stdbool.h>
#include <stddef.h>

/* Node 0: start to read. @hello: in the communication thread, as of struct adsm_server. */
int adsm_requests_start(int (*hello)(const struct adsm_process_request *request, int memory_fd,
				     struct adsm_process_shared *shared, struct adsm_process_reply *reply));
/* Node 0: whether a request is to be looked at, or waits for other nodes. */
bool adsm_requests_waiting(void);
/* Node 0: do what is asked, as far as it can be done now. */
void adsm_requests_look(void);
/* Node 0: a letter ANSWER. */
void adsm_requests_answer(int from, const void *data, size_t size);
/* The application has ended. */
bool adsm_requests_over(void);

/* Another node: a letter CODE. */
void adsm_requests_code(const void *data, size_t size);

#endif
