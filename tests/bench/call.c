/* SPDX-License-Identifier: MIT */
/*
 * call.c - the cost of an empty call and its sync, by the number of blocks that an earlier call has closed. The call is
 * unnamed: it may use every object.
 *
 * Floor: the same kernel launched through the backend, and the wait for its event. The device stays awake for a while
 * after a launch: one row launches again immediately, another one after a pause. The cold figure is the call that
 * closed the blocks, each with one byte written.
 */
#include "bench.h"
#include "core/index.h"
#include "core/block.h"
#include "core/life.h"
#include "run/object/alloc.h"
#include "run/call/call.h"
#include "run/wait/coalesced.h"
#include "run/copy/copy.h"
#include "run/wait/enter.h"
#include "run/touch/hold.h"
#include "run/wait/sync.h"
#include "run/wait/wait.h"
#include "start/start.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct target {
	adsmKernel *kernel;
	void *p;			/* its argument */
	struct adsm_entry *entry;	/* for the floor: the same two */
	struct adsm_memory *memory;
	useconds_t pause;
};

static double run_ours(void *arg)
{
	const struct target *target = arg;
	double start;

	usleep(target->pause);
	start = bench_now_us();
	bench_check(adsmCall(target->kernel, bench_one, bench_one, adsmPtr(target->p)));
	bench_check(adsmSync());
	return bench_now_us() - start;
}

static double run_floor(void *arg)
{
	const struct target *target = arg;
	const struct adsm_launch_arg args[] = { { .kind = ADSM_LAUNCH_POINTER, .memory = target->memory } };
	const struct adsm_launch launch = {
		.name = "nothing", .grid = { 1, 1, 1 }, .block = { 1, 1, 1 }, .n_blocks = 1, .n_args = 1,
		.args = args,
	};
	struct adsm_device *device = adsm_homes[0].device;
	struct adsm_device_event event;
	int error, status = 0;
	double start;

	usleep(target->pause);
	start = bench_now_us();
	bench_check(device->backend->launch(target->entry, &launch, &event));
	do
		error = device->backend->event_wait(device, event, &status);
	while (error == -EINTR);
	bench_check(error ? error : status);
	return bench_now_us() - start;
}

static void measure(struct target *target, size_t n_objects, size_t n_blocks)
{
	size_t size = n_objects ? n_blocks / n_objects * ADSM_PAGE_SIZE : 0;
	char **objects = bench_host_alloc((n_objects + 1) * sizeof(*objects)), text[64] = "no blocks";

	for (size_t i = 0; i < n_objects; i++) {
		objects[i] = bench_shared_alloc(size, ADSM_PAGE_SIZE);
		for (size_t at = 0; at < size; at += ADSM_PAGE_SIZE)
			objects[i][at] = 1;
	}
	target->p = n_objects ? objects[0] : NULL;
	target->memory = n_objects ? adsm_index_find((uintptr_t)objects[0])->memory : NULL;
	if (n_objects == 1)
		snprintf(text, sizeof(text), "%zu blocks", n_blocks);
	else if (n_objects)
		snprintf(text, sizeof(text), "%zu objects", n_objects);
	for (int pause = 0; pause < 2; pause++) {
		struct bench_row row = { .unit = "us", .target = "<= 1.2" };
		double cold_us;

		target->pause = pause ? 500 : 0;
		cold_us = bench_compare(&row, bench_repeat * (bench_smoke ? 1 : pause ? 20 : 200), run_ours,
					run_floor, target);
		snprintf(row.name, sizeof(row.name), "%s, %s", text, pause ? "after a pause" : "at once");
		if (n_objects && !pause)
			snprintf(row.note, sizeof(row.note), "cold %.3f", cold_us);
		bench_emit(&row);
	}
	for (size_t i = 0; i < n_objects; i++)
		bench_check(adsmFree(objects[i]));
	free(objects);
}

void bench_call(void)
{
	const size_t few = bench_smoke ? 10 : 1000, many = bench_smoke ? 100 : 100000;
	struct target target = { 0 };
	adsmModule *module = bench_load("../kernels/bench.adsm", "nothing", &target.kernel);

	bench_check(adsm_kernel_entry(target.kernel, &adsm_homes[0], &target.entry));
	measure(&target, 0, 0);
	measure(&target, 1, few);
	measure(&target, 1, many);
	measure(&target, few, few);
	measure(&target, many, many);
	bench_check(adsmModuleUnload(module));
	bench_check(adsmShutdown());
}
