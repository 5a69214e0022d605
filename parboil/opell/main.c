/* SPDX-License-Identifier: MIT */
/* main.c - adsm-opell: programs for cores with small local stores, each held against a sequential one. */
#include "program.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const struct po_program *const programs[] = {
	&po_dsp, &po_gzip, &po_jacobi, &po_laplace, &po_md, &po_mgrid,
};
#define N_PROGRAMS (sizeof(programs) / sizeof(programs[0]))

static const char help[] =
	"usage: adsm-opell [options] all|PROGRAM...\n"
	"Run programs for cores with small local stores, and hold each against a sequential one.\n"
	"\n"
	"  --size NAME       small or medium (default: small)\n"
	"  --no-verify       do not run the sequential one\n"
	"  --input FILE      gzip: compress this file\n"
	"  --output FILE     gzip: write the result there\n"
	"  --decompress      gzip: --input is compressed; decompress it\n"
	"  --list, --help\n";

void po_die(const char *format, ...)
{
	va_list args;

	fputs("adsm-opell: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}

uint64_t po_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void *po_shared(size_t size)
{
	void *p = adsmAlloc(size);

	if (!p)
		po_die("%s", adsmLastError());
	return p;
}

void *po_alloc(size_t size)
{
	void *p = calloc(1, size);

	if (!p)
		po_die("no memory for %zu bytes", size);
	return p;
}

void po_call(struct po_run *run, const char *kernel, long n_blocks, long n_threads, const adsmArg *args, size_t n)
{
	adsmKernel *found = adsmKernelGet(run->module, kernel);

	if (!run->started_ns)
		run->started_ns = po_now_ns();
	if (!found || adsmCallArgs(found, adsmDim3((uint32_t)n_blocks, 1, 1), adsmDim3((uint32_t)n_threads, 1, 1), args,
				   n))
		po_die("%s: %s", kernel, adsmLastError());
}

void po_sync(struct po_run *run)
{
	if (adsmSync())
		po_die("%s", adsmLastError());
	run->device_ns += po_now_ns() - run->started_ns;
	run->started_ns = 0;
}

void po_result(struct po_run *run, const void *data, size_t size)
{
	run->hash = pb_fnv(run->hash, data, size);
}

void po_wrong(struct po_run *run, const char *format, ...)
{
	va_list args;

	if (*run->wrong)
		return;
	va_start(args, format);
	vsnprintf(run->wrong, sizeof(run->wrong), format, args);
	va_end(args);
}

void po_check(struct po_run *run, const char *what, size_t i, double got, double want, double tolerance)
{
	/* So that what is no number is wrong, too. */
	if (!(fabs(got - want) <= tolerance * fmax(fabs(want), 1)))
		po_wrong(run, "%s is %.9g at %zu, not %.9g", what, got, i, want);
}

/* Beside this program, as in a build folder; or where modules are installed, as seen from it. */
static adsmModule *load(const char *name)
{
	static const char *const folders[] = { "", PO_INSTALLED "/" };
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
		po_die("%s: %s", path, adsmLastError());
	return module;
}

static const struct po_size *find_size(const struct po_program *program, const char *name)
{
	const struct po_size *size = program->sizes;

	while (size->name && strcmp(size->name, name))
		size++;
	if (!size->name)
		po_die("%s has no size '%s' (small, medium)", program->name, name);
	return size;
}

/* 0: as it should be. */
static int run_program(const struct po_program *program, const char *size, struct po_run run)
{
	run.v = find_size(program, size)->v;
	run.module = load(program->name);
	run.hash = PB_FNV_INIT;
	program->run(&run);
	printf("%-8s %-7s %10.3f ms  results %016" PRIx64, program->name, run.input ? "file" : size,
	       (double)run.device_ns / 1e6, run.hash);
	if (*run.wrong)
		printf("  WRONG: %s\n", run.wrong);
	else if (!run.verify)
		puts("  not verified");
	else
		printf("  verified (sequential: %.3f ms)%s%s\n", (double)run.reference_ns / 1e6, *run.note ? "; " : "",
		       run.note);
	fflush(stdout);
	adsmModuleUnload(run.module);
	return *run.wrong != '\0';
}

static void list(void)
{
	for (size_t i = 0; i < N_PROGRAMS; i++) {
		printf("%-8s %s\n%8s ", programs[i]->name, programs[i]->what, "");
		for (const struct po_size *size = programs[i]->sizes; size->name; size++) {
			printf("%s%s ", size == programs[i]->sizes ? "" : ", ", size->name);
			for (int v = 0; v < 3 && size->v[v]; v++)
				printf("%s%ld", v ? " × " : "", size->v[v]);
		}
		printf(" (%s)\n", programs[i]->units);
	}
}

/* Returns where the names of programs begin. */
static int read_options(int argc, char **argv, struct po_run *run, const char **size)
{
	int i = 1;

	for (; i < argc && argv[i][0] == '-'; i++) {
		const char *value = i + 1 < argc ? argv[i + 1] : NULL;
		const char **taken = !strcmp(argv[i], "--size") ? size : !strcmp(argv[i], "--input") ? &run->input :
			!strcmp(argv[i], "--output") ? &run->output : NULL;

		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "--list")) {
			argv[i][2] == 'h' ? (void)fputs(help, stdout) : list();
			exit(0);
		}
		if (!strcmp(argv[i], "--no-verify"))
			run->verify = false;
		else if (!strcmp(argv[i], "--decompress"))
			run->backward = true;
		else if (taken && value)
			*taken = argv[++i];
		else
			po_die("%s: no such option, or no value (--help lists them)", argv[i]);
	}
	if (i == argc)
		po_die("no program (--list names them)");
	if (run->backward && !run->input)
		po_die("--decompress needs --input");
	return i;
}

int main(int argc, char **argv)
{
	struct po_run run = { .verify = true };
	const char *size = "small";
	int wrong = 0;

	for (int i = read_options(argc, argv, &run, &size); i < argc; i++) {
		bool found = false;

		for (size_t k = 0; k < N_PROGRAMS; k++) {
			if (strcmp(argv[i], programs[k]->name) && strcmp(argv[i], "all"))
				continue;
			found = true;
			if ((run.input || run.output) && !programs[k]->files)
				po_die("%s takes no files", programs[k]->name);
			wrong |= run_program(programs[k], size, run);
		}
		if (!found)
			po_die("no program '%s' (--list names them)", argv[i]);
	}
	return wrong;
}
