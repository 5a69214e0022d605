/* SPDX-License-Identifier: MIT */
/*
 * block.h - everything that changes a block: its state, what its view permits, and where its bytes are.
 *
 * Two orders hold everywhere: fill, then open; close, then drain. The library reads and writes objects
 * through the alias only.
 */
#ifndef ADSM_BLOCK_H
#define ADSM_BLOCK_H

#include "core/input.h"
#include "core/object.h"
#include "engine/engine.h"


/* Set while an access of this thread needs more blocks at once than may be Dirty: none is closed for it. */
extern _Thread_local bool adsm_spare;

/* ---- all of the following: home->lock held, signals blocked by adsm_os_signals_block(), unless said otherwise */

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
 * A reader's window ends before @b: in a sequence whose windows have become half as large as they may, let the evictor
 * fetch the next one while it reads; its blocks are busy from now on.
 */
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

/* Shut a view for good: what is lost must not be read as if it were there. */
void adsm_object_close_view(struct adsm_object *object);

/* Forget all blocks of an object that is being freed: its queues must not know them. */
void adsm_object_drop(struct adsm_object *object);

/* In the paper's exact mode: close what is over the rolling size, and queue it. */
void adsm_evict_now(struct adsm_home *home);
/* Send early what the policy says is due. @started as protocol.h has it. True: something was sent. */
bool adsm_evict_batch(struct adsm_home *home, bool started);
/* Copy one block of home->sends; false: there was none. */
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

#endif
