/* SPDX-License-Identifier: MIT */
/* compare.h - the protocols and explicit copies against each other. */
#ifndef PARBOIL_COMPARE_H
#define PARBOIL_COMPARE_H

#include "job.h"

/* What is compared; the first is what the others are measured against. Rivals come behind. */
enum { EXPLICIT, BATCH, LAZY, ROLLING, PB_N_COMPARED };
extern const char *const pb_compared[PB_N_COMPARED];	/* their names */

/* Ways to run one benchmark that are measured against each other. */
#define PB_MAX_WAYS (PB_N_COMPARED + PB_N_VARIANTS)
struct pb_turns {
	const struct pb_config *ways;
	unsigned n_ways, n;		/* @n runs of each */
	bool warm_up;			/* after one that does not count; there always is one if kernels are compiled */
};

/* One benchmark, all its runs: the k-th of every one belong together, made one after the other. */
struct pb_measured {
	unsigned n;			/* runs of each made */
	unsigned n_ways;
	struct pb_result *results[PB_MAX_WAYS];
	struct pb_setup setups[PB_MAX_WAYS];
};

/* Run all in turns, each in a process of its own; fewer times where the program was interrupted (see
 * pb_interrupted()). False, after a message, where one failed. A line of progress goes to standard error, on
 * a terminal all the time, else every 30 seconds. */
bool pb_take_turns(struct pb_run *run, const struct pb_turns *turns, struct pb_measured *ret_measured);
/* The protocols, explicit copies and the rivals of @args, with a warm-up. */
bool pb_measure(struct pb_run *run, const struct pb_args *args, unsigned pairs, struct pb_measured *ret_measured);
void pb_measured_free(struct pb_measured *measured);

/* Of @n values: a median, and quartiles as spread. Sorts them. */
struct pb_spread { double low, median, high; };
struct pb_spread pb_spread(double *values, unsigned n);

/* From pb_watch_interrupts() on, SIGINT, SIGTERM and SIGHUP let the measurement in progress end early, and
 * end the run of the moment. A second one ends the program. */
void pb_watch_interrupts(void);
int pb_interrupted(void);		/* the signal, or 0 */

/* A line on standard error that replaces the one before; "" removes it. */
void pb_progress(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Later lines begin with the number of this part of the work, from 1 on, the number of all, and the time so far. */
void pb_progress_part(unsigned part, unsigned n);

/* The commands; the exit status. */
int pb_table(const struct pb_bench *bench, const struct pb_args *args);
int pb_compare_benches(const struct pb_bench *const *benches, size_t n, const struct pb_args *args);

#endif
