/* SPDX-License-Identifier: MIT */
/*
 * threads.h - forms of instructions that exchange values between threads, or that say where threads continue. Each is a
 * kernel, translated and compiled as a whole, that a block of three warps runs.
 */
#ifndef TEST_PTX_THREADS_H
#define TEST_PTX_THREADS_H

#include "kernels.h"

#define THREADS 96
#define SLOTS 16			/* registers of a form */

/* The values of a block: the registers of each thread, and the block's results. */
struct thread_values {
	uint64_t in[THREADS][SLOTS], out[THREADS][SLOTS];
	uint8_t undefined[THREADS][SLOTS];	/* any result is right */
};

struct thread_form {
	/*
	 * Instructions. %0 to %f stand for registers, %t for the index of the thread. %s stands for the address of
	 * the thread's 16 bytes in the shared variable sv.
	 */
	char text[512];
	/*
	 * "o:b32 m:b32": the kind and the type of each register. Kinds: o: an output, O: an output that is f32. i: any
	 * integer, n: a small one, v: one of few, c: segments of a warp; h: two f16, b: two bf16, f: f32, t: tf32, with
	 * small integers.
	 * m: the lanes that take part together with this one, g: a predicate, whether it takes part; M, G: all do;
	 * p: any predicate.
	 */
	char registers[256];
	/* Set out, for threads that take part. The others' results stay. */
	void (*model)(const struct thread_form *form, struct thread_values *values);
	int operation, extra;
};

struct thread_form *add_thread_form(void (*model)(const struct thread_form *, struct thread_values *),
				    const char *registers, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void add_matrices(void);
/* The text of form @i, for the tables; NULL: there are fewer. */
const char *threads_text(size_t i);
/* Run all forms, each @rounds times with other values. Returns the number of those that are wrong. */
size_t threads_run(const struct kernels_place *place, const char *kernel_include, unsigned rounds, size_t *ret_n);

#endif
