/* SPDX-License-Identifier: MIT */
/* ring.h - what happened, as events into a ring of each thread's own; from there one thread takes them. */
#ifndef ADSM_RING_H
#define ADSM_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* What happened; by type, what the fields mean and which counters they sum up to. */
enum adsm_trace_type {
	ADSM_TRACE_FAULT,	/* detail: 1 write, 2 signals; ns: fault_ns; span_ns; a: address; b: ahead_blocks */
	ADSM_TRACE_OPENED,	/* detail: 1 write; a: first block; b: read_faults or write_faults */
	ADSM_TRACE_TRANSFER,	/* detail: direction; a: offset; b: bytes; ns: h2d_ns, d2h_ns */
	ADSM_TRACE_EVICTED,	/* a: first block; b: evictions */
	ADSM_TRACE_CALLED,	/* name: kernel; a: seq; counts calls */
	ADSM_TRACE_KERNEL,	/* name: kernel; a: seq; ns: kernel_ns */
	ADSM_TRACE_PART,	/* name: kernel; detail: 1 exchange, 0 work; a: seq; b: part of the device */
	ADSM_TRACE_PART_WAIT,	/* name: what for; a: seq; b: part of the device */
	ADSM_TRACE_MOVED,	/* name none; detail: 1 code, 0 data; a: seq; b: part of the device; moved: how much */
	ADSM_TRACE_WAITED,	/* ns: wait_ns */
	ADSM_TRACE_ONCE,	/* ns: once_ns; a: address of a write-once object; b: unit; counts once_waits */
	ADSM_TRACE_IO,		/* ns: io_ns; b: bytes */
	ADSM_TRACE_MADE, ADSM_TRACE_FREED,	/* an object; b: its size */
	ADSM_TRACE_RESET,	/* counters begin anew, and sums with them */
	ADSM_TRACE_N_TYPES
};

struct adsm_trace_event {		/* a cache line */
	uint64_t start_ns, ns;
	uint64_t a, b;
	uint32_t object;	/* its record's id; 0: none */
	uint8_t type, detail, device, why;	/* why: enum adsm_why */
	union {
		char name[24];
		uint64_t span_ns;	/* of a fault: how long it took, transfers and waits too */
		struct { uint64_t count, bytes; } moved;
	};
};

#define ADSM_RING_EVENTS 16384		/* a megabyte, where all are in use */
#define ADSM_LANES 8			/* of a track: bars that overlap lie on different ones */

struct adsm_lane {
	uint64_t end;			/* of its last bar */
	bool named;
};

struct adsm_ring {
	struct adsm_ring *next;
	_Atomic uint32_t state;
	/* The thread's, while it has one. */
	int tid;
	char name[16];
	/* A place is reserved by moving the head, and complete when its stamp is its position and one. */
	_Atomic uint64_t head;
	_Atomic uint64_t dropped[ADSM_TRACE_N_TYPES + 1];	/* by type; the last: abandoned */
	_Atomic uint64_t tail;
	/* From here on the reader's. */
	uint64_t stuck, stuck_ns;	/* an incomplete place, and since when */
	bool named;			/* in the file */
	struct adsm_lane lanes[ADSM_LANES];	/* of its I/O */
	_Atomic uint32_t stamps[ADSM_RING_EVENTS];
	struct adsm_trace_event events[ADSM_RING_EVENTS];
};

/* Any thread, signal handlers, with and without locks. Full: dropped, and counted. */
void adsm_trace_put(const struct adsm_trace_event *event);

/* ---- the reader: one thread at a time */

/* The first of all, which are linked; none is ever taken away. */
struct adsm_ring *adsm_rings(void);
/*
 * The next event of a ring. Who jumps out of a signal handler that came in the middle of a put leaves a place
 * incomplete for ever: it is passed over, and counted as dropped, once it is old. @all: now.
 */
const struct adsm_trace_event *adsm_ring_next(struct adsm_ring *ring, bool all);
/* That has been taken. */
void adsm_ring_advance(struct adsm_ring *ring);
/* Rings of threads that have ended are for others. True: one is filling faster than it is emptied. */
bool adsm_rings_settle(void);
/* Another track begins, or another file. */
void adsm_ring_forget(struct adsm_ring *ring);
/* Of a type, or ADSM_TRACE_N_TYPES, so far. */
uint64_t adsm_rings_dropped(unsigned type);
/* What is in them is forgotten, and what was dropped. */
void adsm_rings_clear(void);

#endif
