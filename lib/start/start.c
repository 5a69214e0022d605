/* SPDX-License-Identifier: MIT */
/* start.c - start and stop. */
#include "start/start.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "core/options.h"
#include "start/options.h"
#include "backend.h"
#include "core/arena.h"
#include "core/block.h"
#include "core/index.h"
#include "core/life.h"
#include "core/objects.h"
#include "core/observe.h"
#include "core/shared.h"
#include "engine/engine.h"
#include "observe/observe.h"
#include "observe/trace.h"
#include "once/make.h"
#include "run/call/dataflow.h"
#include "run/object/kernel.h"
#include "run/copy/peers.h"
#include "run/object/printed.h"
#include "run/wait/wait.h"
#include "start/homes.h"

static struct adsm_mutex start_mutex = ADSM_MUTEX_INIT(ADSM_RANK_START);

static void report_at_exit(void)
{
	adsm_printed_show();
	if (!adsm_started())
		return;
	if (adsm_observes(~0u))
		adsm_retire_all();
	adsm_observe_end();
}

static void in_child(void)
{
	adsm_options_child();
	/* If another thread was starting or stopping the library,
	 * it does not exist here, and the state stays incomplete. */
	bool between = pthread_mutex_trylock(&start_mutex.mutex);

	if (!between)
		pthread_mutex_unlock(&start_mutex.mutex);
	if (atomic_load(&adsm_life.state) == ADSM_STARTED)
		adsm_trace_forget();
	if (between || atomic_load(&adsm_life.state) != ADSM_STOPPED)
		adsm_become_child();
}

__attribute__((constructor)) static void watch_forks(void)
{
	pthread_atfork(NULL, NULL, in_child);
}

static void warn_if_bypassed(void)
{
	char path[PATH_MAX];

	if (!adsm_os_is_bypassed() || adsm_os_library_path(path, sizeof(path)))
		return;
	if (adsm_os_is_linked())
		adsm_warn("the library's wrappers of read(), memcpy() and other functions have no effect: the program "
			  "is linked with the library only through another one, and the C library comes first; link "
			  "the program itself with -ladsm, preload the library (LD_PRELOAD=%s), or use adsmHold() "
			  "around these functions", path);
	else
		adsm_warn("the library was opened with dlopen(): its wrappers of read(), memcpy() and other functions "
			  "have no effect; preload the library (LD_PRELOAD=%s), or use adsmHold() around these "
			  "functions", path);
}

/* Valgrind sets this variable for programs that it runs. There the start would take hours. */
static bool is_under_valgrind(void)
{
	const char *preloaded = adsm_os_getenv("LD_PRELOAD");

	return preloaded && strstr(preloaded, "/vgpreload_core");
}

static int start(void)
{
	static bool registered;
	const struct adsm_backend *backend;
	int n_devices, error;

	if (is_under_valgrind())
		return adsm_fail(-ENOTSUP, "the library does not run under valgrind: build the program with "
				 "-fsanitize=address,undefined instead");
	error = adsm_options_load();
	if (error)
		return error;
	adsm_engine_choose();
	error = adsm_observe_start();
	if (error)
		return error;
	error = adsm_index_init();
	if (!error && !adsm_life.unforked)
		error = adsm_os_fork_mark(&adsm_life.unforked);
	if (error) {
		adsm_say("no memory for the library's tables: %s%s", strerror(-error), adsm_os_limit(error));
		goto end_observing;
	}
	atomic_store(adsm_life.unforked, 1);	/* so the child of a process whose library is stopped may start it */
	error = adsm_arena_create(adsm_core_options.arena.address, adsm_core_options.arena.size);
	if (error)
		goto end_observing;
	adsm_homes_keep_actions();
	error = adsm_backend_find(adsm_backend_options.name, &backend, &n_devices);
	adsm_homes_restore_actions(error ? NULL : backend);
	if (error)
		goto destroy_arena;
	error = adsm_homes_open(backend, n_devices);
	if (error)
		goto destroy_arena;
	adsm_arena_close_file();
	if (!registered) {
		atexit(report_at_exit);
		registered = true;
		warn_if_bypassed();
	}
	return 0;

destroy_arena:
	adsm_arena_destroy();
end_observing:
	adsm_observe_end();
	return error;
}

/* The caller has start_mutex. */
static int start_now(void)
{
	static struct adsm_error_kept before;	/* not on the stack, which may be small */
	int error;

	if (atomic_load(&adsm_life.state) == ADSM_STARTED)
		return 0;
	adsm_error_keep(&before);
	error = start();
	if (error) {
		if (before.n_said == adsm_n_said())
			adsm_say("the library cannot start: %s%s", strerror(-error), adsm_os_limit(error));
		return error;
	}
	/* The texts are about backends that were tried without success. */
	adsm_error_back(&before);
	adsm_life.epoch++;
	adsm_counters_reset(&adsm_total);
	atomic_store(&adsm_shared_range.start, adsm_arena.base);
	atomic_store(&adsm_shared_range.size, adsm_arena.size);
	atomic_store(&adsm_life.state, ADSM_STARTED);
	adsm_peers_start();
	return 0;
}

/* The caller may ignore the error, so the log gets the reason once. The caller has start_mutex. */
static int start_and_tell(void)
{
	int error = start_now();

	if (error)
		adsm_error_once();
	else
		adsm_error_forget();
	return error;
}

int adsm_start(void)
{
	int error;

	if (adsm_is_child())
		return adsm_fail(-ENOTSUP, "the child of a fork cannot use the library before it calls exec");
	if (adsm_serving)
		return adsm_fail(-EDEADLK, "a service cannot call functions of the library, because they wait for "
				 "calls: it may only read and write memory that no call uses");
	if (atomic_load_explicit(&adsm_life.state, memory_order_acquire) == ADSM_STARTED)
		return 0;
	adsm_mutex_lock(&start_mutex);
	error = start_and_tell();
	adsm_mutex_unlock(&start_mutex);
	return error;
}

/* If the library runs on a context of the program's: the backend, and the value that the option had before. */
static struct {
	const struct adsm_backend *backend;	/* NULL: it does not run on one */
	char option[64];
} lent;

/* The program may end its context once the library has stopped, so the next start is without it. The caller has
 * start_mutex. */
static void forget_context(void)
{
	if (!lent.backend)
		return;
	lent.backend->driver->use_context(NULL, NULL);
	adsm_options_set("backend", lent.option);
	lent.backend = NULL;
}

/* Start on a context of the program's. The caller has start_mutex. */
static int start_on(const struct adsm_backend *backend, void *context, void *device)
{
	int error;

	error = adsm_options_load();	/* they name the driver's library */
	if (!error)
		error = backend->driver->use_context(context, device);
	if (error)
		return error;
	lent.backend = backend;
	adsm_format(lent.option, sizeof(lent.option), "%s", adsm_backend_options.name);
	error = adsm_options_set("backend", backend->name);
	if (!error)
		error = start_now();
	if (error)
		forget_context();
	return error;
}

/* Open one more home, for a context of the program's. The caller has start_mutex. */
static int add_home(const struct adsm_backend *backend, void *context, void *device)
{
	int error, n;

	/* If the devices are wrapped (backends/wrap), use the wrapped backend. */
	if (!strcmp(adsm_homes[0].device->backend->name, backend->name))
		backend = adsm_homes[0].device->backend;
	if (adsm_n_homes == ADSM_MAX_DEVICES)
		return adsm_fail(-ENODEV, "there are %d devices already, which is the maximum", ADSM_MAX_DEVICES);
	error = backend->driver->use_context(context, device);
	n = error ? error : backend->probe();
	if (n <= 0)
		return n ? n : -ENODEV;
	return adsm_homes_add(backend, n - 1);
}

int adsm_start_with(const char *name, void *context, void *device, struct adsm_home **ret_home)
{
	const struct adsm_backend *backend = adsm_backend_named(name);
	int error = 0;

	if (adsm_is_child() || adsm_serving)
		return adsm_start();
	if (!backend)
		return adsm_fail(-ENOTSUP, "the library was built without the backend '%s'", name);
	adsm_mutex_lock(&start_mutex);
	*ret_home = adsm_home_of(context);
	if (!*ret_home) {
		error = adsm_started() ? add_home(backend, context, device) : start_on(backend, context, device);
		if (!error) {
			*ret_home = &adsm_homes[adsm_n_homes - 1];
			atomic_store(&(*ret_home)->native_context, context);
		}
	}
	adsm_mutex_unlock(&start_mutex);
	return error;
}

int adsm_stop(void)
{
	size_t n_objects;
	int error = 0;

	if (adsm_is_child() || adsm_serving)
		return adsm_start();
	adsm_mutex_lock(&start_mutex);
	if (atomic_load(&adsm_life.state) != ADSM_STARTED)
		goto unlock;
	n_objects = adsm_objects_alive() + adsm_once_alive();
	if (n_objects || adsm_modules_alive()) {
		error = adsm_fail(-EBUSY, "adsmShutdown(): %zu objects and %zu modules still exist", n_objects,
				  adsm_modules_alive());
		goto unlock;
	}
	adsm_peers_stop();
	adsm_quiesce();
	adsm_observe_end();
	atomic_store(&adsm_shared_range.size, 0);
	atomic_store(&adsm_life.state, ADSM_STOPPED);
	adsm_dataflow_stop();
	adsm_engine->stop();
	adsm_modules_end();
	adsm_once_end();
	adsm_homes_close();
	forget_context();
	adsm_arena_destroy();
unlock:
	adsm_mutex_unlock(&start_mutex);
	return error;
}
