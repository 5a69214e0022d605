/* SPDX-License-Identifier: MIT */
/* writer.c - the life of writer threads, and how an exec waits until their files are complete. */
#include "observe/writer.h"

#include <limits.h>

#include "base/log.h"

#define EXEC_NS 5000000000	/* an exec waits at most this time */

struct adsm_writer adsm_tracer, adsm_reporter;

static struct adsm_writer *const writers[] = { &adsm_tracer, &adsm_reporter };
static _Atomic bool stop;
static _Atomic unsigned n_execs;	/* in progress */

#define N_WRITERS (sizeof(writers) / sizeof(writers[0]))

enum adsm_writer_task adsm_writer_wait(struct adsm_writer *writer, uint64_t timeout_ns)
{
	adsm_os_wait(&writer->word, 0, timeout_ns, false);
	atomic_store(&writer->word, 0);
	if (atomic_load(&stop))
		return ADSM_WRITER_END;
	if (!atomic_load(&n_execs))
		return ADSM_WRITER_LOOK;
	return atomic_load(&writer->left) ? ADSM_WRITER_REST : ADSM_WRITER_LEAVE;
}

void adsm_writer_left(struct adsm_writer *writer)
{
	atomic_store(&writer->left, 1);
	adsm_os_wake(&writer->left, INT_MAX, false);
}

void adsm_writer_poke(struct adsm_writer *writer)
{
	atomic_store(&writer->word, 1);
	adsm_os_wake(&writer->word, 1, false);
}

int adsm_writer_start(struct adsm_writer *writer, const char *name, void (*run)(void *))
{
	int error;

	atomic_store(&writer->word, 0);
	error = adsm_os_thread_start(&writer->thread, name, run, NULL);
	writer->runs = !error;
	return error ? adsm_fail(error, "cannot start a thread for reports and traces") : 0;
}

void adsm_writers_stop(void)
{
	atomic_store(&stop, true);
	for (size_t i = 0; i < N_WRITERS; i++)
		if (writers[i]->runs) {
			adsm_writer_poke(writers[i]);
			adsm_os_thread_join(&writers[i]->thread);
			writers[i]->runs = false;
		}
	atomic_store(&stop, false);
}

/* This may run in a signal handler, and the interrupted code may hold any lock. So the writer threads write. If they
 * cannot, because they need such a lock, the exec continues without them after the time limit. */
void adsm_writers_exec(bool failed)
{
	uint64_t limit = adsm_os_now_ns() + EXEC_NS, now;

	if (failed)
		atomic_fetch_sub(&n_execs, 1);
	else
		atomic_fetch_add(&n_execs, 1);
	for (size_t i = 0; i < N_WRITERS; i++) {
		atomic_store(&writers[i]->left, 0);
		adsm_writer_poke(writers[i]);
	}
	for (size_t i = 0; i < N_WRITERS && !failed; i++)
		while (writers[i]->runs && !atomic_load(&writers[i]->left) && (now = adsm_os_now_ns()) < limit)
			adsm_os_wait(&writers[i]->left, 0, limit - now, false);
}
