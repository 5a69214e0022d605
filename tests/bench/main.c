/* SPDX-License-Identifier: MIT */
/*
 * main.c - adsm-bench: how far the library is from what it cannot beat. Measurements, not tests: whatever
 * the numbers are, it succeeds.
 *
 * "Ours" is the library; "floor" is the same work without it, defined at the top of each benchmark's file.
 * Both are measured alternately in one run; figures are medians, ratio is ours / floor.
 */
#include "bench.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const struct {
	const char *name, *about;
	void (*run)(void);
} benches[] = {
	{ "alloc", "memory allocated and freed in a loop, against the backend cpu", bench_alloc },
	{ "fault", "a block's read and write fault, against a bare signal handler", bench_fault },
	{ "call", "an empty call and its sync, against the backend alone", bench_call },
	{ "cluster", "the exchange of a cluster's nodes, against the paper's; what tracking adds", bench_cluster },
	{ "cluster-launch", "an empty call on a cluster, against its messages alone", bench_cluster_launch },
	{ "cuda-c", "kernels in CUDA C, against OpenCL C on PoCL and the dialect", bench_cuda_c },
	{ "cuda-c-1", "the same on one processor", bench_cuda_c_1 },
	{ "io", "read() and write() with shared memory, against ordinary memory", bench_io },
	{ "launch", "CUDA programs preloaded: launches, copies to the host, against the same alone", bench_launch },
	{ "memcpy", "memcpy() and small reads through the wrappers, against libc's own", bench_memcpy },
	{ "observe", "events with statistics and a trace, against neither", bench_observe },
	{ "once", "the verbs of write-once objects, against plain loads and the system's futex", bench_once },
	{ "overlap", "how much of a transfer hides behind the CPU's writes, and of a prefetch", bench_overlap },
	{ "pages", "pages of a cluster's node, tracked by userfaultfd, against mprotect()", bench_pages },
	{ "parity", "mri-q, lazy and rolling, against explicit copies", bench_parity },
	{ "queues", "two kernels in two queues, against the same work in two threads", bench_queues },
	{ "scratchpad", "calls between partitions of code, loads of these, commands of kernels", bench_scratchpad },
	{ "store", "accesses by the cache of a core with a local store, against plain ones", bench_store },
	{ "startup", "programs that never use the library, preloaded, by processor time", bench_startup },
	{ "tasks", "locks and barriers of tasks, against those of POSIX threads", bench_tasks },
	{ "tasks-programs", "programs of tasks, against the same code with POSIX threads", bench_tasks_programs },
	{ "vecadd", "a vector addition by block size, against explicit copies", bench_vecadd },
};
#define N_BENCHES (sizeof(benches) / sizeof(benches[0]))

int bench_repeat = 9;
bool bench_smoke;
static FILE *json;
static int *n_rows;			/* written so far, by whichever process */
static const char *running;
static bool shows;

/* ---- what the benchmarks use */

void bench_die(const char *format, ...)
{
	va_list args;

	fputs("adsm-bench: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}

void bench_check(int error)
{
	if (error)
		bench_die("%s", adsmLastError());
}

double bench_now_us(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e6 + (double)time.tv_nsec * 1e-3;
}

static int compare_doubles(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double bench_median(double *values, size_t n)
{
	qsort(values, n, sizeof(*values), compare_doubles);
	return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

const char *bench_beside(const char *file)
{
	static char path[PATH_MAX + 64];
	ssize_t n = readlink("/proc/self/exe", path, PATH_MAX);

	while (n > 0 && path[n - 1] != '/')
		n--;
	if (n <= 0)
		bench_die("the folder of this program cannot be found: %s", strerror(errno));
	snprintf(path + n, sizeof(path) - (size_t)n, "%s", file);
	return path;
}

static void *function_in(const char *library, const char *name)
{
	void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL), *function = handle ? dlsym(handle, name) : NULL;

	if (!function)
		bench_die("%s", dlerror());
	return function;
}

void *bench_wrapper(const char *name)
{
	/* It would say that it is none of the program's libraries. */
	setenv("ADSM_LOG", "error", 0);
	return function_in(bench_beside("../../lib/libadsm.so"), name);
}

void *bench_libc(const char *name)
{
	return function_in("libc.so.6", name);
}

adsmKernel *bench_wrapper_kernel(void)
{
	const __typeof__(&adsmModuleLoad) load = bench_wrapper("adsmModuleLoad");
	const __typeof__(&adsmKernelGet) get = bench_wrapper("adsmKernelGet");
	const __typeof__(&adsmLastError) last_error = bench_wrapper("adsmLastError");
	adsmModule *module = load(bench_beside("../kernels/bench.adsm"));
	adsmKernel *kernel = module ? get(module, "nothing") : NULL;

	if (!kernel)
		bench_die("%s", last_error());
	return kernel;
}

adsmModule *bench_load(const char *file, const char *kernel, adsmKernel **ret_kernel)
{
	adsmModule *module = adsmModuleLoad(bench_beside(file));

	*ret_kernel = module ? adsmKernelGet(module, kernel) : NULL;
	bench_check(!*ret_kernel);
	return module;
}

void *bench_host_alloc(size_t size)
{
	void *p = malloc(size);

	if (!p)
		bench_die("not enough memory for %zu bytes", size);
	memset(p, 1, size);
	return p;
}

void *bench_shared_alloc(size_t size, size_t block_size)
{
	adsmAllocOptions options = ADSM_ALLOC_OPTIONS_INIT;
	void *p;

	options.block_size = block_size;
	p = adsmAllocWith(size, &options);
	bench_check(!p);
	return p;
}

double bench_compare(struct bench_row *row, int rounds, double (*ours)(void *), double (*floor)(void *),
		     void *arg)
{
	double (*const run[2])(void *) = { ours, floor };
	double *times[2], cold[2];

	for (int i = 0; i < 2; i++) {
		times[i] = bench_host_alloc((size_t)rounds * sizeof(double));
		cold[i] = run[i](arg);
	}
	for (int round = 0; round < rounds; round++)
		for (int i = 0; i < 2; i++)
			times[(round + i) % 2][round] = run[(round + i) % 2](arg);
	row->ours = bench_median(times[0], (size_t)rounds);
	row->floor = bench_median(times[1], (size_t)rounds);
	free(times[0]);
	free(times[1]);
	return cold[0];
}

/* With "all", on a terminal: which benchmark runs. A row, and the end, erase the line. */
static void show(size_t i)
{
	if (shows && i < N_BENCHES)
		fprintf(stderr, "\r\033[Kadsm-bench: %s, %zu of %zu\r", benches[i].name, i + 1, N_BENCHES);
	else if (shows)
		fputs("\r\033[K", stderr);
}

void bench_emit(const struct bench_row *row)
{
	double ratio = row->ours / row->floor;

	show(N_BENCHES);
	if (json)
		fprintf(json, "%s\n {\"bench\": \"%s\", \"case\": \"%s\", \"unit\": \"%s\", "
			"\"ours\": %.4f, \"floor\": %.4f, \"ratio\": %.4f}", *n_rows ? "," : "", running,
			row->name, row->unit, row->ours, row->floor, ratio);
	if (json != stdout) {
		if (!*n_rows)
			printf("%-15s%-36s%-6s%11s%11s%8s  %-9s%s\n", "bench", "case", "unit", "ours", "floor",
			       "ratio", "target", "note");
		printf("%-15s%-36s%-6s%11.3f%11.3f%8.3f  %-9s%s\n", running, row->name, row->unit, row->ours,
		       row->floor, ratio, row->target, row->note);
	}
	++*n_rows;
	fflush(NULL);
}

/* ---- the command */

/* In a process of its own: the library has not started there, and what it does to itself ends with it. */
static int run(size_t bench)
{
	int status = 1;
	pid_t child;

	running = benches[bench].name;
	fflush(NULL);
	child = fork();
	if (!child) {
		benches[bench].run();
		exit(0);
	}
	if (child > 0 && waitpid(child, &status, 0) == child && !status)
		return 0;
	fprintf(stderr, "adsm-bench: %s did not finish\n", running);
	return 1;
}

static void list(FILE *out)
{
	for (size_t i = 0; i < N_BENCHES; i++)
		fprintf(out, "%-15s%s\n", benches[i].name, benches[i].about);
}

static _Noreturn void usage(const char *problem, const char *what)
{
	fprintf(stderr, "adsm-bench: %s%s\n"
		"usage: adsm-bench NAME [--backend NAME] [--json -|FILE] [--repeat N] [--smoke]\n"
		"NAME is all, list, or one of:\n", problem, what);
	list(stderr);
	exit(2);
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "", *file = NULL;
	bool all = !strcmp(name, "all"), known = all || !strcmp(name, "list");
	int failed = 0;
	char *end;

	for (size_t i = 0; i < N_BENCHES; i++)
		known = known || !strcmp(name, benches[i].name);
	if (!known)
		usage("there is no benchmark of this name: ", name);
	for (int i = 2; i < argc; i++) {
		if (!strcmp(argv[i], "--smoke")) {
			bench_smoke = true;
			bench_repeat = 1;
		} else if (!strcmp(argv[i], "--backend") && i + 1 < argc) {
			/* The programs that some benchmarks run take it too. */
			setenv("ADSM_BACKEND", argv[++i], 1);
		} else if (!strcmp(argv[i], "--json") && i + 1 < argc) {
			file = argv[++i];
		} else if (!strcmp(argv[i], "--repeat") && i + 1 < argc) {
			bench_repeat = (int)strtol(argv[++i], &end, 10);
			if (*end || bench_repeat < 1 || bench_repeat > 1000)
				usage("--repeat takes a number from 1 to 1000, not ", argv[i]);
		} else {
			usage("there is no such option, or it lacks its value: ", argv[i]);
		}
	}
	if (!strcmp(name, "list")) {
		list(stdout);
		return 0;
	}
	n_rows = mmap(NULL, sizeof(*n_rows), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (n_rows == MAP_FAILED)
		bench_die("no memory");
	if (file) {
		json = strcmp(file, "-") ? fopen(file, "w") : stdout;
		if (!json)
			bench_die("%s: %s", file, strerror(errno));
		fputc('[', json);
	}
	shows = all && isatty(STDERR_FILENO);
	for (size_t i = 0; i < N_BENCHES; i++)
		if (all || !strcmp(name, benches[i].name)) {
			show(i);
			failed |= run(i);
		}
	show(N_BENCHES);
	if (json && (fputs("\n]\n", json) < 0 || fclose(json)))
		bench_die("%s: %s", file, strerror(errno));
	return failed;
}
