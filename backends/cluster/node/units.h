/* SPDX-License-Identifier: MIT */
/*
 * node/units.h - write-once objects of a cluster. Node 0 has them as the application has: the same flags, the same
 * table of those who wait. Every other node has flags, a table and bytes of its own, in which its kernels set units and
 * wait for them. What they set goes to node 0, where it counts; what they wait for node 0 sends when it is set there.
 * All functions are the communication thread's.
 */
#ifndef ADSM_CLUSTER_UNITS_H
#define ADSM_CLUSTER_UNITS_H

#include "cluster/node/net/comm.h"
#include "process/device/pool.h"

/*
 * At the start. @place: of this node, for messages: it stays. @shared: node 0's, NULL elsewhere. @name_place, node 0:
 * the same of another one.
 */
void adsm_units_start(const char *place, struct adsm_process_shared *shared,
		      int (*restore)(uint64_t address, size_t size),
		      void (*name_place)(char *place, size_t size, int node));

/* ---- node 0 */

/* A launch whose kernel takes write-once objects is about to go out. @crew: so many threads run it on each node. */
void adsm_units_launch(const char *kernel, const uint32_t *crew);
/* It has ended, everywhere: 0, or with what error and sentence. */
int adsm_units_end(char ret_failure[ADSM_PROCESS_TEXT]);

/* ---- any node */

/* The part of a launch is about to begin here, which @crew threads will run; @launch NULL: there is none. */
void adsm_units_begin(const struct adsm_pool_launch *launch, uint32_t crew);
/* It has ended here; again and again until it is known. */
void adsm_units_part_ended(void);
/* What there is to be told goes, and what has become known here is looked at. */
void adsm_units_look(void);
/* A letter ONCE. */
void adsm_units_letter(const struct adsm_letter *letter);

#endif
