/* SPDX-License-Identifier: MIT */
/*
 * cases.h - kernels in CUDA C, each with a launch and with a C function that computes the same.
 *
 * THEME.cu has the kernels and THEME.c the functions, and the list of cases THEME_cases. ../run.c fills the buffers of
 * a case in the same way twice, calls the kernel with one and the function with the other, and compares all of them.
 */
#ifndef PTX_CASES_H
#define PTX_CASES_H

#include <adsm_texture.h>
#include <stddef.h>
#include <stdint.h>

#define CASE_MAX_ARGS 6

enum case_type { CASE_NONE, CASE_VALUE, CASE_U8, CASE_I16, CASE_I32, CASE_I64, CASE_F32, CASE_F64 };
/* What a buffer has first. RANDOM: all bits of integers, numbers from -1 to 1 of floats. */
enum case_fill { CASE_ZERO, CASE_RANDOM };

struct case_arg {
	enum case_type type;
	size_t n;			/* elements of a buffer; bytes of a value */
	enum case_fill fill;
	const void *value;
	const adsmTexture *texture;	/* the kernel gets a texture of the buffer, like this one, and not the buffer */
	const char *reference;		/* the texture is this variable of the module, and no argument */
};

#define BUFFER(type_, n_, fill_) { .type = CASE_##type_, .n = (n_), .fill = CASE_##fill_ }
/* A texture over a buffer of random elements: the fields of an adsmTexture but for data, pitch and slice. */
#define TEXTURE(type_, n_, ...) { .type = CASE_##type_, .n = (n_), .fill = CASE_RANDOM, \
				  .texture = &(const adsmTexture){ __VA_ARGS__ } }
#define REFERENCE(name, type_, n_, ...) { .type = CASE_##type_, .n = (n_), .fill = CASE_RANDOM, .reference = #name, \
					  .texture = &(const adsmTexture){ __VA_ARGS__ } }
/* The value of a parameter of C type @type. */
#define VALUE(type_, ...) { .type = CASE_VALUE, .n = sizeof(type_), .value = &(const type_){ __VA_ARGS__ } }

struct cuda_case {
	const char *kernel;
	unsigned grid[3], block[3];	/* 0 means 1 */
	unsigned shared;		/* bytes of dynamic shared memory, if the kernel has some */
	struct case_arg args[CASE_MAX_ARGS];
	/* @args: a pointer to each buffer or value. @launch: how many launches were before. */
	void (*reference)(const struct cuda_case *c, void *const *args, unsigned launch);
	double tolerance;		/* of floats, absolute below 1, relative above; 0: the same bits */
	unsigned launches;		/* 0 means 1 */
};

/* Each ends with a case without a kernel. */
extern const struct cuda_case barriers_cases[], bodies_cases[], calls_cases[], exits_cases[], grids_cases[],
	halves_cases[], histograms_cases[], indices_cases[], lambdas_cases[], locks_cases[], memory_cases[],
	numbers_cases[], randoms_cases[], reductions_cases[], scans_cases[], shuffles_cases[], templates_cases[],
	textures_cases[], tiles_cases[], waits_cases[];

#endif
