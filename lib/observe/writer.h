/* SPDX-License-Identifier: MIT */
/* writer.h - threads that write traces and reports, so that files are as complete as possible when the program ends. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include "base/os.h"

struct adsm_writer {
	struct adsm_thread thread;
	_Atomic bool runs;
	_Atomic uint32_t word;		/* futex; not 0: there is something to do */
	_Atomic uint32_t left;		/* futex; not 0: the file is complete for an exec */
};

/* Two threads, because a report may take longer than the rings have room for events. */
extern struct adsm_writer adsm_tracer, adsm_reporter;

enum adsm_writer_task {
	ADSM_WRITER_LOOK,		/* write what has come */
	ADSM_WRITER_LEAVE,		/* the process becomes another program: complete the file; once for each exec */
	ADSM_WRITER_REST,		/* wait until the exec has succeeded or failed */
	ADSM_WRITER_END,
};

/* Called by a writer: wait for the next task, at most @timeout_ns. */
enum adsm_writer_task adsm_writer_wait(struct adsm_writer *writer, uint64_t timeout_ns);
/* Called by a writer: the file is complete for an exec, or for the end. */
void adsm_writer_left(struct adsm_writer *writer);

/* Wake a writer. Any thread may call this, also in signal handlers. */
void adsm_writer_poke(struct adsm_writer *writer);
/* The process becomes another program; @failed: the exec has failed. Also in signal handlers. */
void adsm_writers_exec(bool failed);
/* Returns 0, or a negative errno with an error text. */
int adsm_writer_start(struct adsm_writer *writer, const char *name, void (*run)(void *));
/* Stop both threads if they run. */
void adsm_writers_stop(void);
