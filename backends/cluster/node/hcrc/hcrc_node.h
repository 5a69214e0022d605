/* SPDX-License-Identifier: MIT */
/* node/hcrc/hcrc_node.h - runs hcrc.h between the processes of a cluster. Workers are threads, which wait until their
 * requests are done. One thread of each node sends and receives the letters. */
#pragma once

#include "cluster/node/net/comm.h"
#include "hcrc_types.h"

/* A task begins on this node, at any time after the previous one has ended on the manager's node. The functions and the
 * numbers of nodes in @config are ignored. Returns 0, -EINVAL for an invalid configuration, or -ENOMEM. */
int adsm_hcrc_node_begin(const struct adsm_hcrc_config *config);
/* The thread that makes all calls of MPI calls this again and again until the task has ended on this node. It never
 * waits. Returns whether there was anything to do. */
bool adsm_hcrc_node_poll(void);
/* Is everything done on this node? *ret_status: 0, or a negative errno of the task. */
bool adsm_hcrc_node_has_ended(int *ret_status);
/* The counts of this node; and on the manager's node: was a page written to? Valid until adsm_hcrc_node_finish(). */
struct adsm_hcrc_counts adsm_hcrc_node_counts(void);
bool adsm_hcrc_node_wrote(uint32_t page);
/* Call this after the workers' threads have left all of the functions below. */
void adsm_hcrc_node_finish(void);
/* A TASK letter that was received elsewhere. If it belongs to a task that has not begun on this node, it is kept until
 * then. */
void adsm_hcrc_node_letter(const struct adsm_letter *letter);

/*
 * For workers, each in a thread of its own: see hcrc.h. Each function returns when its request is
 * done: 0, or a negative errno if the task has failed on any node, by this call or another; then the worker leaves the
 * task.
 */
/* Copies the bytes of a page to @to. */
int adsm_hcrc_node_read(uint32_t worker, uint32_t page, uint8_t *to);
/* Copies them only if @has is false, or if the worker's bytes are old. */
int adsm_hcrc_node_write(uint32_t worker, uint32_t page, uint8_t *to, bool has);
int adsm_hcrc_node_put(uint32_t worker, uint32_t page, const uint8_t *bytes, bool keep);
void adsm_hcrc_node_drop(uint32_t worker, uint32_t page);
/* Returns a page or ADSM_HCRC_NONE. */
uint32_t adsm_hcrc_node_notice(uint32_t worker);
/* How the worker got the lock: without sleeping; from another node through the manager; from another worker of this
 * node. */
enum adsm_hcrc_acquired { ADSM_HCRC_WITHOUT_SLEEP, ADSM_HCRC_FROM_NODE, ADSM_HCRC_FROM_WORKER };
/* *ret_has_notices: some of the worker's pages are old, so call adsm_hcrc_node_notice(). */
int adsm_hcrc_node_acquire(uint32_t worker, uint32_t lock, enum adsm_hcrc_acquired *ret_acquired,
			   bool *ret_has_notices);
int adsm_hcrc_node_release(uint32_t worker, uint32_t lock);
/* @kind: as for adsm_hcrc_flag(). */
int adsm_hcrc_node_flag(uint32_t worker, uint8_t kind, uint32_t flag, bool *ret_slept);
int adsm_hcrc_node_barrier(uint32_t worker);
int adsm_hcrc_node_end(uint32_t worker);
/* The worker did something invalid: the task ends with this error. Returns when this node knows that. */
void adsm_hcrc_node_fail(uint32_t worker, int error);
/* For the thread that makes all calls of MPI: the workers of this node cannot begin, and the task ends with this error.
 * It does not wait. */
void adsm_hcrc_node_cannot_begin(int error);
