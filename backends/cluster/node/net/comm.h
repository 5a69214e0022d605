/* SPDX-License-Identifier: MIT */
/*
 * node/net/comm.h - letters between the nodes of a cluster. One thread of each node makes all calls of MPI: all
 * functions here are its own, but adsm_comm_wake(). It never waits in MPI while kernels run anywhere: it looks for
 * letters, and rests between two looks, longer the longer nothing has come.
 */
#ifndef ADSM_CLUSTER_COMM_H
#define ADSM_CLUSTER_COMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum adsm_tag {
	ADSM_TAG_LAUNCH = 1,		/* node 0: a launch, and what the host has done since the last one */
	ADSM_TAG_DONE,			/* to node 0: this node's part has ended; what it wrote */
	ADSM_TAG_SYNC,			/* node 0: all have; what is to go where */
	ADSM_TAG_WANT,			/* to node 0: pages that a kernel waits for */
	ADSM_TAG_CODE,			/* node 0: a module to load or unload, a kernel of one */
	ADSM_TAG_ANSWER,		/* to node 0: how that went */
	ADSM_TAG_NOTE,			/* to node 0: why this node cannot go on */
	ADSM_TAG_BEAT,			/* node 0 lives; and back: so does this one */
	ADSM_TAG_END,			/* node 0: the application has ended */
	ADSM_TAG_TIMES,			/* node 0: how long did the exchange take? And back */
	ADSM_TAG_ECHO,			/* node 0: nothing but a message; and back */
	ADSM_TAG_TASK,			/* to any: between the workers of a task (hcrc_node.h) */
	ADSM_TAG_TASK_BEGIN,		/* node 0: a task; the node's workers are to begin */
	ADSM_TAG_TASK_DONE,		/* to node 0: they have ended, and how */
	ADSM_TAG_DIFFS,			/* to node 0, in an exchange: what was written to pages that several wrote */
	ADSM_TAG_ONCE,			/* units of write-once objects: set, waited for, and that back (units.h) */
};

struct adsm_letter {
	int from;
	enum adsm_tag tag;
	void *data;			/* aligned to 64 bytes, until adsm_comm_drop() */
	size_t size;
};

/* The longest rest while somebody waits for this node. */
#define ADSM_COMM_BUSY_NS 50000
/* While kernels run here and elsewhere, and somebody may come to wait. */
#define ADSM_COMM_COMPUTE_NS 500000
/* And while nothing is to be done. */
#define ADSM_COMM_IDLE_NS 2000000

struct adsm_comm_traffic { uint64_t messages, bytes; };

struct adsm_comm {
	int rank, n;
	/*
	 * What node 0 has sent and received, and that is all that goes over the network: what pages have cost, without
	 * those of exchanges, and letters. Beats do not count, nor does what asks for times.
	 */
	struct adsm_comm_traffic pages, control;
	/* Who else is told why this node ends, in any thread; NULL: nobody. */
	void (*failed)(const char *why);
	_Atomic uint64_t *heard_ns;	/* where this node writes down that it looks after messages; NULL: nowhere */
};

extern struct adsm_comm adsm_comm;

/* The calling thread becomes the one that makes calls of MPI. */
void adsm_comm_start(int *argc, char ***argv, uint64_t timeout_ns);
void adsm_comm_finish(void);

/* A copy of the bytes goes; returns at once. @to -1: to all others. */
void adsm_comm_send(int to, enum adsm_tag tag, const void *data, size_t size);
/* The next letter that has come, if there is one. Beats are answered here. */
bool adsm_comm_receive(struct adsm_letter *ret_letter);
/* The same of one kind alone; others wait until they are asked for. */
bool adsm_comm_receive_only(enum adsm_tag tag, struct adsm_letter *ret_letter);
void adsm_comm_drop(struct adsm_letter *letter);
/* Letters are under way from here: they need looks to get on. */
bool adsm_comm_is_busy(void);

/* Rest between two looks that found nothing. @most_ns: at most so long, however long nothing has come. */
void adsm_comm_rest(uint64_t most_ns);
/*
 * Whether it is worth to ask MPI: false where all that could have sent something would have rung since. @seen: what the
 * caller has seen, from 0 on; it changes.
 */
bool adsm_comm_may_have(uint32_t *seen);
/* Something has come: rests are short again. */
void adsm_comm_active(void);
/* End a rest early. Any thread, and signal handlers. */
void adsm_comm_wake(void);

/*
 * In each wait for other nodes that does not look for all letters, again and again: whoever is silent is noticed, and
 * others hear that this node is not. See ADSM_CLUSTER_TIMEOUT. So no call of MPI may wait for others.
 */
void adsm_comm_beat(void);
/* Say why, and end this node, and with it the job. */
_Noreturn void adsm_comm_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- letters are written into a buffer part by part, and taken apart in the same order */

struct adsm_pack {
	uint8_t *data;
	size_t n, room;
};

/* Room for one more part, which begins at a multiple of @align; what lies between is zeros. Until the next part. */
void *adsm_pack_room(struct adsm_pack *pack, size_t size, size_t align);
void adsm_pack_put(struct adsm_pack *pack, const void *data, size_t size, size_t align);
/* The next part of a letter, *@at being the end of the one before. Where it has none the node ends with a sentence. */
const void *adsm_pack_take(const struct adsm_letter *letter, size_t *at, size_t size, size_t align);

/* ---- an operation of MPI that all nodes take part in, at its end */

/*
 * With rests: more nodes than processors get on only where those that wait sleep. Beats go on.
 * @request: an MPI_Request; headers here do without MPI's.
 */
void adsm_wait_for(void *request);

#endif
