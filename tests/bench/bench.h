/* SPDX-License-Identifier: MIT */
/* bench.h - what the benchmarks share: rows, options, the clock, and the comparison of two things. */
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stddef.h>

#include "adsm.h"

static const adsmDim bench_one = { 1, 1, 1 };	/* the grid and block of an empty kernel */

struct bench_row {
	const char *unit;
	char name[48];			/* the case */
	double ours;
	double floor;			/* what cannot be beaten: each benchmark says what that is */
	const char *target;		/* of ours / floor; "" where there is none */
	char note[80];			/* for people: a cold figure, what it was made of */
};

extern int bench_repeat;		/* rounds that count, of each comparison */
extern bool bench_smoke;		/* tiny sizes: only to see that it runs */

/* End with a message; with adsmLastError() where @error is not 0. */
_Noreturn void bench_die(const char *format, ...) __attribute__((format(printf, 1, 2)));
void bench_check(int error);

double bench_now_us(void);
double bench_median(double *values, size_t n);
/* The path of a file, given relative to this program's folder; static. */
const char *bench_beside(const char *file);
/* A function of the shared library in this build, which has nothing in common with the one inside this program. */
void *bench_wrapper(const char *name);
/* libc's own. */
void *bench_libc(const char *name);
/* A kernel that does nothing, of that library. */
adsmKernel *bench_wrapper_kernel(void);
/* Load a module of tests/kernels and take a kernel of it. */
adsmModule *bench_load(const char *file, const char *kernel, adsmKernel **ret_kernel);
/* Memory whose pages are touched; an object with blocks of @block_size, 0 for the default. */
void *bench_host_alloc(size_t size);
void *bench_shared_alloc(size_t size, size_t block_size);

/*
 * Measure two things alternately, each first in every other round, and put their medians into @row. One
 * round before that counts for neither: the time of ours in it, the cold one, is returned.
 */
double bench_compare(struct bench_row *row, int rounds, double (*ours)(void *), double (*floor)(void *),
		     void *arg);
/* Write a row. */
void bench_emit(const struct bench_row *row);

/* The benchmarks; each runs in a process of its own, where the library has not started. */
void bench_alloc(void);
void bench_call(void);
void bench_cluster(void);
void bench_cluster_launch(void);
void bench_cuda_c(void);
void bench_cuda_c_1(void);
void bench_fault(void);
void bench_io(void);
void bench_launch(void);
void bench_memcpy(void);
void bench_observe(void);
void bench_once(void);
void bench_overlap(void);
void bench_pages(void);
void bench_parity(void);
void bench_queues(void);
void bench_scratchpad(void);
void bench_startup(void);
void bench_store(void);
void bench_tasks(void);
void bench_tasks_programs(void);
void bench_vecadd(void);

#endif
