/* SPDX-License-Identifier: MIT */
/* writer.h - the threads that write traces and reports, so that files are as whole as can be when the program ends. */
#ifndef ADSM_WRITER_H
#define ADSM_WRITER_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/os.h"

struct adsm_writer {
	struct adsm_thread thread;
	_Atomic bool runs;
	_Atomic uint32_t word;		/* not 0: look now */
	_Atomic uint32_t left;		/* not 0: its file is as an exec shall find it */
};

/* Two, as a report may take longer than rings have room. */
extern struct adsm_writer adsm_tracer, adsm_reporter;

enum adsm_writer_task {
	ADSM_WRITER_LOOK,		/* at what has come */
	ADSM_WRITER_LEAVE,		/* the process becomes another program; once for each exec */
	ADSM_WRITER_REST,		/* until it has become that, or has failed to */
	ADSM_WRITER_END,
};

/* Of a writer itself: what there is to do, after @timeout_ns at the latest. */
enum adsm_writer_task adsm_writer_wait(struct adsm_writer *writer, uint64_t timeout_ns);
/* What had to be written for that has been. */
void adsm_writer_left(struct adsm_writer *writer);

/* Have a writer look now. Any thread, signal handlers. */
void adsm_writer_poke(struct adsm_writer *writer);
/* The process becomes another program; @failed: it has not. In signal handlers too. */
void adsm_writers_exec(bool failed);
/* 0, or a negative errno and its sentence. */
int adsm_writer_start(struct adsm_writer *writer, const char *name, void (*run)(void *));
/* Both, where they run. */
void adsm_writers_stop(void);

#endif
