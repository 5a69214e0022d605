/* SPDX-License-Identifier: MIT */
/* main.c - parboil: runs the benchmarks of the ADSM paper on libadsm, with shared memory and without. */
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "benches.h"
#include "common/compare.h"
#include "common/job.h"
#include "common/table3.h"
#include "figures/figures.h"

/* The lines of code of the two variants, counted at build time. */
static const struct { const char *name; int adsm, explicit; } lines[] = {
#include "lines.h"
};

static int list(void)
{
	for (size_t i = 0; i < pb_n_benches; i++) {
		printf("%-13s%s; sizes:", pb_benches[i]->name, pb_benches[i]->about);
		for (const char *const *size = pb_benches[i]->sizes; *size; size++)
			printf(" %s", *size);
		if (pb_benches[i]->variants[PB_CUDA_C])
			printf("; also in CUDA C");
		for (int j = PB_CUDA_C + 1, n = 0; j < PB_N_VARIANTS; j++)
			if (pb_benches[i]->variants[j])
				printf("%s%s", n++ ? " " : "; rivals: ", pb_variant_names[j]);
		if (pb_benches[i]->inputs)
			printf("; input: %s", pb_benches[i]->inputs);
		for (size_t j = 0; j < sizeof(lines) / sizeof(lines[0]); j++)
			if (strcmp(lines[j].name, pb_benches[i]->name) == 0)
				printf("; lines of code: %d, with explicit copies %d", lines[j].adsm,
				       lines[j].explicit);
		putchar('\n');
	}
	return 0;
}

static int compare(const struct pb_args *args)
{
	const struct pb_bench **chosen;
	int status;

	if (!args->n_names)
		return pb_compare_benches(pb_benches, pb_n_benches, args);
	chosen = pb_host_alloc(args->n_names * sizeof(*chosen));
	for (size_t i = 0; i < args->n_names; i++)
		chosen[i] = pb_find_bench(args->names[i]);
	status = pb_compare_benches(chosen, args->n_names, args);
	free(chosen);
	return status;
}

static int command(const struct pb_args *args)
{
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
	case PB_TABLE3:
		return pb_table3(args);
	default:
		return compare(args);
	}
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
