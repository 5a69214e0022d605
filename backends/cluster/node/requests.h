/* SPDX-License-Identifier: MIT */
/*
 * node/requests.h - requests of the application to node 0 other than launches: modules and kernels, which all nodes
 * load in the same order. One thread reads the requests, and the communication thread serves them.
 */
#pragma once

#include "process/shared.h"

#include <stdbool.h>
#include <stddef.h>

/* Node 0: start the thread that reads. @hello: as start() of struct adsm_server; called in the communication thread. */
int adsm_requests_start(int (*hello)(const struct adsm_process_request *request, int memory_fd,
				     struct adsm_process_shared *shared, struct adsm_process_reply *reply));
/* Node 0: is a request there that was not served yet, or that waits for other nodes? */
bool adsm_requests_waiting(void);
/* Node 0: serve the request as far as possible now. */
void adsm_requests_poll(void);
/* Node 0: an ANSWER message has come. */
void adsm_requests_answer(int from, const void *data, size_t size);
/* Has the application ended? */
bool adsm_requests_over(void);

/* Other nodes: a CODE message has come. */
void adsm_requests_code(const void *data, size_t size);
