/* SPDX-License-Identifier: MIT */
/*
 * overlap.c - early sends: the CPU fills an object while what it has filled before is on its way. And prefetches: the
 * CPU works on other memory meanwhile.
 *
 * On the CPU's device a modelled link (ADSM_CPU_LINK) makes the transfer slow; the fill does as much arithmetic
 * for each word as makes it take as long. Three times are measured in each round: the fill alone, into plain
 * memory; the transfer alone, an explicit copy; and the fill of a rolling object, an empty call that reads it, and
 * the sync. Overlap is what the last saves of the sum of the first two, as a share of the shorter of them.
 *
 * For a prefetch in each direction the third time is that of adsmPrefetch(), the same fill of plain memory, and
 * adsmEventWait(). To the device goes an object under lazy, which nothing sends early; to the host one under rolling.
 *
 * Floor: 1, all of the shorter one hidden.
 *
 * On the backend cuda there are rows in milliseconds besides, all of it against the same written by hand on the driver:
 * fill, copy, wait, from pageable and from pinned memory; and in chunks from pinned memory, each on its way while the
 * next is filled.
 */
#include "bench_cuda.h"

#include <adsm_prefetch.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINK "1GB/s,10us"
#define CHUNK ((size_t)1 << 20)

enum { FILL, TRANSFER, BOTH, PAGEABLE, PINNED, CHUNKS, FETCH, TO_DEVICE, TO_HOST, N_TIMES };

static size_t n_words;
static unsigned steps = 1;		/* of arithmetic for each word */
static uint32_t *lazy;			/* an object that nothing sends early */

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

static double prefetch(const uint32_t *words, int to, uint32_t *host)
{
	double start = bench_now_us();
	adsmEvent event;

	bench_check(adsmPrefetch(words, n_words * sizeof(*words), to, &event));
	fill(host, 0, n_words);
	bench_check(adsmEventWait(event));
	return bench_now_us() - start;
}

static void measure_prefetches(uint32_t *host, void *device, uint32_t *shared, adsmKernel *kernel,
			       double ret_us[N_TIMES])
{
	double start = bench_now_us();

	bench_check(adsmCopyToHost(host, device, n_words * sizeof(*host)));
	ret_us[FETCH] = bench_now_us() - start;
	memset(lazy, 1, n_words * sizeof(*lazy));
	ret_us[TO_DEVICE] = prefetch(lazy, ADSM_DEVICE_CURRENT, host);
	bench_check(adsmCall(kernel, bench_one, bench_one, adsmInOut(shared)));
	bench_check(adsmSync());
	ret_us[TO_HOST] = prefetch(shared, ADSM_HOST, host);
}

static void emit_overlap(const char *name, const double us[N_TIMES], int transfer, int both, double cold_us)
{
	struct bench_row row = { .unit = "share", .floor = 1, .target = ">= 0.8" };

	row.ours = (us[FILL] + us[transfer] - us[both]) / (us[FILL] < us[transfer] ? us[FILL] : us[transfer]);
	snprintf(row.name, sizeof(row.name), "%s, link %s", name, hand.on ? "of the device" : LINK);
	snprintf(row.note, sizeof(row.note), "ms: fill %.1f, transfer %.1f, both %.1f; cold %.1f", us[FILL] / 1e3,
		 us[transfer] / 1e3, us[both] / 1e3, cold_us / 1e3);
	bench_emit(&row);
}

static void emit_hand(size_t size, const double us[N_TIMES])
{
	static const char *const names[N_TIMES] = { [PAGEABLE] = "pageable", [PINNED] = "pinned",
		[CHUNKS] = "pinned, in chunks of 1 MiB" };

	for (int i = PAGEABLE; i <= CHUNKS && hand.on; i++) {
		struct bench_row row = { .unit = "ms", .ours = us[BOTH] / 1e3, .floor = us[i] / 1e3, .target = "" };

		snprintf(row.name, sizeof(row.name), "%zu MiB, %s", size >> 20, names[i]);
		bench_emit(&row);
	}
}

void bench_overlap(void)
{
	size_t size = bench_smoke ? (size_t)1 << 20 : (size_t)64 << 20;
	adsmAllocOptions options = ADSM_ALLOC_OPTIONS_INIT;
	double *times[N_TIMES], us[N_TIMES] = { 0 }, cold_us[N_TIMES];
	uint32_t *host, *shared;
	adsmKernel *kernel;
	adsmModule *module;
	void *device;
	char name[16];

	bench_check(adsmOption("cpu_link", LINK));
	bench_check(adsmOption("protocol", "rolling"));
	module = bench_load("../kernels/bench.adsm", "nothing", &kernel);
	n_words = size / sizeof(*host);
	host = bench_host_alloc(size);
	shared = bench_shared_alloc(size, 0);
	device = adsmDeviceAlloc(size);
	bench_check(!device);
	options.protocol = "lazy";
	lazy = adsmAllocWith(size, &options);
	bench_check(!lazy);
	hand_open(size);
	for (int i = 0; i < N_TIMES; i++)
		times[i] = bench_host_alloc((size_t)bench_repeat * sizeof(double));

	/* More steps until the fill takes as long, then as many as that is; nothing of it counts. */
	measure(host, device, shared, kernel, us);
	measure_prefetches(host, device, shared, kernel, us);
	memcpy(cold_us, us, sizeof(us));
	for (;;) {
		measure(host, device, shared, kernel, us);
		if (us[FILL] >= us[TRANSFER])
			break;
		steps *= 2;
	}
	steps = (unsigned)(steps * us[TRANSFER] / us[FILL]) + 1;
	for (int round = 0; round < bench_repeat; round++) {
		measure(host, device, shared, kernel, us);
		measure_prefetches(host, device, shared, kernel, us);
		for (int i = 0; i < N_TIMES; i++)
			times[i][round] = us[i];
	}
	for (int i = 0; i < N_TIMES; i++) {
		us[i] = bench_median(times[i], (size_t)bench_repeat);
		free(times[i]);
	}
	snprintf(name, sizeof(name), "%zu MiB", size >> 20);
	emit_overlap(name, us, TRANSFER, BOTH, cold_us[BOTH]);
	emit_overlap("prefetch to device", us, TRANSFER, TO_DEVICE, cold_us[TO_DEVICE]);
	emit_overlap("prefetch to host", us, FETCH, TO_HOST, cold_us[TO_HOST]);
	emit_hand(size, us);
	hand_close();
	bench_check(adsmDeviceFree(device));
	bench_check(adsmFree(lazy));
	bench_check(adsmFree(shared));
	bench_check(adsmModuleUnload(module));
	bench_check(adsmShutdown());
	free(host);
}
