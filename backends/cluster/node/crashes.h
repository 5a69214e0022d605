/* SPDX-License-Identifier: MIT */
/* node/crashes.h - why a node cannot go on: it tells node 0, which tells the application. */
#ifndef ADSM_CLUSTER_CRASHES_H
#define ADSM_CLUSTER_CRASHES_H

#include "cluster/node/pages/pages.h"
#include "process/shared.h"

/* @shared: node 0's, where the application looks; NULL: another node. */
void adsm_crashes_start(struct adsm_process_shared *shared);
/* What a kernel did that it may not do: as adsm_pages_config's error. */
void adsm_crashes_of_kernel(uint64_t address, enum adsm_pages_wrong why);
/* Another node: the same, in a sentence. In a thread that runs kernels. */
void adsm_crashes_refuse(const char *text) __attribute__((noreturn));
/* Another node's communication thread, now and then: tells node 0 what there is to tell. */
void adsm_crashes_look(void);
/* Node 0: what another node has told. Does not return. */
_Noreturn void adsm_crashes_tell(const char *place, const void *data, size_t size);

#endif
