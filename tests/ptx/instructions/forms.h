/* SPDX-License-Identifier: MIT */
/*
 * forms.h - forms of PTX's instructions, and models of what they compute. A model has nothing in common with the code
 * that is tested: it computes bit by bit, with wide integers, from tables, or with the rounding modes of the processor.
 */
#ifndef TEST_PTX_FORMS_H
#define TEST_PTX_FORMS_H

#include <fenv.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define REGISTERS 10
#define ROW 64				/* bytes of memory for each set of values */

struct form;
/* Compute the outputs, the first of @v, from the inputs that follow. Bits of each register; addresses: of memory. */
typedef void (*model)(const struct form *form, uint64_t *v);

/* How far a result may be off, where the size of an operand is between two numbers. */
struct bound {
	/* u: ulps. r: relative, a: absolute; as powers of 2. l: the size of the result is at most 2 to this power. */
	char kind;
	double limit;
	double least, most;		/* most 0: the operand has any size */
	int operand;			/* which one: 0 is the first */
	bool ours;			/* the manual has no bound there */
	double seen;			/* in the unit of @limit: the largest error that the documents name */
	double floor;			/* a smaller absolute error is never too large */
	double worst;			/* the largest one found, in ulps, relative or absolute */
};

#define BOUNDS 4
/* A bound for operands of any size, and for those between two numbers. */
#define BOUND(kind_, limit_, seen_) { .kind = kind_, .limit = limit_, .seen = seen_ }
#define BOUND_IN(kind_, limit_, seen_, least_, most_) \
	{ .kind = kind_, .limit = limit_, .seen = seen_, .least = least_, .most = most_ }

struct form {
	char text[320];			/* instructions; registers are %d, %a, ... */
	/* "d:b32:i a:b32:i": name, type, kind of values. Outputs are first. */
	char registers[160];
	model model;
	int n_out;
	int operation;			/* these mean what the model makes of them */
	unsigned bits, to_bits;
	bool is_signed, to_signed, ftz, sat, flag;
	int mode;			/* of rounding, for the model: FE_TONEAREST and so on */
	int extra;
	char type, to_type;		/* kinds, as in registers */
	int n_bounds;
	struct bound bounds[BOUNDS];
	const char *section;		/* of the PTX ISA manual, which has the bounds */
	bool uses_memory;
	bool monotone;			/* where the bits of an operand grow, results only grow, or only fall */
	/* By kernels_translate(): the C function without its name. The first form that has it is the one to run. */
	char *code;
	const struct form *same;	/* NULL: this form is the first */
};

/*
 * Kinds of values: i: integer, n: small number, f d h b: f32, f64, f16, bf16; H B: two f16, two bf16; p: predicate;
 * m: address of memory, s: of shared memory, as an offset. T, U: texture objects that give numbers, and integers; x, j:
 * coordinates. A, E, C, D: approximations as f32, f64, f16, bf16; P, Q: as two f16, two bf16. The value HIGH is
 * the upper one of a model.
 */
#define HIGH (REGISTERS - 1)


struct form *add_form(model model, const char *registers, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* One more bound of an approximation. */
struct bound *add_bound(struct form *form, struct bound bound);
struct form *forms_all(size_t *ret_n);

/* The model has no opinion on these values: any result is right. */
extern bool any_result;
/* What the generic addresses of shared memory are for the current set of values. */
extern uint64_t shared_base;
/* The index of the current set of values, which is that of the thread: 8 * 4 threads of a layer, in all 5 layers. */
extern uint32_t current_thread;

void add_integers(void);
void add_bits(void);
void add_floats(void);
void add_halves(void);
void add_comparisons(void);
void add_conversions(void);
void add_memory(void);
void add_calls(void);
void add_textures(void);
/* A texture object of a kind. */
uint64_t texture_value(char kind, uint64_t random);

/* Values: numbers from bits. */
static inline float bits_f32(uint64_t bits)
{
	const uint32_t word = (uint32_t)bits;
	float x;

	memcpy(&x, &word, 4);
	return x;
}

static inline double bits_f64(uint64_t bits)
{
	double x;

	memcpy(&x, &bits, 8);
	return x;
}

static inline uint64_t f32_bits(float x)
{
	uint32_t bits;

	memcpy(&bits, &x, 4);
	return bits;
}

static inline uint64_t f64_bits(double x)
{
	uint64_t bits;

	memcpy(&bits, &x, 8);
	return bits;
}

/* The exact value of an f16 or bf16, and the one that high + low rounds to in a mode. low is far smaller than high. */
double half_value(char kind, uint64_t bits);
uint64_t half_round(char kind, double high, double low, int mode);
void half_prepare(void);
/* A subnormal number becomes a zero of its sign. */
uint64_t flush(char kind, uint64_t bits);
/* NaN: 0; else between 0 and 1. */
uint64_t saturate(char kind, uint64_t bits);

#endif
