/* SPDX-License-Identifier: MIT */
/* opencl.c - OpenCL's queues: callbacks of the driver, in any order, and a device that is lost. */
#include "step.h"

#include "backends/driven.c"
#include "backends/opencl/device.c"
#define elapsed queue_elapsed
#define end queue_end
#include "backends/opencl/queue.c"

struct adsm_cl adsm_cl;

static struct adsm_cl_device device;
static struct adsm_cl_queue *queue = &device.queues[0];

const char *adsm_cl_error_name(cl_int error)
{
	return "";
}

/* As submit() does, without the driver. */
static uint64_t submit_one(void)
{
	struct adsm_sigset old;
	uint64_t seq;

	if (adsm_cl_queue_begin(queue, &old))
		return 0;
	seq = queue->base.submitted + 1;
	queue->slots[seq % ADSM_DRIVEN_PENDING].seq = seq;
	atomic_store(&queue->base.submitted, seq);
	adsm_cl_queue_abandon(queue, &old);
	return seq;
}

static void submit_and_wait(void *arg)
{
	uint64_t seq = 0;

	for (uintptr_t i = 0; i < (uintptr_t)arg; i++)
		seq = submit_one();
	while (adsm_driven_wait(&queue->base, seq))
		;
	STEP_CHECK(queue->base.done >= seq || device.base.base.lost);
}

/* The driver calls back at the end of an operation. */
static bool is_submitted(void *arg)
{
	return queue->base.submitted >= (uintptr_t)arg;
}

static void call_back(void *arg)
{
	step_await(is_submitted, arg);
	queue_end(&queue->slots[(uintptr_t)arg % ADSM_DRIVEN_PENDING], 0, (struct adsm_span){ 0 });
}

static void lose(void *arg)
{
	adsm_cl_lose(&device, CL_DEVICE_NOT_AVAILABLE, "");
}

static void make_device(void)
{
	memset(&device, 0, sizeof(device));
	queue->device = &device;
	for (int i = 0; i < ADSM_DRIVEN_PENDING; i++)
		queue->slots[i].queue = queue;
	step_constant(queue->slots + 4, sizeof(queue->slots) - 4 * sizeof(queue->slots[0]));
	step_plain(queue->base.ends, sizeof(queue->base.ends));
	for (int i = 0; i < ADSM_DRIVEN_QUEUES; i++) {
		device.queues[i].base.device = &device.base;
		device.base.queues[i] = &device.queues[i].base;
	}
	for (int i = 1; i < ADSM_DRIVEN_QUEUES; i++) {
		step_constant(device.queues[i].slots, sizeof(device.queues[i].slots));
		step_constant(device.queues[i].base.ends, sizeof(device.queues[i].base.ends));
		step_plain(&device.queues[i].base.tick, 2 * sizeof(device.queues[i].base.tick));
	}
}

static void start_order(void)
{
	make_device();
	step_thread("driver", call_back, (void *)1, 0);
	step_thread("driver too", call_back, (void *)2, 0);
	step_thread("program", submit_and_wait, (void *)2, 0);
}

static void start_two(void)
{
	make_device();
	step_thread("driver", call_back, (void *)1, 0);
	step_thread("driver too", call_back, (void *)2, 0);
	step_thread("program", submit_and_wait, (void *)1, 0);
	step_thread("other", submit_and_wait, (void *)1, 0);
}

static void start_lost(void)
{
	make_device();
	step_thread("driver", call_back, (void *)1, STEP_SERVER | STEP_MORTAL);
	step_thread("program", submit_and_wait, (void *)1, 0);
	step_thread("loser", lose, NULL, 0);
}

int main(int argc, char **argv)
{
	static const struct step_scenario scenarios[] = {
		{ .name = "callbacks in any order", .start = start_order, .signals = 1 },
		{ .name = "two wait", .start = start_two, .preemptions = 2, .full_preemptions = 3 },
		{ .name = "the device is lost", .start = start_lost, .signals = 1 },
		{ .name = NULL },
	};

	return step_main(argc, argv, scenarios);
}
