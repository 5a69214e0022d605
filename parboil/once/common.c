/* SPDX-License-Identifier: MIT */
/* common.c - what the forms are made of: threads, memory, units, calls. All of it works, or ends the program. */
#include "pipelines.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

void die(const char *format, ...)
{
	va_list args;

	fputs("once-pipelines: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}

void check(int error)
{
	if (error)
		die("%s", adsmLastError());
}

pthread_t start(void *(*run)(void *), void *arg)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, arg))
		die("no thread");
	return thread;
}

void end(pthread_t thread)
{
	pthread_join(thread, NULL);
}

double now_ms(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e3 + (double)time.tv_nsec * 1e-6;
}

/* ---- memory */

static int free_host(void *p)
{
	free(p);
	return 0;
}

static int free_once(void *p)
{
	return adsmOnceFree(p);
}

static struct {
	void *p;
	int (*free)(void *p);
} allocated[16];

static size_t n_allocated;

static void *keep(void *p, int (*free)(void *p))
{
	if (n_allocated == sizeof(allocated) / sizeof(allocated[0]))
		die("a turn allocates memory too often");
	allocated[n_allocated].p = p;
	allocated[n_allocated++].free = free;
	return p;
}

void free_all(void)
{
	while (n_allocated) {
		n_allocated--;
		check(allocated[n_allocated].free(allocated[n_allocated].p));
	}
}

adsmOnce *once_alloc(size_t count, size_t size)
{
	adsmOnce *once = adsmOnceAlloc(count, size, NULL);

	check(!once);
	return keep(once, free_once);
}

void *host_alloc(size_t size)
{
	void *p = malloc(size);

	if (!p)
		die("not enough memory for %zu bytes", size);
	return keep(p, free_host);
}

void *shared_alloc(int home, size_t size)
{
	void *p;

	device(home);
	p = adsmAlloc(size);
	check(!p);
	return keep(p, adsmFree);
}

void *device_alloc(int home, size_t size)
{
	void *p;

	device(home);
	p = adsmDeviceAlloc(size);
	check(!p);
	return keep(p, adsmDeviceFree);
}

/* ---- units */

const void *once_get(const adsmOnce *once, size_t unit)
{
	const void *p = adsmOnceGet(once, unit);

	check(!p);
	return p;
}

void *once_fresh(adsmOnce *once, size_t unit)
{
	void *p = adsmOnceFresh(once, unit);

	check(!p);
	return p;
}

void once_set(adsmOnce *once, size_t unit)
{
	check(adsmOnceSet(once, unit));
}

/* ---- calls */

static adsmModule *module;

void start_devices(void)
{
	char path[PATH_MAX + 32];
	ssize_t n = readlink("/proc/self/exe", path, PATH_MAX);

	while (n > 0 && path[n - 1] != '/')
		n--;
	if (n <= 0)
		die("the folder of this program cannot be found: %m");
	snprintf(path + n, sizeof(path) - (size_t)n, "once-pipelines.adsm");
	setenv("ADSM_CPU_DEVICES", "2", 0);
	setenv("ADSM_CPU_THREADS", "1", 0);
	check(adsmInit());
	if (adsmDeviceCount() < 2)
		die("two devices are necessary: set ADSM_CPU_DEVICES=2");
	module = adsmModuleLoad(path);
	check(!module);
}

void stop_devices(void)
{
	check(adsmModuleUnload(module));
	check(adsmShutdown());
}

adsmKernel *kernel(const char *name)
{
	adsmKernel *found = adsmKernelGet(module, name);

	check(!found);
	return found;
}

void device(int index)
{
	check(adsmDeviceSet(index));
}

void touch(const void *data, size_t size)
{
	for (size_t i = 0; i < size; i += 4096)
		(void)((const volatile char *)data)[i];
}
