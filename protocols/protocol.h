/* SPDX-License-Identifier: MIT */
/*
 * protocol.h - the contract of coherence protocols: a table of states and events, and a policy.
 *
 * A protocol knows blocks, states and events; never a device. The table says what a block becomes and
 * which way its bytes move first (paper §4.3, Figure 6). The policy hooks see each block that becomes
 * Dirty or stops being so, and name the block to send early. All run under the lock of the blocks' home
 * device, some in the fault handler: no allocation, no waiting.
 */
#ifndef ADSM_PROTOCOL_H
#define ADSM_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ADSM_PROTOCOL_VERSION 2

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

enum adsm_direction { ADSM_NO_TRANSFER, ADSM_TO_HOST, ADSM_TO_DEVICE };

struct adsm_step {
	uint8_t next;			/* enum adsm_state */
	uint8_t transfer;		/* enum adsm_direction, before the state changes */
};

enum {
	ADSM_BLOCK_BUSY = 1,		/* being fetched or filled, or about to be: whoever wants it waits */
	ADSM_BLOCK_QUEUED = 2,		/* closed and ReadOnly, its copy to the device still to be made */
	ADSM_BLOCK_SENDING = 4,		/* that copy is being made: a second one waits, or it could come first */
	ADSM_BLOCK_BACKED = 8,		/* the host has its pages */
	ADSM_BLOCK_MAPPED = 16,		/* and the view's page table knows them */
	ADSM_BLOCK_HOLED = 32,		/* a fetch left out the bytes of inputs in progress: no send may take them */
	ADSM_BLOCK_EARLY = 64,		/* sent early, and since then neither written nor taken by a call */
};

struct adsm_object;

struct adsm_block {
	struct adsm_block *older, *newer; /* in the policy's queue while Dirty, in the send queue while QUEUED */
	struct adsm_object *object;	/* whose it is: nothing a protocol looks into */
	uint16_t holds;			/* adsmHold()s on it: not to be evicted */
	uint8_t state : 2;		/* enum adsm_state */
	uint8_t view : 2;		/* enum adsm_prot: what the application's mapping permits */
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

/* Per device: what the rolling protocol keeps. */
struct adsm_policy {
	struct adsm_queue dirty;	/* the Dirty blocks of rolling objects */
	size_t dirty_bytes;
	size_t n_objects, n_dirty;	/* live rolling objects; those of them with Dirty blocks */
	size_t fixed_limit;		/* blocks that may be Dirty; 0: two per live object */
	size_t keep_bytes;		/* per object with Dirty blocks: not sent early below this many bytes in all */
	size_t batch_bytes;		/* sending early starts this far above; 0: at once, block by block */
};

struct adsm_protocol {
	uint32_t version;		/* ADSM_PROTOCOL_VERSION */
	const char *name;
	bool whole_object;		/* one block per object */
	bool detects;			/* the view follows the state; otherwise it is always open */
	enum adsm_state initial;
	struct adsm_step steps[ADSM_N_STATES][ADSM_N_EVENTS];
	/* An object comes (+1) or goes (-1). */
	void (*object)(struct adsm_policy *policy, int change);
	/* One has Dirty blocks now (+1), has none left (-1). */
	void (*object_dirty)(struct adsm_policy *policy, int change);
	/* A block of @size bytes became Dirty; is no longer Dirty. */
	void (*dirtied)(struct adsm_policy *policy, struct adsm_block *block, size_t size);
	void (*cleaned)(struct adsm_policy *policy, struct adsm_block *block, size_t size);
	/* The oldest block to send early, or NULL when none is due. @started: a batch is under way, so blocks
	 * are due down to the limit, no longer only above it by a batch. */
	struct adsm_block *(*victim)(const struct adsm_policy *policy, bool started);
};

extern const struct adsm_protocol adsm_protocol_batch, adsm_protocol_lazy, adsm_protocol_rolling;

/* What lazy and rolling share: bytes move when an access or a call needs them, and only then. */
#define ADSM_STEPS_ON_ACCESS {								\
	[ADSM_INVALID] = {								\
		[ADSM_EVENT_READ]	= { ADSM_READ_ONLY, ADSM_TO_HOST },		\
		[ADSM_EVENT_WRITE]	= { ADSM_DIRTY, ADSM_TO_HOST },			\
		[ADSM_EVENT_OVERWRITE]	= { ADSM_DIRTY, ADSM_NO_TRANSFER },		\
		[ADSM_EVENT_SEND]	= { ADSM_INVALID, ADSM_NO_TRANSFER },		\
		[ADSM_EVENT_CALL_IN]	= { ADSM_INVALID, ADSM_NO_TRANSFER },		\
		[ADSM_EVENT_CALL_INOUT]	= { ADSM_INVALID, ADSM_NO_TRANSFER },		\
		[ADSM_EVENT_CALL_OUT]	= { ADSM_INVALID, ADSM_NO_TRANSFER },		\
		[ADSM_EVENT_SYNC]	= { ADSM_INVALID, ADSM_NO_TRANSFER },		\
	},										\
	[ADSM_READ_ONLY] = {								\
		[ADSM_EVENT_READ]	= { ADSM_READ_ONLY, ADSM_NO_TRANSFER },		\
		[ADSM_EVENT_WRITE]	= { ADSM_DIRTY, ADSM_NO_TRANSFER },		\
		[ADSM_EVENT_OVERWRITE]	= { ADSM_DIRTY, ADSM_NO_TRANSFER },		\
		[ADSM_EVENT_SEND]	= { ADSM_READ_ONLY, ADSM_NO_TRANSFER },		\
		[ADSM_EVENT_CALL_IN]	= { ADSM_READ_ONLY, ADSM_NO_TRANSFER },		\
		[ADSM_EVENT_CALL_INOUT]	= { ADSM_INVALID, ADSM_NO_TRANSFER },		\
		[ADSM_EVENT_CALL_OUT]	= { ADSM_INVALID, ADSM_NO_TRANSFER },		\
		[ADSM_EVENT_SYNC]	= { ADSM_READ_ONLY, ADSM_NO_TRANSFER },		\
	},										\
	[ADSM_DIRTY] = {								\
		[ADSM_EVENT_READ]	= { ADSM_DIRTY, ADSM_NO_TRANSFER },		\
		[ADSM_EVENT_WRITE]	= { ADSM_DIRTY, ADSM_NO_TRANSFER },		\
		[ADSM_EVENT_OVERWRITE]	= { ADSM_DIRTY, ADSM_NO_TRANSFER },		\
		[ADSM_EVENT_SEND]	= { ADSM_READ_ONLY, ADSM_TO_DEVICE },		\
		[ADSM_EVENT_CALL_IN]	= { ADSM_READ_ONLY, ADSM_TO_DEVICE },		\
		[ADSM_EVENT_CALL_INOUT]	= { ADSM_INVALID, ADSM_TO_DEVICE },		\
		[ADSM_EVENT_CALL_OUT]	= { ADSM_INVALID, ADSM_NO_TRANSFER },		\
		[ADSM_EVENT_SYNC]	= { ADSM_DIRTY, ADSM_NO_TRANSFER },		\
	},										\
}

/* By name; NULL when there is none. */
const struct adsm_protocol *adsm_protocol_find(const char *name);

/* The next block to send early by any protocol's policy, or NULL. */
struct adsm_block *adsm_policy_victim(const struct adsm_policy *policy, bool started);

/* Stubs for protocols that have no policy. */
void adsm_policy_no_object(struct adsm_policy *policy, int change);
void adsm_policy_no_block(struct adsm_policy *policy, struct adsm_block *block, size_t size);
struct adsm_block *adsm_policy_no_victim(const struct adsm_policy *policy, bool started);

#endif
