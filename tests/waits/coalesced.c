/* SPDX-License-Identifier: MIT */
/* coalesced.c - one call for many commands of the program: the thread that closes it waits for threads inside. */
#include "step.h"

/* Times are only summed up here. */
#define adsm_os_now_ns() UINT64_C(1)

#include "lib/core/home.c"
#include "lib/run/wait/coalesced.c"
#include "lib/run/wait/pending.c"

struct adsm_protocol_options adsm_protocol_options = { .evict_batch = 2 };
_Thread_local struct adsm_spent adsm_spent;
uint64_t adsm_start_ns = 1;
_Atomic uint64_t adsm_most_spent_ns;
static struct adsm_home *home = &adsm_homes[0];
static struct adsm_pending *pending = &adsm_pendings[0];
static struct adsm_device device_;
static int n_in_driver, n_joined;

struct adsm_block *adsm_policy_victim(const struct adsm_policies *policies, bool started)
{
	return NULL;
}

/* No thread may be giving a command at this time. */
static int queue_join(struct adsm_device *device, void *const *queues, size_t n, struct adsm_device_event *ret_event)
{
	STEP_CHECK(!n_in_driver);
	n_joined++;
	*ret_event = (struct adsm_device_event){ 0, 1 };
	return 0;
}

static const struct adsm_driver_ops driver = { .queue_join = queue_join };
static const struct adsm_backend backend = { .driver = &driver };

static void give(void *queue)
{
	bool enters = adsm_coalesced_enter(home, queue);

	if (!enters)
		return;
	n_in_driver++;
	step_at(NULL, "", 0, "is in the driver");
	n_in_driver--;
	adsm_coalesced_leave(home, queue, true);
}

static void end_it(void *arg)
{
	STEP_CHECK(!adsm_coalesced_end(home));
}

static bool is_joined_once(void)
{
	return n_joined == 1 && !pending->coalesced.seq;
}

static void make_home(void)
{
	struct adsm_coalesced *c = &pending->coalesced;

	*home = (struct adsm_home){ .device = &device_ };
	memset(adsm_pendings, 0, sizeof(adsm_pendings));
	device_.backend = &backend;
	n_in_driver = n_joined = 0;
	home->last_seq = 1;
	pending->calls[1] = (struct adsm_call){ .seq = 1 };
	adsm_coalesced_begin(home, (void *)8, 1);
	step_constant(pending->calls + 2, sizeof(pending->calls) - 2 * sizeof(pending->calls[0]));
	step_constant(pending->outcomes, sizeof(pending->outcomes));
	step_constant(adsm_pendings + 1, sizeof(adsm_pendings) - sizeof(adsm_pendings[0]));
	step_constant(adsm_homes + 1, sizeof(adsm_homes) - sizeof(adsm_homes[0]));
	step_constant(c->queues + 3, sizeof(c->queues) - 3 * sizeof(c->queues[0]));
	step_plain(c->queues + 3, sizeof(c->queues) - 3 * sizeof(c->queues[0]));
}

static void start_coalesced(void)
{
	make_home();
	step_thread("program", give, (void *)8, 0);
	step_thread("other", give, (void *)16, 0);
	step_thread("toucher", end_it, NULL, 0);
}

static void start_two(void)
{
	make_home();
	step_thread("program", give, (void *)8, 0);
	step_thread("toucher", end_it, NULL, 0);
	step_thread("syncer", end_it, NULL, 0);
}

int main(int argc, char **argv)
{
	static const struct step_scenario scenarios[] = {
		{ .name = "two give commands", .start = start_coalesced, .settled = is_joined_once, .signals = 1 },
		{ .name = "two end the call", .start = start_two, .settled = is_joined_once, .signals = 1 },
		{ .name = NULL },
	};

	return step_main(argc, argv, scenarios);
}
