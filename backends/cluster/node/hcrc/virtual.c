/* SPDX-License-Identifier: MIT */
/* virtual.c - see virtual.h. */
#include "virtual.h"

#include "base/os.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

/* Times are in nanoseconds, rates in bytes per microsecond. */
struct costs {
	uint64_t message_ns, network;	/* between nodes */
	uint64_t mailbox_ns, dma;	/* between a core and its node, in each direction */
	uint64_t compute;		/* factor for the time of computing on this machine */
};

static const struct costs all_costs[] = {
	/* COMIC++, Table 4: messages of a PlayStation 3. A Cell core is assumed to have a tenth of the speed of a
	 * current one. */
	[ADSM_CLUSTER_VIRTUAL_CELL] = { 148300, 57, 136, 12000, 10 },
	[ADSM_CLUSTER_VIRTUAL_MODERN] = { 1500, 12000, 136, 12000, 1 },
};

static struct {
	const struct costs *costs;	/* NULL: no virtual time */
	uint64_t now;			/* time of the current event */
	uint64_t latest;
	struct {
		uint64_t clock, cpu;	/* cpu: processor time when it began to compute */
		uint64_t woken;
	} workers[ADSM_HCRC_WORKERS_MAX];
	uint64_t arrived, back;		/* the last worker at the barrier; the last page sent back */
	uint64_t all_arrived;		/* for the manager: the last arrival at the barrier */
	/* When each lock became free, on this node and for the manager; behind the locks, other releases. */
	uint64_t *locks;
	uint64_t *flags;		/* for the manager: when each flag was set */
	uint32_t n_locks, n_releases, n_flags;
} virtual;

static uint64_t max_time(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t cpu_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* An event happens at this time. */
static void happen(uint64_t at)
{
	virtual.now = at;
	virtual.latest = max_time(virtual.latest, at);
}

static uint64_t transfer(uint64_t size, uint64_t bytes_in_us)
{
	return size * 1000 / bytes_in_us;
}

void adsm_virtual_start(enum adsm_cluster_virtual costs)
{
	virtual.costs = costs ? &all_costs[costs] : NULL;
}

void adsm_virtual_begin(uint32_t n_locks, uint32_t n_releases, uint32_t n_flags)
{
	if (!virtual.costs)
		return;
	virtual.now = virtual.latest = virtual.arrived = virtual.back = virtual.all_arrived = 0;
	memset(virtual.workers, 0, sizeof(virtual.workers));
	virtual.n_locks = n_locks;
	virtual.n_releases = n_releases;
	virtual.n_flags = n_flags;
	virtual.locks = adsm_os_table(n_releases * sizeof(*virtual.locks));
	virtual.flags = adsm_os_table(n_flags * sizeof(*virtual.flags));
}

void adsm_virtual_end(void)
{
	if (virtual.locks)
		munmap(virtual.locks, virtual.n_releases * sizeof(*virtual.locks));
	if (virtual.flags)
		munmap(virtual.flags, virtual.n_flags * sizeof(*virtual.flags));
	virtual.locks = virtual.flags = NULL;
}

void adsm_virtual_request(uint32_t worker, size_t size)
{
	const uint64_t cpu = virtual.costs ? cpu_ns() : 0, began = virtual.workers[worker].cpu;

	if (!virtual.costs)
		return;
	if (began)
		virtual.workers[worker].clock += (cpu - began) * virtual.costs->compute;
	virtual.workers[worker].clock += virtual.costs->mailbox_ns + transfer(size, virtual.costs->dma);
	happen(virtual.workers[worker].clock);
}

void adsm_virtual_arrive(uint32_t worker)
{
	virtual.arrived = max_time(virtual.arrived, virtual.workers[worker].clock);
}

void adsm_virtual_wake(uint32_t worker, size_t size)
{
	if (virtual.costs)
		virtual.workers[worker].woken = virtual.now + virtual.costs->mailbox_ns +
			transfer(size, virtual.costs->dma);
}

void adsm_virtual_resume(uint32_t worker)
{
	if (!virtual.costs)
		return;
	virtual.workers[worker].clock = max_time(virtual.workers[worker].clock, virtual.workers[worker].woken);
	virtual.workers[worker].cpu = cpu_ns();
}

void adsm_virtual_lock(uint32_t worker, uint32_t lock)
{
	if (virtual.locks)
		virtual.workers[worker].woken = max_time(virtual.workers[worker].woken, virtual.locks[lock] +
							 virtual.costs->mailbox_ns);
}

void adsm_virtual_unlock(uint32_t lock)
{
	if (virtual.locks && lock < virtual.n_locks)
		virtual.locks[lock] = max_time(virtual.locks[lock], virtual.now);
}

/* When the manager answers an operation on a flag: not before the flag was set, which the real run may have done
 * earlier. */
static uint64_t flag_done(const struct adsm_hcrc_message *message)
{
	if (!virtual.locks || !virtual.flags)
		return virtual.now;
	if (message->has)
		virtual.flags[message->page] = max_time(virtual.flags[message->page],
							max_time(virtual.now, virtual.locks[message->lock]));
	return max_time(virtual.now, virtual.flags[message->page]);
}

uint64_t adsm_virtual_send(const struct adsm_hcrc_message *message)
{
	uint64_t at = virtual.now;

	if (!virtual.costs)
		return 0;
	switch (message->kind) {
	case ADSM_HCRC_ARRIVE:
		at = max_time(at, virtual.arrived);
		virtual.arrived = 0;
		break;
	case ADSM_HCRC_DEPART:
		at = max_time(at, virtual.all_arrived);
		break;
	case ADSM_HCRC_GRANT:
	case ADSM_HCRC_UNLOCK:
		if (virtual.locks)
			at = max_time(at, virtual.locks[message->lock]);
		break;
	case ADSM_HCRC_FLAG_DONE:
		at = flag_done(message);
		break;
	case ADSM_HCRC_BACK:
	case ADSM_HCRC_DONE:
		/* These are sent one after the other. */
		at = virtual.back = max_time(at, virtual.back) + transfer(message->size, virtual.costs->network);
		break;
	default:
		break;
	}
	virtual.latest = max_time(virtual.latest, at);
	return at;
}

void adsm_virtual_receive(const struct adsm_hcrc_message *message, uint64_t sent)
{
	uint64_t at = sent;

	if (!virtual.costs)
		return;
	if (message->from != message->to)
		at += virtual.costs->message_ns;
	if (message->from != message->to && message->kind != ADSM_HCRC_BACK)
		at += transfer(message->size, virtual.costs->network);
	/* A free lock was perhaps released later than the message comes, by the clocks. */
	if (message->kind == ADSM_HCRC_RECALL && virtual.locks)
		at = max_time(at, virtual.locks[message->lock]);
	/* Probes exist only in the real run. */
	if (message->kind != ADSM_HCRC_PROBE && message->kind != ADSM_HCRC_STATE)
		happen(at);
	if (message->kind == ADSM_HCRC_ARRIVE)
		virtual.all_arrived = max_time(virtual.all_arrived, at);
	if (message->kind != ADSM_HCRC_UNLOCK && message->kind != ADSM_HCRC_UPDATE_ACK &&
	    message->kind != ADSM_HCRC_FLAG_SET)
		return;
	if (virtual.locks && message->lock < virtual.n_releases)
		virtual.locks[message->lock] = max_time(virtual.locks[message->lock], at);
	if (!virtual.locks || message->lock >= virtual.n_locks)
		virtual.all_arrived = max_time(virtual.all_arrived, at);
}

uint64_t adsm_virtual_now(void)
{
	return virtual.latest;
}
