/* SPDX-License-Identifier: MIT */
/* lock.c - the lock of os.h. */
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
		atomic_load(&lock.word);	/* a step of whoever has the lock */
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

int main(int argc, char **argv)
{
	static const struct step_scenario scenarios[] = {
		{ .name = "three threads", .start = start_three, .signals = 1 },
		{ .name = NULL },
	};

	return step_main(argc, argv, scenarios);
}
