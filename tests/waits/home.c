/* SPDX-License-Identifier: MIT */
/*
 * home.c - waits on a home: its tick; the evictor, the copier and the watcher; waits for calls, with a device that must
 * not be asked in a fault; and touches, which go before new calls.
 */
#include "step.h"

/* Times are only summed up here. */
#define adsm_os_now_ns() UINT64_C(1)

#include "lib/core/home.c"
#include "lib/core/copier.c"
#include "lib/run/wait/helpers.c"
#include "lib/run/wait/pending.c"
#include "lib/run/wait/wait.c"

/* ---- simple versions of other parts of the library */

struct adsm_counters adsm_total;
unsigned adsm_observing;
const struct adsm_observer *adsm_observer;
uint64_t adsm_start_ns = 1;
_Atomic uint64_t adsm_most_spent_ns;
_Thread_local struct adsm_spent adsm_spent;
_Thread_local int adsm_in_fault;
_Thread_local bool adsm_serving;
_Thread_local struct adsm_cause adsm_cause;
struct adsm_protocol_options adsm_protocol_options = { .evict_batch = 2 };


void adsm_set_cause(enum adsm_why why, const void *where, const char *name)
{
}

int adsm_coalesced_end(struct adsm_home *of)
{
	return 0;
}

void adsm_caller_failed(struct adsm_caller *caller, uint64_t thread, int device, int error_, const char *why)
{
}

static struct adsm_home *home = &adsm_homes[0];
static struct adsm_pending *pending = &adsm_pendings[0];
static struct adsm_device device_;
static int n_queued, n_sent;		/* blocks; guarded by the lock */
static _Atomic uint64_t device_done[2];	/* calls of each lane that have ended on the device */
static bool flag;			/* guarded by the lock */

struct adsm_block *adsm_policy_victim(const struct adsm_policies *policies, bool started)
{
	return NULL;
}

bool adsm_fetch_ahead(struct adsm_home *of)
{
	return false;
}

bool adsm_evict_batch(struct adsm_home *of, bool started)
{
	return false;
}

static void queue_block(void)
{
	n_queued++;
	home->sends.queued.oldest = (struct adsm_block *)1;
}

/* The lock is not held while bytes move. */
bool adsm_send_queued(struct adsm_home *of)
{
	if (!n_queued)
		return false;
	if (!--n_queued)
		home->sends.queued.oldest = NULL;
	adsm_unlock(&home->lock);
	adsm_lock(&home->lock);
	n_sent++;
	adsm_home_notify(home);
	return true;
}

static int event_query(struct adsm_device *device, struct adsm_device_event event, int *ret_status)
{
	*ret_status = 0;
	return atomic_load(&device_done[event.queue]) >= event.seq;
}

static bool event_has_ended(void *arg)
{
	const struct adsm_device_event *event = arg;

	return device_done[event->queue] >= event->seq;
}

static int event_wait(struct adsm_device *device, struct adsm_device_event event, int *ret_status)
{
	if (!event.seq)
		return -EINVAL;
	step_await(event_has_ended, &event);
	*ret_status = 0;
	return 0;
}

static int event_times(struct adsm_device *device, struct adsm_device_event event, struct adsm_span *ret_span)
{
	return -ENOTSUP;
}

static const char *event_failure(struct adsm_device *device, struct adsm_device_event event)
{
	return NULL;
}

static int status(struct adsm_device *device)
{
	return 0;
}

static const struct adsm_backend backend = {
	.event_query = event_query, .event_wait = event_wait, .event_times = event_times,
	.event_failure = event_failure, .status = status,
};

static void make_home(bool has_service)
{
	n_queued = n_sent = 0;
	flag = false;
	*home = (struct adsm_home){ .device = &device_, .has_service = has_service, .n_lanes = 2 };
	for (unsigned i = 0; i < 2; i++) {
		home->watchers[i].home = home;
		home->watchers[i].lane = i;
	}
	device_.backend = &backend;
	atomic_init(&device_done[0], 0);
	atomic_init(&device_done[1], 0);
	adsm_n_homes = 1;
	memset(adsm_pendings, 0, sizeof(adsm_pendings));
	step_constant(pending->calls + 3, sizeof(pending->calls) - 3 * sizeof(pending->calls[0]));
	step_constant(pending->outcomes + 3, sizeof(pending->outcomes) - 3 * sizeof(pending->outcomes[0]));
	step_constant(pending->failures, sizeof(pending->failures));
	step_constant(adsm_pendings + 1, sizeof(adsm_pendings) - sizeof(adsm_pendings[0]));
	step_constant(adsm_homes + 1, sizeof(adsm_homes) - sizeof(adsm_homes[0]));
}

/* ---- the tick, and the evictor */

static void wait_for_flag(void *arg)
{
	adsm_lock(&home->lock);
	while (!flag)
		adsm_home_wait(home);
	adsm_home_leave(home, NULL);
}

/* As a call does that waits until an earlier one has begun (run/call/conflict.c). */
static void look_for_flag(void *arg)
{
	uint32_t tick;
	bool set;

	do {
		adsm_lock(&home->lock);
		tick = atomic_load(&home->tick);
		set = flag;
		adsm_home_leave(home, NULL);
		if (!set)
			adsm_wait_tick(home, tick);
	} while (!set);
}

static void set_flag(void *arg)
{
	adsm_lock(&home->lock);
	flag = true;
	adsm_home_notify(home);
	adsm_home_leave(home, NULL);
}

static void start_tick(void)
{
	make_home(false);
	step_thread("waiter", wait_for_flag, NULL, 0);
	step_thread("other", look_for_flag, NULL, 0);
	step_thread("notifier", set_flag, NULL, 0);
}

static void evict(void *arg)
{
	run_evictor(home);
}

static void write_blocks(void *arg)
{
	for (uintptr_t i = 0; i < (uintptr_t)arg; i++) {
		adsm_lock(&home->lock);
		queue_block();
		adsm_home_leave(home, NULL);
	}
}

static bool all_is_sent(void)
{
	return !n_queued;
}

static void start_evictor(void)
{
	make_home(false);
	step_thread("evictor", evict, NULL, STEP_SERVER);
	step_thread("writer", write_blocks, (void *)2, 0);
	step_thread("other", write_blocks, (void *)1, 0);
}

/* The thread that has queued a block waits for it, without releasing the lock in between. */
static void write_and_wait(void *arg)
{
	int n;

	adsm_lock(&home->lock);
	n = n_sent;
	queue_block();
	while (n_sent == n)
		adsm_home_wait(home);
	adsm_home_leave(home, NULL);
}

static void start_own(void)
{
	make_home(false);
	step_thread("evictor", evict, NULL, STEP_SERVER);
	step_thread("writer", write_and_wait, NULL, 0);
	step_thread("other", write_blocks, (void *)1, 0);
}

static void stop_evictor(void *arg)
{
	write_blocks((void *)1);
	atomic_store(&home->stop, true);
	adsm_os_poke(&home->evict_word);
}

static void start_stop(void)
{
	make_home(false);
	step_thread("evictor", evict, NULL, 0);
	step_thread("stopper", stop_evictor, NULL, 0);
}

/* ---- the copier */

static void copy(void *arg)
{
	run_copier(home);
}

static int run_copy(void *arg)
{
	++*(int *)arg;
	return 0;
}

static void ask_for_copy(void *arg)
{
	int n = 0;

	STEP_CHECK(!adsm_copier_run(home, run_copy, &n));
	STEP_CHECK(n == 1);
}

struct adsm_os_look adsm_os_look_at(int thread_id)
{
	return (struct adsm_os_look){ 0, 0 };
}

static void start_copier(void)
{
	make_home(true);
	step_thread("copier", copy, NULL, STEP_SERVER);
	step_thread("toucher", ask_for_copy, NULL, 0);
	step_thread("other", ask_for_copy, NULL, 0);
}

/* ---- calls, and touches that wait for them */

static void watch(void *arg)
{
	run_watcher(arg ? arg : &home->watchers[0]);
}

static void run_device(void *arg)
{
	for (uintptr_t i = 0; i < (uintptr_t)arg; i++)
		atomic_fetch_add(&device_done[0], 1);
}

/* As note_call() in run/call/call.c does. */
static void make_call(unsigned lane)
{
	adsm_lock(&home->lock);
	home->last_seq++;
	*adsm_pending_call(home, home->last_seq) = (struct adsm_call){
		.seq = home->last_seq, .lane = lane, .event = { lane, home->last_seq }
	};
	adsm_home_leave(home, NULL);
}

static bool call_is_made(void *arg)
{
	return home->last_seq;
}

static void touch(void *arg)
{
	step_await(call_is_made, NULL);
	while (!adsm_call_ended(home, 1))
		adsm_touch_wait(home, 1);
	adsm_touch_end();
}

static void sync_call(void *arg)
{
	make_call(0);
	STEP_CHECK(!adsm_wait_calls_to(home, 1));
}

/* Only the watcher asks the device whether this call has ended. */
static void only_call(void *arg)
{
	make_call(0);
}

/* Two lanes: a touch waits for the second call, and the first one never ends. */
static void touch_second(void *arg)
{
	make_call(1);
	while (!adsm_call_ended(home, 2))
		adsm_touch_wait(home, 2);
	adsm_touch_end();
}

static void end_second(void *arg)
{
	atomic_store(&device_done[1], 2);
}

static void start_lanes(void)
{
	make_home(true);
	home->last_seq = 1;
	pending->calls[1] = (struct adsm_call){ .seq = 1, .event = { 0, 1 } };
	step_thread("watcher", watch, &home->watchers[1], STEP_SERVER);
	step_thread("device", end_second, NULL, 0);
	step_thread("toucher", touch_second, NULL, 0);
}

static void start_touch(void)
{
	make_home(true);
	step_thread("watcher", watch, NULL, STEP_SERVER);
	step_thread("device", run_device, (void *)1, 0);
	step_thread("toucher", touch, NULL, 0);
	step_thread("program", only_call, NULL, 0);
}

static void start_sync(void)
{
	make_home(true);
	step_thread("watcher", watch, NULL, STEP_SERVER);
	step_thread("device", run_device, (void *)1, 0);
	step_thread("toucher", touch, NULL, 0);
	step_thread("program", sync_call, NULL, 0);
}

int main(int argc, char **argv)
{
	static const struct step_scenario scenarios[] = {
		{ .name = "the tick", .start = start_tick, .signals = 1 },
		{ .name = "the evictor", .start = start_evictor, .settled = all_is_sent, .signals = 1 },
		{ .name = "a writer waits for the evictor", .start = start_own, .settled = all_is_sent, .signals = 1 },
		{ .name = "the evictor stops", .start = start_stop, .signals = 1 },
		{ .name = "the copier", .start = start_copier, .time = STEP_NO_TIME, .signals = 1 },
		{ .name = "a touch waits for a call", .start = start_touch, .signals = 1 },
		{ .name = "a touch waits for the later call of another lane", .start = start_lanes, .signals = 1 },
		{ .name = "a touch and a sync wait for a call", .start = start_sync, .signals = 1 },
		{ .name = NULL },
	};

	return step_main(argc, argv, scenarios);
}
