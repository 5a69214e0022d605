/* SPDX-License-Identifier: MIT */
/*
 * node/hcrc/virtual.h - estimates how long a task would take on cores and a network with other costs, by virtual clocks
 * beside the real run. A worker's clock advances by the processor time that it computes. An event that it waits for
 * happens when the message for it would have arrived. Messages do not delay each other.
 *
 * The functions are called under the mutex of hcrc_node.c, except those that only read processor time.
 */
#pragma once

#include "cluster/shared.h"
#include "hcrc_types.h"

/* Call this at the start. */
void adsm_virtual_start(enum adsm_cluster_virtual costs);
/* A task begins. @n_releases: numbers of releases are smaller, and the first ones are locks. */
void adsm_virtual_begin(uint32_t n_locks, uint32_t n_releases, uint32_t n_flags);
void adsm_virtual_end(void);

/* A worker makes a request of @size bytes. What it causes happens at the worker's time. */
void adsm_virtual_request(uint32_t worker, size_t size);
/* The worker has reached the barrier, or has ended. The workers of a node leave the barrier together. */
void adsm_virtual_arrive(uint32_t worker);
/* The worker gets what it waits for, @size bytes, at the time of the current event. */
void adsm_virtual_wake(uint32_t worker, size_t size);
/* The worker computes again. */
void adsm_virtual_resume(uint32_t worker);
/* The worker gets a lock that is free on this node. A worker of this node releases a lock. */
void adsm_virtual_lock(uint32_t worker, uint32_t lock);
void adsm_virtual_unlock(uint32_t lock);
/* A message is sent: returns its time. A message has arrived: that is the current event. */
uint64_t adsm_virtual_send(const struct adsm_hcrc_message *message);
void adsm_virtual_receive(const struct adsm_hcrc_message *message, uint64_t sent);
/* The latest time of all events on this node since the task began, ns. */
uint64_t adsm_virtual_now(void);
