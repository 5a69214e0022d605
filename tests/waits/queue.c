/* SPDX-License-Identifier: MIT */
/* queue.c - the queue of a device's process: submit, next, done, stop, wait, and the device's death. */
#include "step.h"

#include "backends/process/shared.c"

static struct adsm_process_queue queue;
static const _Atomic uint32_t never;

static void device(void *arg)
{
	while (adsm_process_queue_next(&queue, 0, true))
		adsm_process_queue_done(&queue, true);
}

static void submit_and_wait(void *arg)
{
	uint64_t seq = 0;

	for (uintptr_t i = 0; i < (uintptr_t)arg; i++)
		seq = adsm_process_queue_submit(&queue, true);
	while (adsm_process_queue_wait(&queue, seq, &never, 0, true))
		;
	STEP_CHECK(queue.done >= seq);
}

static void wait_for(void *arg)
{
	while (adsm_process_queue_wait(&queue, (uintptr_t)arg, &never, 0, true))
		;
	STEP_CHECK(queue.done >= (uintptr_t)arg);
}

static void start_one(void)
{
	step_thread("device", device, NULL, STEP_SERVER);
	step_thread("program", submit_and_wait, (void *)3, 0);
}

static void start_two(void)
{
	step_thread("device", device, NULL, STEP_SERVER);
	step_thread("program", submit_and_wait, (void *)2, 0);
	step_thread("other", wait_for, (void *)1, 0);
}

/* Several threads submit work, one at a time. */
static struct adsm_lock giving;

static void submit_too(void *arg)
{
	uint64_t seq;

	adsm_lock(&giving);
	seq = adsm_process_queue_submit(&queue, true);
	adsm_unlock(&giving);
	wait_for((void *)(uintptr_t)seq);
}

static void start_givers(void)
{
	step_thread("device", device, NULL, STEP_SERVER);
	step_thread("program", submit_too, NULL, 0);
	step_thread("other", submit_too, NULL, 0);
}

static void stop(void *arg)
{
	adsm_process_queue_stop(&queue, true);
}

static void start_stop(void)
{
	step_thread("device", device, NULL, 0);
	step_thread("library", stop, NULL, 0);
}

/* ---- the device's process is killed, and the library detects that */

static _Atomic uint32_t lost;

static void wait_or_lose(void *arg)
{
	while (adsm_process_queue_wait(&queue, (uintptr_t)arg, &lost, 0, true))
		;
	STEP_CHECK(lost || queue.done >= (uintptr_t)arg);
}

static void submit_or_lose(void *arg)
{
	wait_or_lose((void *)(uintptr_t)adsm_process_queue_submit(&queue, true));
}

/* As a request to the process that gets no answer. */
static void wait_for_reason(void *arg)
{
	adsm_os_await(&lost, false);
}

static bool device_is_killed(void *arg)
{
	return step_killed("device");
}

static void monitor(void *arg)
{
	step_await(device_is_killed, NULL);
	adsm_process_queue_lose(&queue, &lost);
}

static void start_killed(void)
{
	atomic_init(&lost, 0);
	step_thread("device", device, NULL, STEP_SERVER | STEP_MORTAL);
	step_thread("monitor", monitor, NULL, STEP_SERVER);
	step_thread("program", submit_or_lose, NULL, 0);
	step_thread("other", wait_or_lose, (void *)1, 0);
}

static void kill_at_once(void *arg)
{
	adsm_process_queue_lose(&queue, &lost);
}

static void start_request(void)
{
	atomic_init(&lost, 0);
	step_thread("monitor", kill_at_once, NULL, 0);
	step_thread("request", wait_for_reason, NULL, 0);
}

int main(int argc, char **argv)
{
	static const struct step_scenario scenarios[] = {
		{ .name = "one waits for the last of three", .start = start_one, .signals = 1 },
		{ .name = "two wait", .start = start_two },
		{ .name = "two give work", .start = start_givers, .preemptions = 3, .full_preemptions = 4 },
		{ .name = "the queue stops", .start = start_stop, .signals = 1 },
		{ .name = "the device is killed", .start = start_killed, .preemptions = 2, .full_preemptions = 3 },
		{ .name = "a request without an answer", .start = start_request, .signals = 1 },
		{ .name = NULL },
	};

	return step_main(argc, argv, scenarios);
}
