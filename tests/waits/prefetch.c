/* SPDX-License-Identifier: MIT */
/* prefetch.c - prefetches: the thread that does them, threads that request them and wait for their ends, the stop. */
#include "step.h"

/* Times are only summed up here. */
#define adsm_os_now_ns() UINT64_C(1)

/* The fewer results are kept, the smaller is a state. */
#include "run/copy/prefetcher.h"
#undef ADSM_PREFETCHES_KEPT
#define ADSM_PREFETCHES_KEPT 2
#include "lib/run/copy/prefetcher.c"

struct adsm_home adsm_homes[ADSM_MAX_DEVICES];
struct adsm_life adsm_life;
_Thread_local struct adsm_spent adsm_spent;
uint64_t adsm_start_ns = 1;
_Atomic uint64_t adsm_most_spent_ns;

STEP_HAS_NEVER
STEP_NEVER(adsm_enter_range)
STEP_NEVER(adsm_home_get)
STEP_NEVER(adsm_home_reason)
STEP_NEVER(adsm_object_why_fixed)
STEP_NEVER(adsm_os_thread_start)

static struct prefetcher prefetcher;
static struct adsm_prefetch prefetches[3];
static unsigned n_made, n_run;		/* n_made: guarded by the lock */

void adsm_home_lock(struct adsm_home *home, struct adsm_sigset *ret_old)
{
	adsm_lock(&home->lock);
}

void adsm_home_unlock(struct adsm_home *home, const struct adsm_sigset *old)
{
	adsm_unlock(&home->lock);
}

int adsm_prefetch_run(struct adsm_prefetch *prefetch)
{
	STEP_CHECK(prefetch == &prefetches[n_run]);
	n_run++;
	return 0;
}

static uint64_t ask(void)
{
	uint64_t number;

	adsm_lock(&adsm_homes[0].lock);
	number = give(&prefetcher, &prefetches[n_made++]);
	adsm_unlock(&adsm_homes[0].lock);
	adsm_os_poke(&prefetcher.given_word);
	return number;
}

static void ask_and_wait(void *arg)
{
	for (uintptr_t i = 0; i < (uintptr_t)arg; i++) {
		uint64_t number = ask();

		STEP_CHECK(!adsm_prefetch_wait(event_of(&adsm_homes[0], TO_HOST, number)));
		STEP_CHECK(n_run >= number);
	}
}

static void run_thread(void *arg)
{
	run_prefetcher(&prefetcher);
}

/* As adsm_prefetchers_stop() does. */
static void ask_and_stop(void *arg)
{
	ask();
	atomic_store(&prefetcher.stop, true);
	adsm_os_poke(&prefetcher.given_word);
}

static void make(void)
{
	n_made = n_run = 0;
	for (size_t i = 0; i < sizeof(prefetches) / sizeof(prefetches[0]); i++)
		prefetches[i] = (struct adsm_prefetch){ .home = &adsm_homes[0] };
	prefetcher = (struct prefetcher){ .home = &adsm_homes[0] };
	adsm_homes[0] = (struct adsm_home){ 0 };
	atomic_init(&prefetchers[0][TO_HOST], &prefetcher);
	step_constant(adsm_homes + 1, sizeof(adsm_homes) - sizeof(adsm_homes[0]));
}

static bool all_are_done(void)
{
	return n_run == n_made;
}

static void start_waiters(void)
{
	make();
	step_thread("prefetcher", run_thread, NULL, STEP_SERVER);
	step_thread("program", ask_and_wait, (void *)1, 0);
	step_thread("other", ask_and_wait, (void *)1, 0);
}

static void start_stop(void)
{
	make();
	step_thread("prefetcher", run_thread, NULL, 0);
	step_thread("program", ask_and_stop, NULL, 0);
}

int main(int argc, char **argv)
{
	static const struct step_scenario scenarios[] = {
		{ .name = "prefetches and their waiters", .start = start_waiters, .settled = all_are_done,
		  .signals = 1 },
		{ .name = "the stop", .start = start_stop, .settled = all_are_done, .signals = 1 },
		{ .name = NULL },
	};

	return step_main(argc, argv, scenarios);
}
