/* SPDX-License-Identifier: MIT */
/* cuda.c - CUDA's queues: waits for operations, a lost device, the end of a queue; and pinning of objects. */
#include "step.h"

#include "backends/driven.c"
#include "backends/cuda/device.c"
#include "backends/cuda/queue.c"
#define run run_pinner
#include "backends/cuda/pin.c"
#undef run
#include "backends/cuda/cuda.c"

struct adsm_cu adsm_cu;
struct adsm_cuda_options adsm_cuda_options = { .pin = 1 << 20 };

static struct adsm_cuda_device device;
static struct adsm_cuda_queue *queue = &device.queues[0];
static struct adsm_cuda_mem memories[2];
static uint64_t driver_done;		/* operations that the driver has completed */
static int n_pinning;

/* ---- the driver */

static CUresult push(CUcontext context)
{
	return CUDA_SUCCESS;
}

static CUresult pop(CUcontext *context)
{
	return CUDA_SUCCESS;
}

static CUresult record(CUevent event, CUstream stream)
{
	return CUDA_SUCCESS;
}

static bool has_more_done(void *arg)
{
	return driver_done > queue->base.done || device.base.base.lost;
}

static CUresult synchronize(CUevent event)
{
	step_await(has_more_done, NULL);
	return device.base.base.lost ? CUDA_ERROR_CONTEXT_IS_DESTROYED : CUDA_SUCCESS;
}

static CUresult pin_pages(void *p, size_t size, unsigned flags)
{
	n_pinning++;
	step_at(NULL, "", 0, "pins");
	n_pinning--;
	return CUDA_SUCCESS;
}

static CUresult unpin_pages(void *p)
{
	return CUDA_SUCCESS;
}

const char *adsm_cu_error_name(CUresult error)
{
	return "";
}

/* It stays NULL, as end_device() sets it. */
static CUresult create_stream(CUstream *ret_stream, unsigned flags)
{
	return CUDA_SUCCESS;
}

static void make_device(void)
{
	memset(&device, 0, sizeof(device));
	adsm_cu.cuCtxPushCurrent_v2 = push;
	adsm_cu.cuCtxPopCurrent_v2 = pop;
	adsm_cu.cuStreamCreate = create_stream;
	adsm_cu.cuEventRecord = record;
	adsm_cu.cuEventSynchronize = synchronize;
	adsm_cu.cuMemHostRegister_v2 = pin_pages;
	adsm_cu.cuMemHostUnregister = unpin_pages;
	driver_done = 0;
	n_pinning = 0;
	queue->device = &device;
	queue->has_thread = true;
	queue->stream = (CUstream)8;
	for (int i = 0; i < ADSM_DRIVEN_PENDING; i++)
		queue->slots[i].end = (CUevent)8;
	step_constant(queue->slots + 4, sizeof(queue->slots) - 4 * sizeof(queue->slots[0]));
	step_plain(queue->base.ends, sizeof(queue->base.ends));
	for (int i = 0; i < ADSM_DRIVEN_QUEUES; i++) {
		device.queues[i].base.device = &device.base;
		device.base.queues[i] = &device.queues[i].base;
	}
	/* The other queues are not used. */
	for (int i = 1; i < ADSM_DRIVEN_QUEUES; i++) {
		step_constant(device.queues[i].slots, sizeof(device.queues[i].slots));
		step_constant(device.queues[i].base.ends, sizeof(device.queues[i].base.ends));
		step_plain(&device.queues[i].base.tick, 2 * sizeof(device.queues[i].base.tick));
	}
	step_constant(&adsm_cu, sizeof(adsm_cu));
}

/* ---- operations */

static void run_thread(void *arg)
{
	run_queue(queue);
}

static bool has_operation(void *arg)
{
	return queue->base.submitted > driver_done;
}

static void run_driver(void *arg)
{
	for (uintptr_t i = 0; i < (uintptr_t)arg; i++) {
		step_await(has_operation, NULL);
		driver_done++;
	}
}

static void give_and_wait(void *arg)
{
	struct adsm_cuda_scope scope;
	uint64_t seq;

	if (adsm_cuda_queue_begin(queue, false, &scope))
		return;
	if (adsm_cuda_queue_end(queue, &scope, CUDA_SUCCESS, "", &seq))
		return;
	while (adsm_driven_wait(&queue->base, seq))
		;
	STEP_CHECK(queue->base.done >= seq || device.base.base.lost);
}

static void lose(void *arg)
{
	adsm_driven_lose(&device.base, ADSM_LOG_INFO, "");
}

static bool thread_is_over(void *arg)
{
	return step_over(arg);
}

void adsm_os_thread_join(struct adsm_thread *thread)
{
	step_await(thread_is_over, thread == &device.pinner.thread ? "pinner" : "queue");
}

static void end_device(void *arg)
{
	for (int i = 0; i < ADSM_DRIVEN_QUEUES; i++)
		device.queues[i].stream = NULL;
	adsm_cuda_end(&device.base.base, "", true);
	STEP_CHECK(!device.n_inside);
}

static void start_operations(void)
{
	make_device();
	step_thread("queue", run_thread, NULL, STEP_SERVER);
	step_thread("driver", run_driver, (void *)2, 0);
	step_thread("program", give_and_wait, NULL, 0);
	step_thread("other", give_and_wait, NULL, 0);
}

static void start_lost(void)
{
	make_device();
	step_thread("queue", run_thread, NULL, STEP_SERVER);
	step_thread("program", give_and_wait, NULL, 0);
	step_thread("loser", lose, NULL, 0);
}

static void start_end(void)
{
	make_device();
	step_thread("queue", run_thread, NULL, 0);
	step_thread("program", give_and_wait, NULL, 0);
	step_thread("library", end_device, NULL, 0);
}

/* ---- pinning */

STEP_HAS_NEVER
STEP_NEVER(adsm_os_thread_start)

static void run_pin_thread(void *arg)
{
	run_pinner(&device);
}

static void pin_and_free(void *arg)
{
	struct adsm_cuda_mem *memory = arg;

	want(&device, memory);
	STEP_CHECK(!adsm_cuda_unpin(&device, memory));
	STEP_CHECK(device.pinner.now != memory);
}

static void pin_and_end(void *arg)
{
	want(&device, arg);
	adsm_cuda_pinner_end(&device);
}

static void make_pinner(void)
{
	make_device();
	device.pinner.has_thread = true;
	for (int i = 0; i < 2; i++)
		memories[i] = (struct adsm_cuda_mem){ .base = { .size = 4096 } };
}

static void start_pinner(void)
{
	make_pinner();
	step_thread("pinner", run_pin_thread, NULL, STEP_SERVER);
	step_thread("program", pin_and_free, &memories[0], 0);
	step_thread("other", pin_and_free, &memories[1], 0);
}

static void start_pinner_end(void)
{
	make_pinner();
	step_thread("pinner", run_pin_thread, NULL, 0);
	step_thread("program", pin_and_end, &memories[0], 0);
}

int main(int argc, char **argv)
{
	static const struct step_scenario scenarios[] = {
		{ .name = "two operations", .start = start_operations, .preemptions = 1, .full_preemptions = 2 },
		{ .name = "the device is lost", .start = start_lost, .preemptions = 3, .full_preemptions = 4 },
		{ .name = "the device ends", .start = start_end, .preemptions = 3, .full_preemptions = 4 },
		{ .name = "objects are pinned", .start = start_pinner, .preemptions = 3, .full_preemptions = 4 },
		{ .name = "the pinner ends", .start = start_pinner_end, .signals = 1 },
		{ .name = NULL },
	};

	return step_main(argc, argv, scenarios);
}
