/* SPDX-License-Identifier: MIT */
/* main.c - adsm-tasks: programs of workers that talk to each other, each held against a sequential one. */
#include "program.h"
#include "table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct pt_program *const programs[] = {
	&pt_blackscholes, &pt_ep, &pt_jacobi, &pt_lu, &pt_md, &pt_pipeline, &pt_radix, &pt_raytrace,
	&pt_water,
};
#define MAX_WORKERS 1000000		/* more than any device has */
#define N_PROGRAMS (sizeof(programs) / sizeof(programs[0]))

const char ps_name[] = "adsm-tasks";

static const char help[] =
	"usage: adsm-tasks [options] all|PROGRAM...\n"
	"Run programs whose workers synchronize by locks, flags and barriers, and compare each with a sequential\n"
	"program.\n"
	"\n"
	"  --workers N       number of workers (default: 6)\n"
	"  --size NAME       small, medium or paper (default: small)\n"
	"  --no-verify       do not run the sequential program\n"
	"  --counts          also print the expected numbers of locks and barriers, from each program's formula\n"
	"  --table N         also print Table 5 or 6 of the paper on COMIC++: the counts of this run, and the paper's\n"
	"  --list, --help\n";

int pt_call(struct pt_run *run, const char *task, const adsmArg *args, size_t n)
{
	adsmKernel *kernel = adsmKernelGet(run->module, task);
	const uint64_t start = ps_now_ns();
	int error = kernel ? adsmCallArgs(kernel, adsmDim3(run->workers, 1, 1), adsmDim3(1, 1, 1), args, n) : -errno;

	if (!error)
		error = adsmSync();
	run->task_ns = ps_now_ns() - start;
	return error;
}

/* 0: as it should be. */
static int run_program(const struct pt_program *program, const char *size, struct pt_run run, bool counts)
{
	int error;

	run.v = ps_values(program->name, program->sizes, size);
	run.module = ps_load(program->name, PT_INSTALLED);
	error = program->run(&run);
	if (error)
		ps_die("%s: %s", program->name, adsmLastError());
	printf("%-12s %-7s %3u workers %10.3f ms", program->name, size, run.workers, (double)run.task_ns / 1e6);
	if (counts)
		printf("  locks %" PRIu64 " %" PRIu64 " barriers %" PRIu64, run.least.locks, run.most.locks,
		       run.most.barriers);
	if (!run.verify)
		puts("  not verified");
	else if (*run.wrong)
		printf("  WRONG: %s\n", run.wrong);
	else if (run.extrapolated)
		printf("  verified (sequential: %.3f ms, %ld times one iteration)\n", (double)run.reference_ns / 1e6,
		       run.extrapolated);
	else
		printf("  verified (sequential: %.3f ms)\n", (double)run.reference_ns / 1e6);
	fflush(stdout);
	adsmModuleUnload(run.module);
	return *run.wrong != '\0';
}

/* On cores with a local store each worker needs a core, and by default there is one for each processor. */
static void ask_for_cores(unsigned workers)
{
	const char *backend = getenv("ADSM_BACKEND");
	char number[16];

	snprintf(number, sizeof(number), "%u", workers);
	if (backend && !strcmp(backend, "scratchpad"))
		setenv("ADSM_SCRATCHPAD_CORES", number, 0);
}

static void list(void)
{
	for (size_t i = 0; i < N_PROGRAMS; i++)
		ps_list(programs[i]->name, programs[i]->what, programs[i]->units, programs[i]->sizes);
}

/* Take "--table N" out of the arguments: returns N; 0 if it is not there. */
static int take_table(int *argc, char **argv)
{
	int table = 0;

	for (int i = 1; i + 1 < *argc; i++) {
		if (strcmp(argv[i], "--table"))
			continue;
		if (strcmp(argv[i + 1], "5") && strcmp(argv[i + 1], "6"))
			ps_die("--table %s: the tables with counts are 5 and 6", argv[i + 1]);
		table = *argv[i + 1] - '0';
		/* With the NULL behind the arguments. */
		memmove(argv + i, argv + i + 2, (size_t)(*argc - i - 1) * sizeof(*argv));
		*argc -= 2;
		i--;
	}
	return table;
}

static int run_programs(int argc, char **argv, int i, const char *size, struct pt_run run, bool counts)
{
	int wrong = 0;

	for (; i < argc; i++) {
		bool found = false;

		for (size_t k = 0; k < N_PROGRAMS; k++) {
			if (strcmp(argv[i], programs[k]->name) && strcmp(argv[i], "all"))
				continue;
			found = true;
			wrong |= run_program(programs[k], size, run, counts);
		}
		if (!found)
			ps_die("unknown program '%s' (--list lists all programs)", argv[i]);
	}
	return wrong;
}

int main(int argc, char **argv)
{
	struct pt_run run = { .workers = 6, .verify = true };
	const char *size = "small";
	const int table = take_table(&argc, argv);
	bool counts = false;
	int i = 1;

	if (table)
		return pt_table(table, argv);
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
		else if (!strcmp(argv[i], "--workers") && i + 1 < argc)
			run.workers = (unsigned)ps_number("--workers", argv[++i], 1, MAX_WORKERS);
		else if (!strcmp(argv[i], "--size") && i + 1 < argc)
			size = argv[++i];
		else
			ps_die("%s: unknown option, or its value is missing (see --help)", argv[i]);
	}
	if (i == argc)
		ps_die("no program is given (--list lists all programs)");
	ask_for_cores(run.workers);
	return run_programs(argc, argv, i, size, run, counts);
}
