/* SPDX-License-Identifier: MIT */
/* bell.c - how nodes on one machine wake each other: first a message is sent, then the bell rings. */
#include "step.h"

#include "backends/cluster/node/net/bell.c"

static struct bell two_bells[2];
static struct bell *by_rank[2] = { &two_bells[0], &two_bells[1] };
static _Atomic int letters;

static void send(void *arg)
{
	for (uintptr_t i = 0; i < (uintptr_t)arg; i++) {
		atomic_fetch_add(&letters, 1);
		adsm_bell_ring(1);
	}
}

/* As adsm_comm_rest() does: the bell's count is read before the messages are checked. */
static void receive(void *arg)
{
	int n = 0;

	while (n < (intptr_t)arg) {
		const uint32_t count = adsm_bell_count();
		const int now = atomic_load(&letters);

		if (now == n)
			adsm_bell_sleep(count, 1);
		n = now;
	}
}

static void start_bell(void)
{
	memset(two_bells, 0, sizeof(two_bells));
	bells = by_rank;
	mine = &two_bells[1];
	atomic_init(&letters, 0);
	step_thread("node 0", send, (void *)2, 0);
	step_thread("its thread", send, (void *)1, 0);
	step_thread("node 1", receive, (void *)3, 0);
}

int main(int argc, char **argv)
{
	static const struct step_scenario scenarios[] = {
		{ .name = "letters", .start = start_bell, .time = STEP_NO_TIME, .signals = 1 },
		{ .name = NULL },
	};

	return step_main(argc, argv, scenarios);
}
