/* SPDX-License-Identifier: MIT */
/*
 * at_exit.c - the end of the process, if a driver ends in a handler of exit() that it registered at its initialization.
 * Handlers of the program that were registered before, and destructors, run after that. For them, bytes that only the
 * device has are fetched just before.
 *
 * A signal handler may have called exit(), and may have interrupted the driver. So other threads (the copiers) call the
 * driver, and every wait has a time limit.
 */
#include <stdlib.h>

#include "start/at_exit.h"
#include "base/log.h"
#include "core/objects.h"
#include "core/copier.h"
#include "core/life.h"
#include "run/wait/wait.h"

#define CALLS_NS ((uint64_t)1000000000)		/* for calls that run, on all devices together */
#define FETCH_NS ((uint64_t)5000000000)		/* for the fetches from one device */
#define FETCH_BYTES ((size_t)256 << 20)		/* from all devices */
#define RUN_BYTES ((size_t)16 << 20)		/* fetched in one transfer */
#define WHY "the driver has ended with the process"

static _Atomic size_t left = FETCH_BYTES;

/* Is the object to be fetched? The program reads its own memory by copies, so that memory only counts if the CPU has
 * touched it before. */
static bool is_wanted(const struct adsm_object *object)
{
	const struct adsm_counters *c = &object->counters;

	return object->live && !object->freeing && !object->device_only && adsm_blocks_n_lacking(&object->blocks) &&
		!adsm_object_lost(object) &&
		(!object->adopted || atomic_load(&c->signals) || atomic_load(&c->read_faults) ||
		 atomic_load(&c->write_faults));
}

/* The next object from slot @at on, with its home locked; NULL: there is none. */
static struct adsm_object *next_wanted(struct adsm_home *home, uint32_t *at, struct adsm_sigset *ret_old)
{
	struct adsm_object *object;

	while ((object = adsm_object_slot((*at)++))) {
		if (adsm_object_home(object) != home)
			continue;
		adsm_home_lock(home, ret_old);
		if (adsm_object_is_at(object, home) && is_wanted(object))
			return object;
		adsm_home_unlock(home, ret_old);
	}
	return NULL;
}

/* Can the block be fetched now, without a wait? A thread that works on it may only continue after this handler. */
static bool is_ready(const struct adsm_object *object, uint32_t b)
{
	return adsm_blocks_lack(&object->blocks, b) && !adsm_block_blocked(object, b) &&
		!adsm_block_must_wait(object, b, ADSM_EVENT_READ);
}

/* How many blocks from @b on can be fetched in one transfer, within the limits. */
static uint32_t run_of(const struct adsm_object *object, uint32_t b)
{
	size_t most = atomic_load(&left);
	uint32_t n = 0;

	while (b + n < object->blocks.n && is_ready(object, b + n) && adsm_run_size(object, b, n + 1) <= most &&
	       (!n || adsm_run_size(object, b, n + 1) <= RUN_BYTES))
		n++;
	return n;
}

/* The lock is given back meanwhile, and the object may be freed. */
static void fetch_object(struct adsm_object *object, uint64_t until)
{
	uint64_t generation = object->generation;
	int error = 0;

	for (uint32_t b = 0; !error && object->live && object->generation == generation && b < object->blocks.n;) {
		uint32_t n = adsm_os_now_ns() < until ? run_of(object, b) : 0;

		if (n) {
			atomic_fetch_sub(&left, adsm_run_size(object, b, n));
			error = adsm_blocks_access(object, b, n, ADSM_EVENT_READ, false);
		}
		b += n ? n : 1;
	}
}

struct work {
	struct adsm_home *home;
	uint64_t until;
};

/* Does all of the object fit into the limit? Such objects come first. */
static bool fits(const struct adsm_object *object)
{
	uint32_t n = adsm_blocks_n_lacking(&object->blocks);

	return (n == object->blocks.n ? object->size : (size_t)n << object->blocks.shift) <= atomic_load(&left);
}

static int fetch_home(void *arg)
{
	const struct work *work = arg;
	struct adsm_object *object;
	struct adsm_sigset old;

	for (int all = 1; all >= 0; all--)
		for (uint32_t at = 0; (object = next_wanted(work->home, &at, &old));) {
			if (!all || fits(object))
				fetch_object(object, work->until);
			adsm_home_unlock(work->home, &old);
		}
	return 0;
}

/* Wait for calls that run: what they may write can only be fetched afterwards. */
static void wait_for_calls(struct adsm_home *home, uint64_t until)
{
	struct adsm_object *object;
	struct adsm_sigset old;
	uint32_t at = 0;
	uint64_t seq;

	object = next_wanted(home, &at, &old);
	if (!object)
		return;
	seq = home->last_seq;
	adsm_home_unlock(home, &old);
	if (!adsm_wait_calls_until(home, seq, until))
		adsm_info("exit(): device %d still runs a call: the library does not fetch the objects that the call "
			  "may write", home->index);
}

static void at_exit(void)
{
	static struct work works[ADSM_MAX_DEVICES];	/* a copier may still use it after the time limit */
	uint64_t calls_until = adsm_os_now_ns() + CALLS_NS;

	for (int i = 0; adsm_started() && i < adsm_n_homes; i++) {
		struct adsm_home *home = &adsm_homes[i];

		if (!home->device->caps.ends_at_exit)
			continue;
		wait_for_calls(home, calls_until);
		works[i] = (struct work){ home, adsm_os_now_ns() + FETCH_NS };
		if (!adsm_copier_run_until(home, fetch_home, &works[i], works[i].until))
			adsm_info("exit(): fetching from device %d takes too long: the library does not fetch the rest",
				  home->index);
		home->device->backend->driver->end(home->device, WHY, false);
	}
}

void adsm_at_exit_watch(void)
{
	static atomic_flag registered = ATOMIC_FLAG_INIT;

	if (!atomic_flag_test_and_set(&registered))
		atexit(at_exit);
}
