/* SPDX-License-Identifier: MIT */
/* harness.c - runs one benchmark: files, library, clock, counters; and never ends by a signal of its own. */
#include "harness.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "report.h"
#include "rng.h"

static char bench_name[32];
/* Files made for this run; "" where there is none. */
static char temp_dir[PATH_MAX - 16], temp_input[PATH_MAX], temp_output[PATH_MAX];

/* ---- ending */

/* May run in a signal handler. */
static void remove_files(void)
{
	if (!temp_dir[0])
		return;
	unlink(temp_input);
	unlink(temp_output);
	rmdir(temp_dir);
	temp_dir[0] = '\0';
}

void pb_die(const char *format, ...)
{
	va_list list;

	fprintf(stderr, "parboil: %s%s", bench_name, bench_name[0] ? ": " : "");
	va_start(list, format);
	vfprintf(stderr, format, list);
	va_end(list);
	fputc('\n', stderr);
	exit(1);
}

void pb_check(int error)
{
	if (error)
		pb_die("%s", adsmLastError());
}

/* SIGBUS: the library could not serve an access of ours. */
static void lost(int signal, siginfo_t *info, void *context)
{
	static const char before[] = ": lost data at 0x", after[] = ": the device has died\n";
	char line[sizeof(before) + sizeof(after) + sizeof(bench_name) + 32] = "parboil: ";
	size_t n = strlen(line), name_length = strlen(bench_name);
	uintptr_t address = (uintptr_t)info->si_addr;

	memcpy(line + n, bench_name, name_length);
	n += name_length;
	memcpy(line + n, before, sizeof(before) - 1);
	n += sizeof(before) - 1;
	for (int shift = 60; shift >= 0; shift -= 4)
		if (!shift || address >> shift)
			line[n++] = "0123456789abcdef"[address >> shift & 15];
	memcpy(line + n, after, sizeof(after) - 1);
	n += sizeof(after) - 1;
	if (write(STDERR_FILENO, line, n) < 0)
		n = 0;		/* nobody is left to be told */
	remove_files();
	_exit(1);
}

/* A signal that ends the program: its disposition is the default again. */
static void interrupted(int signal)
{
	remove_files();
	raise(signal);
}

/* Before adsmInit(): the library forwards what it cannot serve to the handler it finds. */
static void catch_signals(void)
{
	static const int ends[] = { SIGHUP, SIGINT, SIGPIPE, SIGTERM };
	struct sigaction action = { .sa_sigaction = lost, .sa_flags = SA_SIGINFO };

	sigaction(SIGBUS, &action, NULL);
	action = (struct sigaction){ .sa_handler = interrupted, .sa_flags = SA_RESETHAND };
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		sigaction(ends[i], &action, NULL);
}

/* ---- what benchmarks use */

static uint64_t now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

void *pb_host_alloc(size_t size)
{
	void *p = malloc(size);

	if (!p)
		pb_die("%zu bytes of memory are not to be had", size);
	return p;
}

void *pb_shared_alloc(size_t size)
{
	void *p = adsmAlloc(size);

	if (!p)
		pb_die("%s", adsmLastError());
	return p;
}

void *pb_device_alloc(size_t size)
{
	void *p = adsmDeviceAlloc(size);

	if (!p)
		pb_die("%s", adsmLastError());
	return p;
}

adsmKernel *pb_kernel(struct pb_run *run, const char *name)
{
	adsmKernel *kernel = adsmKernelGet(run->module, name);

	if (!kernel)
		pb_die("%s", adsmLastError());
	return kernel;
}

FILE *pb_open(const char *path, const char *mode)
{
	FILE *file = fopen(path, mode);

	if (!file)
		pb_die("%s: %s", path, strerror(errno));
	return file;
}

void pb_read(struct pb_run *run, FILE *in, void *p, size_t size)
{
	uint64_t start = now_ns();

	if (fread(p, 1, size, in) != size)
		pb_die("%s: at byte %ld: %s", run->input, ftell(in),
		       ferror(in) ? strerror(errno) : "the file ends");
	run->result.io_ns += now_ns() - start;
}

void pb_write(struct pb_run *run, FILE *out, const void *p, size_t size)
{
	uint64_t start = now_ns();

	if (fwrite(p, 1, size, out) != size)
		pb_die("%s: %s", run->output, strerror(errno));
	run->result.io_ns += now_ns() - start;
}

void pb_close(FILE *out)
{
	bool failed = ferror(out);

	if (fclose(out) || failed)
		pb_die("cannot write: %s", strerror(errno));
}

void pb_stop(struct pb_run *run)
{
	run->result.total_ns = now_ns() - run->start_ns;
	pb_check(adsmStatsGet(&run->result.stats, sizeof(run->result.stats)));
}

/* ---- running */

static size_t find_size(const struct pb_bench *bench, const char *name)
{
	char valid[128] = "";

	for (size_t i = 0; bench->sizes[i]; i++) {
		if (!name || strcmp(bench->sizes[i], name) == 0)
			return i;
		strcat(strcat(valid, " "), bench->sizes[i]);
	}
	pb_usage("%s has no size \"%s\"; its sizes are%s", bench->name, name, valid);
}

static enum pb_variant find_variant(const char *name)
{
	for (int i = 0; i < PB_N_VARIANTS; i++)
		if (!name || strcmp(pb_variant_names[i], name) == 0)
			return i;
	pb_usage("there is no variant \"%s\"; the variants are adsm and explicit", name);
}

static unsigned parse_repeat(const char *text)
{
	char *end;
	unsigned long n;

	if (!text)
		return 1;
	n = strtoul(text, &end, 10);
	if (*end || n < 1 || n > 1000 || *text == '+')
		pb_usage("--repeat takes a number from 1 to 1000, not \"%s\"", text);
	return n;
}

/* The library knows which values are valid, and says so. */
static void set_option(const char *name, const char *value)
{
	if (value && adsmOption(name, value))
		pb_usage("%s", adsmLastError());
}

static void make_files(struct pb_run *run, const struct pb_args *args)
{
	const char *tmp = getenv("TMPDIR");
	FILE *out;

	snprintf(temp_dir, sizeof(temp_dir), "%s/parboil-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	if (!mkdtemp(temp_dir)) {
		int error = errno;

		temp_dir[0] = '\0';
		pb_die("no folder for files in %s: %s", tmp && *tmp ? tmp : "/tmp", strerror(error));
	}
	snprintf(temp_input, sizeof(temp_input), "%s/input", temp_dir);
	snprintf(temp_output, sizeof(temp_output), "%s/output", temp_dir);
	if (args->keep)
		fprintf(stderr, "parboil: %s: files are in %s\n", bench_name, temp_dir);
	else
		atexit(remove_files);
	run->input = args->input;
	if (!run->input) {
		run->input = temp_input;
		out = pb_open(run->input, "wb");
		run->bench->generate(run->size, out);
		pb_close(out);
	}
	run->output = args->output ? args->output : temp_output;
}

/* Kernel modules lie beside the program: <folder of the program>/<benchmark>/kernels.adsm. */
static adsmModule *load_module(void)
{
	char path[PATH_MAX], self[PATH_MAX / 2];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	adsmModule *module;

	if (n < 0)
		pb_die("/proc/self/exe: %s", strerror(errno));
	self[n] = '\0';
	*strrchr(self, '/') = '\0';
	snprintf(path, sizeof(path), "%s/%s/kernels.adsm", self, bench_name);
	module = adsmModuleLoad(path);
	if (!module)
		pb_die("%s", adsmLastError());
	return module;
}

/* What the options came to, wherever they were set: an object knows. */
static void describe(struct pb_setup *setup, const struct pb_args *args)
{
	adsmAllocOptions rolling = ADSM_ALLOC_OPTIONS_INIT;
	adsmObjectProps props = { .struct_size = sizeof(props) };
	adsmDeviceProps device = { .struct_size = sizeof(device) };
	const char *rolling_size = args->rolling_size ? args->rolling_size : getenv("ADSM_ROLLING_SIZE");
	void *p;

	pb_check(adsmDeviceInfo(ADSM_DEVICE_CURRENT, &device));
	snprintf(setup->backend, sizeof(setup->backend), "%s", device.backend);
	setup->rolling_size = rolling_size ? strtoul(rolling_size, NULL, 10) : 0;
	p = pb_shared_alloc(1);
	pb_check(adsmObjectInfo(p, &props));
	pb_check(adsmFree(p));
	snprintf(setup->protocol, sizeof(setup->protocol), "%s",
		 setup->variant == PB_ADSM ? props.protocol : "none");
	rolling.protocol = "rolling";
	p = adsmAllocWith(1, &rolling);
	if (!p)
		pb_die("%s", adsmLastError());
	pb_check(adsmObjectInfo(p, &props));
	pb_check(adsmFree(p));
	setup->block_size = props.block_size;
}

static int by_time(const void *a, const void *b)
{
	uint64_t x = ((const struct pb_result *)a)->total_ns, y = ((const struct pb_result *)b)->total_ns;

	return (x > y) - (x < y);
}

/* Run @n times; the result is the run of median time, and verified only if all were. */
static void repeat(struct pb_run *run, enum pb_variant variant, unsigned n)
{
	struct pb_result *results = pb_host_alloc(n * sizeof(*results));
	bool verified = true;

	for (unsigned i = 0; i < n; i++) {
		run->result = (struct pb_result){ .verified = false };
		pb_check(adsmStatsReset());
		run->start_ns = now_ns();
		run->bench->variants[variant](run);
		verified = verified && run->result.verified;
		results[i] = run->result;
	}
	qsort(results, n, sizeof(*results), by_time);
	run->result = results[(n - 1) / 2];
	run->result.verified = verified;
	free(results);
}

static void report(const struct pb_run *run, const struct pb_setup *setup, const char *file)
{
	char json[PB_REPORT_SIZE];
	FILE *out;

	pb_report_json(json, run, setup);
	if (!file) {
		pb_report_title(json);
		pb_report_row(json);
		pb_report_seconds(json);
		return;
	}
	out = strcmp(file, "-") == 0 ? stdout : pb_open(file, "w");
	fputs(json, out);
	pb_close(out);
}

int pb_run(const struct pb_bench *bench, const struct pb_args *args)
{
	struct pb_run run = { .bench = bench, .size = find_size(bench, args->size) };
	struct pb_setup setup = { .variant = find_variant(args->variant) };
	unsigned n = parse_repeat(args->repeat);

	set_option("backend", args->backend);
	set_option("protocol", args->protocol);
	set_option("block_size", args->block_size);
	set_option("rolling_size", args->rolling_size);
	snprintf(bench_name, sizeof(bench_name), "%s", bench->name);
	catch_signals();
	pb_check(adsmInit());
	run.module = load_module();
	describe(&setup, args);
	make_files(&run, args);
	bench->prepare(&run);
	repeat(&run, setup.variant, n);
	free(run.data);
	pb_check(adsmModuleUnload(run.module));
	pb_check(adsmShutdown());
	report(&run, &setup, args->json);
	if (!run.result.verified)
		pb_die("the output is wrong: it differs from the reference by up to %g",
		       run.result.max_error);
	return 0;
}

int pb_generate(const struct pb_bench *bench, const struct pb_args *args)
{
	size_t size = find_size(bench, args->size), n, total = 0;
	uint64_t hash = PB_FNV_INIT;
	char buffer[4096];
	FILE *file;

	if (!args->output)
		pb_usage("generate needs --output FILE");
	file = pb_open(args->output, "wb");
	bench->generate(size, file);
	pb_close(file);
	file = pb_open(args->output, "rb");
	while ((n = fread(buffer, 1, sizeof(buffer), file)) > 0) {
		hash = pb_fnv(hash, buffer, n);
		total += n;
	}
	fclose(file);
	printf("%s: %zu bytes, FNV-1a %016llx\n", args->output, total, (unsigned long long)hash);
	return 0;
}
