/* SPDX-License-Identifier: MIT */
/* main.c - once-pipelines: pipelines of the CPU and two devices over write-once objects. */
#include "pipelines.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

const char *const form_names[N_FORMS] = { "threads", "once", "calls", "copies" };

static adsmModule *module;

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

double now_ms(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e3 + (double)time.tv_nsec * 1e-6;
}

static int compare_doubles(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double median(double *values, size_t n)
{
	qsort(values, n, sizeof(*values), compare_doubles);
	return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
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

void *host_alloc(size_t size)
{
	void *p = malloc(size);

	if (!p)
		die("no memory for %zu bytes", size);
	return p;
}

adsmOnce *once_alloc(size_t count, size_t size)
{
	adsmOnce *once = adsmOnceAlloc(count, size, NULL);

	if (!once)
		die("%s", adsmLastError());
	return once;
}

adsmKernel *kernel(const char *name)
{
	adsmKernel *found = adsmKernelGet(module, name);

	if (!found)
		die("%s", adsmLastError());
	return found;
}

void device(int index)
{
	check(adsmDeviceSet(index));
}

/* Two devices of one thread each, where nobody has said otherwise. Kernels lie beside this program. */
static void start_devices(void)
{
	char path[PATH_MAX + 32];
	ssize_t n = readlink("/proc/self/exe", path, PATH_MAX);

	while (n > 0 && path[n - 1] != '/')
		n--;
	if (n <= 0)
		die("cannot find my own folder: %m");
	snprintf(path + n, sizeof(path) - (size_t)n, "once-pipelines.adsm");
	setenv("ADSM_CPU_DEVICES", "2", 0);
	setenv("ADSM_CPU_THREADS", "1", 0);
	check(adsmInit());
	if (adsmDeviceCount() < 2)
		die("this takes two devices: ADSM_CPU_DEVICES=2");
	module = adsmModuleLoad(path);
	if (!module)
		die("%s", adsmLastError());
}

static _Noreturn void usage(const char *problem, const char *what)
{
	fprintf(stderr, "once-pipelines: %s%s\n"
		"usage: once-pipelines scan | matrix | file [OPTION]...\n"
		"  --form F      threads, once, and of the scan calls, copies; may be repeated; else all\n"
		"  --blocks N    up to 500000; scan: else 50, 100, 200, 400, 500, 1000; matrix: tiles each way;\n"
		"                file: units\n"
		"  --adds N      scan: additions of the CPU for each block, 50000\n"
		"  --work N      scan: the same of each device, 0\n"
		"  --repeat N    turns, 1\n"
		"  --csv FILE    scan: rows are added to it\n"
		"  --in FILE --out FILE\n", problem, what);
	exit(2);
}

static unsigned long number(const char *text, unsigned long most)
{
	unsigned long value;
	char *end;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || value > most)
		usage("no number, or too large: ", text);
	return value;
}

static void take_form(struct settings *settings, const char *name)
{
	int f = 0;

	while (f < N_FORMS && strcmp(name, form_names[f]))
		f++;
	if (f == N_FORMS)
		usage("there is no form of this name: ", name);
	settings->forms[f] = true;
}

static void take(struct settings *settings, const char *option, const char *value)
{
	if (!strcmp(option, "--form"))
		take_form(settings, value);
	else if (!strcmp(option, "--blocks"))
		settings->n = number(value, 500000);	/* whose sums fit an int */
	else if (!strcmp(option, "--adds"))
		settings->adds = (unsigned)number(value, 1000000000);
	else if (!strcmp(option, "--work"))
		settings->work = (unsigned)number(value, 1000000000);
	else if (!strcmp(option, "--repeat"))
		settings->repeat = (int)number(value, 1000);
	else if (!strcmp(option, "--csv"))
		settings->csv = value;
	else if (!strcmp(option, "--in"))
		settings->in = value;
	else if (!strcmp(option, "--out"))
		settings->out = value;
	else
		usage("there is no such option: ", option);
}

int main(int argc, char **argv)
{
	static const struct { const char *name; int n_forms; void (*run)(const struct settings *settings); } all[] = {
		{ "scan", N_FORMS, pipeline_scan }, { "matrix", 2, pipeline_matrix }, { "file", 2, pipeline_file },
	};
	struct settings settings = { .adds = 50000, .repeat = 1 };
	bool chosen = false;
	size_t which = 0;

	while (which < 3 && (argc < 2 || strcmp(argv[1], all[which].name)))
		if (++which == 3)
			usage("there is no pipeline of this name: ", argc > 1 ? argv[1] : "");
	for (int i = 2; i < argc; i += 2) {
		if (i + 1 == argc)
			usage("a value is missing: ", argv[i]);
		take(&settings, argv[i], argv[i + 1]);
	}
	for (int f = 0; f < N_FORMS; f++)
		chosen |= settings.forms[f];
	for (int f = 0; f < N_FORMS; f++) {
		if (settings.forms[f] && f >= all[which].n_forms)
			usage("this pipeline has no form ", form_names[f]);
		settings.forms[f] |= !chosen && f < all[which].n_forms;
		settings.kernels |= settings.forms[f] && f != FORM_THREADS;
	}
	if (settings.kernels)
		start_devices();
	all[which].run(&settings);
	check(adsmModuleUnload(module));
	check(adsmShutdown());
	return 0;
}
