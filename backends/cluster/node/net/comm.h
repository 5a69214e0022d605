/* SPDX-License-Identifier: MIT */
/*
 * node/net/comm.h - letters: messages between the nodes of a cluster. One thread of each node makes all calls of MPI,
 * and only that thread calls these functions, except adsm_comm_wake(). It never waits in MPI while kernels run on any
 * node. It checks for letters and rests between two checks; rests become longer while nothing comes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum adsm_tag {
	ADSM_TAG_LAUNCH = 1,		/* from node 0: a launch, and what the host has changed since the last one */
	ADSM_TAG_DONE,			/* to node 0: this node's part has ended; the pages it wrote */
	ADSM_TAG_SYNC,			/* from node 0: all parts have ended; which pages go to which nodes */
	ADSM_TAG_WANT,			/* to node 0: request for pages that a kernel waits for */
	ADSM_TAG_CODE,			/* from node 0: load or unload a module, or look up a kernel */
	ADSM_TAG_ANSWER,		/* to node 0: the result of CODE */
	ADSM_TAG_NOTE,			/* to node 0: why this node cannot continue */
	ADSM_TAG_BEAT,			/* from node 0: it lives; the answer: this node lives, too */
	ADSM_TAG_END,			/* from node 0: the application has ended */
	ADSM_TAG_TIMES,			/* from node 0: how long did the exchange take? And the answer */
	ADSM_TAG_ECHO,			/* from node 0: an empty message; and the answer */
	ADSM_TAG_TASK,			/* to any node: between the workers of a task (hcrc_node.h) */
	ADSM_TAG_TASK_BEGIN,		/* from node 0: begin the node's workers of a task */
	ADSM_TAG_TASK_DONE,		/* to node 0: they have ended, and the result */
	ADSM_TAG_DIFFS,			/* to node 0, in an exchange: diffs of pages that several nodes wrote */
	ADSM_TAG_ONCE,			/* units of write-once objects: set or waited for, and the answers (units.c) */
};

struct adsm_letter {
	int from;
	enum adsm_tag tag;
	void *data;			/* aligned to 64 bytes; valid until adsm_comm_drop() */
	size_t size;
};

/* The longest rest while others wait for this node. */
#define ADSM_COMM_BUSY_NS 50000
/* The longest rest while kernels run on several nodes, and a node may begin to wait at any time. */
#define ADSM_COMM_COMPUTE_NS 500000
/* The longest rest while there is nothing to do. */
#define ADSM_COMM_IDLE_NS 2000000

struct adsm_comm_traffic { uint64_t messages, bytes; };

struct adsm_comm {
	int rank, n;
	/* What node 0 has sent and received, which is all of the cluster's traffic: for pages, except those of
	 * exchanges; and control messages. Beats are not counted, nor are TIMES messages. */
	struct adsm_comm_traffic pages, control;
	/* Called in any thread with the reason why this node ends; NULL: nothing to call. */
	void (*failed)(const char *why);
	/* Where this node writes the time of its last check for messages; NULL: nowhere. */
	_Atomic uint64_t *heard_ns;
};

extern struct adsm_comm adsm_comm;

/* Initialize MPI. From now on the calling thread makes all calls of MPI. */
void adsm_comm_start(int *argc, char ***argv, uint64_t timeout_ns);
void adsm_comm_finish(void);
/* Write MPI's name and version. For Open MPI, the parts that send messages follow in brackets, if they are found. */
void adsm_comm_version(char *text, size_t size);

/* Send a copy of the data, and return immediately. @to: a node; -1: all other nodes. */
void adsm_comm_send(int to, enum adsm_tag tag, const void *data, size_t size);
/* Get the next letter that has come, if there is one. Beats are answered here. */
bool adsm_comm_receive(struct adsm_letter *ret_letter);
/* The same for letters with one tag. Other letters wait until they are requested. */
bool adsm_comm_receive_only(enum adsm_tag tag, struct adsm_letter *ret_letter);
void adsm_comm_drop(struct adsm_letter *letter);
/* How many letters are being sent? They need further checks to make progress. */
size_t adsm_comm_is_busy(void);

/* Rest between two checks that found nothing, at most @most_ns. */
void adsm_comm_rest(uint64_t most_ns);
/* Is it necessary to poll MPI? False if all nodes would have rung since the last call. @last_count: the caller's
 * variable for that, initially 0. */
bool adsm_comm_may_have(uint32_t *last_count);
/* Something has come: begin again with short rests. */
void adsm_comm_active(void);
/* End a rest early. May be called by any thread, and in signal handlers. */
void adsm_comm_wake(void);

/*
 * Call this repeatedly in each wait for other nodes that does not receive all letters. It detects nodes that are
 * silent, and tells others that this node lives (ADSM_CLUSTER_TIMEOUT). That is why no call of MPI may wait for other
 * nodes.
 */
void adsm_comm_beat(void);
/* Report the reason, and end this node, which ends the job. */
_Noreturn void adsm_comm_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * ---- A letter is a sequence of parts: the sender packs them into a buffer, the receiver takes them in the same order
 */

struct adsm_pack {
	uint8_t *data;
	size_t n, room;
};

/* Make room for one more part, aligned to @align; padding is 0. The address is valid until the next part is added. */
void *adsm_pack_room(struct adsm_pack *pack, size_t size, size_t align);
void adsm_pack_put(struct adsm_pack *pack, const void *data, size_t size, size_t align);
/* Take the next part of a letter. *@at: the end of the part before. If the letter is too short, the node ends with an
 * error. */
const void *adsm_pack_take(const struct adsm_letter *letter, size_t *at, size_t size, size_t align);

/* ---- The end of a collective operation of MPI */

/*
 * Wait with rests: with more nodes than processors, nodes make progress only if waiting nodes sleep. Beats continue.
 * @request: an MPI_Request; this header does not include MPI's.
 */
void adsm_wait_for(void *request);
