/* SPDX-License-Identifier: MIT */
/* ring.h - events: each thread puts them into a ring of its own, and one thread reads the rings. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* The types of events. For each type: the meaning of the fields, and the counters that they add up to. */
enum adsm_trace_type {
	ADSM_TRACE_FAULT,	/* detail: 1 write, 2 signals; ns: fault_ns; span_ns; a: address; b: ahead_blocks */
	ADSM_TRACE_OPENED,	/* detail: 1 write; a: first block; b: read_faults or write_faults */
	ADSM_TRACE_TRANSFER,	/* detail: direction; a: offset; b: bytes; ns: h2d_ns, d2h_ns */
	ADSM_TRACE_EVICTED,	/* a: first block; b: evictions */
	ADSM_TRACE_DISPLACED,	/* a: displaced; b: displaced_bytes */
	ADSM_TRACE_OBJECT_MOVED,	/* a: moved; b: moved_bytes; to: a device */
	ADSM_TRACE_CALLED,	/* name: kernel; a: seq; counts calls */
	ADSM_TRACE_KERNEL,	/* name: kernel; a: seq; b: lane; ns: kernel_ns */
	ADSM_TRACE_PART,	/* name: kernel; detail: 1 exchange, 0 work; a: seq; b: part of the device */
	ADSM_TRACE_PART_WAIT,	/* name: what for; a: seq; b: part of the device */
	ADSM_TRACE_MOVED,	/* detail: 1 code, 0 data; a: seq; b: part of the device; moved: how much */
	ADSM_TRACE_WAITED,	/* ns: wait_ns */
	ADSM_TRACE_ONCE,	/* ns: once_ns; a: address of a write-once object; b: unit; counts once_waits */
	ADSM_TRACE_IO,		/* ns: io_ns; b: bytes */
	ADSM_TRACE_MADE, ADSM_TRACE_FREED,	/* an object; b: its size */
	ADSM_TRACE_RESET,	/* counters and their sums begin again */
	ADSM_TRACE_N_TYPES
};

struct adsm_trace_event {		/* a cache line */
	uint64_t start_ns, ns;
	uint64_t a, b;
	uint32_t object;	/* its record's id; 0: no object */
	uint8_t type, detail, device, why;	/* why: enum adsm_why */
	union {
		char name[24];
		uint64_t span_ns;	/* for a fault: its duration, including transfers and waits */
		struct { uint64_t count, bytes; } moved;
		uint64_t to;
	};
};

#define ADSM_RING_EVENTS 16384		/* a megabyte, if all are used */
#define ADSM_LANES 8			/* of a track: bars that overlap are on different lanes */

struct adsm_lane {
	uint64_t end;			/* the end of its last bar */
	bool named;
};

struct adsm_ring {
	struct adsm_ring *next;
	_Atomic uint32_t state;
	/* Set while a thread has the ring. */
	int tid;
	char name[16];
	/* Moving the head reserves an entry. The entry is complete when its stamp is its position plus 1. */
	_Atomic uint64_t head;
	_Atomic uint64_t dropped[ADSM_TRACE_N_TYPES + 1];	/* by type; the last one: entries
								   that were never completed */
	_Atomic uint64_t tail;
	/* The members from here on belong to the reader. */
	uint64_t stuck, stuck_ns;	/* an incomplete entry, and the time when it was first found */
	bool named;			/* the file has the thread's name */
	struct adsm_lane lanes[ADSM_LANES];	/* for its I/O */
	_Atomic uint32_t stamps[ADSM_RING_EVENTS];
	struct adsm_trace_event events[ADSM_RING_EVENTS];
};

/* Any thread may call this, also in signal handlers, with and without locks. If the ring is full, the event is dropped
 * and counted. */
void adsm_trace_put(const struct adsm_trace_event *event);

/* ---- the reader: only one thread at a time */

/* The first ring of the list of all. Rings are never removed. */
struct adsm_ring *adsm_rings(void);
/* The next event of a ring, or NULL. If a jump left a signal handler that interrupted adsm_trace_put(), an entry stays
 * incomplete forever. It is skipped, and counted as dropped, after some time; with @all immediately. */
const struct adsm_trace_event *adsm_ring_next(struct adsm_ring *ring, bool all);
/* The event was read: remove it. */
void adsm_ring_advance(struct adsm_ring *ring);
/* Give rings of ended threads free. Returns true if a ring fills faster than it is read. */
bool adsm_rings_settle(void);
/* The number of dropped events of a type, or of ADSM_TRACE_N_TYPES (never completed). */
uint64_t adsm_rings_dropped(unsigned type);
/* Forget all events, and the numbers of dropped ones. */
void adsm_rings_clear(void);
