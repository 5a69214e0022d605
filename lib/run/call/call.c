/* SPDX-License-Identifier: MIT */
/* call.c - kernel calls: in order in each lane of a device. */
#include "run/call/call.h"

#include <errno.h>

#include "base/log.h"
#include "core/block.h"
#include "core/observe.h"
#include "core/options.h"
#include "core/replica.h"
#include "list.h"
#include "run/wait/caller.h"
#include "run/call/choice.h"
#include "run/wait/coalesced.h"
#include "run/call/conflict.h"
#include "run/copy/explicit.h"
#include "run/wait/helpers.h"
#include "run/wait/in_driver.h"
#include "run/copy/io.h"
#include "run/call/moves.h"
#include "run/wait/pending.h"
#include "run/wait/queue.h"
#include "run/call/release.h"
#include "run/call/residency.h"
#include "run/wait/wait.h"

#define TOUCH_GRACE_NS 5000000		/* how long a call waits for threads whose touch came
					   first; doubled each time that it waits in vain */
#define TOUCH_GRACE_MAX_NS 320000000

struct call {
	struct adsm_bound bound;
	struct adsm_conflict conflict;
	unsigned lane;
	const void *where;		/* the caller's code address */
	bool coalesce;			/* the call may be one with others of its queue: coalesced.h */
	void *queue;
	adsm_starter *start;
	void *start_arg;
	uint64_t given_ns;		/* when the device got the call; 0: not observed */
};

static int check_dims(const struct adsm_kernel_info *info, adsmDim grid, adsmDim block, struct adsm_launch *launch)
{
	const unsigned g[3] = { grid.x, grid.y, grid.z }, b[3] = { block.x, block.y, block.z };
	uint64_t n_blocks = 1, n_threads = 1;

	for (int i = 0; i < 3; i++) {
		launch->grid[i] = g[i] ? g[i] : 1;
		launch->block[i] = b[i] ? b[i] : 1;
		if (__builtin_mul_overflow(n_blocks, launch->grid[i], &n_blocks) ||
		    __builtin_mul_overflow(n_threads, launch->block[i], &n_threads))
			return adsm_fail(-EINVAL, "kernel '%s': its grid has more than 2^64 blocks or threads",
					 info->name);
	}
	if (n_threads > info->max_threads)
		return adsm_fail(-EINVAL, "kernel '%s': a block has %lu threads, but the kernel allows at most %u",
				 info->name, (unsigned long)n_threads, info->max_threads);
	launch->n_blocks = n_blocks;
	return 0;
}

/* All workers of a task run at the same time, so the device must have room for all of them. */
static int check_task(const struct adsm_kernel_info *info, const struct adsm_home *home, uint64_t n_workers)
{
	const struct adsm_device *device = home->device;

	if (!info->task)
		return 0;
	if (!device->caps.max_workers)
		return adsm_fail(-ENOTSUP, "task '%s': device %d of the backend '%s' cannot run tasks; backends that "
				 "can: " ADSM_BACKENDS_WITH_TASKS, info->name, home->index, device->backend->name);
	if (n_workers > device->caps.max_workers)
		return adsm_fail(-EINVAL, "task '%s' has %lu workers, but device %d can run at most %u at the same "
				 "time (%s)", info->name, (unsigned long)n_workers, home->index,
				 device->caps.max_workers, device->caps.workers_option);
	return 0;
}

static int check_services(const struct adsm_kernel_info *info, const struct adsm_home *home)
{
	const struct adsm_device_caps *caps = &home->device->caps;

	if (!info->services || (info->task ? caps->task_services : caps->services))
		return 0;
	return adsm_fail(-ENOTSUP, "kernel '%s' calls services (ADSM_SERVICE, ADSM_PRINT, ADSM_NEXT, ADSM_ALLOC; "
			 "printf(), assert(), malloc() of CUDA C), but device %d of the backend '%s' does not support "
			 "them%s; backends that do: " ADSM_BACKENDS_WITH_SERVICES, info->name, home->index,
			 home->device->backend->name, caps->services ? " in tasks" : "");
}

int adsm_call_check(const struct adsm_kernel_info *info, const struct adsm_home *home, adsmDim grid, adsmDim block,
		    struct adsm_launch *launch)
{
	int error = check_dims(info, grid, block, launch);

	if (!error)
		error = check_task(info, home, launch->n_blocks);
	return error ? error : check_services(info, home);
}

/* ---- launching */

/* The kernel's name; "" for commands of the program's own. */
static const char *name_of(const struct call *call)
{
	return adsm_bound_is_own(&call->bound) ? call->bound.kernel->info->name : "";
}

/* Touches that came first go first: wait until their calls have ended, and then a moment for their fetches. */
static void wait_for_touches(struct adsm_home *home)
{
	struct adsm_pending *pending = adsm_pending_of(home);
	uint64_t grace = pending->touch_grace_ns ? pending->touch_grace_ns : TOUCH_GRACE_NS, until;

	/* With several lanes a touch may wait for a call that this one need not wait for. */
	if (!(pending->lanes & (pending->lanes - 1)))
		adsm_wait_calls_to(home, home->last_seq);
	until = adsm_os_now_ns() + grace;
	pending->touch_grace_ns = 0;
	while (atomic_load(&pending->touching)) {
		uint32_t tick = atomic_load(&home->tick);
		uint64_t now = adsm_os_now_ns();

		if (now >= until) {
			/* Either a thread has not got the processor yet, or it has left
			 * its wait by longjmp(), without a decrement of the count. */
			atomic_store(&pending->touching, 0);
			pending->touch_grace_ns = grace < TOUCH_GRACE_MAX_NS ? 2 * grace : grace;
			break;
		}
		atomic_fetch_add(&home->n_waiting, 1);
		if (atomic_load(&pending->touching))
			adsm_os_wait(&home->tick, tick, until - now, false);
		atomic_fetch_sub(&home->n_waiting, 1);
	}
}

static void let_touches_pass(struct adsm_home *home)
{
	struct adsm_pending *pending = adsm_pending_of(home);
	uint64_t until;

	/* Do not wait if a call with write-once objects still runs: it
	 * may wait for something that this thread does after its own call. */
	if (atomic_load(&pending->touching) && adsm_calls_ended(home, pending->once_seq))
		wait_for_touches(home);
	/* A touch that has been repeated several times also gets time to run its instruction. */
	until = atomic_load(&pending->calls_from_ns);
	if (until) {
		adsm_os_sleep_until_ns(until);
		atomic_compare_exchange_strong(&pending->calls_from_ns, &until, 0);
	}
}

struct kernel_start {
	struct adsm_home *home;
	struct adsm_entry *entry;
	struct adsm_launch *launch;
};

/*
 * The protocol expects which block the CPU will read first after the call, from the blocks that it read first after
 * earlier calls. The launch tells the device this block.
 */
static void expect(struct call *call)
{
	struct adsm_launch *launch;

	if (!adsm_bound_is_own(&call->bound))
		return;
	launch = ((struct kernel_start *)call->start_arg)->launch;
	for (size_t i = 0; i < call->bound.n_uses && !launch->expected.memory; i++) {
		const struct adsm_use *use = &call->bound.uses[i];
		const struct adsm_object *object = use->object;
		const struct adsm_block *block;
		uint32_t b;

		if (adsm_bound_access(&call->bound, i) == ADSM_ACCESS_IN || adsm_use_is_gone(use) ||
		    object->device_only)
			continue;
		block = object->blocks.protocol->expected(&object->blocks.notes);
		if (!block)
			continue;
		b = (uint32_t)(block - object->blocks.at);
		launch->expected.memory = object->memory;
		launch->expected.offset = (size_t)b << object->blocks.shift;
		launch->expected.size = adsm_run_size(object, b, 1);
	}
}

static int start_kernel(void *arg, struct adsm_device_event *ret_event)
{
	const struct kernel_start *s = arg;
	const struct adsm_backend *backend = s->home->device->backend;
	int tries = ADSM_UNDETECTED_TRIES, error;
	struct adsm_error_kept before;

	if (!s->home->n_undetected)
		return backend->launch(s->entry, s->launch, ret_event);
	adsm_error_keep(&before);
	do
		error = backend->launch(s->entry, s->launch, ret_event);
	while (error && error != -ENODEV && --tries > 0);
	if (!error)
		adsm_error_back(&before);
	return error;
}

/*
 * Can the commands join others in one call? They must be allowed to use any object, and nothing in the library may have
 * to come after them. Lock held.
 */
static bool may_coalesce(const struct call *call)
{
	struct adsm_home *home = call->bound.home;
	struct adsm_pending *pending = adsm_pending_of(home);
	bool copies = false;

	for (uint32_t q = 0; q < ADSM_N_QUEUES; q++)
		copies |= atomic_load(&pending->async_seq[q]) != 0;
	return call->coalesce && !call->bound.named && !home->n_undetected && !copies && !adsm_observes(~0u) &&
		adsm_calls_ended(home, pending->own_seq);
}

/*
 * The call has begun. If its end is never known (no event), only the states of its objects change. If it coalesces, it
 * also stands for commands that follow. Lock held.
 */
static void note_call(struct call *call, struct adsm_device_event event, bool coalesces)
{
	struct adsm_home *home = call->bound.home;
	struct adsm_pending *pending = adsm_pending_of(home);
	struct adsm_caller *own = adsm_calls.caller;
	uint64_t seq = home->last_seq;

	if (event.seq || coalesces) {
		seq = ++home->last_seq;
		*adsm_pending_call(home, seq) = (struct adsm_call){
			.seq = seq, .lane = call->lane, .kernel = name_of(call),
			.thread = call->bound.kernel ? adsm_calls.id : 0, .caller = adsm_calls.caller,
			.event = event, .given_ns = call->given_ns
		};
	}
	if (call->bound.n_onces)
		pending->once_seq = seq;
	pending->lane_seq[call->lane] = seq;
	pending->lanes |= 1u << call->lane;
	if (adsm_runs_alone(&call->bound))
		pending->alone_seq = seq;
	adsm_release_take(&call->bound, call->lane, seq);
	if (call->bound.replicas)
		adsm_replicas_use(home, call->lane, seq);
	if (coalesces)
		adsm_coalesced_begin(home, call->queue, seq);
	/* adsmSync() of this thread does not wait for the program's own commands. */
	if (!call->bound.kernel)
		return;
	pending->own_seq = seq;
	adsm_calls.once[home->index] = !adsm_calls.last_seq[home->index];
	if (adsm_calls.once[home->index])
		own->lanes[home->index] = 0;
	own->lanes[home->index] |= (uint8_t)(1u << call->lane);
	adsm_calls.last_seq[home->index] = seq;
	own->newest_device = (uint64_t)home->index;
	own->newest_seq = seq;
	adsm_calls.event_seq[home->index] = event.seq;
	adsm_calls.event_queue[home->index] = (uint8_t)event.queue;
}

static int start(struct call *call, struct adsm_device_event *ret_event)
{
	int error;

	call->given_ns = adsm_observes(ADSM_OBSERVE_TRACE) ? adsm_os_now_ns() : 0;
	adsm_in_driver.enqueuing = call->bound.home;
	error = call->start(call->start_arg, ret_event);
	adsm_in_driver.enqueuing = NULL;
	return error;
}

/*
 * A call of coalesced commands has no event yet, and later calls end after it. At most @max calls may be outstanding,
 * so the call must end before there are that many, and not only when there is no room left.
 */
static bool coalesced_too_long(struct adsm_home *home, unsigned max)
{
	const struct adsm_coalesced *coalesced = &adsm_pending_of(home)->coalesced;
	struct adsm_sigset old;
	bool is;

	adsm_home_lock(home, &old);
	is = coalesced->seq && home->last_seq - coalesced->seq >= max / 2;
	adsm_home_unlock(home, &old);
	return is;
}

/* A call that must have ended before one more may be outstanding, or 0. The caller has the call mutex. */
static uint64_t find_oldest(struct adsm_home *home, unsigned max)
{
	const uint64_t first = adsm_ended_next(&home->ended);	/* it changes meanwhile */

	return home->last_seq >= max && first <= home->last_seq - max + 1 ? first : 0;
}

/*
 * adsmSync() asks the backend itself, and the watcher sleeps until a thread waits that may not ask the backend. The
 * watcher is woken at once for the program's own commands, and if more than time depends on it, to note their end
 * early.
 */
static bool watched_from_start(const struct call *call)
{
	return !call->bound.kernel || adsm_core_options.touch == ADSM_TOUCH_ERROR || adsm_observes(~0u);
}

/*
 * Only one call of a device at a time is in this function. This gives the order of calls. If the call must wait, for a
 * conflict or because too many calls are outstanding, nothing has changed.
 */
static int enter_call(struct call *call, bool *ret_waits)
{
	struct adsm_home *home = call->bound.home;
	const struct adsm_backend *backend = home->device->backend;
	unsigned max = home->device->caps.max_pending < ADSM_PENDING_MAX ?
		home->device->caps.max_pending : ADSM_PENDING_MAX;
	struct adsm_device_event event = { 0 };
	struct adsm_sigset old;
	bool coalesces = false;
	int error;

	let_touches_pass(home);
	error = backend->status(home->device);
	if (!error && (call->bound.kernel || call->coalesce || coalesced_too_long(home, max)))
		error = adsm_coalesced_end(home);
	if (!error && call->bound.kernel)
		error = adsm_kernel_entry(call->bound.kernel, home, &((struct kernel_start *)call->start_arg)->entry);
	call->conflict.seq = error ? 0 : find_oldest(home, max);
	*ret_waits = call->conflict.seq;
	if (*ret_waits)
		return 0;
	if (!error)
		error = adsm_wait_copies(home);
	if (!error && call->lane && home->has_service)
		error = adsm_watcher_start(home, call->lane);
	if (error)
		return error;

	adsm_home_lock(home, &old);
	adsm_retire(home);
	error = adsm_bind_resident(&call->bound, &old);
	*ret_waits = !error && adsm_conflict_find(&call->conflict);
	if (*ret_waits) {
		adsm_home_unlock(home, &old);
		return 0;
	}
	if (!error)
		error = adsm_release(&call->bound, &old);
	if (!error)
		expect(call);
	if (!error) {
		coalesces = may_coalesce(call);
		adsm_bind_onces(&call->bound);
		error = start(call, coalesces ? NULL : &event);
		adsm_bind_onces_end(&call->bound, !error);
	}
	if (!error)
		note_call(call, event, coalesces);
	else
		adsm_release_undo(home);
	adsm_release_end(home);
	if (!error && home->has_service && !coalesces && watched_from_start(call))
		adsm_os_poke(&home->watchers[call->lane].word);
	adsm_home_unlock(home, &old);
	return error;
}

static int enter_in_turn(struct call *call)
{
	void (*finish_detached)(void) = atomic_load(&adsm_io_finish_detached);
	const char *name = name_of(call);
	uint64_t start = adsm_observes(ADSM_OBSERVE_TRACE) ? adsm_os_now_ns() : 0, seq;
	bool waits;
	int error;

	adsm_because(ADSM_WHY_CALL, call->where, name);
	if (finish_detached)
		finish_detached();
	adsm_conflict_init(&call->conflict, &call->bound, call->lane);
	do {
		adsm_mutex_lock(&call->bound.home->call_mutex);
		waits = false;
		error = enter_call(call, &waits);
		seq = call->bound.home->last_seq;
		adsm_mutex_unlock(&call->bound.home->call_mutex);
		if (waits)	/* without the mutex: other calls begin meanwhile */
			error = adsm_conflict_wait(&call->conflict);
	} while (waits && !error);
	adsm_conflict_end(&call->conflict);
	if (!error)
		adsm_note_call(call->bound.home->index, name, seq, start);
	adsm_because(ADSM_WHY_OTHER, NULL, "");
	return error;
}

int adsm_call_commands(struct adsm_home *home, const struct adsm_driver_use *uses, size_t n, adsm_starter *start,
		       void *arg, void *queue, bool coalesce)
{
	struct call call;
	int error;

	adsm_io_look_back(ADSM_STACK());
	error = adsm_bind_uses(&call.bound, home, uses, n);
	call.lane = 0;
	call.where = NULL;
	call.queue = queue;
	call.coalesce = coalesce;
	call.start = start;
	call.start_arg = arg;
	if (!error)
		error = enter_in_turn(&call);
	adsm_bind_end(&call.bound);
	return error;
}

/* What the program calls. */
struct launched {
	const struct adsm_call_args *call;
	const void *where;		/* the caller's code address */
	const struct adsm_interval *interval;	/* NULL: the whole grid */
	bool moves;			/* the thread is between adsm_moves_begin() and adsm_moves_end() */
};

/* Is the device lost, but not this thread's? Then objects that the host has can still move. */
static bool can_run_elsewhere(const struct adsm_home *home)
{
	struct adsm_home *own;

	return home && atomic_load(&home->device->lost) && !adsm_home_get(ADSM_DEVICE_CURRENT, &own) &&
		!atomic_load(&own->device->lost);
}

/*
 * Make a call on @home, where the objects of other devices move; NULL: on the home of the objects. Then -EXDEV, without
 * a sentence: they have different homes, or their home was lost and this thread's device is another one. -EAGAIN,
 * without a sentence and not if launched->moves: as from adsm_bind_resident().
 */
static int call_on(struct adsm_home *home, const struct launched *launched)
{
	const struct adsm_call_args *args = launched->call;
	adsmKernel *kernel = args->kernel;
	struct call call;
	struct adsm_launch launch = { 0 };
	struct kernel_start start = { .launch = &launch };
	int error;

	error = adsm_bind(&call.bound, home, kernel, args->args, args->n_args);
	if (!error)
		error = adsm_call_check(kernel->info, call.bound.home, args->grid, args->block, &launch);
	/* The call will not run on the device of its first object, so it must not wait for room there. */
	if (!error && call.bound.mixed && adsm_bound_is_own(&call.bound))
		error = -EXDEV;
	if (!error)
		error = adsm_queue_enter(call.bound.home);
	if (!error && home && !launched->interval)
		error = adsm_moves_gather(&call.bound, launched->where);
	if (launched->interval) {
		call.bound.replicas = true;
		launch.first_block = launched->interval->first_block;
		launch.n_blocks = launched->interval->n_blocks;
	}
	launch.name = kernel->info->name;
	launch.counted = adsm_observes(ADSM_OBSERVE_REPORT | ADSM_OBSERVE_TRACE);
	launch.traced = adsm_observes(ADSM_OBSERVE_TRACE);
	launch.advised = adsm_observes(ADSM_OBSERVE_ADVICE);
	launch.n_args = call.bound.n_args;
	call.bound.launch = &launch;
	call.bound.yields = !launched->moves;
	launch.args = call.bound.args;
	start.home = call.bound.home;
	/* What waits for the program, or for other kernels, has one order. */
	if (!error && !call.bound.n_onces && !kernel->info->services && !kernel->info->task)
		launch.lane = adsm_queue_lane(call.bound.home);
	call.lane = launch.lane;
	call.where = launched->where;
	call.queue = NULL;
	call.coalesce = false;
	call.start = start_kernel;
	call.start_arg = &start;
	if (!error)
		error = enter_in_turn(&call);
	adsm_bind_end(&call.bound);
	if (!error)
		adsm_count(NULL, const_bytes, call.bound.const_bytes);
	if (error == -ENODEV && !home && can_run_elsewhere(call.bound.home))
		return -EXDEV;
	return error;
}

/* Choose the device of a call. *@ret_home: NULL if no object has to move. */
static int choose(const struct launched *launched, struct adsm_home **ret_home)
{
	struct adsm_bound bound;
	int error = adsm_bind(&bound, NULL, launched->call->kernel, launched->call->args, launched->call->n_args);

	*ret_home = error ? NULL : adsm_choose(&bound);
	adsm_bind_end(&bound);
	return error;
}

/* Make a call on @home, where all of its objects move, or are copied. */
static int call_moving(struct adsm_home *home, struct launched *launched)
{
	int error;

	adsm_moves_begin();
	launched->moves = true;
	do
		error = call_on(home, launched);
	while (error == -EXDEV);	/* an object was freed meanwhile, and another one is at its address */
	launched->moves = false;
	adsm_moves_end(home);
	return error;
}

/* Make a call on the home of its objects. Returns -EXDEV like call_on(). */
static int call_there(struct launched *launched)
{
	int error = call_on(NULL, launched);

	if (error != -EAGAIN)
		return error;
	/* Others keep the memory that it needs. When it is this thread's turn, none of them does. */
	adsm_moves_begin();
	launched->moves = true;
	error = call_on(NULL, launched);
	launched->moves = false;
	adsm_moves_end(&adsm_homes[0]);
	return error;
}

int adsm_call_admit(adsmKernel *kernel)
{
	if (!kernel || !adsm_kernel_is_live(kernel))
		return adsm_fail(-EINVAL, "%p is not a kernel of a loaded module", (void *)kernel);
	adsm_calls_renew();
	return adsm_caller_get(adsm_calls.id) ? 0 :
		adsm_fail(-ENOMEM, "no memory for the calls of one more thread");
}

int adsm_call_part(struct adsm_home *home, const struct adsm_call_args *call, const struct adsm_interval *interval,
		   const void *where)
{
	const struct launched launched = { call, where, interval, true };
	int error = call_on(home, &launched);

	return error != -EXDEV ? error : adsm_fail(-EINVAL, "kernel '%s': an object that the call uses was freed "
						   "meanwhile", call->kernel->info->name);
}

int adsm_call(adsmKernel *kernel, adsmDim grid, adsmDim block, const adsmArg *args, size_t n, const void *where)
{
	const struct adsm_call_args call = { kernel, grid, block, args, n };
	struct launched launched = { &call, where, NULL, false };
	struct adsm_home *home;
	int error = adsm_call_admit(kernel);

	if (error)
		return error;
	if (adsm_home_any()) {
		error = choose(&launched, &home);
		if (error || home)
			return error ? error : call_moving(home, &launched);
	}
	error = call_there(&launched);
	if (error != -EXDEV)
		return error;
	error = adsm_home_get(ADSM_DEVICE_CURRENT, &home);
	return error ? error : call_moving(home, &launched);
}
