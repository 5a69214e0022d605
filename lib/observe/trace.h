/* SPDX-License-Identifier: MIT */
/*
 * trace.h - the timeline (ADSM_TRACE): events into a ring of each thread's own, and from there by a helper into a file
 * of Chrome's trace-event format, which Perfetto opens. Every counter but const_bytes is the sum of its events: the
 * events' arguments of its name add up to it.
 *
 * The file: "[", one event a line, "]". Each line between is an object and a comma; only the last, which says how many
 * events were dropped and whether the trace is complete, has none. Each write(2) ends with a line, so what a killed
 * program leaves lacks only the end. Process 1 is the program, whose own number the first line tells; each thread has a
 * track, and one beside it for its I/O. Process 2 + D is device D, with a track for kernels and one for each direction.
 * What overlaps on those has one more beside it.
 */
#ifndef ADSM_TRACE_H
#define ADSM_TRACE_H

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
	ADSM_TRACE_WAITED,	/* ns: wait_ns */
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
	};
};

/* Any thread, signal handlers, with and without locks. Full: dropped, and counted. */
void adsm_trace_put(const struct adsm_trace_event *event);

/* What a device is called, before its first event; and an object, from now on. Ordinary threads, at any time. */
void adsm_trace_device(int device, const char *backend, const char *name);
void adsm_trace_name(uint32_t object, const char *name);

/* The rest from ordinary threads, one at a time (observe.c). 0 or a negative errno, with its sentence. */
int adsm_trace_open(const char *path);
/* Write what has come. */
void adsm_trace_flush(void);
/* The same, and end the file. @why: NULL, or what will have ended it, in words: then it may go on after all. */
void adsm_trace_close(const char *why);
/* Then it goes on. A pipe was not ended. */
void adsm_trace_reopen(void);
/* In the child of a fork: it is the parent's. Or who reads a pipe would wait for the child's end too. */
void adsm_trace_forget(void);

#endif
