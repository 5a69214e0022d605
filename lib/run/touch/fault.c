/* SPDX-License-Identifier: MIT */
/*
 * fault.c - the fault path: a touch of a closed block is served, waits for a call, or is not the library's.
 *
 * On a fault only this file calls down into core. Nothing below calls up.
 */
#include "run/touch/fault.h"

#include <errno.h>
#include <signal.h>

#include "base/decode.h"
#include "base/log.h"
#include "core/options.h"
#include "core/block.h"
#include "core/copier.h"
#include "core/index.h"
#include "core/life.h"
#include "core/limits.h"
#include "core/shared.h"
#include "core/observe.h"
#include "once/wait.h"
#include "run/wait/in_driver.h"
#include "run/copy/io.h"
#include "run/wait/left.h"
#include "run/wait/pending.h"
#include "run/wait/wait.h"

#define SPURIOUS_MAX 64		/* the fault repeats though the view permits the access: it is not the library's */
#define TRIES_MAX 4		/* one instruction faults at several addresses
				   without progress: it needs all of these blocks */
#define AGAIN_NS ((uint64_t)12500)	/* how long a repeated touch delays calls; doubled each time */
#define AGAIN_MAX 6
#define WAIT_TRIES 3		/* failed waits for a call until the touch fails */

static _Thread_local struct {
	const struct adsm_fault *inside;	/* the fault of a driver that is being served */
	uint8_t failed_waits, n_spurious, n_tries, n_again;
	uint32_t spurious_tick;
	uintptr_t spurious_address, spurious_instruction;
	uintptr_t last_address, last_instruction;
	uint64_t last_registers;
	uintptr_t waited_address, waited_instruction;
} thread;

/* Runs under the interrupted code's signal mask, without a lock. A handler may leave it by siglongjmp(). */
static void wait_for_call(const struct adsm_fault *fault)
{
	int error = adsm_touch_wait(fault->wait_device, fault->wait_seq);

	thread.failed_waits = error ? thread.failed_waits + 1 : 0;
}

/*
 * The view permits the access: another thread has opened it, or the fault has another cause than the library's
 * protection.
 */
static enum adsm_fault_result spurious(const struct adsm_home *home, const struct adsm_fault *fault)
{
	uint32_t tick = atomic_load(&home->tick);

	/* If the tick has changed, blocks are opened and closed meanwhile, and this may happen many times by chance. */
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
 * One instruction may write more blocks than the rolling size permits. Opening one then closes another, without end.
 * This shows as faults of the same instruction at other addresses while no register changes. Then all of its blocks
 * stay open.
 */
static bool needs_more(const struct adsm_fault *fault)
{
	uint64_t registers;
	bool again;

	if (adsm_protocol_options.evict_batch != 1 || !fault->write)
		return false;
	registers = adsm_decode_registers(fault->context);
	again = fault->instruction == thread.last_instruction && registers == thread.last_registers &&
		fault->address != thread.last_address;
	thread.n_tries = !again ? 0 : thread.n_tries < TRIES_MAX ? thread.n_tries + 1 : TRIES_MAX;
	thread.last_instruction = fault->instruction;
	thread.last_registers = registers;
	thread.last_address = fault->address;
	return thread.n_tries >= TRIES_MAX;
}

/*
 * A touch that has waited was served. The thread that makes calls is woken by this and may run first, so its next call
 * may close the block before the instruction has run, again and again. So a repeated touch delays the next call for a
 * moment, and for longer each time.
 */
static void keep_calls_off(struct adsm_home *home, const struct adsm_fault *fault)
{
	bool again = fault->address == thread.waited_address && fault->instruction == thread.waited_instruction;

	thread.n_again = again && thread.n_again < AGAIN_MAX ? thread.n_again + 1 : again ? AGAIN_MAX : 0;
	thread.waited_address = fault->address;
	thread.waited_instruction = fault->instruction;
	if (thread.n_again > 1)
		atomic_store(&adsm_pending_of(home)->calls_from_ns, adsm_os_now_ns() + (AGAIN_NS << thread.n_again));
}

static enum adsm_fault_result lost(const struct adsm_object *object, uint32_t b, const struct adsm_fault *fault,
				   const char *why, int error)
{
	if (error == -ENODEV && atomic_load(&object->home->device->lost))
		why = adsm_home_reason(object->home, error);
	adsm_error("%s of %p fails: block %u of %s (%zu bytes): %s (error %d)",
		   fault->write ? "write" : "read", (void *)fault->address, b, ADSM_THE_OBJECT(object),
		   object->size, why, error);
	return ADSM_FAULT_LOST;
}

/* A call uses the block: wait for it, or fail if that is impossible. */
static enum adsm_fault_result waits(const struct adsm_object *object, uint32_t b, struct adsm_fault *fault,
				    uint64_t seq)
{
	if (adsm_serving)
		return lost(object, b, fault, "a running call uses the block, and waits for this service", -EDEADLK);
	if (adsm_core_options.touch == ADSM_TOUCH_ERROR)
		return lost(object, b, fault, "a running call uses the block, and ADSM_TOUCH=error is set", -EBUSY);
	if (thread.failed_waits >= WAIT_TRIES) {
		thread.failed_waits = 0;
		return lost(object, b, fault, "cannot wait for the call that uses the block", -EIO);
	}
	fault->wait = wait_for_call;
	fault->wait_device = object->home;
	fault->wait_seq = seq;
	return ADSM_FAULT_WAIT;
}

/*
 * Can the access get its block, now or after other threads' changes? If not, *ret_result says how the fault ends. The
 * lock is that of @home, and may be given back meanwhile; the object may have left @home already.
 */
static bool is_ready(struct adsm_object *object, struct adsm_home *home, uint32_t b, enum adsm_block_event event,
		     struct adsm_fault *fault, enum adsm_fault_result *ret_result)
{
	unsigned needed = event == ADSM_EVENT_WRITE ? ADSM_PROT_RW : ADSM_PROT_READ;
	uint64_t generation = object->generation, seq;

	*ret_result = ADSM_FAULT_FOREIGN;
	for (;;) {
		/* The instruction faults again, and finds the object at its new home. */
		if (!adsm_object_is_at(object, home)) {
			*ret_result = ADSM_FAULT_SERVED;
			return false;
		}
		if (!object->live || object->generation != generation)
			return false;
		if (object->blocks.at[b].view >= needed) {
			*ret_result = spurious(home, fault);
			return false;
		}
		if (adsm_blocks_step(&object->blocks, b, event).result == ADSM_RESULT_REFUSE) {
			*ret_result = lost(object, b, fault, "the object's protocol refuses the access", -EACCES);
			return false;
		}
		if (!adsm_block_blocked(object, b)) {
			seq = adsm_block_must_wait(object, b, event);
			if (!seq)
				return true;
			adsm_retire(home);
			if (!adsm_block_must_wait(object, b, event))
				return true;
			*ret_result = waits(object, b, fault, seq);
			return false;
		}
		/* The block may wait for a fetch ahead while the evictor does something else. So do the fetch here. */
		if (!adsm_fetch_ahead(home))
			adsm_home_wait(home);
	}
}

static enum adsm_fault_result serve(struct adsm_object *object, struct adsm_fault *fault, unsigned *ret_signals,
				    uint32_t *ret_ahead)
{
	enum adsm_block_event event = fault->write ? ADSM_EVENT_WRITE : ADSM_EVENT_READ;
	uint32_t b = (uint32_t)((fault->address - object->start) >> object->blocks.shift), n;
	struct adsm_home *home = object->home;
	const uint64_t generation = object->generation;
	enum adsm_fault_result result;
	int error;

	if (object->device_only)
		return ADSM_FAULT_FOREIGN;
	/* The program itself has closed the page. */
	if (adsm_is_limited(object) && adsm_limit_at(object, fault->address - object->start) <
	    (fault->write ? ADSM_PROT_RW : ADSM_PROT_READ))
		return ADSM_FAULT_FOREIGN;
	if (adsm_is_paged(object) && adsm_observer->advice_touch(object, fault->address, fault->write))
		return ADSM_FAULT_SERVED;
	if (!adsm_touching) {	/* otherwise it is the same signal, after a wait */
		adsm_count(&object->counters, signals, 1);
		*ret_signals = 1;
	}
	do {
		/* The lock may have been given back. */
		if (adsm_object_is_at(object, home) && (!object->live || object->generation != generation))
			return ADSM_FAULT_FOREIGN;
		if (!is_ready(object, home, b, event, fault, &result))
			return result;
	} while (adsm_left_by_others(object, b, 1));
	if (adsm_blocks_lack(&object->blocks, b) && adsm_object_lost(object))
		return lost(object, b, fault, "the device was lost before the end of the call that writes the block",
			    -ENODEV);
	object->blocks.protocol->touched(&object->blocks.notes, &object->blocks.at[b], fault->write);
	n = adsm_block_window(object, b, event);
	adsm_defers_eviction = needs_more(fault);
	error = adsm_blocks_access(object, b, n, event, true);
	adsm_defers_eviction = false;
	if (error == -ENOMEM)
		return lost(object, b, fault, "the process has no memory mappings left (vm.max_map_count)", error);
	if (error)
		return lost(object, b, fault, "the transfer of the block failed", error);
	if (!fault->write)
		adsm_want_ahead(object, b + n);
	adsm_count(&object->counters, ahead_blocks, n - 1);
	*ret_ahead = n - 1;
	thread.n_spurious = 0;
	return ADSM_FAULT_SERVED;
}

/* Is this thread giving a command to the home's driver, with the home's lock held? */
static bool enqueues_for(uintptr_t address)
{
	const struct adsm_object *object = adsm_in_driver.enqueuing ? adsm_index_find(address) : NULL;

	return object && adsm_object_home(object) == adsm_in_driver.enqueuing;
}

static void out_of_patience(void)
{
	adsm_error("%s of %p by the driver fails: the page is closed, and the thread that opens it has waited %u "
		   "seconds for the driver; memory that the driver accesses during a call must not be shared memory",
		   thread.inside->write ? "write" : "read", (void *)thread.inside->address,
		   (unsigned)(ADSM_IN_DRIVER_NS / 1000000000));
	adsm_os_die(SIGBUS);
}

static __attribute__((noinline)) enum adsm_fault_result handle_fault(struct adsm_fault *fault)
{
	uint64_t start = adsm_os_now_ns(), moved = adsm_spent.moved_ns, spent = adsm_spent_ns(), ns;
	enum adsm_fault_result result = ADSM_FAULT_FOREIGN;
	struct adsm_object *object;
	struct adsm_home *home;
	struct adsm_cause cause;
	uint32_t ahead = 0;
	unsigned n_signals = 0;

	if (adsm_is_child() && adsm_index_find(fault->address))
		adsm_error("access to %p in the child of a fork: only the parent has shared objects",
			   (void *)fault->address);
	if (!adsm_started())
		return ADSM_FAULT_FOREIGN;
	if (enqueues_for(fault->address)) {
		adsm_error("%s of %p fails: memory that the driver accesses while it accepts a command (a kernel's "
			   "values, a list of copies) must not be shared memory", fault->write ? "write" : "read",
			   (void *)fault->address);
		return ADSM_FAULT_LOST;
	}
	adsm_in_fault++;
	adsm_io_look_back(fault->stack);
	object = adsm_object_lock(fault->address);
	if (object) {
		home = object->home;
		if (adsm_observes(~0u)) {
			cause = adsm_cause;
			adsm_observer->fault_begins(fault);
		}
		result = serve(object, fault, &n_signals, &ahead);
		if (result == ADSM_FAULT_SERVED && adsm_touching)
			keep_calls_off(home, fault);
		adsm_home_leave(home, NULL);
		ns = adsm_os_now_ns() - start;
		/* ns includes the time that transfers took meanwhile. */
		adsm_set_spent(spent + ns);
		ns -= adsm_spent.moved_ns - moved;
		adsm_count(&object->counters, fault_ns, ns);
		if (adsm_observes(~0u)) {
			adsm_observer->fault(object, fault->address, fault->write, n_signals, ahead, start, ns);
			adsm_cause = cause;
		}
	}
	adsm_in_fault--;
	if (adsm_touching && result != ADSM_FAULT_WAIT)
		adsm_touch_end();
	return result == ADSM_FAULT_FOREIGN ? adsm_once_fault(fault) : result;
}

/*
 * The driver holds locks of its own: so no signal handler of the program may run meanwhile, and the wait has a time
 * limit.
 */
static __attribute__((noinline)) enum adsm_fault_result handle_inside(struct adsm_fault *fault)
{
	const struct adsm_os_patience patience = adsm_os_patience;
	const struct adsm_fault *outer = thread.inside;
	/* The locks needed may rank before those that the thread holds. If this deadlocks, the time limit ends it. */
	const uint64_t ranks = adsm_os_ranks_set(0);
	enum adsm_fault_result result;

	thread.inside = fault;
	adsm_os_patience = (struct adsm_os_patience){ adsm_os_now_ns() + ADSM_IN_DRIVER_NS, out_of_patience };
	while ((result = handle_fault(fault)) == ADSM_FAULT_WAIT)
		fault->wait(fault);
	adsm_os_patience = patience;
	thread.inside = outer;
	adsm_os_ranks_set(ranks);
	return result;
}

enum adsm_fault_result adsm_on_fault(struct adsm_fault *fault)
{
	bool ours;

	if (!fault->cramped)
		return adsm_in_driver_faults(fault) ? handle_inside(fault) : handle_fault(fault);
	ours = atomic_load(&adsm_life.state) == ADSM_STARTED && adsm_is_shared((void *)fault->address);
	return ours ? ADSM_FAULT_LOST : ADSM_FAULT_FOREIGN;
}
