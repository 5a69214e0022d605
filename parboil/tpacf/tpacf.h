/* SPDX-License-Identifier: MIT */
/* tpacf.h - what the variants of tpacf share: everything that is not shared data. */
#ifndef PARBOIL_TPACF_H
#define PARBOIL_TPACF_H

#include "../common/harness.h"

#define TPACF_BINS 20
#define TPACF_THREADS 256u

/* A direction, as a unit vector. The device has it in single precision. */
struct tpacf_point { double x, y, z; };

/* Numbers of pairs, by distance: inside the observed set, between it and the random sets, inside these. */
struct tpacf_sums { uint64_t dd[TPACF_BINS], dr[TPACF_BINS], rr[TPACF_BINS]; };

struct tpacf_reference {
	struct tpacf_sums sums;
	/* Pairs so near to one end of a bin that single precision may put them on either side. */
	struct tpacf_sums unsure;
};

/* The sets, in private memory; the first is the observed one. */
struct tpacf {
	size_t n_sets, n_points;	/* S + 1, and N of each */
	size_t room;			/* of a set in the array, in points */
	struct tpacf_point *points;
	float boundaries[TPACF_BINS + 1];	/* of the bins: squares of chords, rising */
	struct tpacf_sums sums;
};

extern const struct pb_bench tpacf_bench;

void tpacf_adsm(struct pb_run *run);
void tpacf_explicit(struct pb_run *run);
void tpacf_cuda_c(struct pb_run *run);
void tpacf_cuda(struct pb_run *run);

/* Read the sets. */
void tpacf_open(struct tpacf *ret_t, struct pb_run *run);
/* Spread the sets over an array of all x, then all y, then all z: three streams, one element of each in turn. */
void tpacf_fill(float *array, const struct tpacf *t);
/* Add up the kernel's histograms, and write the output file: DD, DR and RR of each bin, from near to far. */
void tpacf_write(struct tpacf *t, struct pb_run *run, const uint64_t *histograms);
/* Compare the sums with the reference, and note the result. */
void tpacf_verify(struct pb_run *run, const struct tpacf *t);
void tpacf_close(struct tpacf *t);

/* ---- for the tests as well */

/* N and S of a size. */
void tpacf_size(size_t size, size_t *ret_n_points, size_t *ret_n_random);
/* The points of a size, as generated: S + 1 sets of N. */
void tpacf_generate(size_t size, struct tpacf_point *ret_points);
/* The reference for these sets. */
void tpacf_count(const struct tpacf_point *points, size_t n_sets, size_t n_points,
		 struct tpacf_reference *ret_reference);

#endif
