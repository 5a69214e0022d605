/* SPDX-License-Identifier: MIT */
/*
 * join.h - how the nodes of a cluster, which somebody else has started, come to the application: each fills in a card,
 * node 0 gathers them, brings them to the keeper's socket, and has the application's descriptors for it. The keeper
 * looks at the cards; so the form of what is sent here stays as it is, whatever else changes.
 */
#ifndef ADSM_CLUSTER_JOIN_H
#define ADSM_CLUSTER_JOIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ADSM_CLUSTER_MAGIC 0x61636c31u	/* of this form */
#define ADSM_CLUSTER_TOKEN 33		/* bytes of a token, terminator included */
#define ADSM_CLUSTER_WHY 384		/* of a sentence */

/* What a node's own sentences begin with on stderr, where the keeper reads them; then mostly "node 2 (host): ". */
#define ADSM_CLUSTER_SAYS "adsm-cluster-node: "

struct adsm_cluster_card {		/* one node; texts end with NUL */
	uint32_t magic;
	uint32_t page_size;
	char library[48];		/* its version, and that of what it speaks */
	char machine[16];		/* x86_64 */
	char libc[16];
	char boot[40];			/* of the system that it runs on */
	char host[64];
	char mpi[128];			/* MPI's name and version; the node fills it in */
	char tracker[16];		/* how it will see writes; "": not known. The node fills it in */
	uint32_t cores, threads, pid;
	int32_t error;			/* 0, or it cannot take part: a negative errno, -EEXIST: an address is taken */
	char why[ADSM_CLUSTER_WHY];	/* a sentence, with an error */
	uint8_t unused[288];
};

_Static_assert(sizeof(struct adsm_cluster_card) == 1024, "nodes of other versions send it too");

/* Node 0 sends this, then each card by itself, on a SOCK_SEQPACKET socket. */
struct adsm_cluster_joining {
	uint32_t magic, n_nodes;
	char token[ADSM_CLUSTER_TOKEN];
};

/* The answer; with error 0 come two descriptors: the application's socket, and its pidfd. */
struct adsm_cluster_joined {
	uint32_t magic;
	int32_t error;
	char why[ADSM_CLUSTER_WHY];
};

/* All that every process knows of itself: MPI, tracker and threads are the node's to say. */
void adsm_cluster_card(struct adsm_cluster_card *ret_card);
/*
 * Can node @i of @n be one, @here being the card of the application's machine? 0, or a negative errno and a sentence
 * that names it.
 */
int adsm_cluster_check(const struct adsm_cluster_card *card, uint32_t i, uint32_t n,
		       const struct adsm_cluster_card *here, char ret_why[ADSM_CLUSTER_WHY]);

/*
 * First of all, before MPI_Init(): MPI's settings that this program needs, where nobody has set others; on the
 * application's machine all of its files into the folder of the keeper's socket @path; and the numbers free that a
 * device process has its descriptors at. @mpi is what MPI_Get_library_version() says; @all_here: all nodes are on one
 * machine, so that MPI uses shared memory and no network.
 */
void adsm_cluster_prepare(const char *path, const char *mpi, bool all_here);
/*
 * Node 0: 0, and it has the descriptors of a device process (process/shared.h); else a negative errno and a sentence,
 * for stderr behind "adsm-cluster-node: ".
 */
int adsm_cluster_join(const char *path, const char *token, uint32_t n_nodes, const struct adsm_cluster_card *cards,
		      char ret_why[ADSM_CLUSTER_WHY]);

#endif
