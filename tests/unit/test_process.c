/* SPDX-License-Identifier: MIT */
/*
 * test_process.c - backends/process for a backend that needs more than cpu: reports of memory and launches, shared
 * memory behind that of the device, a keeper that says how the device ended; and the access that a launch gets.
 * TEST_KERNELS: the folder of the kernel modules.
 */
#include "backend.h"
#include "base/log.h"
#include "base/os.h"
#include "list.h"
#include "process/greet.h"
#include "process/launch.h"
#include "process/memory.h"
#include "process/module.h"
#include "process/open.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include "core.h"

#define ARENA_SIZE ((size_t)1 << 30)
#define EXTRA ((size_t)100 << 10)

static struct adsm_backend_config arena;

static void make_arena(void)
{
	void *p;

	CHECK_OK(adsm_os_memfd("test-arena", ARENA_SIZE, &arena.arena_fd));
	CHECK(!adsm_os_reserve(0x7e8000000000, ARENA_SIZE, &p) || !adsm_os_reserve(0, ARENA_SIZE, &p));
	arena.arena_base = (uintptr_t)p;
	arena.arena_size = ARENA_SIZE;
	CHECK_OK(adsm_os_map(NULL, ARENA_SIZE, arena.arena_fd, 0, ADSM_PROT_RW, &arena.alias_base));
}

static struct adsm_device *opened;

static struct adsm_process_device *describe(const struct adsm_process_kind *kind)
{
	struct adsm_process_device *device = adsm_process_new(sizeof(*device));

	CHECK(device);
	device->base.backend = &adsm_backend_cpu;
	device->base.caps.memory_size = ARENA_SIZE;
	device->base.caps.compute_units = 2;
	device->kind = kind;
	strcpy(device->title, "test device");
	device->program = "";
	device->extra = EXTRA;
	return device;
}

/* ---- memory and launches */

static struct { size_t offset, size; unsigned n; } told[3];	/* of the last: allocated, freed, written */

static void note(int what, size_t offset, size_t size)
{
	told[what].offset = offset;
	told[what].size = size;
	told[what].n++;
}

/* The bytes are there when it is reported; the first of them is a number that counts. */
static void allocated(struct adsm_process_device *device, size_t offset, size_t size) { note(0, offset, size); }
static void freed(struct adsm_process_device *device, size_t offset, size_t size) { note(1, offset, size); }
static void written(struct adsm_process_device *device, size_t offset, size_t size)
{
	note(2, offset, size);
	CHECK_EQ(device->memory[offset], told[2].n);
}

static const struct adsm_process_kind telling = {
	.program = "adsm-cpu-device", .folder = "backends/cpu", .program_option = "NONE", .memory_option = "NONE",
	.pointers = true, .allocated = allocated, .freed = freed, .written = written,
};

static void check_told(int what, size_t offset, size_t size, unsigned n)
{
	CHECK_EQ(told[what].n, n);
	CHECK(!n || (told[what].offset == offset && told[what].size == size));
}

static void finish(struct adsm_process_device *device, struct adsm_device_event event)
{
	int ret, status = 1;

	while ((ret = adsm_process_event_wait(&device->base, event, &status)) == -EINTR)
		;
	CHECK(!ret && !status);
}

static void test_memory(struct adsm_process_device *device)
{
	uint8_t bytes[2 * PAGE] = { 1 };
	struct adsm_device_event event;
	struct adsm_memory *memory;

	CHECK_OK(adsm_process_alloc(&device->base, 4 * PAGE, arena.arena_base + 3 * PAGE, &memory));
	check_told(0, 3 * PAGE, 4 * PAGE, 1);
	CHECK_OK(adsm_process_to_device(memory, 5, bytes, sizeof(bytes), NULL));
	check_told(2, 3 * PAGE + 5, sizeof(bytes), 1);
	bytes[0] = 2;
	CHECK_OK(adsm_process_to_device(memory, PAGE, bytes, 7, &event));
	finish(device, event);
	check_told(2, 4 * PAGE, 7, 2);
	CHECK_OK(adsm_process_fill(memory, 9, 3, 4, NULL));
	check_told(2, 3 * PAGE + 9, 4, 3);
	CHECK_OK(adsm_process_fill(memory, 2 * PAGE, 4, 1, NULL));
	*(device->memory + 5 * PAGE) = 5;
	CHECK_OK(adsm_process_copy(memory, 0, memory, 2 * PAGE, 6, NULL));
	check_told(2, 3 * PAGE, 6, 5);
	CHECK_OK(adsm_process_to_host(bytes, memory, 0, 8, NULL));
	check_told(2, 3 * PAGE, 6, 5);
	CHECK_EQ(told[1].n, 0);
	adsm_process_free(memory);
	check_told(1, 3 * PAGE, 4 * PAGE, 1);
}

static struct adsm_entry *load(struct adsm_process_device *device, const char *name, const char *kernel)
{
	/* Both stay while the module is loaded. */
	static char data[1 << 20];
	static struct adsm_image image = { .text = "", .options = "", .data = data };
	struct adsm_entry *entry;
	struct adsm_code *code;
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s.adsm", getenv("TEST_KERNELS"), name);
	file = fopen(path, "r");
	CHECKF(file, "%s", path);
	image.size = fread(data, 1, sizeof(data), file);
	fclose(file);
	CHECK_OK(adsm_process_module_load(&device->base, &image, &code));
	CHECK_OK(adsm_process_kernel_get(code, kernel, &entry));
	return entry;
}

static void test_pointers(struct adsm_process_device *device)
{
	struct adsm_entry *entry = load(device, "conform", "copy");
	const struct adsm_process_pointer *pointers;
	const unsigned n = 3;
	struct adsm_memory *memory;
	struct adsm_launch_arg args[] = {
		{ .kind = ADSM_LAUNCH_POINTER, .offset = 8, .access = ADSM_ACCESS_IN },
		{ .kind = ADSM_LAUNCH_POINTER, .offset = 64, .access = ADSM_ACCESS_INOUT },
		{ .kind = ADSM_LAUNCH_VALUE, .data = &n, .size = sizeof(n) },
	};
	struct adsm_launch launch = {
		.name = "copy", .grid = { 1, 1, 1 }, .block = { 4, 1, 1 }, .n_blocks = 1, .n_args = 3, .args = args,
	};

	CHECK_OK(adsm_process_alloc(&device->base, PAGE, arena.arena_base, &memory));
	args[0].memory = args[1].memory = memory;
	for (uint32_t i = 0; i < ADSM_PROCESS_SLOTS + 1; i++)
		CHECK_OK(adsm_process_launch(entry, &launch, NULL));
	CHECK_EQ(device->shared->slots[0].n_pointers, 2);
	pointers = device->shared->pointers[0];
	for (uint32_t i = 0; i < 2; i++) {
		CHECK(pointers[i].base == memory->address && pointers[i].size == PAGE);
		CHECK(pointers[i].arg == i && pointers[i].access == args[i].access);
	}
	launch.n_blocks = 0;		/* nothing is read there */
	args[0].memory = NULL;
	CHECK_OK(adsm_process_launch(entry, &launch, NULL));
	CHECK_EQ(device->shared->slots[1].n_pointers, 1);
	CHECK_EQ(device->shared->pointers[1][0].arg, 1);
	adsm_process_module_unload(entry->code);
	adsm_process_free(memory);
}

static void test_telling(void)
{
	struct adsm_process_device *device = describe(&telling);

	CHECK_OK(adsm_process_open(device, &arena, &opened));
	for (size_t i = 0; i < EXTRA; i++)
		CHECK_AT(device->shared->extra[i], i, 0);
	test_memory(device);
	device->kind = &(const struct adsm_process_kind){ .pointers = true };	/* whatever the bytes are */
	device->copies[0].written = NULL;
	test_pointers(device);
	adsm_process_close(&device->base);
}

/* ---- keepers: this program again, which keeps a child that has the socket */

/* Programs of another version: one that says so, and one that is so old that it does not greet. */
static bool keep_another(const char *how)
{
	const struct adsm_process_greeting greeting = { ADSM_PROCESS_MAGIC, "0.0.9 (12345678)" };
	const struct adsm_process_reply reply = { 0 };
	struct adsm_process_request hello;

	if (!strcmp(how, "another"))
		adsm_process_send(ADSM_PROCESS_SOCKET, &greeting, sizeof(greeting), NULL, 0);
	else if (!strcmp(how, "older"))
		adsm_process_send(ADSM_PROCESS_SOCKET, &reply, sizeof(reply), NULL, 0);
	else
		return false;
	while (!adsm_process_receive(ADSM_PROCESS_SOCKET, &hello, sizeof(hello), NULL))
		;
	return true;
}

static const char *const refuses[] = { "it rains", "the door is shut" };

static void keep(const char *how)
{
	struct adsm_process_reply reply = { 0 };
	struct adsm_process_request hello;
	struct adsm_process_shared *shared;
	int fds[ADSM_PROCESS_MAX_FDS], status;
	pid_t child;
	void *p;

	if (keep_another(how))
		return;
	adsm_process_greet(ADSM_PROCESS_SOCKET);
	CHECK_OK(adsm_process_receive(ADSM_PROCESS_SOCKET, &hello, sizeof(hello), fds));
	CHECK(hello.op == ADSM_PROCESS_HELLO && hello.extra >= EXTRA && fds[0] >= 0 && fds[1] >= 0);
	CHECK_OK(adsm_os_map(NULL, sizeof(*shared) + hello.extra, ADSM_PROCESS_KEPT, 0, ADSM_PROT_RW, &p));
	shared = p;
	if (!strcmp(how, "refuse-once") && shared->extra[0]++)
		return;
	if (!strncmp(how, "refuse", 6)) {
		reply.error = how[6] ? -EEXIST : -ENODEV;
		strcpy(reply.text, refuses[how[6] != '\0']);
		adsm_process_send(ADSM_PROCESS_SOCKET, &reply, sizeof(reply), NULL, 0);
		return;
	}
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		/* What os.h maps is not a child's. */
		const int self = getpid();

		CHECK(pwrite(ADSM_PROCESS_KEPT, &self, sizeof(self), offsetof(struct adsm_process_shared, extra)) > 0);
		CHECK_OK(adsm_process_send(ADSM_PROCESS_SOCKET, &reply, sizeof(reply), NULL, 0));
		for (;;)
			pause();
	}
	close(ADSM_PROCESS_SOCKET);
	CHECK(waitpid(child, &status, 0) == child);
	if (!strcmp(how, "crash")) {
		shared->crash.in_kernel = 1;
		shared->crash.address = 0x1000;
		strcpy(shared->crash.place, " on node 2 (there)");
		shared->crash.signal = SIGBUS;
	}
	adsm_process_say_end(shared, "node 0 is gone");
	adsm_process_say_end(shared, "the second one does not count");
}

static const struct adsm_process_kind kept = {
	.program = "test-process", .folder = "tests/unit", .program_option = "NONE", .memory_option = "NONE",
	.keeper_ms = 20000,
};

static struct adsm_process_device *describe_kept(const char *how)
{
	static char name[] = "test-process", keep[] = "keep", *argv[] = { name, keep, NULL, NULL };
	struct adsm_process_device *device = describe(&kept);

	argv[2] = (char *)(uintptr_t)how;
	device->program = "/proc/self/exe";
	device->argv = argv;
	device->hello_ms = 20000;
	return device;
}

static void test_refusal(const char *how, const char *says)
{
	CHECK_EQ(adsm_process_open(describe_kept(how), &arena, &opened), -ENODEV);
	CHECKF(!strcmp(adsm_last_error(), says), "%s", adsm_last_error());
}

static void test_version(const char *how, const char *says)
{
	CHECK_EQ(adsm_process_open(describe_kept(how), &arena, &opened), -ENODEV);
	CHECKF(strstr(adsm_last_error(), says) && strstr(adsm_last_error(), adsm_process_version), "%s",
	       adsm_last_error());
}

/* The second start gives no reason, and that of the first one does not count. */
static void test_second_start(void)
{
	CHECK_EQ(adsm_process_open(describe_kept("refuse-once"), &arena, &opened), -ENODEV);
	CHECKF(!strstr(adsm_last_error(), "the door is shut"), "%s", adsm_last_error());
}

/* What the device is ends; the keeper has the time to say why. */
static void test_kept(const char *how, const char *says)
{
	struct adsm_process_device *device = describe_kept(how);
	pid_t child;

	CHECK_OK(adsm_process_open(device, &arena, &opened));
	CHECK_OK(adsm_process_status(&device->base));
	memcpy(&child, device->shared->extra, sizeof(child));
	CHECK_OK(kill(child, SIGKILL));
	while (!atomic_load(&device->lost))
		adsm_os_wait(&device->lost, 0, 0, false);
	CHECK_EQ(adsm_process_status(&device->base), -ENODEV);
	CHECKF(!strcmp(device->lost_text, says), "%s", device->lost_text);
	adsm_process_close(&device->base);
}

/* ---- the access that a launch gets */

static unsigned accesses[2];

static int record_launch(struct adsm_entry *entry, const struct adsm_launch *launch,
			 struct adsm_device_event *ret_event)
{
	accesses[0] = launch->args[0].access;
	accesses[1] = launch->args[1].access;
	return adsm_backend_cpu.launch(entry, launch, ret_event);
}

static void call(adsmArg from, adsmArg to, adsmArg more, unsigned in, unsigned out)
{
	const unsigned n = 4;
	adsmArg args[] = { from, to, adsmVal(n), more };

	CHECK_OK(adsmCallArgs(kernel("copy"), adsmDim3(1, 1, 1), adsmDim3(4, 1, 1), args, 4));
	CHECK(accesses[0] == in && accesses[1] == out);
	CHECK_OK(adsmSync());
}

static void test_access(void)
{
	struct adsm_backend recording = adsm_backend_cpu;
	struct adsm_device *device;
	unsigned *a, *b;

	setenv("ADSM_BACKEND", "cpu", 1);
	CHECK_OK(adsmInit());
	a = adsmAlloc(PAGE);
	b = adsmAlloc(PAGE);
	CHECK(a && b);
	device = adsm_homes[0].device;
	recording.launch = record_launch;
	device->backend = &recording;
	call(adsmPtr(a), adsmPtr(b), (adsmArg){ 0 }, ADSM_ACCESS_IN, ADSM_ACCESS_OUT);
	/* All that name the object count. */
	call(adsmPtr(a), adsmPtr(a + 4), (adsmArg){ 0 }, ADSM_ACCESS_INOUT, ADSM_ACCESS_INOUT);
	call(adsmPtr(a), adsmPtr(b), adsmUse(a, ADSM_ACCESS_OUT), ADSM_ACCESS_INOUT, ADSM_ACCESS_OUT);
	device->backend = &adsm_backend_cpu;
	CHECK_OK(adsmFree(a));
	CHECK_OK(adsmFree(b));
}

int main(int argc, char **argv)
{
	if (argc > 2 && !strcmp(argv[1], "keep")) {
		keep(argv[2]);
		return 0;
	}
	test_access();
	make_arena();
	test_telling();
	test_version("another", " has version 0.0.9 (12345678), but the library has version ");
	test_version("older", " did not answer, or its answer is not valid for the library's version, ");
	test_refusal("refuse", "test device: it rains");
	test_refusal("refuse-taken", "test device: the door is shut; set ADSM_ARENA");
	test_second_start();
	test_kept("say", "test device: node 0 is gone");
	test_kept("crash", "test device: kernel '' crashed with SIGBUS at address 0x1000 on node 2 (there)");
	return 0;
}
