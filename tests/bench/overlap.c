/* SPDX-License-Identifier: MIT */
/*
 * overlap.c - early sends: the CPU fills an object while what it has filled before is on its way.
 *
 * On the CPU's device a modelled link (ADSM_CPU_LINK) makes the transfer slow; the fill does as much arithmetic
 * for each word as makes it take as long. Three times are measured in each round: the fill alone, into plain
 * memory; the transfer alone, an explicit copy; and the fill of a rolling object, an empty call that reads it, and
 * the sync. Overlap is what the last saves of the sum of the first two, as a share of the shorter of them.
 *
 * Floor: 1, all of the shorter one hidden.
 *
 * On the backend cuda there are rows in milliseconds besides, all of it against the same written by hand on the driver:
 * fill, copy, wait, from pageable and from pinned memory; and in chunks from pinned memory, each on its way while the
 * next is filled.
 */
#include "bench_cuda.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINK "1GB/s,10us"
#define CHUNK ((size_t)1 << 20)

enum { FILL, TRANSFER, BOTH, PAGEABLE, PINNED, CHUNKS, N_TIMES };

static size_t n_words;
static unsigned steps = 1;		/* of arithmetic for each word */

static void fill(uint32_t *words, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++) {
		uint32_t x = (uint32_t)i;

		for (unsigned step = 0; step < steps; step++)
			x = x * 1664525 + 1013904223;
		words[i] = x;
	}
}

/* ---- by hand on CUDA's driver */

static struct {
	bool on;
	CUcontext context;
	CUstream stream;
	CUdeviceptr memory;
	uint32_t *pinned;
} hand;

static void hand_open(size_t size)
{
	adsmDeviceProps props = { .struct_size = sizeof(props) };

	bench_check(adsmDeviceInfo(ADSM_DEVICE_CURRENT, &props));
	hand.on = !strcmp(props.backend, "cuda");
	if (!hand.on)
		return;
	hand.context = bench_cu_context();
	CU(cuCtxPushCurrent_v2, hand.context);
	CU(cuStreamCreate, &hand.stream, CU_STREAM_NON_BLOCKING);
	CU(cuMemAlloc_v2, &hand.memory, size);
	hand.pinned = aligned_alloc(4096, size);
	if (!hand.pinned)
		bench_die("not enough memory for %zu bytes", size);
	memset(hand.pinned, 1, size);
	CU(cuMemHostRegister_v2, hand.pinned, size, 0);
	CU(cuCtxPopCurrent_v2, &hand.context);
}

/* Microseconds of filling and sending all, @chunk words at a time. */
static double hand_measure(uint32_t *words, size_t chunk)
{
	double start = bench_now_us();

	CU(cuCtxPushCurrent_v2, hand.context);
	for (size_t at = 0; at < n_words; at += chunk) {
		fill(words, at, at + chunk);
		CU(cuMemcpyHtoDAsync_v2, hand.memory + at * sizeof(*words), words + at, chunk * sizeof(*words),
		   hand.stream);
	}
	CU(cuStreamSynchronize, hand.stream);
	CU(cuCtxPopCurrent_v2, &hand.context);
	return bench_now_us() - start;
}

static void hand_close(void)
{
	if (!hand.on)
		return;
	CU(cuCtxPushCurrent_v2, hand.context);
	CU(cuMemHostUnregister, hand.pinned);
	CU(cuMemFree_v2, hand.memory);
	CU(cuStreamDestroy_v2, hand.stream);
	CU(cuCtxPopCurrent_v2, &hand.context);
	CU(cuDevicePrimaryCtxRelease_v2, 0);
	free(hand.pinned);
}

/* ---- all together */

/* One round: how long each takes. */
static void measure(uint32_t *host, void *device, uint32_t *shared, adsmKernel *kernel, double ret_us[N_TIMES])
{
	double start = bench_now_us(), filled, sent;

	fill(host, 0, n_words);
	filled = bench_now_us();
	bench_check(adsmCopyToDevice(device, host, n_words * sizeof(*host)));
	sent = bench_now_us();
	fill(shared, 0, n_words);
	bench_check(adsmCall(kernel, bench_one, bench_one, adsmIn(shared)));
	bench_check(adsmSync());
	ret_us[FILL] = filled - start;
	ret_us[TRANSFER] = sent - filled;
	ret_us[BOTH] = bench_now_us() - sent;
	if (!hand.on)
		return;
	ret_us[PAGEABLE] = hand_measure(host, n_words);
	ret_us[PINNED] = hand_measure(hand.pinned, n_words);
	ret_us[CHUNKS] = hand_measure(hand.pinned, CHUNK / sizeof(*host));
}

static void emit_hand(size_t size, const double us[N_TIMES])
{
	static const char *const names[N_TIMES] = { [PAGEABLE] = "pageable", [PINNED] = "pinned",
		[CHUNKS] = "pinned, in chunks of 1 MiB" };

	for (int i = PAGEABLE; i < N_TIMES && hand.on; i++) {
		struct bench_row row = { .unit = "ms", .ours = us[BOTH] / 1e3, .floor = us[i] / 1e3, .target = "" };

		snprintf(row.name, sizeof(row.name), "%zu MiB, %s", size >> 20, names[i]);
		bench_emit(&row);
	}
}

void bench_overlap(void)
{
	size_t size = bench_smoke ? (size_t)1 << 20 : (size_t)64 << 20;
	struct bench_row row = { .unit = "share", .floor = 1, .target = ">= 0.8" };
	double *times[N_TIMES], us[N_TIMES] = { 0 }, cold_us;
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
	hand_open(size);
	for (int i = 0; i < N_TIMES; i++)
		times[i] = bench_host_alloc((size_t)bench_repeat * sizeof(double));

	/* More steps until the fill takes as long, then as many as that is; nothing of it counts. */
	measure(host, device, shared, kernel, us);
	cold_us = us[BOTH];
	for (;;) {
		measure(host, device, shared, kernel, us);
		if (us[FILL] >= us[TRANSFER])
			break;
		steps *= 2;
	}
	steps = (unsigned)(steps * us[TRANSFER] / us[FILL]) + 1;
	for (int round = 0; round < bench_repeat; round++) {
		measure(host, device, shared, kernel, us);
		for (int i = 0; i < N_TIMES; i++)
			times[i][round] = us[i];
	}
	for (int i = 0; i < N_TIMES; i++) {
		us[i] = bench_median(times[i], (size_t)bench_repeat);
		free(times[i]);
	}
	row.ours = (us[FILL] + us[TRANSFER] - us[BOTH]) / (us[FILL] < us[TRANSFER] ? us[FILL] : us[TRANSFER]);
	snprintf(row.name, sizeof(row.name), "%zu MiB, link %s", size >> 20, hand.on ? "of the device" : LINK);
	snprintf(row.note, sizeof(row.note), "ms: fill %.1f, transfer %.1f, both %.1f; cold %.1f",
		 us[FILL] / 1e3, us[TRANSFER] / 1e3, us[BOTH] / 1e3, cold_us / 1e3);
	bench_emit(&row);
	emit_hand(size, us);
	hand_close();
	bench_check(adsmDeviceFree(device));
	bench_check(adsmFree(shared));
	bench_check(adsmModuleUnload(module));
	bench_check(adsmShutdown());
	free(host);
}
