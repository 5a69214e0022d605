/* SPDX-License-Identifier: MIT */
/* node/node.h - the parts of a node's program. The communication thread calls all functions without a remark. */
#pragma once

#include "cluster/node/net/comm.h"
#include "cluster/node/pages/pages.h"
#include "process/device/pool.h"
#include "process/shared.h"

#include <stdbool.h>
#include <stddef.h>

/* ---- crashes.c: why a node cannot continue. It tells node 0, which tells the application */

/* @shared: on node 0, the memory that the application reads; NULL on other nodes. */
void adsm_crashes_start(struct adsm_process_shared *shared);
/* A kernel did something invalid: the error function of struct adsm_pages_config. */
void adsm_crashes_of_kernel(uint64_t address, enum adsm_pages_wrong why);
/* Other nodes: the same with a text. Called in a thread that runs kernels. */
void adsm_crashes_refuse(const char *text) __attribute__((noreturn));
/* Other nodes: the communication thread calls this from time to time; it sends reports to node 0. */
void adsm_crashes_poll(void);
/* Node 0: handle the report of another node. */
_Noreturn void adsm_crashes_tell(const char *place, const void *data, size_t size);

/*
 * ---- requests.c: requests of the application to node 0 other than launches: modules and kernels, which all nodes load
 * in the same order. One thread reads the requests, and the communication thread serves them.
 */

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

/*
 * ---- units.c: write-once objects of a cluster. Node 0 shares flags and the table of waiters with the application.
 * Every other node has its own flags, table and bytes, where its kernels set units and wait for them. Units that they
 * set are sent to node 0, where they become valid. If they wait for a unit, node 0 sends it when it is set there.
 */

/*
 * Call this at the start.
 * @place: the text for this node in messages; it must stay valid.
 * @shared: node 0's; NULL on other nodes.
 * @name_place: on node 0, makes that text for another node.
 */
void adsm_units_start(const char *place, struct adsm_process_shared *shared,
		      int (*restore)(uint64_t address, size_t size),
		      void (*name_place)(char *place, size_t size, int node));

/* Node 0: a launch with write-once objects is about to be sent. @crew: the number of threads on each node. */
void adsm_units_launch(const char *kernel, const uint32_t *crew);
/* Node 0: it has ended on all nodes. Returns 0, or an error with a text. */
int adsm_units_end(char ret_failure[ADSM_PROCESS_TEXT]);

/* A part of a launch is about to begin on this node, with @crew threads; @launch NULL: there is no part. */
void adsm_units_begin(const struct adsm_pool_launch *launch, uint32_t crew);
/* The part has ended on this node; called repeatedly until the end is known. */
void adsm_units_part_ended(void);
/* Send what is to be reported, and process what has become known. */
void adsm_units_poll(void);
/* An ONCE letter has come. */
void adsm_units_letter(const struct adsm_letter *letter);
