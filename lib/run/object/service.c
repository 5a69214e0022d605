/* SPDX-License-Identifier: MIT */
/* service.c - see service.h. Functions run without a lock. Unregistering waits until the function has returned. */
#include "run/object/service.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/os.h"
#include "core/life.h"

#define ERRNO_MAX 4095

struct service {
	struct service *next;
	char name[ADSM_SERVICE_NAME_MAX + 1];
	adsmServiceFunction *function;
	size_t max_in, max_out;
	void *ctx;
	unsigned running;		/* the number of threads in the function; unregistering waits until it is 0 */
};

static struct adsm_mutex mutex = ADSM_MUTEX_INIT(ADSM_RANK_SERVICES);	/* for the list; no lock is taken under it */
static struct service *services;
static _Atomic uint32_t ended;		/* futex: changes when a function has returned */

/* The link to the service of that name, or to the list's end. The caller has the mutex. */
static struct service **find(const char *name)
{
	struct service **at = &services;

	while (*at && strcmp((*at)->name, name))
		at = &(*at)->next;
	return at;
}

static int check_name(const char *name)
{
	if (!name || !*name || strnlen(name, ADSM_SERVICE_NAME_MAX + 1) > ADSM_SERVICE_NAME_MAX)
		return adsm_fail(-EINVAL, "the name of a service must have 1 to %d characters", ADSM_SERVICE_NAME_MAX);
	return 0;
}

int adsm_service_register(const char *name, adsmServiceFunction *function, size_t max_in, size_t max_out, void *ctx)
{
	struct service *service, **at;
	int error = check_name(name);

	if (error)
		return error;
	if (!function)
		return adsm_fail(-EINVAL, "service '%s': the function is NULL", name);
	if (max_in > ADSM_SERVICE_BYTES_MAX || max_out > ADSM_SERVICE_BYTES_MAX)
		return adsm_fail(-EINVAL, "service '%s': max_in is %zu and max_out is %zu bytes, but each must be at "
				 "most %d", name, max_in, max_out, ADSM_SERVICE_BYTES_MAX);
	service = calloc(1, sizeof(*service));
	if (!service)
		return adsm_fail(-ENOMEM, "no memory for service '%s'", name);
	*service = (struct service){ .function = function, .max_in = max_in, .max_out = max_out, .ctx = ctx };
	strcpy(service->name, name);
	adsm_mutex_lock(&mutex);
	at = find(name);
	if (!*at)
		*at = service;
	else
		error = -EEXIST;
	adsm_mutex_unlock(&mutex);
	if (error) {
		free(service);
		return adsm_fail(error, "service '%s' is registered already", name);
	}
	return 0;
}

int adsm_service_unregister(const char *name)
{
	struct service *service, **at;
	int error = check_name(name);
	unsigned running = 0;

	if (error)
		return error;
	adsm_mutex_lock(&mutex);
	at = find(name);
	service = *at;
	if (!service)
		error = -ENOENT;
	else if (adsm_serving && service->running)
		error = -EDEADLK;
	else
		*at = service->next;
	if (!error)
		running = service->running;
	adsm_mutex_unlock(&mutex);
	if (error)
		return adsm_fail(error, error == -ENOENT ? "service '%s' is not registered" :
				 "service '%s' runs, and may wait for the service that unregisters it", name);
	while (running) {
		const uint32_t tick = atomic_load(&ended);

		adsm_mutex_lock(&mutex);
		running = service->running;
		adsm_mutex_unlock(&mutex);
		if (running)
			adsm_os_wait(&ended, tick, 0, false);
	}
	free(service);
	return 0;
}

/* Check a service's result: it is a number of bytes or a negative errno. */
static int judge(const char *name, int result, size_t out_size)
{
	if (result <= 0 ? result >= -ERRNO_MAX : (size_t)result <= out_size)
		return result;
	adsm_error("service '%s' has returned %d: it must return the number of bytes that it wrote, at most %zu, or a "
		   "negative errno", name, result, out_size);
	return -EOVERFLOW;
}

struct run {
	struct service *service;
	const void *in;
	size_t in_size;
	void *out;
	size_t out_size;
	int result;
};

static void run(void *arg)
{
	struct run *run = arg;

	run->result = run->service->function(run->service->ctx, run->in, run->in_size, run->out, run->out_size);
}

static void leave(struct service *service)
{
	adsm_mutex_lock(&mutex);
	service->running--;
	adsm_mutex_unlock(&mutex);
	atomic_fetch_add(&ended, 1);
	adsm_os_wake(&ended, INT_MAX, false);
}

static void thread_ended(void *arg)
{
	leave(((struct run *)arg)->service);
}

int adsm_service_run(const char *name, const void *in, size_t in_size, void *out, size_t out_size)
{
	struct run now = { .in = in, .in_size = in_size, .out = out, .out_size = out_size };
	int result = 0;

	adsm_mutex_lock(&mutex);
	now.service = *find(name);
	if (!now.service)
		result = -ENOENT;
	else if (in_size > now.service->max_in || out_size > now.service->max_out)
		result = -E2BIG;
	else
		now.service->running++;
	adsm_mutex_unlock(&mutex);
	if (result)
		return result;
	adsm_serving = true;
	adsm_os_run(run, thread_ended, &now);
	result = judge(name, now.result, out_size);
	adsm_serving = false;
	leave(now.service);
	return result;
}
