/* SPDX-License-Identifier: MIT */
/*
 * backend.c - the CUDA backend by its contract, on the driver's double, without the library above:
 * cuda-backend WAY CASE, WAY as in ADSM_CUDA_MEMORY. TEST_KERNELS names the folder of the kernel modules.
 */
#include "backend.h"
#include "cuda/address.h"
#include "cuda/device.h"
#include "cuda/pin.h"
#include "base/log.h"
#include "base/module.h"
#include "start/options.h"
#include "cuda/options.h"
#include "base/os.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK_MORE adsm_last_error()
#include "../check.h"

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)
#define ARENA_SIZE ((size_t)64 << 30)
#define N_LAUNCHES 128
#define N_PLACES (sizeof(places) / sizeof(places[0]))

static struct adsm_backend_config arena;
static const struct adsm_backend *backend;
static struct adsm_device *device;

static void leave_arena(void)
{
}

static void make_arena(void)
{
	void *p;

	CHECK(!adsm_os_memfd("test-arena", ARENA_SIZE, &arena.arena_fd));
	CHECK(!adsm_os_reserve(0x7e8000000000, ARENA_SIZE, &p) || !adsm_os_reserve(0x110000000000, ARENA_SIZE, &p));
	arena.arena_base = (uintptr_t)p;
	arena.arena_size = ARENA_SIZE;
	arena.leave_arena = leave_arena;
	CHECK(!adsm_os_map(NULL, ARENA_SIZE, arena.arena_fd, 0, ADSM_PROT_RW, &arena.alias_base));
}

static void open_device(void)
{
	CHECK(backend->probe() >= 1);
	CHECK(!backend->open(0, &arena, &device));
}

/* Afterwards the arena is the library's again. */
static void close_device(void)
{
	void *p;

	backend->close(device);
	CHECK(adsm_os_reserve(arena.arena_base, ADSM_PAGE_SIZE, &p) == -EEXIST);
	CHECK(adsm_os_reserve(arena.arena_base + ARENA_SIZE - ADSM_PAGE_SIZE, ADSM_PAGE_SIZE, &p) == -EEXIST);
}

static char *alias(size_t at)
{
	return (char *)arena.alias_base + at;
}

static struct adsm_memory *take_on(struct adsm_device *d, size_t at, size_t size)
{
	struct adsm_memory *memory;

	CHECK(!backend->alloc(d, size, arena.arena_base + at, &memory));
	CHECK(memory->size == size && memory->address && memory->device == d);
	CHECK(!d->caps.given_address || memory->address == arena.arena_base + at);
	CHECK(!d->caps.dictates_address || memory->address % ADSM_PAGE_SIZE == 0);
	return memory;
}

static struct adsm_memory *take(size_t at, size_t size)
{
	return take_on(device, at, size);
}

static void fill(struct adsm_memory *memory, int value)
{
	CHECK(!backend->fill(memory, 0, (uint8_t)value, memory->size, NULL));
}

static void check_value(struct adsm_memory *memory, int value)
{
	char *bytes = malloc(memory->size);

	CHECK(bytes && !backend->to_host(bytes, memory, 0, memory->size, NULL));
	for (size_t i = 0; i < memory->size; i++)
		CHECK(bytes[i] == (char)value);
	free(bytes);
}

/* ---- places: objects in whatever order, sharing what the driver maps, with the CPU's views over them */

static const struct { size_t at, size; } places[] = {
	{ 0, 8 * KIB }, { 8 * KIB, 4 * KIB }, { 12 * KIB, 64 * KIB }, { 2 * MIB - 4 * KIB, 4 * KIB },
	{ 4 * MIB, 5 * MIB }, { 9 * MIB, 4 * KIB }, { 9 * MIB + 4 * KIB, MIB }, { 19 * MIB, MIB },
	{ 26 * MIB + 8 * KIB, 4 * KIB }, { 20 * MIB, 6 * MIB + 4 * KIB }, { 27 * MIB, 2 * MIB },
};

static char *map_view(struct adsm_memory *memory, size_t at)
{
	void *p = (void *)(uintptr_t)memory->address, *ret;

	if (!device->caps.given_address && !device->caps.dictates_address)
		return NULL;
	CHECK(!adsm_os_map(p, memory->size, arena.arena_fd, at, ADSM_PROT_RW, &ret) && ret == p);
	return p;
}

static void check_places(struct adsm_memory **memories, char **views)
{
	for (size_t i = 0; i < N_PLACES; i++) {
		if (!memories[i])
			continue;
		check_value(memories[i], (int)i + 1);
		for (size_t b = 0; views[i] && b < places[i].size; b++)
			CHECK(views[i][b] == (char)(100 + i));
	}
}

static void test_places(void)
{
	struct adsm_memory *memories[N_PLACES];
	char *views[N_PLACES];
	uint64_t before;

	open_device();
	before = backend->memory_free(device);
	for (size_t round = 0; round < 3; round++) {
		for (size_t i = 0; i < N_PLACES; i++) {
			size_t k = (i * 3 + round) % N_PLACES;

			memories[k] = take(places[k].at, places[k].size);
			views[k] = map_view(memories[k], places[k].at);
			memset(alias(places[k].at), 100 + (int)k, places[k].size);
			fill(memories[k], (int)k + 1);
		}
		check_places(memories, views);
		for (size_t i = 0; i < N_PLACES; i++) {
			size_t k = (i * 5 + round) % N_PLACES;

			if (views[k])
				CHECK(!adsm_os_unmap_to_reserve(views[k], places[k].size));
			backend->free(memories[k]);
			memories[k] = NULL;
			check_places(memories, views);
		}
	}
	CHECK(backend->memory_free(device) == before);
	close_device();
}

static void test_full(void)
{
	struct adsm_memory *all[1024], *more;
	uint64_t before;
	size_t n = 0;
	int error;

	open_device();
	before = backend->memory_free(device);
	CHECK(backend->alloc(device, device->caps.memory_size + ADSM_PAGE_SIZE, arena.arena_base, &more) == -ENOMEM);
	for (;;) {
		CHECK(n < sizeof(all) / sizeof(all[0]));
		error = backend->alloc(device, 16 * MIB, arena.arena_base + n * 16 * MIB, &all[n]);
		if (error)
			break;
		n++;
	}
	CHECK(error == -ENOMEM && n);
	while (n)
		backend->free(all[--n]);
	CHECK(backend->memory_free(device) == before);
	close_device();
}

/* ---- copies */

static void test_copies(void)
{
	struct adsm_memory *memory, *other;
	char *p = alias(0), *copy = malloc(MIB), *back = malloc(MIB);
	struct adsm_device_event event, last = { 0 };
	struct adsm_span span;
	int status;

	CHECK(copy && back);
	open_device();
	memory = take(0, MIB);
	other = take(MIB, MIB);
	for (size_t i = 0; i < MIB; i++)
		copy[i] = p[i] = (char)(i * 7 + i / 256);
	CHECK(!backend->to_device(memory, 0, p, MIB, NULL));
	CHECK(!backend->copy(memory, 100, memory, 0, MIB - 100, NULL));
	memmove(copy + 100, copy, MIB - 100);
	CHECK(!backend->copy(memory, 0, memory, 77, MIB - 77, NULL));
	memmove(copy, copy + 77, MIB - 77);
	CHECK(!backend->to_host(back, memory, 0, MIB, NULL) && !memcmp(back, copy, MIB));
	CHECK(!backend->copy(other, 5, memory, 9, MIB - 10, NULL));
	CHECK(!backend->to_host(back, other, 5, MIB - 10, NULL) && !memcmp(back, copy + 9, MIB - 10));

	CHECK(backend->to_device(memory, 0, NULL, 5, NULL) == -EINVAL);
	CHECK(backend->to_device(memory, 0, p, 0, NULL) == -EINVAL);
	CHECK(backend->to_device(memory, 1, p, MIB, NULL) == -EINVAL);
	CHECK(backend->to_host(p, memory, SIZE_MAX, 2, NULL) == -EINVAL);
	CHECK(backend->copy(memory, 0, other, MIB, 1, NULL) == -EINVAL);
	CHECK(backend->fill(memory, MIB - 1, 0, 2, NULL) == -EINVAL);

	/* More than may be outstanding. */
	for (size_t i = 0; i < 1000; i++) {
		CHECK(!backend->to_device(memory, i * 1000, p + i * 1000, 1000, &event));
		CHECK(event.queue == ADSM_QUEUE_TO_DEVICE && event.seq == last.seq + 1);
		last = event;
	}
	CHECK(!backend->event_wait(device, last, &status) && !status);
	event.seq = 1;
	CHECK(backend->event_query(device, event, &status) == 1 && !status);
	event.seq = last.seq + 1;
	CHECK(backend->event_query(device, event, &status) == -EINVAL);
	CHECK(!backend->to_host(back, memory, 0, MIB, &event) && event.queue == ADSM_QUEUE_TO_HOST);
	CHECK(!backend->event_wait(device, event, &status) && !status && !memcmp(back, p, 1000000));
	CHECK(backend->event_times(device, event, &span) == -EINVAL);
	backend->free(memory);
	backend->free(other);
	close_device();
	free(copy);
	free(back);
}

static struct adsm_memory *shared;

static void *copy_much(void *arg)
{
	size_t number = (size_t)(uintptr_t)arg, at = number * 64 * KIB;
	char out[4096], back[4096];
	struct adsm_device_event event;
	int status;

	for (int i = 0; i < 50; i++) {
		memset(out, (int)number * 16 + i, sizeof(out));
		CHECK(!backend->to_device(shared, at, out, sizeof(out), i % 2 ? &event : NULL));
		if (i % 2)
			CHECK(!backend->event_wait(device, event, &status) && !status);
		CHECK(!backend->to_host(back, shared, at, sizeof(back), NULL));
		CHECK(!memcmp(out, back, sizeof(back)));
	}
	return NULL;
}

static void test_threads(void)
{
	pthread_t threads[8];

	open_device();
	shared = take(0, MIB);
	for (size_t i = 0; i < 8; i++)
		CHECK(!pthread_create(&threads[i], NULL, copy_much, (void *)(uintptr_t)i));
	for (size_t i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
	backend->free(shared);
	close_device();
}

/* ---- pins: what moves much, within the budget, until it is freed */

static uint64_t pinned(void)
{
	return atomic_load(&((struct adsm_cuda_device *)device)->pinned);
}

static void move(struct adsm_memory *memory, size_t at, int times)
{
	while (times--)
		CHECK(!backend->to_device(memory, 0, alias(at), memory->size, NULL));
}

/* Whose pages are to be pinned: that is done by a thread. */
static void await_pinner(struct adsm_memory *memory)
{
	while (atomic_load(&((struct adsm_cuda_mem *)memory)->pinned) == ADSM_CUDA_PIN_WANTED)
		sched_yield();
}

static void test_pins(void)
{
	struct adsm_memory *large, *other, *small;
	static char own[MIB];

	open_device();
	adsm_cuda_options.pin = MIB;
	large = take(0, MIB);
	other = take(4 * MIB, MIB);
	small = take(8 * MIB, 64 * KIB);
	move(small, 8 * MIB, 20);
	move(large, 0, 4);
	CHECK(!pinned());
	move(large, 0, 1);
	CHECK(pinned() == MIB);
	move(other, 4 * MIB, 10);
	CHECK(pinned() == MIB);
	backend->free(large);
	CHECK(!pinned());
	move(other, 4 * MIB, 1);
	CHECK(pinned() == MIB);
	backend->free(other);
	CHECK(!pinned());
	/* The same pages again; but not for what moves between the device and the program's own memory. */
	large = take(0, MIB);
	for (int i = 0; i < 10; i++) {
		CHECK(!backend->to_host(own, large, 0, MIB, NULL));
		CHECK(!backend->to_device(large, 0, own, MIB, NULL));
	}
	CHECK(!pinned());
	move(large, 0, 5);
	CHECK(pinned() == MIB);
	backend->free(large);
	backend->free(small);
	close_device();
}

/* ---- streams: launches and the program's own */

static struct adsm_code *load(const char *name, struct adsm_entry **ret_entry)
{
	static char bytes[4 << 20];
	struct adsm_image image = { .kind = ADSM_IMAGE_MODULE, .data = bytes, .options = "" };
	static struct adsm_module_info *info;	/* stays, as the image does */
	struct adsm_code *code;
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s.adsm", getenv("TEST_KERNELS"), name);
	file = fopen(path, "re");
	CHECK(file);
	image.size = fread(bytes, 1, sizeof(bytes), file);
	fclose(file);
	CHECK(!adsm_module_info_create(bytes, image.size, &info));
	image.text = info->text;
	CHECK(!backend->module_load(device, &image, &code));
	CHECK(!backend->kernel_get(code, name, ret_entry));
	return code;
}

static int launch(struct adsm_entry *entry, const char *name, const struct adsm_launch_arg *args, size_t n,
		  struct adsm_device_event *ret_event)
{
	const struct adsm_launch l = { .name = name, .grid = { 1, 1, 1 }, .block = { 1, 1, 1 }, .n_blocks = 1,
				       .n_args = n, .args = args };

	return backend->launch(entry, &l, ret_event);
}

/* A stream of the program's waits for what the library launched, and the library for a stream. */
static void test_streams(void)
{
	struct adsm_device_event events[N_LAUNCHES], event;
	int flags[2], one = 1, status;
	struct adsm_launch_arg arg = { .kind = ADSM_LAUNCH_POINTER };
	struct adsm_cuda_scope scope;
	struct adsm_native native;
	CUcontext before, after;
	struct adsm_entry *spin;
	struct adsm_memory *memory;
	struct adsm_code *code;
	struct adsm_span span;
	uint64_t end = 0;
	CUstream s;

	open_device();
	CHECK(!backend->driver->native(device, &native) && native.context && native.queues[ADSM_QUEUE_COMPUTE]);
	code = load("spin", &spin);
	arg.memory = memory = take(0, 4 * KIB);
	fill(memory, 0);
	CHECK(!adsm_cuda_enter((struct adsm_cuda_device *)device, &scope));
	CHECK(!adsm_cu.cuCtxGetCurrent(&before) && before == native.context);
	CHECK(!adsm_cu.cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	for (int i = 0; i < N_LAUNCHES; i++)
		CHECK(!launch(spin, "spin", &arg, 1, &events[i]));
	CHECK(!backend->driver->queue_follow(device, s));
	CHECK(!adsm_cu.cuMemsetD8Async(memory->address + 1024, 7, 4, s));
	/* Copies that return when they are done do not wait for launches. */
	do
		CHECK(!backend->to_host(flags, memory, 0, sizeof(flags), NULL));
	while (!flags[0]);
	CHECK(adsm_cu.cuStreamQuery(s) == CUDA_ERROR_NOT_READY);
	CHECK(backend->event_query(device, events[0], &status) == 0);
	CHECK(!backend->to_host(flags, memory, 1024, 4, NULL) && !flags[0]);
	CHECK(!backend->to_device(memory, 4, &one, 4, NULL));
	CHECK(!backend->event_wait(device, events[N_LAUNCHES - 1], &status) && !status);
	for (int i = 0; i < N_LAUNCHES; i++) {
		CHECK(backend->event_query(device, events[i], &status) == 1 && !status);
		CHECK(!backend->event_times(device, events[i], &span));
		CHECK(i || span.ns);
		CHECK(span.start_ns && span.start_ns >= end);
		end = span.start_ns + span.ns;
	}
	for (int i = 0; i < 300; i++) {
		CHECK(!adsm_cu.cuMemsetD8Async(memory->address + 1024, (unsigned char)i, 4, s));
		CHECK(!backend->driver->queue_join(device, (void *[]){ i % 2 ? s : NULL, s }, 1 + i % 2, &event));
		CHECK(event.queue == ADSM_QUEUE_COMPUTE);
	}
	CHECK(!backend->event_wait(device, event, &status) && !status);
	CHECK(!backend->to_host(flags, memory, 1024, 4, NULL) && (flags[0] & 0xff) == 299 % 256);
	CHECK(!adsm_cu.cuStreamDestroy_v2(s));
	CHECK(!adsm_cu.cuCtxGetCurrent(&after) && after == before);
	adsm_cuda_leave(&scope);
	backend->module_unload(code);
	backend->free(memory);
	close_device();
}

/* ---- loss: an error that stays in a context ends everything, and no thread waits */

static void test_loss(void)
{
	unsigned index = 1u << 30;
	struct adsm_launch_arg args[2] = { { .kind = ADSM_LAUNCH_POINTER },
					   { .kind = ADSM_LAUNCH_VALUE, .data = &index, .size = sizeof(index) } };
	struct adsm_device_event event, second, none;
	struct adsm_memory *memory, *more;
	struct adsm_entry *crash;
	struct adsm_code *code;
	int status, error, also;

	open_device();
	code = load("crash", &crash);
	args[0].memory = memory = take(0, 4 * KIB);
	/* It may have crashed before launch() returns. */
	error = launch(crash, "crash", args, 2, &event);
	CHECK(!error || error == -ENODEV);
	also = launch(crash, "crash", args, 2, &second);
	CHECK(!also || also == -ENODEV);
	CHECK(error || (!backend->event_wait(device, event, &status) && status == -ENODEV));
	CHECK(also || (!backend->event_wait(device, second, &status) && status == -ENODEV));
	CHECK(backend->status(device) == -ENODEV && strstr(adsm_last_error(), "CUDA_ERROR_ILLEGAL_ADDRESS"));
	/* The first query reports it: that of a launch, or of an event behind it. */
	CHECK(strstr(adsm_last_error(), "kernel 'crash'") || strstr(adsm_last_error(), "an event failed"));
	CHECK(launch(crash, "crash", args, 2, &none) == -ENODEV);
	CHECK(backend->to_host(&index, memory, 0, 4, NULL) == -ENODEV);
	CHECK(backend->to_host(&index, memory, 0, 4, &none) == -ENODEV);
	CHECK(backend->alloc(device, 4 * KIB, arena.arena_base, &more) == -ENODEV);
	CHECK(backend->driver->queue_join(device, (void *[]){ NULL }, 1, &none) == -ENODEV);
	CHECK(backend->driver->queue_follow(device, NULL) == -ENODEV);
	backend->free(memory);
	backend->module_unload(code);
	close_device();
}

/* ---- contexts of the program's, taken while others are open; one is destroyed under the library */

static void test_contexts(void)
{
	const char *file = *adsm_cuda_options.library ? adsm_cuda_options.library : "libcuda.so.1";
	void *driver = dlopen(file, RTLD_NOW);
	CUresult (*create)(CUcontext *, unsigned, CUdevice);
	CUresult (*destroy)(CUcontext);
	struct adsm_memory *mine, *theirs;
	struct adsm_device *first, *second;
	struct adsm_native native;
	struct adsm_sigset old;
	CUcontext contexts[3];
	char bytes[16];

	adsm_os_signals_block(&old);
	CHECK(driver && !adsm_cu_open());
	*(void **)&create = dlsym(driver, "cuCtxCreate_v2");
	*(void **)&destroy = dlsym(driver, "cuCtxDestroy_v2");
	for (int i = 0; i < 3; i++)
		CHECK(!create(&contexts[i], 0, 0));
	CHECK(backend->driver->use_context(contexts[0], (void *)7) == -EINVAL);
	CHECK(!backend->driver->use_context(contexts[0], NULL) && backend->probe() == 1);
	CHECK(!backend->open(0, &arena, &first));
	CHECK(!backend->driver->native(first, &native) && native.context == contexts[0]);
	/* One that is not opened makes place for the next. */
	CHECK(!backend->driver->use_context(contexts[1], NULL) && backend->probe() == 2);
	CHECK(!backend->driver->use_context(contexts[2], NULL) && backend->probe() == 2);
	CHECK(!backend->open(1, &arena, &second));
	CHECK(!backend->driver->native(second, &native) && native.context == contexts[2]);
	mine = take_on(first, 0, 4 * KIB);
	theirs = take_on(second, 4 * KIB, 4 * KIB);
	fill(mine, 1);
	fill(theirs, 2);
	check_value(mine, 1);
	check_value(theirs, 2);
	CHECK(!destroy(contexts[2]));
	CHECK(backend->to_host(bytes, theirs, 0, sizeof(bytes), NULL) == -ENODEV);
	CHECK(backend->status(second) == -ENODEV && strstr(adsm_last_error(), "destroyed"));
	backend->free(theirs);
	check_value(mine, 1);
	backend->close(second);
	check_value(mine, 1);
	backend->free(mine);
	CHECK(!backend->driver->use_context(NULL, NULL));
	/* No call has detected the loss when the device is closed. */
	CHECK(!destroy(contexts[0]));
	backend->close(first);
	open_device();
	CHECK(!backend->driver->native(device, &native) && native.context != contexts[0]);
	close_device();
	adsm_os_signals_restore(&old);
}

/* ---- capture: what a program captures is not ended by what the library does meanwhile */

static CUresult (*begin_capture)(CUstream, int);
static CUresult (*end_capture)(CUstream, CUgraph *);
static CUresult (*graph_destroy)(CUgraph graph);

static void open_capture(void)
{
	const char *file = *adsm_cuda_options.library ? adsm_cuda_options.library : "libcuda.so.1";
	void *driver = dlopen(file, RTLD_NOW);

	CHECK(driver);
	*(void **)&begin_capture = dlsym(driver, "cuStreamBeginCapture_v2");
	*(void **)&end_capture = dlsym(driver, "cuStreamEndCapture");
	*(void **)&graph_destroy = dlsym(driver, "cuGraphDestroy");
	CHECK(begin_capture && end_capture && graph_destroy);
}

static void test_capture(void)
{
	int mode = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
	struct adsm_device_event event;
	struct adsm_cuda_scope scope;
	struct adsm_memory *memory;
	CUgraph graph = NULL;
	CUstream s;
	CUdeviceptr p;
	int status;

	open_device();
	open_capture();
	CHECK(!adsm_cuda_enter((struct adsm_cuda_device *)device, &scope));
	CHECK(!adsm_cu.cuThreadExchangeStreamCaptureMode(&mode) && mode == CU_STREAM_CAPTURE_MODE_RELAXED);
	CHECK(!adsm_cu.cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	CHECK(!begin_capture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	memory = take(0, MIB);
	fill(memory, 3);
	move(memory, 0, 10);
	CHECK(!backend->copy(memory, 100, memory, 0, MIB - 100, NULL));
	CHECK(!backend->to_host(alias(0), memory, 0, MIB, &event));
	CHECK(!backend->event_wait(device, event, &status) && !status);
	backend->free(memory);
	CHECK(!end_capture(s, &graph) && graph && !graph_destroy(graph));
	/* And the thread is as it was. */
	CHECK(!begin_capture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	CHECK(adsm_cu.cuMemAlloc_v2(&p, MIB) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	CHECK(end_capture(s, &graph) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	CHECK(!adsm_cu.cuStreamDestroy_v2(s));
	mode = scope.capture;
	CHECK(!adsm_cu.cuThreadExchangeStreamCaptureMode(&mode) && mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
	adsm_cuda_leave(&scope);
	close_device();
}

/* ---- refusals: the driver refuses in the middle of things, which are then as they were */

static struct adsm_cu drivers;		/* the driver's own */
static int n_creates;

static CUresult create_few(CUmemGenericAllocationHandle *handle, size_t size, const CUmemAllocationProp *prop,
			   unsigned long long flags)
{
	return n_creates-- > 0 ? drivers.cuMemCreate(handle, size, prop, flags) : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult access_none(CUdeviceptr p, size_t size, const CUmemAccessDesc *desc, size_t n)
{
	return CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult pin_none(void *p, size_t size, unsigned flags)
{
	return CUDA_ERROR_NOT_PERMITTED;
}

static void test_refusals(void)
{
	const size_t at = MIB, size = 8 * MIB;	/* part of a granule, whole ones, part of a granule */
	struct adsm_memory *memory, *neighbour, *none;
	uint64_t before;

	open_device();
	drivers = adsm_cu;
	neighbour = take(0, MIB);
	fill(neighbour, 7);
	before = backend->memory_free(device);
	adsm_cu.cuMemCreate = create_few;
	for (int i = 0; !strcmp(device->caps.memory, "arena") && i < 4; i++) {
		n_creates = i % 2;
		if (i >= 2)
			adsm_cu.cuMemSetAccess = access_none;
		CHECK(backend->alloc(device, size, arena.arena_base + at, &none) == -ENOMEM);
		CHECK(backend->memory_free(device) == before);
		check_value(neighbour, 7);
	}
	adsm_cu.cuMemCreate = drivers.cuMemCreate;
	adsm_cu.cuMemSetAccess = drivers.cuMemSetAccess;
	memory = take(at, size);
	fill(memory, 8);
	adsm_cu.cuMemHostRegister_v2 = pin_none;
	memset(alias(at), 9, size);
	move(memory, at, 10);
	await_pinner(memory);
	CHECK(!pinned());
	check_value(memory, 9);
	check_value(neighbour, 7);
	backend->free(memory);
	CHECK(backend->memory_free(device) == before);
	adsm_cu.cuMemHostRegister_v2 = drivers.cuMemHostRegister_v2;
	adsm_cuda_options.pin = 0;
	move(neighbour, 0, 10);
	CHECK(!pinned());
	backend->free(neighbour);
	close_device();
}

/* A kernel that declares 20 KiB of memory of the block has to be asked for more than 28. */
static int allowed = 28 << 10, n_asked;

static CUresult get_allowed(int *value, int which, CUfunction function)
{
	if (which != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
		return drivers.cuFuncGetAttribute(value, which, function);
	*value = allowed;
	return CUDA_SUCCESS;
}

static CUresult set_allowed(CUfunction function, int which, int value)
{
	allowed = value;
	n_asked++;
	return drivers.cuFuncSetAttribute(function, which, value);
}

static void test_shared(void)
{
	unsigned index = 0;
	struct adsm_launch_arg args[3] = { { .kind = ADSM_LAUNCH_POINTER },
					   { .kind = ADSM_LAUNCH_VALUE, .data = &index, .size = sizeof(index) },
					   { .kind = ADSM_LAUNCH_LOCAL } };
	struct adsm_memory *memory;
	struct adsm_entry *entry;
	struct adsm_code *code;

	open_device();
	drivers = adsm_cu;
	adsm_cu.cuFuncGetAttribute = get_allowed;
	adsm_cu.cuFuncSetAttribute = set_allowed;
	code = load("crash", &entry);
	args[0].memory = memory = take(0, 4 * KIB);
	args[2].size = 28 * KIB;
	CHECK(!launch(entry, "crash", args, 3, NULL) && !n_asked);
	args[2].size = 40 * KIB;
	CHECK(!launch(entry, "crash", args, 3, NULL) && n_asked == 1 && allowed == 40 << 10);
	args[2].size = 36 * KIB;
	CHECK(!launch(entry, "crash", args, 3, NULL) && n_asked == 1);
	backend->free(memory);
	backend->module_unload(code);
	close_device();
}

/* Another thread takes a page of the range just when it is neither the library's nor the driver's. */
static void *taken;

static CUresult reserve_late(CUdeviceptr *p, size_t size, size_t align, CUdeviceptr wanted, unsigned long long flags)
{
	CHECK(!adsm_os_map((void *)(uintptr_t)(wanted + MIB), ADSM_PAGE_SIZE, arena.arena_fd, 0, ADSM_PROT_RW, &taken));
	return drivers.cuMemAddressReserve(p, size, align, wanted, flags);
}

static CUresult reserve_none(CUdeviceptr *p, size_t size, size_t align, CUdeviceptr wanted, unsigned long long flags)
{
	return CUDA_ERROR_OUT_OF_MEMORY;
}

static void test_intruders(void)
{
	bool arena_only = adsm_cuda_options.memory == ADSM_CUDA_ARENA;
	void *p;

	CHECK(backend->probe() >= 1);
	drivers = adsm_cu;
	adsm_cu.cuMemAddressReserve = reserve_none;
	CHECK(backend->open(0, &arena, &device) == (arena_only ? -ENOTSUP : 0));
	CHECK(adsm_os_reserve(arena.arena_base, ADSM_PAGE_SIZE, &p) == -EEXIST);
	if (!arena_only)
		close_device();
	adsm_cu.cuMemAddressReserve = reserve_late;
	if (arena_only) {
		CHECK(backend->open(0, &arena, &device) == -ENOMEM);
		CHECK(taken && strstr(adsm_last_error(), "another thread"));
		*(int *)taken = 1;
	} else {
		open_device();
		close_device();
		CHECK(!taken);
	}
}

static const struct { const char *name; void (*run)(void); } cases[] = {
	{ "places", test_places }, { "full", test_full }, { "copies", test_copies }, { "threads", test_threads },
	{ "pins", test_pins }, { "streams", test_streams }, { "loss", test_loss }, { "contexts", test_contexts },
	{ "capture", test_capture }, { "refusals", test_refusals },
	{ "shared", test_shared }, { "intruders", test_intruders },
};

int main(int argc, char **argv)
{
	CHECK(argc == 3);
	CHECK(!adsm_options_set("cuda_memory", argv[1]) && !adsm_options_load());
	backend = adsm_backend_named("cuda");
	CHECK(backend);
	make_arena();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (strcmp(cases[i].name, argv[2]))
			continue;
		cases[i].run();
		return 0;
	}
	fprintf(stderr, "no case '%s'\n", argv[2]);
	return 2;
}
