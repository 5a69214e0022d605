/* SPDX-License-Identifier: MIT */
/*
 * protocol.h - the contract of coherence protocols: a table of states and events, and a policy.
 *
 * A protocol knows blocks, states and events; never a device. The table says what a block becomes, which calls that
 * waits for, and which way its bytes move first (paper §4.3, Figure 6). The policy's hooks see each block that comes
 * to have bytes which the device lacks, or stops having them, and name the block to send early. All run under the
 * lock of the blocks' home device, some in the fault handler: no allocation, no waiting.
 *
 * What the states of a protocol are called is its own. Of a state others ask three things, and the table answers:
 * does it send (SEND moves bytes to the device), does it lack bytes (READ moves them to the host), and what may
 * views permit?
 */
#ifndef ADSM_PROTOCOL_H
#define ADSM_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/options.h"

#define ADSM_PROTOCOL_VERSION 3
#define ADSM_PROTOCOLS_MAX 8
#define ADSM_STATES_MAX 4
#define ADSM_POLICY_SIZE 128		/* bytes that a policy may have */

/* The states of the paper's protocols. */
enum adsm_state {
	ADSM_INVALID,			/* only the device has the data */
	ADSM_READ_ONLY,			/* both have the same data */
	ADSM_DIRTY,			/* only the CPU has the new data */
	ADSM_N_STATES
};

enum adsm_block_event {
	ADSM_EVENT_READ,		/* the CPU reads */
	ADSM_EVENT_WRITE,		/* the CPU writes a part */
	ADSM_EVENT_OVERWRITE,		/* the CPU writes all of the block */
	ADSM_EVENT_SEND,		/* the policy sends it early, or a flush does */
	ADSM_EVENT_CALL_IN,		/* a kernel starts that only reads it */
	ADSM_EVENT_CALL_INOUT,		/* a kernel starts that may write it */
	ADSM_EVENT_CALL_OUT,		/* a kernel starts that overwrites it; also a device-side fill or copy */
	ADSM_EVENT_SYNC,		/* the calls that may write it have finished */
	ADSM_N_EVENTS
};

enum adsm_permit { ADSM_PERMIT_NONE, ADSM_PERMIT_READ, ADSM_PERMIT_WRITE };

enum adsm_direction { ADSM_NO_TRANSFER, ADSM_TO_HOST, ADSM_TO_DEVICE };

/* The calls that have to end before the step is taken. */
enum adsm_wait {
	ADSM_WAIT_NONE,
	ADSM_WAIT_WRITERS,		/* those that may write the object */
	ADSM_WAIT_USERS,		/* those that use it */
	ADSM_WAIT_UNIT,			/* all of its device */
};

enum adsm_result { ADSM_RESULT_STEP, ADSM_RESULT_REFUSE };

struct adsm_step {
	uint8_t next;			/* state */
	uint8_t transfer;		/* enum adsm_direction, before the state changes */
	uint8_t wait;			/* enum adsm_wait, before bytes move */
	uint8_t result;			/* enum adsm_result: accesses of the CPU may be refused */
};

enum {
	ADSM_BLOCK_BUSY = 1,		/* being fetched or filled, or about to be: whoever wants it waits */
	ADSM_BLOCK_QUEUED = 2,		/* closed to writers and clean, its copy to the device still to be made */
	ADSM_BLOCK_SENDING = 4,		/* that copy is being made: a second one waits, or it could come first */
	ADSM_BLOCK_BACKED = 8,		/* the host has its pages */
	ADSM_BLOCK_MAPPED = 16,		/* and the view's page table knows them */
	ADSM_BLOCK_HOLED = 32,		/* a fetch left out the bytes of inputs in progress: no send may take them */
	ADSM_BLOCK_EARLY = 64,		/* sent early, and since then neither written nor taken by a call */
};

struct adsm_blocks;

struct adsm_block {
	struct adsm_block *older, *newer; /* in the policy's queue while it must be sent, in the home's while QUEUED */
	struct adsm_blocks *owner;	/* whose it is: nothing a protocol looks into */
	uint16_t holds;			/* adsmHold()s on it: not to be evicted */
	uint8_t state : 2;
	uint8_t view : 2;		/* enum adsm_permit: what the application's mapping permits */
	uint8_t flags;			/* ADSM_BLOCK_* */
	uint32_t holes_until;		/* HOLED: inputs of the object up to this one were left out */
};

/* A queue of blocks, oldest first. */
struct adsm_queue {
	struct adsm_block *oldest, *newest;
	size_t n;
};

void adsm_queue_push(struct adsm_queue *queue, struct adsm_block *block);
void adsm_queue_remove(struct adsm_queue *queue, struct adsm_block *block);

struct adsm_protocol {
	uint32_t version;		/* ADSM_PROTOCOL_VERSION */
	const char *name;
	bool whole_object;		/* one block per object */
	uint8_t n_states, initial;
	uint8_t permits[ADSM_STATES_MAX];	/* enum adsm_permit: the most that the view of a block may be */
	struct adsm_step steps[ADSM_STATES_MAX][ADSM_N_EVENTS];
	/* One policy for each home device: so many zeroes, which set no limits, until init() has the options. */
	size_t policy_size;
	void (*init)(void *policy);
	/* An object comes (+1) or goes (-1). */
	void (*object)(void *policy, int change);
	/* One has blocks to send now (+1), has none left (-1). */
	void (*object_dirty)(void *policy, int change);
	/* A block of @size bytes comes to a state that sends; has left such states. */
	void (*dirtied)(void *policy, struct adsm_block *block, size_t size);
	void (*cleaned)(void *policy, struct adsm_block *block, size_t size);
	/* The oldest block to send early, or NULL when none is due. @started: a batch is under way, so blocks
	 * are due down to the limit, no longer only above it by a batch. */
	struct adsm_block *(*victim)(const void *policy, bool started);
	/* So many blocks may be opened at once for writing. */
	size_t (*window)(const void *policy);
};

#define ADSM_ROLLING_AUTO 0u

struct adsm_protocol_options {
	const char *protocol;		/* ADSM_PROTOCOL: batch, lazy, rolling */
	size_t block_size;		/* ADSM_BLOCK_SIZE: bytes */
	unsigned rolling_size;		/* ADSM_ROLLING_SIZE: blocks, or ADSM_ROLLING_AUTO */
	size_t fault_ahead;		/* ADSM_FAULT_AHEAD: bytes of the largest window, 0 off */
	size_t evict_batch;		/* ADSM_EVICT_BATCH: bytes; 1: one block, closed by the writer */
};

extern struct adsm_protocol_options adsm_protocol_options;
extern struct adsm_option adsm_protocol_rows[];

extern const struct adsm_protocol adsm_protocol_batch, adsm_protocol_lazy, adsm_protocol_rolling;

/* Does the view follow the state? Otherwise it is always open, and accesses are not seen. */
static inline bool adsm_protocol_detects(const struct adsm_protocol *protocol)
{
	return protocol->permits[protocol->steps[protocol->initial][ADSM_EVENT_CALL_OUT].next] != ADSM_PERMIT_WRITE;
}

#define ADSM_PERMITS_ON_ACCESS { \
	[ADSM_INVALID] = ADSM_PERMIT_NONE, [ADSM_READ_ONLY] = ADSM_PERMIT_READ, [ADSM_DIRTY] = ADSM_PERMIT_WRITE }

/* In tables: only the state changes; bytes move first, or something waits. */
#define ADSM_STEP(next) { next, ADSM_NO_TRANSFER, ADSM_WAIT_NONE, ADSM_RESULT_STEP }
#define ADSM_STEP_AFTER(next, transfer, wait) { next, transfer, wait, ADSM_RESULT_STEP }

/* What lazy and rolling share: bytes move when an access or a call needs them, and only then. What becomes Dirty may
 * be sent at any time: not under a call that still reads the old bytes. */
#define ADSM_STEPS_ON_ACCESS {											\
	[ADSM_INVALID] = {											\
		[ADSM_EVENT_READ]	= ADSM_STEP_AFTER(ADSM_READ_ONLY, ADSM_TO_HOST, ADSM_WAIT_WRITERS),	\
		[ADSM_EVENT_WRITE]	= ADSM_STEP_AFTER(ADSM_DIRTY, ADSM_TO_HOST, ADSM_WAIT_USERS),		\
		[ADSM_EVENT_OVERWRITE]	= ADSM_STEP_AFTER(ADSM_DIRTY, ADSM_NO_TRANSFER, ADSM_WAIT_USERS),	\
		[ADSM_EVENT_SEND]	= ADSM_STEP(ADSM_INVALID),						\
		[ADSM_EVENT_CALL_IN]	= ADSM_STEP(ADSM_INVALID),						\
		[ADSM_EVENT_CALL_INOUT]	= ADSM_STEP(ADSM_INVALID),						\
		[ADSM_EVENT_CALL_OUT]	= ADSM_STEP(ADSM_INVALID),						\
		[ADSM_EVENT_SYNC]	= ADSM_STEP(ADSM_INVALID),						\
	},													\
	[ADSM_READ_ONLY] = {											\
		[ADSM_EVENT_READ]	= ADSM_STEP(ADSM_READ_ONLY),						\
		[ADSM_EVENT_WRITE]	= ADSM_STEP_AFTER(ADSM_DIRTY, ADSM_NO_TRANSFER, ADSM_WAIT_USERS),	\
		[ADSM_EVENT_OVERWRITE]	= ADSM_STEP_AFTER(ADSM_DIRTY, ADSM_NO_TRANSFER, ADSM_WAIT_USERS),	\
		[ADSM_EVENT_SEND]	= ADSM_STEP(ADSM_READ_ONLY),						\
		[ADSM_EVENT_CALL_IN]	= ADSM_STEP(ADSM_READ_ONLY),						\
		[ADSM_EVENT_CALL_INOUT]	= ADSM_STEP(ADSM_INVALID),						\
		[ADSM_EVENT_CALL_OUT]	= ADSM_STEP(ADSM_INVALID),						\
		[ADSM_EVENT_SYNC]	= ADSM_STEP(ADSM_READ_ONLY),						\
	},													\
	[ADSM_DIRTY] = {											\
		[ADSM_EVENT_READ]	= ADSM_STEP(ADSM_DIRTY),						\
		[ADSM_EVENT_WRITE]	= ADSM_STEP(ADSM_DIRTY),						\
		[ADSM_EVENT_OVERWRITE]	= ADSM_STEP(ADSM_DIRTY),						\
		[ADSM_EVENT_SEND]	= ADSM_STEP_AFTER(ADSM_READ_ONLY, ADSM_TO_DEVICE, ADSM_WAIT_NONE),	\
		[ADSM_EVENT_CALL_IN]	= ADSM_STEP_AFTER(ADSM_READ_ONLY, ADSM_TO_DEVICE, ADSM_WAIT_NONE),	\
		[ADSM_EVENT_CALL_INOUT]	= ADSM_STEP_AFTER(ADSM_INVALID, ADSM_TO_DEVICE, ADSM_WAIT_NONE),	\
		[ADSM_EVENT_CALL_OUT]	= ADSM_STEP(ADSM_INVALID),						\
		[ADSM_EVENT_SYNC]	= ADSM_STEP(ADSM_DIRTY),						\
	},													\
}

/* By name; NULL when there is none. */
const struct adsm_protocol *adsm_protocol_find(const char *name);
/* One more, before the library starts, not by threads at once: -EINVAL where it does not fulfil the contract, -EEXIST
 * where there is one of its name, -ENOSPC where there are too many. */
int adsm_protocol_add(const struct adsm_protocol *protocol);
/* The first rule of the contract that @protocol breaks, in words; NULL: it keeps all. */
const char *adsm_protocol_broken(const struct adsm_protocol *protocol);

/* The policies of a home: one for each protocol. */
struct adsm_policies {
	_Alignas(16) unsigned char of[ADSM_PROTOCOLS_MAX][ADSM_POLICY_SIZE];
};

void adsm_policies_init(struct adsm_policies *policies);
void *adsm_policy_of(struct adsm_policies *policies, const struct adsm_protocol *protocol);
/* The next block to send early by any protocol's policy, or NULL. */
struct adsm_block *adsm_policy_victim(const struct adsm_policies *policies, bool started);

/* Stubs for protocols that have no policy. */
void adsm_policy_no_init(void *policy);
void adsm_policy_no_object(void *policy, int change);
void adsm_policy_no_block(void *policy, struct adsm_block *block, size_t size);
struct adsm_block *adsm_policy_no_victim(const void *policy, bool started);
size_t adsm_policy_no_window(const void *policy);

#define ADSM_NO_POLICY \
	.init = adsm_policy_no_init, .object = adsm_policy_no_object, .object_dirty = adsm_policy_no_object, \
	.dirtied = adsm_policy_no_block, .cleaned = adsm_policy_no_block, .victim = adsm_policy_no_victim, \
	.window = adsm_policy_no_window

#endif
