/* SPDX-License-Identifier: MIT */
/* benches.h - the list of all benchmarks. */
#ifndef PARBOIL_BENCHES_H
#define PARBOIL_BENCHES_H

#include "common/harness.h"

extern const struct pb_bench *const pb_benches[];
extern const size_t pb_n_benches;

/* The one of that name. Ends the program where there is none, and names those there are. */
const struct pb_bench *pb_find_bench(const char *name);

#endif
