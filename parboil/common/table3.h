/* SPDX-License-Identifier: MIT */
/* table3.h - the pages of CUDA-For-Clusters' programs: its Table 3, and what clusters of several sizes count. */
#ifndef PARBOIL_TABLE3_H
#define PARBOIL_TABLE3_H

#include <stdbool.h>

#include "args.h"

/* What was counted in a call: whole pages, if all calls have counted the same. */
struct pb_average {
	bool exact;
	unsigned long each;		/* rounded down */
	char text[32];			/* with a fraction where there is one */
};

struct pb_average pb_average(unsigned long sum, unsigned long calls);

/* The command; the exit status: 0 where each run was right and has counted what the paper's numbers are. */
int pb_table3(const struct pb_args *args);

#endif
