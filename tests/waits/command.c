/* SPDX-License-Identifier: MIT */
/* command.c - commands of kernels to the application: the shadow serves them, one by one, until it is stopped. */
#include "step.h"

#include <sys/mman.h>

#define adsm_os_now_ns() UINT64_C(1)

#include "backends/process/shared.c"
/* No thread spins before it sleeps. */
#define adsm_process_queue_next(queue, spin_ns, shared) adsm_process_queue_next(queue, 0 * (spin_ns), shared)
#include "backends/process/device/handler.c"
/* Both files have functions with these names. */
#define begin shadow_begin
#define print shadow_print
#define service shadow_service
#include "backends/process/shadow.c"
#undef begin
#undef print
#undef service

static struct adsm_process_device *device;
static struct adsm_process_shared *memory;
static struct adsm_process_shadow a_shadow;
static bool ends;			/* functions of the program may end their thread */

uint64_t adsm_pool_spin_ns(void)
{
	return 0;
}

void adsm_os_signals_raised(void)
{
}

/* No kernel prints. */
int adsm_process_format(const uint8_t *bytes, size_t size, uint64_t n_args, bool line, char *ret_text, size_t room)
{
	return 0;
}

int adsm_os_write(int fd, const void *data, size_t size)
{
	return 0;
}

/* The library does not wait for a thread that serves a command. */
void adsm_os_thread_leave(struct adsm_thread *thread)
{
}

/* The shadow's threads: handle 1 runs from the start, the other one after it was started. */
static bool is_over(void *arg)
{
	return step_over(arg);
}

void adsm_os_thread_join(struct adsm_thread *thread)
{
	step_await(is_over, thread->handle == 1 ? "shadow" : "shadow too");
}

static struct { void (*run)(void *); void *arg; } second;

int adsm_os_thread_start(struct adsm_thread *ret_thread, const char *name, void (*run_)(void *), void *arg)
{
	ret_thread->handle = 2;
	second.run = run_;
	second.arg = arg;
	return 0;
}

/* A function of the program returns, or ends its thread. */
void adsm_os_run(void (*run_)(void *), void (*ended)(void *), void *arg)
{
	if (!ends || step_choose(2)) {
		run_(arg);
	} else {
		ended(arg);
		step_end();
	}
}

static void run_shadow(void *arg)
{
	run(&a_shadow);
}

static bool is_started(void *arg)
{
	return second.run;
}

static void run_second(void *arg)
{
	step_await(is_started, NULL);
	second.run(second.arg);
}

static void ask_twice(void *arg)
{
	for (int i = 0; i < 2; i++)
		STEP_CHECK(!account(ADSM_COMMAND_TAKE, 1));
}

static void ask_once(void *arg)
{
	STEP_CHECK(!account(ADSM_COMMAND_TAKE, 1));
}

static int serve_it(const char *name, const void *in, size_t in_size, void *out, size_t out_size)
{
	step_at(NULL, "", 0, "is in the program's function");
	return 0;
}

/* The application ends while a kernel asks. The device's process, and the thread that asks, end with it. */
static void ask_service(void *arg)
{
	service("f", NULL, 0, NULL, 0);
}

static void stop(void *arg)
{
	adsm_process_shadow_stop(device);
}

static void make_memory(void)
{
	struct adsm_process_handler *handler;

	memory = mmap(NULL, sizeof(*memory), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
		      0);
	handler = &memory->handler;
	memset(&mine, 0, sizeof(mine));
	memset(&second, 0, sizeof(second));
	ends = false;
	device = mmap(NULL, sizeof(*device), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	device->shadow = &a_shadow;
	device->shared = memory;
	atomic_init(&memory->room.size, 100);
	step_memory(&memory->room, sizeof(memory->room));
	step_memory(&device->served, sizeof(device->served));
	a_shadow = (struct adsm_process_shadow){ .device = device, .handler = handler, .serve = serve_it,
						.thread = { 1 } };
	served = memory;
	atomic_init(&handler->serving, 1);
	step_memory(&handler->queue, (size_t)((uint8_t *)&handler->order[4] - (uint8_t *)&handler->queue));
	step_memory(handler->commands, 2 * sizeof(handler->commands[0]));
	step_constant(a_shadow.in, sizeof(a_shadow.in));
	step_constant(a_shadow.out, sizeof(a_shadow.out));
	step_constant(&buffers[2], sizeof(buffers) - 2 * sizeof(buffers[0]));
	step_constant(counters, sizeof(counters));
	memset(&failure, 0, sizeof(failure));
}

static void start_two(void)
{
	make_memory();
	step_thread("shadow", run_shadow, NULL, STEP_SERVER);
	step_thread("kernel", ask_twice, NULL, 0);
	step_thread("other", ask_once, NULL, 0);
}

static void start_stop(void)
{
	make_memory();
	step_thread("shadow", run_shadow, NULL, 0);
	step_thread("kernel", ask_service, NULL, STEP_SERVER);
	step_thread("library", stop, NULL, 0);
}

/* A function of the program ends the shadow's thread. Another thread continues. */
static void start_ending(void)
{
	make_memory();
	ends = true;
	step_thread("shadow", run_shadow, NULL, STEP_SERVER);
	step_thread("shadow too", run_second, NULL, STEP_SERVER);
	step_thread("kernel", ask_service, NULL, 0);
	step_thread("other", ask_once, NULL, 0);
}

int main(int argc, char **argv)
{
	static const struct step_scenario scenarios[] = {
		{ .name = "two kernels ask", .start = start_two },
		{ .name = "the library stops", .start = start_stop },
		{ .name = "a function ends its thread", .start = start_ending },
		{ .name = NULL },
	};

	return step_main(argc, argv, scenarios);
}
