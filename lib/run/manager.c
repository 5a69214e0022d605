/* SPDX-License-Identifier: MIT */
/*
 * manager.c - start and stop, the fault path, waiting for calls, allocation, holds.
 *
 * Locks, outermost first; none is taken while one further down is held:
 *   start_mutex         starting and stopping
 *   home->call_mutex    one call of a device is being entered: the order of calls
 *   object.c's mutex    slots, arena ranges
 *   kernel.c's mutex    modules, assignments
 *   home->lock          states, views, queues, pending calls; the only one the fault path takes, held only
 *                       with signals blocked by adsm_os_signals_block(), never across a wait for a kernel, a
 *                       system call of the application's or a callback
 *
 * A thread that has any of them, or is in a driver, cannot be cancelled: adsm_mutex_lock(), adsm_os_signals_block().
 */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/arena.h"
#include "start/at_exit.h"
#include "run/caller.h"
#include "run/gather.h"
#include "core/index.h"
#include "run/inside.h"
#include "run/io.h"
#include "base/log.h"
#include "run/manager.h"
#include "observe/observe.h"
#include "base/options.h"
#include "observe/trace.h"
#include "core/transfer.h"

#define SPURIOUS_MAX 64		/* a fault that the view permits, again and again: somebody else's */
#define TURNS_MAX 4		/* faults of one instruction at two addresses in turn: it needs both */
#define ASK_TRIES 100		/* the backend may say so often that a call it waited for has not ended */
#define AGAIN_NS ((uint64_t)12500)	/* a touch that comes again keeps calls off so long, doubled each time */
#define AGAIN_MAX 6
#define WAIT_TRIES 3		/* a touch asks the backend so often before it gives up */

enum { STOPPED, STARTED, CHILD };

struct adsm_home adsm_homes[ADSM_MAX_DEVICES];
_Atomic int adsm_n_homes;

static struct adsm_mutex start_mutex = ADSM_MUTEX_INIT;
static _Atomic int state;
static _Atomic uint32_t *unforked;	/* 1; where the system can do that, 0 in a child that was never told */
unsigned adsm_epoch;

static _Thread_local struct {
	int device;
	struct adsm_home *touching;	/* counted in its field of that name */
	int failed_waits;
	unsigned n_spurious;
	uint32_t spurious_tick;
	uintptr_t spurious_address, spurious_instruction;
	unsigned n_turns;
	uintptr_t last_address[2], last_instruction;
	unsigned n_again;
	uintptr_t waited_address, waited_instruction;
} thread;

/* ---- the lock */

void adsm_home_lock(struct adsm_home *home, struct adsm_sigset *ret_old)
{
	adsm_os_signals_block(ret_old);
	adsm_lock(&home->lock);
}

/* Give the lock back, and wake the evictor if there is something for it to do. */
static void unlock(struct adsm_home *home)
{
	bool wake = home->evictor_sleeps && adsm_evict_due(home);

	if (wake)
		home->evictor_sleeps = false;
	adsm_unlock(&home->lock);
	if (wake)
		adsm_evictor_wake(home);
}

void adsm_home_unlock(struct adsm_home *home, const struct adsm_sigset *old)
{
	unlock(home);
	adsm_os_signals_restore(old);
}

struct adsm_object *adsm_object_enter(const void *p, struct adsm_sigset *ret_old)
{
	struct adsm_object *object;

	adsm_os_signals_block(ret_old);
	object = adsm_is_child() ? NULL : adsm_object_lock((uintptr_t)p);
	if (!object)
		adsm_os_signals_restore(ret_old);
	return object;
}

/* ---- calls that run */

/* A call has ended with @status: in order, under the lock. */
static void finish(struct adsm_home *home, const struct adsm_call *call, int status)
{
	uint64_t ns;

	if (status) {
		if (call->thread)	/* else the program asks its driver */
			adsm_caller_failed(call->caller, call->thread, home->index, status);
		if (status == -ENODEV && !home->lost_seq)
			home->lost_seq = call->seq;
	} else if (!home->device->backend->event_elapsed(home->device, call->event, &ns)) {
		adsm_note_kernel(home, call, ns);
	}
	atomic_store(&home->completed, call->seq);
	adsm_home_notify(home);
}

void adsm_retire(struct adsm_home *home)
{
	/* Where the backend may not be asked inside a fault, the watcher asks, when somebody waits. */
	if (adsm_in_fault && home->has_service)
		return;
	while (atomic_load(&home->completed) < home->last_seq) {
		uint64_t seq = atomic_load(&home->completed) + 1;
		const struct adsm_call *call = &home->pending[seq % ADSM_PENDING_MAX];
		int status = call->failed;

		if (!status && !call->event.seq)
			break;
		if (!status && home->device->backend->event_query(home->device, call->event, &status) <= 0)
			break;
		finish(home, call, status);
	}
}

/* The same where the backend may not be asked: the watcher asks, and tells. @timeout_ns 0: whenever that is. */
static void wait_told(struct adsm_home *home, uint64_t seq, uint64_t timeout_ns, bool *ret_done)
{
	struct adsm_sigset old;
	uint32_t tick;

	adsm_home_lock(home, &old);
	tick = atomic_load(&home->tick);
	*ret_done = atomic_load(&home->completed) >= seq;
	atomic_fetch_add(&home->n_waiting, 1);	/* left behind, it costs a needless wake */
	adsm_home_unlock(home, &old);
	if (!*ret_done) {
		adsm_os_poke(&home->watch_word);
		adsm_os_wait(&home->tick, tick, timeout_ns, false);
	}
	atomic_fetch_sub(&home->n_waiting, 1);
}

/* Sleep until call @seq has ended, a signal handler has run, or waiting failed. No lock held. */
static int wait_once(struct adsm_home *home, uint64_t seq, bool ask, bool *ret_done)
{
	struct adsm_sigset old;
	struct adsm_call call;
	int status, error;
	bool gathered;

	if (!ask) {
		wait_told(home, seq, 0, ret_done);
		return 0;
	}
	adsm_home_lock(home, &old);
	adsm_retire(home);
	*ret_done = atomic_load(&home->completed) >= seq;
	call = home->pending[seq % ADSM_PENDING_MAX];
	gathered = home->gather.seq && home->gather.seq <= seq;
	adsm_home_unlock(home, &old);
	if (*ret_done)
		return 0;
	/* It has to end, so it needs an event. */
	if (gathered)
		return adsm_gather_end(home);
	error = home->device->backend->event_wait(home->device, call.event, &status);
	if (error)
		return error;
	adsm_home_lock(home, &old);
	adsm_retire(home);
	if (atomic_load(&home->completed) + 1 == seq)
		finish(home, &call, status);
	*ret_done = atomic_load(&home->completed) >= seq;
	if (!*ret_done)
		call = home->pending[(atomic_load(&home->completed) + 1) % ADSM_PENDING_MAX];
	adsm_home_unlock(home, &old);
	/* One that came before may have got its event after it (gather.h), and end later. */
	return *ret_done || !call.event.seq ? 0 : home->device->backend->event_wait(home->device, call.event, &status);
}

static int wait_call(struct adsm_home *home, uint64_t seq, bool ask)
{
	uint64_t start;
	int error, tries = 0;
	bool done;

	if (atomic_load(&home->completed) >= seq)
		return 0;
	start = adsm_os_now_ns();
	do {
		error = wait_once(home, seq, ask, &done);
		/* It has ended, they say, but when asked they do not know: not for ever. */
		if (ask && !error && !done && ++tries > ASK_TRIES)
			error = -EIO;
	} while (!done && (!error || error == -EINTR));
	adsm_note_wait(home->index, start);
	if (error)
		return adsm_fail(error, "cannot wait for a call on device %d: %s", home->index,
				 adsmErrorString(error));
	return 0;
}

int adsm_wait_call(struct adsm_home *home, uint64_t seq)
{
	return wait_call(home, seq, true);
}

bool adsm_wait_call_until(struct adsm_home *home, uint64_t seq, uint64_t until_ns)
{
	bool done = atomic_load(&home->completed) >= seq;
	uint64_t now;

	while (!done && (now = adsm_os_now_ns()) < until_ns)
		wait_told(home, seq, until_ns - now, &done);
	return done;
}

/* Later calls let those pass that wait in a touch. A wait left by a jump is forgotten at the thread's next one. */
static bool start_touching(struct adsm_home *home)
{
	if (thread.touching)
		return false;	/* this is a signal handler within another wait */
	thread.touching = home;
	atomic_fetch_add(&home->touching, 1);
	return true;
}

static void stop_touching(void)
{
	struct adsm_home *home = thread.touching;
	int n = home ? atomic_load(&home->touching) : 0;

	thread.touching = NULL;
	while (n > 0 && !atomic_compare_exchange_weak(&home->touching, &n, n - 1))
		;
	if (home)
		adsm_home_notify(home);
}

int adsm_wait_unlocked(struct adsm_home *home, uint64_t seq, struct adsm_sigset *old)
{
	int in_fault = adsm_in_fault, error;
	bool started;

	/* Signal handlers run meanwhile, and may never come back. */
	adsm_in_fault = 0;
	adsm_home_unlock(home, old);
	started = start_touching(home);
	error = wait_call(home, seq, !in_fault || !home->has_service);
	adsm_home_lock(home, old);
	adsm_in_fault = in_fault;
	/* With the lock in hand: what waited is done before the next call. */
	if (started)
		stop_touching();
	return error;
}

/* The watcher thread's work, where fault handlers may not ask the backend. */
static void watch(struct adsm_home *home)
{
	while (!atomic_load(&home->stop)) {
		struct adsm_sigset old;
		uint64_t seq = 0;

		adsm_home_lock(home, &old);
		if (atomic_load(&home->completed) < home->last_seq)
			seq = atomic_load(&home->completed) + 1;
		/* One that gathers commands goes on doing so until somebody waits for it. */
		if (seq == home->gather.seq && !atomic_load(&home->n_waiting))
			seq = 0;
		adsm_home_unlock(home, &old);
		if (!seq)
			return;
		if (adsm_wait_call(home, seq))	/* an error that may pass: try again soon */
			adsm_os_wait(&home->watch_word, atomic_load(&home->watch_word), 1000000, false);
	}
}

/* ---- faults */

/* Under the interrupted code's signal mask, without a lock; may be left by siglongjmp(). */
static void wait_for_call(const struct adsm_fault *fault)
{
	struct adsm_home *home = fault->wait_device;
	uint64_t start = adsm_os_now_ns();
	bool done;
	int error;

	start_touching(home);
	error = wait_once(home, fault->wait_seq, !home->has_service, &done);
	adsm_note_wait(home->index, start);
	if (error && error != -EINTR)
		thread.failed_waits++;
	else
		thread.failed_waits = 0;
}

/* The access is permitted: another thread was faster; or nothing of ours is in its way. */
static enum adsm_fault_result spurious(const struct adsm_home *home, const struct adsm_fault *fault)
{
	uint32_t tick = atomic_load(&home->tick);

	/* Where blocks come and go, it may well happen to be open each time. */
	if (fault->address != thread.spurious_address || fault->instruction != thread.spurious_instruction ||
	    tick != thread.spurious_tick) {
		thread.spurious_address = fault->address;
		thread.spurious_instruction = fault->instruction;
		thread.spurious_tick = tick;
		thread.n_spurious = 0;
	}
	if (++thread.n_spurious < SPURIOUS_MAX)
		return ADSM_FAULT_SERVED;
	thread.n_spurious = 0;
	return ADSM_FAULT_FOREIGN;
}

/*
 * One instruction that needs two blocks, where the rolling size has room for one: opening each closes the
 * other for ever. It shows as two addresses that fault in turn, at one instruction; then both may stay.
 */
static bool straddles(const struct adsm_fault *fault)
{
	bool again = fault->instruction == thread.last_instruction && fault->address == thread.last_address[1];

	thread.n_turns = again ? thread.n_turns + 1 : 0;
	thread.last_instruction = fault->instruction;
	thread.last_address[1] = thread.last_address[0];
	thread.last_address[0] = fault->address;
	return thread.n_turns >= TURNS_MAX;
}

/*
 * A touch that has waited was served. Calls may close the block again before the instruction has run, each time: the
 * thread that makes them is woken by what is done here, and may run first. So a touch that comes again keeps the next
 * call off for a moment, a longer one each time.
 */
static void keep_calls_off(struct adsm_home *home, const struct adsm_fault *fault)
{
	bool again = fault->address == thread.waited_address && fault->instruction == thread.waited_instruction;

	thread.n_again = again && thread.n_again < AGAIN_MAX ? thread.n_again + 1 : again ? AGAIN_MAX : 0;
	thread.waited_address = fault->address;
	thread.waited_instruction = fault->instruction;
	if (thread.n_again > 1)
		atomic_store(&home->calls_from_ns, adsm_os_now_ns() + (AGAIN_NS << thread.n_again));
}

/* The device knows best what happened to it. */
static const char *reason(const struct adsm_home *home, int error)
{
	const char *how = error == -ENODEV ? atomic_load(&home->device->lost) : NULL;

	return how ? how : adsmErrorString(error);
}

static enum adsm_fault_result lost(const struct adsm_object *object, uint32_t b, const struct adsm_fault *fault,
				   const char *why, int error)
{
	if (error == -ENODEV && atomic_load(&object->home->device->lost))
		why = reason(object->home, error);
	adsm_error("%s of %p fails: block %u of the object at %p (%zu bytes): %s (error %d)",
		   fault->write ? "write" : "read", (void *)fault->address, b, (void *)object->start,
		   object->size, why, error);
	return ADSM_FAULT_LOST;
}

static enum adsm_fault_result serve(struct adsm_object *object, struct adsm_fault *fault, unsigned *ret_signals,
				    uint32_t *ret_ahead)
{
	enum adsm_block_event event = fault->write ? ADSM_EVENT_WRITE : ADSM_EVENT_READ;
	unsigned needed = fault->write ? ADSM_PROT_RW : ADSM_PROT_READ;
	struct adsm_home *home = object->home;
	uint32_t b = (uint32_t)((fault->address - object->start) >> object->blocks.shift);
	uint64_t birth = object->birth;
	uint32_t n;
	int error;

	if (object->device_only)
		return ADSM_FAULT_FOREIGN;
	if (adsm_advises(object) && adsm_advice_touch(object, fault->address, fault->write))
		return ADSM_FAULT_SERVED;
	if (!thread.touching) {	/* else it is the same signal, that has waited */
		adsm_count(&object->counters, signals, 1);
		*ret_signals = 1;
	}
	for (;;) {
		uint64_t seq;

		if (object->blocks.at[b].view >= needed)
			return spurious(home, fault);
		if (!adsm_block_blocked(object, b)) {
			seq = adsm_block_must_wait(object, b, event);
			if (!seq)
				break;
			adsm_retire(home);
			if (!adsm_block_must_wait(object, b, event))
				break;
			if (adsm_options.touch == ADSM_TOUCH_ERROR)
				return lost(object, b, fault, "a call that uses it runs, and ADSM_TOUCH=error", -EBUSY);
			if (thread.failed_waits >= WAIT_TRIES) {
				thread.failed_waits = 0;
				return lost(object, b, fault, "cannot wait for the call that uses it", -EIO);
			}
			fault->wait = wait_for_call;
			fault->wait_device = home;
			fault->wait_seq = seq;
			return ADSM_FAULT_WAIT;
		}
		/* What is waited for may be this; the evictor may be at work elsewhere. */
		if (!adsm_fetch_ahead(home))
			adsm_home_wait(home);
		if (!object->live || object->birth != birth)
			return ADSM_FAULT_FOREIGN;
	}
	if (object->blocks.at[b].state == ADSM_INVALID && adsm_object_lost(object))
		return lost(object, b, fault, "the device was lost before the call that writes it had ended",
			    -ENODEV);
	adsm_note_fault(object, b, fault->write);
	n = adsm_block_window(object, b, event);
	adsm_spare = straddles(fault);
	error = adsm_blocks_access(object, b, n, event, true);
	adsm_spare = false;
	if (error == -ENOMEM)
		return lost(object, b, fault, "the process has no memory mappings left (vm.max_map_count)", error);
	if (error)
		return lost(object, b, fault, "its transfer failed", error);
	if (!fault->write)
		adsm_want_ahead(object, b + n);
	adsm_count(&object->counters, ahead_blocks, n - 1);
	*ret_ahead = n - 1;
	thread.n_spurious = 0;
	return ADSM_FAULT_SERVED;
}

/* This thread has the lock of the object's home. */
static bool enqueues_for(uintptr_t address)
{
	const struct adsm_object *object = adsm_enqueuing ? adsm_index_find(address) : NULL;

	return object && object->home == adsm_enqueuing;
}

static _Thread_local const struct adsm_fault *fault_inside;

static void out_of_patience(void)
{
	adsm_error("%s of %p by the driver fails: its page is closed, and what opens it has waited for the driver for "
		   "%u seconds; what the driver reads and writes during a call must not be in shared memory",
		   fault_inside->write ? "write" : "read", (void *)fault_inside->address,
		   (unsigned)(ADSM_INSIDE_NS / 1000000000));
	adsm_os_die(SIGBUS);
}

static __attribute__((noinline)) enum adsm_fault_result handle_fault(struct adsm_fault *fault)
{
	uint64_t start = adsm_os_now_ns(), moved = adsm_moved_ns, spent = adsm_spent_ns(), ns;
	enum adsm_fault_result result = ADSM_FAULT_FOREIGN;
	struct adsm_object *object;
	struct adsm_cause cause;
	uint32_t ahead = 0;
	unsigned n_signals = 0;

	if (adsm_is_child() && adsm_index_find(fault->address))
		adsm_error("access to %p in the child of a fork: shared objects stay with the parent",
			   (void *)fault->address);
	if (atomic_load(&state) != STARTED)
		return ADSM_FAULT_FOREIGN;
	if (enqueues_for(fault->address)) {
		adsm_error("%s of %p fails: what the driver needs while it is given a command (a kernel's values, a "
			   "list of copies) must not be in shared memory", fault->write ? "write" : "read",
			   (void *)fault->address);
		return ADSM_FAULT_LOST;
	}
	adsm_in_fault++;
	object = adsm_object_lock(fault->address);
	if (object) {
		if (adsm_observes(~0u)) {
			cause = adsm_cause;
			adsm_set_cause_of_fault(fault);
		}
		result = serve(object, fault, &n_signals, &ahead);
		if (adsm_observes(ADSM_OBSERVE_ADVICE))
			adsm_advice_touched();
		if (result == ADSM_FAULT_SERVED && thread.touching)
			keep_calls_off(object->home, fault);
		unlock(object->home);
		ns = adsm_os_now_ns() - start;
		/* What was spent meanwhile is in it. */
		adsm_set_spent(spent + ns);
		ns -= adsm_moved_ns - moved;
		adsm_count(&object->counters, fault_ns, ns);
		if (adsm_observes(~0u)) {
			adsm_observe_fault(object, fault->address, fault->write, n_signals, ahead, start, ns);
			adsm_cause = cause;
		}
	}
	adsm_in_fault--;
	if (result != ADSM_FAULT_WAIT)
		stop_touching();
	return result;
}

/* Its locks are held: no handler of the program's runs meanwhile, and it does not go on for ever. */
static __attribute__((noinline)) enum adsm_fault_result handle_inside(struct adsm_fault *fault)
{
	const struct adsm_os_patience patience = adsm_os_patience;
	const struct adsm_fault *outer = fault_inside;
	enum adsm_fault_result result;

	fault_inside = fault;
	adsm_os_patience = (struct adsm_os_patience){ adsm_os_now_ns() + ADSM_INSIDE_NS, out_of_patience };
	while ((result = handle_fault(fault)) == ADSM_FAULT_WAIT)
		fault->wait(fault);
	adsm_os_patience = patience;
	fault_inside = outer;
	return result;
}

static enum adsm_fault_result on_fault(struct adsm_fault *fault)
{
	if (!fault->cramped)
		return adsm_inside_faults(fault) ? handle_inside(fault) : handle_fault(fault);
	return atomic_load(&state) == STARTED && adsm_is_shared((void *)fault->address) ? ADSM_FAULT_LOST :
		ADSM_FAULT_FOREIGN;
}

/* ---- start and stop */

static void report_at_exit(void)
{
	if (adsm_started())
		adsm_observe_end();
}

static void become_child(void)
{
	atomic_store(&state, CHILD);
	atomic_store(&adsm_shared_range.size, 0);
	adsm_arena_child();
	adsm_objects_child();
}

static void in_child(void)
{
	adsm_options_child();
	/* Or the thread that was starting or stopping it, and is not here, leaves it as it is. */
	bool between = pthread_mutex_trylock(&start_mutex.mutex);

	if (!between)
		pthread_mutex_unlock(&start_mutex.mutex);
	if (atomic_load(&state) == STARTED)
		adsm_trace_forget();
	if (between || atomic_load(&state) != STOPPED)
		become_child();
}

__attribute__((constructor)) static void watch_forks(void)
{
	pthread_atfork(NULL, NULL, in_child);
}

bool adsm_is_child(void)
{
	/* Made by the system call itself: seen only now. Its descriptors may have become the application's. */
	if (atomic_load_explicit(&state, memory_order_acquire) == STARTED && !atomic_load(unforked))
		become_child();
	return atomic_load(&state) == CHILD;
}

bool adsm_started(void)
{
	return !adsm_is_child() && atomic_load(&state) == STARTED;
}

static void close_homes(void)
{
	for (int i = 0; i < adsm_n_homes; i++) {
		adsm_helpers_stop(&adsm_homes[i]);
		adsm_objects_give_up(&adsm_homes[i]);
		adsm_homes[i].device->backend->close(adsm_homes[i].device);
		adsm_homes[i].device = NULL;
	}
	adsm_n_homes = 0;
}

static void set_policy(struct adsm_policy *policy)
{
	*policy = (struct adsm_policy){ .fixed_limit = adsm_options.rolling_size };
	if (adsm_options.evict_batch == 1)
		return;
	policy->batch_bytes = adsm_options.evict_batch;
	if (adsm_options.rolling_size == ADSM_ROLLING_AUTO)
		policy->keep_bytes = adsm_options.fault_ahead;
}

/* The next home, for a backend's device; known once it is ready. */
static int open_home(const struct adsm_backend *backend, int index)
{
	const struct adsm_backend_config config = {
		.arena_fd = adsm_arena.fd,
		.arena_base = adsm_arena.base,
		.arena_size = adsm_arena.size,
		.alias_base = adsm_arena.alias,
	};
	struct adsm_home *home = &adsm_homes[adsm_n_homes];
	struct adsm_device *device;
	int error = backend->open(index, &config, &device);

	if (error)
		return error;
	memset(home, 0, sizeof(*home));
	adsm_mutex_init(&home->call_mutex);
	home->index = adsm_n_homes;
	home->device = device;
	set_policy(&home->policy);
	error = adsm_service_start(home);
	if (error) {
		backend->close(device);
		home->device = NULL;
		return error;
	}
	if (device->caps.ends_at_exit)
		adsm_at_exit_watch();
	adsm_trace_device(home->index, backend->name, device->name);
	adsm_n_homes++;
	return 0;
}

static void warn_if_bypassed(void)
{
	char path[PATH_MAX];

	if (adsm_os_is_bypassed() && !adsm_os_library_path(path, sizeof(path)))
		adsm_warn("opened with dlopen: read(), memcpy() and others do not know shared memory; preload the "
			  "library (LD_PRELOAD=%s) or use adsmHold() around them", path);
}

/* Drivers take signals of the program's, when they are only asked for devices, too: LLVM in them those that end it. */
static struct adsm_actions actions;

/* All of them, or none. */
static int open_homes(const struct adsm_backend *backend, int n_devices)
{
	int error = 0;

	for (int i = 0; i < n_devices && i < ADSM_MAX_DEVICES && !error; i++)
		error = open_home(backend, i);
	adsm_os_actions_restore(&actions);
	if (!error)
		error = adsm_engine->start(on_fault);
	if (error)
		close_homes();
	return error;
}

/* With an arena for which there is room, and for what the devices want. */
static int open_homes_with_room(const struct adsm_backend *backend, int n_devices)
{
	int error = open_homes(backend, n_devices);

	while (adsm_arena_is_too_large(error)) {
		if (!error) {
			adsm_engine->stop();
			close_homes();
		}
		error = adsm_arena_shrink();
		if (!error)
			error = open_homes(backend, n_devices);
	}
	return error;
}

static int start(void)
{
	static bool registered;
	const struct adsm_backend *backend;
	int n_devices, error;

	error = adsm_options_load();
	if (error)
		return error;
	error = adsm_observe_start();
	if (error)
		return error;
	adsm_watch = watch;
	error = adsm_index_init();
	if (!error && !unforked)
		error = adsm_os_fork_mark(&unforked);
	if (error) {
		adsm_say("no address space for the library's tables (ulimit -v)");
		goto end_observing;
	}
	error = adsm_arena_create(adsm_options.arena_address, adsm_options.arena_size);
	if (error)
		goto end_observing;
	adsm_os_actions_get(&actions);
	error = adsm_backend_find(adsm_options.backend, &backend, &n_devices);
	adsm_os_actions_restore(&actions);
	if (error)
		goto destroy_arena;
	error = open_homes_with_room(backend, n_devices);
	if (error)
		goto destroy_arena;
	adsm_arena_close_file();
	if (!registered) {
		atexit(report_at_exit);
		registered = true;
		warn_if_bypassed();
	}
	return 0;

destroy_arena:
	adsm_arena_destroy();
end_observing:
	adsm_observe_end();
	return error;
}

/* What the system refuses to whoever asks for more than it may have. */
static void say_limit(int error)
{
	static const struct { int error; const char *limits; } rows[] = {
		{ EMFILE, " (ulimit -n)" }, { ENFILE, " (of all programs together)" }, { EFBIG, " (ulimit -f)" },
		{ ENOMEM, " (ulimit -v)" }, { EAGAIN, " (ulimit -u, ulimit -v)" },
	};
	const char *limits = "";

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		limits = rows[i].error == -error ? rows[i].limits : limits;
	adsm_say("the library cannot start: %s%s", strerror(-error), limits);
}

/* With start_mutex. */
static int start_now(void)
{
	unsigned n_said;
	char *before;
	int error;

	if (atomic_load(&state) == STARTED)
		return 0;
	before = adsm_error_keep();
	n_said = adsm_n_said();
	error = start();
	if (error) {
		free(before);
		if (n_said == adsm_n_said())
			say_limit(error);
		return error;
	}
	/* Backends that were looked for in vain have said why. */
	adsm_error_back(before);
	adsm_epoch++;
	adsm_counters_reset(&adsm_total);
	atomic_store(&adsm_shared_range.start, adsm_arena.base);
	atomic_store(&adsm_shared_range.size, adsm_arena.size);
	atomic_store(&state, STARTED);
	return 0;
}

/* Whoever needed it may not look at what it was told: why it failed is told once. With start_mutex. */
static int start_and_tell(void)
{
	int error = start_now();

	if (error)
		adsm_error_once();
	else
		adsm_error_forget();
	return error;
}

int adsm_start(void)
{
	int error;

	if (adsm_is_child())
		return adsm_fail(-ENOTSUP, "the child of a fork cannot use the library before it calls exec");
	if (atomic_load_explicit(&state, memory_order_acquire) == STARTED)
		return 0;
	adsm_mutex_lock(&start_mutex);
	error = start_and_tell();
	adsm_mutex_unlock(&start_mutex);
	return error;
}

/* The library runs on a context of the program's, and otherwise would have looked for devices as @option says. */
static struct {
	const struct adsm_backend *backend;	/* NULL: it does not */
	char option[64];
} lent;

/* The program may end it as soon as the library has: the next start is without. With start_mutex. */
static void forget_context(void)
{
	if (!lent.backend)
		return;
	lent.backend->use_context(NULL, NULL);
	adsm_options_set("backend", lent.option);
	lent.backend = NULL;
}

/* Start on a context of the program's. With start_mutex. */
static int start_on(const struct adsm_backend *backend, void *context, void *device)
{
	int error;

	error = adsm_options_load();	/* which say where the driver is */
	if (!error)
		error = backend->use_context(context, device);
	if (error)
		return error;
	lent.backend = backend;
	adsm_format(lent.option, sizeof(lent.option), "%s", adsm_options.backend);
	error = adsm_options_set("backend", backend->name);
	if (!error)
		error = start_now();
	if (error)
		forget_context();
	return error;
}

/* A further home, for a context of the program's. With start_mutex. */
static int add_home(const struct adsm_backend *backend, void *context, void *device)
{
	int error, n;

	/* The wrapped one, where all are. */
	if (!strcmp(adsm_homes[0].device->backend->name, backend->name))
		backend = adsm_homes[0].device->backend;
	if (adsm_n_homes == ADSM_MAX_DEVICES)
		return adsm_fail(-ENODEV, "there are %d devices already", ADSM_MAX_DEVICES);
	error = backend->use_context(context, device);
	n = error ? error : backend->probe();
	if (n <= 0)
		return n ? n : -ENODEV;
	return open_home(backend, n - 1);
}

int adsm_start_with(const char *name, void *context, void *device, struct adsm_home **ret_home)
{
	const struct adsm_backend *backend = adsm_backend_named(name);
	int error = 0;

	if (adsm_is_child())
		return adsm_start();
	if (!backend)
		return adsm_fail(-ENOTSUP, "the library was built without the backend '%s'", name);
	adsm_mutex_lock(&start_mutex);
	*ret_home = adsm_home_of(context);
	if (!*ret_home) {
		error = adsm_started() ? add_home(backend, context, device) : start_on(backend, context, device);
		if (!error) {
			*ret_home = &adsm_homes[adsm_n_homes - 1];
			atomic_store(&(*ret_home)->native_context, context);
		}
	}
	adsm_mutex_unlock(&start_mutex);
	return error;
}

struct adsm_home *adsm_home_of(void *context)
{
	static char none;

	for (int i = 0; i < adsm_n_homes; i++) {
		struct adsm_home *home = &adsm_homes[i];
		void *known = atomic_load_explicit(&home->native_context, memory_order_relaxed);
		struct adsm_native native;

		if (!known) {
			known = !home->device->backend->native(home->device, &native) && native.context ?
				native.context : &none;
			atomic_store_explicit(&home->native_context, known, memory_order_relaxed);
		}
		if (known == context)
			return home;
	}
	return NULL;
}

int adsm_stop(void)
{
	int error = 0;

	if (adsm_is_child())
		return adsm_start();
	adsm_mutex_lock(&start_mutex);
	if (atomic_load(&state) != STARTED)
		goto unlock;
	if (adsm_objects_alive() || adsm_modules_alive()) {
		error = adsm_fail(-EBUSY, "%zu objects and %zu modules are still alive", adsm_objects_alive(),
				  adsm_modules_alive());
		goto unlock;
	}
	adsm_quiesce();
	adsm_observe_end();
	atomic_store(&adsm_shared_range.size, 0);
	atomic_store(&state, STOPPED);
	adsm_engine->stop();
	adsm_modules_end();
	close_homes();
	forget_context();
	adsm_arena_destroy();
unlock:
	adsm_mutex_unlock(&start_mutex);
	return error;
}

int adsm_home_get(int index, struct adsm_home **ret_home)
{
	if (index == ADSM_DEVICE_CURRENT)
		index = thread.device < adsm_n_homes ? thread.device : 0;
	if (index < 0 || index >= adsm_n_homes)
		return adsm_fail(-EINVAL, "device %d: there are %d, counted from 0", index, adsm_n_homes);
	*ret_home = &adsm_homes[index];
	return 0;
}

int adsm_home_set(int index)
{
	struct adsm_home *home;
	int error;

	if (index == ADSM_DEVICE_CURRENT)
		return adsm_fail(-EINVAL, "device %d: devices are counted from 0", index);
	error = adsm_home_get(index, &home);
	if (!error)
		thread.device = index;
	return error;
}

void adsm_quiesce(void)
{
	for (int i = 0; i < adsm_n_homes; i++) {
		struct adsm_home *home = &adsm_homes[i];
		struct adsm_sigset old;
		uint64_t seq;

		adsm_home_lock(home, &old);
		seq = home->last_seq;
		adsm_home_unlock(home, &old);
		adsm_wait_call(home, seq);
	}
}

/* ---- objects */

/* There is an object outside the arena. */
static void widen_shared_range(uintptr_t start, size_t size)
{
	static struct adsm_mutex mutex = ADSM_MUTEX_INIT;
	uintptr_t end = start + size, was;

	adsm_mutex_lock(&mutex);
	was = atomic_load(&adsm_shared_range.start);
	if (end < was + atomic_load(&adsm_shared_range.size))
		end = was + atomic_load(&adsm_shared_range.size);
	if (start > was)
		start = was;
	atomic_store(&adsm_shared_range.size, end - start);
	atomic_store(&adsm_shared_range.start, start);
	adsm_mutex_unlock(&mutex);
}

int adsm_object_alloc(struct adsm_home *home, size_t size, const struct adsm_object_options *options,
		      void **ret_address)
{
	struct adsm_object *object;
	int error;

	if (!size)
		return adsm_fail(-EINVAL, "an object of 0 bytes: sizes start at 1");
	error = home->device->backend->status(home->device);
	if (error)
		return error;
	if (!options->device_only && !options->protocol->whole_object) {
		error = adsm_evictor_start(home);
		if (error)
			return adsm_fail(error, "cannot start a thread for early transfers (ulimit -u, ulimit -v)");
	}
	error = adsm_object_create(home, size, options, &object);
	if (error)
		return error;
	if (!adsm_arena_has(object->start))
		widen_shared_range(object->start, object->span);
	*ret_address = (void *)object->start;
	return 0;
}

/* Who frees an object has made it, one way or another. */
static int check_maker(const struct adsm_object *object, const void *p, enum adsm_maker maker)
{
	static const char *const texts[][2] = {
		[ADSM_MAKER_ALLOC] = { "a shared object", "adsmFree()" },
		[ADSM_MAKER_DEVICE_ALLOC] = { "device-only memory", "adsmDeviceFree()" },
		[ADSM_MAKER_FOREIGN] = { "the program's own memory", "what it has from its driver" },
	};
	enum adsm_maker made = object->adopted ? ADSM_MAKER_FOREIGN :
		object->device_only ? ADSM_MAKER_DEVICE_ALLOC : ADSM_MAKER_ALLOC;

	return made == maker ? 0 : adsm_fail(-EINVAL, "%p is %s: free it with %s", p, texts[made][0], texts[made][1]);
}

int adsm_object_free(void *p, enum adsm_maker maker, bool wait, adsm_kept_free *driver_free)
{
	struct adsm_object *object;
	struct adsm_home *home;
	struct adsm_sigset old;
	int error = 0;

	object = adsm_object_enter(p, &old);
	if (!object || object->freeing) {
		if (object)
			adsm_home_unlock(object->home, &old);
		return adsm_fail(-EINVAL, "%p is not the address of a live object", p);
	}
	home = object->home;
	if (object->start != (uintptr_t)p)
		error = adsm_fail(-EINVAL, "%p is inside the object at %p, not its start", p, (void *)object->start);
	else
		error = check_maker(object, p, maker);
	if (!error && object->blocks.n_holds)
		error = adsm_fail(-EBUSY, "the object at %p is held (adsmUnhold() first)", p);
	if (error) {
		adsm_home_unlock(home, &old);
		return error;
	}
	object->freeing = true;
	adsm_home_unlock(home, &old);
	if (maker == ADSM_MAKER_DEVICE_ALLOC)
		error = adsm_wait_copies(home);
	else
		adsm_kernel_assign(NULL, (uintptr_t)p, 0);
	adsm_home_lock(home, &old);
	while (!error) {
		uint64_t seq = wait ? adsm_object_use_seq(object) : 0;

		if (seq > atomic_load(&home->completed))
			error = adsm_wait_unlocked(home, seq, &old);
		else if (!object->blocks.n_busy && !object->blocks.n_sending)
			break;
		else if (!adsm_send_queued(home))
			adsm_home_wait(home);
	}
	if (error) {
		object->freeing = false;
		if (object->assigned) {
			/* Its assignments are gone; unnamed calls so far could not use it. */
			object->assigned = false;
			object->born_seq = home->last_seq;
			adsm_gather_close(home);
		}
		adsm_home_unlock(home, &old);
		return error;
	}
	error = adsm_object_destroy(object, driver_free) && driver_free;
	adsm_os_signals_restore(&old);
	return error;
}

int adsm_block_ready(struct adsm_object *object, uint32_t b, enum adsm_block_event event, bool open,
		     struct adsm_sigset *old)
{
	return adsm_blocks_ready(object, b, 1, event, open, old);
}

int adsm_blocks_ready(struct adsm_object *object, uint32_t b, uint32_t n, enum adsm_block_event event, bool open,
		      struct adsm_sigset *old)
{
	struct adsm_home *home = object->home;
	uint64_t birth = object->birth;
	int error = 0;

	for (;;) {
		uint64_t seq;

		if (!object->live || object->freeing || object->birth != birth)
			return adsm_fail(-EINVAL, "the object was freed meanwhile");
		if (adsm_block_blocked(object, b)) {
			adsm_home_wait(home);
			continue;
		}
		seq = adsm_block_must_wait(object, b, event);
		if (!seq)
			break;
		error = adsm_wait_unlocked(home, seq, old);
		if (error)
			return error;
	}
	if (object->blocks.at[b].state == ADSM_INVALID && event != ADSM_EVENT_OVERWRITE && adsm_object_lost(object))
		return adsm_fail(-ENODEV, "block %u of the object at %p was lost with its device: %s", b,
				 (void *)object->start, reason(home, -ENODEV));
	error = adsm_blocks_access(object, b, n, event, open);
	if (error)
		return adsm_fail(error, "block %u of the object at %p: its transfer failed: %s", b,
				 (void *)object->start, reason(home, error));
	return 0;
}

/* ---- holds */

static void drop_holds(struct adsm_object *object, uint32_t first, uint32_t end)
{
	for (uint32_t b = first; b < end; b++)
		if (!--object->blocks.at[b].holds && adsm_advises(object))
			adsm_advice_unhold(object, b);
	object->blocks.n_holds--;
	adsm_evict_now(object->home);
}

static int hold_blocks(struct adsm_object *object, size_t offset, size_t size, unsigned access,
		       struct adsm_sigset *old)
{
	uint32_t first = (uint32_t)(offset >> object->blocks.shift);
	uint32_t last = (uint32_t)((offset + size - 1) >> object->blocks.shift);

	object->blocks.n_holds++;	/* from here on no call takes the object away */
	/* One less than fits: an access holds the blocks it opens while it goes on. */
	for (uint32_t b = first; b <= last; b++) {
		size_t start = (size_t)b << object->blocks.shift;
		bool covered = offset <= start && offset + size >= start + adsm_run_size(object, b, 1);
		enum adsm_block_event event = access == ADSM_ACCESS_IN ? ADSM_EVENT_READ :
			access == ADSM_ACCESS_OUT && covered ? ADSM_EVENT_OVERWRITE : ADSM_EVENT_WRITE;
		int error = object->blocks.at[b].holds >= UINT16_MAX - 1 ?
			adsm_fail(-EBUSY, "block %u of the object at %p has too many holds", b,
				  (void *)object->start) :
			adsm_block_ready(object, b, event, true, old);

		if (!error && adsm_advises(object) && adsm_advice_hold(object, b))
			error = adsm_fail(-ENOMEM, "block %u of the object at %p: the process has no memory mappings "
					  "left (vm.max_map_count)", b, (void *)object->start);
		if (error) {
			drop_holds(object, first, b);
			return error;
		}
		object->blocks.at[b].holds++;
	}
	return 0;
}

struct adsm_object *adsm_enter_range(const void *p, size_t size, struct adsm_sigset *ret_old)
{
	struct adsm_object *object = adsm_object_enter(p, ret_old);
	bool inside = object && !object->device_only && !object->freeing && size &&
		(uintptr_t)p - object->start < object->size &&
		size <= object->size - ((uintptr_t)p - object->start);

	if (inside)
		return object;
	if (object)
		adsm_home_unlock(object->home, ret_old);
	adsm_fail(-EINVAL, "%zu bytes at %p are not inside one live object", size, p);
	return NULL;
}

int adsm_hold(void *p, size_t size, unsigned access, const void *where)
{
	struct adsm_hold *hold;
	struct adsm_object *object;
	struct adsm_sigset old;
	int error;

	if (access < ADSM_ACCESS_IN || access > ADSM_ACCESS_INOUT)
		return adsm_fail(-EINVAL, "access %u: ADSM_ACCESS_IN, ADSM_ACCESS_OUT or ADSM_ACCESS_INOUT", access);
	hold = malloc(sizeof(*hold));
	if (!hold)
		return -ENOMEM;
	object = adsm_enter_range(p, size, &old);
	if (!object) {
		free(hold);
		return -EINVAL;
	}
	adsm_because(ADSM_WHY_HOLD, where, "");
	error = hold_blocks(object, (uintptr_t)p - object->start, size, access, &old);
	adsm_because(ADSM_WHY_OTHER, NULL, "");
	if (!error) {
		*hold = (struct adsm_hold){ object->holds, (uintptr_t)p, size };
		object->holds = hold;
	}
	adsm_home_unlock(object->home, &old);
	if (error)
		free(hold);
	return error;
}

int adsm_unhold(void *p, size_t size)
{
	struct adsm_object *object;
	struct adsm_hold **at, *hold;
	struct adsm_sigset old;

	object = adsm_enter_range(p, size, &old);
	if (!object)
		return -EINVAL;
	at = &object->holds;
	while (*at && ((*at)->start != (uintptr_t)p || (*at)->size != size))
		at = &(*at)->next;
	hold = *at;
	if (hold) {
		size_t offset = (uintptr_t)p - object->start;

		*at = hold->next;
		drop_holds(object, (uint32_t)(offset >> object->blocks.shift),
			   (uint32_t)((offset + size - 1) >> object->blocks.shift) + 1);
	}
	adsm_home_unlock(object->home, &old);
	free(hold);
	return hold ? 0 : adsm_fail(-EINVAL, "%zu bytes at %p are not held", size, p);
}
