/* SPDX-License-Identifier: MIT */
/* program.h - what each of the programs of tasks is to the one that runs them. */
#ifndef PT_PROGRAM_H
#define PT_PROGRAM_H

#include <adsm.h>

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../common/rng.h"
#include "../common/suite.h"

#define PT_SEED 42

struct pt_counts { uint64_t locks, barriers; };

/* A run: one call of the task. */
struct pt_run {
	adsmModule *module;
	unsigned workers;
	const long *v;			/* of the size */
	bool verify;			/* against a sequential one, which may take long */
	uint64_t task_ns, reference_ns;
	long extrapolated;		/* not 0: the number of iterations. One was timed, reference_ns is of all */
	/* How often workers take locks and come to barriers, by the program's own formula: at most, and at least. */
	struct pt_counts least, most;
	char wrong[PS_WRONG];		/* "": nothing */
};

struct pt_program {
	const char *name, *what;
	const char *units;		/* what a size is: "options × iterations" */
	const struct ps_size *sizes;
	int (*run)(struct pt_run *run);	/* 0, or a negative errno of the library's, which has said why */
};

extern const struct pt_program pt_blackscholes, pt_ep, pt_jacobi, pt_lu, pt_md, pt_pipeline, pt_radix, pt_raytrace,
	pt_water;

/* Call a task with all workers, and wait for its end. */
int pt_call(struct pt_run *run, const char *task, const adsmArg *args, size_t n);
#define PT_CALL(run, task, ...) \
	pt_call((run), (task), (const adsmArg[]){ __VA_ARGS__ }, \
		sizeof((const adsmArg[]){ __VA_ARGS__ }) / sizeof(adsmArg))

/* Uniform in [0, 1), exact in double precision. */
static inline double pt_random(struct pb_rng *rng)
{
	return (double)(pb_rng_next(rng) >> 11) * 0x1p-53;
}

#endif
