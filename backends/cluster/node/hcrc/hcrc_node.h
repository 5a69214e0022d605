/* SPDX-License-Identifier: MIT */
/*
 * node/hcrc/hcrc_node.h - hcrc.h between the processes of a cluster: workers are threads that wait until they have
 * what they ask for; one thread of each node looks for letters, and sends them.
 */
#ifndef ADSM_CLUSTER_HCRC_NODE_H
#define ADSM_CLUSTER_HCRC_NODE_H

#include "cluster/node/net/comm.h"
#include "hcrc_types.h"

/*
 * A task begins on this node, at any time after the one before has ended on the manager's. Of @config the nodes'
 * numbers and what is called are not needed. -EINVAL: it makes no sense; -ENOMEM.
 */
int adsm_hcrc_node_begin(const struct adsm_hcrc_config *config);
/*
 * The thread that makes all calls of MPI, again and again until the task has ended here: it never waits. Whether there
 * was anything to do.
 */
bool adsm_hcrc_node_look(void);
/* Nothing is left to be done for it, and how it ended: 0, or a negative errno. */
bool adsm_hcrc_node_has_ended(int *ret_status);
/* What it has counted here; and on the manager's node, whether a page has been written to. Until it is finished. */
struct adsm_hcrc_counts adsm_hcrc_node_counts(void);
bool adsm_hcrc_node_wrote(uint32_t page);
/* When its workers' threads are no longer in any of the following. */
void adsm_hcrc_node_finish(void);
/* A letter TASK that came otherwise than by look(): one of a task that begins here only later is kept until then. */
void adsm_hcrc_node_letter(const struct adsm_letter *letter);

/*
 * Workers, each in a thread of its own; they do what hcrc_pages.h and hcrc_sync.h say. Returns when it is done: 0, or a
 * negative errno where the task has failed, here or elsewhere, by this call or another: then the worker leaves.
 */
/* A page's bytes go to @to. */
int adsm_hcrc_node_read(uint32_t worker, uint32_t page, uint8_t *to);
/* The same where it has not got them, or they are no longer the page's. */
int adsm_hcrc_node_write(uint32_t worker, uint32_t page, uint8_t *to, bool has);
int adsm_hcrc_node_put(uint32_t worker, uint32_t page, const uint8_t *bytes, bool keep);
void adsm_hcrc_node_drop(uint32_t worker, uint32_t page);
/* A page or ADSM_HCRC_NONE. */
uint32_t adsm_hcrc_node_notice(uint32_t worker);
/* How it got the lock: without sleeping; from another node, by way of the manager; from another worker of this one. */
enum adsm_hcrc_way { ADSM_HCRC_AT_ONCE, ADSM_HCRC_CAME, ADSM_HCRC_STAYED };
int adsm_hcrc_node_acquire(uint32_t worker, uint32_t lock, enum adsm_hcrc_way *ret_way);
int adsm_hcrc_node_release(uint32_t worker, uint32_t lock);
int adsm_hcrc_node_barrier(uint32_t worker);
int adsm_hcrc_node_end(uint32_t worker);
/* The worker has done what it may not: the task ends with this error. Returns when that is known here. */
void adsm_hcrc_node_fail(uint32_t worker, int error);

#endif
