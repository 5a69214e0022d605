/* SPDX-License-Identifier: MIT */
/* main.c - adsm-tasks: programs of workers that talk to each other, each held against a sequential one. */
#include "program.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const struct pt_program *const programs[] = {
	&pt_blackscholes, &pt_ep, &pt_jacobi, &pt_lu, &pt_md, &pt_raytrace, &pt_water,
};
#define N_PROGRAMS (sizeof(programs) / sizeof(programs[0]))

static const char help[] =
	"usage: adsm-tasks [options] all|PROGRAM...\n"
	"Run programs whose workers talk to each other by locks and barriers, and hold each against a sequential one.\n"
	"\n"
	"  --workers N       how many workers (default: 6)\n"
	"  --size NAME       small, medium or paper (default: small)\n"
	"  --no-verify       do not run the sequential one\n"
	"  --counts          also say how many locks and barriers there are to be, by each program's formula\n"
	"  --list, --help\n";

static _Noreturn void die(const char *format, ...)
{
	va_list args;

	fputs("adsm-tasks: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}

uint64_t pt_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void *pt_shared(size_t size)
{
	void *p = adsmAlloc(size);

	if (!p)
		die("%s", adsmLastError());
	return p;
}

void *pt_alloc(size_t size)
{
	void *p = calloc(1, size);

	if (!p)
		die("no memory for %zu bytes", size);
	return p;
}

int pt_call(struct pt_run *run, const char *task, const adsmArg *args, size_t n)
{
	adsmKernel *kernel = adsmKernelGet(run->module, task);
	const uint64_t start = pt_now_ns();
	int error = kernel ? adsmCallArgs(kernel, adsmDim3(run->workers, 1, 1), adsmDim3(1, 1, 1), args, n) : -errno;

	if (!error)
		error = adsmSync();
	run->task_ns = pt_now_ns() - start;
	return error;
}

void pt_wrong(struct pt_run *run, const char *format, ...)
{
	va_list args;

	if (*run->wrong)
		return;
	va_start(args, format);
	vsnprintf(run->wrong, sizeof(run->wrong), format, args);
	va_end(args);
}

void pt_check(struct pt_run *run, const char *what, size_t i, double got, double want, double tolerance)
{
	/* So that what is no number is wrong, too. */
	if (!(fabs(got - want) <= tolerance * fmax(fabs(want), 1)))
		pt_wrong(run, "%s is %.17g at %zu, not %.17g", what, got, i, want);
}

/* Beside this program, as in a build folder; or where modules are installed, as seen from it. */
static adsmModule *load(const char *name)
{
	static const char *const folders[] = { "", PT_INSTALLED "/" };
	char self[2048], path[4096];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	adsmModule *module = NULL;

	while (n > 0 && self[n - 1] != '/')
		n--;
	for (size_t i = 0; i < 2 && !module; i++) {
		snprintf(path, sizeof(path), "%.*s%s%s.adsm", (int)n, self, folders[i], name);
		if (!access(path, R_OK) || i)
			module = adsmModuleLoad(path);
	}
	if (!module)
		die("%s: %s", path, adsmLastError());
	return module;
}

static const struct pt_size *find_size(const struct pt_program *program, const char *name)
{
	const struct pt_size *size = program->sizes;

	while (size->name && strcmp(size->name, name))
		size++;
	if (!size->name)
		die("%s has no size '%s' (small, medium, paper)", program->name, name);
	return size;
}

/* 0: as it should be. */
static int run_program(const struct pt_program *program, const char *size, struct pt_run run, bool counts)
{
	int error;

	run.v = find_size(program, size)->v;
	run.module = load(program->name);
	error = program->run(&run);
	if (error)
		die("%s: %s", program->name, adsmLastError());
	printf("%-12s %-7s %3u workers %10.3f ms", program->name, size, run.workers, (double)run.task_ns / 1e6);
	if (counts)
		printf("  locks %" PRIu64 " %" PRIu64 " barriers %" PRIu64, run.least.locks, run.most.locks,
		       run.most.barriers);
	if (!run.verify)
		puts("  not verified");
	else if (*run.wrong)
		printf("  WRONG: %s\n", run.wrong);
	else
		printf("  verified (sequential: %.3f ms)\n", (double)run.reference_ns / 1e6);
	fflush(stdout);
	adsmModuleUnload(run.module);
	return *run.wrong != '\0';
}

static void list(void)
{
	for (size_t i = 0; i < N_PROGRAMS; i++) {
		printf("%-12s %s\n%12s ", programs[i]->name, programs[i]->what, "");
		for (const struct pt_size *size = programs[i]->sizes; size->name; size++) {
			printf("%s%s ", size == programs[i]->sizes ? "" : ", ", size->name);
			for (int v = 0; v < 3 && size->v[v]; v++)
				printf("%s%ld", v ? " × " : "", size->v[v]);
		}
		printf(" (%s)\n", programs[i]->units);
	}
}

int main(int argc, char **argv)
{
	struct pt_run run = { .workers = 6, .verify = true };
	const char *size = "small";
	bool counts = false, found = false;
	int wrong = 0, i = 1;

	for (; i < argc && argv[i][0] == '-'; i++) {
		if (!strcmp(argv[i], "--help")) {
			fputs(help, stdout);
			return 0;
		}
		if (!strcmp(argv[i], "--list")) {
			list();
			return 0;
		}
		if (!strcmp(argv[i], "--no-verify"))
			run.verify = false;
		else if (!strcmp(argv[i], "--counts"))
			counts = true;
		else if (!strcmp(argv[i], "--workers") && i + 1 < argc && atoi(argv[i + 1]) > 0)
			run.workers = (unsigned)atoi(argv[++i]);
		else if (!strcmp(argv[i], "--size") && i + 1 < argc)
			size = argv[++i];
		else
			die("%s: no such option, or no value (--help lists them)", argv[i]);
	}
	if (i == argc)
		die("no program (--list names them)");
	for (; i < argc; i++, found = false) {
		for (size_t k = 0; k < N_PROGRAMS; k++) {
			if (strcmp(argv[i], programs[k]->name) && strcmp(argv[i], "all"))
				continue;
			found = true;
			wrong |= run_program(programs[k], size, run, counts);
		}
		if (!found)
			die("no program '%s' (--list names them)", argv[i]);
	}
	return wrong;
}
