/* SPDX-License-Identifier: MIT */
/* function.c - host functions in CUDA's streams: the fetcher, and commands that wait for host functions. */
#include "step.h"

#include "interpose/cuda/function.c"

#define FUNCTIONS 2

struct adsm_life adsm_life = { .state = ADSM_STARTED, .epoch = 1 };
struct adsm_counters adsm_total;
_Atomic unsigned adsm_cuda_ended[ADSM_MAX_DEVICES];
_Atomic uint32_t adsm_cuda_past = UINT32_MAX;

static struct adsm_home homes[FUNCTIONS];
/* The functions that the driver has got, one in each stream. */
static struct { CUhostFn *function; void *data; bool refused; } given[FUNCTIONS];
static bool fetcher_runs, driver_fails, context_failed;
static int n_run;
/* For each home: the number of fetches begun, and that number at the begin of the last fetch that has ended. */
static int n_begun[FUNCTIONS], n_fetched[FUNCTIONS];

/* ---- other parts of the library */

bool adsm_driver_active(void)
{
	return true;
}

void adsm_driver_launched(struct adsm_home *home)
{
}

static _Thread_local uintptr_t current;

struct adsm_home *adsm_cuda_current_home(void)
{
	return &homes[current];
}

struct adsm_home *adsm_cuda_concerned_by(CUstream stream)
{
	return adsm_cuda_concerned();
}

bool adsm_cuda_capturing(CUstream stream)
{
	return false;
}

int adsm_cuda_acquire(struct adsm_home *home)
{
	int n;

	STEP_CHECK(home);
	if (!home)
		return 0;
	n = ++n_begun[home->index];
	step_at(NULL, "", 0, "fetches");
	n_fetched[home->index] = n;
	return 0;
}

static bool is_fetcher_started(void *arg)
{
	return fetcher_runs;
}

static void fetch(void *arg)
{
	step_await(is_fetcher_started, NULL);
	run_fetcher(NULL);
}

int adsm_os_thread_start(struct adsm_thread *ret_thread, const char *name, void (*run)(void *), void *arg)
{
	fetcher_runs = true;
	return 0;
}

/* ---- the driver */

static CUresult query(CUstream stream)
{
	return context_failed ? CUDA_ERROR_LAUNCH_FAILED : CUDA_ERROR_NOT_READY;
}

/* Stream and context have the same number. */
static CUresult take(CUstream stream, CUhostFn *function, void *data)
{
	const uintptr_t i = (uintptr_t)stream - 1;

	if (driver_fails && step_choose(2)) {
		given[i].refused = true;
		return CUDA_ERROR_LAUNCH_FAILED;
	}
	given[i].function = function;
	given[i].data = data;
	return CUDA_SUCCESS;
}

void *adsm_cu_find(struct adsm_cu_entry *entry)
{
	return entry == &cu_cuStreamQuery ? (void *)(uintptr_t)query : (void *)(uintptr_t)take;
}

static bool is_given(void *arg)
{
	return given[(uintptr_t)arg].function || given[(uintptr_t)arg].refused;
}

static void run_stream(void *arg)
{
	const uintptr_t i = (uintptr_t)arg;

	step_await(is_given, arg);
	if (!given[i].refused)
		given[i].function(given[i].data);
}

/* ---- the program */

/* Objects must be fetched after the driver began to run the function, so after all commands before it. */
static void function_of_program(void *data)
{
	const struct adsm_home *home = data;

	STEP_CHECK(!atomic_load(&home->n_undetected) || n_fetched[home->index]);
	n_run++;
}

static void launch(void *arg)
{
	const uintptr_t i = (uintptr_t)arg;

	current = i;
	cuLaunchHostFunc((CUstream)(i + 1), function_of_program, &homes[i]);
}

static void launch_and_command(void *arg)
{
	launch(arg);
	adsm_cuda_let_functions_run(&homes[current], (CUstream)(current + 1));
	STEP_CHECK(n_run || given[current].refused || context_failed || adsm_cuda_ended[current]);
}

static void command(void *arg)
{
	adsm_cuda_let_functions_run(&homes[0], (CUstream)1);
	STEP_CHECK(!is_given(NULL) || n_run || given[0].refused);
}

static bool are_none_left(void)
{
	return !n_functions[0] && !n_functions[1];
}

static void make(void)
{
	memset(homes, 0, sizeof(homes));
	memset(given, 0, sizeof(given));
	for (unsigned i = 0; i < FUNCTIONS; i++) {
		homes[i].index = i;
		atomic_init(&n_functions[i], 0);
		n_begun[i] = n_fetched[i] = 0;
	}
	atomic_init(&adsm_total.read_faults, 1);
	atomic_init(&adsm_cuda_ended[0], 0);
	atomic_init(&fetcher.asked, 0);
	atomic_init(&fetcher.done, 0);
	fetcher.runs = fetcher_runs = driver_fails = context_failed = false;
	fetcher.once = (pthread_once_t)PTHREAD_ONCE_INIT;
	n_run = 0;
	step_constant(homes, sizeof(homes));
}

/* Two threads of the driver need objects of two contexts. */
static void start_fetch(void)
{
	make();
	for (unsigned i = 0; i < FUNCTIONS; i++)
		atomic_init(&homes[i].n_undetected, 1);
	step_thread("fetcher", fetch, NULL, STEP_SERVER);
	step_thread("driver", run_stream, (void *)0, 0);
	step_thread("driver too", run_stream, (void *)1, 0);
	step_thread("program", launch, (void *)0, 0);
	step_thread("other", launch, (void *)1, 0);
}

/* Two threads have commands for the device. If functions do run, no wait needs a time limit. */
static void start_commands(void)
{
	make();
	driver_fails = true;
	step_thread("driver", run_stream, (void *)0, 0);
	step_thread("program", launch_and_command, (void *)0, 0);
	step_thread("other", command, NULL, 0);
}

/* Here the functions never run, because the context fails or ends. */
static void fail(void *arg)
{
	context_failed = true;
}

static void end(void *arg)
{
	adsm_cuda_functions_end(&homes[0]);
	adsm_cuda_ended[0] = adsm_life.epoch;
	step_at(NULL, "", 0, "destroys the context");
	context_failed = true;
}

static void start_failed(void)
{
	make();
	step_thread("program", launch_and_command, (void *)0, 0);
	step_thread("driver", fail, NULL, 0);
}

static void start_ended(void)
{
	make();
	step_thread("driver", run_stream, (void *)0, STEP_MORTAL | STEP_SERVER);
	step_thread("program", launch_and_command, (void *)0, 0);
	step_thread("other", end, NULL, 0);
}

int main(int argc, char **argv)
{
	static const struct step_scenario scenarios[] = {
		{ .name = "functions of two streams", .start = start_fetch, .settled = are_none_left, .signals = 1,
		  .time = STEP_NO_TIME },
		{ .name = "commands behind functions", .start = start_commands, .settled = are_none_left, .signals = 1,
		  .time = STEP_NO_TIME },
		{ .name = "the context fails", .start = start_failed },
		{ .name = "the context ends", .start = start_ended },
		{ .name = NULL },
	};

	return step_main(argc, argv, scenarios);
}
