/* SPDX-License-Identifier: MIT */
/* scan.h - what the two variants of scan share: everything that is not shared data. */
#ifndef PARBOIL_SCAN_H
#define PARBOIL_SCAN_H

#include "../common/harness.h"

#define SCAN_N 25600
#define SCAN_THREADS 256u
#define SCAN_SEGMENT 512u		/* values of a block; as in kernels.c */
#define SCAN_SEGMENTS (SCAN_N / SCAN_SEGMENT)

struct scan_size {
	int n_calls;			/* as the original repeats them to take times; each has another factor */
	bool full;			/* over all segments, not each on its own */
	bool thin;			/* one segment a call, in turn */
};

/* What the output must be. */
struct scan_reference {
	uint64_t sum;
	uint32_t out[SCAN_N];
};

extern const struct pb_bench scan_bench;
extern const struct scan_size scan_sizes[];

void scan_adsm(struct pb_run *run);
void scan_explicit(struct pb_run *run);

/* Make the input. */
void scan_fill(uint32_t *in);
/* Of call @i, by which all values are multiplied. The last one's is 1, and so is that of each segment's last one. */
unsigned scan_factor(const struct scan_size *size, int i);
/* What all the output comes to. */
uint64_t scan_sum(const uint32_t *out);
/* The reference's way: each of @n values becomes the sum of those before it in its segment. */
void scan_segments(uint32_t *values, size_t n, size_t segment);
/* Compare with the reference, and note the result. */
void scan_verify(struct pb_run *run, const uint32_t *out, uint64_t sum);

#endif
