/* SPDX-License-Identifier: MIT */
/*
 * writes_store.h - what one store writes in a launch.
 *
 * With the numbers of a launch, each sum is linear in variables: the indices of threads and blocks, and turns of
 * loops. Conditions give ranges to combinations of variables, such as blockIdx.x * blockDim.x + threadIdx.x < n. The
 * combinations that count take each integer in their range. A store then writes a run of bytes again and again, at
 * distances of a few steps. If each step is at most as long as the run that the smaller steps make, the run has no gap.
 */
#pragma once

#include "base/writes_text.h"

#define ADSM_WRITES_CONDITIONS 24	/* lib/ptx/access/affine.h has the same limit */
#define ADSM_WRITES_ENDLESS INT64_MAX	/* as a count: there is no limit */

/* A combination of variables: the sum of factors times variables, from low to high, each integer. */
struct adsm_writes_group {
	int64_t factors[ADSM_WRITES_VARIABLES];
	int64_t low, high;		/* high may be ADSM_WRITES_ENDLESS */
	int64_t first_low;		/* the low one without conditions: turns of loops begin there */
};

struct adsm_writes_step {
	int64_t length, count;
};

/* What a store writes: size bytes at start plus a multiple of each step. */
struct adsm_written {
	int64_t start, size;
	uint32_t n;
	struct adsm_writes_step steps[ADSM_WRITES_VARIABLES];	/* from short to long */
};

struct adsm_writes_store {
	int64_t counts[ADSM_WRITES_VARIABLES];	/* variables are from 0 to this number minus 1 */
	int64_t size;			/* bytes */
	struct adsm_writes_sum distance;
	uint32_t n_conditions;
	struct adsm_writes_condition conditions[ADSM_WRITES_CONDITIONS];
	uint32_t n_groups;
	struct adsm_writes_group groups[ADSM_WRITES_VARIABLES];
};

/* Read a line: a store in this launch. False: a number is not known or too large. */
bool adsm_writes_read_store(const char *line, const struct adsm_writes_launch *launch,
			    struct adsm_writes_store *ret_store);
/* Find what a store writes. False: nothing is known of it. The store changes. */
bool adsm_writes_solve(struct adsm_writes_store *store, struct adsm_written *ret_written);
