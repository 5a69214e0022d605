/* SPDX-License-Identifier: MIT */
/*
 * protocol.h - the contract of coherence protocols: a table of states and events, and a policy.
 *
 * A protocol knows blocks, states and events. It does not know devices.
 *
 * The table has a step for each state and event (paper, section 4.3 and Figure 6). The step says three things:
 * - the calls that must end first
 * - the direction of the transfer that follows
 * - the state that the block has afterwards
 *
 * The policy is a set of functions. The library calls them when a block gets bytes that the device lacks, when a block
 * no longer has such bytes, on faults, and on calls. The policy chooses the blocks to send early, and the blocks to
 * fetch after a sync before the CPU touches them. All of these functions run under the lock of the blocks' home, some
 * of them in the fault handler. They must not allocate memory and must not wait.
 *
 * A protocol names its states itself. The library asks the table three questions about a state:
 * - Does the state send? Yes, if the event SEND moves bytes to the device.
 * - Does the state lack bytes? Yes, if the event READ moves bytes to the host.
 * - What may views permit in this state?
 *
 * adsm_protocol_broken() checks the rules that a table must keep. The most important ones:
 * - Only accesses of the CPU (READ, WRITE, OVERWRITE) may be refused. Only they and SYNC may wait.
 * - A step that fetches waits at least for the calls that may write. A step to a state that sends waits at least for
 *   the calls that use the object.
 * - After a kernel that may write the block, the block lacks bytes. Only a fetch or an OVERWRITE ends that.
 * - Bytes that only the CPU has are sent before the block leaves the states that send, except for CALL_OUT.
 * - A view is closed before a send, and before a call that may write.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ADSM_PROTOCOL_VERSION 3
#define ADSM_PROTOCOLS_MAX 8
#define ADSM_STATES_MAX 4
#define ADSM_POLICY_SIZE 192		/* maximum bytes of a policy */
#define ADSM_NOTES_SIZE 16		/* bytes that a policy has for each object */

enum adsm_block_event {
	ADSM_EVENT_READ,		/* the CPU reads */
	ADSM_EVENT_WRITE,		/* the CPU writes a part of the block */
	ADSM_EVENT_OVERWRITE,		/* the CPU writes all of the block */
	ADSM_EVENT_SEND,		/* the library sends the block: early for the policy, or in a flush */
	ADSM_EVENT_CALL_IN,		/* a kernel starts that only reads the block */
	ADSM_EVENT_CALL_INOUT,		/* a kernel starts that may write the block */
	ADSM_EVENT_CALL_OUT,		/* a kernel starts that overwrites the block; a fill or copy on the device */
	ADSM_EVENT_SYNC,		/* the calls that may write the block have ended */
	ADSM_N_EVENTS
};

enum adsm_permit { ADSM_PERMIT_NONE, ADSM_PERMIT_READ, ADSM_PERMIT_WRITE };

enum adsm_direction { ADSM_NO_TRANSFER, ADSM_TO_HOST, ADSM_TO_DEVICE };

/* The calls that must end before the step. */
enum adsm_wait {
	ADSM_WAIT_NONE,
	ADSM_WAIT_WRITERS,		/* the calls that may write the object */
	ADSM_WAIT_USERS,		/* the calls that use the object */
	ADSM_WAIT_UNIT,			/* all calls of the object's device */
};

enum adsm_result { ADSM_RESULT_STEP, ADSM_RESULT_REFUSE };

struct adsm_step {
	uint8_t next;			/* state */
	uint8_t transfer;		/* enum adsm_direction, before the state changes */
	uint8_t wait;			/* enum adsm_wait, before the bytes move */
	uint8_t result;			/* enum adsm_result: a protocol may refuse accesses of the CPU */
};

enum {
	ADSM_BLOCK_BUSY = 1,		/* being fetched or filled, or about to be: other threads wait */
	ADSM_BLOCK_QUEUED = 2,		/* not writable and not Dirty; its copy to the device has not begun */
	ADSM_BLOCK_SENDING = 4,		/* that copy runs: a second copy waits, so that it cannot arrive first */
	ADSM_BLOCK_BACKED = 8,		/* the host has allocated its pages */
	ADSM_BLOCK_MAPPED = 16,		/* and the page table of the view has them */
	ADSM_BLOCK_HOLED = 32,		/* a fetch omitted the bytes of inputs in progress: sends omit them too */
	ADSM_BLOCK_EARLY = 64,		/* sent early, and since then neither written nor used by a call */
};

struct adsm_blocks;

struct adsm_block {
	struct adsm_block *older, *newer; /* in the policy's queue until sent, in the home's while QUEUED */
	struct adsm_blocks *owner;	/* the blocks of the object; protocols do not use it */
	uint16_t holds;			/* number of adsmHold()s: a held block is not evicted */
	uint8_t state : 2;
	uint8_t view : 2;		/* enum adsm_permit: what the view permits */
	uint8_t read_mostly : 1;	/* adsmAdvise(): the CPU mostly reads it */
	uint8_t flags;			/* ADSM_BLOCK_* */
	uint32_t holes_until;		/* HOLED: the fetch omitted inputs of the object up to this number */
};

/* A queue of blocks, oldest first. */
struct adsm_queue {
	struct adsm_block *oldest, *newest;
	size_t n;
};

void adsm_queue_push(struct adsm_queue *queue, struct adsm_block *block);
void adsm_queue_remove(struct adsm_queue *queue, struct adsm_block *block);

/* A policy's data of one object. All bytes are 0 when the object is made. */
struct adsm_notes {
	_Alignas(8) unsigned char of[ADSM_NOTES_SIZE];
};

struct adsm_protocol {
	uint32_t version;		/* ADSM_PROTOCOL_VERSION */
	const char *name;
	bool whole_object;		/* the object is one block */
	uint8_t n_states, initial;
	uint8_t permits[ADSM_STATES_MAX];	/* enum adsm_permit: the most that the view permits */
	struct adsm_step steps[ADSM_STATES_MAX][ADSM_N_EVENTS];
	/* Each home device has one policy of this size. All bytes are 0, which must mean "no limits", until init(). */
	size_t policy_size;
	/* The options are known. */
	void (*init)(void *policy);
	/* An object was made (@change is 1) or ends (-1). */
	void (*object)(void *policy, struct adsm_notes *notes, int change);
	/* An object has its first block to send (@change is 1), or has none left (-1). */
	void (*object_dirty)(void *policy, int change);
	/* A block of @size bytes enters a state that sends. */
	void (*dirtied)(void *policy, struct adsm_block *block, size_t size);
	/* A block of @size bytes has left such a state. */
	void (*cleaned)(void *policy, struct adsm_block *block, size_t size);
	/*
	 * Return the oldest block to send early, or NULL if no block is due.
	 *
	 * @started: true: a batch is being sent, and blocks are due until the limit is reached. false: blocks are due
	 *           only if the limit is exceeded by a whole batch.
	 */
	struct adsm_block *(*victim)(const void *policy, bool started);
	/* Return the number of blocks that one fault may open for writing. */
	size_t (*window)(const void *policy);
	/* The CPU's access to a block faulted. */
	void (*touched)(struct adsm_notes *notes, struct adsm_block *block, bool write);
	/*
	 * A call was launched.
	 *
	 * @notes: of an object that the call may write; NULL: the call may write any object.
	 * @told: true: the library will know when the call has ended, and a fetch then costs less than a fetch in a
	 *        fault.
	 */
	void (*written)(void *policy, struct adsm_notes *notes, bool told);
	/* Return the block to fetch after the next call that may write the object, or NULL. */
	struct adsm_block *(*expected)(const struct adsm_notes *notes);
	/*
	 * Return the next block to fetch after a sync, or NULL. The library calls the function until it returns NULL.
	 *
	 * @ret_view: enum adsm_permit: what the block's view is to permit after the fetch.
	 */
	struct adsm_block *(*synced)(void *policy, uint8_t *ret_view);
};

/* Return whether the view follows the state. If not, it is always open, and the library does not detect accesses. */
static inline bool adsm_protocol_detects(const struct adsm_protocol *protocol)
{
	return protocol->permits[protocol->steps[protocol->initial][ADSM_EVENT_CALL_OUT].next] != ADSM_PERMIT_WRITE;
}

/* Steps of a table. ADSM_STEP: only the state changes. ADSM_STEP_AFTER: calls end or bytes move first. */
#define ADSM_STEP(next) { next, ADSM_NO_TRANSFER, ADSM_WAIT_NONE, ADSM_RESULT_STEP }
#define ADSM_STEP_AFTER(next, transfer, wait) { next, transfer, wait, ADSM_RESULT_STEP }

/*
 * Add a protocol. Call it before the library starts, from one thread at a time.
 *
 * Returns 0 or:
 *   -EINVAL   @protocol breaks the contract
 *   -EEXIST   a protocol of this name exists
 *   -ENOSPC   there are too many protocols
 */
int adsm_protocol_add(const struct adsm_protocol *protocol);
/* Return a sentence on the first rule of the contract that @protocol breaks, or NULL. */
const char *adsm_protocol_broken(const struct adsm_protocol *protocol);

/* Functions for protocols without a policy. */
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

/* For a policy that sends nothing early and sets no limits; for a policy that expects no reads; for both. */
#define ADSM_NO_EVICTION \
	.init = adsm_policy_no_init, .object_dirty = adsm_policy_no_object_dirty, .dirtied = adsm_policy_no_block, \
	.cleaned = adsm_policy_no_block, .victim = adsm_policy_no_victim, .window = adsm_policy_no_window
#define ADSM_NO_EXPECTATION \
	.object = adsm_policy_no_object, .touched = adsm_policy_no_touched, .written = adsm_policy_no_written, \
	.expected = adsm_policy_no_expected, .synced = adsm_policy_no_synced
#define ADSM_NO_POLICY ADSM_NO_EVICTION, ADSM_NO_EXPECTATION
