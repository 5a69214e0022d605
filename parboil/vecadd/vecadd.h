/* SPDX-License-Identifier: MIT */
/* vecadd.h - what the variants of vecadd share: everything that is not shared data. */
#ifndef PARBOIL_VECADD_H
#define PARBOIL_VECADD_H

#include "../common/harness.h"
#include "../common/rng.h"

#define VECADD_THREADS 512u

/* What the sum must be. */
struct vecadd_reference {
	size_t n;
	double total;			/* of all elements of c */
	float *c;			/* behind the struct, in the same memory */
};

extern const struct pb_bench vecadd_bench;

void vecadd_adsm(struct pb_run *run);
void vecadd_explicit(struct pb_run *run);
void vecadd_opencl(struct pb_run *run);
void vecadd_svm(struct pb_run *run);
void vecadd_cuda(struct pb_run *run);

/* Elements of a vector. */
size_t vecadd_length(const struct pb_run *run);
/* The generator, before the first vector is filled: a, then b. */
struct pb_rng vecadd_rng(void);
/* What the CPU does with the vectors, first element to last. */
void vecadd_fill(struct pb_rng *rng, float *vector, size_t n);
double vecadd_total(const float *vector, size_t n);
/* Compare with the reference, and note the result. */
void vecadd_verify(struct pb_run *run, const float *c, double total);

#endif
