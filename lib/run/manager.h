/* SPDX-License-Identifier: MIT */
/*
 * manager.h - the library as a whole: start and stop, objects from outside, faults, calls. Entered by the
 * public API, by the fault engine and by interposed functions; returns negative errnos, sentences set.
 */
#ifndef ADSM_MANAGER_H
#define ADSM_MANAGER_H

#include "adsm.h"
#include "core/block.h"
#include "run/kernel.h"
#include "core/object.h"

/* ---- life */

/* Start where needed. Every public call that needs the library goes through here first: one load. */
int adsm_start(void);
extern unsigned adsm_epoch;	/* counts the starts */
int adsm_stop(void);
bool adsm_started(void);
bool adsm_is_child(void);	/* of a fork: nothing works there */

/* The home of a driver's context; NULL where none has it. */
struct adsm_home *adsm_home_of(void *context);
/* The same, opened where there is none: the library starts with it, or goes on with one device more. */
int adsm_start_with(const char *backend, void *context, void *device, struct adsm_home **ret_home);

/* The device of this thread, or the one of an index. */
int adsm_home_get(int index, struct adsm_home **ret_home);
int adsm_home_set(int index);

/* ---- the lock, from ordinary code: signals are blocked by adsm_os_signals_block() while it is held */

void adsm_home_lock(struct adsm_home *home, struct adsm_sigset *ret_old);
void adsm_home_unlock(struct adsm_home *home, const struct adsm_sigset *old);
/* As adsm_object_lock(); on NULL the signals are as they were. */
struct adsm_object *adsm_object_enter(const void *p, struct adsm_sigset *ret_old);

/* The same for a range, @size bytes inside one shared object; on NULL the sentence is set: -EINVAL. */
struct adsm_object *adsm_enter_range(const void *p, size_t size, struct adsm_sigset *ret_old);

/* ---- calls that run (lock held; wait gives it away and takes it again) */

/* Take note of calls that have ended. */
void adsm_retire(struct adsm_home *home);
/* Wait until the calls up to @seq have ended, however they ended. Negative: could not wait. */
int adsm_wait_call(struct adsm_home *home, uint64_t seq);
/* The same until @until_ns at most, and without asking the backend: true when they have ended. */
bool adsm_wait_call_until(struct adsm_home *home, uint64_t seq, uint64_t until_ns);
/* Lock held: give it away, wait for a call as a touch does, which later calls let pass, and take it again. */
int adsm_wait_unlocked(struct adsm_home *home, uint64_t seq, struct adsm_sigset *old);
/* Let one event happen to one block, whatever it has to wait for; lock held, in ordinary code. */
int adsm_block_ready(struct adsm_object *object, uint32_t b, enum adsm_block_event event, bool open,
		     struct adsm_sigset *old);
/* The same for a run; only the first block is waited for, so the others must be like it and not have to wait. */
int adsm_blocks_ready(struct adsm_object *object, uint32_t b, uint32_t n, enum adsm_block_event event, bool open,
		      struct adsm_sigset *old);

/* ---- what the API does */

int adsm_object_alloc(struct adsm_home *home, size_t size, const struct adsm_object_options *options,
		      void **ret_address);
enum adsm_maker { ADSM_MAKER_ALLOC, ADSM_MAKER_DEVICE_ALLOC, ADSM_MAKER_FOREIGN };
/*
 * @maker: what it has to have been made by. @wait: for the calls that use it; else the caller knows that none does.
 * @driver_free: as adsm_object_destroy() has it, NULL elsewhere. Returns 1 where the program's own memory is kept.
 */
int adsm_object_free(void *p, enum adsm_maker maker, bool wait, adsm_kept_free *driver_free);
/* @where: code address of who asks. */
int adsm_call(adsmKernel *kernel, adsmDim grid, adsmDim block, const adsmArg *args, size_t n, const void *where);
/*
 * Has the device begin something, with its home's lock held. 0 with its event (seq 0: nobody can know when it ends),
 * or 1 or a negative errno: it has not begun. @ret_event NULL: nobody asks for that yet (gather.h).
 */
typedef int adsm_starter(void *arg, struct adsm_device_event *ret_event);
/* In this thread that goes on; a touch of the home's objects would wait for itself. */
extern _Thread_local const struct adsm_home *adsm_enqueuing;
struct adsm_foreign_use;
/*
 * A call that the program makes itself, by @start, on @queue: returns what that does, or a negative errno before it.
 * @gather: it may be one with others.
 */
int adsm_call_foreign(struct adsm_home *home, const struct adsm_foreign_use *uses, size_t n, adsm_starter *start,
		      void *arg, void *queue, bool gather);
int adsm_sync_foreign(struct adsm_home *home);
int adsm_sync(const void *where);
int adsm_assign(void *p, adsmKernel *kernel, int access);
/* Take the assignments of a module's kernels away: before it goes. */
void adsm_unassign_module(adsmModule *module);
/* Wait for the calls of every device: before a module goes. */
void adsm_quiesce(void);
int adsm_hold(void *p, size_t size, unsigned access, const void *where);
int adsm_unhold(void *p, size_t size);
int adsm_memcpy(void *dst, const void *src, size_t size, const void *where);
int adsm_memset(void *dst, int value, size_t size, const void *where);
/* The same for who would have had the device do it: it gets the bytes now, unless the CPU wrote their block last; and
 * of a block that only the device has, but is not wanted whole, no more than that is fetched. */
int adsm_copy_direct(void *dst, const void *src, size_t size);
int adsm_fill_direct(void *dst, int value, size_t size);
/*
 * The same for who takes them for libc's: any overlap, any thread, signal handlers too. What this cannot do, or has no
 * reason to do, @libc does on the views, with all that may happen there.
 */
void adsm_move_shared(void *dst, const void *src, size_t size, void *(*libc)(void *, const void *, size_t),
		      const void *where);
void adsm_set_shared(void *dst, int value, size_t size, void *(*libc)(void *, int, size_t), const void *where);
int adsm_copy_explicit(void *dst, const void *src, size_t size, enum adsm_direction direction,
		       adsmEvent *ret_event);
int adsm_copy_device(void *dst, const void *src, size_t size);
int adsm_fill_device(void *dst, int value, size_t size);
int adsm_event_wait(adsmEvent event);
/* Wait for the explicit asynchronous copies of a device. No lock held. */
int adsm_wait_copies(struct adsm_home *home);

#endif
