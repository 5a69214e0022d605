/* SPDX-License-Identifier: MIT */
/*
 * trace.h - the timeline (ADSM_TRACE): events into a ring of each thread's own, and from there by a writer into a file
 * of Chrome's trace-event format, which Perfetto opens. Every counter but const_bytes is the sum of its events: the
 * events' arguments of its name add up to it.
 *
 * The file: "[", one event a line, "]". Each line between is an object and a comma; only the last, which says how many
 * events were dropped and whether the trace is complete, has none. Each write(2) ends with a line, so what a killed
 * program leaves lacks only the end. Process 1 is the program, whose own number the first line tells; each thread has a
 * track, and one beside it for its I/O. Process 2 + D is device D, with a track for kernels and one for each direction.
 * What overlaps on those has one more beside it. A device that is made of parts has a track for each of these, too.
 */
#ifndef ADSM_TRACE_H
#define ADSM_TRACE_H

#include <stdint.h>

#define ADSM_TRACE_PARTS 1024		/* of a device; what further ones did is dropped */
#define ADSM_TRACE_MOVES 4096		/* of a launch: bars of what its parts brought, likewise */

/* What a device is called, before its first event; and an object, from now on. Ordinary threads, at any time. */
void adsm_trace_device(int device, const char *backend, const char *name);
void adsm_trace_name(uint32_t object, const char *name);
/* A part of a device, of ADSM_TRACE_PARTS; before its first event. */
void adsm_trace_part(int device, unsigned part, const char *name);

/* 0 or a negative errno, with its sentence. */
int adsm_trace_open(const char *path);
/* Then the tracer's thread: it writes what comes, and ends the file. */
void adsm_trace_run(void *arg);
/* Of that, the parts: write what has come. */
void adsm_trace_flush(void);
/* The same, and end the file. @why: NULL, or what will have ended it, in words: then it may go on after all. */
void adsm_trace_close(const char *why);
/* In the child of a fork: it is the parent's. Or who reads a pipe would wait for the child's end too. */
void adsm_trace_forget(void);

#endif
