/* SPDX-License-Identifier: MIT */
/* main.c - parboil: runs the benchmarks of the ADSM paper on libadsm, with shared memory and without. */
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/compare.h"
#include "common/figures.h"
#include "common/job.h"

#define BENCHES(X) \
	X(cp) X(mri_fhd) X(mri_q) X(pns) X(rpes) X(sad) X(tpacf) \
	X(stencil3d) X(vecadd) X(blackscholes) X(scan)

#define EXTERN(name) extern const struct pb_bench name##_bench;
BENCHES(EXTERN)
#define ROW(name) &name##_bench,
static const struct pb_bench *const benches[] = { BENCHES(ROW) };
#define N_BENCHES (sizeof(benches) / sizeof(benches[0]))

/* The lines of code of the two variants, counted at build time. */
static const struct { const char *name; int adsm, explicit; } lines[] = {
#include "lines.h"
};

static int list(void)
{
	for (size_t i = 0; i < N_BENCHES; i++) {
		printf("%-13s%s; sizes:", benches[i]->name, benches[i]->about);
		for (const char *const *size = benches[i]->sizes; *size; size++)
			printf(" %s", *size);
		if (benches[i]->inputs)
			printf("; input: %s", benches[i]->inputs);
		for (size_t j = 0; j < sizeof(lines) / sizeof(lines[0]); j++)
			if (strcmp(lines[j].name, benches[i]->name) == 0)
				printf("; lines of code: %d, with explicit copies %d", lines[j].adsm,
				       lines[j].explicit);
		putchar('\n');
	}
	return 0;
}

const struct pb_bench *pb_find_bench(const char *name)
{
	char valid[256] = "";

	for (size_t i = 0; i < N_BENCHES; i++) {
		if (strcmp(benches[i]->name, name) == 0)
			return benches[i];
		strcat(strcat(valid, " "), benches[i]->name);
	}
	pb_usage("there is no benchmark \"%s\"; the benchmarks are%s", name, valid);
}

static int command(const struct pb_args *args)
{
	const struct pb_bench *chosen[N_BENCHES];

	switch (args->command) {
	case PB_LIST:
		return list();
	case PB_RUN:
		return pb_run(pb_find_bench(args->names[0]), args);
	case PB_GENERATE:
		return pb_generate(pb_find_bench(args->names[0]), args);
	case PB_TABLE:
		return pb_table(pb_find_bench(args->names[0]), args);
	case PB_FIGURES:
		return pb_figures(args);
	case PB_COMPARE:
		break;
	}
	/* None named: all of them. */
	if (args->n_names > N_BENCHES)
		pb_usage("there are only %zu benchmarks", N_BENCHES);
	for (size_t i = 0; i < args->n_names; i++)
		chosen[i] = pb_find_bench(args->names[i]);
	return args->n_names ? pb_compare_benches(chosen, args->n_names, args) :
			      pb_compare_benches(benches, N_BENCHES, args);
}

/* Where these were closed, a file of ours would have their numbers. This one lets nobody write. */
static void open_standard_streams(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDONLY);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

int main(int argc, char **argv)
{
	struct pb_args args;
	int status;

	open_standard_streams();
	/* A file that must not grow any more is an error like a full disk. */
	signal(SIGXFSZ, SIG_IGN);
	/* What one run frees is there for the next, as it is with shared memory. Else malloc() changes its mind
	 * about that, depending on what ran before. */
	mallopt(M_MMAP_MAX, 0);
	mallopt(M_TRIM_THRESHOLD, INT_MAX);
	pb_args_parse(&args, argc, argv);
	status = command(&args);
	free(args.names);
	pb_close(stdout, "standard output");
	return status;
}
