/* SPDX-License-Identifier: MIT */
/*
 * node/units.h - write-once objects of a cluster. Node 0 shares flags and the table of waiters with the application.
 * Every other node has its own flags, table and bytes, where its kernels set units and wait for them. Units that they
 * set are sent to node 0, where they become valid. If they wait for a unit, node 0 sends it when it is set there. The
 * communication thread calls all functions.
 */
#pragma once

#include "cluster/node/net/comm.h"
#include "process/device/pool.h"

/*
 * Call this at the start.
 * @place: the text for this node in messages; it must stay valid.
 * @shared: node 0's; NULL on other nodes.
 * @name_place: on node 0, makes that text for another node.
 */
void adsm_units_start(const char *place, struct adsm_process_shared *shared,
		      int (*restore)(uint64_t address, size_t size),
		      void (*name_place)(char *place, size_t size, int node));

/* ---- node 0 */

/* A launch whose kernel takes write-once objects is about to be sent. @crew: the number of threads on each node. */
void adsm_units_launch(const char *kernel, const uint32_t *crew);
/* It has ended on all nodes. Returns 0, or an error with a text. */
int adsm_units_end(char ret_failure[ADSM_PROCESS_TEXT]);

/* ---- any node */

/* A part of a launch is about to begin on this node, with @crew threads; @launch NULL: there is no part. */
void adsm_units_begin(const struct adsm_pool_launch *launch, uint32_t crew);
/* The part has ended on this node; called repeatedly until the end is known. */
void adsm_units_part_ended(void);
/* Send what is to be reported, and process what has become known. */
void adsm_units_poll(void);
/* An ONCE letter has come. */
void adsm_units_letter(const struct adsm_letter *letter);
