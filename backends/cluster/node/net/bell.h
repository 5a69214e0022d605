/* SPDX-License-Identifier: MIT */
/*
 * node/net/bell.h - a word of memory by which a node is woken. Those on one machine share theirs, and ring when they
 * have sent something: MPI itself can only be asked whether something has come.
 */
#ifndef ADSM_CLUSTER_BELL_H
#define ADSM_CLUSTER_BELL_H

#include <stdbool.h>
#include <stdint.h>

/* All nodes, at the start. Where others cannot be reached nothing is wrong, but that they are not woken. */
void adsm_bell_start(int rank, int n);
/* Nodes on this machine; and whether that is all of them, each of which reaches all others. */
int adsm_bell_n_here(void);
bool adsm_bell_reaches_all(void);
/* Wake a node, if it is on this machine and asleep. For this one also any thread, and signal handlers. */
void adsm_bell_ring(int rank);
/* How often this one was rung for. */
uint32_t adsm_bell_count(void);
/* Sleep, at most so long, until it is rung for more often than that. True: it was not. */
bool adsm_bell_sleep(uint32_t count, uint64_t most_ns);

#endif
