/* SPDX-License-Identifier: MIT */
/* golden.h - for tests that hold a benchmark's generator, reference and verification against known values. */
#ifndef TESTS_PARBOIL_GOLDEN_H
#define TESTS_PARBOIL_GOLDEN_H

#include <math.h>
#include <stdlib.h>

#include "../check.h"
#include "../../parboil/common/harness.h"
#include "../../parboil/common/rng.h"

/* As near as nine printed digits allow. */
static inline bool near(double value, double golden)
{
	return fabs(value - golden) <= 5e-9 * fabs(golden);
}

#define GOLDEN_INPUTS 128
static char golden_paths[GOLDEN_INPUTS][48];
static const char *golden_inputs[GOLDEN_INPUTS];

/* What a run of @bench of size number @size is given: its input files, generated, and what prepare() makes of
 * them. golden_finish() frees it. */
static inline struct pb_run golden_run(const struct pb_bench *bench, size_t size)
{
	struct pb_run run = { .bench = bench, .size = size, .inputs = golden_inputs };
	FILE *outs[GOLDEN_INPUTS];

	if (bench->inputs)
		run.n_inputs = bench->count_inputs ? bench->count_inputs(size) : bench->n_inputs;
	for (size_t i = 0; i < run.n_inputs; i++) {
		int fd;

		snprintf(golden_paths[i], sizeof(golden_paths[i]), "/tmp/parboil-test-XXXXXX");
		golden_inputs[i] = golden_paths[i];
		fd = mkstemp(golden_paths[i]);
		if (fd < 0 || !(outs[i] = fdopen(fd, "wb"))) {
			perror(golden_paths[i]);
			exit(1);
		}
	}
	if (run.n_inputs)
		bench->generate(size, outs);
	for (size_t i = 0; i < run.n_inputs; i++)
		fclose(outs[i]);
	bench->prepare(&run);
	return run;
}

static inline void golden_finish(struct pb_run *run)
{
	for (size_t i = 0; i < run->n_inputs; i++)
		unlink(run->inputs[i]);
	free(run->data);
}

#endif
