/* SPDX-License-Identifier: MIT */
/*
 * trace.h - the timeline (ADSM_TRACE): each thread puts events into a ring, and a writer thread writes them to a file
 * in Chrome's trace-event format, which Perfetto opens. Every counter except const_bytes is the sum over its events:
 * the events have arguments with the counter's name.
 *
 * The file: "[", one event on each line, "]". Each line between is an object and a comma. Only the last one has no
 * comma: it says how many events were dropped, and whether the trace is complete. Each write(2) ends with a line, so a
 * killed program leaves a file that lacks only the end. Process 1 is the program; the first line has its real process
 * id. Each thread has a track, and another one for its I/O. Process 2 + D is device D, with a track for kernels and one
 * for each direction. Bars that overlap on these get further tracks. A device that has parts has a track for each part,
 * too.
 */
#pragma once

#include <stdint.h>

#define ADSM_TRACE_PARTS 1024		/* of a device; events of further parts are dropped */
#define ADSM_TRACE_MOVES 4096		/* of a launch: bars of what its parts brought; further ones are dropped */

/* The name of a device, set before its first event; and the name of an object, from now on. Not in signal handlers. */
void adsm_trace_device(int device, const char *backend, const char *name);
void adsm_trace_name(uint32_t object, const char *name);
/* The name of a part of a device, below ADSM_TRACE_PARTS, set before its first event. */
void adsm_trace_part(int device, unsigned part, const char *name);

/* Returns 0, or a negative errno with an error text. */
int adsm_trace_open(const char *path);
/* The work of the tracer's thread: it writes events, and ends the file. */
void adsm_trace_run(void *arg);
/* A part of that work: write the events so far. */
void adsm_trace_flush(void);
/* The same, and end the file. @why: NULL, or a text that says what ends it; the trace may then still continue. */
void adsm_trace_close(const char *why);
/* Close the parent's file in the child of a fork. Otherwise the reader of a pipe would also wait for the child's
 * end. */
void adsm_trace_forget(void);
