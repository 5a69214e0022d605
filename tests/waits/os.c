/* SPDX-License-Identifier: MIT */
/* os.c - waits of os.h: the lock, and a flag that is raised once. */
#define STEP_REAL_LOCKS
#include "step.h"

#include "lib/base/os_lock.c"

static struct adsm_lock lock = ADSM_LOCK_INIT(0);
static int inside;

static void enter(void *arg)
{
	for (uintptr_t i = 0; i < (uintptr_t)arg; i++) {
		adsm_lock(&lock);
		STEP_CHECK(!inside++);
		atomic_load(&lock.word);	/* a step of the thread that holds the lock */
		inside--;
		adsm_unlock(&lock);
	}
}

static void start_three(void)
{
	step_thread("one", enter, (void *)2, 0);
	step_thread("two", enter, (void *)2, 0);
	step_thread("three", enter, (void *)1, 0);
}

static _Atomic uint32_t flag;
static bool happened;

static void await(void *arg)
{
	adsm_os_await(&flag, false);
	STEP_CHECK(happened);
}

static void raise_it(void *arg)
{
	happened = true;
	adsm_os_raise(&flag, false);
}

static void start_flag(void)
{
	atomic_init(&flag, 0);
	happened = false;
	step_thread("waiter", await, NULL, 0);
	step_thread("other", await, NULL, 0);
	step_thread("raiser", raise_it, NULL, 0);
}

int main(int argc, char **argv)
{
	static const struct step_scenario scenarios[] = {
		{ .name = "three threads", .start = start_three, .signals = 1 },
		{ .name = "a flag", .start = start_flag, .signals = 2 },
		{ .name = NULL },
	};

	return step_main(argc, argv, scenarios);
}
