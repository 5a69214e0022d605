/* SPDX-License-Identifier: MIT */
/* function.c - host functions of the program in streams. */
#include "function.h"

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/os.h"
#include "base/stats.h"
#include "home.h"
#include "stream.h"
#include "sync.h"

#define CHECK_NS 100000000u	/* how often a waiting thread checks that the context has not failed */

ADSM_CU_CALLED(cuStreamQuery, (CUstream stream));

/* A host function that has not run yet. */
struct function {
	CUhostFn *host;
	CUstreamCallback *callback;	/* instead */
	void *data;
	struct adsm_home *home;
};

/* With a protocol that detects no touches, objects must be fetched before a function runs. The driver's thread that
 * runs the function may not call the driver. So a thread of the library fetches. */
static struct {
	struct adsm_mutex turn;
	pthread_once_t once;
	struct adsm_thread thread;
	bool runs;
	_Atomic(struct adsm_home *) home;	/* whose objects to fetch */
	_Atomic uint32_t asked, done;		/* futexes: numbers of requests made and served */
} fetcher = { .turn = ADSM_MUTEX_INIT(ADSM_RANK_TURN), .once = PTHREAD_ONCE_INIT };

static void run_fetcher(void *arg)
{
	(void)arg;
	for (;;) {
		uint32_t done = atomic_load(&fetcher.done);

		if (atomic_load(&fetcher.asked) == done) {
			adsm_os_wait(&fetcher.asked, done, 0, false);
			continue;
		}
		if (adsm_cuda_acquire(atomic_load(&fetcher.home)))
			adsm_error("a host function in a stream may read old bytes: %s", adsm_last_error());
		adsm_os_poke(&fetcher.done);
	}
}

static void start_fetcher(void)
{
	fetcher.runs = !adsm_os_thread_start(&fetcher.thread, "adsm-cuda-fetch", run_fetcher, NULL);
}

static void fetch_elsewhere(struct adsm_home *home)
{
	uint32_t done;

	if (!fetcher.runs)
		return;
	adsm_mutex_lock(&fetcher.turn);
	done = atomic_load(&fetcher.done);
	atomic_store(&fetcher.home, home);
	adsm_os_poke(&fetcher.asked);
	while (atomic_load(&fetcher.done) == done)
		adsm_os_wait(&fetcher.done, done, 0, false);
	adsm_mutex_unlock(&fetcher.turn);
}

static _Atomic uint32_t n_functions[ADSM_MAX_DEVICES];	/* futexes: functions of each home that have not run yet */

static void function_begins(const struct function *function)
{
	if (adsm_driver_active() && atomic_load(&function->home->n_undetected))
		fetch_elsewhere(function->home);
}

static void function_ended(struct function *function)
{
	_Atomic uint32_t *n = &n_functions[function->home->index];
	uint32_t was = atomic_load(n);

	free(function);
	while (was && !atomic_compare_exchange_weak(n, &was, was - 1))
		;
	adsm_os_wake(n, INT_MAX, false);
}

static void run_host(void *data)
{
	struct function *function = data;

	function_begins(function);
	function->host(function->data);
	function_ended(function);
}

static void run_callback(CUstream stream, CUresult status, void *data)
{
	struct function *function = data;

	function_begins(function);
	function->callback(stream, status, function->data);
	function_ended(function);
}

/* What the driver gets in place of the program's function. NULL: no home is concerned, or the stream is capturing: a
 * function in a graph may run several times. */
static struct function *function_make(CUstream stream, CUhostFn *host, CUstreamCallback *callback, void *data)
{
	struct adsm_home *home = adsm_cuda_concerned_by(stream);
	struct function *function;

	if ((!host && !callback) || !home || adsm_cuda_capturing(stream))
		return NULL;
	function = malloc(sizeof(*function));
	if (!function)
		return NULL;
	*function = (struct function){ host, callback, data, home };
	/* A touch in the function then waits for the launches before it, and not for the function itself. */
	adsm_driver_launched(home);
	if (atomic_load(&home->n_undetected))
		pthread_once(&fetcher.once, start_fetcher);
	atomic_fetch_add(&n_functions[home->index], 1);
	return function;
}

/* @result: of the driver, which got the function; NULL: it got the program's. */
static CUresult launched(struct function *function, CUresult result)
{
	if (function && result != CUDA_SUCCESS)
		function_ended(function);
	return adsm_cuda_passed(result);
}

#define HOST(name, per_thread)											\
	ADSM_CU_WRAPPER(name, (CUstream stream, CUhostFn *host, void *data))					\
	{													\
		struct function *own = function_make(adsm_cuda_stream(stream, per_thread), host, NULL, data);	\
														\
		return launched(own, own ? real_cu(name)(stream, run_host, own) : real_cu(name)(stream, host, data)); \
	}
HOST(cuLaunchHostFunc, false)
HOST(cuLaunchHostFunc_ptsz, true)

#define CALLBACK(name, per_thread)										\
	ADSM_CU_WRAPPER(name, (CUstream stream, CUstreamCallback *callback, void *data, unsigned flags))	\
	{													\
		struct function *own = function_make(adsm_cuda_stream(stream, per_thread), NULL, callback, data); \
														\
		return launched(own, own ? real_cu(name)(stream, run_callback, own, flags) :			\
				real_cu(name)(stream, callback, data, flags));					\
	}
CALLBACK(cuStreamAddCallback, false)
CALLBACK(cuStreamAddCallback_ptsz, true)

void adsm_cuda_functions_end(const struct adsm_home *home)
{
	atomic_store(&n_functions[home->index], 0);
}

void adsm_cuda_let_functions_run(struct adsm_home *home, CUstream stream)
{
	_Atomic uint32_t *n_left = &n_functions[home->index];
	uint32_t n;

	if (!atomic_load_explicit(n_left, memory_order_acquire) ||
	    !(atomic_load_explicit(&adsm_total.read_faults, memory_order_relaxed) ||
	      atomic_load_explicit(&adsm_total.write_faults, memory_order_relaxed) ||
	      atomic_load_explicit(&home->n_undetected, memory_order_relaxed)))
		return;
	while ((n = atomic_load(n_left))) {
		CUresult result;

		adsm_os_wait(n_left, n, CHECK_NS, false);
		/* If the context has failed, the functions never run. */
		result = real_cu(cuStreamQuery)(stream);
		if (result != CUDA_SUCCESS && result != CUDA_ERROR_NOT_READY)
			return;
	}
}
