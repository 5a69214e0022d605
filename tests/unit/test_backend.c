/* SPDX-License-Identifier: MIT */
/*
 * test_backend.c - the contract of backend.h on the cpu backend, and on the wrapper around it, without
 * the library above. ADSM_TEST_KERNELS names the folder of the kernel modules.
 */
#include "backend.h"
#include "list.h"
#include "stubs.h"
#include "base/log.h"
#include "cpu/options.h"
#include "opencl/options.h"
#include "cuda/options.h"
#include "base/os.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK_MORE adsm_last_error()
#include "../check.h"

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)
#define ARENA_SIZE ((size_t)1 << 32)
#define MEMORY_SIZE (64 * MIB)
#define WAIT_MS 20000		/* for what must happen; never reached when it does */

static struct adsm_backend_config arena;
static const struct adsm_backend *backend;
static struct adsm_device *device;

static void make_arena(void)
{
	void *p;

	CHECK(!adsm_os_memfd("test-arena", ARENA_SIZE, &arena.arena_fd));
	CHECK(!adsm_os_reserve(0x7e8000000000, ARENA_SIZE, &p) || !adsm_os_reserve(0, ARENA_SIZE, &p));
	arena.arena_base = (uintptr_t)p;
	arena.arena_size = ARENA_SIZE;
	CHECK(!adsm_os_map(NULL, ARENA_SIZE, arena.arena_fd, 0, ADSM_PROT_RW, &arena.alias_base));
}

static int n_fds(void)
{
	int n = 0;

	for (int fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* The device's process: the one that a descriptor of ours is a pidfd of. */
static int device_pid(void)
{
	char path[64], line[256];
	int found = 0, pid;

	for (int fd = 0; fd < 1024; fd++) {
		FILE *f;

		snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
		f = fopen(path, "r");
		while (f && fgets(line, sizeof(line), f)) {
			if (sscanf(line, "Pid: %d", &pid) == 1 && pid > 0)
				found = pid;
		}
		if (f)
			fclose(f);
	}
	return found;
}

static void wait_gone(int pidfd)
{
	struct pollfd polled = { .fd = pidfd, .events = POLLIN };

	CHECK(poll(&polled, 1, WAIT_MS) == 1);
	close(pidfd);
}

static void open_device(const char *plan)
{
	int n;

	adsm_backend_options.wrap = plan;
	CHECK(!adsm_backend_find("cpu", &backend, &n) && n == 1);
	CHECK(!backend->open(0, &arena, &device));
	CHECK(device->backend == backend);
}

static void close_device(void)
{
	int pid = device_pid(), pidfd = (int)syscall(SYS_pidfd_open, pid, 0);

	backend->close(device);
	if (pidfd >= 0)
		wait_gone(pidfd);
	device = NULL;
}

static struct adsm_memory *take(size_t page, size_t size)
{
	struct adsm_memory *memory;
	uint64_t wanted = arena.arena_base + page * ADSM_PAGE_SIZE;

	CHECK(!backend->alloc(device, size, wanted, &memory));
	CHECK(memory->address == wanted && memory->size == size && memory->device == device);
	return memory;
}

static void *read_module(const char *name, size_t *ret_size)
{
	const char *folder = getenv("ADSM_TEST_KERNELS");
	char path[4096];
	struct stat st;
	void *image;
	int fd;

	CHECK(folder);
	snprintf(path, sizeof(path), "%s/%s.adsm", folder, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0 && !fstat(fd, &st));
	image = malloc((size_t)st.st_size);
	CHECK(image && read(fd, image, (size_t)st.st_size) == st.st_size);
	close(fd);
	*ret_size = (size_t)st.st_size;
	return image;
}

/* Images stay while their modules are loaded: here until the test ends. */
static struct adsm_code *load(const char *name)
{
	static struct adsm_image images[64];
	static size_t n;
	struct adsm_image *image = &images[n++];
	struct adsm_code *code;

	CHECK(n <= 64);
	image->text = image->options = "";
	image->data = read_module(name, &image->size);
	CHECK(!backend->module_load(device, image, &code));
	CHECK(code->device == device);
	return code;
}

static struct adsm_entry *get(struct adsm_code *code, const char *name)
{
	struct adsm_entry *entry;

	CHECK(!backend->kernel_get(code, name, &entry));
	CHECK(entry->code == code);
	return entry;
}

static struct adsm_launch_arg pointer(struct adsm_memory *memory, size_t offset)
{
	return (struct adsm_launch_arg){ .kind = ADSM_LAUNCH_POINTER, .memory = memory, .offset = offset };
}

#define VALUE(x) ((struct adsm_launch_arg){ .kind = ADSM_LAUNCH_VALUE, .data = &(x), .size = sizeof(x) })

static struct adsm_device_event launch(struct adsm_entry *entry, unsigned grid, unsigned block,
				       const struct adsm_launch_arg *args, size_t n_args)
{
	struct adsm_launch l = {
		.name = "kernel", .grid = { grid, 1, 1 }, .block = { block, 1, 1 }, .n_blocks = grid,
		.n_args = n_args, .args = args,
	};
	struct adsm_device_event event;

	CHECK(!backend->launch(entry, &l, &event));
	CHECK(event.queue == ADSM_QUEUE_COMPUTE);
	return event;
}

static int finish(struct adsm_device_event event)
{
	int ret, status = 1;

	while ((ret = backend->event_wait(device, event, &status)) == -EINTR)
		;
	CHECK(!ret);
	return status;
}

/* The device's word at @offset, as the CPU sees device memory. */
static unsigned word(struct adsm_memory *memory, size_t offset)
{
	unsigned value = 0xdead;

	CHECK(!backend->to_host(&value, memory, offset, sizeof(value), NULL));
	return value;
}

static void set_word(struct adsm_memory *memory, size_t offset, unsigned value)
{
	CHECK(!backend->to_device(memory, offset, &value, sizeof(value), NULL));
}

/* ---- */

static void test_slots(void)
{
	static const struct adsm_backend *const all[] = { ADSM_BACKENDS };
	struct adsm_driver_ops driver = adsm_no_driver;
	struct adsm_cost_ops costs = adsm_no_costs;
	struct adsm_backend other = adsm_backend_cpu;
	const struct adsm_backend *wrapped;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		CHECK(!adsm_backend_broken(all[i]) && adsm_backend_named(all[i]->name) == all[i]);
	CHECK(!adsm_wrap(&adsm_backend_cpu, "once", &wrapped) && !adsm_backend_broken(wrapped));
	other.driver = &driver;
	CHECK(!adsm_backend_broken(&other));
	driver.queue_join = NULL;
	CHECK(strstr(adsm_backend_broken(&other), "pointers is NULL"));
	other = adsm_backend_cpu;
	other.costs = &costs;
	CHECK(!adsm_backend_broken(&other));
	costs.of_part = NULL;
	CHECK(strstr(adsm_backend_broken(&other), "pointers is NULL"));
	other = adsm_backend_cpu;
	other.status = NULL;
	CHECK(strstr(adsm_backend_broken(&other), "pointers is NULL"));
	other.version++;
	CHECK(strstr(adsm_backend_broken(&other), "version"));
}

/* What a device has not says so, wrapped or not. */
static void test_stubs(const char *plan)
{
	const struct adsm_driver_ops *driver;
	struct adsm_device_event event;
	struct adsm_native native;
	struct adsm_memory *memory, *adopted;
	struct adsm_code *code, *kernel;
	struct adsm_param param;
	struct adsm_part_times times;
	struct adsm_part_wait wait;
	struct adsm_part_moves moves;
	const struct adsm_kernel_costs costs = { .calls = 1 };
	uint64_t values[ADSM_COSTS_MAX];
	char text[ADSM_PART_NAME] = "?";
	void *handle;
	char *names;

	open_device(plan);
	event = (struct adsm_device_event){ ADSM_QUEUE_COMPUTE, 1 };
	driver = backend->driver;
	memory = take(0, ADSM_PAGE_SIZE);
	code = load("launch");
	CHECK(driver->native(device, &native) == -ENOTSUP && strstr(adsm_last_error(), "'cpu' has no driver"));
	CHECK(driver->native_memory(memory, &handle) == -ENOTSUP && strstr(adsm_last_error(), "'cpu' has no driver"));
	CHECK(driver->kernel_adopt(device, NULL, &kernel) == -ENOTSUP && strstr(adsm_last_error(), "'cpu' has"));
	CHECK(driver->use_context(NULL, NULL) == -ENOTSUP && strstr(adsm_last_error(), "no driver"));
	CHECK(driver->memory_adopt(device, 0, ADSM_PAGE_SIZE, 0, &adopted) == -ENOTSUP);
	CHECK(strstr(adsm_last_error(), "cpu 0 does not support memory"));
	CHECK(driver->queue_follow(device, NULL) == -ENOTSUP && strstr(adsm_last_error(), "queues"));
	CHECK(driver->queue_join(device, &handle, 1, &event) == -ENOTSUP && strstr(adsm_last_error(), "queues"));
	driver->end(device, "the end", false);
	CHECK(!device->lost && !backend->status(device));
	CHECK(backend->module_names(code, &names) == -ENOTSUP && strstr(adsm_last_error(), "adsmcc"));
	CHECK(backend->kernel_params(get(code, "twice"), &param, 1) == -ENOTSUP);
	/* Tasks are counted, and nothing of other launches. */
	CHECK(!strcmp(backend->costs->counters->name, "workers"));
	CHECK(backend->costs->part_name(device, 0, text) == (device->caps.max_workers > 0));
	CHECK(!strcmp(text, "worker 0") && !backend->costs->part_name(device, device->caps.max_workers, text));
	CHECK(backend->costs->of_launch(device, event, values, values) == -EINVAL);
	CHECK(!adsm_no_costs.counters->name && !adsm_no_costs.part_name(device, 0, text));
	CHECK(adsm_no_costs.of_launch(device, event, values, values) == -EINVAL);
	CHECK(adsm_no_costs.of_part(device, event, 0, &times) == -EINVAL);
	CHECK(backend->costs->of_part(device, event, 0, &times) == -EINVAL);
	CHECK(adsm_no_costs.of_wait(device, event, 0, &wait) == -EINVAL);
	CHECK(backend->costs->of_wait(device, event, 0, &wait) == -EINVAL);
	CHECK(adsm_no_costs.of_moves(device, event, 0, &moves) == -EINVAL);
	CHECK(backend->costs->of_moves(device, event, 0, &moves) == -EINVAL);
	backend->costs->advise(device, "kernel", &costs, text, sizeof(text));
	CHECK(!*text);
	backend->module_unload(code);
	backend->free(memory);
	close_device();
}

static void test_find(void)
{
	const struct adsm_backend *found;
	int n;

	CHECK(adsm_backend_find("gpu", &found, &n) == -EINVAL);
	CHECK(strstr(adsm_last_error(), "'gpu'") && strstr(adsm_last_error(), "cpu"));
	/* Whatever OpenCL there is here. */
	adsm_backend_options.name = "auto";
	adsm_opencl_options.library = adsm_cuda_options.library = "/nonexistent/driver";
	adsm_cuda_options.device = adsm_cuda_options.compiler = "";
	CHECK(!adsm_backend_find("auto", &found, &n) && found == &adsm_backend_cpu && n == 1);
	adsm_cpu_options.devices = 3;
	CHECK(!adsm_backend_find("cpu", &found, &n) && n == 3);
	adsm_cpu_options.devices = 1;
	adsm_cpu_options.device = "/nonexistent/program";
	CHECK(adsm_backend_find("auto", &found, &n) == -ENODEV);
	CHECK(strstr(adsm_last_error(), "/nonexistent/program"));
	adsm_cpu_options.device = "/bin/true";	/* ends without a word */
	CHECK(adsm_backend_cpu.open(0, &arena, &device) == -ENODEV);
	CHECK(strstr(adsm_last_error(), "/bin/true"));
	adsm_cpu_options.device = "";
	for (size_t i = 0; i < 8; i++) {
		static const char *const bad[] = { "bogus", "fail=", "fail=0", "trace,,once", "ops=alloc+x",
						   "delay=5", "seed=1x", "lost=0" };

		adsm_backend_options.wrap = bad[i];
		CHECK(adsm_backend_find("cpu", &found, &n) == -EINVAL);
		CHECK(strstr(adsm_last_error(), "ops="));
	}
	adsm_backend_options.wrap = "";
}

static void test_memory(void)
{
	struct adsm_memory *a, *b, *c;
	uint64_t base = arena.arena_base;

	open_device("");
	CHECK(device->caps.given_address && device->caps.has_address && !device->caps.dictates_address);
	CHECK(device->caps.signal_safe && device->caps.survives && !device->caps.unified);
	CHECK(device->caps.memory_size == MEMORY_SIZE && backend->memory_free(device) == MEMORY_SIZE);
	CHECK(device->caps.max_pending >= 2 && device->caps.compute_units >= 1);
	a = take(16, 48 * MIB);
	CHECK(backend->memory_free(device) == MEMORY_SIZE - 48 * MIB);
	CHECK(backend->alloc(device, 17 * MIB, base + 60 * MIB, &c) == -ENOMEM);
	CHECK(strstr(adsm_last_error(), "17825792") && strstr(adsm_last_error(), "16777216"));
	b = take(16384, 16 * MIB);
	CHECK(backend->memory_free(device) == 0);
	CHECK(backend->alloc(device, ADSM_PAGE_SIZE, base, &c) == -ENOMEM);
	backend->free(a);
	backend->free(NULL);
	CHECK(backend->memory_free(device) == 48 * MIB);
	CHECK(backend->alloc(device, ADSM_PAGE_SIZE, 0, &c) == -EINVAL);
	CHECK(backend->alloc(device, ADSM_PAGE_SIZE, base + 1, &c) == -EINVAL);
	CHECK(backend->alloc(device, 0, base, &c) == -EINVAL);
	CHECK(backend->alloc(device, 2 * ADSM_PAGE_SIZE, base + ARENA_SIZE - ADSM_PAGE_SIZE, &c) == -EINVAL);
	CHECK(backend->alloc(device, ADSM_PAGE_SIZE, base + ARENA_SIZE - ADSM_PAGE_SIZE, &c) == 0);
	set_word(c, ADSM_PAGE_SIZE - 4, 7);
	CHECK(word(c, ADSM_PAGE_SIZE - 4) == 7);
	backend->free(c);
	backend->free(b);
	CHECK(backend->memory_free(device) == MEMORY_SIZE);
	close_device();
}

static void test_copies(void)
{
	const size_t size = 4 * MIB;
	uint8_t *host = malloc(size), *back = malloc(size), *expected = malloc(size);
	struct adsm_device_event events[3000], event, last = { 0 };
	struct adsm_memory *a, *b;
	int status;

	open_device("");
	a = take(1, size);
	b = take(5000, size);
	for (size_t i = 0; i < size; i++)
		host[i] = (uint8_t)(i * 2654435761u >> 13);
	CHECK(!backend->to_device(a, 0, host, size, NULL));
	CHECK(!backend->to_host(back, a, 0, size, NULL) && !memcmp(host, back, size));
	CHECK(!backend->to_host(back, a, 4097, 100, NULL) && !memcmp(host + 4097, back, 100));
	CHECK(backend->to_device(a, size - 10, host, 11, NULL) == -EINVAL);
	CHECK(backend->to_host(back, a, size + 1, 0, NULL) == -EINVAL);
	CHECK(backend->to_host(back, a, 8, SIZE_MAX - 4, NULL) == -EINVAL);

	/* Device to device, also onto itself; fill. */
	CHECK(!backend->copy(b, 0, a, 0, size, NULL));
	CHECK(!backend->copy(b, 1000, b, 0, size - 1000, NULL));
	CHECK(!backend->fill(b, 5, 0xa5, 20, NULL));
	memcpy(expected, host, size);
	memmove(expected + 1000, expected, size - 1000);
	memset(expected + 5, 0xa5, 20);
	CHECK(!backend->to_host(back, b, 0, size, NULL) && !memcmp(back, expected, size));
	CHECK(!backend->copy(b, 0, b, 1000, size - 1000, NULL));
	memmove(expected, expected + 1000, size - 1000);
	CHECK(!backend->to_host(back, b, 0, size, NULL) && !memcmp(back, expected, size));
	CHECK(backend->fill(b, size, 1, 1, NULL) == -EINVAL);
	CHECK(backend->copy(b, 1, a, 0, size, NULL) == -EINVAL);

	/* With events: in order, more than the ring holds, each direction counts for itself. */
	for (unsigned i = 0; i < 3000; i++) {
		CHECK(!backend->fill(a, 0, (uint8_t)i, 64 * KIB, &events[i]));
		CHECK(events[i].queue == ADSM_QUEUE_TO_DEVICE && events[i].seq == i + 1);
	}
	CHECK(!backend->copy(b, 0, a, 0, 64 * KIB, &event) && event.seq == 3001);
	CHECK(!finish(event) && !finish(events[0]));
	CHECK(backend->event_query(device, events[2999], &status) == 1 && status == 0);
	CHECK(word(b, 0) == 0x01010101u * (2999 & 255));
	CHECK(!backend->to_device(a, 0, host, size, &event) && event.seq == 3002);
	CHECK(!finish(event));
	memset(back, 0, size);
	for (size_t at = 0; at < size; at += MIB)
		CHECK(!backend->to_host(back + at, a, at, MIB, &last) && last.seq == at / MIB + 1);
	CHECK(last.queue == ADSM_QUEUE_TO_HOST && !finish(last) && !memcmp(host, back, size));
	last.seq++;
	CHECK(backend->event_query(device, last, &status) == -EINVAL);
	backend->free(a);
	backend->free(b);
	close_device();
	free(host);
	free(back);
	free(expected);
}

static void test_vecadd(void)
{
	const unsigned n = 100000;
	const size_t size = 400 * KIB;
	struct adsm_memory *memory[3];
	float *host = malloc(size), *result = malloc(size);
	const struct adsm_image no_module = { ADSM_IMAGE_MODULE, "not a module", 12, "", "" };
	const struct adsm_image source = { ADSM_IMAGE_SOURCE, "__kernel void k() {}", 20, "", "" };
	struct adsm_launch_arg args[4];
	struct adsm_code *code;
	struct adsm_entry *entry;
	struct adsm_device_event event;
	struct adsm_span span = { 0 };
	uint64_t now = adsm_os_now_ns();
	int status;

	open_device("");
	CHECK(backend->module_load(device, &no_module, &code) == -ENOEXEC);
	CHECK(*adsm_last_error());
	CHECK(backend->module_load(device, &source, &code) == -ENOEXEC);
	code = load("vecadd");
	CHECK(backend->kernel_get(code, "vecsub", &entry) == -ENOENT);
	CHECK(strstr(adsm_last_error(), "vecsub"));
	for (size_t i = 0; i < 3; i++) {
		memory[i] = take(1000 * i, size);
		args[i] = pointer(memory[i], 0);
	}
	for (unsigned i = 0; i < n; i++)
		host[i] = (float)i;
	CHECK(!backend->to_device(memory[0], 0, host, n * 4, NULL));
	CHECK(!backend->to_device(memory[1], 0, host, n * 4, NULL));
	args[3] = VALUE(n);
	event = launch(get(code, "vecadd"), (n + 127) / 128, 128, args, 4);
	CHECK(!finish(event) && event.seq == 1);
	CHECK(backend->event_query(device, event, &status) == 1 && status == 0);
	CHECK(!backend->event_times(device, event, &span) && span.ns > 0);
	CHECK(span.start_ns >= now && span.start_ns + span.ns <= adsm_os_now_ns());
	CHECK(!backend->to_host(result, memory[2], 0, n * 4, NULL));
	for (unsigned i = 0; i < n; i++)
		CHECK(result[i] == 2 * (float)i);
	for (size_t i = 0; i < 3; i++)
		backend->free(memory[i]);
	backend->module_unload(code);
	backend->module_unload(NULL);
	close_device();
	free(host);
	free(result);
}

static void test_launches(void)
{
	static unsigned words[16384];
	const unsigned n = 16384, expect = 5u * 16384, first = 7, spins = 20000;
	const unsigned char byte = 200;
	struct adsm_memory *memory, *other;
	struct adsm_launch_arg args[17];
	struct adsm_code *code, *again;
	struct adsm_entry *twice, *triple;
	struct adsm_device_event event = { 0 };
	struct adsm_launch l = {
		.name = "mark", .grid = { 5, 4, 3 }, .block = { 4, 2, 2 }, .n_args = 1, .args = args,
	};
	struct adsm_span span;
	uint64_t address;
	unsigned x = 1;

	open_device("");
	code = load("launch");
	again = load("launch");		/* the same bytes twice are two modules */
	memory = take(3, 64 * KIB);
	other = take(900, 64 * KIB);

	/* An interval of a 3-D grid: these blocks, once each. */
	args[0] = pointer(memory, 256);
	CHECK(!backend->fill(memory, 0, 0, 64 * KIB, NULL));
	l.first_block = first;
	l.n_blocks = 40;
	CHECK(!backend->launch(get(code, "mark"), &l, NULL));	/* no event: it has run */
	for (unsigned i = 0; i < 64; i++) {
		unsigned is = word(memory, 256 + 4 * i);

		CHECK(is == (i < first || i >= first + 40 ? 0 :
			     1000 * (i / 20) + 100 * (i / 5 % 4) + 10 * (i % 5) + 1));
	}
	l.n_blocks = 0;
	CHECK(!backend->launch(get(code, "mark"), &l, NULL));
	l.n_blocks = 54;
	CHECK(backend->launch(get(code, "mark"), &l, NULL) == -EINVAL);

	/* A large constant, values of odd sizes, a pointer inside data that is valid on both sides. */
	for (unsigned i = 0; i < n; i++)
		words[i] = 5;
	address = other->address + 8192;
	CHECK(!backend->to_device(memory, 128, &address, sizeof(address), NULL));
	set_word(other, 8192, 4711);
	args[0] = pointer(other, 0);
	args[1] = (struct adsm_launch_arg){ .kind = ADSM_LAUNCH_CONST, .data = words, .size = sizeof(words) };
	args[2] = VALUE(n);
	args[3] = VALUE(byte);
	args[4] = pointer(memory, 128);
	event = launch(get(code, "sum"), 1, 1, args, 5);
	memset(words, 0, sizeof(words));	/* it was copied */
	CHECK(!finish(event));
	CHECK(word(other, 0) == expect + byte && word(other, 4) == 4711 && word(other, 8) == 0);
	for (unsigned i = 0; i < 17; i++)
		args[i] = args[1];
	l = (struct adsm_launch){
		.name = "sum", .grid = { 1, 1, 1 }, .block = { 1, 1, 1 }, .n_blocks = 1, .n_args = 17, .args = args,
	};
	CHECK(backend->launch(get(code, "sum"), &l, NULL) == -EINVAL);

	/* More launches than may be outstanding at the same time, of two modules, in order. */
	twice = get(code, "twice");
	triple = get(again, "triple");
	set_word(memory, 0, 1);
	args[0] = pointer(memory, 0);
	for (unsigned i = 0; i < 600; i++) {
		event = launch(i % 3 ? twice : triple, 1, 1, args, 1);
		x = i % 3 ? 2 * x + 1 : 3 * x;
	}
	CHECK(!finish(event) && word(memory, 0) == x);
	CHECK(!backend->event_times(device, event, &span));
	event.seq -= device->caps.max_pending - 1;
	CHECK(!backend->event_times(device, event, &span));
	event.seq--;
	CHECK(backend->event_times(device, event, &span) == -EINVAL);

	/* A launch is complete when its last block is, whichever thread runs it. */
	CHECK(!backend->fill(memory, 0, 0, ADSM_PAGE_SIZE, NULL));
	args[1] = VALUE(spins);
	for (unsigned i = 1; i <= 50; i++) {
		CHECK(!finish(launch(get(code, "late"), 7, 1, args, 2)));
		for (unsigned block = 0; block < 7; block++)
			CHECK(word(memory, 4 * block) == i);
	}

	backend->module_unload(code);
	set_word(memory, 0, 5);
	CHECK(!finish(launch(triple, 1, 1, args, 1)) && word(memory, 0) == 15);
	backend->module_unload(again);
	/* A module loaded after others went is not one of them. */
	code = load("vecadd");
	CHECK(backend->kernel_get(code, "twice", &twice) == -ENOENT && get(code, "vecadd"));
	backend->module_unload(code);
	backend->free(memory);
	backend->free(other);
	close_device();
}

static void on_alarm(int sig)
{
}

/* A running kernel is seen to run, does not stop copies, and does not keep a signal from a waiter. */
static void test_running(void)
{
	const struct itimerval often = { { 0, 5000 }, { 0, 5000 } }, never = { { 0, 0 }, { 0, 0 } };
	struct sigaction action = { .sa_handler = on_alarm };
	struct adsm_memory *memory;
	struct adsm_launch_arg args[1];
	struct adsm_device_event event, second;
	static struct adsm_code *volatile running;	/* for leak checkers */
	struct adsm_code *code;
	int status, pidfd, pid;

	open_device("");
	code = load("spin");
	memory = take(0, ADSM_PAGE_SIZE);
	CHECK(!backend->fill(memory, 0, 0, ADSM_PAGE_SIZE, NULL));
	args[0] = pointer(memory, 0);
	event = launch(get(code, "spin"), 1, 1, args, 1);
	second = launch(get(code, "spin"), 1, 1, args, 1);
	while (!word(memory, 0))
		;
	CHECK(backend->event_query(device, event, &status) == 0);
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	CHECK(backend->event_wait(device, event, &status) == -EINTR);
	setitimer(ITIMER_REAL, &never, NULL);
	set_word(memory, 4, 1);
	CHECK(!finish(event) && !finish(second));
	CHECK(wait(NULL) == -1 && errno == ECHILD);
	backend->module_unload(code);

	/* Closed in the middle of a kernel, so that its module cannot be unloaded. */
	running = load("spin");
	CHECK(!backend->fill(memory, 0, 0, ADSM_PAGE_SIZE, NULL));
	launch(get(running, "spin"), 1, 1, args, 1);
	while (!word(memory, 0))
		;
	pid = device_pid();
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	CHECK(pidfd >= 0);
	backend->free(memory);
	backend->close(device);
	wait_gone(pidfd);
}

static void check_lost(struct adsm_memory *memory, struct adsm_code *code, struct adsm_entry *kernel,
		       const char *sentence)
{
	struct adsm_launch l = { .name = "none", .grid = { 1, 1, 1 }, .block = { 1, 1, 1 }, .n_blocks = 1 };
	struct adsm_device_event event;
	struct adsm_entry *entry;
	struct adsm_memory *more;
	struct adsm_image image = { .text = "", .options = "" };
	struct adsm_code *module;
	void *data = read_module("spin", &image.size);

	CHECK(backend->status(device) == -ENODEV && strstr(adsm_last_error(), sentence));
	CHECK(backend->alloc(device, ADSM_PAGE_SIZE, arena.arena_base + MIB, &more) == -ENODEV);
	image.data = data;
	CHECK(backend->module_load(device, &image, &module) == -ENODEV);
	CHECK(backend->kernel_get(code, "spin", &entry) == -ENODEV);
	CHECK(backend->launch(kernel, &l, &event) == -ENODEV);
	CHECK(strstr(adsm_last_error(), sentence));
	free(data);
	/* Device memory is still there. */
	set_word(memory, 100, 99);
	CHECK(word(memory, 100) == 99);
	CHECK(!backend->fill(memory, 100, 1, 1, &event) && !finish(event) && word(memory, 100) == 1);
}

static void test_crash(void)
{
	struct adsm_memory *memory;
	const unsigned index = 5;
	struct adsm_launch_arg args[] = { pointer(NULL, 0), VALUE(index) };
	struct adsm_device_event before, event, after;
	struct adsm_code *code, *other;
	struct adsm_entry *crash, *spin;
	int status;

	open_device("");
	other = load("spin");
	code = load("crash");
	crash = get(code, "crash");
	spin = get(other, "spin");
	memory = take(0, 64 * KIB);
	CHECK(!backend->fill(memory, 0, 0, 64 * KIB, NULL));
	args[0] = pointer(memory, 0);
	before = launch(spin, 1, 1, args, 1);	/* until all are launched */
	args[0] = pointer(NULL, 0);
	event = launch(crash, 4, 4, args, 2);
	args[0] = pointer(memory, 0);
	after = launch(crash, 1, 1, args, 2);
	CHECK(!backend->status(device));
	set_word(memory, 4, 1);
	CHECK(finish(event) == -ENODEV && finish(after) == -ENODEV && finish(before) == 0);
	CHECK(backend->event_query(device, event, &status) == 1 && status == -ENODEV);
	CHECK(backend->status(device) == -ENODEV);
	CHECK(strstr(adsm_last_error(), "kernel 'crash' crashed with SIGSEGV at address 0x14"));
	CHECK(word(memory, 0) == 1 && word(memory, 20) == 0);
	check_lost(memory, code, crash, "'crash' crashed with SIGSEGV");
	backend->free(memory);
	backend->module_unload(code);
	backend->module_unload(other);
	close_device();
}

static void test_killed(void)
{
	struct adsm_memory *memory;
	struct adsm_launch_arg args[1];
	struct adsm_device_event event;
	struct adsm_entry *spin;
	struct adsm_code *code;
	int pid;

	open_device("");
	code = load("spin");
	spin = get(code, "spin");
	memory = take(0, ADSM_PAGE_SIZE);
	CHECK(!backend->fill(memory, 0, 0, ADSM_PAGE_SIZE, NULL));
	args[0] = pointer(memory, 0);
	event = launch(spin, 1, 1, args, 1);
	while (!word(memory, 0))
		;
	pid = device_pid();
	CHECK(pid > 0 && !kill(pid, SIGKILL));
	CHECK(finish(event) == -ENODEV);
	check_lost(memory, code, spin, "'spin'");
	backend->module_unload(code);
	backend->free(memory);
	close_device();
	CHECK(wait(NULL) == -1 && errno == ECHILD);
}

/* The device ends with the application, also if another process has its socket. */
static void test_application_killed(void)
{
	struct pollfd polled;
	int fds[2], pid, child, status;

	CHECK(!pipe2(fds, O_CLOEXEC));
	child = fork();
	if (!child) {
		open_device("");
		if (!fork()) {
			/* The grandchild keeps all descriptors until the test ends. */
			polled = (struct pollfd){ .fd = fds[0], .events = POLLHUP };
			close(fds[1]);
			poll(&polled, 1, WAIT_MS);
			_exit(0);
		}
		pid = device_pid();
		if (write(fds[1], &pid, sizeof(pid)) != sizeof(pid))
			_exit(1);
		pause();
	}
	CHECK(read(fds[0], &pid, sizeof(pid)) == sizeof(pid) && pid > 0);
	polled = (struct pollfd){ .fd = (int)syscall(SYS_pidfd_open, pid, 0) };
	CHECK(polled.fd >= 0);
	CHECK(!kill(child, SIGKILL) && waitpid(child, &status, 0) == child);
	wait_gone(polled.fd);
	close(fds[0]);
	close(fds[1]);
}

static void test_unified(void)
{
	struct adsm_memory *memory;
	struct adsm_launch_arg args[1];
	struct adsm_code *code;
	unsigned *alias;

	adsm_cpu_options.unified = true;
	open_device("");
	CHECK(device->caps.unified);
	code = load("launch");
	memory = take(77, ADSM_PAGE_SIZE);
	alias = (unsigned *)((char *)arena.alias_base + 77 * ADSM_PAGE_SIZE);
	*alias = 10;
	args[0] = pointer(memory, 0);
	CHECK(!backend->to_device(memory, 0, alias, ADSM_PAGE_SIZE, NULL));
	CHECK(!finish(launch(get(code, "twice"), 1, 1, args, 1)));
	CHECK(*alias == 21 && word(memory, 0) == 21);
	CHECK(!backend->to_host(alias, memory, 0, ADSM_PAGE_SIZE, NULL) && *alias == 21);
	set_word(memory, 0, 3);
	CHECK(*alias == 3);
	backend->free(memory);
	CHECK(*alias == 3);
	backend->module_unload(code);
	close_device();
	adsm_cpu_options.unified = false;
}

/* The modelled link: no transfer is faster than it, and those of one direction queue. */
static void test_link(void)
{
	struct adsm_memory *memory;
	struct adsm_device_event event, other;
	uint8_t *host = calloc(1, 2 * MIB);
	uint64_t start;

	adsm_cpu_options.link.bandwidth = 1000000000;
	adsm_cpu_options.link.latency_ns = 500000;
	open_device("");
	memory = take(0, 2 * MIB);
	start = adsm_os_now_ns();
	CHECK(!backend->to_device(memory, 0, host, 1000000, NULL));
	CHECK(adsm_os_now_ns() - start >= 1500000);
	start = adsm_os_now_ns();
	CHECK(!backend->to_device(memory, 0, host, 1000000, &event));
	CHECK(!backend->to_host(host + MIB, memory, MIB - 1000, 1000, &other));
	CHECK(!backend->to_device(memory, MIB, host, 1000000, NULL));
	CHECK(!finish(event) && !finish(other));
	CHECK(adsm_os_now_ns() - start >= 3000000);
	/* What stays on the device does not cross it. */
	CHECK(!backend->fill(memory, 0, 1, 1, NULL) && !backend->copy(memory, 0, memory, 8, 8, NULL));
	backend->free(memory);
	close_device();
	adsm_cpu_options.link.bandwidth = adsm_cpu_options.link.latency_ns = 0;
	free(host);
}

/* ---- the wrapper */

static void test_wrap(void)
{
	struct adsm_launch_arg args[1];
	struct adsm_launch l = {
		.name = "twice", .grid = { 1, 1, 1 }, .block = { 1, 1, 1 }, .n_blocks = 1, .n_args = 1, .args = args,
	};
	struct adsm_device_event event, done;
	struct adsm_memory *memory, *more;
	struct adsm_code *code;
	struct adsm_entry *entry;
	char text[4096];
	uint64_t before = 0;
	int fds[2], saved, status, n_failed = 0;
	unsigned value = 1;
	ssize_t n;

	/* Traced, it works as ever. */
	CHECK(!pipe2(fds, O_CLOEXEC));
	saved = dup(2);
	dup2(fds[1], 2);
	open_device("trace,delay=100us");
	code = load("launch");
	entry = get(code, "twice");
	memory = take(2, ADSM_PAGE_SIZE);
	set_word(memory, 0, 4);
	args[0] = pointer(memory, 0);
	CHECK(!backend->launch(entry, &l, &event));
	status = finish(event);
	value = word(memory, 0);
	dup2(saved, 2);
	close(saved);
	close(fds[1]);
	n = read(fds[0], text, sizeof(text) - 1);
	close(fds[0]);
	CHECK(n > 0 && !status && value == 9);
	text[n] = '\0';
	CHECK(strstr(text, "alloc(4096 at ") && strstr(text, "launch(twice, grid 1 1 1"));
	CHECK(strstr(text, "event 0:1") && strstr(text, "to_host("));
	/* The rest of the trace is for readers of the test's output. */
	backend->module_unload(code);
	backend->free(memory);
	close_device();

	/* Every third of two operations. */
	open_device("fail=3,seed=1,ops=to_device+alloc");
	memory = take(2, ADSM_PAGE_SIZE);				/* 1 */
	CHECK(backend->to_device(memory, 0, &value, 4, NULL) == -EIO);	/* 2 */
	CHECK(!backend->fill(memory, 0, 1, 4, NULL));
	CHECK(!backend->to_device(memory, 0, &value, 4, NULL));		/* 3 */
	CHECK(!backend->to_device(memory, 0, &value, 4, NULL));		/* 4 */
	CHECK(backend->alloc(device, ADSM_PAGE_SIZE, arena.arena_base, &more) == -ENOMEM);
	CHECK(strstr(adsm_last_error(), "alloc"));
	backend->free(memory);
	close_device();

	/* One in three, by chance: the same each time, and in no order that a number of operations has. */
	for (int turn = 0; turn < 2; turn++) {
		uint64_t drawn = 0;

		open_device("fail=3,random,seed=1,ops=fill");
		memory = take(2, ADSM_PAGE_SIZE);
		for (int i = 0; i < 60; i++)
			drawn |= (uint64_t)(backend->fill(memory, 0, 1, 4, NULL) == -EIO) << i;
		CHECK(__builtin_popcountll(drawn) > 10 && __builtin_popcountll(drawn) < 30);
		CHECK((drawn & 077777) != (drawn >> 15 & 077777) && (!turn || drawn == before));
		before = drawn;
		backend->free(memory);
		close_device();
	}

	open_device("fail=2,once,ops=fill");
	memory = take(2, ADSM_PAGE_SIZE);
	for (int i = 0; i < 10; i++)
		n_failed += backend->fill(memory, 0, 1, 4, NULL) == -EIO;
	CHECK(n_failed == 1);
	backend->free(memory);
	close_device();

	/* Lost in the middle of a kernel: what was told stays, the rest never ends well. */
	open_device("lost=4,ops=launch+fill");
	CHECK(!device->caps.survives);
	code = load("launch");
	memory = take(2, ADSM_PAGE_SIZE);
	args[0] = pointer(memory, 0);
	CHECK(!backend->fill(memory, 0, 0, ADSM_PAGE_SIZE, NULL));
	CHECK(!backend->launch(get(code, "twice"), &l, &done) && !finish(done));
	CHECK(!backend->launch(get(code, "twice"), &l, &event));
	CHECK(!backend->fill(memory, 0, 0, 1, NULL));
	CHECK(backend->launch(get(code, "twice"), &l, NULL) == -ENODEV);
	CHECK(finish(event) == -ENODEV && finish(done) == 0);
	CHECK(backend->event_query(device, event, &status) == 1 && status == -ENODEV);
	CHECK(backend->to_host(&value, memory, 0, 4, NULL) == -ENODEV);
	CHECK(backend->status(device) == -ENODEV && strstr(adsm_last_error(), "ADSM_WRAP"));
	backend->module_unload(code);
	backend->free(memory);
	close_device();

	open_device("unsafe");
	CHECK(!device->caps.signal_safe);
	memory = take(2, ADSM_PAGE_SIZE);
	set_word(memory, 0, 1);
	CHECK(adsm_wrap_unsafe_calls == 0);
	adsm_in_fault++;
	set_word(memory, 0, 1);
	CHECK(adsm_wrap_unsafe_calls == 1);
	adsm_in_fault--;
	backend->free(memory);
	close_device();
	adsm_backend_options.wrap = "";
}

int main(void)
{
	int before;

	adsm_backend_options.wrap = "";
	adsm_cpu_options = (struct adsm_cpu_options){
		.device = "", .devices = 1, .threads = 3, .memory_size = MEMORY_SIZE,
	};
	make_arena();
	before = n_fds();
	test_slots();
	test_find();
	CHECK(n_fds() == before);
	test_memory();
	test_copies();
	test_vecadd();
	test_launches();
	test_running();
	test_crash();
	test_killed();
	test_application_killed();
	test_unified();
	test_link();
	CHECK(n_fds() == before);
	test_stubs("");
	test_stubs("once");
	test_wrap();
	CHECK(n_fds() == before);
	return 0;
}
