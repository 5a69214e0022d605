/* SPDX-License-Identifier: MIT */
/* pipelines.h - what the three pipelines over write-once objects share. */
#ifndef EXAMPLES_PIPELINES_H
#define EXAMPLES_PIPELINES_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <adsm_once.h>

/* Who does the work of the accelerators, and what the stages wait for. */
enum form {
	FORM_THREADS,		/* write-once objects; threads of the program in place of the devices */
	FORM_ONCE,		/* write-once objects; kernels on two devices */
	FORM_CALLS,		/* shared memory; a stage is called, and synchronised with, after the other */
	FORM_COPIES,		/* the same with explicit copies */
	N_FORMS
};

extern const char *const form_names[N_FORMS];

struct settings {
	bool forms[N_FORMS];
	bool kernels;			/* one of the forms needs devices */
	size_t n;			/* blocks, tiles in a row, units of a file; 0: the pipeline's own */
	unsigned adds;			/* additions for each block of the scan: by the CPU … */
	unsigned work;			/* … and by each device */
	int repeat;
	const char *csv;		/* path */
	const char *in, *out;		/* paths, of the file's pipeline */
};

/* All that can go wrong ends the program: one line, exit status 1. */
_Noreturn void die(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Die with adsmLastError() where an adsm function returned an error. */
void check(int error);

double now_ms(void);
double median(double *values, size_t n);	/* sorts them */
pthread_t start(void *(*run)(void *), void *arg);
void end(pthread_t thread);
void *host_alloc(size_t size);
adsmOnce *once_alloc(size_t count, size_t size);
/* A kernel of kernels.c. */
adsmKernel *kernel(const char *name);
/* The devices that this thread's next calls are for. */
void device(int index);

/* The next of a fixed sequence of numbers (splitmix64). */
static inline uint64_t next_number(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/*
 * The time that the system takes to wake threads one by the other: milliseconds from the first of so many hops to the
 * end of the last, a futex each, everybody asleep before.
 */
double wake_chain_ms(void);
#define CHAIN_HOPS 4

/* The pipelines; they end the program where a result is wrong. */
void pipeline_scan(const struct settings *settings);
void pipeline_matrix(const struct settings *settings);
void pipeline_file(const struct settings *settings);

#endif
