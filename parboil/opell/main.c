/* SPDX-License-Identifier: MIT */
/* main.c - adsm-opell: programs for cores with small local stores, each held against a sequential one. */
#include "program.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct po_program *const programs[] = {
	&po_dsp, &po_gzip, &po_jacobi, &po_laplace, &po_md, &po_mgrid,
	&po_mb1, &po_mb2, &po_mb3, &po_mb5, &po_mb6, &po_mb7, &po_mb8,
};
#define N_PROGRAMS (sizeof(programs) / sizeof(programs[0]))

const char ps_name[] = "adsm-opell";

static const char help[] =
	"usage: adsm-opell [options] all|PROGRAM...\n"
	"Run programs for cores with small local stores, and compare each with a sequential program.\n"
	"\n"
	"  --size NAME       small or medium (default: small)\n"
	"  --no-verify       do not run the sequential program\n"
	"  --input FILE      gzip: compress FILE\n"
	"  --output FILE     gzip: write the result to FILE\n"
	"  --decompress      gzip: decompress the file of --input\n"
	"  --list, --help\n";

void po_call(struct po_run *run, const char *kernel, long n_blocks, long n_threads, const adsmArg *args, size_t n)
{
	adsmKernel *found = adsmKernelGet(run->module, kernel);

	if (!run->started_ns)
		run->started_ns = ps_now_ns();
	if (!found || adsmCallArgs(found, adsmDim3((uint32_t)n_blocks, 1, 1), adsmDim3((uint32_t)n_threads, 1, 1), args,
				   n))
		ps_die("%s: %s", kernel, adsmLastError());
}

void po_sync(struct po_run *run)
{
	if (adsmSync())
		ps_die("%s", adsmLastError());
	run->device_ns += ps_now_ns() - run->started_ns;
	run->started_ns = 0;
}

void po_result(struct po_run *run, const void *data, size_t size)
{
	run->hash = pb_fnv(run->hash, data, size);
}

/* 0: as it should be. */
static int run_program(const struct po_program *program, const char *size, struct po_run run)
{
	run.v = ps_values(program->name, program->sizes, size);
	run.module = ps_load(program->module ? program->module : program->name, PO_INSTALLED);
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
	for (size_t i = 0; i < N_PROGRAMS; i++)
		ps_list(programs[i]->name, programs[i]->what, programs[i]->units, programs[i]->sizes);
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
			ps_die("%s: unknown option, or its value is missing (see --help)", argv[i]);
	}
	if (i == argc)
		ps_die("no program is given (--list lists all programs)");
	if (run->backward && !run->input)
		ps_die("--decompress needs --input");
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
				ps_die("%s does not use files", programs[k]->name);
			wrong |= run_program(programs[k], size, run);
		}
		if (!found)
			ps_die("unknown program '%s' (--list lists all programs)", argv[i]);
	}
	return wrong;
}
