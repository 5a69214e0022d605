/* SPDX-License-Identifier: MIT */
/* node/net/doorbell.h - a word of memory that wakes a node. Nodes on one machine share their words, and ring the word
 * of a node after they have sent something to it: MPI itself can only be polled. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* All nodes call this at the start. If other nodes' words cannot be reached, everything still works, but slower. */
void adsm_doorbell_start(int rank, int n);
/* The number of nodes on this machine; do all nodes run here and reach each other's words? */
int adsm_doorbell_n_here(void);
bool adsm_doorbell_reaches_all(void);
/* Wake a node, if it is on this machine and asleep. Rings for the own node may come from any thread, and from signal
 * handlers. */
void adsm_doorbell_ring(int rank);
/* How often this node was rung for. */
uint32_t adsm_doorbell_count(void);
/* Sleep until the count exceeds @count, at most @most_ns. Returns true if it does not exceed it. */
bool adsm_doorbell_sleep(uint32_t count, uint64_t most_ns);
