/* SPDX-License-Identifier: MIT */
/*
 * join.h - how the nodes of a cluster, which a launch command has started, connect to the application. Each node fills
 * in a card. Node 0 gathers the cards, sends them to the keeper's socket, and receives the application's descriptors.
 * The keeper checks the cards. Nodes of other versions send cards, too: so these formats must never change.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ADSM_CLUSTER_MAGIC 0x61636c31u	/* identifies this format */
#define ADSM_CLUSTER_TOKEN 33		/* bytes of a token, terminator included */
#define ADSM_CLUSTER_WHY 384		/* bytes of an error text */

/* The prefix of a node's own messages on stderr, which the keeper reads; mostly "node 2 (host): " follows. */
#define ADSM_CLUSTER_SAYS "adsm-cluster-node: "

struct adsm_cluster_card {		/* describes one node; texts end with NUL */
	uint32_t magic;
	uint32_t page_size;
	char library[48];		/* versions of the library and of its messages */
	char machine[16];		/* x86_64 */
	char libc[16];
	char boot[40];			/* id of the running system */
	char host[64];
	char mpi[128];			/* MPI's name and version; the node fills it in */
	char tracker[16];		/* how it will detect writes; "": unknown. The node fills it in */
	uint32_t cores, threads, pid;
	/* 0; or why it cannot take part: a negative errno; -EEXIST: the address range is in use. */
	int32_t error;
	char why[ADSM_CLUSTER_WHY];	/* the text of the error */
	uint32_t levels;		/* of its processors (base/processor.h) */
	uint8_t unused[284];
};

_Static_assert(sizeof(struct adsm_cluster_card) == 1024, "nodes of other versions send it too");

/* Node 0 sends this and then each card as a message of its own, on a SOCK_SEQPACKET socket. */
struct adsm_cluster_joining {
	uint32_t magic, n_nodes;
	char token[ADSM_CLUSTER_TOKEN];
};

/* The answer. If error is 0, it carries two descriptors: the application's socket and pidfd. */
struct adsm_cluster_joined {
	uint32_t magic;
	int32_t error;
	char why[ADSM_CLUSTER_WHY];
};

/* Fill in what is the same in all programs. The node adds mpi, tracker and threads. */
void adsm_cluster_card(struct adsm_cluster_card *ret_card);
/* Can the node with this card be node @i of @n? @here: the card of the application's machine. Returns 0, or a negative
 * errno with a text that names the node. */
int adsm_cluster_check(const struct adsm_cluster_card *card, uint32_t i, uint32_t n,
		       const struct adsm_cluster_card *here, char ret_why[ADSM_CLUSTER_WHY]);

/*
 * Prepare a node before MPI_Init(). Sets the MPI settings that this program needs, unless the user has set them. On the
 * application's machine, makes MPI put its files in the folder of the keeper's socket @path. Frees the numbers of the
 * descriptors that a device process has.
 * @mpi: the text of MPI_Get_library_version().
 * @all_here: all nodes are on one machine, so MPI uses shared memory and no network.
 */
void adsm_cluster_prepare(const char *path, const char *mpi, bool all_here);
/* For node 0: returns 0 after it has received the descriptors of a device process (process/shared.h); else a negative
 * errno with a text, which is printed on stderr after "adsm-cluster-node: ". */
int adsm_cluster_join(const char *path, const char *token, uint32_t n_nodes, const struct adsm_cluster_card *cards,
		      char ret_why[ADSM_CLUSTER_WHY]);
