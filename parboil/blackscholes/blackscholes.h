/* SPDX-License-Identifier: MIT */
/* blackscholes.h - what the two variants of blackscholes share: everything that is not shared data. */
#ifndef PARBOIL_BLACKSCHOLES_H
#define PARBOIL_BLACKSCHOLES_H

#include "../common/harness.h"

#define BLACKSCHOLES_BLOCKS 480u
#define BLACKSCHOLES_THREADS 128u

#define BLACKSCHOLES_RATE 0.02f
#define BLACKSCHOLES_VOLATILITY 0.30f

struct blackscholes_size {
	size_t n_options;
	int n_calls;			/* as the original repeats them to take times; each has another rate */
	bool contiguous;		/* each block of the grid has its options side by side */
};

/* What the prices must be. */
struct blackscholes_reference {
	size_t n_options;
	double call_sum, put_sum;
	double *call, *put;		/* behind the struct, in the same memory */
};

extern const struct pb_bench blackscholes_bench;
extern const struct blackscholes_size blackscholes_sizes[];

void blackscholes_adsm(struct pb_run *run);
void blackscholes_explicit(struct pb_run *run);

/* Make the input, option by option. */
void blackscholes_fill(float *price, float *strike, float *years, size_t n_options);
/* Of call @i: the last one's is BLACKSCHOLES_RATE, with which results are compared. */
float blackscholes_rate(const struct blackscholes_size *size, int i);
/* How many options side by side a block of the grid has; 0: threads take turns. */
int blackscholes_share(const struct blackscholes_size *size);
/* What all options together cost. */
double blackscholes_sum(const float *prices, size_t n_options);
/* Compare with the reference, and note the result. */
void blackscholes_verify(struct pb_run *run, const float *call, const float *put, double call_sum,
			 double put_sum);

#endif
