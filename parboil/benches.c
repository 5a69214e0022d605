/* SPDX-License-Identifier: MIT */
/* benches.c - the list of all benchmarks. */
#include "benches.h"

#include <string.h>

#include "common/args.h"

#define BENCHES(X) \
	X(cp) X(mri_fhd) X(mri_q) X(pns) X(rpes) X(sad) X(tpacf) \
	X(stencil3d) X(vecadd) X(blackscholes) X(scan)

#define EXTERN(name) extern const struct pb_bench name##_bench;
BENCHES(EXTERN)
#define ROW(name) &name##_bench,
const struct pb_bench *const pb_benches[] = { BENCHES(ROW) };
const size_t pb_n_benches = sizeof(pb_benches) / sizeof(pb_benches[0]);

const struct pb_bench *pb_find_bench(const char *name)
{
	char valid[256] = "";

	for (size_t i = 0; i < pb_n_benches; i++) {
		if (strcmp(pb_benches[i]->name, name) == 0)
			return pb_benches[i];
		strcat(strcat(valid, " "), pb_benches[i]->name);
	}
	pb_usage("there is no benchmark \"%s\"; the benchmarks are%s", name, valid);
}
