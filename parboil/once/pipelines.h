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
	size_t n;			/* blocks, tiles in a row, units of a file; 0: the pipeline's own */
	unsigned adds;			/* additions for each block of the scan: by the CPU … */
	unsigned work;			/* … and by each device */
	int repeat;
	const char *csv;		/* path */
	const char *in, *out;		/* paths, of the file's pipeline */
};

/* ---- common.c */

/* All that can go wrong ends the program: one line, exit status 1. */
_Noreturn void die(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Die with adsmLastError() where an adsm function returned an error. */
void check(int error);

pthread_t start(void *(*run)(void *), void *arg);
void end(pthread_t thread);

double now_ms(void);

/* Memory until the end of the turn: write-once, the host's, shared with a device, the device's alone. One thread's. */
adsmOnce *once_alloc(size_t count, size_t size);
void *host_alloc(size_t size);
void *shared_alloc(int home, size_t size);
void *device_alloc(int home, size_t size);
void free_all(void);

/* The verbs. */
const void *once_get(const adsmOnce *once, size_t unit);
void *once_fresh(adsmOnce *once, size_t unit);
void once_set(adsmOnce *once, size_t unit);

/* Two devices of one thread each, where nobody has said otherwise, and the module of kernels.c, which lies beside this
 * program; and the end of all. */
void start_devices(void);
void stop_devices(void);
adsmKernel *kernel(const char *name);
/* The device that this thread's next calls are for. */
void device(int index);
/* Call a kernel of kernels.c on a device. */
#define CALL(index, name, grid, block, ...) \
	(device(index), check(adsmCall(kernel(name), grid, block, __VA_ARGS__)))
/* Read from each page of what a call has made in shared memory, so that the CPU has it, as in the other forms. */
void touch(const void *data, size_t size);

/* ---- turns.c */

#define MAX_REPEAT 1000

/* A pipeline's run in one form. */
struct turn {
	enum form form;
	double start_ms, input_ms, runtime_ms;	/* when it began; what its input took, and all of it */
};

/* The clock: when memory is there; when all of the input is; when the CPU has all of the result. */
void turn_starts(struct turn *turn);
void turn_has_input(struct turn *turn);
void turn_ends(struct turn *turn);

/* Of all turns. */
struct spread {
	double low, median, high;	/* quartiles */
};

struct figures {
	struct spread runtime, input, pure;	/* the last: runtime without the input */
};

/* One turn, which ends the program where the result is wrong. */
typedef void run_turn(void *pipeline, struct turn *turn);

/*
 * The forms that are asked for take turns, of which the first do not count.
 * @ret_chain_ms: NULL, or the median of the chains that are measured before each round.
 */
void take_turns(const struct settings *settings, run_turn *const runs[N_FORMS], void *pipeline,
		struct figures ret_figures[N_FORMS], double *ret_chain_ms);
/* A row for each form, with its ratio to write-once objects. */
void print_turns(const struct settings *settings, const char *what, const struct figures figures[N_FORMS]);

/* ---- chain.c */

/*
 * The time that the system takes to wake threads one by the other: milliseconds from the first of so many hops to the
 * end of the last, a futex each, everybody asleep before.
 */
double wake_chain_ms(void);
#define CHAIN_HOPS 4

/* ---- the pipelines; they end the program where a result is wrong */

void pipeline_scan(const struct settings *settings);
void pipeline_matrix(const struct settings *settings);
void pipeline_file(const struct settings *settings);

/* The next of a fixed sequence of numbers (splitmix64). */
static inline uint64_t next_number(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

#endif
