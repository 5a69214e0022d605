/* SPDX-License-Identifier: MIT */
/* rng.c - the random generator and the hash of all benchmarks against known values; what a NaN compares as. */
#include "golden.h"

int main(void)
{
	struct pb_rng rng = { 1 };
	struct pb_run run = { .size = 0 };

	CHECK(pb_rng_next(&rng) == UINT64_C(0x910a2dec89025cc1));
	CHECK(pb_rng_next(&rng) == UINT64_C(0xbeeb8da1658eec67));
	CHECK(pb_rng_next(&rng) == UINT64_C(0xf893a2eefb32555e));
	rng.state = 1;
	CHECK(pb_rng_float(&rng) == 0x910a2dp-24f);
	rng.state = 1;
	CHECK(pb_rng_below(&rng, 1000) == 0x910a2dec % 1000);
	CHECK(pb_fnv(PB_FNV_INIT, "a", 1) == UINT64_C(0xaf63dc4c8601ec8c));
	CHECK(pb_fnv(PB_FNV_INIT, "foobar", 6) == UINT64_C(0x85944171f73967e8));
	pb_compare(&run, NAN, 0, 1);
	pb_compare(&run, 1, 0, 1);
	CHECK(run.result.n_compared == 2 && run.result.n_wrong == 1 && isnan(run.result.max_error));
	return 0;
}
