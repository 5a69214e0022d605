/* SPDX-License-Identifier: MIT */
/* writer.c - the threads that write reports and traces: their stop, and an exec that waits until they have written. */
#include "step.h"

/* An exec waits without a time limit here. */
#define adsm_os_now_ns() UINT64_C(1)

#include "lib/observe/writer.c"

static int n_written;
static bool has_more;

static void run_writer(void *arg)
{
	enum adsm_writer_task task;

	while ((task = adsm_writer_wait(&adsm_tracer, (uintptr_t)arg)) != ADSM_WRITER_END) {
		if (task == ADSM_WRITER_REST)
			continue;
		n_written += has_more;
		has_more = false;
		if (task == ADSM_WRITER_LEAVE)
			adsm_writer_left(&adsm_tracer);
	}
}

static bool writer_is_over(void *arg)
{
	return step_over("writer");
}

void adsm_os_thread_join(struct adsm_thread *thread)
{
	step_await(writer_is_over, NULL);
}

static void stop_it(void *arg)
{
	adsm_writers_stop();
}

static void exec_it(void *arg)
{
	has_more = true;
	adsm_writers_exec(false);
	STEP_CHECK(n_written == 1);
	adsm_writers_exec(true);
	adsm_writers_stop();
}

STEP_HAS_NEVER
STEP_NEVER(adsm_os_thread_start)

static void make_writer(void)
{
	memset(&adsm_tracer, 0, sizeof(adsm_tracer));
	memset(&adsm_reporter, 0, sizeof(adsm_reporter));
	atomic_init(&stop, false);
	atomic_init(&n_execs, 0);
	adsm_tracer.runs = true;
	n_written = 0;
	has_more = false;
	step_thread("writer", run_writer, NULL, 0);
}

static void start_stop(void)
{
	make_writer();
	step_thread("library", stop_it, NULL, 0);
}

static void start_exec(void)
{
	make_writer();
	step_thread("program", exec_it, NULL, 0);
}

int main(int argc, char **argv)
{
	static const struct step_scenario scenarios[] = {
		{ .name = "a writer stops", .start = start_stop, .time = STEP_NO_TIME, .signals = 1 },
		{ .name = "an exec", .start = start_exec, .time = STEP_NO_TIME, .signals = 1 },
		{ .name = NULL },
	};

	return step_main(argc, argv, scenarios);
}
