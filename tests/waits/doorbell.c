/* SPDX-License-Identifier: MIT */
/* doorbell.c - how nodes on one machine wake each other: first a message is sent, then the doorbell rings. */
#include "step.h"

#include "backends/cluster/node/net/doorbell.c"

static struct doorbell two_doorbells[2];
static struct doorbell *by_rank[2] = { &two_doorbells[0], &two_doorbells[1] };
static _Atomic int letters;

static void send(void *arg)
{
	for (uintptr_t i = 0; i < (uintptr_t)arg; i++) {
		atomic_fetch_add(&letters, 1);
		adsm_doorbell_ring(1);
	}
}

/* As adsm_comm_rest() does: the doorbell's count is read before the messages are checked. */
static void receive(void *arg)
{
	int n = 0;

	while (n < (intptr_t)arg) {
		const uint32_t count = adsm_doorbell_count();
		const int now = atomic_load(&letters);

		if (now == n)
			adsm_doorbell_sleep(count, 1);
		n = now;
	}
}

static void start(void)
{
	memset(two_doorbells, 0, sizeof(two_doorbells));
	doorbells = by_rank;
	mine = &two_doorbells[1];
	atomic_init(&letters, 0);
	step_thread("node 0", send, (void *)2, 0);
	step_thread("its thread", send, (void *)1, 0);
	step_thread("node 1", receive, (void *)3, 0);
}

int main(int argc, char **argv)
{
	static const struct step_scenario scenarios[] = {
		{ .name = "letters", .start = start, .time = STEP_NO_TIME, .signals = 1 },
		{ .name = NULL },
	};

	return step_main(argc, argv, scenarios);
}
