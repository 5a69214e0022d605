/* SPDX-License-Identifier: MIT */
/*
 * node/hcrc/virtual.h - what a task would take on cores and a network of other costs than these: clocks beside the
 * real run. A worker's clock goes on by the processor time that it computes, and what it waits for happens when the
 * message that brings it would have come. Messages do not wait for others on their way.
 *
 * Called under the mutex of hcrc_node.c, but for the processor time.
 */
#ifndef ADSM_CLUSTER_VIRTUAL_H
#define ADSM_CLUSTER_VIRTUAL_H

#include "cluster/shared.h"
#include "hcrc_types.h"

/* At the start. */
void adsm_virtual_start(enum adsm_cluster_virtual costs);
/* A task begins, of so many locks. */
void adsm_virtual_begin(uint32_t n_locks);
void adsm_virtual_end(void);

/* A worker asks for something that is @size bytes for its core; behind that, what it causes happens at its time. */
void adsm_virtual_ask(uint32_t worker, size_t size);
/* It is at the barrier, or has ended: those on its node leave together. */
void adsm_virtual_arrive(uint32_t worker);
/* It has what it waits for, @size bytes, at the time of what happens. */
void adsm_virtual_wake(uint32_t worker, size_t size);
/* And computes again. */
void adsm_virtual_go_on(uint32_t worker);
/* A message goes, from here: its time. And has come, which happens then. */
uint64_t adsm_virtual_send(const struct adsm_hcrc_message *message);
void adsm_virtual_take(const struct adsm_hcrc_message *message, uint64_t sent);
/* The latest time of all that has happened on this node, since the task began: ns. */
uint64_t adsm_virtual_now(void);

#endif
