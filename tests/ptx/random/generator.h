/* SPDX-License-Identifier: MIT */
/*
 * generator.h - random kernels in PTX whose results do not depend on the order of the threads.
 *
 * Each kernel has the parameters (in, rows, sums, n, x, z, s): GENERATOR_IN words to read; GENERATOR_ROW bytes for each
 * thread of the grid, which only that thread accesses; GENERATOR_SUMS bytes for atomic operations, where each place
 * has one operation; values. Conditions are of three levels: uniform in the block, in the warp, or different in each
 * lane. Barriers are only where the level is uniform, and exchanges of warps only where all lanes of a known mask are.
 * gcc and clang evaluate the arguments of a call in different orders, so a seed has another kernel with each.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define GENERATOR_IN 256		/* words of 32 bits, a power of two */
#define GENERATOR_ROW 192
#define GENERATOR_SUMS 512
#define GENERATOR_TABLE 256		/* bytes of the module's tables */

/* Before a kernel: its seed, the grid, the blocks, shared memory that the launch adds. For printf() and scanf(). */
#define GENERATOR_COMMENT "// random_%llu: a grid of %u %u %u, blocks of %u %u %u threads, %u bytes"

struct generated {
	uint64_t seed;
	uint32_t grid[3], block[3];
	uint32_t dynamic;		/* bytes of shared memory that the launch adds; 0: no such argument */
	uint32_t n_statements;
};

/* What a module begins with. */
void generator_preamble(FILE *out);
/*
 * Append the kernel random_<seed> and its functions. @left_out: NULL, or for each statement whether it is left out.
 */
void generator_kernel(FILE *out, uint64_t seed, const bool *left_out, size_t n_left_out,
		      struct generated *ret_generated);

/* ---- the parts of the generator */

enum level { UNIFORM, WARP, LANE };	/* what a value is the same for: the block; a warp; nothing */

struct loop {
	enum level level;
	uint32_t label;			/* $B<label>: behind the loop; $C<label>: its next round */
	bool may_leave;			/* break and continue are possible */
};

/* What holds at a place of the text. */
struct context {
	enum level level;		/* the threads that are there: all of the block, of a warp, any */
	char mask[16];			/* a register with the lanes that are there; "": not known */
	bool is_base;			/* the mask has all lanes of the warp that have not ended */
	uint32_t readable;		/* bits: shared arrays that no thread writes now */
	const struct loop *loop;
	int depth;
};

#define MOST_FUNCTIONS 2

struct callee {
	bool is_pure;			/* any thread may call it */
	bool has_mask;			/* the lanes of a known mask may call it; neither: all of the block */
	bool is_recursive;
	char result;			/* i, l, f: as kinds of registers; v: 16 bytes */
};

struct generator {
	uint64_t random, seed;
	char *text;			/* the body of the function that is made */
	size_t size, room;
	const bool *left_out;
	size_t n_left_out;
	uint32_t statement;
	uint32_t numbers[128];		/* of temporary registers, by the letter of their names */
	uint32_t labels;
	struct generated *made;
	uint32_t threads;
	bool has_barriers, has_warps;	/* what the kernel may do */
	bool has_exits, has_dynamic;
	uint32_t n_barriers;		/* barriers of some of the warps: each has a number of its own */
	int budget;			/* statements that may still be made */
	struct callee functions[MOST_FUNCTIONS];
	uint32_t n_functions;
	/* Of the function that is made. */
	bool is_kernel;
	struct callee self;
	uint32_t n_arrays, first_array;	/* shared arrays */
	uint32_t busy;			/* bits: shared arrays that an exchange uses now */
};

__attribute__((format(printf, 2, 3)))
void emit(struct generator *g, const char *format, ...);
uint32_t any(struct generator *g, uint32_t n);	/* 0 to n - 1 */
bool chance(struct generator *g, uint32_t percent);
/* A new register of a class: t b32, x b64, y b16, e f32, g f64, q pred. */
const char *temporary(struct generator *g, char letter);
/* A register of a pool (i, l, s, f, d, h, p), or another operand that has a value of the level at most. */
const char *source(struct generator *g, char kind, enum level level);
const char *target(struct generator *g, char kind, enum level level);
/* A new predicate that has a random value of the level. */
const char *condition(struct generator *g, enum level level);
void add_arithmetic(struct generator *g, const struct context *context);
/* ld or st of random types at [address]; @room: bytes there. */
void add_access(struct generator *g, bool loads, const char *space, const char *address, uint32_t room);
void add_memory(struct generator *g, const struct context *context);
void add_shared(struct generator *g, const struct context *context);
void add_atomic(struct generator *g, const struct context *context);
void add_exchange(struct generator *g, const struct context *context);
void add_warp(struct generator *g, const struct context *context);
void add_control(struct generator *g, const struct context *context);
void add_call(struct generator *g, const struct context *context);
void add_statements(struct generator *g, const struct context *context, uint32_t n);
