/* SPDX-License-Identifier: MIT */
/* ring.c - which thread has which ring; writing and reading of events. */
#include "observe/ring.h"

#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/os.h"
#include "observe/writer.h"

#define RINGS_MAX 1024			/* events of further threads are dropped */
#define MANY_RINGS 64
#define ABANDONED_NS 1000000000		/* after this time an incomplete entry counts as abandoned */

enum { FREE, TAKEN, USED };

static struct adsm_ring *_Atomic rings;
static _Atomic unsigned n_rings;
static _Atomic uint64_t ringless[ADSM_TRACE_N_TYPES];	/* dropped without a ring */
static _Thread_local struct adsm_ring *_Atomic ring_here;

static struct adsm_ring *take_free(void)
{
	for (struct adsm_ring *ring = atomic_load(&rings); ring; ring = ring->next) {
		uint32_t free = FREE;

		if (atomic_compare_exchange_strong(&ring->state, &free, TAKEN))
			return ring;
	}
	return NULL;
}

static struct adsm_ring *make(void)
{
	struct adsm_ring *ring;
	unsigned n_made;

	n_made = atomic_fetch_add(&n_rings, 1) + 1;
	ring = n_made <= RINGS_MAX ? adsm_os_table(sizeof(*ring)) : NULL;
	if (!ring) {
		atomic_fetch_sub(&n_rings, 1);
		return NULL;
	}
	if (n_made % MANY_RINGS == 0)
		adsm_writer_poke(&adsm_tracer);	/* some threads may have ended */
	atomic_store(&ring->state, TAKEN);
	ring->next = atomic_load(&rings);
	while (!atomic_compare_exchange_weak(&rings, &ring->next, ring))
		;
	return ring;
}

/* Get a ring for this thread, at its first event. */
static struct adsm_ring *take_ring(void)
{
	struct adsm_ring *ring = take_free(), *none = NULL;
	int saved_errno = errno;

	if (!ring)
		ring = make();
	if (!ring)
		return NULL;
	ring->tid = adsm_os_thread_id();
	prctl(PR_GET_NAME, ring->name);
	errno = saved_errno;
	/* A signal handler may have done this meanwhile. */
	if (!atomic_compare_exchange_strong(&ring_here, &none, ring)) {
		atomic_store(&ring->state, FREE);
		return none;
	}
	atomic_store(&ring->state, USED);
	return ring;
}

void adsm_trace_put(const struct adsm_trace_event *event)
{
	struct adsm_ring *ring = atomic_load_explicit(&ring_here, memory_order_relaxed);
	uint64_t at, n;

	if (!ring)
		ring = take_ring();
	if (!ring) {
		atomic_fetch_add(&ringless[event->type], 1);
		return;
	}
	/* A signal handler that interrupts gets the next entry. */
	at = atomic_load_explicit(&ring->head, memory_order_relaxed);
	do {
		n = at - atomic_load_explicit(&ring->tail, memory_order_acquire);
		if (n >= ADSM_RING_EVENTS) {
			atomic_fetch_add_explicit(&ring->dropped[event->type], 1, memory_order_relaxed);
			return;
		}
	} while (!atomic_compare_exchange_weak_explicit(&ring->head, &at, at + 1, memory_order_relaxed,
							memory_order_relaxed));
	ring->events[at % ADSM_RING_EVENTS] = *event;
	atomic_store_explicit(&ring->stamps[at % ADSM_RING_EVENTS], (uint32_t)(at + 1), memory_order_release);
	if (n == ADSM_RING_EVENTS / 2)
		adsm_writer_poke(&adsm_tracer);
}

/* ---- the reader */

struct adsm_ring *adsm_rings(void)
{
	return atomic_load(&rings);
}

static bool is_complete(const struct adsm_ring *ring, uint64_t at)
{
	return atomic_load_explicit(&ring->stamps[at % ADSM_RING_EVENTS], memory_order_acquire) == (uint32_t)(at + 1);
}

const struct adsm_trace_event *adsm_ring_next(struct adsm_ring *ring, bool all)
{
	uint64_t at = atomic_load_explicit(&ring->tail, memory_order_relaxed);
	uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);

	for (; at < head; atomic_store_explicit(&ring->tail, ++at, memory_order_release)) {
		if (is_complete(ring, at))
			return &ring->events[at % ADSM_RING_EVENTS];
		if (ring->stuck != at + 1) {
			ring->stuck = at + 1;
			ring->stuck_ns = adsm_os_now_ns();
		}
		if (!all && adsm_os_now_ns() - ring->stuck_ns < ABANDONED_NS)
			return NULL;
		atomic_fetch_add(&ring->dropped[ADSM_TRACE_N_TYPES], 1);
	}
	return NULL;
}

void adsm_ring_advance(struct adsm_ring *ring)
{
	atomic_fetch_add_explicit(&ring->tail, 1, memory_order_release);
}

/* Forget names and lanes: another thread gets the ring, or another file begins. */
static void forget_names(struct adsm_ring *ring)
{
	memset(ring->lanes, 0, sizeof(ring->lanes));
	ring->named = false;
}

bool adsm_rings_settle(void)
{
	bool more = false;

	for (struct adsm_ring *ring = adsm_rings(); ring; ring = ring->next) {
		bool is_over = atomic_load(&ring->state) == USED && syscall(SYS_tgkill, getpid(), ring->tid, 0) &&
			errno == ESRCH;
		uint64_t n = atomic_load(&ring->head) - atomic_load(&ring->tail);

		more |= n >= ADSM_RING_EVENTS / 2;
		/* Free it for the next thread that needs one. */
		if (is_over && !n) {
			forget_names(ring);
			atomic_store(&ring->state, FREE);
		}
	}
	return more;
}

uint64_t adsm_rings_dropped(unsigned type)
{
	uint64_t n = type < ADSM_TRACE_N_TYPES ? atomic_load(&ringless[type]) : 0;

	for (struct adsm_ring *ring = adsm_rings(); ring; ring = ring->next)
		n += atomic_load(&ring->dropped[type]);
	return n;
}

void adsm_rings_clear(void)
{
	for (struct adsm_ring *ring = adsm_rings(); ring; ring = ring->next) {
		atomic_store(&ring->tail, atomic_load(&ring->head));
		for (unsigned i = 0; i <= ADSM_TRACE_N_TYPES; i++)
			atomic_store(&ring->dropped[i], 0);
		forget_names(ring);
	}
	for (unsigned i = 0; i < ADSM_TRACE_N_TYPES; i++)
		atomic_store(&ringless[i], 0);
}
