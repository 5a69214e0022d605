/* SPDX-License-Identifier: MIT */
/*
 * block.h - objects as runs of blocks with one home device, and everything that changes a block: its
 * state, what its view permits, and where its bytes are.
 *
 * Two orders hold everywhere: fill, then open; close, then drain. The library reads and writes objects
 * through the alias only.
 */
#ifndef ADSM_BLOCK_H
#define ADSM_BLOCK_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "adsm.h"
#include "backend.h"
#include "core/blocks.h"
#include "core/cause.h"
#include "engine/engine.h"
#include "base/os.h"
#include "protocol.h"
#include "base/stats.h"

#define ADSM_MAX_DEVICES 8
#define ADSM_PENDING_MAX 128		/* calls of one device that may be outstanding */
/* A call that fails begins anew with objects whose writes are not seen: so their part is tried again at once. */
#define ADSM_UNDETECTED_TRIES 2
#define ADSM_AHEAD_MAX 16		/* windows that may wait to be fetched ahead */
#define ADSM_GATHER_MAX 64		/* queues of the program's whose commands are one call */
#define ADSM_EXPECTED_MAX 8		/* objects of which a sync fetches what is expected to be read first */

/* The block that the CPU reads first after a call that may write the object. */
struct adsm_first_read {
	uint32_t block;
	uint8_t again;			/* so many calls in a row it has been the same */
	uint8_t writes;			/* and after so many it was written, too */
	uint8_t trust;			/* for so many more the view is opened with it, and no fault tells */
	bool seen, written;		/* since the last one */
};

struct adsm_hold {
	struct adsm_hold *next;
	uintptr_t start;
	size_t size;
};

/* Bytes of an object that someone else writes through the alias, a system call mostly: see io.c. */
struct adsm_input {
	struct adsm_input *next;	/* of the same object; of the free ones */
	struct adsm_input *next_of_io, *prev_of_io, *next_of_thread;
	_Atomic uint64_t serial;	/* another for each adsm_io_begin_input(), 0 while free */
	uintptr_t frame;		/* whose, on the stack; 0: nobody's */
	struct adsm_home *home;
	struct adsm_object *object;	/* NULL: freed meanwhile */
	uint32_t number;		/* the object's inputs, counted */
	size_t offset, size;
	size_t position;		/* how much of its io comes before it */
};

/* What happens to an object, since it was made, that may be worth a warning. */
struct adsm_habits {
	uint64_t early, again;		/* blocks sent early; of these, written again before a call took them */
	uint64_t fetches, fetched_bytes, fetch_ns;
	bool told_again, told_fetches;	/* each once */
};

struct adsm_object {
	/* Slots are never given back, so that a stale pointer can be looked at; valid while live. */
	struct adsm_home *home;
	bool live;
	bool freeing;
	bool device_only;		/* adsmDeviceAlloc(): an address and memory, no view, no blocks */
	bool adopted;			/* the program's own memory: foreign.h */
	bool assigned;			/* belongs to the kernels it was assigned to only */
	bool open;			/* in home->open */
	bool paged;			/* its view is opened page by page, so that each use is seen */
	bool chunked;			/* where the driver dictated it: its place is one of a chunk's, object.c */
	uintptr_t start;
	size_t size;			/* the caller's */
	size_t span;			/* in whole pages */
	char *alias;
	struct adsm_blocks blocks;
	struct adsm_memory *memory;
	uint64_t birth;			/* another for each object that has the slot */
	uint64_t born_seq;		/* calls up to here cannot use it */
	uint64_t use_seq, write_seq;	/* the last named call that uses it, that may write it */
	struct adsm_object *open_prev, *open_next;
	struct adsm_object *next_free;
	struct adsm_hold *holds;
	struct adsm_input *inputs;	/* in progress */
	uint32_t last_input;		/* the number of the youngest ever */
	struct adsm_first_read first_read;
	struct adsm_counters counters;
	struct adsm_habits habits;
	char name[ADSM_NAME_SIZE];
	struct adsm_record *record;	/* while somebody observes: observe.h; NULL: none */
};

struct adsm_caller;

struct adsm_call {			/* a call that has been launched and not yet been seen to end */
	uint64_t seq;
	const char *kernel;		/* "": the program's own commands */
	uint64_t thread;		/* whose sync asks how it ended; 0: none's, the program's own commands */
	struct adsm_caller *caller;	/* the same: caller.h */
	struct adsm_device_event event;	/* seq 0: it has none yet, or never will */
	int failed;			/* then: its end is not known, and will not be; 0: it gets one */
	uint64_t given_ns;		/* when it was given to the device; 0: nobody asks */
};

/* Blocks that a reader in sequence will want next; busy until the evictor, or who waits for them, has fetched them. */
struct adsm_ahead {
	struct adsm_object *object;
	uint32_t first, n;
	struct adsm_cause cause;	/* of the reader's fault */
};

/* See gather.h. */
struct adsm_gather {
	_Atomic bool open;		/* for more commands; changed with the lock */
	_Atomic uint32_t n_inside;	/* futex: threads that are giving one to the driver */
	uint64_t seq;			/* the call that stands for them, while it has no event; 0: there is none */
	_Atomic bool ending;		/* somebody is about to give it that; changed with the lock */
	_Atomic uintptr_t queues[ADSM_GATHER_MAX];	/* that have some, each plus 1; 0 behind the last */
};

/* A device and all that happens to its objects. */
struct adsm_home {
	struct adsm_lock lock;		/* everything below that says nothing else, and the objects */
	int index;
	struct adsm_device *device;
	_Atomic(void *) native_context;	/* what its driver calls it; NULL: not asked yet */
	struct adsm_mutex call_mutex;	/* not under the lock: the order of calls */
	_Atomic uint32_t tick;		/* futex: something a waiter waits for may have happened */
	_Atomic uint32_t n_waiting;	/* on tick */
	struct adsm_object *open;	/* objects with a block that is not Invalid and closed */
	struct adsm_policy policy;
	struct adsm_queue send;		/* closed blocks on their way to the device, block by block */
	struct adsm_ahead ahead[ADSM_AHEAD_MAX];	/* a ring */
	unsigned first_ahead, n_ahead;
	struct adsm_object *expected[ADSM_EXPECTED_MAX];	/* whose first reads the next sync fetches */
	unsigned n_expected;
	_Atomic unsigned n_undetected;	/* objects whose protocol sees no accesses */
	_Atomic int touching;		/* threads in a fault that wait for a call to end */
	bool send_failed;		/* the last early send failed: none until the next write */
	bool gate;			/* a call waits for quiet: accesses wait for it */

	uint64_t last_seq;		/* of the calls launched */
	uint64_t kernel_end_ns;		/* of the last that is known to have ended, where somebody asks */
	_Atomic uint64_t completed;	/* all calls up to here have ended */
	uint64_t unnamed_seq;		/* the last call that may use any object */
	uint64_t own_seq;		/* the last one of a kernel of the library's */
	struct adsm_gather gather;
	uint64_t lost_seq;		/* the first call that the loss of the device ended; 0: none */
	struct adsm_call pending[ADSM_PENDING_MAX];	/* seq % ADSM_PENDING_MAX */
	uint64_t touch_grace_ns;	/* what the next call waits for those at most; 0: the usual. With call_mutex. */
	_Atomic uint64_t calls_from_ns;	/* no call begins before: a touch wants its turn; 0: none does */
	_Atomic uint64_t async_seq[ADSM_N_QUEUES];	/* the last explicit copies, by queue; 0: none */

	/* the helper threads: see transfer.c */
	struct adsm_thread evictor, copier, watcher;
	_Atomic int copier_id;		/* of its thread; 0: it has not begun */
	_Atomic bool has_evictor;
	bool has_service;
	bool evictor_sleeps;
	_Atomic bool stop;
	_Atomic uint32_t evict_word, copy_word, watch_word;
	_Atomic(struct adsm_copy_request *) copy_requests;
};

extern struct adsm_home adsm_homes[ADSM_MAX_DEVICES];
extern _Atomic int adsm_n_homes;

extern const struct adsm_engine *adsm_engine;

/* Set while an access of this thread needs more blocks at once than may be Dirty: none is closed for it. */
extern _Thread_local bool adsm_spare;

/* ---- all of the following: home->lock held, signals blocked by adsm_os_signals_block(), unless said otherwise */

static inline size_t adsm_block_size(const struct adsm_object *object)
{
	return (size_t)1 << object->blocks.shift;
}

/* Bytes of a run that are the caller's. */
static inline size_t adsm_run_size(const struct adsm_object *object, uint32_t first, uint32_t n)
{
	size_t start = (size_t)first << object->blocks.shift;
	size_t size = (size_t)n << object->blocks.shift;

	return size < object->size - start ? size : object->size - start;
}

/* The calls that use (may write) an object have ended when home->completed reaches this. */
static inline uint64_t adsm_object_use_seq(const struct adsm_object *object)
{
	uint64_t unnamed = object->assigned ? 0 : object->home->unnamed_seq;

	if (unnamed <= object->born_seq)
		unnamed = 0;
	return unnamed > object->use_seq ? unnamed : object->use_seq;
}

static inline uint64_t adsm_object_write_seq(const struct adsm_object *object)
{
	uint64_t unnamed = object->assigned ? 0 : object->home->unnamed_seq;

	if (unnamed <= object->born_seq)
		unnamed = 0;
	return unnamed > object->write_seq ? unnamed : object->write_seq;
}

/* Did the bytes of the Invalid blocks of an object go down with the device? */
static inline bool adsm_object_lost(const struct adsm_object *object)
{
	const struct adsm_home *home = object->home;

	return home->lost_seq &&
		(!home->device->caps.survives || adsm_object_write_seq(object) >= home->lost_seq);
}

/* Look for the object of an address and lock its home; NULL (and nothing locked) when none is live there. */
struct adsm_object *adsm_object_lock(uintptr_t address);

/* The same with the home's lock already held: only an object of that home. */
struct adsm_object *adsm_object_find_locked(struct adsm_home *home, uintptr_t address);

/* Has an event to wait for another thread: a fetch, a fill, a send that must go first, a call at the gate? */
bool adsm_block_blocked(const struct adsm_object *object, uint32_t b);

/* The call an event on a block in its state has to wait for, 0 when none. */
uint64_t adsm_block_must_wait(const struct adsm_object *object, uint32_t b, enum adsm_block_event event);

/*
 * Let an event of the CPU's (READ, WRITE, OVERWRITE) happen to @n blocks from @first on, all of one state
 * and neither busy nor waiting for a call: fetch what the protocol says, change the state. @open: open the view
 * too. The lock is dropped during a fetch; the blocks are busy meanwhile.
 * Returns 0, or a negative errno: nothing has changed.
 */
int adsm_blocks_access(struct adsm_object *object, uint32_t first, uint32_t n, enum adsm_block_event event,
		       bool open);

/*
 * @input has brought @delivered bytes: it lets go of the rest, of which first comes what a fetch left out because of
 * it, and that is not other inputs'. Drops the lock meanwhile; the blocks are busy.
 */
int adsm_input_fill(struct adsm_object *object, struct adsm_input *input, size_t delivered);
/* @input has let go of these bytes: forget the holes that no other input has there. */
void adsm_input_closed(struct adsm_object *object, size_t offset, size_t size);

/* How many blocks from @b on a fault there should open: one, or more where it continues a stream. */
uint32_t adsm_block_window(struct adsm_object *object, uint32_t b, enum adsm_block_event event);

/*
 * A reader's window ends before @b: how many blocks from there on to fetch while it reads. 0, but in a sequence whose
 * windows have become half as large as they may.
 */
uint32_t adsm_block_ahead(const struct adsm_object *object, uint32_t b);
/* Let the evictor fetch them; they are busy from now on. */
void adsm_want_ahead(struct adsm_object *object, uint32_t b);

/*
 * Of the blocks that input or output of the bytes from @at to @end uses, how many from the first on take one step, were
 * there nothing to wait for; 0: the first needs none.
 */
uint32_t adsm_range_step(const struct adsm_object *object, bool input, size_t at, size_t end,
			 enum adsm_block_event *ret_event);

/* Shut the view of an object; states stay. -ENOMEM: the process has no mappings left. */
int adsm_object_close(struct adsm_object *object);
/*
 * The process has no mappings left (vm.max_map_count): shut what may be shut, of other homes too. The lock is taken,
 * so that the caller must not have it.
 */
void adsm_home_recover(struct adsm_home *home);
/* Open or close pages that are no object's yet, or no longer; without the lock, likewise. */
int adsm_home_protect(struct adsm_home *home, uintptr_t start, size_t size, enum adsm_prot prot);
/* Shut the views of all open objects an unnamed call may use that lie side by side, with one call for each run
 * of them. Best effort: adsm_object_close() does the rest. */
void adsm_close_neighbours(struct adsm_home *home);
/* Send the Dirty blocks of an object. Drops the lock while bytes move; -EBUSY when it was held meanwhile. */
int adsm_object_flush(struct adsm_object *object);

/* A call has been launched that does this to an object, closed unless it only reads: states change. */
void adsm_object_called(struct adsm_object *object, enum adsm_block_event event);

/* The CPU may have written the object, who knows: what is ReadOnly becomes Dirty. */
void adsm_object_may_be_written(struct adsm_object *object);

/* A sync: the protocol fetches what it wants back. */
int adsm_object_sync(struct adsm_object *object);

/* Whole blocks get new contents on the device by @fill; they are busy meanwhile and then Invalid. */
int adsm_blocks_device_write(struct adsm_object *object, uint32_t first, uint32_t n,
			     int (*fill)(void *arg), void *arg);

/* Wait for something to change: drops the lock, sleeps until home->tick moves, takes the lock again. */
void adsm_home_wait(struct adsm_home *home);
void adsm_home_notify(struct adsm_home *home);

/* Shut a view for good: what is lost must not be read as if it were there. */
void adsm_object_close_view(struct adsm_object *object);

/* Put an object on its home's list of open ones, take it off. */
void adsm_object_mark_open(struct adsm_object *object);
void adsm_object_mark_closed(struct adsm_object *object);

/* Forget all blocks of an object that is being freed: its queues must not know them. */
void adsm_object_drop(struct adsm_object *object);

/* In the paper's exact mode: close what is over the rolling size, and queue it. */
void adsm_evict_now(struct adsm_home *home);
/* Send early what the policy says is due. @started as protocol.h has it. True: something was sent. */
bool adsm_evict_batch(struct adsm_home *home, bool started);
/* Copy one block of home->send; false: there was none. */
bool adsm_send_queued(struct adsm_home *home);
/* A fault reads, or writes, block @b. */
void adsm_note_fault(struct adsm_object *object, uint32_t b, bool write);
/* A call has been launched that may write an object. @told: whatever writes it has ended when the call has. */
void adsm_note_written(struct adsm_object *object, bool told);
/* Is it known what will be read first after the next call that may write it? adsm_fetch_expected() fetches that. */
bool adsm_expects_read(const struct adsm_object *object);
/* Once calls have ended, and outside faults: fetch what is likely to be read next. Drops the lock meanwhile. */
void adsm_fetch_expected(struct adsm_home *home);
/* Fetch one window that was wanted; false: there was none. */
bool adsm_fetch_ahead(struct adsm_home *home);
/* Is a batch due, a block queued, or a window wanted? */
bool adsm_evict_due(const struct adsm_home *home);

#endif
