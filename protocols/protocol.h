/* SPDX-License-Identifier: MIT */
/*
 * protocol.h - the contract of coherence protocols: a table of states and events, and a policy.
 *
 * A protocol knows blocks, states and events; never a device. The table says what a block becomes, which calls that
 * waits for, and which way its bytes move first (paper §4.3, Figure 6). The policy's hooks see each block that comes
 * to have bytes which the device lacks, or stops having them, and name the block to send early; they are told of faults
 * and calls, and name blocks to fetch after a sync, before they are touched. All run under the lock of the blocks' home
 * device, some in the fault handler: no allocation, no waiting.
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

#define ADSM_PROTOCOL_VERSION 3
#define ADSM_PROTOCOLS_MAX 8
#define ADSM_STATES_MAX 4
#define ADSM_POLICY_SIZE 192		/* bytes that a policy may have */
#define ADSM_NOTES_SIZE 16		/* and those for each object */

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

/* What a policy notes of one object: so many zeroes, when it comes. */
struct adsm_notes {
	_Alignas(8) unsigned char of[ADSM_NOTES_SIZE];
};

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
	void (*object)(void *policy, struct adsm_notes *notes, int change);
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
	/* The CPU's access to a block faults. */
	void (*touched)(struct adsm_notes *notes, struct adsm_block *block, bool write);
	/* A call has been launched that may write an object, or any: NULL. @told: it will be known when it has ended,
	 * and a fetch by then costs less than one in a fault. */
	void (*written)(void *policy, struct adsm_notes *notes, bool told);
	/* The block of an object to be fetched after the next call that may write it, or NULL. */
	struct adsm_block *(*expected)(const struct adsm_notes *notes);
	/* After a sync, until it returns NULL: the next block to be fetched, and how far its view is to be opened. */
	struct adsm_block *(*synced)(void *policy, uint8_t *ret_view);
};

/* Does the view follow the state? Otherwise it is always open, and accesses are not seen. */
static inline bool adsm_protocol_detects(const struct adsm_protocol *protocol)
{
	return protocol->permits[protocol->steps[protocol->initial][ADSM_EVENT_CALL_OUT].next] != ADSM_PERMIT_WRITE;
}

/* In tables: only the state changes; bytes move first, or something waits. */
#define ADSM_STEP(next) { next, ADSM_NO_TRANSFER, ADSM_WAIT_NONE, ADSM_RESULT_STEP }
#define ADSM_STEP_AFTER(next, transfer, wait) { next, transfer, wait, ADSM_RESULT_STEP }

/* One more, before the library starts, not by threads at once: -EINVAL where it does not fulfil the contract, -EEXIST
 * where there is one of its name, -ENOSPC where there are too many. */
int adsm_protocol_add(const struct adsm_protocol *protocol);
/* The first rule of the contract that @protocol breaks, in words; NULL: it keeps all. */
const char *adsm_protocol_broken(const struct adsm_protocol *protocol);

/* Stubs for protocols that have no policy. */
void adsm_policy_no_init(void *policy);
void adsm_policy_no_object(void *policy, struct adsm_notes *notes, int change);
void adsm_policy_no_object_dirty(void *policy, int change);
void adsm_policy_no_block(void *policy, struct adsm_block *block, size_t size);
struct adsm_block *adsm_policy_no_victim(const void *policy, bool started);
size_t adsm_policy_no_window(const void *policy);
void adsm_policy_no_touched(struct adsm_notes *notes, struct adsm_block *block, bool write);
void adsm_policy_no_written(void *policy, struct adsm_notes *notes, bool told);
struct adsm_block *adsm_policy_no_expected(const struct adsm_notes *notes);
struct adsm_block *adsm_policy_no_synced(void *policy, uint8_t *ret_view);

/* It sends nothing early, sets no limits; it expects nothing. */
#define ADSM_NO_EVICTION \
	.init = adsm_policy_no_init, .object_dirty = adsm_policy_no_object_dirty, .dirtied = adsm_policy_no_block, \
	.cleaned = adsm_policy_no_block, .victim = adsm_policy_no_victim, .window = adsm_policy_no_window
#define ADSM_NO_EXPECTATION \
	.object = adsm_policy_no_object, .touched = adsm_policy_no_touched, .written = adsm_policy_no_written, \
	.expected = adsm_policy_no_expected, .synced = adsm_policy_no_synced
#define ADSM_NO_POLICY ADSM_NO_EVICTION, ADSM_NO_EXPECTATION

#endif
