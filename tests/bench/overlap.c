/* SPDX-License-Identifier: MIT */
/*
 * overlap.c - early sends: the CPU fills an object while what it has filled before is on its way.
 *
 * A modelled link (ADSM_CPU_LINK) makes the transfer slow; the fill does as much arithmetic for each word as
 * makes it take as long. Three times are measured in each round: the fill alone, into plain memory; the
 * transfer alone, an explicit copy; and the fill of a rolling object, an empty call that reads it, and the
 * sync. Overlap is what the last saves of the sum of the first two, as a share of the shorter of them.
 *
 * Floor: 1, all of the shorter one hidden.
 */
#include "bench.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define LINK "1GB/s,10us"

static size_t n_words;
static unsigned steps = 1;		/* of arithmetic for each word */

static void fill(uint32_t *words)
{
	for (size_t i = 0; i < n_words; i++) {
		uint32_t x = (uint32_t)i;

		for (unsigned step = 0; step < steps; step++)
			x = x * 1664525 + 1013904223;
		words[i] = x;
	}
}

/* One round: how long the fill, the transfer and both take. */
static void measure(uint32_t *host, void *device, uint32_t *shared, adsmKernel *kernel, double ret_us[3])
{
	double start = bench_now_us(), filled, sent;

	fill(host);
	filled = bench_now_us();
	bench_check(adsmCopyToDevice(device, host, n_words * sizeof(*host)));
	sent = bench_now_us();
	fill(shared);
	bench_check(adsmCall(kernel, bench_one, bench_one, adsmIn(shared)));
	bench_check(adsmSync());
	ret_us[0] = filled - start;
	ret_us[1] = sent - filled;
	ret_us[2] = bench_now_us() - sent;
}

void bench_overlap(void)
{
	size_t size = bench_smoke ? (size_t)1 << 20 : (size_t)64 << 20;
	struct bench_row row = { .unit = "share", .floor = 1, .target = ">= 0.8" };
	double *times[3], us[3], cold_us;
	uint32_t *host, *shared;
	adsmKernel *kernel;
	adsmModule *module;
	void *device;

	bench_check(adsmOption("cpu_link", LINK));
	bench_check(adsmOption("protocol", "rolling"));
	module = bench_load("../kernels/bench.adsm", "nothing", &kernel);
	n_words = size / sizeof(*host);
	host = bench_host_alloc(size);
	shared = bench_shared_alloc(size, 0);
	device = adsmDeviceAlloc(size);
	bench_check(!device);
	for (int i = 0; i < 3; i++)
		times[i] = bench_host_alloc((size_t)bench_repeat * sizeof(double));

	/* More steps until the fill takes as long, then as many as that is; nothing of it counts. */
	measure(host, device, shared, kernel, us);
	cold_us = us[2];
	for (;;) {
		measure(host, device, shared, kernel, us);
		if (us[0] >= us[1])
			break;
		steps *= 2;
	}
	steps = (unsigned)(steps * us[1] / us[0]) + 1;
	for (int round = 0; round < bench_repeat; round++) {
		measure(host, device, shared, kernel, us);
		for (int i = 0; i < 3; i++)
			times[i][round] = us[i];
	}
	for (int i = 0; i < 3; i++) {
		us[i] = bench_median(times[i], (size_t)bench_repeat);
		free(times[i]);
	}
	row.ours = (us[0] + us[1] - us[2]) / (us[0] < us[1] ? us[0] : us[1]);
	snprintf(row.name, sizeof(row.name), "%zu MiB, link %s", size >> 20, LINK);
	snprintf(row.note, sizeof(row.note), "ms: fill %.1f, transfer %.1f, both %.1f; cold %.1f",
		 us[0] / 1e3, us[1] / 1e3, us[2] / 1e3, cold_us / 1e3);
	bench_emit(&row);
	bench_check(adsmDeviceFree(device));
	bench_check(adsmFree(shared));
	bench_check(adsmModuleUnload(module));
	bench_check(adsmShutdown());
	free(host);
}
